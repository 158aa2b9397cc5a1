"""
From an ONNX model to relay: nodes and scopes here, the converters in folders by family, with the names of the
exporter's.
Imports: dialects, interpreters, runtime.
"""
