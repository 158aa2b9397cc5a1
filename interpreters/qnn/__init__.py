"""
The meaning of quantised tensors.
Imports: the files of interpreters, and families that dialects.qnn imports.
"""
