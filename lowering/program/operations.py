"""The operations of a program: which become kernels, and which are only names."""

from collections.abc import Iterator

from xdsl.ir import Block, Operation

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.values import (
    CompositeOp,
    ConstantOp,
    FusedOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    TupleGetItemOp,
    TupleOp,
)

PASSING_ON = (TupleOp, TupleGetItemOp, AnnotationOp)
"""Operators whose result is what they are given."""

_NO_KERNELS = (ConstantOp, RefCreateOp, RefReadOp, RefWriteOp)


def program_ops(block: Block) -> Iterator[Operation]:
    """The operations that are lowered, those of composites in their place."""
    for op in block.ops:
        if isinstance(op, CompositeOp):
            yield from program_ops(op.block)
        else:
            yield op


def calls_kernel(op: Operation | Block) -> bool:
    """Whether an operation can become a kernel call: not a name or a constant, no use of cells."""
    return isinstance(op, FusedOp | RelayOp) and not isinstance(op, (*PASSING_ON, *_NO_KERNELS))
