"""Sequences of as many tensors as a length says: one program serves all lengths, and computes what onnxruntime does."""

import numpy as np
import pytest
from onnx_models import model_of
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from tests.execution.open_lengths.cases import at_opset, check, sizes, written
from xrelay.runtime.model import Model

ROWS = sizes("n", (8,), (9,), (33,), (1,), (200,))
ROUNDS = """
                first = Constant <value_ints = [0]> ()
                shape = Shape <end = 1> (x)
                n = Squeeze (shape, first)
                true = Constant <value = bool {1}> ()
"""

CASES = written(
    {
        "rows one by one": (
            """(float[n, 4] x) => (float[4] y, float[4] z, int64 count) {
                parts = SplitToSequence <keepdims = 0> (x)
                first = Constant <value_int = 0> ()
                last = Constant <value_int = -1> ()
                a = SequenceAt (parts, first)
                b = SequenceAt (parts, last)
                y = Sub (a, b)
                z = Mul (a, b)
                count = SequenceLength (parts)
            }""",
            *({}, ROWS, 18, {}),
        ),
        "two parts": (
            """(float[n, 4] x) => (float[m, 4] y, float[k, 4] z) {
                shape = Shape <end = 1> (x)
                half = Constant <value_ints = [2]> ()
                first = Div (shape, half)
                second = Sub (shape, first)
                lengths = Concat <axis = 0> (first, second)
                parts = SplitToSequence (x, lengths)
                a = Constant <value_int = 0> ()
                b = Constant <value_int = 1> ()
                y = SequenceAt (parts, a)
                z = SequenceAt (parts, b)
            }""",
            *({}, sizes("n", (8,), (9,), (33,), (20,)), 18, {}),
        ),
        "parts of which the last is shorter": (
            """(float[n, 4] x) => (float[k, 4] y, float[l, 4] z, float[n, 4] u, int64 count) {
                size = Constant <value_int = 3> ()
                parts = SplitToSequence (x, size)
                first = Constant <value_int = 0> ()
                last = Constant <value_int = -1> ()
                y = SequenceAt (parts, first)
                z = SequenceAt (parts, last)
                whole = ConcatFromSequence <axis = 0> (parts)
                u = Relu (whole)
                count = SequenceLength (parts)
            }""",
            *({}, sizes("n", (7,), (8,), (9,), (1,), (2,), (3,), (200,)), 18, {}),
        ),
        "parts of two columns": (
            """(float[3, n] x) => (float[3, 2] y, float[m, 2] u, float[3, k] v, float[3, 2, j] w) {
                size = Constant <value_int = 2> ()
                parts = SplitToSequence <axis = 1> (x, size)
                last = Constant <value_int = -1> ()
                y = SequenceAt (parts, last)
                u = ConcatFromSequence <axis = 0> (parts)
                v = ConcatFromSequence <axis = -1> (parts)
                w = ConcatFromSequence <axis = -1, new_axis = 1> (parts)
            }""",
            *({}, sizes("n", (8,), (20,), (130,), (34,)), 18, {}),
        ),
        "what rounds append": (
            f"""(float[n, 4] x) => (float[n, 4] y) {{
                {ROUNDS}
                empty = SequenceEmpty ()
                found = Loop <body = round (int64 i, bool goes, seq(float[4]) before) =>
                        (bool goes_on, seq(float[4]) after) {{
                    row = Gather <axis = 0> (x, i)
                    square = Mul (row, row)
                    after = SequenceInsert (before, square)
                    goes_on = Identity (goes)
                }}> (n, true, empty)
                y = ConcatFromSequence <axis = 0, new_axis = 1> (found)
            }}""",
            *({}, ROWS, 18, {}),
        ),
        "two sequences, a state and a result of each round": (
            f"""(float[n, 4] x, float[4] k) => (float[4, m] y, float[j] z, float[4] s, float[n, 4] r) {{
                {ROUNDS}
                some = SequenceConstruct (k, k)
                empty = SequenceEmpty ()
                a, s, b, r = Loop <body = round (int64 i, bool goes, seq(float[4]) a0, float[4] s0, seq(float[4]) b0) =>
                        (bool goes_on, seq(float[4]) a1, float[4] s1, seq(float[4]) b1, float[4] r1) {{
                    row = Gather <axis = 0> (x, i)
                    s1 = Add (s0, row)
                    a1 = SequenceInsert (a0, s1)
                    b1 = SequenceInsert (b0, row)
                    r1 = Mul (s1, row)
                    goes_on = Identity (goes)
                }}> (n, true, some, k, empty)
                y = ConcatFromSequence <axis = 1, new_axis = 1> (a)
                z = ConcatFromSequence <axis = 0> (b)
            }}""",
            *({}, ROWS, 18, {}),
        ),
        "rounds that take the tensors of a sequence": (
            """(float[n, 4] x, float[4] k) => (float[4] y) {
                parts = SplitToSequence <keepdims = 0> (x)
                n = SequenceLength (parts)
                true = Constant <value = bool {1}> ()
                y = Loop <body = round (int64 i, bool goes, float[4] before) => (bool goes_on, float[4] after) {
                    row = SequenceAt (parts, i)
                    mean = Add (before, row)
                    after = Tanh (mean)
                    goes_on = Identity (goes)
                }> (n, true, k)
            }""",
            *({}, ROWS, 18, {}),
        ),
        "SequenceMap": (
            """(float[n, 4] x, float[4] k) => (float[n, 4] y, float[n] z) {
                parts = SplitToSequence <keepdims = 0> (x)
                a, b = SequenceMap <body = each (float[4] p, float[4] q) => (float[4] r, float s) {
                    r = Add (p, q)
                    s = ReduceSum <keepdims = 0> (r)
                }> (parts, k)
                y = ConcatFromSequence <axis = 0, new_axis = 1> (a)
                z = ConcatFromSequence <axis = 0, new_axis = 1> (b)
            }""",
            *({}, ROWS, 18, {}),
        ),
        "tensors fewer and more": (
            """(float[n, 4] x, float[4] k) => (float[n, 4] y) {
                parts = SplitToSequence <keepdims = 0> (x)
                second = Constant <value_int = 1> ()
                last = Constant <value_int = -1> ()
                a = SequenceErase (parts, second)
                b = SequenceErase (a)
                c = SequenceInsert (b, k, second)
                d = SequenceInsert (c, k, last)
                y = ConcatFromSequence <axis = 0, new_axis = 1> (d)
            }""",
            *({}, sizes("n", (8,), (9,), (33,), (200,)), 18, {}),
        ),
        "a tensor at a place that is computed": (
            """(float[n, 4] x, float[7] z, float[2] t) => (float[4] y, float[n, 4] v) {
                parts = SplitToSequence <keepdims = 0> (x)
                place = ArgMax <keepdims = 0> (z)
                y = SequenceAt (parts, place)
                double = Add (x, x)
                pair = SequenceConstruct (x, double)
                which = ArgMax <keepdims = 0> (t)
                v = SequenceAt (pair, which)
            }""",
            *({}, sizes("n", (8,), (9,), (33,), (200,)), 18, {}),
        ),
    }
)


@pytest.mark.parametrize("name", CASES)
def test_one_program_for_all_lengths(name: str):
    check(CASES[name])


def test_sequences_of_no_tensors() -> None:
    """They have a length, and no tensor is taken of them."""
    text = """model (float[n, 4] x, float[3] z) => (float[4] y) {
        parts = SplitToSequence <keepdims = 0> (x)
        place = ArgMax <keepdims = 0> (z)
        y = SequenceAt (parts, place)
    }"""
    model = xrelay.compile(at_opset(18, model_of(text)), cache=False)
    x, z = np.arange(20, dtype=np.float32).reshape(5, 4), np.array([0, 0, 1], np.float32)
    np.testing.assert_array_equal(model.run({"x": x, "z": z})["y"], x[2])
    with pytest.raises(DiagnosticException, match=r"accepted range is \[0, -1\]"):
        model.run({"x": x[:0], "z": z})
    text = """model (float[n, 4] x) => (int64 count, float[m, 4] y) {
        parts = SplitToSequence (x)
        count = SequenceLength (parts)
        y = ConcatFromSequence <axis = 0> (parts)
    }"""
    model = xrelay.compile(at_opset(18, model_of(text)), cache=False)
    for n in (5, 0):
        found = model.run({"x": x[:n]})
        assert found["count"] == n and np.array_equal(found["y"], x[:n])


def test_sequences_of_many_tensors_are_rows():
    """A thousand tensors of one shape are one; as results they come one by one."""
    model = xrelay.compile(
        at_opset(
            18,
            model_of(
                """model (float[1000, 4] x) => (float[4] y, seq(float[4]) all) {
                    all = SplitToSequence <keepdims = 0> (x)
                    place = Constant <value_int = -3> ()
                    y = SequenceAt (all, place)
                }"""
            ),
        ),
        cache=False,
    )
    assert isinstance(model, Model)
    x = np.random.default_rng(0).standard_normal((1000, 4), np.float32)
    found = model.run({"x": x})
    np.testing.assert_array_equal(found["y"], x[-3])
    np.testing.assert_array_equal([found[f"all.{i}"] for i in range(1000)], x)


def test_rounds_of_data_carry_no_sequences() -> None:
    model = at_opset(
        18,
        model_of(
            """model (float[n, 4] x, int64 m) => (float[k, 4] y) {
                size = Constant <value_int = 3> ()
                s = SplitToSequence (x, size)
                true = Constant <value = bool {1}> ()
                r = Loop (m, true, s) <
                    body = round (int64 i, bool c, seq(float[k, 4]) a) => (bool d, seq(float[k, 4]) b) {
                        d = Identity (c)
                        b = Identity (a)
                    }
                >
                first = Constant <value_int = 0> ()
                y = SequenceAt (r, first)
            }"""
        ),
    )
    compiled = xrelay.compile(model, cache=False)
    with pytest.raises(DiagnosticException, match=r"'r' \(Loop\): 's' is a sequence; .* tensors"):
        compiled.run({"x": np.ones((7, 4), np.float32), "m": np.array(2)})
