"""
Kernel code of quantised tensors.
Imports: lowering.emit, math, loops.
"""
