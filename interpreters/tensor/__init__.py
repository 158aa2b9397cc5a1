"""
The meaning of operators on tensors of any meaning.
Imports: the files of interpreters, and families that dialects.tensor imports.
"""
