"""Recursive algorithms that do not recurse in Python: what they are about may nest deeply."""

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

R = TypeVar("R")

Step: TypeAlias = Generator["Step[Any]", Any, R]
"""
A part of an algorithm that may need the result of another: it yields the other and is sent its
result. `run` drives them, so that nesting does not become recursion of Python.
"""


def run(step: "Step[R]") -> R:
    """The result of a step."""
    waiting: list[Step[Any]] = []
    current: Step[Any] = step
    result: Any = None
    while True:
        try:
            needed = current.send(result)
        except StopIteration as end:
            result = end.value
            if not waiting:
                return result
            current = waiting.pop()
        else:
            waiting.append(current)
            current, result = needed, None
