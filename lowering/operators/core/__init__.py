"""
Kernel code of constants, tuples, control flow and functions.
Imports: lowering.emit, math, loops.
"""
