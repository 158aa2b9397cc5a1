"""
Kernel code of boxes on images.
Imports: lowering.emit, math, loops.
"""
