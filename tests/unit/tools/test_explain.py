"""`xrelay explain --strategies` and `--memory`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commands.runs import Command
from xdsl.ir import Operation

from xrelay.compiler import lower, read_model
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.lowering.loops.tile_registers import NO_TILES
from xrelay.lowering.program.program import Program
from xrelay.options import CompileOptions
from xrelay.tools.explain.memory import Usage, kind, picture
from xrelay.tools.explain.strategies import kernel_uses, why_not

PROGRAM = """\
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>) -> tensor<4x64xf32> {
  %0 = relay.nn.softmax %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = relay.nn.dense %0, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %2 = relay.nn.softmax %1 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %3 = relay.fused %2 : (tensor<4x64xf32>) -> tensor<4x64xf32> {
  ^bb0(%p: tensor<4x64xf32>):
    %e = relay.exp %p : (tensor<4x64xf32>) -> tensor<4x64xf32>
    relay.yield %e : tensor<4x64xf32>
  }
  %4 = relay.nn.softmax %3 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  func.return %4 : tensor<4x64xf32>
}
"""


@pytest.fixture
def model(folder: Path) -> Path:
    """A program with one kernel that is used three times, and a step that works in place."""
    path = folder / "model.mlir"
    path.write_text(PROGRAM)
    return path


def program_of(path: Path, **options: Any) -> Program:
    chosen = CompileOptions(**{"target": "x86-64-v4", **options})
    module, _ = read_model(path)
    return lower(module, chosen)


# -- strategies ---------------------------------------------------------------------------------------


def test_kernels_and_their_uses(model: Path) -> None:
    uses = {kernel.step.name: kernel.uses for kernel in kernel_uses(program_of(model))}
    assert uses == {"fused_nn_softmax": 3, "fused_nn_dense": 1, "fused_exp": 1}


def test_every_way_is_listed_with_its_reason(cmd: Command, folder: Path) -> None:
    result = cmd("explain", folder / "conv.onnx", "--strategies", "--target", "x86-64-v3")
    assert (result.code, result.err) == (0, "")
    for part in (
        *("→ blocked", "nn.conv2d", "the only one that can", "cannot: not depthwise"),
        "2 steps: 2 kernels with implementations to choose from, 0 that work element by element",
    ):
        assert part in result.out, result.out


def test_strategies_as_data(cmd: Command, model: Path, folder: Path) -> None:
    path = folder / "strategies.json"
    arguments = ("--target", "x86-64-v4", "--threads", 2)
    result = cmd("explain", model, "--strategies", *arguments, "--json", path)
    assert result.code == 0
    kernels = json.loads(path.read_text())["kernels"]
    assert [(each["name"], each["uses"]) for each in kernels] == [
        ("fused_nn_softmax", 3),
        ("fused_nn_dense", 1),
        ("fused_exp", 1),
    ]
    (operator,) = kernels[1]["operators"]
    assert operator["operator"] == "relay.nn.dense"
    assert operator["key"].endswith("on x86-64-v4, 1 thread"), "it is too small to be shared"
    assert (operator["chosen"], operator["why"]) == ("panels", "lowest estimate")
    estimates = [each["estimated"] for each in operator["candidates"]]
    assert 0 < estimates[0] < estimates[1]
    assert operator["refused"] == [
        {"name": "tile-registers", "plevel": 20, "reason": NO_TILES},
        {"name": "row-updates", "plevel": 20, "reason": "right operand stored by columns"},
    ]
    assert kernels[2]["operators"] == []


def test_options_exclude(folder: Path) -> None:
    def refused(op: type[Operation], **options: Any) -> dict[str, str]:
        program = program_of(folder / "wide.mlir", **options)
        (selection,) = (
            each
            for step in program.steps
            for each in step.selections
            if isinstance(each.site.op, op)
        )
        return {each.implementation.name: each.reason for each in selection.refusals}

    (folder / "wide.mlir").write_text(
        "func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {\n"
        "  %w = relay.constant dense<0.5> : tensor<16x16x3x3xf32>\n"
        "  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>} : "
        "(tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>\n"
        "  func.return %0 : tensor<1x16x8x8xf32>\n}\n"
    )
    assert not refused(Conv2DOp).keys() & {"winograd-2", "winograd-4"}
    assert refused(Conv2DOp, winograd=False)["winograd-4"] == "excluded by an option"


def test_records_are_shown(model: Path) -> None:
    def dense(program: Program):
        return next(
            each
            for step in program.steps
            for each in step.selections
            if each.site.op.name == "relay.nn.dense"
        )

    before = dense(program_of(model))
    (reason,) = [why_not(before, each) for each in before.candidates[1:]]
    assert reason.endswith(" × the estimate")
    records = CompileOptions().tuning.with_record(before.site.key, "dot-products", 1e-6)
    after = dense(program_of(model, tuning=records))
    assert (after.chosen.name, after.basis.value) == ("dot-products", "fastest measured")
    assert [why_not(after, each) for each in after.candidates[1:]] == ["no tuning record"]
    both = records.with_record(before.site.key, "panels", 3e-6)
    after = dense(program_of(model, tuning=both))
    assert [why_not(after, each) for each in after.candidates[1:]] == ["3.00 × the time"]


def test_strategies_have_a_limit(cmd: Command, model: Path) -> None:
    result = cmd("explain", model, "--strategies", "--limit", 1)
    assert "… 1 more kernels" in result.out
    assert "nn.dense" not in result.out


# -- memory -------------------------------------------------------------------------------------------


def test_usage(model: Path) -> None:
    usage = Usage.of(program_of(model))
    size = 4 * 64 * 4
    assert (usage.inputs, usage.outputs, usage.constants) == (size + 64 * 64 * 4, size, 0)
    assert usage.workspace >= usage.needed >= 2 * size
    assert usage.separate > usage.workspace


def test_memory_is_described(cmd: Command, model: Path) -> None:
    result = cmd("explain", model, "--memory", "--target", "x86-64-v4")
    assert (result.code, result.err) == (0, "")
    for part in (
        "workspace",
        "constants",
        "row-major",
        "in place",
        "scratch memory",
        "3 fused_exp",
    ):
        assert part in result.out, result.out


def test_memory_as_data(cmd: Command, model: Path, folder: Path) -> None:
    path = folder / "memory.json"
    assert cmd("explain", model, "--memory", "--json", path).code == 0
    data = json.loads(path.read_text())
    assert [step["name"] for step in data["steps"]][3] == "fused_exp"
    assert data["inputs"] == {"x": 1024, "w": 16384}
    assert data["in_use_at_most"] == max(step["in_use"] for step in data["steps"])
    for buffer in data["buffers"]:
        assert 0 <= buffer["offset"] <= data["workspace"] - buffer["size"]
        assert 0 <= buffer["first"] <= buffer["last"] < len(data["steps"])
    relations = [tensor["relation"] for buffer in data["buffers"] for tensor in buffer["tensors"]]
    assert relations.count("in place") == 1


def test_the_picture_shows_every_buffer(model: Path) -> None:
    program = program_of(model)
    lines = picture(program)
    assert len({len(line) for line in lines}) == 1
    shades = {"own": "█", "in place": "▒", "scratch": "░"}
    assert {shades[kind(buffer)] for buffer in program.buffers} <= set("".join(lines))


def test_programs_without_workspace(cmd: Command, folder: Path) -> None:
    result = cmd("explain", folder / "add.mlir", "--memory")
    assert result.code == 0
    assert picture(program_of(folder / "add.mlir")) == []


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_charts(cmd: Command, model: Path, folder: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    charts = [folder / f"{name}{suffix}" for name in ("one", "two")]
    for chart in charts:
        assert cmd("explain", model, "--memory", "--chart", chart).code == 0
    first, second = (chart.read_bytes() for chart in charts)
    assert first == second and len(first) > 1000


def test_charts_need_matplotlib(
    cmd: Command, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    cmd("explain", model, "--memory", "--chart", folder / "memory.svg").refused(
        "--chart needs matplotlib"
    )


# -- operators ----------------------------------------------------------------------------------------


def test_operators_of_unknown_shape_and_the_rest(cmd: Command, folder: Path) -> None:
    path = folder / "rows.mlir"
    path.write_text(PROGRAM.replace("tensor<4x64", "tensor<?x64"))
    result = cmd("explain", path, "--operators", "--limit", 1)
    assert result.code == 0
    row, rest, total = result.out.splitlines()[3::2][:1] + result.out.splitlines()[-2:]
    assert row.split()[1:-1:2] == ["nn.dense", "1", "unknown"]
    assert rest == "… 2 more operators"
    assert total == "3 operators in 5 calls, an unknown number of multiply-adds"


# -- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["--json", "out.json"], "--json goes with --strategies, --memory, --operators or --types"),
        (["--strategies", "--chart", "out.svg"], "--chart goes with --memory"),
        (
            ["--operators", "--what-if", "exp=opaque"],
            "go without --strategies, --memory, --operators",
        ),
        (["--memory", "--chart", "out.pdf"], "--chart is 'out.pdf', expected a name that ends"),
        (["--strategies", "--target", "z80"], "unknown target 'z80'"),
        (["--strategies", "--threads", "0"], "threads is 0"),
        (["--strategies", "--tuning", "none.json"], "cannot read 'none.json'"),
    ],
)
def test_refusals(cmd: Command, inside: Path, arguments: list[str], reason: str) -> None:
    cmd("explain", "add.mlir", *arguments).refused(reason)
    assert not [path for path in inside.iterdir() if path.name.startswith("out.")]


def test_one_view_at_a_time(cmd: Command, inside: Path) -> None:
    result = cmd("explain", "add.mlir", "--strategies", "--memory")
    assert result.code == 2 and "not allowed with argument" in result.err


def test_files_that_cannot_be_written(cmd: Command, inside: Path) -> None:
    result = cmd("explain", "add.mlir", "--memory", "--json", "none/out.json")
    assert result.code == 2
    assert "none/out.json" in result.err


# -- quantised programs ---------------------------------------------------------------------------

QUANTIZED = """\
func.func @main(%x: tensor<1x2x4x4xui8>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x2xui8>) {
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.nn.max_pool2d %0 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %4 = relay.qnn.quantize %3, %s, %z {out_dtype = ui8} : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2x2x2xui8>
  func.return %1, %2, %4 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x2xui8>
}
"""


def test_what_quantised_programs_compute_in_floating_point(cmd: Command, folder: Path) -> None:
    path = folder / "quantized.mlir"
    path.write_text(QUANTIZED)
    result = cmd("explain", path)
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(
        "\nnn.conv2d computes with f32: an operand is an argument, not dequantized\n"
        "nn.avg_pool2d computes with f32: windows of relay.nn.avg_pool2d at the borders have fewer elements\n"
    )
    assert cmd("explain", path, "--limit", "1").out.endswith("… 1 more\n")


# -- types --------------------------------------------------------------------------------------------


def test_types_and_the_lists_that_say_so(cmd: Command, folder: Path) -> None:
    def rows(*options: str) -> list[tuple[object, ...]]:
        path = folder / "types.json"
        words = ("explain", folder / "conv.onnx", "--target", "x86-64", "--types", "--json", path)
        assert cmd(*words, *options).code == 0
        return [
            (row["operator"], row["types"], row["reason"].partition(":")[0], tuple(row["nodes"]))
            for row in json.loads(path.read_text())["types"]
            if row["operator"] in ("nn.conv2d", "nn.relu")
        ]

    whole, node = "f32 × f32 → f32", ("conv_1",)
    relu = ("nn.relu", "f32 → f32", "never", ("relu_1",))
    stated = "as the model states it"
    assert rows() == [
        ("nn.conv2d", whole, stated, node),
        ("nn.relu", "f32 → f32", stated, ("relu_1",)),
    ]
    weights = ("nn.conv2d", "f32 × bf16 → f32", "always", node)
    assert rows("--precision", "bf16") == [weights, relu]
    (folder / "rules.json").write_text('{"never": ["nn.conv2d"]}')
    rules = ("--precision", "f16", "--precision-rules", str(folder / "rules.json"))
    assert rows(*rules) == [("nn.conv2d", whole, "never", node), relu]
