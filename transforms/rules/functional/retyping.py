"""Types made of other types, after a change of some kind of them."""

from collections.abc import Callable
from operator import is_

from xdsl.ir import Attribute

from xrelay.dialects.core.functional import type_parts, with_parts


class Retyping:
    """Types with a change made of each type within them, the innermost first. Remembers what it has found."""

    def __init__(self, change: Callable[[Attribute], Attribute]):
        self.change = change
        self.known: dict[int, tuple[Attribute, Attribute]] = {}
        """What types become, by identity: to hash one takes time in all of its parts, which tuples may share."""

    def __call__(self, type_: Attribute) -> Attribute:
        """The type after the change."""
        pending = [type_]
        while pending:
            each = pending[-1]
            parts = type_parts(each)
            left = [part for part in parts if id(part) not in self.known]
            if left:
                pending.extend(left)
                continue
            pending.pop()
            new = tuple(self.known[id(part)][1] for part in parts)
            same = all(map(is_, new, parts))
            self.known[id(each)] = each, self.change(each if same else with_parts(each, new))
        return self.known[id(type_)][1]
