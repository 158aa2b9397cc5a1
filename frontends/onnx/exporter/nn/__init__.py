"""
Emitters of products, normalisation, activations and their like.
Imports: the files of the exporter.
"""
