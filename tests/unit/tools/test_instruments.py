"""`xrelay-opt --timing`, `--statistics` and `--verify-semantics`."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from commands.runs import Command
from rich.console import Console
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, TupleType, f32, i8, i32
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.utils.exceptions import InterpretationError

from xrelay.compiler import context, parse_program
from xrelay.dialects.tensor.binary import AddOp, SubtractOp
from xrelay.dialects.tensor.unary import ReluOp, TanhOp
from xrelay.dialects.traits import OpPatternKind
from xrelay.tools import reduction
from xrelay.tools.errors import BAD_INPUT, FAILED
from xrelay.tools.instruments import FusedKind, fused_kinds, statistics_table
from xrelay.tools.opt import XRelayOptMain
from xrelay.tools.semantics import KINDS, KnownValues, input_of, is_same, repeating_functions
from xrelay.transforms.cpu_pipeline import CpuPipelinePass, cpu_pipeline
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.rules.pass_sequence import single_passes

EXAMPLE = Path(__file__).parents[1] / "data" / "view.mlir"
T = "tensor<2x4xf32>"


class ReluIsTanh(RewritePattern):
    """Wrong, and only by little for small numbers."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, TanhOp(op.data))


class SwapSubtraction(RewritePattern):
    """Wrong unless both operands are equal."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubtractOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, SubtractOp(op.rhs, op.lhs))


class SwapAddition(RewritePattern):
    """Right."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, AddOp(op.rhs, op.lhs))


def walk(pattern: RewritePattern, module: ModuleOp) -> None:
    PatternRewriteWalker(pattern, apply_recursively=False).rewrite_module(module)


@dataclass(frozen=True)
class WrongReluPass(ModulePass):
    name = "wrong-relu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        walk(ReluIsTanh(), op)


@dataclass(frozen=True)
class WrongSubtractPass(ModulePass):
    name = "wrong-subtract"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        walk(SwapSubtraction(), op)


@dataclass(frozen=True)
class FragilePass(ModulePass):
    """Wrong, and needs an addition in the program."""

    name = "wrong-and-fragile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        next(each for each in op.walk() if isinstance(each, AddOp))
        walk(ReluIsTanh(), op)


@dataclass(frozen=True)
class RightPass(ModulePass):
    name = "right"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        walk(SwapAddition(), op)


@pytest.fixture(autouse=True)
def more_passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`xrelay-opt` with the passes above."""
    register = XRelayOptMain.register_all_passes

    def more(self: XRelayOptMain) -> None:
        register(self)
        for each in (WrongReluPass, WrongSubtractPass, FragilePass, RightPass):
            self.register_pass(each.name, lambda each=each: each)

    monkeypatch.setattr(XRelayOptMain, "register_all_passes", more)
    yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """relu(x - y) + y, and a function that cannot be run."""
    path = tmp_path / "program.mlir"
    path.write_text(
        f"func.func @main(%x: {T}, %y: {T}) -> {T} {{\n"
        f"  %0 = relay.subtract %x, %y : ({T}, {T}) -> {T}\n"
        f"  %1 = relay.nn.relu %0 : ({T}) -> {T}\n"
        f"  %2 = relay.add %1, %y : ({T}, {T}) -> {T}\n"
        f"  return %2 : {T}\n}}\n"
    )
    return path


# -- bisect -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "kept"), [("wrong-relu", "nn.relu"), ("wrong-subtract", "subtract")]
)
def test_program_is_reduced(opt_cmd: Command, tmp_path: Path, wrong: str, kept: str) -> None:
    lines = [f"  %0 = relay.subtract %x, %y : ({T}, {T}) -> {T}"]
    for i in range(1, 20):
        op = {5: "subtract", 11: "nn.relu"}.get(i, "tanh" if i % 2 else "add")
        operands = f"%{i - 1}" if op in ("tanh", "nn.relu") else f"%{i - 1}, %y"
        types = T if op in ("tanh", "nn.relu") else f"{T}, {T}"
        lines.append(f"  %{i} = relay.{op} {operands} : ({types}) -> {T}")
    text = "\n".join(lines)
    path, small = tmp_path / "long.mlir", tmp_path / "small.mlir"
    path.write_text(
        f"func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}) {{\n{text}\n  return %3, %19 : {T}, {T}\n}}\n"
    )
    result = opt_cmd(path, "-p", f"right,{wrong},fuse-ops", "--bisect", small)
    result.refused(
        f"pass '{wrong}' changes result",
        f"smallest failing prefix: -p 'right,{wrong}'",
        f"xrelay-opt {small} -p '{wrong}' --verify-semantics",
        code=FAILED,
    )
    operators = [line.split()[2] for line in small.read_text().splitlines() if " relay." in line]
    assert operators == [f"relay.{kept}"]
    opt_cmd(small, "-p", wrong, "--verify-semantics").refused(f"pass '{wrong}'", code=FAILED)


def test_nothing_is_written_when_passes_are_right(opt_cmd: Command, path: Path) -> None:
    small = path.with_name("small.mlir")
    result = opt_cmd(path, "-p", "right,fuse-ops", "--bisect", small)
    assert result.code == 0 and "stay the same in 2 passes" in result.err
    assert not small.exists()


def test_passes_that_raise_while_a_program_is_reduced(opt_cmd: Command, path: Path) -> None:
    small = path.with_name("small.mlir")
    result = opt_cmd(path, "-p", "wrong-and-fragile", "--bisect", small)
    result.refused("pass 'wrong-and-fragile' changes result", code=FAILED)
    assert "relay.add" in small.read_text()
    opt_cmd(small, "-p", "wrong-and-fragile", "--verify-semantics").refused(code=FAILED)


def test_bisect_tries_no_more_than_so_many(
    opt_cmd: Command, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduction, "MOST_TRIALS", 1)
    small = path.with_name("small.mlir")
    opt_cmd(path, "-p", "wrong-relu", "--bisect", small).refused("reduced program", code=FAILED)
    assert "relay.subtract" in small.read_text()


def test_ends_are_bisected_without_the_one_that_is_known() -> None:
    """The whole program is known to be wrong: it is not tried once more."""
    steps = ["tanh %x", "tanh %0", "tanh %1", "nn.relu %2"]
    lines = [f"%{i} = relay.{step} : ({T}) -> {T}" for i, step in enumerate(steps)]
    text = "\n".join([f"func.func @main(%x: {T}) -> {T} {{", *lines, f"return %3 : {T}", "}"])
    ctx, said = context(), list[str]()
    module = parse_program(text.encode(), "text", ctx)
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    *ops, end = main.body.block.ops
    whole = reduction.Part(tuple(ops), tuple(end.operands))
    reducer = reduction.Reducer(module, WrongReluPass(), ctx, main, said.append)
    assert reducer.without_end(whole) == whole
    assert said == ["reduce: 2 operations, trial 1", "reduce: 3 operations, trial 2"]


def test_bisect_looks_at_its_folder_first(opt_cmd: Command, path: Path) -> None:
    small = path.parent / "none" / "small.mlir"
    result = opt_cmd(path, "-p", "right", "--bisect", small)
    result.refused("small.mlir", code=BAD_INPUT)


def test_bisect_writes_programs(opt_cmd: Command, path: Path) -> None:
    opt_cmd(path, "-p", "right", "--bisect", "small.txt").refused("expected a .mlir file")


# -- verify-semantics ---------------------------------------------------------------------------


def test_wrong_pass_is_found(opt_cmd: Command, path: Path) -> None:
    output = path.with_name("out.mlir")
    passes = "right,fold-constant,wrong-relu,wrong-subtract"
    result = opt_cmd(path, "-p", passes, "--verify-semantics", "-o", output)
    result.refused(
        "pass 'wrong-relu' changes result 0 of @main on random numbers",
        "the largest difference is",
        "the values depart at relay.tanh",
        code=FAILED,
    )
    assert not output.exists()


def test_first_of_two_wrong_passes(opt_cmd: Command, path: Path) -> None:
    result = opt_cmd(path, "-p", "wrong-subtract,wrong-relu", "--verify-semantics")
    result.refused("pass 'wrong-subtract'", "depart at relay.subtract", code=FAILED)


def test_wrong_pass_within_fused_operators(opt_cmd: Command, path: Path) -> None:
    result = opt_cmd(path, "-p", "fuse-ops,wrong-relu", "--verify-semantics")
    result.refused("pass 'wrong-relu'", "depart at relay.tanh", code=FAILED)


REPEATING = """
func.func @main(%x: tensor<2xf32>, %n: tensor<i64>) -> tensor<2xf32> {
  %from = arith.constant 0 : index
  %step = arith.constant 1 : index
  %count = tensor.extract %n[] : tensor<i64>
  %to = arith.index_cast %count : i64 to index
  %y = scf.for %i = %from to %to step %step iter_args(%a = %x) -> (tensor<2xf32>) {
    %b = func.call @once(%a) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %b : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}
func.func @once(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relay.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @above(%x: tensor<2xf32>, %n: tensor<i64>) -> tensor<2xf32> {
  %y = func.call @main(%x, %n) : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @down(%n: tensor<i64>) -> tensor<i64> {
  %zero = relay.constant dense<0> : tensor<i64>
  %one = relay.constant dense<1> : tensor<i64>
  %more = relay.not_equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %again = tensor.extract %more[] : tensor<i1>
  %y = scf.if %again -> (tensor<i64>) {
    %less = relay.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %d = func.call @down(%less) : (tensor<i64>) -> tensor<i64>
    scf.yield %d : tensor<i64>
  } else {
    scf.yield %n : tensor<i64>
  }
  return %y : tensor<i64>
}
"""


def test_inputs_that_count_rounds_are_small(opt_cmd: Command, tmp_path: Path) -> None:
    module = parse_program(REPEATING.encode(), "repeating.mlir", context())
    assert repeating_functions(module) == {"main", "above", "down"}
    path = tmp_path / "repeating.mlir"
    path.write_text(REPEATING)
    result = opt_cmd(path, "-p", "inline", "--verify-semantics")
    assert result.code == 0
    assert "the results of @main, @once, @above, @down stay the same" in result.err


def test_differences_are_measured(opt_cmd: Command, tmp_path: Path) -> None:
    """Of whole numbers, those that differ are counted."""
    path = tmp_path / "small.mlir"
    path.write_text(
        "func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {\n"
        "  %d = relay.subtract %x, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>\n"
        "  return %d : tensor<3xi32>\n}\n"
    )
    result = opt_cmd(path, "-p", "wrong-subtract", "--verify-semantics")
    assert result.code == FAILED
    assert " elements; the values depart at relay.subtract" in result.err


def test_right_passes(opt_cmd: Command, path: Path) -> None:
    result = opt_cmd(path, "-p", "right,cpu-pipeline,fuse-ops", "--verify-semantics")
    assert result.code == 0
    assert "relay.fused" in result.out
    count = 2 + len(cpu_pipeline())
    assert f"the results of @main stay the same in {count} passes" in result.err


def test_the_whole_pipeline_keeps_a_convolution(opt_cmd: Command, folder: Path) -> None:
    result = opt_cmd(folder / "conv.onnx", "-p", "cpu-pipeline,fuse-ops", "--verify-semantics")
    assert result.code == 0 and "stay the same" in result.err


def test_code_generation_ends_the_check(opt_cmd: Command, path: Path) -> None:
    passes = "fuse-ops,convert-relay-to-kernels{target=x86-64},wrong-relu"
    result = opt_cmd(path, "-p", passes, "--verify-semantics")
    assert result.code == 0
    assert "stay the same in 1 passes" in result.err
    assert "'convert-relay-to-kernels' changes the parameters or results of @main" in result.err


def test_programs_that_cannot_run(opt_cmd: Command, path: Path) -> None:
    text = path.read_text().replace("@main", "@other")
    dynamic = text.replace("@other", "@dynamic").replace("2x4", "?x4")
    path.write_text(dynamic)
    opt_cmd(path, "-p", "right", "--verify-semantics").refused(
        "--verify-semantics cannot run the program",
        "@dynamic: tensor<?x4xf32> is no tensor of known",
    )
    path.write_text(text + dynamic)
    result = opt_cmd(path, "-p", "right", "--verify-semantics")
    assert result.code == 0
    assert "the results of @other stay the same in 1 passes" in result.err
    assert "not checked: @dynamic" in result.err


def test_public_functions_stay(opt_cmd: Command, path: Path) -> None:
    text = path.read_text()
    path.write_text(text + text.replace("@main", "@other"))
    passes = "right,remove-unused-functions"
    opt_cmd(path, "-p", passes, "--verify-semantics").refused(
        "pass 'remove-unused-functions' removes @other, which is not private", code=FAILED
    )
    path.write_text(text + text.replace("@main", "private @other"))
    result = opt_cmd(path, "-p", passes, "--verify-semantics")
    assert result.code == 0
    assert "the results of @main stay the same in 2 passes" in result.err


def test_references_are_not_compared(opt_cmd: Command, path: Path) -> None:
    ref = f"!relay.ref<{T}>"
    path.write_text(
        path.read_text()
        + f"func.func @cell(%x: {T}) -> {ref} {{\n"
        + f"  %r = relay.ref_create %x : ({T}) -> {ref}\n  return %r : {ref}\n}}\n"
    )
    result = opt_cmd(path, "-p", "right", "--verify-semantics")
    assert result.code == 0
    assert "the results of @main stay the same in 1 passes" in result.err
    assert "not checked: @cell: a Cell is no array" in result.err


def test_departure_beside_references(opt_cmd: Command, path: Path) -> None:
    """A wrong operator is found in a program that has references too."""
    ref = f"!relay.ref<{T}>"
    path.write_text(
        f"func.func @main(%x: {T}) -> {T} {{\n"
        f"  %r = relay.ref_create %x : ({T}) -> {ref}\n"
        f"  %z = relay.ref_read %r : ({ref}) -> {T}\n"
        f"  %y = relay.nn.relu %z : ({T}) -> {T}\n  return %y : {T}\n}}\n"
    )
    result = opt_cmd(path, "-p", "wrong-relu", "--verify-semantics")
    result.refused("pass 'wrong-relu'", "depart at relay.tanh", code=FAILED)


def test_known_values() -> None:
    """As comparing with each of them has it, NaN and infinities included."""
    rng = np.random.default_rng(0)
    known, arrays = KnownValues(), [rng.standard_normal((20, 30)).astype("f") for _ in range(40)]
    arrays[3][0, 0], arrays[4][5, 5] = np.nan, -np.inf
    for array in arrays:
        known.add(array)
    tries = [array * np.float32(factor) for array in arrays for factor in (1, 1.0005, 1.1, -1)]
    tries += [np.where(np.arange(30) == 7, 3, array).astype("f") for array in arrays]
    found = [known.has(array) for array in tries]
    assert found == [any(is_same(array, other) for other in arrays) for array in tries]
    assert found.count(True) == 80
    # Samples that are NaN are like no other ones: those of many arrays leave room for the array itself.
    hidden = KnownValues()
    for array in (*(np.full((2, 3), np.nan, "f") for _ in range(99)), arrays[0]):
        hidden.add(array[:2, :3])
    assert hidden.has(arrays[0][:2, :3])
    empty = KnownValues()
    empty.add(np.zeros((0, 3), np.int32))
    assert empty.has(np.zeros((0, 3), np.int32))


def test_inputs() -> None:
    rng = np.random.default_rng(0)
    zeros = input_of(TensorType(f32, [50]), "zeros of both signs", rng)
    assert not zeros.any() and np.signbit(zeros).any() and not np.signbit(zeros).all()
    large = input_of(TensorType(i8, [99]), "large numbers", rng)
    assert large.dtype == np.int8 and {large.min(), large.max()} == {-128, 127}
    for kind in KINDS:
        (small,) = input_of(TupleType([TensorType(i8, [99])]), kind, rng, counts=True)
        assert small.dtype == np.int8 and (small.min(), small.max()) == (0, 3)
    pair = input_of(TupleType([TensorType(f32, [2]), TensorType(i32, [])]), "equal numbers", rng)
    assert [array.shape for array in pair] == [(2,), ()]
    for kind in KINDS:
        assert input_of(TensorType(f32, [3, 2]), kind, rng).dtype == np.float32
    with pytest.raises(InterpretationError, match="no tensor of known shape"):
        input_of(TensorType(f32, [DYNAMIC_INDEX]), "random numbers", rng)


# -- timing and statistics ----------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text."""
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_timing(opt_cmd: Command, path: Path) -> None:
    result = opt_cmd(path, "-p", "right,fuse-ops", "--timing")
    assert result.code == 0 and "relay.fused" in result.out
    first, second, total = rows(result.err)
    # The module, the function, its three operators and its end; then relay.fused and its end.
    assert (first[0], *first[3:]) == ("right", "6", "6")
    assert (second[0], *second[3:]) == ("fuse-ops", "6", "8")
    assert total[0] == "all"


def test_timing_names_the_steps_of_the_pipeline(opt_cmd: Command, path: Path) -> None:
    result = opt_cmd(path, "-p", "cpu-pipeline", "--timing")
    names = [row[0] for row in rows(result.err)]
    assert names == [*(each.name for each in cpu_pipeline()), "all"]
    assert single_passes([CpuPipelinePass(4)]) == cpu_pipeline(4)


def test_without_passes(opt_cmd: Command, path: Path) -> None:
    result = opt_cmd(path, "--timing", "--statistics", "--verify-semantics")
    assert result.code == 0
    assert "there are no relay.fused" in result.err
    assert "stay the same in 0 passes" in result.err


def test_statistics(opt_cmd: Command) -> None:
    passes = "fuse-ops,convert-relay-to-kernels{target=x86-64}"
    result = opt_cmd(EXAMPLE, "-p", passes, "--statistics")
    assert "relay.fused after fuse-ops" in result.err
    assert rows(result.err) == [["2", "1", "1"], ["5", "1", "1"], ["all", "2", "2"]]
    module = Parser(context(), EXAMPLE.read_text()).parse_module()
    FuseOpsPass(0).apply(context(), module)
    kinds = fused_kinds(module)
    assert kinds == {
        FusedKind(1, OpPatternKind.OUT_EWISE_FUSABLE): 2,
        FusedKind(1, OpPatternKind.BROADCAST): 3,
        FusedKind(1, OpPatternKind.ELEMWISE): 2,
    }
    console = Console(record=True, width=120, file=StringIO())
    console.print(statistics_table("fuse-ops", kinds))
    assert rows(console.export_text()) == [["1", "2", "3", "2", "7"], ["all", "2", "3", "2", "7"]]


@pytest.mark.parametrize("options", [(), ("--timing",)], ids=str)
def test_verification_between_passes_stays_on(
    opt_cmd: Command, path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """It names the pass, with instruments and without."""

    def damage(self: RightPass, ctx: Context, op: ModuleOp) -> None:
        (relu,) = [each for each in op.walk() if isinstance(each, ReluOp)]
        relu.operands = []

    monkeypatch.setattr(RightPass, "apply", damage)
    result = opt_cmd(path, "-p", "right,fold-constant", *options)
    assert result.code == FAILED
    assert "pass 'right' leaves a program that is not valid: " in result.err


def test_a_result_that_tells_nothing(opt_cmd: Command, tmp_path: Path) -> None:
    """The square root of a negative number is NaN, whatever a pass does."""
    path = tmp_path / "nan.mlir"
    path.write_text(
        f"func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}) {{\n"
        f"  %c = relay.constant dense<-1.0> : tensor<f32>\n"
        f"  %0 = relay.nn.relu %x : ({T}) -> {T}\n"
        f"  %a = relay.abs %0 : ({T}) -> {T}\n"
        f"  %1 = relay.subtract %c, %a : (tensor<f32>, {T}) -> {T}\n"
        f"  %2 = relay.sqrt %1 : ({T}) -> {T}\n"
        f"  %3 = relay.add %x, %y : ({T}, {T}) -> {T}\n"
        f"  return %3, %2 : {T}, {T}\n}}\n"
    )
    result = opt_cmd(path, "-p", "wrong-relu", "--verify-semantics")
    assert result.code == 0
    assert result.err.splitlines()[1:] == [
        "not checked: result 1 of @main is NaN or infinite on all inputs"
    ]
