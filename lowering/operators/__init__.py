"""
Kernel code of the operators: rules and strategies, in the folders and files of the dialect.
Imports: lowering.emit, lowering.math, lowering.loops.
"""
