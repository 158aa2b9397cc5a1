"""
Compiled models: load, call, threads, caches, files. Nothing here knows the compiler.
Imports: NumPy, llvmlite.
"""
