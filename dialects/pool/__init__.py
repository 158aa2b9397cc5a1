"""
Pooling over windows, its gradients, and pooling into a stated number of windows.
Imports: the files of dialects, dialects.tensor, dialects.conv.
"""
