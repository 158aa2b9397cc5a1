"""
From a function to a program: the choice of strategies, kernels, storage, the entry function.
Imports: all rooms of lowering.
"""
