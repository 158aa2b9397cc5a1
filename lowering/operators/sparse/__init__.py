"""
Kernel code of sparse matrices.
Imports: lowering.emit, math, loops.
"""
