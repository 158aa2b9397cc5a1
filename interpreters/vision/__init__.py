"""
The meaning of boxes on images.
Imports: the files of interpreters, and families that dialects.vision imports.
"""
