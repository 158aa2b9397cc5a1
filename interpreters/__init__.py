"""The meaning of every relay operator in NumPy: `xdsl.interpreter` functions."""
