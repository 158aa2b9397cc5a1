"""What a process keeps of measurements that have turns, so that each is compiled once."""

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made")

_kept: dict[str, Any] = {}
"""By the names of measurements."""


def kept(name: str, make: Callable[[], Made]) -> Made:
    """
    What was made for the turns of a name, or is made now. What has no turns has no name, and all that was kept is given up
    before it is made: rounds of turns are over.
    """
    if not name:
        _kept.clear()
        return make()
    if name not in _kept:
        _kept[name] = make()
    return _kept[name]
