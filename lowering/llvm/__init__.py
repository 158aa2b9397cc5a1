"""
From kernel IR to the llvm dialect, and to its text.
Imports: lowering.emit.
"""
