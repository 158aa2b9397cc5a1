"""
Kernel code of pooling.
Imports: lowering.emit, math, loops.
"""
