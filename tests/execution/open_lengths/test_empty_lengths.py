"""
Programs for many lengths at lengths of 0: what they compute beside onnxruntime, between pages that fault on access, and
which lengths have a program of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
import pytest
from cases.open_lengths import CASES as USUAL
from onnx import ModelProto, numpy_helper
from onnx_models import model_of
from open_shapes.code import at_shapes, check, inputs_at, open_code

import xrelay
from xrelay.interpreters.arrays import Array
from xrelay.options import CompileOptions
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model


@dataclass(frozen=True)
class Case:
    """A model, by the text of its graph, and what else it takes."""

    text: str
    apart: str = ""
    """The lengths that have a program of their own where they are 0."""
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])
    weights: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def model(self) -> ModelProto:
        """The model."""
        model = model_of(f"empty {self.text}", **self.weights)
        for name, value in self.constants.items():
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        return model


CASES = {
    "rows behind rows": Case(
        "(float[n, 4] x, float[m, 4] y) => (float[k, 4] z) { z = Concat <axis = 0> (x, y) }"
    ),
    "columns behind columns": Case(
        """(float[2, n] x, float[2, m] y) => (float[2, k] z, float[2, l] u) {
            z = Concat <axis = 1> (x, y)
            a = Relu(x)
            b = Concat <axis = 1> (a, y, x)
            u = Exp(b)
        }"""
    ),
    "products behind products": Case(
        """(float[n, 8] x, float[m, 8] y) => (float[k, 5] z) {
            a = MatMul(x, w)
            b = MatMul(y, w)
            z = Concat <axis = 0> (a, b)
        }""",
        weights={"w": (8, 5)},
    ),
    "a product of rows": Case(
        """(float[n, 8] x, float[m, 8] y) => (float[k, 5] z) {
            a = Concat <axis = 0> (x, y)
            b = MatMul(a, w)
            z = Relu(b)
        }""",
        weights={"w": (8, 5)},
    ),
    "a cache": Case(
        """(float[b, s, 16] x, float[b, 2, p, 8] keys) => (float[b, 2, s, t] y, float[b, 2, t, 8] present) {
            outer = Shape <start = 0, end = 2> (x)
            heads = Constant <value_ints = [2, 8]> ()
            shape = Concat <axis = 0> (outer, heads)
            a = MatMul(x, w)
            c = Reshape(a, shape)
            new = Transpose <perm = [0, 2, 1, 3]> (c)
            present = Concat <axis = 2> (keys, new)
            turned = Transpose <perm = [0, 1, 3, 2]> (present)
            scores = MatMul(new, turned)
            y = Softmax <axis = 3> (scores)
        }""",
        weights={"w": (16, 16)},
    ),
    "products over a length": Case(
        "(float[3, n] x, float[n, 5] y) => (float[3, 5] z) { z = MatMul(x, y) }"
    ),
    "sums over two parts": Case(
        """(float[4, n] x, float[4, m] y) => (float[4] z) {
            a = Concat <axis = 1> (x, y)
            z = ReduceSum <keepdims = 0> (a, last)
        }""",
        constants={"last": np.array([1])},
    ),
    "sums": Case(
        """(float[n, m] x) => (float[n] y, float[m] z) {
            y = ReduceSum <keepdims = 0> (x, last)
            z = ReduceSum <keepdims = 0> (x, first)
        }""",
        constants={"first": np.array([0]), "last": np.array([1])},
    ),
    "a sum along each row": Case(
        "(float[n, 5] x) => (float[n] y) { y = ReduceSum <keepdims = 0> (x, last) }",
        constants={"last": np.array([1])},
    ),
    "pads": Case(
        "(float[2, n] x) => (float[2, m] y) { y = Pad(x, pads) }",
        constants={"pads": np.array([0, 2, 0, 3])},
    ),
    "parts": Case(
        "(float[n, 4] x) => (float[n, 1] y, float[n, 3] z) { y, z = Split <axis = 1> (x, parts) }",
        constants={"parts": np.array([1, 3])},
    ),
    "softmax of columns": Case(
        "(float[n, m] x) => (float[n, m] y) { y = Softmax <axis = 0> (x) }",
    ),
    "batches of images": Case(
        """(float[n, 3, 9, 11] x) => (float[n, 4] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w)
            b = Relu(a)
            c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
            d = GlobalAveragePool(c)
            y = Flatten(d)
        }""",
        weights={"w": (4, 3, 3, 3)},
    ),
    "outer products": Case(
        """(float[n] x, float[m] y) => (float[n, m] z) {
            one = Constant <value_ints = [1]> ()
            a = Unsqueeze(x, one)
            b = Mul(a, y)
            z = Erf(b)
        }"""
    ),
    "copies": Case(
        "(float[n, 4] x) => (float[m, 4] y) { y = Tile(x, count) }",
        constants={"count": np.array([2, 1])},
    ),
    "one row of elements": Case(
        "(float[n, 3, m] x) => (float[k] y) { y = Reshape(x, all) }",
        constants={"all": np.array([-1])},
    ),
    "weights of rows": Case(
        """(float[b, s, 8] q, float[b, t, 8] k) => (float[b, s, 8] y) {
            turned = Transpose <perm = [0, 2, 1]> (k)
            scores = MatMul(q, turned)
            bounded = Erf(scores)
            weights = Softmax(bounded)
            y = MatMul(weights, k)
        }"""
    ),
    "extremes": Case(
        """(float[n, m] x) => (float[n] y, float[m] z, float u) {
            a = Exp(x)
            y = ReduceMax <keepdims = 0, axes = [1]> (a)
            z = ReduceMin <keepdims = 0, axes = [0]> (x)
            u = ReduceProd <keepdims = 0> (x)
        }"""
    ),
    "whole numbers": Case(
        """(int32[n, m] x) => (int32[n] y, int32[m] z, int32[n] u) {
            y = ReduceMax <keepdims = 0, axes = [1]> (x)
            z = ReduceSum <keepdims = 0> (x, first)
            u = ReduceMin <keepdims = 0, axes = [1]> (x)
        }""",
        constants={"first": np.array([0])},
    ),
    "products with sums": Case(
        """(float[b, 4, n] x, float[b, n, 9] y, float[9] c) => (float[b, 4, 9] z) {
            a = MatMul(x, y)
            d = Add(a, c)
            z = Relu(d)
        }"""
    ),
    "means": Case(
        """(float[n, m] x) => (float[n] y) {
            mean = ReduceMean <keepdims = 0, axes = [1]> (x)
            is_none = IsNaN(mean)
            zero = Constant <value_float = 0.0> ()
            y = Where(is_none, zero, mean)
        }"""  # onnxruntime says 0 for the mean of nothing, which ONNX leaves open.
    ),
    "updates": Case(
        """(float[5, 4] x, float[n, 4] u, float[3, m] v) => (float[5, 4] y, float[5, 4] z) {
            rows = Shape <start = 0, end = 1> (u)
            zero = Constant <value_int = 0> ()
            one = Constant <value_int = 1> ()
            count = Squeeze(rows)
            numbers = Range(zero, count, one)
            column = Constant <value_ints = [1]> ()
            places = Unsqueeze(numbers, column)
            within = Constant <value = int64 {4}> ()
            inside = Mod(places, within)
            y = ScatterND(x, inside, u)
            whole = Shape(v)
            fours = ConstantOfShape <value = int64[1] {2}> (whole)
            z = ScatterElements <axis = 1> (x, fours, v)
        }"""
    ),
    "steps": Case(
        """(float[s, b, 3] x) => (float[s, 1, b, 4] y, float[1, b, 4] last) {
            y, last = RNN <hidden_size = 4> (x, w, r)
        }""",
        weights={"w": (1, 4, 3), "r": (1, 4, 4)},
    ),
    "thirds": Case(
        """(float[n, 4] x) => (float[k, 4] y, float[2, l, 2] z) {
            zero = Constant <value_ints = [0]> ()
            rows = Shape <start = 0, end = 1> (x)
            three = Constant <value_ints = [3]> ()
            part = Div(rows, three)
            a = Slice(x, zero, part, zero)
            y = Exp(a)
            pairs = Constant <value_ints = [2, -1, 2]> ()
            z = Reshape(x, pairs)
        }"""
    ),
    "edges": Case(
        """(float[2, n] x) => (float[2, m] y) { y = Pad <mode = "edge"> (x, pads) }""",
        "n",
        constants={"pads": np.array([0, 2, 0, 3])},
    ),
}


def names_of(model: ModelProto) -> list[str]:
    """The open dimensions of inputs."""
    dims = (dim for value in model.graph.input for dim in value.type.tensor_type.shape.dim)
    return list(dict.fromkeys(dim.dim_param for dim in dims if dim.dim_param))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_lengths_of_0(name: str, threads: int) -> None:
    case = CASES[name]
    model, apart = case.model(), case.apart.split()
    usual = dict(zip(names_of(model), (6, 5, 3), strict=False))
    code = open_code(model, usual, CompileOptions(threads=threads))
    for each in usual:
        lengths = {**usual, each: 0}
        if each in apart:
            assert at_shapes(code, list(inputs_at(model, lengths).values())) is None
        else:
            check(model, code, lengths)
    nothing = dict.fromkeys(usual, 0)
    if apart or name == "a product of rows":
        assert at_shapes(code, list(inputs_at(model, nothing).values())) is None
    else:
        check(model, code, nothing)
    check(model, code, usual)


@pytest.mark.parametrize("name", CASES)
def test_a_first_call_with_0(name: str) -> None:
    """Calls that begin with 0 take the program of the others, where that serves it."""
    case = CASES[name]
    model = case.model()
    for each in names_of(model):
        if each in case.apart.split():
            continue
        dynamic = xrelay.compile(model, cache=False)
        assert isinstance(dynamic, DynamicModel)
        usual = dict(zip(names_of(model), (6, 5, 3), strict=False))
        for lengths in ({**usual, each: 0}, usual, {**usual, each: 1}):
            dynamic.run(inputs_at(model, lengths))
        programs = {program.conditions for program in dynamic.specialisations}
        assert len(programs) == 1 and None not in programs, programs


BATCHES = [
    name
    for name, (model, _, _) in USUAL.items()
    # One pads batches; onnxruntime refuses to wrap images of which there are none.
    if "batch" in names_of(model) and name not in ("reshapes", "windows")
]


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_nothing(name: str) -> None:
    """The models of test_many_lengths.py."""
    model, lengths, _ = USUAL[name]
    lengths = {**lengths, "batch": 0}
    if name == "recurrent":
        # onnxruntime 1.32 ends the process for LSTM and GRU of such.
        dynamic = xrelay.compile(model, cache=False)
        assert isinstance(dynamic, DynamicModel)
        found = dynamic.run(inputs_at(model, lengths))
        assert all(0 in each.shape for each in found.values())
        dynamic.run(inputs_at(model, USUAL[name][1]))
        programs = {program.conditions for program in dynamic.specialisations}
        assert len(programs) == 1 and None not in programs
        return
    check(model, open_code(model, USUAL[name][1], CompileOptions()), lengths)


DATA = {
    "a branch": Case(
        """(float[n, 4] x, float[2, 4] d) => (float[2, 4] y) {
            length = Shape <start = 0, end = 1> (x)
            none = Constant <value_ints = [0]> ()
            is_empty = Equal(length, none)
            y = If(is_empty) <
                then_branch = empty () => (float[2, 4] a) { a = Neg(d) },
                else_branch = some () => (float[2, 4] b) { b = Exp(d) }
            >
        }"""
    ),
    "a number": Case(
        """(float[n, m] x) => (float[1] y) {
            length = Size(x)
            none = Constant <value_ints = [0]> ()
            is_empty = Equal(length, none)
            y = Cast <to = 1> (is_empty)
        }"""
    ),
    "equal numbers": Case(
        """(float[n, m] x) => (float[1] y) {
            all = Size(x)
            rows = Shape <start = 0, end = 1> (x)
            same = Equal(all, rows)
            y = Cast <to = 1> (same)
        }"""
    ),
}
"""What models make of the question whether there are elements."""


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("order", ["some first", "none first"])
def test_questions_of_models(name: str, order: str) -> None:
    model = DATA[name].model()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    dynamic = xrelay.compile(model, cache=False)
    calls = [
        {"n": 5, "m": 3},
        {"n": 0, "m": 3},
        {"n": 4, "m": 0},
        {"n": 0, "m": 0},
        {"n": 1, "m": 1},
    ]
    for lengths in calls if order == "some first" else [*calls[1:], calls[0]]:
        inputs = inputs_at(model, lengths)
        (found,), (wanted,) = dynamic.run(inputs).values(), session.run(None, inputs)
        np.testing.assert_allclose(found, wanted, 1e-6, err_msg=str(lengths))


@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_that_fall(threads: int) -> None:
    """The workspace of a range has room for lengths of 0, of which other sizes are the greatest."""
    case = Case(
        """(float[n, 4] x) => (float[k, 8] y) {
            first = Shape <start = 0, end = 1> (x)
            last = Constant <value_ints = [16]> ()
            rows = Slice(c, first, last)
            a = Exp(rows)
            b = MatMul(a, w)
            d = Sqrt(a)
            e = MatMul(d, w)
            y = Add(b, e)
        }""",
        weights={"c": (16, 64), "w": (64, 8)},
    )
    model = case.model()
    code = open_code(model, {"n": 5}, CompileOptions(threads=threads), {"n": (0, 15)})
    for n in (5, 0, 15, 1):
        check(model, code, {"n": n})


def test_a_first_call_that_its_program_does_not_serve() -> None:
    """Programs are made at other lengths than 0: one that does not serve 0 then is not kept for it."""
    model = Case(
        """(float[n, 4] x, float[m, 4] y) => (float[k, 4] z) {
            first = Shape <start = 0, end = 1> (x)
            last = Constant <value_ints = [99999]> ()
            z = Slice(y, first, last)
        }"""
    ).model()
    dynamic = xrelay.compile(model, cache=False)
    assert isinstance(dynamic, DynamicModel)
    for n, m in ((0, 10), (0, 11), (0, 0), (0, 12), (3, 10), (5, 5), (4, 11)):
        inputs = inputs_at(model, {"n": n, "m": m})
        (found,) = dynamic.run(inputs).values()
        np.testing.assert_array_equal(found, inputs["y"][n:])
    programs = {each.conditions for each in dynamic.specialisations}
    assert len(programs - {None}) == 2, "for no rows, and for some"


def test_lengths_of_0_that_copy_others() -> None:
    """0 in the shape of a Reshape is the length of an axis, of which -1 says how many elements are left."""
    model = Case(
        """(float[5, n] x) => (float[p, q] y) {
            length = Shape <start = 1, end = 2> (x)
            rest = Constant <value_ints = [-1]> ()
            shape = Concat <axis = 0> (length, rest)
            y = Reshape(x, shape)
        }"""
    ).model()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    dynamic = xrelay.compile(model, cache=False)
    for n in (4, 0, 7, 1):
        inputs = inputs_at(model, {"n": n})
        (found,), (wanted,) = dynamic.run(inputs).values(), session.run(None, inputs)
        np.testing.assert_array_equal(found, wanted)


SEARCHES = {
    "elements": "(float[n, 3] x) => (int64[2, k] y) { y = NonZero(x) }",
    "rows": """(float[n, 3] x) => (float[k, 3] y) {
        axis = Constant <value_ints = [1]> ()
        total = ReduceSum <keepdims = 0> (x, axis)
        zero = Constant <value_float = 0.0> ()
        wanted = Greater(total, zero)
        y = Compress <axis = 0> (x, wanted)
    }""",
    "different elements": "(float[n] x) => (float[k] y, int64[k] i, int64[n] j, int64[k] c) { y, i, j, c = Unique(x) }",
    "boxes": """(float[1, n, 4] x) => (int64[k, 3] y) {
        shape = Constant <value_ints = [1, 1, -1]> ()
        first = Constant <value_ints = [0]> ()
        second = Constant <value_ints = [1]> ()
        last = Constant <value_ints = [2]> ()
        column = Slice(x, first, second, last)
        scores = Reshape(column, shape)
        most = Constant <value_int = 10> ()
        threshold = Constant <value_float = 0.5> ()
        y = NonMaxSuppression(x, scores, most, threshold)
    }""",
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_to_search(name: str, threads: int) -> None:
    """Programs that find things serve tensors in which there is nothing."""
    model = model_of(f"search {SEARCHES[name]}")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    dynamic = xrelay.compile(model, cache=False, threads=threads)
    assert not isinstance(dynamic, Model)
    known = 0
    for n in (7, 0, 1, 5000 if name == "elements" else 50):
        inputs = inputs_at(model, {"n": n})
        for found, wanted in zip(
            dynamic.run(inputs).values(), session.run(None, inputs), strict=True
        ):
            assert found.shape == wanted.shape
            np.testing.assert_array_equal(found, wanted)
        found = len({program.conditions for program in dynamic.specialisations})
        # What is taken of no rows is another matter.
        assert found == (known or found) or name == "rows"
        known = found


ELEMENTS = {
    "the end of a tensor": (
        """(float[n, 3] x, int64[1] s) => (float[k, 3] y) {
            end = Constant <value_ints = [9223372036854775807]> ()
            y = Slice(x, s, end)
        }""",
        [(10, 2), (10, 10), (7, 7), (8, 3), (5, 0), (20, 20)],
        1,
    ),
    "the end before the whole": (
        """(float[n, 3] x, int64[1] s) => (float[k, 3] y) {
            end = Constant <value_ints = [9223372036854775807]> ()
            a = Slice(x, s, end)
            b = Relu(a)
            y = Concat <axis = 0> (b, x)
        }""",
        [(10, 2), (10, 10), (7, 7), (8, 3), (5, 5)],
        1,
    ),
    "a part": (
        "(float[n, 3] x, int64[1] s, int64[1] e) => (float[k, 3] y) { y = Slice(x, s, e) }",
        [(10, 2, 5), (10, 4, 4), (7, 7, 7), (8, 3, 8), (9, 5, 5), (5, 0, 0)],
        1,
    ),
    "numbers": (
        "(int64[1] s, int64[1] e) => (int64[k] y) { first = Squeeze(s) last = Squeeze(e) one = Constant <value_int = 1> () y = Range(first, last, one) }",
        [(2, 7), (3, 3), (0, 9), (6, 2), (0, 0)],
        1,
    ),
    "two parts": (
        "(float[n, 3] x, int64[2] s) => (float[p, 3] y, float[q, 3] z) { y, z = Split <axis = 0> (x, s) }",
        [(7, (2, 5)), (3, (3, 0)), (7, (7, 0)), (4, (0, 4)), (2, (1, 1))],
        1,
    ),
    "best ones": (
        "(float[2, n] x, int64[1] s) => (float[2, q] y, int64[2, q] i) { y, i = TopK(x, s) }",
        [(6, 2), (5, 0), (7, 0), (4, 4)],
        2,  # None are constants.
    ),
}
"""Models of elements that leave nothing: calls, and in how many programs."""


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("threads", [1, 2])
def test_elements_that_leave_nothing(name: str, threads: int) -> None:
    text, calls, programs = ELEMENTS[name]
    model = model_of(f"nothing {text}")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    dynamic = xrelay.compile(model, cache=False, threads=threads)
    assert isinstance(dynamic, DynamicModel)
    for call in calls:
        inputs = inputs_at(model, {"n": np.max(call[0])})
        names = [each for each in ("s", "e") if each in inputs]
        numbers = call[-len(names) :]
        inputs |= {
            each: np.array(value, np.int64, ndmin=1)
            for each, value in zip(names, numbers, strict=True)
        }
        for found, wanted in zip(
            dynamic.run(inputs).values(), session.run(None, inputs), strict=True
        ):
            assert found.shape == wanted.shape
            np.testing.assert_array_equal(found, wanted)
    assert len({each.conditions for each in dynamic.specialisations}) == programs
    assert all(each.conditions is not None for each in dynamic.specialisations)
