"""Programs that use values before they define them, wherever programs come in."""

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from commands.runs import Command
from xdsl.dialects.builtin import ModuleOp, i1, i32
from xdsl.dialects.cf import ConditionalBranchOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.test import TestOp, TestTermOp
from xdsl.ir import Block, Region
from xdsl.irdl.dominance import DominanceInfo
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.dominance import DominanceError, check_dominance
from xrelay.analysis.relay_pass import RelayPass
from xrelay.compiler import context, parse_program, read_model, run_passes
from xrelay.tools.universe import XRELAY_UNIVERSE
from xrelay.transforms.cpu_pipeline import cpu_pipeline

T = "tensor<4xi32>"
UNARY = f"({T}) -> {T}"
BINARY = f"({T}, {T}) -> {T}"
IMAGE = "tensor<1x4x4x4xf32>"


def main(*lines: str, result: str = "%a") -> str:
    """A program of some operations."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @main(%x: {T}, %c: i1) -> {T} {{\n{body}\n  func.return {result} : {T}\n}}\n"


CONVOLUTION = (
    f"func.func @main(%w: tensor<4x4x1x1xf32>) -> {IMAGE} {{\n"
    "%k = relay.constant dense<2.0> : tensor<4x1x1xf32>\n"
    f"%a = relay.multiply %c, %k : ({IMAGE}, tensor<4x1x1xf32>) -> {IMAGE}\n"
    "%b = relay.nn.conv2d %a, %w {kernel_size = array<i64: 1, 1>} : "
    f"({IMAGE}, tensor<4x4x1x1xf32>) -> {IMAGE}\n"
    f"%c = relay.add %a, %b : ({IMAGE}, {IMAGE}) -> {IMAGE}\n"
    f"func.return %c : {IMAGE}\n}}\n"
)

INVALID = {
    "itself": (main(f"%a = relay.negative %a : {UNARY}"), "relay.negative %a in @main: operand 0"),
    "each other": (
        main(
            f"%a = relay.reshape %b {{newshape = array<i64: 2, 2>}} : ({T}) -> tensor<2x2xi32>",
            f"%b = relay.reshape %a {{newshape = array<i64: 4>}} : (tensor<2x2xi32>) -> {T}",
            result="%b",
        ),
        "operand 0, %b of relay.reshape, is used before it is defined",
    ),
    "sums": (
        main(
            f"%one = relay.constant dense<1> : {T}",
            f"%a = relay.add %b, %one : {BINARY}",
            f"%b = relay.add %a, %one : {BINARY}",
        ),
        "operand 0, %b of relay.add",
    ),
    "tuple": (
        main(
            f"%t = relay.tuple %x, %a : ({T}, {T}) -> tuple<{T}, {T}>",
            f"%a = relay.tuple_get_item %t[1] : (tuple<{T}, {T}>) -> {T}",
        ),
        "operand 1, %a of relay.tuple_get_item",
    ),
    "convolution": (
        CONVOLUTION,
        "operand 0, %c of relay.add",
    ),
    "later": (
        main(f"%a = relay.add %x, %b : {BINARY}", f"%b = relay.negative %x : {UNARY}"),
        "relay.add %a in @main: operand 1, %b of relay.negative",
    ),
    "place": (
        main(
            f'%a = relay.negative %b : {UNARY} loc("model.py":3:7)',
            f"%b = relay.negative %x : {UNARY}",
        ),
        'relay.negative %a at loc("model.py":3:7) in @main',
    ),
    "its own region": (
        main(
            f"%a = scf.if %c -> ({T}) {{",
            f"  %i = relay.negative %a : {UNARY}",
            f"  scf.yield %i : {T}",
            f"}} else {{ scf.yield %x : {T} }}",
        ),
        "operand 0, %a of scf.if",
    ),
    "blocks": (
        main(
            "cf.cond_br %c, ^bb1, ^bb2",
            f"^bb1:\n  %i = relay.negative %x : {UNARY}\n  cf.br ^bb3(%i : {T})",
            f"^bb2:\n  %j = relay.negative %i : {UNARY}\n  cf.br ^bb3(%j : {T})",
            f"^bb3(%a: {T}):",
        ),
        "relay.negative %j in @main: operand 0, %i of relay.negative",
    ),
    "argument of a block": (
        main(
            f"cf.cond_br %c, ^bb1(%x : {T}), ^bb2",
            f"^bb1(%p: {T}):\n  cf.br ^bb2",
            f"^bb2:\n  %a = relay.negative %p : {UNARY}",
        ),
        "operand 0, %p of a block",
    ),
    "body of a module": (
        f"%a = relay.negative %b : {UNARY}\n%b = relay.negative %a : {UNARY}\n",
        "relay.negative %a: operand 0",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_models(name: str, tmp_path: Path):
    text, message = INVALID[name]
    path = tmp_path / "model.mlir"
    path.write_text(text)
    module = parse_program(text.encode(), "text", context())
    for model in (path, module):
        with pytest.raises(DiagnosticException) as caught:
            read_model(model)
        assert message in str(caught.value)
        assert "is used before it is defined" in str(caught.value)


@pytest.mark.parametrize("name", ["itself", "each other", "later", "blocks"])
def test_commands(name: str, cmd: Command, opt_cmd: Command, tmp_path: Path):
    path = tmp_path / "model.mlir"
    path.write_text(INVALID[name][0])
    opt_cmd(path, "-p", "cpu-pipeline").refused("is used before it is defined")
    for command, suffix in (("view", "html"), ("compile", "so"), ("tune", "json")):
        refused = cmd(command, path, "-o", tmp_path / f"output.{suffix}")
        refused.refused("is used before it is defined")
    for words in (("run", path), ("explain", path), ("partition", path, "--backend", "numpy")):
        cmd(*words).refused("is used before it is defined")


@pytest.mark.parametrize("name", INVALID)
def test_passes_alone_refuse(name: str):
    """As the stock `xdsl-opt` runs them, which does not ask."""
    ctx, (text, message) = context(), INVALID[name]
    for entry in relay_passes():
        module = Parser(ctx, text).parse_module()
        before = str(module)
        with pytest.raises(DominanceError, match=re.escape(message)):
            entry().apply(ctx, module)
        assert str(module) == before


def relay_passes() -> Iterator[type[ModulePass]]:
    """The passes that users can name, but for the one on lowered programs."""
    for name, entry in XRELAY_UNIVERSE.all_passes.items():
        if name != "convert-kernels-to-llvm":
            yield entry()


def test_one_rule_for_all_passes():
    for each in relay_passes():
        assert issubclass(each, RelayPass), f"{each.name} does not check what comes in"
        assert "apply" not in vars(each), f"{each.name} has rules of its own"


def test_a_pipeline_asks_once(monkeypatch: pytest.MonkeyPatch):
    asked: list[ModuleOp] = []

    def note(module: ModuleOp) -> None:
        asked.append(module)
        check_dominance(module)

    monkeypatch.setattr("xrelay.compiler.check_dominance", note)
    monkeypatch.setattr("xrelay.analysis.relay_pass.check_dominance", note)
    module = parse_program(
        f"func.func @main(%x: {T}) -> {T} {{ func.return %x : {T} }}".encode(), "p", context()
    )
    run_passes(module, cpu_pipeline(4))
    assert asked == [module]
    for text, message in INVALID.values():
        with pytest.raises(DominanceError, match=re.escape(message)):
            run_passes(Parser(context(), text).parse_module(), cpu_pipeline(4))


def test_order_is_free_in_graphs_and_where_nothing_leads():
    text = """
      %a = "test.op"(%b) ({
        %inner = "test.op"(%b) : (i32) -> i32
      }) : (i32) -> i32
      %b = "test.op"(%a) : (i32) -> i32
      func.func @f(%c: i1, %x: i32) -> i32 {
        cf.cond_br %c, ^loop, ^end
      ^after:
        %j = "test.op"(%i) : (i32) -> i32
        func.return %j : i32
      ^loop:
        %i = "test.op"(%x) : (i32) -> i32
        cf.cond_br %c, ^loop, ^after
      ^end:
        func.return %x : i32
      ^lost:
        %k = "test.op"(%l, %j) : (i32, i32) -> i32
        cf.br ^more
      ^more:
        %l = "test.op"(%k, %m) : (i32, i32) -> i32
        cf.cond_br %c, ^lost, ^end
      ^other:
        %m = "test.op"(%l, %i) : (i32, i32) -> i32
        func.return %m : i32
      }
    """
    check_dominance(parse_program(text.encode(), "text", context()))


def test_a_scope_ends_with_its_region():
    text = """
      func.func @f(%c: i1) {
        "test.op"() ({
          cf.br ^end
        ^lost:
          %k = "test.op"() : () -> i32
          cf.br ^end
        ^end:
          "test.termop"() : () -> ()
        }) : () -> ()
        func.return
      }
    """
    module = parse_program(text.encode(), "text", context())
    inner = next(op for op in module.walk() if op.results)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    last = function.body.block.last_op
    assert last is not None
    function.body.block.insert_op_before(TestOp(operands=[inner.results[0]]), last)
    with pytest.raises(DominanceError, match="of test.op, is used before it is defined"):
        check_dominance(module)


@pytest.mark.parametrize("seed", range(25))
def test_dominators_are_those_of_xdsl(seed: int):
    """A value of each block of a random graph is used in each other one."""
    generator = random.Random(seed)
    count = generator.randint(2, 9)
    ends = [[generator.randrange(1, count) for _ in range(2)] for _ in range(count)]
    for definition in range(count):
        for use in range(count):
            if definition == use:
                continue
            blocks = [Block() for _ in range(count)]
            function = FuncOp("f", ((), ()), Region(blocks))
            condition = TestOp(result_types=[i1])
            made = TestOp(result_types=[i32])
            blocks[0].add_op(condition)
            blocks[definition].add_op(made)
            blocks[use].add_op(TestOp(operands=[made.results[0]]))
            for block, (one, other) in zip(blocks, ends, strict=True):
                block.add_op(ConditionalBranchOp(condition, blocks[one], (), blocks[other], ()))
            reached, pending = {blocks[0]}, [blocks[0]]
            while pending:
                last = pending.pop().last_op
                assert last is not None
                new = [block for block in last.successors if block not in reached]
                reached.update(new)
                pending.extend(new)
            # xDSL counts ways from blocks that cannot be reached: they are not there for it.
            for block in blocks:
                if block not in reached:
                    last = block.last_op
                    assert last is not None
                    last.detach()
                    block.add_op(TestTermOp())
            expected = blocks[use] not in reached or (
                blocks[definition] in reached
                and DominanceInfo(function.body).strictly_dominates(blocks[definition], blocks[use])
            )
            try:
                check_dominance(ModuleOp([function]))
                found = True
            except DominanceError:
                found = False
            assert found == expected, (ends, definition, use)


@pytest.mark.slow
def test_deep_and_long_programs():
    """Regions in regions and blocks after blocks: without recursion, and in time."""
    nested = Region(Block([TestTermOp()]))
    for _ in range(2_000):
        nested = Region(Block([TestOp(regions=[nested])]))
    check_dominance(TestOp(regions=[nested]))
    blocks = [Block() for _ in range(1_500)]
    condition = TestOp(result_types=[i1])
    blocks[0].add_op(condition)
    for block, following in pairwise(blocks):
        block.add_op(ConditionalBranchOp(condition, following, (), blocks[-1], ()))
    blocks[-1].add_op(TestTermOp(operands=[condition]))
    check_dominance(FuncOp("f", ((), ()), Region(blocks)))


def test_values_that_an_operation_defines_in_its_own_region():
    program = main(
        f"%a = scf.if %d -> ({T}) {{",
        '  %d = "test.op"() : () -> i1',
        f"  scf.yield %x : {T}",
        f"}} else {{ scf.yield %x : {T} }}",
    )
    with pytest.raises(DiagnosticException, match="operand 0, a value, is used before it is def"):
        read_model(parse_program(program.encode(), "text", context()))
