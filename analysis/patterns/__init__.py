"""
The language of dataflow patterns, and where a pattern occurs in a program. What backends use of it is here; the files
hold the rest.
Imports: dialects, interpreters, analysis.facts.
"""

from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import (
    Pattern,
    is_constant,
    is_expr,
    is_function,
    is_if,
    is_let,
    is_number,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    one_of,
    through,
    wildcard,
)
from xrelay.analysis.patterns.matching import Match, match, why_not

__all__ = [
    "CompositePattern",
    "Match",
    "Pattern",
    "is_constant",
    "is_expr",
    "is_function",
    "is_if",
    "is_let",
    "is_number",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "one_of",
    "through",
    "why_not",
    "wildcard",
]
