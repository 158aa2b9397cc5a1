"""
Operators of onnxruntime's domain `com.microsoft` that its optimiser and its exporters of transformers write.
Imports: the files of the importer.
"""
