"""
What kernel code is written with: the builder, elements, positions, formats, packings, evaluation on demand,
the target, and what a strategy is.
Imports: no other room of lowering.
"""
