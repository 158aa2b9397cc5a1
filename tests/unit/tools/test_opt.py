"""`xrelay-opt`, in this process: ONNX input, our passes, errors without tracebacks."""

import os
import re
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from textwrap import dedent

import numpy as np
import onnx
import pytest
from commands.runs import Command, MakeModel, Snapshot
from onnx import helper, parser
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xrelay.compiler import read_mlir
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.constants import constant_array, constant_op
from xrelay.runtime.files import write_files
from xrelay.tools.errors import BAD_INPUT, FAILED
from xrelay.tools.opt import XRelayOptMain
from xrelay.transforms.cpu_pipeline import cpu_pipeline

OPEN = """
<ir_version: 9, opset_import: ["" : 17]>
open (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }
"""

# -- xrelay-opt -------------------------------------------------------------------------------


def test_opt_reads_onnx(opt_cmd: Command, inside: Path) -> None:
    result = opt_cmd("conv.onnx", "-p", "fuse-ops")
    assert result.code == 0
    for part in ("relay.fused", "relay.nn.conv2d", "relay.nn.relu"):
        assert part in result.out


def test_opt_advises_no_option_that_it_lacks(
    opt_cmd: Command, inside: Path, model_of: MakeModel
) -> None:
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["y"])]
    onnx.save(model_of(nodes, {"n": (np.int64, [2])}, ["y"]), inside / "elements.onnx")
    opt_cmd("elements.onnx").refused("(xrelay.InputValue, `xrelay run --input`): 'n'")


def test_opt_fixes_shapes_of_onnx_models(opt_cmd: Command, inside: Path) -> None:
    (inside / "open.onnx").write_bytes(parser.parse_model(OPEN).SerializeToString())
    opt_cmd("open.onnx").refused("unknown dimension 0 ('n')", "--shape n=…")
    opt_cmd("open.onnx", "--shape", "n=1,9").refused("0 ('n', somewhere from 1 to 9)")
    opt_cmd("open.onnx", "--shape", "n=x").refused("--shape of 'n' is 'x', expected numbers")
    opt_cmd("add.mlir", "--shape", "x=2,4").refused("--shape goes with ONNX models")
    assert "tensor<7x4xf32>" in opt_cmd("open.onnx", "--shape", "n=7").out
    assert "tensor<6x4xf32>" in opt_cmd("open.onnx", "--shape", "x=6,4").out


def test_opt_runs_the_whole_pipeline(opt_cmd: Command, inside: Path) -> None:
    passes = "fuse-ops,convert-relay-to-kernels{target=x86-64-v3},convert-kernels-to-llvm"
    result = opt_cmd("conv.onnx", "-p", passes, "-t", "llvm")
    assert result.code == 0
    assert "define void" in result.out
    assert "<8 x float>" in result.out


def test_opt_help_and_version(opt_cmd: Command) -> None:
    result = opt_cmd("--help")
    assert result.code == 0
    # Lines break at hyphens too.
    assert "fuse-ops" in "".join(result.out.split())
    assert opt_cmd("--version").out.startswith("xrelay-opt 0.")


def test_opt_writes_whole_files(opt_cmd: Command, inside: Path, files: Snapshot) -> None:
    result = opt_cmd("add.mlir", "-p", "fuse-ops", "-o", "out.mlir")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert "relay.fused" in (inside / "out.mlir").read_text()
    before = files(inside)
    (inside / "bad.mlir").write_text("func.func")
    assert opt_cmd("bad.mlir", "-o", "out.mlir").code == BAD_INPUT
    assert opt_cmd("bad.mlir", "-o", "new.mlir").code == BAD_INPUT
    (inside / "bad.mlir").unlink()
    assert files(inside) == before


def test_files_that_cannot_be_written_are_named(opt_cmd: Command, inside: Path) -> None:
    """A device that is always full stands for a disk."""
    (inside / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device: '.*/full'"):
        write_files({inside / "other": b"x", inside / "full": b"x"})
    assert not (inside / "other").exists()
    result = opt_cmd("add.mlir", "-o", "full")
    assert result.code == BAD_INPUT
    assert "'full': No space left on device" in result.err


def test_opt_reads_standard_input(
    opt_cmd: Command, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(program.encode())))
    assert "relay.fused" in opt_cmd("-p", "fuse-ops").out
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(program.encode())))
    assert "relay.fused" in opt_cmd("-", "-p", "fuse-ops", "-o", "-").out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["absent.mlir"], "'absent.mlir': No such file or directory"),
        (["."], "'.': Is a directory"),
        (["notes.txt"], "cannot read 'notes.txt': Unrecognized file extension 'txt'"),
        (["broken.mlir"], "broken.mlir:1:"),
        (["string.mlir"], "'string.mlir', line 1: expected a complete string literal"),
        (["binary.mlir"], "cannot read 'binary.mlir': it is not a text file"),
        (["broken.onnx"], "cannot read model 'broken.onnx'"),
        (["symbolic.onnx"], "unknown dimension"),
        (["-f", "onnx"], "an ONNX model is read from a file"),
        (["conv.onnx", "--split-input-file"], "an ONNX model is read from a file"),
        (["add.mlir", "-p", "frobnicate"], "frobnicate"),
        (["add.mlir", "-p", "fuse-ops{frobnicate=1}"], "frobnicate"),
        (["add.mlir", "-p", "fuse-ops{opt-level=high}"], "opt"),
        (["add.mlir", "-p", "fuse-ops{"], "fuse-ops"),
        (["add.mlir", "-o", "absent/out.mlir"], "'absent/out.mlir"),
        (["add.mlir", "-o", "models"], "Is a directory"),
        (["add.mlir", "-t", "frobnicate"], "frobnicate"),
        (["add.mlir", "-t", "relay-text{types=maybe}"], "-t is 'relay-text{types=maybe}': "),
        (["add.mlir", "-t", "relay-text{frobnicate=true}"], "frobnicate"),
        (["add.mlir", "-t", "relay-text{"], "-t is 'relay-text{': "),
        (["add.mlir", "-t", ""], "-t is '': "),
    ],
)
def test_opt_refuses(
    opt_cmd: Command, inside: Path, arguments: list[str], reason: str, files: Snapshot
) -> None:
    (inside / "notes.txt").write_text("text")
    (inside / "broken.mlir").write_text("func.func @f(")
    (inside / "string.mlir").write_text('"a string that is long enough and is never closed')
    (inside / "binary.mlir").write_bytes(bytes(range(128, 256)))
    (inside / "broken.onnx").write_text("text")
    (inside / "models").mkdir()
    before = files(inside)
    result = opt_cmd(*arguments)
    assert result.code == BAD_INPUT
    assert "xrelay-opt: error: " in result.err or "error: argument" in result.err
    assert reason in result.err
    assert files(inside) == before


@pytest.mark.parametrize(
    ("arguments", "reason", "code"),
    [
        (
            ["-p", "infer-type,convert-kernels-to-llvm"],
            "pass 'convert-kernels-to-llvm': relay.add is not part of kernel IR",
            FAILED,
        ),
        (["-p", "convert-relay-to-kernels{target=z80}"], "unknown target 'z80'", BAD_INPUT),
        (["-p", "fuse-ops{max-depth=0}"], "'max-depth' is 0, expected at least 1", BAD_INPUT),
        (["-p", "annotate-target"], "'targets' is empty", BAD_INPUT),
        (["-p", "fuse-ops{rules=x}"], "'rules' is 'x', expected one of", BAD_INPUT),
        (["-p", 'select-strategies{tuning="no.json"}'], "cannot read 'no.json'", BAD_INPUT),
        (["-p", "select-strategies{function=nobody}"], "no function 'nobody'", BAD_INPUT),
        (["-p", 'apply-placement{file="no.json"}'], "cannot read 'no.json'", BAD_INPUT),
        (["-p", 'apply-fusion-plan{file="no.json"}'], "'no.json': No such file", BAD_INPUT),
        (["-p", "outline-default-regions{function=nobody}"], "no function @nobody", BAD_INPUT),
        (["-p", "annotate-used-memory{functions=nobody}"], "no function @nobody", BAD_INPUT),
        (["-p", "to-mixed-precision{rules=x}"], "'rules' is 'x', expected one of", BAD_INPUT),
        (["-t", "llvm"], "-t llvm does not take this program", FAILED),
    ],
)
def test_opt_passes_that_refuse(
    opt_cmd: Command, inside: Path, arguments: list[str], reason: str, code: int
) -> None:
    """Options that cannot be are bad usage, also where only the pass knows what can be."""
    result = opt_cmd("add.mlir", *arguments)
    assert result.code == code
    assert reason in result.err


def test_opt_writes_weights_beside_the_output(opt_cmd: Command, cmd: Command, inside: Path) -> None:
    assert opt_cmd("conv.onnx", "-p", "fuse-ops", "-o", "fused.mlir").code == 0
    weights = inside / "fused.mlir.weights.npz"
    weights.unlink()
    assert opt_cmd("conv.onnx", "-p", "fuse-ops", "-o", "fused.mlir").err == ""
    assert weights.exists()
    assert cmd("run", "fused.mlir", "--verify").code == 0


def test_opt_takes_the_weights_beside_the_input(
    opt_cmd: Command, cmd: Command, inside: Path
) -> None:
    for before, after in ("conv.onnx", "a.mlir"), ("a.mlir", "b.mlir"):
        result = opt_cmd(before, "-p", "infer-type", "-o", after)
        assert (result.code, result.err) == (0, "")
    first, second = (inside / f"{name}.mlir.weights.npz" for name in "ab")
    with np.load(first) as expected, np.load(second) as found:
        assert [*expected] == [*found] and len([*found]) == 1
        assert all(np.array_equal(expected[key], found[key]) for key in expected)
    assert cmd("run", "b.mlir").code == 0
    assert "no weights, 864 bytes" in opt_cmd("a.mlir").err
    first.unlink()
    result = opt_cmd("a.mlir", "-o", "c.mlir")
    assert (result.code, result.err) == (
        0,
        "large constants lack their bytes, as the input did: 1\n",
    )
    assert not (inside / "c.mlir.weights.npz").exists()


def test_opt_says_that_a_stream_has_no_weights(
    opt_cmd: Command, inside: Path, files: Snapshot
) -> None:
    before = files(inside)
    result = opt_cmd("conv.onnx", "-p", "fuse-ops")
    assert result.code == 0
    assert "no weights, 864 bytes in large constants (1); -o NAME.mlir writes them" in result.err
    assert files(inside) == before
    assert not Path(f"{os.devnull}.weights.npz").exists()
    assert opt_cmd("add.mlir").err == ""
    # Who drops the text does not miss its weights.
    assert opt_cmd("conv.onnx", "-o", os.devnull).err == ""


def test_opt_places_what_does_not_verify(opt_cmd: Command, inside: Path) -> None:
    text = dedent("""        func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {
          %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
          %1 = relay.nn.relu %0 : (tensor<2xf32>) -> tensor<3xf32>
          func.return %1 : tensor<3xf32>
        }
        """)
    (inside / "bad.mlir").write_text(text)
    opt_cmd("bad.mlir").refused(
        "bad.mlir:3:3\n", "%1 = relay.nn.relu", "does not verify: relay.nn.relu: result type"
    )
    (inside / "chunks.mlir").write_text(f"func.func private @g()\n// -----\n{text}")
    assert "chunks.mlir:5:3\n" in opt_cmd("chunks.mlir", "--split-input-file").err


class Breaker(ModulePass):
    """Gives the results of activations a shape that they do not have."""

    name = "breaker"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if isinstance(each, ReluOp):
                Rewriter.replace_value_with_new_type(each.result, TensorType(f32, [7]))


def test_opt_names_the_pass_and_the_operation_that_does_not_verify(
    opt_cmd: Command, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register = XRelayOptMain.register_all_passes

    def with_breaker(tool: XRelayOptMain) -> None:
        register(tool)
        tool.register_pass("breaker", lambda: Breaker)

    monkeypatch.setattr(XRelayOptMain, "register_all_passes", with_breaker)
    result = opt_cmd("add.mlir", "-p", "infer-type,breaker")
    result.refused(
        "pass 'breaker' leaves a program that is not valid: ",
        "relay.nn.relu: result type is tensor<7xf32>",
        '\n  %0 = "relay.nn.relu"',
        '\n  in func.func "main"',
        code=FAILED,
    )


@pytest.mark.parametrize(
    ("passes", "reason"),
    [
        ("fuse-op", "there is no pass 'fuse-op'; did you mean 'fuse-ops'?"),
        ("fuse-ops,Infer-Type", "there is no pass 'Infer-Type'; did you mean 'infer-type'?"),
        ("qqqqqq", "there is no pass 'qqqqqq'\n"),
    ],
)
def test_opt_knows_what_pass_was_meant(
    opt_cmd: Command, inside: Path, passes: str, reason: str
) -> None:
    opt_cmd("add.mlir", "-p", passes).refused(reason)


def test_opt_prints_between_the_steps_of_a_pipeline(opt_cmd: Command, inside: Path) -> None:
    result = opt_cmd("add.mlir", "-p", "cpu-pipeline,fuse-ops", "--print-between-passes")
    shown = re.findall(r"^IR after ([\w-]+):$", result.out, re.MULTILINE)
    assert shown == [each.name for each in cpu_pipeline()]


def test_opt_pass_that_fails(opt_cmd: Command, inside: Path, program: str) -> None:
    (inside / "dynamic.mlir").write_text(program.replace("2x4", "?x4"))
    result = opt_cmd("dynamic.mlir", "-p", "convert-relay-to-kernels")
    assert result.code in (FAILED, BAD_INPUT)
    assert result.err.startswith("xrelay-opt: error: ")


def test_opt_prints_diagnostics_for_tests(opt_cmd: Command, inside: Path) -> None:
    (inside / "bad.mlir").write_text(
        dedent("""\
        func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {
          %0 = relay.nn.relu %x : (tensor<2xf32>) -> tensor<3xf32>
          func.return %0 : tensor<3xf32>
        }
        """)
    )
    result = opt_cmd("bad.mlir", "--verify-diagnostics")
    assert result.code == 0
    assert "tensor<3xf32>" in result.out
    assert "relay.fused" in opt_cmd("add.mlir", "-p", "fuse-ops", "--verify-diagnostics").out


def test_floats_without_decimals_are_read_as_they_are_printed(tmp_path: Path) -> None:
    """xDSL prints infinities, NaN and large whole numbers as their bits."""
    values = np.array([1234567, np.inf, -np.inf, np.nan, 1.5, -0.0, 2.0**100], np.float64)
    path = tmp_path / "constants.mlir"
    for dtype in (np.float16, np.float32, np.float64):
        with np.errstate(over="ignore"):
            array = values.astype(dtype)
        for constant in (array, array[:1], np.full((2, 2), np.inf, dtype)):
            path.write_text(str(constant_op(constant)))
            (op,) = read_mlir(path).ops
            assert isinstance(op, ConstantOp)
            np.testing.assert_array_equal(constant_array(op), constant)


def test_bits_of_floats_beside_signs_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "constants.mlir"
    path.write_text(
        """%c = relay.constant dense<[ // a > b, 0x1
          - 1.5, 0x7F800000, 2, 0x80000000]> : tensor<4xf32>"""
    )
    (op,) = read_mlir(path).ops
    assert isinstance(op, ConstantOp)
    np.testing.assert_array_equal(constant_array(op), np.array([-1.5, np.inf, 2, -0.0], "f4"))
    assert np.signbit(constant_array(op)[3])


def test_bits_with_a_sign_are_refused(opt_cmd: Command, tmp_path: Path) -> None:
    """As in MLIR."""
    (tmp_path / "a.mlir").write_text("%c = relay.constant dense<-0x1> : tensor<f32>")
    opt_cmd(tmp_path / "a.mlir").refused("'-0x1' has a sign, expected bits of f32")


def test_a_float_of_too_many_bits_is_refused(opt_cmd: Command, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text("%c = relay.constant dense<0x17F800000> : tensor<f32>")
    opt_cmd(tmp_path / "a.mlir").refused("0x17F800000 has more bits than f32")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("max-dept=3", "pass 'fuse-ops' has no option 'max-dept'; did you mean 'max-depth'?"),
        ("max-depth=abc", "option 'max-depth' is 'abc', expected a whole number"),
        ("max-depth=1,2", "option 'max-depth' is '1,2', expected a whole number"),
        ("explain=3", "option 'explain' is '3', expected true or false"),
        ("explain", "option 'explain' is given without a value, expected true or false"),
    ],
)
def test_opt_refuses_options_of_passes(
    opt_cmd: Command, inside: Path, options: str, reason: str
) -> None:
    opt_cmd("add.mlir", "-p", f"fuse-ops{{{options}}}").refused(reason)
