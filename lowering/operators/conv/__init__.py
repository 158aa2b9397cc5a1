"""
Kernel code of convolutions.
Imports: lowering.emit, math, loops.
"""
