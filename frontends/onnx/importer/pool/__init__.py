"""
Converters of pooling.
Imports: the files of the importer.
"""
