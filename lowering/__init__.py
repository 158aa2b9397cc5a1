"""
From relay functions to kernels and textual LLVM: `emit` ◄ `math` ◄ `loops` ◄ `operators` ◄ `program`, and `llvm`.
Each room imports those before it.
Imports: dialects, analysis, runtime.
"""
