"""
Steps that are too small to be shared: the first thread runs them alone, and those that follow each other without
waiting for the others.

    shared step ─ barrier ─ small step, small step, small step ─ barrier ─ shared step

Sharing a step saves a part of its time, and costs a barrier. How long a step takes is estimated by what it
computes and moves. Nothing is small whose lengths are not known before the program runs, or that does more work than
its sizes tell, as sorts, transforms, and windows do. Kernels that turn out to have one round of work are run alone as well.
"""

from xdsl.ir import Operation

from xrelay.analysis.facts.operation_count import multiply_adds, operation_count
from xrelay.dialects.core.values import ConstantOp, TupleOp, YieldOp
from xrelay.dialects.lengths import is_open, is_open_type
from xrelay.dialects.nn.norm import LayerNormOp, RmsNormOp, SoftmaxFamilyOp
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.lowering.emit.group import Group
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.storage import leaf_bytes, leaves_of

FLOPS = 5e10
"""Operations that a thread does in a second, beside which it moves what they need."""
BANDWIDTH = 5e10
"""Bytes that a thread moves in a second, from and to the second-level cache."""
SMALL_SECONDS = 1.5e-6
"""What two threads save together of a step of this length, a barrier between them takes."""
COUNTED = (ConstantOp, YieldOp, TupleOp, LayerNormOp, RmsNormOp, SoftmaxFamilyOp)
"""What is no work, or reads its operand a few times."""


def _tells_its_work(op: Operation) -> bool:
    """Whether the work of an operator is in proportion to its operands and results, or counted."""
    if isinstance(op, COUNTED) or multiply_adds(op):
        return True
    return pattern_kind(op) <= OpPatternKind.COMM_REDUCE and not isinstance(op, EinsumOp)


def threads_of(group: Group, options: KernelOptions) -> int:
    """How many threads compute a group."""
    return 1 if options.has_small_steps and _is_small(group) else options.threads


def _is_small(group: Group) -> bool:
    if any(is_open_type(value.type) for value in group.values):
        return False
    if not all(map(_tells_its_work, group.ops)):
        return False
    values = [*group.params, *(op.result for op in group.constants), group.result]
    moved = sum(leaf_bytes(leaf) for leaf in leaves_of(*values))
    flops = sum(map(operation_count, group.ops))
    return max(flops / FLOPS, moved / BANDWIDTH) < SMALL_SECONDS


def is_small_copy(size: int, options: KernelOptions) -> bool:
    """Whether one thread copies some bytes."""
    return options.has_small_steps and not is_open(size) and size / BANDWIDTH < SMALL_SECONDS
