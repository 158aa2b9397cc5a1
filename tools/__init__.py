"""
Command lines, and the universe of passes that xDSL's tools load.
Imports: all.
"""
