"""
Convolution in all its forms, and the arithmetic of sliding windows.
Imports: the files of dialects, dialects.tensor.
"""
