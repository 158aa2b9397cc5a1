"""The names of searches. Light: the command line lists them before it needs any."""

METHODS = ("exact", "integer-program", "operator-level", "shortest-path")
"""How plans are searched for."""
