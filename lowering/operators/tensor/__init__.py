"""
Kernel code of operators on tensors of any meaning.
Imports: lowering.emit, math, loops.
"""
