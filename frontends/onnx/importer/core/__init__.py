"""
Converters of constants, tuples, control flow and functions.
Imports: the files of the importer.
"""
