"""
Emitters of convolutions.
Imports: the files of the exporter.
"""
