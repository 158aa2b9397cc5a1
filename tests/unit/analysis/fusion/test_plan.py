"""
The fusion plan: its groups, what it says about each node, plans of large graphs, and that carrying one out is safe.

Why operators stay apart is tested by test_reasons.py. Which operators fuse is tested by `tests/filecheck/transforms/fuse-ops*.mlir`.
"""

import numpy as np
import pytest
from fusion_graphs import FUSE, MATRIX, Graph, chain, random_program, refusal, sizes
from xdsl.context import Context
from xdsl.dialects import func, test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.ir import Operation, Region
from xdsl.parser import Parser
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
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import FusedOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import ExpOp
from xrelay.dialects.traits import OpPatternKind
from xrelay.interpreters.relay import interpret
from xrelay.transforms.defuse_ops import DefuseOpsPass
from xrelay.transforms.fuse_ops import FuseOpsPass

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


def parse(text: str) -> ModuleOp:
    ctx = Context()
    ctx.load_dialect(Relay)
    ctx.load_dialect(func.Func)
    ctx.load_dialect(test.Test)
    return Parser(ctx, text).parse_module()


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


def test_projection_of_a_tuple_becomes_a_function():
    """Rule 32: also without any operator in it."""
    graph = Graph(MATRIX)
    item = graph.add(TupleGetItemOp(graph.add(TupleOp(graph.inputs)), 0))
    module = graph.module(item)
    FuseOpsPass().apply(Context(), module)
    module.verify()
    (fused,) = [op for op in graph.block.ops if isinstance(op, FusedOp)]
    assert fused.reshape_only is None


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
