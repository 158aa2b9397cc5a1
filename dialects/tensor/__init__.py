"""
Operators on tensors of any meaning: elementwise, reductions, shapes, indices, order, creation.
Imports: the files of dialects, dialects.core.
"""
