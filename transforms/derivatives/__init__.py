"""
The derivatives of operators, for `first-order-gradient`: a rule for each, in files named as those of the dialect. They
import what passes import.
"""
