"""Why operators do not fuse: the rule, the sentence and the culprit of each refusal, of operators of others as well."""

from collections.abc import Callable

import pytest
from fusion_graphs import MATRIX, Graph, chain, dense, refusal, sizes
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryWriteEffect, Pure

from xrelay.analysis.fusion.plan import FusionOptions, plan_fusion
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.norm import BatchNormOp, SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.transform import ConcatenateOp, TransposeOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp, TanhOp
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind

IMAGE = TensorType(f32, [1, 8, 4, 4])
WEIGHT = TensorType(f32, [8, 8, 1, 1])


class UnaryTestOp(IRDLOperation):
    """A unary operator of another package."""

    data = operand_def()
    result = result_def()

    def __init__(self, data: SSAValue):
        super().__init__(operands=[data], result_types=[data.type])


@irdl_op_definition
class WritingOp(UnaryTestOp):
    """One that says it is elementwise, and writes to memory."""

    name = "test_fusion.writing"
    traits = traits_def(MemoryWriteEffect(), HasPatternKind(OpPatternKind.ELEMWISE))


@irdl_op_definition
class NoKernelOp(UnaryTestOp):
    """One that is elementwise and has no kernel."""

    name = "test_fusion.no_kernel"
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE), NonComputational())


@irdl_op_definition
class VendorOp(UnaryTestOp):
    """One that is elementwise."""

    name = "test_fusion.vendor"
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))


@irdl_op_definition
class RegionOp(UnaryTestOp):
    """One that says it is elementwise, and has a region."""

    name = "test_fusion.region"
    body = region_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def __init__(self, data: SSAValue):
        IRDLOperation.__init__(
            self, operands=[data], result_types=[data.type], regions=[Region(Block())]
        )


@irdl_op_definition
class TwoResultsOp(IRDLOperation):
    """One that says it is elementwise, and has two results."""

    name = "test_fusion.two_results"
    data = operand_def()
    first = result_def()
    second = result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def __init__(self, data: SSAValue):
        super().__init__(operands=[data], result_types=[data.type, data.type])


def test_refusal_text():
    graph = Graph(MATRIX)
    moved = graph.add(TransposeOp(graph.inputs[0]))
    total = graph.add(SumOp(moved, axis=[0]))
    reason = refusal(graph.plan(total), moved)
    assert str(reason) == "rule 23: relay.sum is in a group of kind comm_reduce"
    assert (reason.sweep, reason.culprit) == (1, total.owner)


def elementwise_then_conv(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(ExpOp(graph.inputs[0]))
    return value, graph.add(Conv2DOp(value, graph.inputs[1]))


def conv_then_transpose(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(Conv2DOp(*graph.inputs))
    return value, graph.add(TransposeOp(value))


def conv_and_conv(graph: Graph) -> tuple[SSAValue, SSAValue]:
    first = graph.add(Conv2DOp(*graph.inputs))
    value = graph.add(Conv2DOp(*graph.inputs))
    return value, graph.add(AddOp(first, value))


def conv_in_tuple(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(Conv2DOp(*graph.inputs))
    return value, graph.add(ConcatenateOp(graph.add(TupleOp([value, value])), axis=1))


def returned_tuple(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(ExpOp(graph.inputs[0]))
    return value, graph.add(TupleOp([value]))


def softmax_beside(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(ExpOp(graph.inputs[0]))
    return value, graph.add(AddOp(graph.add(SoftmaxOp(value)), graph.add(TanhOp(value))))


def group_on_the_way(graph: Graph) -> tuple[SSAValue, SSAValue]:
    conv = graph.add(Conv2DOp(*graph.inputs))
    value = graph.add(ExpOp(graph.inputs[0]))
    return value, graph.add(AddOp(graph.add(AddOp(conv, value)), value))


def reduction_then_exp(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(SumOp(graph.inputs[0], axis=[0]))
    return value, graph.add(ExpOp(value))


def unused(graph: Graph) -> tuple[SSAValue, SSAValue]:
    return graph.add(ExpOp(graph.inputs[0])), graph.inputs[0]


def returned(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(ExpOp(graph.inputs[0]))
    return value, value


def two_ends(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(ExpOp(graph.inputs[0]))
    graph.add(TanhOp(value))
    return value, graph.add(ReluOp(value))


def large_constant(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(ConstantOp(dense(1.0, [4])))
    return value, graph.add(AddOp(graph.inputs[0], value))


def nested_projection(graph: Graph) -> tuple[SSAValue, SSAValue]:
    inner = graph.add(TupleOp([graph.inputs[0]]))
    outer = graph.add(TupleOp([inner, graph.inputs[0]]))
    value = graph.add(TupleGetItemOp(outer, 1))
    return value, graph.add(ExpOp(value))


def stop(graph: Graph) -> tuple[SSAValue, SSAValue]:
    value = graph.add(StopFusionOp(graph.inputs[0]))
    return value, graph.add(ExpOp(value))


def unary(op: type[UnaryTestOp]) -> Callable[[Graph], tuple[SSAValue, SSAValue]]:
    def build(graph: Graph) -> tuple[SSAValue, SSAValue]:
        value = graph.add(op(graph.inputs[0]))
        return value, graph.add(ExpOp(value))

    return build


def two_results(graph: Graph) -> tuple[SSAValue, SSAValue]:
    op = TwoResultsOp(graph.inputs[0])
    value = graph.add(op)
    return value, graph.add(AddOp(value, op.second))


@pytest.mark.parametrize(
    "build, rule, sentence, sweep, culprit",
    [
        (
            returned,
            3,
            "the value is used by func.return, at the end of the block",
            None,
            "func.return",
        ),
        (
            large_constant,
            4,
            "of the constants only scalars of type i1, i32, i64, f32 and f64 fuse",
            None,
            None,
        ),
        (
            unary(WritingOp),
            6,
            "test_fusion.writing has side effects, which keep their place",
            None,
            None,
        ),
        (
            unary(RegionOp),
            6,
            "test_fusion.region is not an operator that can be fused",
            None,
            None,
        ),
        (
            two_results,
            6,
            "test_fusion.two_results is not an operator that can be fused",
            None,
            None,
        ),
        (nested_projection, 9, "the tuple has fields that are not tensors", None, None),
        (unused, 12, "the value is not used", None, None),
        (two_ends, 13, "the users come together nowhere", None, None),
        (
            conv_in_tuple,
            20,
            "relay.tuple takes only what is injective or simpler",
            0,
            "relay.tuple",
        ),
        (conv_then_transpose, 21, "the path to relay.transpose is injective", 0, "relay.transpose"),
        (conv_and_conv, 21, "relay.add is in a group of kind out_ewise_fusable", 0, "relay.add"),
        (
            elementwise_then_conv,
            22,
            "the path to relay.nn.conv2d is out_ewise_fusable",
            0,
            "relay.nn.conv2d",
        ),
        (
            softmax_beside,
            22,
            "the path to relay.add is out_ewise_fusable because of relay.nn.softmax",
            0,
            "relay.nn.softmax",
        ),
        (
            group_on_the_way,
            22,
            "relay.add on the way to relay.add is in a group of kind out_ewise_fusable",
            0,
            "relay.add",
        ),
        (reduction_then_exp, 24, "nothing fuses after a reduction", 0, "relay.sum"),
        (returned_tuple, 25, "relay.tuple is in a group of kind tuple", 2, "relay.tuple"),
        (unary(NoKernelOp), 26, "test_fusion.no_kernel has no kernel", None, None),
        (stop, 27, "relay.annotation.stop_fusion ends fusion", None, None),
    ],
)
def test_reason(
    build: Callable[[Graph], tuple[SSAValue, SSAValue]],
    rule: int,
    sentence: str,
    sweep: int | None,
    culprit: str | None,
):
    graph = Graph(IMAGE, WEIGHT)
    value, result = build(graph)
    reason = refusal(graph.plan(result), value)
    assert (reason.rule, reason.sentence, reason.sweep) == (rule, sentence, sweep)
    assert (reason.culprit and reason.culprit.name) == culprit


def test_reason_level_0():
    graph = Graph(MATRIX)
    value = graph.add(ExpOp(graph.inputs[0]))
    plan = graph.plan(graph.add(TanhOp(value)), options=FusionOptions(opt_level=0))
    assert str(refusal(plan, value)) == "rule 15: nothing fuses at level 0"
    assert sizes(plan) == [1, 1]


def test_reason_max_depth():
    plan = plan_fusion(chain(3).block, FusionOptions(opt_level=2, max_depth=2))
    first, second, third, _ = plan.nodes.values()
    assert first.refusal is None
    assert str(second.refusal) == "rule 17: the group of relay.exp would have more than 2 nodes"
    assert second.refusal is not None
    assert second.refusal.culprit is third.op


def test_reason_disappears_when_a_later_sweep_fuses():
    """The first transpose is refused nowhere, the exp before it only until sweep 2."""
    graph = Graph(MATRIX)
    value = graph.add(ExpOp(graph.inputs[0]))
    joined = graph.add(ConcatenateOp(graph.add(TupleOp([value, value]))))
    plan = graph.plan(joined)
    assert sizes(plan) == [3]
    assert isinstance(value.owner, Operation)
    assert plan.nodes[value.owner].refusal is None
    assert plan.boundaries == ()


def test_vendor_operators_fuse():
    """Operators of another dialect fuse as soon as they state a kind."""
    graph = Graph(MATRIX)
    value = graph.add(VendorOp(graph.inputs[0]))
    assert sizes(graph.plan(graph.add(ExpOp(value)))) == [2]


def test_projection_of_opaque_tuple_stays():
    graph = Graph(IMAGE, TensorType(f32, [8]))
    data, vector = graph.inputs
    norm = graph.add(BatchNormOp(data, vector, vector, vector, vector))
    item = graph.add(TupleGetItemOp(norm, 0))
    plan = graph.plan(item)
    assert isinstance(item.owner, Operation)
    assert not plan.group_of[item.owner].fused
