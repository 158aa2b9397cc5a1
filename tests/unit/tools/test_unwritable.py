"""Outputs of `xrelay` that cannot be written, or only into a pipe; what stood there before stays."""

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from commands.runs import Command, MakeModel, Snapshot
from engines.needed import needs_cc
from onnx import helper

from xrelay.tools.errors import BAD_INPUT, FAILED


@pytest.mark.parametrize("suffix", ["ll", "o", "mlir", pytest.param("so", marks=needs_cc)])
class Test_Unwritable:
    def test_missing_folder(self, cmd: Command, inside: Path, suffix: str) -> None:
        result = cmd("compile", "conv.onnx", "-o", f"absent/out.{suffix}")
        result.refused(f"cannot write 'absent/out.{suffix}': no folder 'absent'")

    def test_directory(self, cmd: Command, inside: Path, suffix: str, files: Snapshot) -> None:
        (inside / f"out.{suffix}").mkdir()
        before = files(inside)
        result = cmd("compile", "conv.onnx", "-o", f"out.{suffix}")
        result.refused(f"cannot write 'out.{suffix}': it is a directory")
        assert files(inside) == before

    def test_folder_that_takes_no_files(self, cmd: Command, inside: Path, suffix: str) -> None:
        """/proc refuses files even to the superuser, whom permissions do not stop."""
        if not Path("/proc/self").exists():
            pytest.skip("there is no /proc")
        result = cmd("compile", "conv.onnx", "-o", f"/proc/out.{suffix}")
        result.refused(f"/proc/out.{suffix}'")
        assert result.err.count("\n") == 1

    def test_companion_that_cannot_be_written(
        self, cmd: Command, inside: Path, suffix: str, files: Snapshot
    ) -> None:
        """Header or weights cannot be written: the output is not, either."""
        names = {"ll": "out.ll.weights", "mlir": "out.mlir.weights.npz"}
        (inside / names.get(suffix, "out.h")).mkdir()
        before = files(inside)
        result = cmd("compile", "conv.onnx", "-o", f"out.{suffix}")
        result.refused("Is a directory")
        assert files(inside) == before


OUTPUTS = {
    "compile": ["compile", "add.mlir", "-o", "{}.mlir"],
    "explain": ["explain", "add.mlir", "--plan-json", "{}.json"],
    "view": ["view", "add.mlir", "-o", "{}.dot"],
    "partition": ["partition", "add.mlir", "--backend", "numpy", "--json", "{}.json"],
}


@pytest.mark.parametrize("action", OUTPUTS)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x" * 5000, "File name too long"),
        ("add.mlir/x", "add.mlir"),
        ("pipe", "nobody reads this pipe"),
        ("directory", "directory"),
    ],
)
def test_output_that_is_no_file(
    cmd: Command, inside: Path, files: Snapshot, action: str, name: str, reason: str
) -> None:
    for suffix in ("mlir", "json", "dot"):
        os.mkfifo(inside / f"pipe.{suffix}")
        (inside / f"directory.{suffix}").mkdir()
    before = files(inside)
    result = cmd(*(word.format(name) for word in OUTPUTS[action]))
    assert result.code == BAD_INPUT
    assert result.err.count("\n") == 1 and reason in result.err
    assert files(inside) == before


def test_names_with_nul(cmd: Command, opt_cmd: Command, inside: Path) -> None:
    for arguments in OUTPUTS.values():
        cmd(*(word.format("a\0") for word in arguments)).refused("has a NUL character")
    cmd("run", "a\0.onnx").refused("'a\\x00.onnx' has a NUL character")
    opt_cmd("add.mlir", "-o", "a\0.mlir").refused("has a NUL character")


def test_output_into_a_pipe(cmd: Command, inside: Path) -> None:
    os.mkfifo(inside / "pipe.json")
    with open(os.open(inside / "pipe.json", os.O_RDONLY | os.O_NONBLOCK)) as reader:
        # The text is shorter than what a pipe holds.
        assert cmd("explain", "add.mlir", "--plan-json", "pipe.json").code == 0
        assert json.load(reader)["blocks"]


def test_output_into_a_pipe_behind_a_link(cmd: Command, inside: Path) -> None:
    """As /dev/stdout is: the link leads to no path."""
    read, write = os.pipe()
    (inside / "link.json").symlink_to(f"/proc/self/fd/{write}")
    with open(read) as reader:
        assert cmd("explain", "add.mlir", "--plan-json", "link.json").code == 0
        os.close(write)
        assert json.load(reader)["blocks"]


@pytest.mark.parametrize("output", ["out", "out.txt", "out.pb", "", "."])
def test_unknown_suffix(cmd: Command, inside: Path, output: str) -> None:
    result = cmd("compile", "conv.onnx", "-o", output)
    result.refused("expected a name that ends with .mlir, .onnx, .ll, .o, .so")


def test_emit_after_needs_text_and_a_known_stage(cmd: Command, inside: Path) -> None:
    result = cmd("compile", "conv.onnx", "-o", "out.so", "--emit-after", "fuse-ops")
    result.refused("--emit-after goes with an output that ends with .mlir")
    result = cmd("compile", "conv.onnx", "-o", "out.mlir", "--emit-after", "lunch")
    result.refused("--emit-after is 'lunch', expected import, ", "fuse-ops")


def test_output_folder_is_a_file(cmd: Command, inside: Path) -> None:
    result = cmd("run", "add.mlir", "--output-dir", "conv.onnx")
    result.refused("cannot write into 'conv.onnx': it is not a directory")
    result = cmd("run", "add.mlir", "--output-dir", "conv.onnx/deeper")
    result.refused("conv.onnx")


def test_outputs_are_written_together(
    cmd: Command, inside: Path, files: Snapshot, model_of: MakeModel
) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    onnx.save(model_of(nodes, {"x": (np.float32, [2])}, ["a", "b"]), inside / "two.onnx")
    (inside / "out" / "b.npy").mkdir(parents=True)
    before = files(inside)
    result = cmd("run", "two.onnx", "--output-dir", "out")
    result.refused("b.npy': Is a directory")
    assert files(inside) == before


def test_a_name_that_the_checker_of_onnx_does_not_take(cmd: Command, inside: Path) -> None:
    name = os.fsdecode(b"\xff.onnx")
    cmd("compile", "conv.onnx", "-o", name).refused("ONNX's checker takes UTF-8", code=FAILED)
