"""
The operations of a program: which become kernels, which are only names, which are control flow, and
which compute numbers in registers.
"""

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.failure import FailOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, FusedOp, TupleGetItemOp, TupleOp

PASSING_ON = (TupleOp, TupleGetItemOp, AnnotationOp)
"""Operators whose result is what they are given."""

_NO_KERNELS = (ConstantOp, FailOp, RefCreateOp, RefReadOp, RefWriteOp)

LoopOp: TypeAlias = scf.ForOp | scf.WhileOp
"""What is done in rounds."""

CONTROL_FLOW = (scf.IfOp, scf.ForOp, scf.WhileOp)
"""Operations with regions that the entry function runs as branches and loops."""

TERMINATORS = (scf.YieldOp, scf.ConditionOp)
"""The ends of the regions of these."""

SCALARS = (
    arith.AddiOp,
    arith.AndIOp,
    arith.CmpiOp,
    arith.ConstantOp,
    arith.IndexCastOp,
    arith.MuliOp,
    arith.OrIOp,
    arith.SelectOp,
    arith.SubiOp,
    arith.XOrIOp,
)
"""Arithmetic on single numbers, by which loops count and branches choose. Every thread computes it."""


def is_scalar(type_: Attribute) -> bool:
    """Whether values of a type are single numbers, which live in registers."""
    return isinstance(type_, IntegerType | IndexType)


def program_ops(block: Block) -> Iterator[Operation]:
    """
    The operations that are lowered, those of composites in their place, and those in the regions of
    branches and loops behind these.
    """
    for op in block.ops:
        if isinstance(op, CompositeOp):
            yield from program_ops(op.block)
            continue
        yield op
        if isinstance(op, CONTROL_FLOW):
            for region in op.regions:
                for inner in region.blocks:
                    yield from program_ops(inner)


def calls_kernel(op: Operation | Block) -> bool:
    """Whether an operation can become a kernel call: not a name or a constant, no use of cells."""
    return isinstance(op, FusedOp | RelayOp) and not isinstance(op, (*PASSING_ON, *_NO_KERNELS))


def surrounding_block(node: Operation | Block) -> Block | None:
    """The block in which an operation runs: composites run in the block around them."""
    block = node.parent if isinstance(node, Operation) else node
    while block is not None and isinstance(composite := block.parent_op(), CompositeOp):
        block = composite.parent
    return block


def carried_values(op: LoopOp) -> list[tuple[SSAValue, SSAValue]]:
    """What a loop carries from round to round: the value in a round, and that before the first."""
    if isinstance(op, scf.ForOp):
        return list(zip(op.body.block.args[1:], op.iter_args, strict=True))
    return list(zip(op.before_region.block.args, op.arguments, strict=True))


def constant_number(value: SSAValue) -> int | None:
    """A number in a register that is a constant."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None
