"""
Emitters of operators on tensors of any meaning.
Imports: the files of the exporter.
"""
