"""
Which operations have effects, and whether text keeps their order.

A `%1 = …` in Relay text is computed where it is needed, in the innermost scope around its uses; a
`let` where it stands. An operation with effects that nothing needs at its place, or that is needed in
another scope only, has to be printed as a `let`.
"""

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, RecursiveMemoryEffect

from xrelay.dialects.core.functional import ApplyOp, ClosureOp, LetOp


class Effects:
    """The operations of a module that have effects."""

    def __init__(self, module: Operation):
        order = list(_outside_in(module))
        self.of: set[Operation] = set()
        """Operations with effects, of their own or inside."""
        self._outside: dict[Operation, dict[SSAValue, None]] = {}
        """The values from outside that an operation with regions uses, in order."""
        own = {op for op in order if _has_effect(op)}
        if not own:
            return  # Calls have none either.
        own.update(op for op in order if isinstance(op, func.CallOp | ApplyOp))
        for op in reversed(order):
            if op in own:
                self.of.add(op)
            if not op.regions:
                continue
            used: dict[SSAValue, None] = {}
            for region in op.regions:
                for block in region.blocks:
                    for inner in block.ops:
                        used.update(dict.fromkeys((*inner.operands, *self._outside.get(inner, ()))))
                        if inner in self.of and not isinstance(op, ClosureOp):
                            self.of.add(op)
            self._outside[op] = {value: None for value in used if value.owner.parent_op() is not op}

    def out_of_order(self, block: Block) -> list[Operation]:
        """
        The operations of a block with effects, if text without `let` for them would be read in
        another order or another scope; else none.
        """
        expected = [op for op in block.ops if op in self.of and not isinstance(op, LetOp)]
        if not expected:
            return []
        if not _in_their_scope(block).issuperset(expected):
            return expected
        done: set[Operation] = set()
        found: list[Operation] = []
        for root in block.ops:
            if not isinstance(root, LetOp) and not root.has_trait(IsTerminator):
                continue
            pending: list[tuple[Operation, bool]] = [(root, False)]
            while pending:
                op, ready = pending.pop()
                if ready:
                    if op in self.of and not isinstance(op, LetOp):
                        found.append(op)
                elif op not in done:
                    done.add(op)
                    pending.append((op, True))
                    needed = (*op.operands, *self._outside.get(op, ()))
                    for value in reversed(needed):
                        if isinstance(value.owner, Operation) and value.owner.parent is block:
                            pending.append((value.owner, False))
        return [] if found == expected else expected


def _in_their_scope(block: Block) -> set[Operation]:
    """
    The operations of a block that something needs in the block itself. The others can be read
    into a branch, a clause or a closure that uses them, with all that only they need.
    """
    found: set[Operation] = set()
    for op in reversed(block.ops):
        if (
            isinstance(op, LetOp)
            or op.has_trait(IsTerminator)
            or any(use.operation in found for result in op.results for use in result.uses)
        ):
            found.add(op)
    return found


def _has_effect(op: Operation) -> bool:
    """Whether an operation does more than compute, itself: of calls it is not known."""
    if isinstance(op, func.CallOp | ApplyOp | func.FuncOp) or op.has_trait(IsTerminator):
        return False
    if any(op.has_trait(trait) for trait in (NoMemoryEffect, RecursiveMemoryEffect)):
        return False
    return op.has_trait(MemoryEffect, value_if_unregistered=False)


def _outside_in(root: Operation) -> Iterator[Operation]:
    """Every operation within `root`, before those inside of it."""
    pending = [root]
    while pending:
        op = pending.pop()
        yield op
        for region in op.regions:
            for block in region.blocks:
                pending.extend(block.ops)
