"""
Kernel code of resizing and sampling of images.
Imports: lowering.emit, math, loops.
"""
