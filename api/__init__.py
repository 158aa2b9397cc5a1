"""xrelay: neural networks through xDSL, from ONNX to running machine code."""
