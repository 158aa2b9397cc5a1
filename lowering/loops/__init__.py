"""
Loops that kernels of several families share: reductions, register tiles, matrix panels, windows.
Imports: lowering.emit, lowering.math.
"""
