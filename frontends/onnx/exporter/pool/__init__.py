"""
Emitters of pooling.
Imports: the files of the exporter.
"""
