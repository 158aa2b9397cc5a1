"""
The meaning of convolutions.
Imports: the files of interpreters, and families that dialects.conv imports.
"""
