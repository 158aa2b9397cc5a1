"""Operators as others that kernels know: tables by target, and rules by family."""
