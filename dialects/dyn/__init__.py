"""
Operators with shapes as operands (`relay.dyn.*`).
Imports: the files of dialects and the families whose operators they generalise.
"""
