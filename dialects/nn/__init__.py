"""
The other operators of neural networks (`relay.nn.*`): products, normalisation, losses, space and depth.
Imports: the files of dialects, dialects.tensor, dialects.conv, dialects.image.
"""
