"""
Converters of operators on boxes.
Imports: the files of the importer.
"""
