"""Computations that need others in turn, however deep that nests: Python's stack is not what holds them."""

from collections.abc import Generator
from typing import Any, TypeAlias

Steps: TypeAlias = Generator["Steps", Any, Any]
"""A computation that hands those it needs to who runs it, and gets what they return."""


def run(steps: Steps) -> Any:
    """What a computation returns."""
    stack: list[Steps] = [steps]
    value: Any = None
    while stack:
        try:
            needed = stack[-1].send(value)
        except StopIteration as end:
            stack.pop()
            value = end.value
        else:
            stack.append(needed)
            value = None
    return value
