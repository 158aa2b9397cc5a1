"""
The meaning of resizing and sampling of images.
Imports: the files of interpreters, and families that dialects.image imports.
"""
