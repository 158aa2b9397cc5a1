"""
Facts about programs; nothing here rewrites one. Fusion, patterns and partitioning decide in rooms of
their own, on top of `facts`.
Imports: dialects, interpreters.
"""
