"""
The meaning of constants, tuples, control flow and functions.
Imports: the files of interpreters, and families that dialects.core imports.
"""
