"""
Converters of quantised tensors.
Imports: the files of the importer.
"""
