"""Inputs on whose elements sizes depend: one program serves all of them, and computes what onnxruntime does."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx_models import model_of
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from tests.execution.open_lengths.cases import (
    Make,
    Random,
    Sizes,
    at_opset,
    check,
    reals,
    sizes,
    written,
)
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.staged import StagedModel


def elements(*names: str, dtype: type = np.int64) -> Make:
    """Lengths as the elements of an input."""

    def make(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
        return np.array([sizes.get(name, name) for name in names], dtype).reshape(shape)

    return make


CASES = written(
    {
        "number of a TopK": (
            """(float[b, n] x, int64[1] k) => (float[b, m] y, int64[b, m] i) {
                y, i = TopK (x, k)
            }""",
            {"k": elements("k")},
            sizes("b n k", (2, 20, 5), (3, 33, 33), (1, 5000, 100), (4, 7, 1), (2, 9, 8)),
            *(20, {}),
        ),
        "Reshape": (
            """(float[n, 6] x, int64[3] s) => (float[a, b, c] y) {
                z = Reshape (x, s)
                y = Exp (z)
            }""",
            {"s": elements("a", "b", "c")},
            sizes("n a b c", (4, 2, 3, 4), (10, 5, 4, 3), (7, 1, 6, 7), (2, 12, 1, 1)),
            *(20, {}),
        ),
        "a table read from a position on": (
            """(float[1, n, 8] x, int64 start) => (float[1, n, 8] y) {
                first = Unsqueeze (start, nought)
                count = Shape <start = 1, end = 2> (x)
                last = Add (first, count)
                rows = Slice (w, first, last, nought)
                y = Add (x, rows)
            }""",
            {"start": elements("p")},
            sizes("n p", (5, 0), (1, 5), (1, 6), (3, 7), (1, 127), (40, 20)),
            *(20, {"w": (128, 8)}),
        ),
        "the end of a range, in 32 bits, and as a number": (
            """(float[n] x, int32 k) => (float[k] y, float[n] z) {
                start = Constant <value = int32 {2}> ()
                step = Constant <value = int32 {3}> ()
                found = Range (start, k, step)
                y = Cast <to = 1> (found)
                real = Cast <to = 1> (k)
                z = Mul (x, real)
            }""",
            {"k": elements("k", dtype=np.int32)},
            sizes("n k", (3, 20), (7, 3), (1, 1000), (40, 33)),
            *(20, {}),
        ),
        "sizes of a Resize": (
            """(float[1, 2, h, w] x, int64[4] s) => (float[1, 2, a, b] y) {
                y = Resize <mode = "linear"> (x, , , s)
            }""",
            {"s": lambda random, sizes, shape: np.array([1, 2, sizes["a"], sizes["b"]])},
            sizes("h w a b", (9, 7, 20, 30), (8, 8, 16, 16), (20, 30, 9, 7), (5, 6, 11, 12)),
            *(20, {}),
        ),
        "pads": (
            """(float[n, 5] x, int64[4] p) => (float[a, b] y) {
                y = Pad (x, p)
            }""",
            {"p": elements("i", "j", "k", "l")},
            sizes("n i j k l", (4, 1, 2, 3, 4), (9, 0, 1, 0, 7), (3, 0, 0, 0, 0), (1, 30, 2, 4, 9)),
            *(20, {}),
        ),
        "pads of images": (
            """(float[b, c, h, w] x, int64[8] p) => (float[d, e, f, g] y) {
                wide = Pad (x, p)
                y = Abs (wide)
            }""",
            {"p": elements("i", "j", "k", "l", "i", "j", "k", "m")},
            sizes(
                "b c h w i j k l m",
                *((1, 3, 8, 9, 0, 0, 1, 1, 1), (2, 3, 9, 8, 0, 0, 2, 3, 1)),
                *((1, 2, 5, 4, 1, 2, 0, 3, 5), (3, 1, 20, 7, 0, 1, 4, 0, 0)),
            ),
            *(20, {}),
        ),
        "an Expand, a Tile and a ConstantOfShape": (
            """(float[n, 1] x, int64[2] s) => (float[n, m] y, float[a, b] z, float[n, m] c) {
                y = Expand (x, s)
                z = Tile (y, s)
                c = ConstantOfShape (s)
            }""",
            {"s": elements("n", "m")},
            sizes("n m", (4, 7), (9, 20), (33, 2), (2, 16)),
            *(20, {}),
        ),
        "the depth of a OneHot": (
            """(int64[n] x, int64 d) => (float[n, d] y) {
                ends = Constant <value = float[2] {-1.5, 2.5}> ()
                y = OneHot (x, d, ends)
            }""",
            {"d": elements("d"), "x": lambda random, sizes, shape: random.integers(-3, 9, shape)},
            sizes("n d", (4, 7), (9, 20), (33, 2), (2, 16)),
            *(20, {}),
        ),
        "parts of a Split": (
            """(float[n, 3] x, int64[2] s) => (float[a, 3] y, float[b, 3] z) {
                y, z = Split <axis = 0> (x, s)
            }""",
            {"s": elements("a", "b")},
            sizes("n a b", (9, 4, 5), (20, 1, 19), (33, 30, 3)),
            *(20, {}),
        ),
        "what is computed of two inputs and a length": (
            """(float[h, w] x, int64[2] t) => (float[a, b] y) {
                s = Shape (x)
                rest = Sub (s, t)
                half = Constant <value_ints = [2]> ()
                first = Div (rest, half)
                last = Add (first, t)
                y = Slice (x, first, last)
            }""",
            {"t": elements("a", "b")},
            sizes("h w a b", (9, 11, 4, 5), (20, 22, 8, 7), (8, 9, 8, 9)),
            *(20, {}),
        ),
    }
)


@pytest.mark.parametrize("name", CASES)
def test_elements_are_open(name: str):
    check(CASES[name])


SLICED = at_opset(
    20,
    model_of(
        """model (float[n, 3] x, int64[1] first, int64[1] last, int64[1] step) => (float[m, 3] y) {
            y = Slice (x, first, last, nought, step)
        }"""
    ),
)


@pytest.fixture(scope="module")
def sliced() -> DynamicModel:
    model = xrelay.compile(SLICED, cache=False)
    assert isinstance(model, DynamicModel)
    return model


ENDS = st.one_of(st.integers(-12, 12), st.sampled_from([2**31 - 1, 2**31, -(2**31), 2**63 - 1]))


@given(st.integers(0, 9), ENDS, ENDS, st.sampled_from([1, 2, -1, -3]))
def test_any_elements(sliced: DynamicModel, n: int, first: int, last: int, step: int):
    """Also negative ones, such as are beyond all lengths, and 0."""
    x = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
    found = sliced.run({"x": x, "first": [first], "last": [last], "step": [step]})["y"]
    np.testing.assert_array_equal(found, x[first:last:step])


def test_zeros_of_a_reshape_say_what_to_copy():
    """Those of a program for other numbers do not, as nothing else is as empty."""
    text = "model (float[n, 6] x, int64[2] s) => (float[a, b] y) { y = Reshape (x, s) }"
    model = xrelay.compile(model_of(text), cache=False)
    for n, shape, wanted in (
        *((4, [4, 6], (4, 6)), (4, [8, 3], (8, 3)), (0, [0, 0], (0, 6)), (4, [0, 0], (4, 6))),
        *((0, [0, 6], (0, 6)), (5, [0, 6], (5, 6)), (5, [6, 5], (6, 5)), (3, [0, -1], (3, 6))),
    ):
        x = np.arange(6.0 * n, dtype=np.float32).reshape(n, 6)
        np.testing.assert_array_equal(model.run({"x": x, "s": shape})["y"], x.reshape(wanted))


def test_arithmetic_of_32_bits():
    text = """model (float[n, 3] x, int32[1] p, int32[1] q) => (float[m, 3] y) {
        one = Constant <value = int32[1] {1}> ()
        after = Add (p, one)
        last = Mul (after, q)
        axis = Constant <value = int32[1] {0}> ()
        y = Slice (x, p, last, axis)
    }"""
    model = xrelay.compile(model_of(text), cache=False)
    x = np.arange(300, dtype=np.float32).reshape(100, 3)
    for p, q in ((3, 4), (4, 7), (9, 2), (1, 30)):
        given = {"x": x, "p": np.array([p], np.int32), "q": np.array([q], np.int32)}
        np.testing.assert_array_equal(model.run(given)["y"], x[p : (p + 1) * q])
    assert isinstance(model, DynamicModel)
    assert len({each.conditions for each in model.specialisations}) == 1


def test_numbers_are_asked_for():
    """An axis is no length: there is a program for each, and the others stay open."""
    model = xrelay.compile(
        model_of("model (float[n, m] x, int64[1] a) => (float[i, j] y) { y = ReduceSum (x, a) }"),
        cache=False,
    )
    assert isinstance(model, DynamicModel)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for axis in (0, 1, -1, 0):
        for rows in (3, 2):
            found = model.run({"x": x[:rows], "a": [axis]})["y"]
            np.testing.assert_array_equal(found, x[:rows].sum(axis, keepdims=True))
    conditions = {each.conditions for each in model.specialisations}
    numbers = [text for each in conditions for text in each or () if "a[0]" in text]
    assert sorted(numbers) == ["1 <= a[0] <= 1", "a[0] == -1", "a[0] == 0"]


def test_vectors_of_any_length_are_data():
    """Lengths of sequences, of which there are as many as the batch has: what is computed of them decides."""
    model = xrelay.compile(
        at_opset(
            20,
            model_of(
                """model (int64[b] lengths) => (bool[b, n] mask) {
                    most = ReduceMax <keepdims = 0> (lengths)
                    start = Constant <value_int = 0> ()
                    step = Constant <value_int = 1> ()
                    places = Range (start, most, step)
                    column = Unsqueeze (lengths, one)
                    mask = Less (places, column)
                }"""
            ),
        ),
        cache=False,
    )
    for lengths in ([3, 5], [2, 7, 4], [9] * 40, [1]):
        mask = model.run({"lengths": lengths})["mask"]
        np.testing.assert_array_equal(mask, np.arange(max(lengths)) < np.array(lengths)[:, None])
    assert isinstance(model, DynamicModel | StagedModel)
    assert len({each.conditions for each in model.specialisations}) == 2


def test_wrong_elements_are_told_by_their_numbers():
    """And the model goes on."""
    model = xrelay.compile(
        model_of(
            "model (float[n] x, int64[1] k) => (float[k] y, int64[k] i) { y, i = TopK (x, k) }"
        ),
        cache=False,
    )
    x = reals(np.random.default_rng(0), {}, (9,))
    assert model.run({"x": x, "k": [4]})["y"].shape == (4,)
    with pytest.raises(DiagnosticException, match="'k' is 10, axis 0 of 'data' has length 9"):
        model.run({"x": x, "k": [10]})
    np.testing.assert_array_equal(model.run({"x": x, "k": [9]})["y"], np.sort(x)[::-1])
