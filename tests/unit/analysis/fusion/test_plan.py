"""
The fusion plan: what it says about each node and why, and that carrying it out is safe.

Which operators fuse is tested by `tests/filecheck/transforms/fuse-ops*.mlir`.
"""

from collections.abc import Callable

import numpy as np
import pytest
from fusion_graphs import random_program
from xdsl.context import Context
from xdsl.dialects import func, test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import PassFailedException

from benchmarks.fusion import xrelay_module
from benchmarks.fusion_graphs import GRAPHS
from xrelay.analysis.fusion.plan import (
    FusionGroup,
    FusionNode,
    FusionOptions,
    FusionPlan,
    fusion_blocks,
    plan_fusion,
)
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import ConstantOp, FusedOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.norm import BatchNormOp, SoftmaxOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.transform import ConcatenateOp, TransposeOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp, TanhOp
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind
from xrelay.interpreters.relay import interpret
from xrelay.transforms.defuse_ops import DefuseOpsPass
from xrelay.transforms.fuse_ops import FuseOpsPass

IMAGE = TensorType(f32, [1, 8, 4, 4])
MATRIX = TensorType(f32, [4, 8])
WEIGHT = TensorType(f32, [8, 8, 1, 1])
FUSE = FusionOptions(opt_level=2)

SEED = """
func.func @main(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %bias = relay.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]], [[8.0]]]> : tensor<8x1x1xf32>
  %half = relay.constant dense<0.5> : tensor<f32>
  %conv = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %0 = relay.add %conv, %bias : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.nn.relu %0 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %2 = relay.multiply %conv, %half : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
  %3 = relay.add %1, %2 : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  func.return %3 : tensor<1x8x4x4xf32>
}
"""


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


class Graph:
    """A function that is built operation by operation."""

    def __init__(self, *types: TensorType):
        self.block = Block(arg_types=types)
        self.inputs = list(self.block.args)

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def scalar(self, value: float = 1.0) -> SSAValue:
        return self.add(ConstantOp(dense(value, [])))

    def module(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(func.ReturnOp(*results))
        inputs = [value.type for value in self.inputs]
        outputs = [value.type for value in results]
        return ModuleOp([func.FuncOp("main", (inputs, outputs), Region(self.block))])

    def plan(self, *results: SSAValue, options: FusionOptions = FUSE) -> FusionPlan:
        self.module(*results)
        return plan_fusion(self.block, options)


def dense(value: float, shape: list[int]):
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    return DenseIntOrFPElementsAttr.from_list(TensorType(f32, shape), [value])


def parse(text: str) -> ModuleOp:
    ctx = Context()
    ctx.load_dialect(Relay)
    ctx.load_dialect(func.Func)
    ctx.load_dialect(test.Test)
    return Parser(ctx, text).parse_module()


def refusal(plan: FusionPlan, value: SSAValue):
    assert isinstance(value.owner, Operation)
    result = plan.nodes[value.owner].refusal
    assert result is not None
    return result


def chain(length: int) -> Graph:
    graph = Graph(MATRIX)
    value = graph.inputs[0]
    for _ in range(length):
        value = graph.add(ExpOp(value))
    graph.block.add_op(func.ReturnOp(value))
    return graph


def sizes(plan: FusionPlan) -> list[int]:
    return [len(group.members) for group in plan.groups if group.fused]


# The plan


def test_seed_is_one_group():
    (function,) = parse(SEED).ops
    assert isinstance(function, func.FuncOp)
    plan = plan_fusion(function.body.block, FUSE)
    (group,) = [group for group in plan.groups if group.fused]
    assert [op.name for op in group.members] == [
        "relay.constant",
        "relay.nn.conv2d",
        "relay.add",
        "relay.nn.relu",
        "relay.multiply",
        "relay.add",
    ]
    assert group.root is group.members[-1]
    assert group.anchor is group.members[1]
    assert group.kind is OpPatternKind.OUT_EWISE_FUSABLE
    assert all(plan.group_of[op] is group for op in group.members)
    bias, conv = function.body.block.ops.first, group.anchor
    (boundary,) = plan.boundaries
    assert boundary.producer is bias
    assert boundary.consumer is group.members[2]
    assert boundary.refusal.rule == 4

    node = plan.nodes[conv]
    assert node.dominator is plan.nodes[group.root]
    assert node.path_kind is OpPatternKind.ELEMWISE
    assert [edge.kind for edge in node.edges] == [OpPatternKind.ELEMWISE] * 2
    assert [edge.consumer.op for edge in node.edges] == [group.members[2], group.members[4]]
    assert plan.nodes[group.root].depth == 1
    assert node.depth == 2
    assert node.refusal is None


def test_nodes_are_in_program_order():
    graph = chain(3)
    plan = plan_fusion(graph.block, FUSE)
    assert list(plan.nodes) == list(graph.block.ops)
    assert [node.index for node in plan.nodes.values()] == [0, 1, 2, 3]


def test_plan_rewrites_nothing():
    module = parse(SEED)
    before = module.clone()
    for block in fusion_blocks(module):
        plan_fusion(block, FUSE)
    assert module.is_structurally_equivalent(before)


def test_apply_to_clone_keeps_the_module():
    """Scenario 13: the input module is unchanged."""
    module = parse(SEED)
    before = module.clone()
    FuseOpsPass().apply_to_clone(Context(), module)
    assert module.is_structurally_equivalent(before)


def test_plan_is_deterministic():
    def signature(text: str) -> list[tuple[list[str], str]]:
        (function,) = parse(text).ops
        assert isinstance(function, func.FuncOp)
        plan = plan_fusion(function.body.block, FUSE)
        return [
            ([op.name for op in group.members], str(plan.nodes[group.root].refusal))
            for group in plan.groups
        ]

    assert signature(SEED) == signature(SEED)


def test_boundary_once_per_consumer():
    graph = Graph(MATRIX)
    first = graph.add(SoftmaxOp(graph.inputs[0]))
    stop = graph.add(StopFusionOp(first))
    last = graph.add(AddOp(stop, stop))
    plan = graph.plan(last)
    assert [(b.producer, b.consumer) for b in plan.boundaries] == [
        (first.owner, stop.owner),
        (stop.owner, last.owner),
    ]


# Reasons


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


def test_projection_of_a_tuple_becomes_a_function():
    """Rule 32: also without any operator in it."""
    graph = Graph(MATRIX)
    item = graph.add(TupleGetItemOp(graph.add(TupleOp(graph.inputs)), 0))
    module = graph.module(item)
    FuseOpsPass().apply(Context(), module)
    module.verify()
    (fused,) = [op for op in graph.block.ops if isinstance(op, FusedOp)]
    assert fused.reshape_only is None


# Size


def test_300_operators():
    """Scenario 15 with the default depth."""
    assert sizes(plan_fusion(chain(300).block, FUSE)) == [256, 44]


@pytest.mark.slow
def test_long_chain():
    """Nothing recurses over the graph."""
    block = chain(20_000).block
    for opt_level, functions in ((0, 20_000), (2, 79)):
        groups = sizes(plan_fusion(block, FusionOptions(opt_level)))
        assert sum(groups) == 20_000
        assert len(groups) == functions


@pytest.mark.slow
def test_long_chain_with_skips():
    """A value that all later operators use, and a new constant for each."""
    graph = Graph(MATRIX)
    value = first = graph.add(ExpOp(graph.inputs[0]))
    for _ in range(1_500):
        value = graph.add(AddOp(graph.add(MultiplyOp(value, graph.scalar())), first))
    plan = graph.plan(value)
    assert max(sizes(plan)) <= 256
    assert str(refusal(plan, first)).startswith("rule 17")


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("size", [100, 1_200])
def test_large_graphs(name: str, size: int):
    module = xrelay_module(GRAPHS[name](size))
    module.verify()
    FuseOpsPass().apply(Context(), module)
    module.verify()
    counts = [len(op.block.ops) - 1 for op in module.walk() if isinstance(op, FusedOp)]
    assert counts
    assert max(counts) <= 256


@pytest.mark.parametrize("seed", range(20))
def test_post_dominators(seed: int):
    module, _ = random_program(seed, 40)
    function = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    check_post_dominators(plan_fusion(function.body.block, FUSE))


@pytest.mark.parametrize("step", [1, 2, 3, 5, 8, 13, 30])
def test_post_dominators_of_long_ways(step: int):
    """Values that are used again so many operators later, with all kinds on the way."""
    graph = Graph(TensorType(f32, [4, 4]))
    values = [graph.add(ExpOp(graph.inputs[0]))]
    for number in range(1, 60):
        value = graph.add((ExpOp, TransposeOp)[number % 7 == step % 7](values[-1]))
        if number % step == 0:
            other = values[max(0, number - 2 * step)] if number % 2 else values[0]
            value = graph.add(AddOp(value, other))
        if number % 17 == step:
            value = graph.add(SoftmaxOp(value))
        values.append(value)
    check_post_dominators(graph.plan(values[-1]))


def check_post_dominators(plan: FusionPlan) -> None:
    """The nearest node that all ways to the end pass, and the highest kind on these ways."""
    nodes = list(plan.nodes.values())
    passed: dict[FusionNode, set[FusionNode]] = {}
    for node in reversed(nodes):
        ways = [passed[edge.consumer] for edge in node.edges]
        common = set.intersection(*ways) if ways and node.extern is None else set[FusionNode]()
        expected = min(common, key=lambda each: each.index, default=None)
        passed[node] = common | {node}
        assert node.dominator is expected
        assert node.depth == len(common) + 1
        if expected is None:
            continue
        kinds: list[OpPatternKind] = []
        pending, seen = [node], {node, expected}
        while pending:
            for consumer, kind in pending.pop().edges:
                kinds.append(kind)
                if consumer not in seen:
                    seen.add(consumer)
                    pending.append(consumer)
        assert node.path_kind is max(kinds)
        culprit = node.path_culprit
        assert culprit in seen
        assert any(
            edge == (culprit, node.path_kind) for each in (seen - {expected}) for edge in each.edges
        )


def test_long_chain_is_rewritten():
    graph = chain(1_500)
    module = ModuleOp([func.FuncOp("main", ([MATRIX], [MATRIX]), Region(graph.block))])
    before = module.clone()
    FuseOpsPass(max_depth=10_000).apply(Context(), module)
    (fused, _) = graph.block.ops
    assert isinstance(fused, FusedOp)
    DefuseOpsPass().apply(Context(), module)
    assert module.is_structurally_equivalent(before)


# The passes


def test_parameters_in_order_of_first_need():
    """Depth first from the root, operands before their users, not in program order."""
    graph = Graph(MATRIX, MATRIX, MATRIX)
    a, b, c = graph.inputs
    late = graph.add(ExpOp(c))
    early = graph.add(AddOp(b, a))
    module = graph.module(graph.add(AddOp(early, late)))
    FuseOpsPass().apply(Context(), module)
    (fused, _) = graph.block.ops
    assert list(fused.operands) == [b, a, c]


def test_stopped_value_is_one_parameter():
    """Rules 27 and 29: parameters are told apart by what is passed after the stop is gone."""
    graph = Graph(MATRIX)
    x = graph.inputs[0]
    module = graph.module(graph.add(AddOp(graph.add(StopFusionOp(x)), x)))
    FuseOpsPass().apply(Context(), module)
    (fused, _) = graph.block.ops
    assert list(fused.operands) == [x]


def test_fused_op_keeps_location_and_name():
    graph = Graph(MATRIX)
    value = graph.add(ExpOp(graph.inputs[0]))
    value.name_hint = "y"
    assert isinstance(value.owner, Operation)
    location = FileLineColLoc(StringAttr("model.onnx"), IntAttr(3), IntAttr(1))
    value.owner.location = location
    module = graph.module(value)
    FuseOpsPass().apply(Context(), module)
    (fused, _) = graph.block.ops
    assert fused.location == location
    assert fused.results[0].name_hint == "y"
    assert isinstance(fused, FusedOp)
    assert [arg.name_hint for arg in fused.block.args] == ["p0"]


@pytest.mark.parametrize(
    "ops, expected",
    [
        (["reshape"], True),
        (["squeeze", "expand_dims"], True),
        (["reshape", "exp"], False),
        (["transpose"], False),
    ],
)
def test_reshape_only(ops: list[str], expected: bool):
    text = {
        "reshape": "relay.reshape %v {newshape = array<i64: 1, 32>} : (T) -> tensor<1x32xf32>",
        "squeeze": "relay.squeeze %v : (T) -> tensor<4x8xf32>",
        "expand_dims": "relay.expand_dims %v {axis = 0 : i64} : (T) -> tensor<1x4x8xf32>",
        "exp": "relay.exp %v : (T) -> T",
        "transpose": "relay.transpose %v : (T) -> tensor<8x4xf32>",
    }
    body, value, type_ = "", "%x", "tensor<4x8xf32>"
    for i, op in enumerate(ops):
        body += f"%{i} = " + text[op].replace("T", type_).replace("%v", value) + "\n"
        value, type_ = f"%{i}", text[op].replace("T", type_).split(" -> ")[1]
    module = parse(
        f"func.func @main(%x: tensor<4x8xf32>) -> {type_} {{ {body} func.return {value} : {type_} }}"
    )
    FuseOpsPass().apply(Context(), module)
    (fused,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert (fused.reshape_only is not None) == expected


@pytest.mark.parametrize("opt_level", [0, 2])
def test_idempotent(opt_level: int):
    module = parse(SEED)
    fuse = FuseOpsPass(opt_level=opt_level)
    fuse.apply(Context(), module)
    once = module.clone()
    fuse.apply(Context(), module)
    assert module.is_structurally_equivalent(once)


@pytest.mark.parametrize("opt_level", [0, 2])
def test_round_trip(opt_level: int):
    module = parse(SEED)
    before = module.clone()
    FuseOpsPass(opt_level=opt_level).apply(Context(), module)
    assert not module.is_structurally_equivalent(before)
    DefuseOpsPass().apply(Context(), module)
    assert module.is_structurally_equivalent(before)


@pytest.mark.parametrize("opt_level", [0, 2])
def test_meaning(opt_level: int):
    """A fused program computes what it computed before, by the interpreter."""
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(s, np.float32) for s in ((1, 8, 4, 4), (8, 8, 1, 1))]

    module = parse(SEED)
    (expected,) = interpret(module, inputs)
    FuseOpsPass(opt_level=opt_level).apply(Context(), module)
    (result,) = interpret(module, inputs)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("options", [{"opt_level": -1}, {"max_depth": 0}])
def test_wrong_options(options: dict[str, int]):
    with pytest.raises(PassFailedException, match="expected at least"):
        FuseOpsPass(**options).apply(Context(), ModuleOp([]))


def test_groups_partition_the_block():
    (function,) = parse(SEED).ops
    assert isinstance(function, func.FuncOp)
    block = function.body.block
    groups: tuple[FusionGroup, ...] = plan_fusion(block, FUSE).groups
    members = [op for group in groups for op in group.members]
    assert len(members) == len(set(members))
    assert set(members) == set(block.ops)
