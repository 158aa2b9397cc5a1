"""
Sparse matrices, and the coordinates of sparse tensors.
Imports: the files of dialects, dialects.conv.
"""
