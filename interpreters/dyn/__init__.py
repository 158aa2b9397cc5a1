"""
The meaning of operators with shapes as operands.
Imports: the files of interpreters, and families that dialects.dyn imports.
"""
