"""
What programs consist of beside operators on tensors: constants, tuples, functions, data types, annotations,
devices, memory.
Imports: the files of dialects.
"""
