"""Patterns with a name: what a compiler knows as one operator."""

from collections.abc import Callable
from dataclasses import dataclass

from xrelay.analysis.patterns.language import Pattern
from xrelay.analysis.patterns.matching import Match


def _always(found: Match) -> bool:
    return True


@dataclass(frozen=True)
class CompositePattern:
    """What a compiler knows as one operator: a line of its table."""

    name: str
    """The name of the composite, `compiler.operator`."""
    pattern: Pattern
    check: Callable[[Match], bool] = _always
    """Whether the compiler supports what was found."""
