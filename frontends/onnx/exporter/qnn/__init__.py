"""
Emitters of quantised tensors.
Imports: the files of the exporter.
"""
