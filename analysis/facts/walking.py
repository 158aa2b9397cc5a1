"""
The operations within another one, in time linear in their number however deep regions nest.

xDSL's `Operation.walk` has a generator for every region around an operation, each of which hands the operation
on: at depth d an operation costs d, and programs of nested conditionals take quadratic time.
"""

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region


def walk(
    scope: Operation | Region | Block, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    """
    The operations of `scope`, which comes along if it is one itself, in the order of xDSL's `walk`: each
    before what its regions hold, with `region_first` after that. `reverse` turns regions, blocks and
    operations around. An operation may change its own regions, and be erased, while it is visited.
    """
    around: list[Operation] = []
    rest = [iter((scope,)) if isinstance(scope, Operation) else _members(scope, reverse)]
    while rest:
        op = next(rest[-1], None)
        if op is None:
            rest.pop()
            if rest and region_first:
                yield around.pop()
            continue
        if not region_first:
            yield op
        if op.regions:
            around.append(op)
            rest.append(within(op, reverse=reverse))
        elif region_first:
            yield op


def blocks_in(op: Operation) -> Iterator[Block]:
    """The blocks that are directly in the regions of an operation."""
    return (block for region in op.regions for block in region.blocks)


def within(op: Operation, *, reverse: bool = False) -> Iterator[Operation]:
    """The operations that are directly in the regions of another one."""
    for region in reversed(op.regions) if reverse else op.regions:
        yield from _members(region, reverse)


def _members(scope: Region | Block, reverse: bool) -> Iterator[Operation]:
    """The operations that are directly in a region or a block."""
    if isinstance(scope, Block):
        yield from reversed(scope.ops) if reverse else scope.ops
        return
    for block in reversed(scope.blocks) if reverse else scope.blocks:
        yield from _members(block, reverse)
