"""
Arithmetic and elementary functions on elements in registers, and conversions between their types.
Imports: lowering.emit.
"""
