"""
The meaning of sparse matrices.
Imports: the files of interpreters, and families that dialects.sparse imports.
"""
