"""
Steps that are too small to be shared: the first thread runs them alone, and those that follow each other without
waiting for the others.

    shared step ─ barrier ─ small step, small step, small step ─ barrier ─ shared step

Sharing a step saves a part of its time, and costs a barrier. How long a step takes is estimated by what it
computes and moves. Nothing is small whose lengths are not known before the program runs.
"""

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.dialects.lengths import is_open, is_open_type
from xrelay.lowering.emit.group import Group
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.storage import leaf_bytes, leaves_of

FLOPS = 5e10
"""Operations that a thread does in a second, beside which it moves what they need."""
BANDWIDTH = 5e10
"""Bytes that a thread moves in a second, from and to the second-level cache."""
SMALL_SECONDS = 1.5e-6
"""What two threads save together of a step of this length, a barrier between them takes."""


def threads_of(group: Group, options: KernelOptions) -> int:
    """How many threads compute a group."""
    return 1 if options.has_small_steps and _is_small(group) else options.threads


def _is_small(group: Group) -> bool:
    computed = [result for op in group.ops for result in op.results]
    if any(is_open_type(value.type) for value in (*group.params, *computed)):
        return False
    values = [*group.params, *(op.result for op in group.constants), group.result]
    moved = sum(leaf_bytes(leaf) for value in values for leaf in leaves_of(value))
    flops = sum(map(operation_count, group.ops))
    return max(flops / FLOPS, moved / BANDWIDTH) < SMALL_SECONDS


def is_small_copy(size: int, options: KernelOptions) -> bool:
    """Whether one thread copies some bytes."""
    return options.has_small_steps and not is_open(size) and size / BANDWIDTH < SMALL_SECONDS
