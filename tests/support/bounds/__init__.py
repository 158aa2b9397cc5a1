"""Numeric bounds of the operators, by family: below, at and above."""
