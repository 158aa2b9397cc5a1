"""How attention is cut, and what it is estimated to cost, beside counts of what its loops do."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from cases.attention import LONG, MASKS, Attention
from graphs import Graph
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.nn.dense import BatchMatmulOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp, EqualOp, MultiplyOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp, WhereOp
from xrelay.lowering.emit.strategy import Site, select
from xrelay.lowering.emit.target import GENERIC
from xrelay.lowering.operators.attention import cost, parts
from xrelay.lowering.operators.nn.dense import PRODUCT

SHORT = Attention(1, 2, 9, 24, 16, 8)
MANY = replace(SHORT, keys=LONG, depth=64, width=64)
"""More keys than a cache holds."""

Body = Callable[..., SSAValue]
"""Adds what a composite computes to a graph."""


def site_of(attention: Attention, *, constant: bool = False) -> Site:
    """A composite that is attention, of parameters or of constants."""
    graph, batch = Graph(), attention.batch * attention.heads
    add = graph.constant if constant else graph.input
    args: list[SSAValue] = []
    for array in attention.arrays(graph):
        length, size = array.shape[1], array.shape[3]
        shape: tuple[int, ...] = attention.batch, length, attention.heads * size
        if attention.layout == "matrices":
            shape = batch, length, size
        elif attention.layout == "by columns":
            shape = (batch, size, length) if len(args) == 1 else (batch, length, size)
        args.append(add(array.reshape(shape)))
    mask = attention.mask_array(graph)
    if mask is not None:
        args.append(graph.input(mask))
    graph.returns(graph.fused(args, attention.body, composite="attention"))
    (op,) = (op for op in walk(graph.module()) if isinstance(op, CompositeOp))
    return Site(op, GENERIC)


@pytest.mark.parametrize("mask", MASKS)
def test_keys_come_in_blocks(mask: str) -> None:
    """Also where a number stands for all weights of some rows."""
    site = site_of(replace(MANY, mask=mask))
    found = cost.attention_of(site)
    assert found.changed_weights == mask.startswith("zeros")
    assert (found.row_weight is not None) == mask.startswith("zeros")
    assert parts.cut_of(found, site.target, 1).key_blocks > 1


@dataclass(frozen=True)
class Changed(Attention):
    """Attention whose weights are changed before the values are multiplied."""

    by_key: bool = True

    def weights(self, g: Graph, scores: SSAValue, mask: SSAValue | None) -> SSAValue:
        weights, zero = super().weights(g, scores, mask), g.constant(np.float32(0))
        if not self.by_key:
            return g.op(MultiplyOp(weights, weights))
        assert mask is not None
        return g.op(WhereOp(g.op(EqualOp(mask, zero)), weights, zero))


@pytest.mark.parametrize("by_key", [True, False])
def test_keys_come_at_once_where_weights_change(by_key: bool) -> None:
    site = site_of(Changed(1, 2, 9, LONG, 64, 64, mask="added", by_key=by_key))
    found = cost.attention_of(site)
    assert found.changed_weights
    assert found.row_weight is None
    assert parts.cut_of(found, site.target, 1).key_blocks == 1


@pytest.mark.parametrize(
    ("mask", "rows", "hides"),
    [("causal", 64, True), ("causal", 63, False), ("added", 64, False), ("none", 64, False)],
)
def test_blocks_are_hidden_by_masks_that_differ_by_rows(mask: str, rows: int, hides: bool) -> None:
    site = site_of(replace(SHORT, rows=rows, keys=700, mask=mask))
    found = cost.attention_of(site)
    assert found.hides_blocks == hides
    assert parts.cut_of(found, site.target, 1).key_blocks == (5 if hides else 1)


def counted_cycles(attention: Attention, site: Site, key_blocks: int) -> float:
    """What the kernel does beside the products, step by step, in cycles."""
    cut = parts.cut_of(cost.attention_of(site), site.target, 1)
    assert cut.key_blocks == key_blocks
    lanes = site.target.lanes(4)

    def vectors(length: int) -> int:
        return len(range(0, length, lanes))

    products = raised = moved = 0.0
    for _ in range(attention.batch * attention.heads):
        for _ in range(cut.groups):
            for _ in range(attention.keys):
                moved += vectors(attention.depth) + vectors(attention.width)
        for block in range(cut.key_blocks):
            for _ in range(cut.row_blocks):
                products += cut.scores.cycles + cut.output.cycles
            for _ in range(attention.rows):
                moved += vectors(attention.depth)
                if block:
                    moved += vectors(attention.width)
        for _ in range(attention.rows):
            raised += vectors(attention.keys)
    if attention.mask == "causal":
        # Of as many blocks of rows as of keys, those up to the diagonal are seen.
        numbers = range(key_blocks)
        seen = sum(keys <= rows for rows in numbers for keys in numbers) / key_blocks**2
        products, raised = products * seen, raised * seen
    per_score = cost.SOFTMAX_CYCLES + cost.MOVE_CYCLES
    return products + raised * per_score + moved * cost.MOVE_CYCLES


@pytest.mark.parametrize(
    ("attention", "key_blocks"),
    [
        (SHORT, 1),
        (replace(SHORT, rows=100, depth=7, width=31), 1),
        (MANY, 5),
        (replace(MANY, rows=100, mask="causal"), 16),
    ],
)
def test_estimates_of_the_kernel(attention: Attention, key_blocks: int) -> None:
    site = site_of(attention)
    cycles = counted_cycles(attention, site, key_blocks)
    assert cost.kernel_seconds(site) == pytest.approx(cycles * GENERIC.cycle_seconds)


@pytest.mark.parametrize(("threads", "share"), [(1, 1.0), (2, 0.5), (4, 0.25)])
def test_threads_share_heads(threads: int, share: float) -> None:
    site = site_of(replace(SHORT, heads=4))
    shared = cost.team_seconds(replace(site, threads=threads)) - cost.STEP_SECONDS
    assert shared == pytest.approx(cost.kernel_seconds(site) * share)


def products_seconds(site: Site) -> float:
    """What the two products are estimated to cost as kernels."""
    found = cost.attention_of(site)
    sites = (replace(site, op=op) for op in (found.scores, found.output))
    return sum(select(PRODUCT, each).candidates[0].cost or 0 for each in sites)


MATRICES = replace(SHORT, layout="matrices")
BY_COLUMNS = replace(SHORT, layout="by columns")
INLINED = {
    # The vectors of the scores, those that are packed for products, those that are moved, and the kernels.
    "keys by rows": (MATRICES, 2 * 9 * 6, 2 * 24 * 4, 0, 3),
    "keys by columns": (BY_COLUMNS, 2 * 9 * 6, 0, 0, 3),
    "broken vectors of keys": (replace(BY_COLUMNS, keys=25), 2 * 9 * 7, 2 * 16 * 7, 0, 3),
    "broken vectors of values": (replace(BY_COLUMNS, width=6), 2 * 9 * 6, 2 * 24 * 2, 0, 3),
    "heads side by side": (
        SHORT,
        2 * 9 * 6,
        2 * 24 * 4,
        2 * (9 * 4 + 24 * 4 + 24 * 2 + 9 * 2),
        3 + 3 + 1,
    ),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", INLINED)
def test_estimates_of_the_operators_alone(name: str, threads: int) -> None:
    attention, scores, packed, moved, steps = INLINED[name]
    assert GENERIC.lanes(4) == 4
    site = replace(site_of(attention), threads=threads)
    cycles = scores * cost.SOFTMAX_CYCLES + packed * cost.MOVE_CYCLES
    cycles += moved * cost.KERNEL_MOVE_CYCLES
    seconds = cycles * GENERIC.cycle_seconds + products_seconds(site)
    expected = seconds / threads + steps * cost.STEP_SECONDS
    assert cost.inlined_seconds(site) == pytest.approx(expected)


def test_constants_are_packed_before() -> None:
    given, constant = (site_of(MATRICES, constant=each) for each in (False, True))
    packed = 2 * 24 * 4 * cost.MOVE_CYCLES * GENERIC.cycle_seconds
    saved = cost.inlined_seconds(given) - cost.inlined_seconds(constant)
    products = products_seconds(given) - products_seconds(constant)
    assert saved - products == pytest.approx(packed)


@pytest.mark.parametrize(("rows", "times"), [(64, 0), (65, 4)])
def test_scores_beyond_the_near_cache(rows: int, times: int) -> None:
    """They are written and read twice where they do not fit."""
    attention = Attention(1, 1, rows, 4 * 512, 4, 4, layout="by columns")
    vectors = rows * 512
    site = site_of(attention)
    assert (vectors * 16 > GENERIC.l2_bytes) == bool(times)
    cycles = vectors * cost.SOFTMAX_CYCLES * GENERIC.cycle_seconds
    far = times * vectors * 16 / (GENERIC.l2_bandwidth / 2)
    expected = cycles + far + products_seconds(site) + 3 * cost.STEP_SECONDS
    assert cost.inlined_seconds(site) == pytest.approx(expected)


# -- what is no attention -----------------------------------------------------------------------------


MATRIX = (2, 4, 4)


def composite(
    body: Body, *shapes: tuple[int, ...], dtype: str = "float32", name: str = parts.NAME
) -> Site:
    """A composite of batches of matrices, two of 4 by 4 where nothing is said."""
    graph = Graph()
    args = [graph.input(np.zeros(shape, dtype)) for shape in shapes or (MATRIX, MATRIX)]
    graph.returns(graph.fused(args, body, composite=name))
    (op,) = (op for op in walk(graph.module()) if isinstance(op, CompositeOp))
    return Site(op, GENERIC)


def times(g: Graph, left: SSAValue, right: SSAValue, **properties: bool) -> SSAValue:
    """A product of batches of matrices."""
    return g.op(BatchMatmulOp(left, right, **properties))


def attended(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    """The plainest attention."""
    return times(g, g.op(SoftmaxOp(times(g, x, y))), y)


def with_axis(axis: int) -> Body:
    return lambda g, x, y: times(g, g.op(SoftmaxOp(times(g, x, y), axis=axis)), y)


def added(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return g.op(AddOp(attended(g, x, y), x))


def moved_twice(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    result = attended(g, x, y)
    g.op(TransposeOp(result, [0, 2, 1]))
    return g.op(TransposeOp(result, [0, 2, 1]))


def weights_on_the_right(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return times(g, y, g.op(SoftmaxOp(times(g, x, y))))


def weights_twice(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    weights = g.op(SoftmaxOp(times(g, x, y)))
    return times(g, weights, weights)


def two_softmaxes(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return times(g, g.op(SoftmaxOp(g.op(SoftmaxOp(times(g, x, y))))), y)


def scores_alone(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return times(g, x, y)


def weights_alone(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return g.op(SoftmaxOp(times(g, x, y)))


def spread_scores(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    """What is added has more elements than the scores."""
    scores = g.op(ReshapeOp(times(g, x, y), [2, 1, 4, 4]))
    return g.op(AddOp(scores, g.op(ReshapeOp(x, [1, 2, 4, 4]))))


def summed_before(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return attended(g, x, g.op(SumOp(g.op(ReshapeOp(y, [2, 4, 4, 1])), axis=[3])))


BETWEEN = "{} between the products or behind them".format
REFUSED: dict[str, tuple[Body, str | None]] = {
    "plain": (attended, None),
    "softmax along the last axis": (with_axis(2), None),
    "softmax of columns": (with_axis(1), "a softmax that is not along the last axis"),
    "added": (added, BETWEEN("relay.add")),
    "moved twice": (moved_twice, "a result that is moved twice"),
    "weights on the right": (weights_on_the_right, "weights that more is done with"),
    "weights twice": (weights_twice, "weights that more is done with"),
    "two softmaxes": (two_softmaxes, BETWEEN("relay.nn.softmax")),
    "scores alone": (scores_alone, "not a softmax between two products"),
    "weights alone": (weights_alone, "not a softmax between two products"),
    "more scores": (spread_scores, BETWEEN("relay.add")),
    "a sum in front": (summed_before, "relay.sum of tensor<2x4x4xf32> inside"),
    "left operand transposed": (
        lambda g, x, y: times(g, g.op(SoftmaxOp(times(g, x, y, transpose_a=True))), y),
        "left operand transposed",
    ),
    "weights transposed": (
        lambda g, x, y: times(g, g.op(SoftmaxOp(times(g, x, y))), y, transpose_a=True),
        "left operand transposed",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    body, expected = REFUSED[name]
    assert parts.refusal(composite(body)) == expected


@pytest.mark.parametrize(
    ("dtype", "is_taken"), [("float16", False), ("float32", True), ("float64", True)]
)
def test_elements(dtype: str, is_taken: bool) -> None:
    expected = None if is_taken else "scores, weights and sums not all f32 or all f64"
    assert parts.refusal(composite(attended, dtype=dtype)) == expected


@pytest.mark.parametrize("number", [0, 1])
def test_products_that_only_general_code_computes(number: int) -> None:
    """Products of f64 for results of f32 are rounded otherwise, as scores and as results."""

    def product(g: Graph, left: SSAValue, right: SSAValue) -> SSAValue:
        return g.op(BatchMatmulOp(left, right, out_dtype=f32))

    def body(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
        scores = product(g, x, x) if number == 0 else times(g, y, y)
        other = y if number == 0 else x
        return product(g, g.op(SoftmaxOp(scores)), other)

    graph = Graph()
    args = [graph.input(np.zeros(MATRIX, dtype)) for dtype in ("float64", "float32")]
    graph.returns(graph.fused(args, body, composite=parts.NAME))
    (op,) = (op for op in walk(graph.module()) if isinstance(op, CompositeOp))
    assert parts.refusal(Site(op, GENERIC)) == "elements of types that only general code multiplies"


def test_other_composites() -> None:
    found = parts.refusal(composite(attended, name="attention2"))
    assert found == 'not a composite "attention"'
    op = ReshapeOp(site_of(SHORT).op.operands[0], [-1])
    assert parts.parts_of(op) == 'not a composite "attention"'


@pytest.mark.parametrize("length", [0, 1])
def test_no_elements(length: int) -> None:
    for name in ("rows", "keys", "depth", "width"):
        used = replace(MATRICES, scale="none", **{name: length})
        shapes = ((used.rows, used.depth), (used.keys, used.depth), (used.keys, used.width))
        site = composite(used.body, *((2, *shape) for shape in shapes))
        assert parts.refusal(site) == ("no elements" if length == 0 else None)


def scores_of_one(g: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
    return times(g, g.op(SoftmaxOp(times(g, x, x))), y)


@pytest.mark.parametrize(("batch", "expected"), [(1, None), (2, "more values than scores")])
def test_each_member_has_its_scores(batch: int, expected: str | None) -> None:
    assert parts.refusal(composite(scores_of_one, (1, 4, 4), (batch, 4, 4))) == expected
    keys = composite(attended, (1, 4, 4), (batch, 4, 4))
    assert parts.refusal(keys) is None, "queries may be fewer than keys"
