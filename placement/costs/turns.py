"""What a process keeps of measurements that have turns, so that each is compiled once."""

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made")

_kept: dict[str, Any] = {}
"""By the names of measurements."""


def kept(name: str, make: Callable[[], Made]) -> Made:
    """What was made for the turns of a name, or is made now."""
    if name not in _kept:
        _kept[name] = make()
    return _kept[name]


def give_up_kept() -> None:
    """Frees all that was made for turns, as what has none is measured when the turns are over."""
    _kept.clear()
