"""Which operations have effects, so that their order counts."""

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.traits import RecursiveMemoryEffect, is_side_effect_free

from xrelay.analysis.facts.scopes import has_flag
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import within


@dataclass(frozen=True)
class Effects:
    """
    Which operations have effects, each looked at once. Knows the functions that are called, and what it has
    found: for as long as the program stays as it is.
    """

    symbols: Symbols = field(default_factory=Symbols)
    inside: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    """The operations that have the effects of those within them, and whether there are any."""

    def keeps_place(self, op: Operation) -> bool:
        """
        Whether the order of `op` and other such operations counts: it has effects. A call of a function
        that was made of operators without effects (`Primitive`) has none.
        """
        pending = [op] if _has_those_inside(op) else []
        while pending:
            around = pending[-1]
            left = [
                each
                for each in within(around)
                if _has_those_inside(each) and each not in self.inside
            ]
            if left and around not in self.inside:
                pending.extend(left)
            else:
                self.inside[pending.pop()] = any(map(self.is_known_to_keep, within(around)))
        return self.is_known_to_keep(op)

    def is_known_to_keep(self, op: Operation) -> bool:
        """Whether `op` has effects, when this is known of what it holds."""
        if op in self.inside:
            return self.inside[op]
        if isinstance(op, func.CallOp):
            called = self.symbols.lookup(op, op.callee.string_value())
            return called is None or not has_flag(called, ("Primitive",))
        return not is_side_effect_free(op)


def _has_those_inside(op: Operation) -> bool:
    """Whether `op` has the effects of the operations that it holds, and there are some."""
    return bool(op.regions) and op.has_trait(RecursiveMemoryEffect)
