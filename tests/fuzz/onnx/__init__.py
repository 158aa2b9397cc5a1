"""Fuzzers of ONNX models: bytes, fields, schemas and whole graphs."""
