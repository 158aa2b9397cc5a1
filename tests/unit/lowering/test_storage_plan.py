"""What shares memory with what, and in which format, without compiling it."""

from collections.abc import Sequence

import pytest
from graphs import Graph
from xdsl.ir import SSAValue

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import kernel_options
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import FusedOp, TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.format import NO_HALO
from xrelay.lowering.program.planning import plan_storage
from xrelay.lowering.program.selection import select_strategies
from xrelay.lowering.program.storage import StoragePlan
from xrelay.options import CompileOptions

OPTIONS = kernel_options(CompileOptions(2, "x86-64"))
LANES = 4
LAYOUT = f"NCHW{LANES}c"


def planned(g: Graph) -> StoragePlan:
    """The plan; operators with loops are in regions of their own from then on."""
    function = entry_function(g.module())
    choices = select_strategies(function, OPTIONS)
    return plan_storage(function.body.block, choices, [leaf(output.value) for output in g.outputs])


def leaf(value: SSAValue) -> Leaf:
    """A value of a graph, or the result of the region that it is in now."""
    region = value.owner.parent_op()
    return (region.result, 0) if isinstance(region, FusedOp) else (value, 0)


def image(g: Graph, *, batch: int = 1, blocks: int = 1, height: int = 5) -> SSAValue:
    """An image that a kernel computes."""
    data = g.input(g.small("float32", batch, blocks, height, 5, LANES))
    return g.op(MaxPool2DOp(data, (1, 1), layout=LAYOUT))


def convolved(g: Graph, data: SSAValue, taps: int = 3) -> None:
    """The result of a convolution, which wants zeros around its image unless it has one tap."""
    channels = LANES * data.type.get_shape()[1]
    weight = g.constant(g.small("float32", LANES, channels, taps, taps))
    g.show(Conv2DOp(data, weight, padding=(taps // 2, taps // 2), data_layout=LAYOUT))


def joined(g: Graph, fields: Sequence[SSAValue], axis: int) -> SSAValue:
    return g.op(ConcatenateOp(g.op(TupleOp(list(fields))), axis=axis))


@pytest.mark.parametrize(
    ("axis", "taps", "is_joined"),
    [(1, 3, True), (2, 3, False), (3, 3, False), (2, 1, True), (3, 1, False)],
)
def test_axes_of_images_that_are_joined(axis: int, taps: int, is_joined: bool):
    """With zeros around it, only whole channels of an image are one piece."""
    g = Graph()
    whole = joined(g, [image(g), image(g)], axis)
    convolved(g, whole, taps)
    plan = planned(g)
    assert bool(plan.parts) == bool(plan.joined) == is_joined
    assert (plan.format(leaf(whole)).halo != NO_HALO) == (taps == 3)


@pytest.mark.parametrize("batch", [1, 2])
def test_only_the_first_of_the_axes_that_are_longer_is_joined(batch: int):
    g = Graph()
    convolved(g, joined(g, [image(g, batch=batch) for _ in range(2)], 1), 1)
    assert bool(planned(g).parts) == (batch == 1)


def test_offsets_of_parts_step_over_the_zeros():
    g = Graph()
    fields = [image(g), image(g, blocks=3), image(g, blocks=2)]
    whole = joined(g, fields, 1)
    convolved(g, whole)
    plan = planned(g)
    channels = 4 * LANES * 7 * 7
    assert [plan.parts[leaf(field)].offset for field in fields] == [0, channels, 4 * channels]
    assert {plan.format(leaf(field)).halo for field in fields} == {(1, 1, 1, 1)}
    assert all(plan.parts[leaf(field)].whole == leaf(whole) for field in fields)


@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize(
    "how", ["a shape of its own", "seen in another shape", "an input", "twice"]
)
def test_fields_without_the_zeros_of_the_whole(how: str, taps: int):
    """They are copied, or seen as they are, where the whole has no zeros; else a kernel joins them."""
    g = Graph()
    first = image(g)
    if how == "a shape of its own":
        flat = g.op(SoftmaxOp(g.input(g.small("float32", 100))))
        first = g.op(ReshapeOp(flat, [1, 1, 5, 5, LANES]))
    elif how == "seen in another shape":
        g.show(SoftmaxOp(g.op(ReshapeOp(first, [100]))))
    elif how == "an input":
        first = g.input(g.small("float32", 1, 1, 5, 5, LANES))
    convolved(g, joined(g, [first, first if how == "twice" else image(g), image(g)], 1), taps)
    plan = planned(g)
    assert bool(plan.joined) == (taps == 1)
    copies = how in ("an input", "twice")
    assert sum(map(len, plan.joined.values())) == (taps == 1 and copies)


def test_an_output_in_another_shape_is_copied():
    g = Graph()
    flat = g.op(SoftmaxOp(g.input(g.small("float32", 8))))
    g.returns(flat)
    other = g.op(SoftmaxOp(g.input(g.small("float32", 2, 4))))
    field = g.op(ReshapeOp(flat, [2, 4]))
    g.show(SoftmaxOp(joined(g, [other, field], 0)))
    plan = planned(g)
    assert list(plan.parts) == [leaf(other)]
    assert list(plan.joined.values()) == [((leaf(field), 32),)]


def test_a_field_with_zeros_of_its_own():
    """It fits where the whole has as many at least."""
    for own, whole_taps, fits in ((3, 3, True), (3, 5, True), (5, 3, False), (3, 1, False)):
        g = Graph()
        fields = [image(g), image(g)]
        convolved(g, fields[0], own)
        convolved(g, joined(g, fields, 1), whole_taps)
        assert bool(planned(g).parts) == fits, (own, whole_taps)


@pytest.mark.parametrize(("depth", "gap"), [(1024, True), (1020, False)])
def test_rows_that_collide_lie_apart(depth: int, gap: bool):
    """And are no part of something that is joined."""
    g = Graph()
    data = g.op(SoftmaxOp(g.input(g.small("float32", 64, depth))))
    weight = g.constant(g.small("float32", 32, depth))
    g.show(DenseOp(data, weight))
    fields = [g.op(SoftmaxOp(g.input(g.small("float32", 32, depth)))) for _ in range(2)]
    g.show(DenseOp(joined(g, fields, 0), weight))
    plan = planned(g)
    assert (plan.format(leaf(data)).strides[0] > depth) == gap
    assert bool(plan.parts) != gap


def test_results_in_the_place_of_operands_of_two_shapes():
    """Of two operands the first that can be replaced, never one that is read twice at other places."""
    g = Graph()
    data = g.input(g.small("float32", 4, 4))
    one, two = (g.op(SoftmaxOp(data)) for _ in range(2))
    total = g.op(AddOp(one, two))
    g.show(SoftmaxOp(total))
    assert planned(g).in_place == {leaf(total): leaf(one)}

    g = Graph()
    one, two = (g.op(SoftmaxOp(g.input(g.small("float32", 2, 4)))) for _ in range(2))
    whole = joined(g, [one, two], 0)
    g.show(SoftmaxOp(whole))
    total = g.op(AddOp(one, two))
    g.show(SoftmaxOp(total))
    assert planned(g).in_place == {}


@pytest.mark.parametrize("later", [False, True])
def test_a_tuple_reads_nothing(later: bool):
    """What is packed before or afterwards may be replaced by who reads it last."""
    g = Graph()
    one, two = (g.op(SoftmaxOp(g.input(g.small("float32", 4)))) for _ in range(2))
    if not later:
        g.op(TupleOp([one, two]))
    value = g.op(NegativeOp(one))
    if later:
        g.op(TupleOp([one, two]))
    g.show(SoftmaxOp(g.op(AddOp(two, g.op(SoftmaxOp(value))))))
    assert planned(g).in_place[leaf(value)] == leaf(one)


def test_parts_of_an_output_stay():
    g = Graph()
    one, two = (g.op(SoftmaxOp(g.input(g.small("float32", 2, 4)))) for _ in range(2))
    g.returns(joined(g, [one, two], 0))
    g.show(SoftmaxOp(g.op(NegativeOp(one))))
    plan = planned(g)
    assert plan.parts.keys() == {leaf(one), leaf(two)}
    assert plan.in_place == {}
