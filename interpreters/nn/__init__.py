"""
The meaning of products, normalisation, activations and their like.
Imports: the files of interpreters, and families that dialects.nn imports.
"""
