"""Calls that are the last thing that a function does."""

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from xrelay.dialects.core.functional import LetOp
from xrelay.transforms.rules.called_bodies import named


def last_operations(
    block: Block, through: tuple[type[Operation], ...] = (scf.IfOp,)
) -> list[tuple[Block, Operation | None]]:
    """
    The blocks that a function ends with, those around others first: its own, and those of branches (of `through`) whose results are
    those of the block, as they are. With each the operation that gives its results last, if it is one.
    """
    found: list[tuple[Block, Operation | None]] = []
    pending = [block]
    while pending:
        block = pending.pop()
        last = _last(block)
        found.append((block, last))
        if isinstance(last, through):
            pending.extend(region.block for region in last.regions)
    return found


def _last(block: Block) -> Operation | None:
    """The operation whose results a block gives, all as they are, and behind which nothing is done but naming them."""
    end = block.last_op
    assert end is not None
    op = end.prev_op
    while isinstance(op, LetOp):
        op = op.prev_op
    if op is None or not op.results or tuple(map(named, end.operands)) != tuple(op.results):
        return None
    return op
