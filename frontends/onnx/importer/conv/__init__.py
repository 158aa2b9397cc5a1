"""
Converters of convolutions.
Imports: the files of the importer.
"""
