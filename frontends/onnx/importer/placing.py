"""
Puts operations, which converters make outside of any block, into the function and into the regions of
branches and loops.
"""

from collections.abc import Collection

from xdsl.ir import Block, Operation, SSAValue

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import ConstantOp


def place_in_post_dfs_order(
    block: Block, root: Operation, own: Collection[Operation] | None = None
) -> None:
    """
    Adds `root`, and the operations without a block that it needs, to the end of `block`: each
    operation after its operands, operands in order. A scalar constant gets a copy for each use,
    because one that is shared by two users could not be fused into both.

    Of a region only its `own` operations are added, the others stand around it; of constants it gets copies.
    """
    placed: set[Operation] = set()
    copies: dict[Operation, ConstantOp] = {}
    captured: dict[Operation, list[SSAValue]] = {}
    stack: list[tuple[Operation, int]] = [(root, 0)]
    while stack:
        op, position = stack.pop()
        needs = len(op.operands)
        if op.regions:
            if op not in captured:
                captured[op] = captured_values(op)
            needs += len(captured[op])
        if position == needs:
            block.add_op(op)
            placed.add(op)
            continue
        stack.append((op, position + 1))
        if position >= len(op.operands):
            owner = captured[op][position - len(op.operands)].owner
        else:
            owner = op.operands[position].owner
        if isinstance(owner, ConstantOp) and (own is not None or owner in placed):
            copy = copies.get(owner) if owner.result.type.get_shape() else None
            if copy is None and (own is not None or not owner.result.type.get_shape()):
                copy = copies[owner] = owner.clone()
                stack.append((copy, 0))
            if copy is not None:
                op.operands[position] = copy.result
        elif isinstance(owner, Operation) and owner not in placed and (own is None or owner in own):
            stack.append((owner, 0))


def captured_values(op: Operation) -> list[SSAValue]:
    """What the regions of an operation use from outside of it, in the order of the first use."""
    inside = set(walk(op))
    blocks = {block for each in inside for region in each.regions for block in region.blocks}
    found: dict[SSAValue, None] = {}
    for each in walk(op):
        if each is not op:
            for operand in each.operands:
                if operand.owner not in inside and operand.owner not in blocks:
                    found[operand] = None
    return list(found)


def drop_unplaced(created: Collection[Operation]) -> None:
    """Ends the uses that operations which were never placed make of others."""
    for op in created:
        if op.parent is None:
            op.drop_all_references()
