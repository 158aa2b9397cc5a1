"""
Converters of resizing and sampling of images.
Imports: the files of the importer.
"""
