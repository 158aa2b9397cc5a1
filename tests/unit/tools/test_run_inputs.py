"""Arrays for `xrelay run` that are wrong: the sentence that is said, and nothing is left behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from commands.runs import Command, Snapshot
from onnx import parser

from xrelay.tools import run_model
from xrelay.tools.cli import main


def save_array(path: Path, array: Any) -> None:
    np.save(path, array)


def save_zip(path: Path, array: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, array)


def save_cut_off(path: Path, array: Any) -> None:
    np.save(path, array)
    path.write_bytes(path.read_bytes()[:-3])


def save_text(path: Path, array: Any) -> None:
    path.write_text("1 2 3")


def save_objects(path: Path, array: Any) -> None:
    np.save(path, np.array([{}], object), allow_pickle=True)


def save_broken_header(path: Path, array: Any) -> None:
    np.save(path, array)
    path.write_bytes(path.read_bytes().replace(b"(2, 4)", b"(2, 4("))


X = np.zeros((2, 4), np.float32)


@pytest.mark.parametrize(
    ("save", "array", "parts"),
    [
        (save_array, X[:1], ["input 'x' is float32[1, 4], expected 'x' float32[2, 4]"]),
        (save_array, X.astype(np.float64), ["is float64[2, 4], expected 'x' float32[2, 4]"]),
        (save_array, X.astype(">f4"), ["input 'x' is >f4[2, 4], expected 'x' float32[2, 4]"]),
        (save_array, np.array(["a", "b"]), ["input 'x' is <U1[2], expected"]),
        (save_zip, X, ["'x.npy' is not a .npy file"]),
        (save_cut_off, X, ["'x.npy' is not a .npy file"]),
        (save_text, X, ["'x.npy' is not a .npy file"]),
        (save_objects, X, ["'x.npy' is not a .npy file", "Object arrays"]),
        (save_broken_header, X, ["'x.npy' is not a .npy file: its header is damaged"]),
    ],
)
def test_bad_array(
    cmd: Command,
    inside: Path,
    save: Callable[..., None],
    array: Any,
    parts: list[str],
    files: Snapshot,
) -> None:
    save(inside / "x.npy", array)
    before = files(inside)
    result = cmd("run", "add.mlir", "--input", "x=x.npy", "--output-dir", "out")
    result.refused(*parts)
    assert result.err.count("\n") == 1
    assert files(inside) == before


def test_array_that_is_no_file(cmd: Command, inside: Path) -> None:
    result = cmd("run", "add.mlir", "--input", "x=absent.npy")
    result.refused("'absent.npy': No such file or directory")
    cmd("run", "add.mlir", "--input", "x=.").refused("'.': Is a directory")


def test_unknown_input_name(cmd: Command, inside: Path) -> None:
    np.save(inside / "x.npy", X)
    cmd("run", "add.mlir", "--input", "z=x.npy").refused(
        "unknown input 'z'; the model takes 'x' float32[2, 4], 'y' float32[2, 4]"
    )


@pytest.mark.parametrize("option", ["x", "x=", "=x.npy", ""])
def test_bad_input_option(cmd: Command, inside: Path, option: str) -> None:
    result = cmd("run", "add.mlir", "--input", option)
    result.refused(f"--input is '{option}', expected NAME=FILE.npy")


def test_an_input_is_given_once(cmd: Command, inside: Path) -> None:
    np.save(inside / "x.npy", X)
    result = cmd("run", "add.mlir", "--input", "x=x.npy", "--input", "x=x.npy")
    result.refused("--input names 'x' twice")


def test_tensors_that_do_not_fit_into_memory(
    cmd: Command, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(run_model, "complete_inputs", refuse)
    cmd("run", "add.mlir").refused("not enough memory")


def test_shapes_of_inputs_whose_elements_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The interpreter makes constants of data that decide about sizes; --shape names their dimensions, too."""
    path = tmp_path / "data.onnx"
    onnx.save(
        parser.parse_model(
            """<ir_version: 8, opset_import: ["" : 17]> data (float[n, 4] x, float[c, n] w) => (float[n, 4] y, int64[2, k] z) {
              y = Relu(x)
              z = NonZero(w)
            }"""
        ),
        path,
    )
    command = ["run", str(path), "--shape", "n=3", "--shape", "c=2"]
    for options in ((), ("--interpret",)):
        assert main([*command, *options]) == 0
    assert "[3, 4]" in capsys.readouterr().out
    assert main([*command, "--shape", "d=2", "--interpret"]) == 2
    assert "'d'" in capsys.readouterr().err
