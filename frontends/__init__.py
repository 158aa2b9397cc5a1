"""
Formats of programs: ONNX (both directions) and Relay text (both directions).
Imports: dialects, interpreters, analysis.facts, runtime.
"""
