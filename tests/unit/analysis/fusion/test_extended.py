"""
Rules of fusion beyond Relay's, and the limit on arguments: what a plan says, and that carrying it
out is safe.

Which operators fuse is tested by `tests/filecheck/transforms/fuse-ops-extended.mlir` and
`fuse-ops-max-function-args.mlir`.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from commands.runs import Command
from fusion_graphs import random_program
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    TupleType,
    f32,
)
from xdsl.ir import Block, OpResult, Region, SSAValue
from xdsl.parser import Parser

from xrelay.analysis.fusion.arguments import argument_count
from xrelay.analysis.fusion.file import plan_data
from xrelay.analysis.fusion.plan import FusionOptions, FusionPlan, fusion_blocks, plan, plan_fusion
from xrelay.dialects.core.values import ConstantOp, FusedOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.unary import CastOp, ExpOp
from xrelay.interpreters.relay import interpret
from xrelay.transforms.apply_fusion_plan import ApplyFusionPlanPass
from xrelay.transforms.fuse_ops import FuseOpsPass

T = "tensor<4x8xf32>"
T48 = TensorType(f32, [4, 8])
EXTENDED = FusionOptions(rules="extended")

seeds = st.integers(0, 1 << 20)
limits = st.sampled_from([0, 2, 3, 4, 6])


def function(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def parse(body: str, results: str = T) -> ModuleOp:
    ctx = Context()
    ctx.load_dialect(Relay)
    ctx.load_dialect(func.Func)
    module = Parser(
        ctx, f"func.func @main(%x: {T}, %w: tensor<8x8xf32>) -> {results} {{ {body} }}"
    ).parse_module()
    module.verify()
    return module


def decided(module: ModuleOp, options: FusionOptions = EXTENDED) -> FusionPlan:
    return plan(function(module), options)


def check_order(found: FusionPlan) -> None:
    """Values go from groups to groups with later roots: no group needs what needs it (rule 37)."""
    place = {id(group): found.nodes[group.root].index for group in found.groups}
    for group in found.groups:
        if not group.outputs:
            continue
        computed = set(found.computed(group))
        for op in computed:
            for operand in op.operands:
                if isinstance(operand, OpResult) and operand.op not in computed:
                    source = found.group_of[operand.op]
                    assert operand.op in source.outputs
                    assert place[id(source)] < place[id(group)]


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(seeds, limits, st.sampled_from([1, 4, 256]))
def test_meaning_and_order(seed: int, limit: int, max_depth: int) -> None:
    module, inputs = random_program(seed)
    options = FusionOptions(max_depth=max_depth, max_function_args=limit, rules="extended")
    found = decided(module, options)
    check_order(found)
    assert all(len(found.computed(group)) <= max_depth for group in found.groups)
    expected = interpret(module, inputs)
    fusion = FuseOpsPass(max_depth=max_depth, max_function_args=limit, rules="extended")
    fusion.apply(Context(), module)
    module.verify()
    for result, value in zip(interpret(module, inputs), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(seeds, st.sampled_from(["relay", "extended"]), st.integers(3, 6))
def test_no_function_has_too_many_arguments(seed: int, rules: str, limit: int) -> None:
    """Operators of the programs have three arguments at most, so that the limit holds everywhere."""
    module, _ = random_program(seed)
    FuseOpsPass(max_function_args=limit, rules=rules).apply(Context(), module)
    for op in module.walk():
        if isinstance(op, FusedOp):
            values = [*(arg.type for arg in op.args), op.results[0].type]
            assert sum(argument_count(type_, strides=False) for type_ in values) <= limit


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_decisions_are_the_same_twice(seed: int) -> None:
    module, _ = random_program(seed)
    other = module.clone()
    FuseOpsPass(rules="extended").apply(Context(), module)
    FuseOpsPass(rules="extended").apply(Context(), other)
    assert str(module) == str(other)
    FuseOpsPass(rules="extended").apply(Context(), other)
    assert str(module) == str(other)


@settings(deadline=None, max_examples=60)
@given(seeds)
def test_relay_groups_stay_together(seed: int) -> None:
    """Extended rules only add: what Relay fuses is in one group."""
    module, _ = random_program(seed)
    found = decided(module)
    for group in decided(module, FusionOptions()).groups:
        assert len({id(found.group_of[op]) for op in group.members}) == 1


def test_every_rule_is_used_and_says_why() -> None:
    rules: Counter[int] = Counter()
    for seed in range(20):
        module, _ = random_program(seed)
        found = decided(module)
        rules.update(join.rule for join in found.joins)
        for join in found.joins:
            assert found.group_of[join.into.op] in found.homes(join.node.op)
            if join.rule == 41:
                what = "a constant" if isinstance(join.node.op, ConstantOp) else "cheap"
                assert join.sentence == f"{join.node.op.name} is {what}: it is copied"
    assert sorted(rules) == [38, 39, 40, 41, 42]


@pytest.mark.parametrize(
    "body, results, producer, rule, text",
    [
        (
            f"""
            %a = relay.exp %x : ({T}) -> {T}
            %b = relay.exp %a : ({T}) -> {T}
            %t = relay.sum %b : ({T}) -> tensor<f32>
            %d = relay.nn.dense %a, %w : ({T}, tensor<8x8xf32>) -> {T}
            func.return %d, %t : {T}, tensor<f32>
            """,
            f"({T}, tensor<f32>)",
            "a",
            40,
            "others than relay.sum use the value, which has other loops",
        ),
        (
            f"""
            %m = relay.sum %x {{axis = array<i64: 1>, keepdims = true}} : ({T}) -> tensor<4x1xf32>
            %r = relay.transpose %m : (tensor<4x1xf32>) -> tensor<1x4xf32>
            func.return %r : tensor<1x4xf32>
            """,
            "tensor<1x4xf32>",
            "m",
            39,
            "the group of relay.transpose moves elements",
        ),
    ],
)
def test_refusals(body: str, results: str, producer: str, rule: int, text: str) -> None:
    module = parse(body, results)
    found = decided(module)
    (op,) = [op for op in found.nodes if op.results and op.results[0].name_hint == producer]
    refusal = found.nodes[op].refusal
    assert refusal is not None
    assert (refusal.rule, refusal.sentence, refusal.sweep) == (rule, text, 3)


SQUARE = "tensor<8x8xf32>"


@pytest.mark.parametrize(
    "axis, user, joins",
    [
        (1, "nn.bias_add %x, %s {axis = 0 : i64}", True),
        (0, "nn.bias_add %x, %s {axis = 0 : i64}", False),
        (0, "nn.bias_add %x, %s {axis = 1 : i64}", True),
        (1, "nn.bias_add %x, %s {axis = 1 : i64}", False),
        (0, "add %x, %s", True),
        (1, "add %s, %x", False),
        (1, "add %x, %e1", True),
        (0, "add %x, %e1", False),
        (0, "add %e0, %x", True),
        (1, "add %e0, %x", False),
    ],
)
def test_rule_39_pairs_elements_with_what_was_reduced(axis: int, user: str, joins: bool) -> None:
    operands = user.split(" ", 1)[1]
    shapes = {
        "%x": SQUARE,
        "%s": "tensor<8xf32>",
        "%e0": "tensor<1x8xf32>",
        "%e1": "tensor<8x1xf32>",
    }
    types = ", ".join(shapes[each] for each in operands.split(" {")[0].split(", "))
    expand = "".join(
        f"%{each} = relay.expand_dims %s {{axis = {each[1]} : i64}} : (tensor<8xf32>) -> "
        f"{shapes[f'%{each}']}\n"
        for each in ("e0", "e1")
        if f"%{each}" in operands
    )
    ctx = Context()
    ctx.load_dialect(Relay)
    ctx.load_dialect(func.Func)
    module = Parser(
        ctx,
        f"""func.func @main(%x: {SQUARE}) -> {SQUARE} {{
          %s = relay.sum %x {{axis = array<i64: {axis}>}} : ({SQUARE}) -> tensor<8xf32>
          {expand}
          %r = relay.{user} : ({types}) -> {SQUARE}
          func.return %r : {SQUARE}
        }}""",
    ).parse_module()
    module.verify()
    assert [join.rule for join in decided(module).joins] == [39] * joins


def test_two_reductions_of_which_nothing_is_broadcast() -> None:
    module = parse(
        f"""
        %s = relay.sum %x {{axis = array<i64: 1>}} : ({T}) -> tensor<4xf32>
        %m = relay.max %x {{axis = array<i64: 1>}} : ({T}) -> tensor<4xf32>
        %a = relay.add %s, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        func.return %a : tensor<4xf32>
        """,
        "tensor<4xf32>",
    )
    assert [join.rule for join in decided(module).joins] == [39, 39]


@pytest.mark.parametrize("size", [10, 200])
def test_what_is_copied_is_no_more_than_its_uses(size: int) -> None:
    """A chain of casts, each of which is summed, too: copies do not multiply along it."""
    block = Block(arg_types=[T48])
    value: SSAValue = block.args[0]
    sums: list[SSAValue] = []
    for _ in range(size):
        cast, total = (op := CastOp(value, f32)), SumOp(op, [1])
        block.add_ops([cast, total])
        value = cast.results[0]
        sums.append(total.result)
    block.add_op(func.ReturnOp(*sums))
    module = ModuleOp([func.FuncOp("main", ([T48], [v.type for v in sums]), Region(block))])
    found = decided(module)
    assert 0 < sum(len(group.copies) for group in found.groups) <= 2 * size


@pytest.mark.parametrize("name, copied", [("negative", True), ("erf", False)])
def test_only_light_operators_are_copied(name: str, copied: bool) -> None:
    """Each row computes the copy again, which costs nothing only for a few instructions."""
    row = "tensor<8xf32>"
    module = parse(
        f"""
        %z = relay.sum %w {{axis = array<i64: 0>}} : (tensor<8x8xf32>) -> {row}
        %n = relay.{name} %z : ({row}) -> {row}
        %a = relay.add %x, %n : ({T}, {row}) -> {T}
        %m = relay.multiply %w, %n : (tensor<8x8xf32>, {row}) -> tensor<8x8xf32>
        func.return %a, %m : {T}, tensor<8x8xf32>
        """,
        f"({T}, tensor<8x8xf32>)",
    )
    assert any(group.copies for group in decided(module).groups) == copied


def test_a_sibling_that_cannot_join_says_what_ended_its_group() -> None:
    module = parse(
        f"""
        %a = relay.exp %x : ({T}) -> {T}
        %b = relay.tanh %x : ({T}) -> {T}
        %d = relay.nn.dense %a, %w : ({T}, tensor<8x8xf32>) -> {T}
        %e = relay.nn.dense %b, %w : ({T}, tensor<8x8xf32>) -> {T}
        %s = relay.add %d, %e : ({T}, {T}) -> {T}
        func.return %s : {T}
        """
    )
    for limit, joins in ((0, 1), (2, 0)):
        found = decided(module, FusionOptions(rules="extended", max_function_args=limit))
        assert len(found.joins) == joins
        (exp,) = [op for op in found.nodes if op.name == "relay.exp"]
        refusal = found.nodes[exp].refusal
        assert refusal is not None and refusal.rule == 22


def test_a_copied_operator_is_in_each_group() -> None:
    module = parse(
        f"%c = relay.cast %x {{dtype = f16}} : ({T}) -> tensor<4x8xf16>"
        "%a = relay.sum %c {axis = array<i64: 0>} : (tensor<4x8xf16>) -> tensor<8xf16>"
        "%b = relay.max %c {axis = array<i64: 1>} : (tensor<4x8xf16>) -> tensor<4xf16>"
        "func.return %a, %b : tensor<8xf16>, tensor<4xf16>",
        "(tensor<8xf16>, tensor<4xf16>)",
    )
    found = decided(module)
    cast, *reductions, _ = found.nodes
    assert not found.group_of[cast].fused
    for op in reductions:
        assert found.why_not_fused(cast, op) is None
        assert found.computed(found.group_of[op]) == (cast, op)
    assert not [border for border in found.boundaries if border.producer is cast]


def test_a_plan_with_several_outputs_can_be_applied(tmp_path: Path) -> None:
    module = parse(
        f"""
        %a = relay.exp %x : ({T}) -> {T}
        %b = relay.tanh %a : ({T}) -> {T}
        %c = relay.exp %x : ({T}) -> {T}
        func.return %c, %a, %b : {T}, {T}, {T}
        """,
        f"({T}, {T}, {T})",
    )
    file, expected = tmp_path / "plan.json", module.clone()
    plans = [plan_fusion(block, EXTENDED) for block in fusion_blocks(module)]
    file.write_text(json.dumps(plan_data(plans)))
    FuseOpsPass(rules="extended").apply(Context(), expected)
    ApplyFusionPlanPass(file=str(file), multi_output=True).apply(Context(), module)
    assert module.is_structurally_equivalent(expected)


@pytest.mark.parametrize("command", ["explain", "view"])
def test_commands_take_the_rules(cmd: Command, tmp_path: Path, command: str) -> None:
    file, picture = tmp_path / "p.mlir", tmp_path / "p.html"
    file.write_text(
        f"""
        func.func @main(%x: {T}) -> {T} {{
          %s = relay.sum %x {{axis = array<i64: 1>, keepdims = true}} : ({T}) -> tensor<4x1xf32>
          %a = relay.add %x, %s : ({T}, tensor<4x1xf32>) -> {T}
          func.return %a : {T}
        }}
        """
    )
    arguments = (command, file, "--no-simplify", *(("-o", picture) if command == "view" else ()))
    for rules in ("relay", "extended"):
        result = cmd(*arguments, "--rules", rules)
        assert (result.code, result.err) == (0, "")
        text = result.out if command == "explain" else picture.read_text()
        sentence = "relay.add works on the elements that relay.sum reduces"
        assert (sentence in text) == (rules == "extended")
    cmd(*arguments, "--rules", "relax").refused("'rules' is 'relax', expected one of relay, cpu")
    if command == "explain":
        why = cmd(*arguments, "--rules", "extended", "--why", "s", "a").out
        assert "sum #0 and add #1 are fused:\n  rule 39 for sum #0: relay.add works" in why
        short = cmd(*arguments, "--rules", "extended", "--max-function-args", "1").out
        assert "rule 36: the function of relay.add would have 2 arguments, more than 1" in short


def test_argument_count() -> None:
    static, dynamic = TensorType(f32, [2, 3]), TensorType(f32, [DYNAMIC_INDEX, 3])
    assert argument_count(static, strides=True) == 1
    assert argument_count(dynamic, strides=False) == 2
    assert argument_count(dynamic, strides=True) == 4
    assert argument_count(TupleType([static, dynamic]), strides=True) == 5


def chain(length: int, wide: bool) -> tuple[func.FuncOp, Block]:
    """
    A long chain; a wide one also returns all its values, so that each group has many outputs, and
    casts each of them for two users.
    """
    type_ = T48
    block = Block(arg_types=[type_])
    value: SSAValue = block.args[0]
    results: list[SSAValue] = []
    for _ in range(length):
        op = ExpOp(value)
        block.add_op(op)
        value = op.result
        if wide:
            cast = CastOp(value, f32)
            block.add_op(cast)
            results.append(value)
            value = cast.result
    results.append(value)
    block.add_op(func.ReturnOp(*results))
    types = [each.type for each in results]
    return func.FuncOp("main", ([type_], types), Region(block)), block


def test_a_constant_of_many_users() -> None:
    """It is copied into each of them, in linear time."""
    number, type_ = DenseIntOrFPElementsAttr.from_list(TensorType(f32, []), [0.5]), T48
    constant = ConstantOp(number)
    block = Block([constant], arg_types=[type_])
    results: list[SSAValue] = []
    for _ in range(1_000):
        scaled = MultiplyOp(block.args[0], constant.result)
        total = SumOp(scaled.result)
        block.add_ops([scaled, total])
        results.append(total.result)
    block.add_op(func.ReturnOp(*results))
    types = [each.type for each in results]
    module = ModuleOp([func.FuncOp("main", ([type_], types), Region(block))])
    found = decided(module)
    assert len(found.homes(constant)) == len(results)
    assert not any(border.producer is constant for border in found.boundaries)
    FuseOpsPass(rules="extended").apply(Context(), module)
    assert constant.parent is None
    assert sum(isinstance(op, ConstantOp) for op in module.walk()) == len(results)


@pytest.mark.parametrize("wide", [False, True])
def test_long_chains(wide: bool) -> None:
    """No recursion on depth, and groups of at most 256 nodes."""
    length = 1_500 if wide else 6_000
    options = FusionOptions(rules="extended", max_function_args=0 if wide else 9)
    found = plan(chain(length, wide)[0], options)
    largest = max(len(found.computed(group)) for group in found.groups)
    assert largest == 256
