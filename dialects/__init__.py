"""
The relay dialect: operators, attributes, traits, verifiers and type inference, a folder a family. The files
here are what families share; `relay.py` puts the dialect together.
Imports: xDSL only.
"""
