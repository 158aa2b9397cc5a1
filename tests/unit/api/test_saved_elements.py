"""Files with programs for many lengths, some of which are elements of inputs."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from engines.needed import needs_cc
from onnx import parser
from onnx_models import model_of

import xrelay
from tests.unit.api.saved_files import AT_A_POSITION, arrays_for, expected, loaded, saved
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model
from xrelay.tools.cli import main

pytestmark = needs_cc


def test_elements_are_stated_with_the_lengths(tmp_path: Path) -> None:
    """Inputs on whose elements sizes depend are none in C; from Python they are given as any other."""
    path = tmp_path / "model.so"
    saved(AT_A_POSITION, path)
    header = (tmp_path / "model.h").read_text()
    assert "int32_t decoder_run(int64_t n, int64_t start_0, int64_t k_0," in header
    assert " *   start_0 ('start[0]'): element 0 of 'start', which is no input here\n" in header
    assert " * inputs[0]: 'x' float32[n][8]\n" in header and "inputs[1]" not in header
    model = loaded(path)
    for n, start, k in ((1, 0, 3), (5, 0, 8), (1, 63, 1), (3, 9, 2)):
        arrays = arrays_for(AT_A_POSITION, {"n": n, "start[0]": start, "k[0]": k})
        found = model.run(arrays)
        for name, wanted in expected(AT_A_POSITION, arrays).items():
            np.testing.assert_allclose(found[name], wanted, 1e-6)
    for n, start, k in ((2, 63, 1), (1, 1, 9), (1, -1, 1)):
        arrays = arrays_for(AT_A_POSITION, {"n": n, "start[0]": start, "k[0]": k})
        told = rf"'n' is {n}, 'start\[0\]' is {start}, 'k\[0\]' is {k}, for which the file of model 'decoder' has no program"
        with pytest.raises(xrelay.ModelError, match=told):
            model.run(arrays)

    with pytest.raises(
        xrelay.ModelError,
        match="elements are given of none; the file of model 'decoder' has programs for",
    ):
        model.specialise({"start": (), "x": (5, 8), "k": (1,)})
    at = {"start": np.array(3), "k": np.array([2])}
    known = {name: xrelay.InputValue.of(each) for name, each in at.items()}
    assert isinstance(model.specialise({"x": (5, 8), **known}), Model)


def test_elements_of_many_inputs(tmp_path: Path) -> None:
    """Some of which show only once others are known; and more of them than there are combinations for."""
    model = model_of(
        """padded (float[b, c] x, int64[1] n, int64[4] p, int64[2] s) => (float[e, f] y) {
            zero = Constant <value_ints = [0]> ()
            some = Slice (x, zero, n, zero)
            wide = Pad (some, p)
            y = Reshape (wide, s)
        }"""
    )
    path, x = tmp_path / "model.so", np.arange(12, dtype=np.float32).reshape(3, 4)
    found = xrelay.compile(model)
    assert isinstance(found, DynamicModel)
    calls = [
        {"x": x, "n": np.array([n]), "p": np.array(p), "s": np.array(s)}
        for n, p, s in (
            *((2, [1, 2, 3, 4], [5, 12]), (1, [2, 1, 5, 3], [16, 4])),
            (3, [4, 3, 2, 1], [8, 9]),
        )
    ]
    found.run(calls[0])
    found.save(path)
    again = loaded(path)
    for given in calls:
        np.testing.assert_array_equal(again.run(given)["y"], expected(model, given)["y"])


def test_elements_that_are_no_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Axes have as many programs as there are axes; of other numbers those that came have one."""
    summed = model_of(
        "model (float[n, m] x, int64[1] a) => (float[i, j] y) { y = ReduceSum (x, a) }"
    )
    onnx.save(summed, tmp_path / "sum.onnx")
    assert main(["compile", str(tmp_path / "sum.onnx"), "-o", str(tmp_path / "sum.so")]) == 0
    capsys.readouterr()
    found, x = loaded(tmp_path / "sum.so"), np.arange(12, dtype=np.float32).reshape(3, 4)
    for axis in (0, 1):
        y = found.run({"x": x[:2], "a": [axis]})["y"]
        np.testing.assert_array_equal(y, x[:2].sum(axis, keepdims=True))
    powers = model_of(
        """model (float[n] x, int64[1] k) => (float[m] y) {
            zero = Constant <value_ints = [0]> ()
            two = Constant <value_ints = [2]> ()
            square = Pow (k, two)
            y = Slice (x, zero, square)
        }"""
    )
    onnx.save(powers, tmp_path / "powers.onnx")
    path = tmp_path / "powers.so"
    assert main(["compile", str(tmp_path / "powers.onnx"), "-o", str(path)]) != 0
    assert "element 'k[0]' takes a program for each number, because" in capsys.readouterr().err
    assert not path.exists()
    model = xrelay.compile(powers)
    assert isinstance(model, DynamicModel)
    x = np.arange(40, dtype=np.float32)
    for number in (2, 3):
        model.run({"x": x, "k": [number]})
    model.save(path)
    for number in (2, 3):
        np.testing.assert_array_equal(
            loaded(path).run({"x": x, "k": [number]})["y"], x[: number**2]
        )
    with pytest.raises(xrelay.ModelError, match=r"'k\[0\]' is 4, for which the file"):
        loaded(path).run({"x": x, "k": [4]})


def test_models_whose_elements_decide(tmp_path: Path) -> None:
    """A shape of as many axes as the model says is lengths, one of any rank is none."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        reshaped (float[a, b] x, int64[2] shape) => (float[c, d] y) { y = Reshape(x, shape) }"""
    )
    found = xrelay.compile(model)
    found.save(tmp_path / "model.so")
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    served = loaded(tmp_path / "model.so").run({"x": x, "shape": [8, 3]})["y"]
    np.testing.assert_array_equal(served, x.reshape(8, 3))
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "rank"
    found = xrelay.compile(model)
    assert isinstance(found, DynamicModel)
    found.run({"x": x, "shape": [8, 3]})
    with pytest.raises(
        xrelay.CompileError, match="no program for each rank or all elements of inputs.*'shape'"
    ):
        found.save(tmp_path / "model.so")
