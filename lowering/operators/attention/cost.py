"""What attention costs as one kernel, and as the operators that it consists of."""

from math import prod

from xdsl.ir import BlockArgument, SSAValue

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.dense import MatrixProductOp
from xrelay.dialects.tensor.reshape import RESHAPE_OPS
from xrelay.lowering.emit.evaluate import shape_of
from xrelay.lowering.emit.group import constant_source
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.strategy import Site, select
from xrelay.lowering.operators.attention.parts import Attention, Cut, cut_of, parts_of
from xrelay.lowering.operators.nn.dense import PRODUCT

SOFTMAX_CYCLES = 20
"""To raise a vector of scores: fitted, as are the next two, to times on an AVX-512 core."""
MOVE_CYCLES = 4
"""To read and write a vector near the core."""
KERNEL_MOVE_CYCLES = 10
"""To read and write a vector in a kernel that moves elements."""
SLOW_LOOPS = 4
"""How many times longer a product takes for which there is no estimate than it could."""
STEP_SECONDS = 1e-6
"""To start a kernel and wait for the other threads."""


def attention_of(site: Site) -> Attention:
    """The parts of a composite that is attention."""
    parts = parts_of(site.op)
    assert isinstance(parts, Attention)
    return parts


def kernel_seconds(site: Site) -> float:
    """Estimated time of the one kernel on one core."""
    parts = attention_of(site)
    return _kernel_cycles(parts, cut_of(parts, site.target, 1), site) * site.target.cycle_seconds


def _kernel_cycles(parts: Attention, cut: Cut, site: Site) -> float:
    first, second = parts.first, parts.second
    lanes = site.target.lanes(parts.kind.bytes)
    products = cut.row_blocks * cut.key_blocks * (cut.scores.cycles + cut.output.cycles)
    scores = first.rows * blocks(first.columns, lanes) * (SOFTMAX_CYCLES + MOVE_CYCLES)
    packed = (
        cut.groups * first.columns * (blocks(first.depth, lanes) + blocks(second.columns, lanes))
    )
    copied = cut.key_blocks * first.rows * blocks(first.depth, lanes)
    summed = first.rows * blocks(second.columns, lanes) * (cut.key_blocks - 1)
    moved = packed + copied + summed
    # What differs by rows is a causal mask, as a rule, which hides all blocks on one side of the diagonal.
    seen = (cut.key_blocks + 1) / (2 * cut.key_blocks) if parts.hides_blocks else 1
    return first.batch * (seen * (products + scores) + moved * MOVE_CYCLES)


def team_seconds(site: Site) -> float:
    """Estimated time of the one kernel on all threads."""
    parts = attention_of(site)
    cut = cut_of(parts, site.target, site.threads)
    cycles = _kernel_cycles(parts, cut, site)
    tasks = parts.first.batch * cut.groups
    longest = blocks(tasks, site.threads) / tasks
    return cycles * longest * site.target.cycle_seconds + STEP_SECONDS


def inlined_seconds(site: Site) -> float:
    """
    Estimated time of the operators on their own, on all threads: the products, the softmax, and
    the tensors that are written for another kernel.
    """
    parts, target = attention_of(site), site.target
    lanes = target.lanes(parts.kind.bytes)
    scores = _vectors(parts.softmax.data, lanes)
    moved, packed, steps = 0, 0, 3
    for operand in (parts.scores.tensor_a, parts.scores.tensor_b, parts.output.tensor_b):
        if not _is_given(operand):
            moved += _vectors(operand, lanes)
            steps += 1
    for product, dot in zip((parts.first, parts.second), parts.dots(target), strict=True):
        lies_in_panels = (
            product.by_rows and dot.group == 1 and certainly(product.columns % lanes, 0)
        )
        if constant_source(product.right) is None and not lies_in_panels:
            packed += _vectors(product.right, lanes)
    if parts.moves:
        moved += _vectors(parts.output.result, lanes)
        steps += 1
    cycles = moved * KERNEL_MOVE_CYCLES + packed * MOVE_CYCLES + scores * SOFTMAX_CYCLES
    seconds = cycles * target.cycle_seconds
    if scores * target.vector_bytes > target.l2_bytes:
        # Scores and weights are written and read in the cache behind.
        seconds += 4 * scores * target.vector_bytes / (target.l2_bandwidth / 2)
    seconds += _product_seconds(parts.scores, site) + _product_seconds(parts.output, site)
    return seconds / site.threads + steps * STEP_SECONDS


def _vectors(value: SSAValue, lanes: int) -> int:
    """In how many vectors the rows of a tensor lie."""
    *outer, length = shape_of(value)
    return prod(outer) * blocks(length, lanes)


def _is_given(value: SSAValue) -> bool:
    """Whether nothing but its shape is changed of an operand of a composite."""
    while isinstance(value.owner, RESHAPE_OPS):
        value = value.owner.operands[0]
    return isinstance(value, BlockArgument)


def _product_seconds(op: MatrixProductOp, site: Site) -> float:
    best = select(PRODUCT, Site(op, site.target, site.threads)).candidates[0]
    if best.cost is not None:
        return best.cost
    return SLOW_LOOPS * operation_count(op) / site.target.flops
