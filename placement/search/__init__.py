"""The choice of candidates that cover a program at the least cost."""
