"""Types made of other types, after a change of some kind of them."""

from collections.abc import Callable

from xdsl.ir import Attribute

from xrelay.dialects.core.functional import type_parts, with_parts


class Retyping:
    """Types with a change made of each type within them, the innermost first. Remembers what it has found."""

    def __init__(self, change: Callable[[Attribute], Attribute]):
        self.change = change
        self.known: dict[Attribute, Attribute] = {}

    def __call__(self, type_: Attribute) -> Attribute:
        """The type after the change."""
        pending = [type_]
        while pending:
            each = pending[-1]
            parts = type_parts(each)
            left = [part for part in parts if part not in self.known]
            if left:
                pending.extend(left)
                continue
            pending.pop()
            new = tuple(self.known[part] for part in parts)
            self.known[each] = self.change(with_parts(each, new) if new != parts else each)
        return self.known[type_]
