"""
From kernel IR to the llvm dialect.
Imports: lowering.emit.
"""
