"""Operations that need no name, and their places in a program that gives names to all others."""

import math

from xdsl.dialects import func, tensor

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.adt import ConstructorOp
from xrelay.dialects.core.functional import GlobalVarOp, InstantiateOp

ATOMS = (ConstructorOp, GlobalVarOp, InstantiateOp, tensor.ExtractOp)


def settle_atoms(function: func.FuncOp) -> None:
    """
    Moves each atom to where something in its block needs it for the first time, and erases those that nothing uses. So
    the order of the names around does not depend on them.
    """
    order = {op: (number, math.inf) for number, op in enumerate(walk(function))}
    for moved, op in enumerate(list(walk(function, reverse=True, region_first=True))):
        block = op.parent
        if block is None or not isinstance(op, ATOMS):
            continue
        uses = [use.operation for use in op.results[0].uses]
        users = [user for each in uses if (user := block.find_ancestor_op_in_block(each))]
        if users:
            first = min(users, key=order.__getitem__)
            op.detach()
            block.insert_op_before(op, first)
            order[op] = order[first][0], moved
        elif not uses:
            op.detach()
            op.erase()
