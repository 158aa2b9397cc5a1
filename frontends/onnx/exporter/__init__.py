"""
From relay to an ONNX model: the graph here, the emitters in folders by family, with the names of the
importer's.
Imports: dialects, interpreters, analysis.facts.
"""
