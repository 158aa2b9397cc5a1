"""Bindings: outputs that grow and are returned twice, and inputs whose elements decide about lengths."""

import numpy as np
import pytest
from onnx import parser

import xrelay

OTHER, PRESENT = "float[total, 3] other", "float[total, 3] present"
CONCAT = "Concat <axis = 0> (past, new)"


@pytest.mark.parametrize(
    "body",
    [
        f"({OTHER}, {PRESENT}) {{ other = {CONCAT} present = {CONCAT} }}",
        f"({OTHER}, {PRESENT}) {{ other = {CONCAT} present = Identity (other) }}",
        f"({PRESENT}, {OTHER}) {{ present = {CONCAT} other = Identity (present) }}",
    ],
)
@pytest.mark.parametrize("columns", [3, 5])
def test_the_same_value_in_two_outputs(body: str, columns: int) -> None:
    """The value is computed where it grows, and the other output, row-major or a part, is a copy of it."""
    header = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[past, 3] past, float[step, 3] new) => '
    )
    model = xrelay.compile(parser.parse_model(header + body), cache=False)
    old = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    cache = np.full((9, 3), 7, np.float32)
    cache[:4] = old
    new = np.arange(6, dtype=np.float32).reshape(2, 3)
    other = np.full((6, columns), 7, np.float32)
    outputs = {"present": cache[:6], "other": other[:, :3]}
    model.bind({"past": cache[:4], "new": new}, outputs).run()
    expected = np.concatenate([old, new])
    assert np.array_equal(cache, [*expected, *np.full((3, 3), 7)])
    assert np.array_equal(other[:, :3], expected)
    assert (other[:, 3:] == 7).all()


def test_a_part_whose_elements_decide_about_lengths() -> None:
    """Such an input is read by `bind`; the program does not take it, wherever it lies."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[a, b] x, int64[2, 2] amounts) => (float[c, d] y) {
            one = Constant <value_ints = [-1]> ()
            flat = Reshape (amounts, one)
            y = Pad (x, flat)
        }"""
    model = xrelay.compile(parser.parse_model(text), cache=False)
    x = np.arange(36, dtype=np.float32).reshape(3, 12)[:, :4]
    amounts = np.full((2, 9), 100)
    amounts[:, :2] = [[1, 2], [3, 0]]
    y = np.full((7, 10), 7, np.float32)
    model.bind({"x": x, "amounts": amounts[:, :2]}, {"y": y[:, :6]}).run()
    assert np.array_equal(y[:, :6], np.pad(x, [(1, 3), (2, 0)]))
    assert (y[:, 6:] == 7).all()


def test_an_output_over_an_input_whose_elements_decide_about_lengths() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[a, b] x, int64[n] shape, int64[k] more) => (float[c, d] y, int64[m] all) {
            y = Reshape (x, shape)
            all = Concat <axis = 0> (shape, more)
        }"""
    model = xrelay.compile(parser.parse_model(text), cache=False)
    cache = np.array([2, 6, 0, 0])
    inputs = {"x": np.ones((3, 4), np.float32), "shape": cache[:2], "more": np.array([5])}
    outputs = {"y": np.empty((2, 6), np.float32), "all": cache[:3]}
    with pytest.raises(
        xrelay.ModelError, match="'shape' and output 'all' share memory, but the el"
    ):
        model.bind(inputs, outputs)
    outputs["all"] = np.empty(3, np.int64)
    model.bind(inputs, outputs).run()
    assert list(outputs["all"]) == [2, 6, 5]


def test_an_output_of_another_rank_over_an_input() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[n, 4] x, float[k, 4] more) => (float[t] y) {
            one = Constant <value_ints = [-1]> ()
            all = Concat <axis = 0> (x, more)
            y = Reshape (all, one)
        }"""
    model = xrelay.compile(parser.parse_model(text), cache=False)
    cache = np.zeros((10, 4), np.float32)
    with pytest.raises(xrelay.ModelError, match="and are of rank 2 and 1; expected an output that"):
        model.bind([cache[:5], np.ones((2, 4), np.float32)], [cache.reshape(-1)[:28]])
