"""Which functions only give the elements of a parameter in another shape."""

from xdsl.ir import BlockArgument, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.functional import ClosureOp
from xrelay.dialects.core.values import FusedOp
from xrelay.dialects.traits import ReshapeOnly


def reshaped_argument(function: FusedOp | ClosureOp) -> int | None:
    """The number of the parameter whose elements a function returns as they are, None for other functions."""
    value: SSAValue = function.yielded
    while not isinstance(value, BlockArgument):
        owner = value.owner
        if not (isinstance(owner, RelayOp) and owner.has_trait(ReshapeOnly)):
            return None
        value = owner.operands[0]
    return value.index if value.block is function.block else None
