"""
Plans of fusion as answers and as data: why two operations are apart, plan files, and the plans that
other pipelines decide.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.runs import Command
from fusion_graphs import random_program
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

import xrelay
from xrelay.analysis.fusion.file import FORMAT, plan_data
from xrelay.analysis.fusion.plan import (
    FusionOptions,
    FusionPlan,
    fusion_blocks,
    may_fuse,
    plan,
    plan_fusion,
)
from xrelay.analysis.fusion.policy import GroupMembers, plan_of_groups
from xrelay.dialects.core.values import FusedOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.traits import OpPatternKind
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret
from xrelay.tools.light_models import LIGHT_MODELS, light_model
from xrelay.transforms.apply_fusion_plan import ApplyFusionPlanPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.rules.outline_groups import outline_groups

T = "tensor<4x8xf32>"
PROGRAM = f"""
func.func @main(%x: {T}, %w: tensor<8x8xf32>) -> {T} {{
  %d = relay.nn.dense %x, %w : ({T}, tensor<8x8xf32>) -> {T}
  %r = relay.nn.relu %d : ({T}) -> {T}
  %s = relay.nn.softmax %r : ({T}) -> {T}
  %t = relay.tanh %x : ({T}) -> {T}
  %a = relay.add %s, %t : ({T}, {T}) -> {T}
  func.return %a : {T}
}}
"""


def parse(text: str = PROGRAM) -> ModuleOp:
    ctx = Context()
    ctx.load_dialect(Relay)
    ctx.load_dialect(func.Func)
    return Parser(ctx, text).parse_module()


def function(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def named(module: ModuleOp) -> dict[str, Operation]:
    return {op.results[0].name_hint or "": op for op in module.walk() if op.results}


# Why


def test_why_a_pair_is_apart() -> None:
    module = parse()
    ops, decided = named(module), plan(function(module))
    assert decided.why_not_fused(ops["d"], ops["r"]) is None
    border = decided.why_not_fused(ops["d"], ops["a"])
    assert border is not None
    assert (border.producer, border.consumer) == (ops["r"], ops["s"])
    assert (border.refusal.rule, border.refusal.sweep) == (21, 0)
    assert border.refusal.culprit is ops["s"]
    apart = decided.why_not_fused(ops["d"].results[0], ops["t"])
    assert apart is not None
    assert apart.refusal.rule == 19
    with pytest.raises(ValueError, match="expected an operation of the block of the plan, found"):
        decided.why_not_fused(function(module).body.block.args[0], ops["a"])


@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_every_border_of_the_light_models_names_a_rule(name: str) -> None:
    module = import_model(light_model(name, None))
    decided = plan(function(module))
    assert decided.boundaries
    for border in decided.boundaries:
        assert 1 <= border.refusal.rule <= 35
        assert border.refusal.sentence
        assert decided.why_not_fused(border.producer, border.consumer) == border
    # Nothing is refused within a group.
    for op, node in decided.nodes.items():
        assert (node.refusal is None) == (decided.group_of[op].root is not op)


@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_another_kind_of_the_culprit_changes_its_borders(name: str) -> None:
    """What was in the way is not any more when it is elementwise; something else may be."""
    block = function(import_model(light_model(name, None))).body.block
    decided = plan_fusion(block, FusionOptions())
    for border in decided.boundaries[:40]:
        culprit = border.refusal.culprit
        if culprit is None or not may_fuse(culprit):
            continue
        supposed = plan_fusion(block, FusionOptions(), {culprit: OpPatternKind.ELEMWISE})
        pair = (border.producer, border.consumer)
        after = [each.refusal for each in supposed.boundaries if each[:2] == pair]
        assert all(
            each.culprit is not culprit or each.sentence != border.refusal.sentence
            for each in after
        )


def test_answers_are_short_in_a_console() -> None:
    module = parse()
    ops, found = named(module), plan(function(module))
    assert repr(found) == "<FusionPlan of 6 operations with 2 fused groups>"
    assert repr(found.group_of[ops["d"]]) == "<FusionGroup of relay.nn.dense, relay.nn.relu>"
    assert repr(found.why_not_fused(ops["r"], ops["s"])) == (
        "<Boundary relay.nn.relu -> relay.nn.softmax: rule 21: the path to relay.nn.softmax is "
        "out_ewise_fusable>"
    )


def test_another_kind_changes_decisions() -> None:
    module = parse()
    ops, block = named(module), function(module).body.block
    decided = plan_fusion(block, FusionOptions(), {ops["s"]: OpPatternKind.ELEMWISE})
    assert len(decided.group_of[ops["d"]].members) == 5
    closed = plan_fusion(block, FusionOptions(), {ops["r"]: OpPatternKind.OPAQUE})
    border = closed.why_not_fused(ops["r"], ops["s"])
    assert border is not None and border.refusal.rule == 6
    end = block.last_op
    assert end is not None
    with pytest.raises(PassFailedException, match="has no kind that can be another"):
        plan_fusion(block, FusionOptions(), {end: OpPatternKind.ELEMWISE})


# Plan files


def decide(module: ModuleOp, options: FusionOptions) -> list[FusionPlan]:
    return [plan_fusion(block, options) for block in fusion_blocks(module)]


@pytest.mark.parametrize(
    "options",
    [
        FusionOptions(),
        FusionOptions(0),
        FusionOptions(max_depth=3),
        FusionOptions(link_params=True),
        FusionOptions(rules="extended"),
        FusionOptions(rules="extended", link_params=True),
        FusionOptions(rules="cpu", max_depth=5),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_applied_is_fuse_ops(options: FusionOptions, seed: int, tmp_path: Path) -> None:
    module, _ = random_program(seed)
    expected, file = module.clone(), tmp_path / "plan.json"
    FuseOpsPass.of(options).apply(Context(), expected)
    file.write_text(json.dumps(plan_data(decide(module, options))))
    multi_output = options.rules != "relay"
    ApplyFusionPlanPass(file=str(file), multi_output=multi_output).apply(Context(), module)
    module.verify()
    assert module.is_structurally_equivalent(expected)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda data: data.update(format="1"), "'format' is '1', expected"),
        (lambda data: data.update(blocks=3), "'blocks' is 3, expected a list"),
        (lambda data: data["blocks"].append(data["blocks"][0]), "block 1 is there twice"),
        (lambda data: data["blocks"][0].update(block=9), "'block' of blocks\\[0\\] is 9, expected"),
        (lambda data: data["blocks"][0].update(function="g"), "of function 'g', block 1 is of"),
        (lambda data: data["blocks"][0]["groups"].append([]), "is \\[\\], expected an object"),
        (lambda data: data["blocks"][0]["groups"][0].update(members=[]), "is empty"),
        (
            lambda data: data["blocks"][0]["groups"][0].update(copies=[{"index": 9}]),
            "'index' of a member of blocks\\[0\\].groups\\[0\\] is 9, expected",
        ),
        (
            lambda data: data["blocks"][0]["groups"][0]["members"][0].update(op="relay.exp"),
            "has 'relay.exp' at index 0, the program relay.nn.dense",
        ),
        (
            lambda data: data["options"].update(link_params="false"),
            "'link_params' of 'options' is 'f",
        ),
    ],
)
def test_a_wrong_plan_is_refused(
    change: Callable[[Any], None], message: str, tmp_path: Path
) -> None:
    module = parse()
    data = plan_data(decide(module, FusionOptions()))
    assert data["format"] == FORMAT
    change(data)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(data))
    with pytest.raises(PassFailedException, match=f"'{re.escape(str(file))}': .*{message}"):
        ApplyFusionPlanPass(file=str(file)).apply(Context(), module)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    messages = {"no.json": "No such file", "bad.json": "not JSON", "deep.json": "nest too deeply"}
    for name, message in messages.items():
        with pytest.raises(PassFailedException, match=message):
            ApplyFusionPlanPass(file=str(tmp_path / name)).apply(Context(), parse())


# Plans that others decide


def policy(module: ModuleOp, *groups: str, multi_output: bool = False) -> FusionPlan:
    ops = named(module)
    return plan_of_groups(
        function(module).body.block,
        [GroupMembers([ops[name] for name in group]) for group in groups],
        multi_output=multi_output,
    )


@pytest.mark.parametrize(
    "groups, message",
    [
        (
            ("rs", "sa"),
            "softmax %s is in the groups that end in relay.nn.softmax %s and in relay.add",
        ),
        (("dt",), "has 2 operations that others use \\(relay.nn.dense %d, relay.tanh %t\\)"),
    ],
)
def test_illegal_groups(groups: tuple[str, ...], message: str) -> None:
    with pytest.raises(PassFailedException, match=message):
        policy(parse(), *groups)


COPIED = f"""
func.func @main(%x: tensor<4x8xi8>) -> ({T}, {T}) {{
  %c = relay.cast %x {{dtype = f32}} : (tensor<4x8xi8>) -> {T}
  %e = relay.exp %c : ({T}) -> {T}
  %t = relay.tanh %c : ({T}) -> {T}
  %a = relay.add %e, %t : ({T}, {T}) -> {T}
  func.return %e, %a : {T}, {T}
}}
"""


def copying(*groups: tuple[str, str]) -> FusionPlan:
    module = parse(COPIED)
    ops = named(module)
    members = [GroupMembers(*([ops[name] for name in part] for part in group)) for group in groups]
    return plan_of_groups(function(module).body.block, members)


def test_copies() -> None:
    """An operation that all its users copy is gone; else it stays for the others."""
    gone = copying(("e", "c"), ("ta", "c"))
    ops = {op.results[0].name_hint: op for op in gone.nodes if op.results}
    assert gone.group_of[ops["c"]].outputs == ()
    assert [group.root for group in gone.homes(ops["c"])] == [ops["e"], ops["a"]]
    kept = copying(("ta", "c"))
    assert [len(kept.homes(op)) for op in kept.nodes if op.name == "relay.cast"] == [2]


@pytest.mark.parametrize(
    "groups, message",
    [
        ((("ce", "c"),), "relay.cast %c is copied, and in the group that ends in relay.exp %e"),
        (
            (("a", "c"),),
            "that ends in relay.add %a has a copy of relay.cast %c and does not use it",
        ),
        ((("t", "e"), ("a", "")), "ends in relay.tanh %t has a copy of relay.exp %e and does not"),
    ],
)
def test_illegal_copies(groups: tuple[tuple[str, str], ...], message: str) -> None:
    with pytest.raises(PassFailedException, match=message):
        copying(*groups)


def test_groups_that_need_each_other() -> None:
    with pytest.raises(PassFailedException, match="comes back to it"):
        policy(parse(), "ds", multi_output=True)
    with pytest.raises(PassFailedException, match="comes back to it"):
        policy(parse(), "dt", "ra", "s", multi_output=True)
    with pytest.raises(PassFailedException, match="comes back to it"):
        policy(parse(), "ds", "r")  # Several outputs would not help.


def test_several_outputs_mean_the_same() -> None:
    """A group with two outputs, one of which is used before the group's end."""
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape, np.float32) for shape in ((4, 8), (8, 8))]
    module = parse()
    (expected,) = interpret(module, inputs)
    outline_groups(module, [policy(module, "dt", "rs", multi_output=True)])
    module.verify()
    assert [len(op.block.ops) for op in module.walk() if isinstance(op, FusedOp)] == [4, 3]
    (result,) = interpret(module, inputs)
    np.testing.assert_array_equal(result, expected)
    compiled = xrelay.compile(module, cache=False)
    (found,) = compiled.run(dict(zip(("x", "w"), inputs, strict=True))).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


# The command


def test_explain_why(cmd: Command, tmp_path: Path) -> None:
    file = tmp_path / "p.mlir"
    file.write_text(PROGRAM)
    raw = ("explain", file, "--no-simplify")
    result = cmd(*raw, "--why", "d", "a")
    assert result.code == 0
    for part in (
        "nn.dense #0 and add #4 are not fused: rule 21: the path to relay.nn.softmax is",
        "the first border on the way: nn.relu #1 -> nn.softmax #2",
        "because of nn.softmax #2",
        "nn.softmax #2: kind out_ewise_fusable; used by add #4 elemwise; post-dominator add #4",
    ):
        assert part in result.out, result.out
    assert "are fused:" in cmd(*raw, "--why", "%d", "#1").out
    cmd(*raw, "--why", "dd", "a").refused("there is no value or node 'dd' (", "; did you mean 'd'?")
    cmd(*raw, "--why", "x", "a").refused("'x' is a parameter of the function")


def test_explain_why_knows_onnx_names(cmd: Command, tmp_path: Path) -> None:
    """Nodes, and values whose node has another name."""
    file = tmp_path / "squeezenet.onnx"
    model = light_model("squeezenet", None)
    file.write_bytes(model.SerializeToString())
    nodes = {node.op_type: node for node in reversed(model.graph.node)}
    first, second = nodes["Conv"], nodes["Relu"]
    for names in ((first.name, second.name), (first.output[0], second.output[0])):
        result = cmd("explain", file, "--no-simplify", "--why", *names)
        assert (result.code, result.err) == (0, "")
        assert re.match(
            rf"nn.bias_add #\d+ '{first.name}' and nn.relu #\d+ '{second.name}' are fused:",
            result.out,
        )


def test_explain_what_if(cmd: Command, tmp_path: Path) -> None:
    file = tmp_path / "p.mlir"
    file.write_text(PROGRAM)
    raw = ("explain", file, "--no-simplify")
    result = cmd(*raw, "--what-if", "nn.softmax=elemwise")
    assert result.out.splitlines()[0] == "main: 2 fused functions become 1"
    assert "+ nn.relu #1 -> nn.softmax #2 fuse (before: rule 21" in result.out
    supposed, plan_file = ("--what-if", "nn.softmax=elemwise"), tmp_path / "plan.json"
    cmd(*raw, *supposed, "--plan-json", plan_file)
    (block,) = json.loads(plan_file.read_text())["blocks"]
    assert len(block["groups"]) == 1
    assert "nn.relu #1 and nn.softmax #2 are fused" in cmd(*raw, *supposed, "--why", "r", "s").out
    cmd(*raw, "--what-if", "s=fast").refused("gives 's' the kind 'fast', expected one of elemwise")
    cmd(*raw, "--what-if", "s").refused("expected OP=KIND")
    cmd(*raw, "--what-if", "s=Elementwise").refused("; did you mean 'elemwise'?")
    cmd(*raw, "--what-if", "nn.sofmax=elemwise").refused("; did you mean 'nn.softmax'")
    cmd(*raw, "--rules", "extendet").refused("; did you mean 'extended'?")


def test_explain_what_if_of_siblings(cmd: Command, tmp_path: Path) -> None:
    file = tmp_path / "p.mlir"
    file.write_text(
        f"func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}) {{"
        f"  %a = relay.add %x, %y : ({T}, {T}) -> {T}"
        f"  %m = relay.multiply %x, %y : ({T}, {T}) -> {T}"
        f"  func.return %a, %m : {T}, {T} }}"
    )
    out = cmd("explain", file, "--no-simplify", "--what-if", "add=opaque").out
    assert "- add #0 and multiply #1 are no siblings any more (before: rule 42)" in out


def test_explain_names_operators_first(cmd: Command, tmp_path: Path) -> None:
    """A number is one of a block with operators, also behind one that has none."""
    file = tmp_path / "p.mlir"
    file.write_text(
        f"func.func @pair(%y: {T}) -> tuple<{T}, {T}> {{"
        f"  %k = relay.constant dense<1.0> : {T}"
        f"  %t = relay.tuple %k, %y : ({T}, {T}) -> tuple<{T}, {T}>"
        f"  func.return %t : tuple<{T}, {T}> }}" + PROGRAM
    )
    raw = ("explain", file, "--no-simplify")
    assert "nn.dense #0 and nn.relu #1 are fused:" in cmd(*raw, "--why", "#0", "#1").out


def test_explain_names_functions(cmd: Command, tmp_path: Path) -> None:
    file = tmp_path / "p.mlir"
    file.write_text(PROGRAM + PROGRAM.replace("@main", "@other").replace("tanh", "exp"))
    raw = ("explain", file, "--no-simplify")
    assert "tanh #3" in cmd(*raw, "--why", "t", "a").out
    assert "exp #3" in cmd(*raw, "--why", "@other:t", "@other:#4").out
    assert "rule 34" in cmd(*raw, "--why", "@other:t", "@main:a").out
    out = cmd(*raw, "--what-if", "@other:s=elemwise").out
    assert "main: 2 fused functions become 2\nother: 2 fused functions become 1" in out
    cmd(*raw, "--why", "@third:t", "a").refused(
        "in no function of the program, expected one of @main"
    )


def test_explain_writes_a_plan(cmd: Command, tmp_path: Path) -> None:
    file, data = tmp_path / "p.mlir", tmp_path / "plan.json"
    file.write_text(PROGRAM)
    assert cmd("explain", file, "--no-simplify", "--plan-json", data).code == 0
    module, expected = parse(), parse()
    ApplyFusionPlanPass(file=str(data)).apply(Context(), module)
    FuseOpsPass().apply(Context(), expected)
    assert module.is_structurally_equivalent(expected)
    cmd("explain", file, "--memory", "--plan-json", data).refused("go without --strategies")
