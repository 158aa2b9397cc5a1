"""
Kernel code of products, normalisation, activations and their like.
Imports: lowering.emit, math, loops.
"""
