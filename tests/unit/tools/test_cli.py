"""The command `xrelay`, in this process: what it prints, writes and returns."""

import ctypes
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from commands.runs import Command, MakeModel, Snapshot
from engines.needed import CC, needs_cc
from onnx import helper

import xrelay
from xrelay.runtime.signature import TensorSpec
from xrelay.tools import arguments, cli, compile_model
from xrelay.tools.errors import BAD_INPUT
from xrelay.tools.run_model import random_array

# -- help and usage ---------------------------------------------------------------------------


def test_help_lists_the_commands_with_examples(cmd: Command) -> None:
    result = cmd("--help")
    assert result.code == 0
    for word in (*cli.COMMANDS, "examples:", "exit codes: 0 fine, 1 wrong result"):
        assert word in result.out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_has_examples_that_parse(cmd: Command, name: str) -> None:
    result = cmd(name, "--help")
    assert result.code == 0
    examples = [
        line.split("  ")[0].split()
        for line in map(str.strip, result.out.splitlines())
        if line.startswith(f"xrelay {name} ")
    ]
    assert len(examples) >= 2
    for example in examples:
        assert cli.build_parser().parse_args(example[1:]).command == name


def test_version(cmd: Command) -> None:
    result = cmd("--version")
    assert result.code == 0
    assert result.out.startswith("xrelay 0.")


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["run"], ["compile", "m.onnx"], ["run", "m.onnx", "--what"]]
)
def test_bad_usage(cmd: Command, arguments: list[str]) -> None:
    result = cmd(*arguments)
    assert result.code == BAD_INPUT
    assert "usage: xrelay" in result.err


@pytest.mark.slow
def test_commands_are_installed(folder: Path) -> None:
    """One run through the installed script, as people start it."""
    script = Path(sys.executable).with_name("xrelay")
    done = subprocess.run(
        [script, "run", "missing.onnx"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == BAD_INPUT
    assert done.stderr == (
        "xrelay run: error: cannot read model 'missing.onnx': there is no such file\n"
    )


@pytest.mark.slow
def test_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    """`xrelay explain model | head -n 1`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "xrelay.tools.cli", "explain", folder / "add.mlir"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.stderr == b""


# -- run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a,b", "c"], ["a", "b", "c"]),
        (["a:nn.conv2d,nn.bias_add", "b"], ["a:nn.conv2d,nn.bias_add", "b"]),
        (["a,b:nn.conv2d,nn.bias_add"], ["a", "b:nn.conv2d,nn.bias_add"]),
        (["simulated:a:b.toml"], ["simulated:a:b.toml"]),
        (["a,"], ["a", ""]),
    ],
)
def test_lists_of_backends(given: list[str], expected: list[str]) -> None:
    assert arguments.backends(given) == expected


def test_run_with_several_backends(cmd: Command, folder: Path) -> None:
    result = cmd("run", folder / "conv.onnx", "--backend", "numpy,c")
    assert result.code == 0
    assert "later ones are faster)" in result.out
    result = cmd("partition", folder / "conv.onnx", "--backend", "nump,c")
    result.refused("there is no backend 'nump'", "; did you mean 'numpy'?")


def test_run_with_random_inputs(cmd: Command, folder: Path) -> None:
    result = cmd("run", folder / "conv.onnx")
    assert (result.code, result.err) == (0, "")
    assert "[1, 8, 8, 8]" in result.out
    assert re.search(r"^first run: .* --profile measures them", result.out, re.MULTILINE)
    again, other = (cmd("run", folder / "conv.onnx", "--seed", seed) for seed in (0, 1))
    rows = [
        next(line for line in each.out.splitlines() if "[1, 8, 8, 8]" in line)
        for each in (result, again, other)
    ]
    assert rows[0] == rows[1] != rows[2]


def test_random_floating_point() -> None:
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        values = random_array(TensorSpec("x", (100,), np.dtype(dtype)), 0)
        assert values.dtype == dtype and (values < 0).any() and (values % 1 != 0).any()


def test_run_reads_and_writes_arrays(cmd: Command, folder: Path) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4) - 4
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", np.ones_like(x))
    result = cmd(
        *("run", folder / "add.mlir", "--input", f"x={folder / 'x.npy'}"),
        *("--input", f"y={folder / 'y.npy'}", "--output-dir", folder / "deep" / "results"),
    )
    assert (result.code, result.err) == (0, "")
    found = np.load(folder / "deep" / "results" / "output0.npy")
    np.testing.assert_array_equal(found, np.maximum(x + 1, 0))


def test_output_names_become_file_names(cmd: Command, folder: Path, model_of: MakeModel) -> None:
    """A name in a model cannot lead out of the folder."""
    nodes = [helper.make_node("Relu", ["x"], ["../out:0"])]
    onnx.save(model_of(nodes, {"x": (np.float32, [2])}, ["../out:0"]), folder / "odd.onnx")
    assert cmd("run", folder / "odd.onnx", "--output-dir", folder / "results").code == 0
    assert [path.name for path in (folder / "results").iterdir()] == [".._out_0.npy"]
    shutil.rmtree(folder / "results")


def test_outputs_that_would_share_a_file_are_refused(
    cmd: Command, folder: Path, files: Snapshot, model_of: MakeModel
) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a:0"]), helper.make_node("Neg", ["x"], ["a/0"])]
    onnx.save(model_of(nodes, {"x": (np.float32, [2])}, ["a:0", "a/0"]), folder / "odd.onnx")
    before = files(folder)
    result = cmd("run", folder / "odd.onnx", "--output-dir", folder / "results")
    result.refused("outputs 'a:0' and 'a/0' would both be written as a_0.npy")
    assert files(folder) == before


@pytest.mark.parametrize(
    ("shapes", "shown"),
    [(["x=2,3,8,8"], "[2, 8, 8, 8]"), (["x=1,3,5,5"], "[1, 8, 5, 5]")],
)
def test_shapes_fix_symbolic_dimensions(
    cmd: Command, folder: Path, shapes: list[str], shown: str
) -> None:
    options = [word for shape in shapes for word in ("--shape", shape)]
    result = cmd("run", folder / "symbolic.onnx", *options, "--verify")
    assert result.code == 0
    assert shown in result.out


# -- explain ----------------------------------------------------------------------------------


def test_explain(cmd: Command, folder: Path) -> None:
    result = cmd("explain", folder / "conv.onnx")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == 'func.func "main": 3 operators in 1 fused function'
    for part in ("group 0", "nn.conv2d", "anchor", "nn.bias_add", "nn.relu", "out_ewise_fusable"):
        assert part in result.out
    assert "'relu_1' -> tensor<1x8x8x8xf32>" in lines[2]
    assert lines[3].endswith("[out_ewise_fusable, anchor]  conv_1")


def test_explain_gives_the_rule_of_each_border(cmd: Command, folder: Path) -> None:
    result = cmd("explain", folder / "add.mlir", "--opt-level", 0)
    assert result.code == 0
    assert "ends before nn.relu" in result.out
    assert ": rule " in result.out


def test_explain_has_a_limit(cmd: Command, folder: Path) -> None:
    result = cmd("explain", folder / "conv.onnx", "--opt-level", 0, "--limit", 1)
    assert "group 0" in result.out
    assert "group 1" not in result.out
    assert "… 2 more groups" in result.out
    cmd("explain", folder / "conv.onnx", "--limit", 0).refused("--limit is 0")


# -- compile ----------------------------------------------------------------------------------

STAGES = {
    "import": ["relay.nn.conv2d", "relay.nn.relu"],
    "fuse-ops": ["relay.fused", "relay.nn.conv2d", '#relay.blob<"'],
    "convert-relay-to-kernels": ["func.func", "scf.for", "xrelay.entry"],
    "convert-kernels-to-llvm": ["llvm.func", "llvm.cond_br"],
}


@pytest.mark.parametrize("stage", STAGES)
def test_emit_after(cmd: Command, folder: Path, stage: str) -> None:
    output = folder / "out.mlir"
    result = cmd("compile", folder / "conv.onnx", "-o", output, "--emit-after", stage)
    assert (result.code, result.out, result.err) == (0, "", "")
    text = output.read_text()
    for part in STAGES[stage]:
        assert part in text
    assert ("relay.fused" in text) == (stage == "fuse-ops")


def test_every_stage_can_be_written(cmd: Command, folder: Path) -> None:
    assert set(STAGES) <= set(compile_model.STAGES)
    for stage in compile_model.STAGES:
        output = folder / f"{stage}.mlir"
        precision = {"reduce-precision": "bf16", "round-block-data": "int8"}.get(stage, "f32")
        options = ["-o", output, "--emit-after", stage, "--precision", precision]
        assert cmd("compile", folder / "conv.onnx", *options).code == 0
        assert output.stat().st_size > 100


def test_mlir_is_fused_by_default(cmd: Command, folder: Path) -> None:
    assert cmd("compile", folder / "conv.onnx", "-o", folder / "out.mlir").code == 0
    assert "relay.fused" in (folder / "out.mlir").read_text()


@pytest.mark.parametrize("stage", ["import", "fuse-ops"])
def test_program_and_weights_make_the_round_trip(
    cmd: Command, folder: Path, stage: str, files: Snapshot
) -> None:
    program = folder / "out.mlir"
    assert cmd("compile", folder / "conv.onnx", "-o", program, "--emit-after", stage).code == 0
    assert {"out.mlir", "out.mlir.weights.npz"} <= files(folder).keys()
    assert len(program.read_text()) < 2000, "the weights are in the text"
    for model, results in (("conv.onnx", "a"), ("out.mlir", "b")):
        assert cmd("run", folder / model, "--output-dir", folder / results).code == 0
    found, expected = (np.load(folder / results / "y.npy") for results in "ba")
    np.testing.assert_array_equal(found, expected)


def test_compile_to_llvm_ir(cmd: Command, folder: Path) -> None:
    assert cmd("compile", folder / "conv.onnx", "-o", folder / "out.ll").code == 0
    text = (folder / "out.ll").read_text()
    assert "define void @" in text.replace('"', "")
    assert "conv_run" in text
    model = xrelay.compile(folder / "conv.onnx")
    assert text == model.llvm_ir
    assert (folder / "out.ll.weights").stat().st_size == model.signature.constant_bytes


def test_named_target_reaches_the_code(cmd: Command, folder: Path) -> None:
    texts: list[str] = []
    for target in ("x86-64", "x86-64-v3", "x86-64-v4"):
        output = folder / f"{target}.ll"
        assert cmd("compile", folder / "conv.onnx", "-o", output, "--target", target).code == 0
        texts.append(output.read_text())
    assert ["<4 x float>" in texts[0], "<8 x float>" in texts[1]] == [True, True]
    assert "<16 x float>" not in texts[1]


C_PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include "conv.h"

int main(void) {
  static float x[3 * 8 * 8], y[8 * 8 * 8];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  for (int i = 0; i < 3 * 8 * 8; i++) x[i] = (float)(i % 7) - 3.0f;
  void *workspace = aligned_alloc(64, (CONV_WORKSPACE_BYTES + 64) / 64 * 64);
  conv_run(inputs, outputs, conv_constants, workspace);
  for (int i = 0; i < 8 * 8 * 8; i++) printf("%.9g\\n", y[i]);
  free(workspace);
  return 0;
}
"""


@needs_cc
def test_object_file_links_into_a_c_program(cmd: Command, folder: Path) -> None:
    assert CC is not None
    model = xrelay.compile(folder / "conv.onnx")
    assert cmd("compile", folder / "conv.onnx", "-o", folder / "conv.o").code == 0
    (folder / "main.c").write_text(C_PROGRAM)
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([CC, *strict, "main.c", "conv.o", "-lm", "-o", "main"], cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    x = (np.arange(3 * 8 * 8) % 7 - 3).astype(np.float32).reshape(1, 3, 8, 8)
    expected = model.run({"x": x})["y"]
    assert np.unique(expected).size > 50
    np.testing.assert_array_equal(np.array(done.stdout.split(), np.float32), expected.ravel())


LOADER = """\
import sys
import numpy as np
import xrelay
model = xrelay.load(sys.argv[1])
np.save(sys.argv[3], model.run({"x": np.load(sys.argv[2])})["y"])
"""


@needs_cc
def test_shared_library_runs_in_a_fresh_process(cmd: Command, folder: Path) -> None:
    library = folder / "out.so"
    assert cmd("compile", folder / "conv.onnx", "-o", library).code == 0
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.save(folder / "x.npy", x)
    expected = xrelay.compile(folder / "conv.onnx").run({"x": x})["y"]
    subprocess.run(
        [sys.executable, "-c", LOADER, library, folder / "x.npy", folder / "y.npy"], check=True
    )
    np.testing.assert_array_equal(np.load(folder / "y.npy"), expected)
    result = cmd("run", library, "--input", f"x={folder / 'x.npy'}", "--output-dir", folder / "r")
    assert result.code == 0
    np.testing.assert_array_equal(np.load(folder / "r" / "y.npy"), expected)


@needs_cc
def test_shared_library_exports_its_interface_only(cmd: Command, folder: Path) -> None:
    assert cmd("compile", folder / "conv.onnx", "-o", folder / "out.so").code == 0
    library = ctypes.CDLL(str(folder / "out.so"))
    for name in ("conv_run", "conv_constants", "conv_metadata", "xrelay_metadata"):
        assert hasattr(library, name)
    header = (folder / "out.h").read_text()
    assert "void conv_run(const void *const *inputs, void *const *outputs," in header


@needs_cc
@pytest.mark.parametrize("name", ["xrelay", "3 -strange näme", "int"])
def test_any_file_name_makes_a_library(cmd: Command, folder: Path, name: str) -> None:
    shutil.copy(folder / "conv.onnx", folder / f"{name}.onnx")
    assert cmd("compile", folder / f"{name}.onnx", "-o", folder / "out.so").code == 0
    ran = cmd("run", folder / "out.so")
    assert ran.code == 0
    assert "(later ones are faster)" in ran.out, "no profile is offered of what is compiled"


@needs_cc
def test_strange_tensor_names_keep_the_header_whole(
    cmd: Command, folder: Path, model_of: MakeModel
) -> None:
    assert CC is not None
    name = '*/ #error "oh" /*\n'
    nodes = [helper.make_node("Relu", [name], ["y"])]
    onnx.save(model_of(nodes, {name: (np.float32, [2])}, ["y"]), folder / "odd.onnx")
    assert cmd("compile", folder / "odd.onnx", "-o", folder / "odd.o").code == 0
    subprocess.run([CC, "-Werror", "-fsyntax-only", folder / "odd.h"], check=True)


def test_outputs_have_the_usual_permissions(cmd: Command, folder: Path) -> None:
    old = os.umask(0o027)
    try:
        assert cmd("compile", folder / "conv.onnx", "-o", folder / "out.ll").code == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE((folder / "out.ll").stat().st_mode) == 0o640


def test_an_output_is_written_through_a_link(cmd: Command, folder: Path) -> None:
    (folder / "real.ll").write_text("old")
    (folder / "link.ll").symlink_to("real.ll")
    assert cmd("compile", folder / "conv.onnx", "-o", folder / "link.ll").code == 0
    assert (folder / "link.ll").is_symlink()
    assert "conv_run" in (folder / "real.ll").read_text()


# -- threads and profiles ---------------------------------------------------------------------


def test_threads_give_the_same_bits(cmd: Command, folder: Path) -> None:
    for threads in (1, 2, 3):
        result = cmd(
            *("run", folder / "conv.onnx", "--threads", threads, "--output-dir"),
            folder / str(threads),
        )
        assert result.code == 0
    arrays = [(folder / str(threads) / "y.npy").read_bytes() for threads in (1, 2, 3)]
    assert arrays[0] == arrays[1] == arrays[2]


@pytest.mark.parametrize("threads", [1, 2])
def test_profile(cmd: Command, folder: Path, threads: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("xrelay.runtime.profile.BUDGET_SECONDS", 0.05)
    result = cmd(
        *("run", folder / "conv.onnx", "--profile", "--threads", threads),
        *("--trace", folder / "trace.json"),
    )
    assert (result.code, result.err) == (0, "")
    for part in ("fused_nn_conv2d", "GFLOP/s", "% of peak", "of the measured peak of"):
        assert part in result.out
    trace = json.loads((folder / "trace.json").read_text())
    steps = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    model = xrelay.compile(folder / "conv.onnx", profile=True)
    assert [event["name"] for event in steps] == [s.name for s in model.signature.steps]
    assert [event["args"]["nodes"] for event in steps] == [["conv_1", "relu_1"]]
    assert "conv_1, relu_1" in result.out
    ends = [event["ts"] + event["dur"] for event in steps]
    assert steps[0]["ts"] == 0
    for event, end in zip(steps[1:], ends, strict=False):
        assert event["ts"] == pytest.approx(end, abs=0.002)
        assert event["dur"] >= 0


def test_trace_that_cannot_be_written(cmd: Command, folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("xrelay.runtime.profile.BUDGET_SECONDS", 0.05)
    result = cmd("run", folder / "add.mlir", "--profile", "--trace", folder / "no" / "trace.json")
    assert result.code == BAD_INPUT
    assert "trace.json': no folder" in result.err
    cmd("run", folder / "add.mlir", "--trace", "t.json").refused("--trace goes with --profile")


# -- ops ----------------------------------------------------------------------------------------


def test_ops_says_what_is_done_with_each_operator(cmd: Command) -> None:
    result = cmd("ops")
    assert result.code == 0
    header, *lines = [line.split("\t") for line in result.out.splitlines()]
    assert header[:3] == ["operator", "kind", "operands"]
    assert {len(cells) for cells in lines} == {len(header)}
    assert "…" not in result.out
    (cells,) = [cells for cells in lines if cells[0] == "nn.conv1d"]
    assert cells[:3] == ["nn.conv1d", "out_ewise_fusable", "data, weight"]
    assert cells[4] == "yes"
    assert cells[6] == "Conv"


def test_ops_of_some_names(cmd: Command) -> None:
    def names(*arguments: str) -> list[str]:
        return [line.partition("\t")[0] for line in cmd("ops", *arguments).out.splitlines()[1:]]

    assert names("nn.conv2d", "relay.add") == ["add", "nn.conv2d"]
    assert all(name.startswith("dyn.") for name in names("dyn.*"))
    assert names("dyn.*", "--unsupported") == []
    cmd("ops", "nn.conv2d", "nn.frob*").refused("no operator is called 'nn.frob*'")
    cmd("ops", "nn.conv2").refused("no operator is called 'nn.conv2'; did you mean 'nn.conv2d'?")


def test_ops_in_a_terminal_is_a_table(cmd: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = cmd("ops", "nn.conv1d", "nn.conv2d")
    assert "│" in result.out
    assert "2 operators, 2 of them with code" in re.sub("\x1b\\[[0-9;]*m", "", result.out)


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    command = [sys.executable, "-m", "xrelay.tools.cli", "ops"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"operator\t")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_ops_lists_what_has_no_code_with_the_reason(cmd: Command) -> None:
    result = cmd("ops", "--unsupported", "--markdown")
    assert result.code == 0
    rows = [line for line in result.out.splitlines() if line.startswith("| ")][2:]
    assert (
        "| apply | opaque | function, args* |  | yes | none: functions and data types are no tensors |  |"
        in rows
    )
    assert all("| none: " in row for row in rows)
    assert not any(row.startswith("| argwhere |") for row in rows)


def test_markdown_of_ops_names_operands_attributes_and_defaults(cmd: Command) -> None:
    rows = cmd("ops", "--markdown").out.splitlines()
    (row,) = [row for row in rows if row.startswith("| nn.leaky_relu |")]
    assert row == (
        "| nn.leaky_relu | elemwise | data | alpha = 2.500000e-01 : f64 | yes | on demand "
        "| GRU, LSTM, LeakyRelu, RNN |"
    )


# -- passes -------------------------------------------------------------------------------------


def test_passes_are_lines_of_a_table(cmd: Command) -> None:
    header, *lines = [line.split("\t") for line in cmd("passes").out.splitlines()]
    assert header[:2] == ["pass", "what it does"]
    assert {len(cells) for cells in lines} == {len(header)}
    names = [cells[0] for cells in lines]
    assert names == sorted(names) and {"fuse-ops", "cpu-pipeline"} <= set(names)


def test_a_named_pass_is_told_whole(cmd: Command) -> None:
    fold, *others = cmd("passes", "fold-const*", "cpu-pipeline").out.split("## ")[:0:-1]
    assert fold.startswith("fold-constant\n") and len(others) == 1
    assert "%1 = relay.constant dense<2.0>" in fold
    assert "\n- `max-bytes=1048576`: Results up to this size are always folded" in fold
    assert "\nParity with TVM's FoldConstant: " in fold
    assert "Runs `to-graph-normal-form`, `expand-functions{strict=true}`, " in others[0]
    cmd("passes", "fuse-op").refused("no pass is called 'fuse-op'; did you mean 'fuse-ops'?")


def test_passes_in_a_terminal_are_a_table(cmd: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "│" in cmd("passes").out


def test_run_verifies_programs_of_tuples(cmd: Command, tmp_path: Path) -> None:
    pair = "tuple<tensor<2xf32>, tuple<tensor<3xf32>>>"
    path = tmp_path / "pairs.mlir"
    path.write_text(
        f"func.func @main(%t: {pair}, %x: tensor<f32>) -> (tensor<2xf32>, {pair}) {{\n"
        f"  %a = relay.tuple_get_item %t[0] : ({pair}) -> tensor<2xf32>\n"
        f"  %b = relay.tuple_get_item %t[1] : ({pair}) -> tuple<tensor<3xf32>>\n"
        "  %c = relay.add %a, %x : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>\n"
        f"  %d = relay.tuple %c, %b : (tensor<2xf32>, tuple<tensor<3xf32>>) -> {pair}\n"
        f"  func.return %a, %d : tensor<2xf32>, {pair}\n}}\n"
    )
    result = cmd("run", path, "--verify", "--no-cache")
    assert result.code == 0, result
    assert result.out.count("agrees with the interpreter") == 3
