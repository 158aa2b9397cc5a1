"""Tables of cases of the operators, by family."""
