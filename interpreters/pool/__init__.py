"""
The meaning of pooling.
Imports: the files of interpreters, and families that dialects.pool imports.
"""
