"""
The meaning of every relay operator in NumPy: `xdsl.interpreter` functions, in the folders and files of the
dialect. The files here are what families share; `relay.py` puts all together.
Imports: dialects.
"""
