"""What has to come before an operation: operands, what its blocks contain, and earlier effects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.scopes import in_evaluation_order
from xrelay.dialects.core.functional import LetOp, values_from_outside
from xrelay.dialects.core.values import CompositeOp


@dataclass(frozen=True)
class Dependencies:
    """The dependencies between the operations of a function."""

    function: func.FuncOp | CompositeOp
    effects: Effects
    before: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """For operations with effects: the last one with effects before it in its block."""

    @classmethod
    def of_function(cls, function: func.FuncOp | CompositeOp, effects: Effects) -> Self:
        """The dependencies within `function`."""
        found = cls(function, effects)
        last: dict[Block, Operation] = {}
        for op in in_evaluation_order(function):
            block = op.parent
            if block is None or op is block.last_op or not effects.keeps_place(op):
                continue
            if block in last:
                found.before[op] = last[block]
            last[block] = op
        return found

    def used(self, op: Operation) -> Sequence[SSAValue]:
        """The operands of `op`, in the order in which they are visited."""
        return op.operands

    def direct(self, op: Operation) -> list[Operation]:
        """
        The operations that have to come before `op`, each once: those of its operands first, then what its blocks
        hold, in the order of `_in_order`.
        """
        found: dict[Operation, None] = {}
        for value in self.used(op):
            if isinstance(value, OpResult):
                found[value.op] = None
        if op in self.before:
            found[self.before[op]] = None
        if not op.has_trait(IsolatedFromAbove):
            for region in op.regions:
                for block in region.blocks:
                    found.update(dict.fromkeys(self._in_order(block)))
        return list(found)

    def visited(self) -> list[Operation]:
        """
        The operations of the function in the order in which Relay visits expressions, wherever in
        their blocks they stand: in each block from `let`s, effects and the result on, each after what it needs.
        Those that nothing in their block needs come last in it.
        """
        return list(self.reached())

    def reached(self) -> dict[Operation, Operation | None]:
        """The operations as `visited` has them, each with the one that first leads to it, if there is one."""
        found: dict[Operation, Operation | None] = {}
        origins: dict[Operation, Operation] = {}
        entered: set[Operation] = set()
        for block in self.function.body.blocks:
            pending = self._in_order(block)[::-1]
            while pending:
                op = pending[-1]
                if op in entered:
                    found[pending.pop()] = origins.get(op)
                else:
                    entered.add(op)
                    left = [other for other in self.direct(op)[::-1] if other not in entered]
                    origins.update(dict.fromkeys(left, op))
                    pending.extend(left)
        return found

    def _in_order(self, block: Block) -> list[Operation]:
        """
        The operations of a block: first those from which Relay, whose programs are expressions, goes on to what they
        need.
        """
        roots = (
            op
            for op in block.ops
            if isinstance(op, LetOp) or op is block.last_op or self.effects.keeps_place(op)
        )
        return list(dict.fromkeys((*roots, *block.ops)))


def operations_for(op: Operation, follows: Callable[[SSAValue], bool]) -> list[Operation]:
    """
    `op`, and the operations that compute what it uses, in its regions too, as far as a condition follows their
    results: each after those that it needs.
    """
    order: dict[Operation, None] = {}
    pending = [op]
    while pending:
        each = pending[-1]
        used = (*each.operands, *values_from_outside(each)) if each.regions else each.operands
        left = [value.op for value in used if isinstance(value, OpResult) and follows(value)]
        left = [needed for needed in left if needed not in order]
        if each not in order and left:
            pending.extend(left)
        else:
            order[pending.pop()] = None
    return list(order)
