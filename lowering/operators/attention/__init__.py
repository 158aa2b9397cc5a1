"""
Scaled dot-product attention as one kernel.
Imports: lowering.emit, math, loops, and the kernel code of products.
"""
