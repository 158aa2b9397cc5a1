"""Models on arrays of the caller: right, within these, and writing what is new alone."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from guard_pages import LIBC, PAGE, Guarded
from onnx import ModelProto, numpy_helper
from onnx_models import model_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.compiler import context
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel


def compiled(model: ModelProto | ModuleOp, **options: Any) -> DynamicModel:
    found = xrelay.compile(model, cache=False, **options)
    assert isinstance(found, DynamicModel)
    return found


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def by_onnxruntime(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return [np.asarray(each) for each in session.run(None, dict(inputs))]


DECODER = model_of(
    """decoder (float[batch, steps, 24] x, float[batch, 3, past, 8] past_key, float[batch, 3, past, 8] past_value)
        => (float[batch, steps, 24] y, float[batch, 3, total, 8] key, float[batch, 3, total, 8] value) {
        split = Constant <value_ints = [0, 0, 3, 8]> ()
        joined = Constant <value_ints = [0, 0, 24]> ()
        q = MatMul(x, w1)
        k = MatMul(x, w2)
        v = MatMul(x, w3)
        qs = Reshape(q, split)
        ks = Reshape(k, split)
        vs = Reshape(v, split)
        qt = Transpose <perm = [0, 2, 1, 3]> (qs)
        kt = Transpose <perm = [0, 2, 1, 3]> (ks)
        vt = Transpose <perm = [0, 2, 1, 3]> (vs)
        key = Concat <axis = 2> (past_key, kt)
        value = Concat <axis = -2> (past_value, vt)
        keys = Transpose <perm = [0, 1, 3, 2]> (key)
        scores = MatMul(qt, keys)
        weights = Softmax <axis = -1> (scores)
        values = MatMul(weights, value)
        back = Transpose <perm = [0, 2, 1, 3]> (values)
        y = Reshape(back, joined)
    }""",
    w1=(24, 24),
    w2=(24, 24),
    w3=(24, 24),
)


@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (3, 2)])
def test_decoding_in_caches(batch: int, threads: int) -> None:
    """All that is known of a cache but for the rows in use is NaN, before and after."""
    stages: list[str] = []
    model = compiled(DECODER, threads=threads, progress=stages.append)
    room, known = 23, 0
    caches = [np.full((batch, 3, room, 8), np.nan, np.float32) for _ in range(2)]
    past = [np.zeros((batch, 3, 0, 8), np.float32)] * 2
    for steps in (5, *[1] * 12, 4, 2):
        x = floats(batch, steps, 24)
        y = np.full_like(x, np.nan)
        given = [x, *(cache[:, :, :known] for cache in caches)]
        known += steps
        results = [y, *(cache[:, :, :known] for cache in caches)]
        model.bind(given, results).run()
        wanted = by_onnxruntime(DECODER, {"x": x, "past_key": past[0], "past_value": past[1]})
        past = wanted[1:]
        for one, other in zip(results, wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-4, 1e-5)
        assert all(np.isnan(cache[:, :, known:]).all() for cache in caches)
    assert stages.count("generate kernels") == 1, "also for the empty caches of the first step"


GROWTH = """growth (float[outer, n, width] old, float[outer, m, width] x)
    => (float[outer, total, width] grown, float[outer, total] most) {{
    new = Relu(x)
    grown = Concat <axis = {axis}> (old, new)
    most = ReduceMax <axes = [2], keepdims = 0> (grown)
}}"""


def test_what_is_there_is_not_written() -> None:
    """Rows are pages here: those that are there cannot be written, those behind the new ones not be touched."""
    outer, room, known, new, width = 2, 5, 2, 1, PAGE // 4
    memory = Guarded(outer * room * PAGE, 4, at_end=True)
    cache = memory.bytes.view(np.float32).reshape(outer, room, width)
    old, x = floats(outer, known, width), floats(outer, new, width)
    cache[:, :known] = old
    arrays = [cache[:, :known], x], [cache[:, : known + new], np.empty((outer, known + new), "f4")]
    binding = compiled(model_of(GROWTH.format(axis=1))).bind(*arrays)

    def protect(start: int, count: int, flags: int) -> None:
        for i in range(outer):
            address = ctypes.c_void_p(memory.address + (i * room + start) * PAGE)
            assert not LIBC.mprotect(address, ctypes.c_size_t(count * PAGE), flags)

    readable, writable = 1, 3
    protect(0, known, readable)
    protect(known + new, room - known - new, 0)
    binding.run()
    protect(0, room, writable)
    wanted = np.concatenate([old, np.maximum(x, 0)], 1)
    assert np.array_equal(arrays[1][0], wanted)
    assert np.array_equal(arrays[1][1], wanted.max(2))
    memory.check()


def test_a_binding_runs_on_what_its_arrays_hold() -> None:
    model = compiled(model_of(GROWTH.format(axis=1)))
    old, x = floats(2, 3, 5), floats(2, 4, 5)
    grown, most = np.empty((2, 7, 5), "f4"), np.empty((2, 7), "f4")
    binding = model.bind({"x": x, "old": old}, {"most": most, "grown": grown})
    for _ in range(3):
        binding.run()
        assert np.array_equal(grown, np.concatenate([old, np.maximum(x, 0)], 1))
        assert np.array_equal(most, grown.max(2))
        x += 1
        old *= 2


CASES: dict[str, str] = {
    "behind two": """m (float[a, b, c] x, float[a, b, d] y, float[a, b, d] z) => (float[a, b, e] grown) {
        t = Tanh(z)
        grown = Concat <axis = 2> (x, y, t)
    }""",
    "first axis": """m (float[n, 3, 4] x, float[m, 3, 4] y) => (float[k, 3, 4] grown, float[n, 3, 4] z) {
        t = Exp(y)
        grown = Concat <axis = 0> (x, t)
        z = Sqrt(x)
    }""",
    "other shapes": """m (float[n, 3, c] x, float[n, 3, d] y) => (float[n, 3, e] grown, float[k] flat, float[l, 3] same) {
        grown = Concat <axis = 2> (x, y)
        all = Constant <value_ints = [-1]> ()
        rows = Constant <value_ints = [-1, 3]> ()
        flat = Reshape(grown, all)
        same = Reshape(x, rows)
    }""",
    "twice": """m (float[n, 4, c] x, float[n, 4, d] y) => (float[n, 4, e] grown, float[n, 4, e] again, float[n, 4, c] x2) {
        grown = Concat <axis = 2> (x, y)
        again = Identity(grown)
        x2 = Identity(x)
    }""",
    "products": """m (float[n, 4, c] x, float[n, 4, d] y) => (float[n, 4, e] grown, float[n, 4, 4] z) {
        grown = Concat <axis = 2> (x, y)
        t = Transpose <perm = [0, 2, 1]> (grown)
        z = MatMul(grown, t)
    }""",
    "branches": """m (float[n, 4, c] x, float[n, 4, d] y) => (float[n, 4, e] grown, float[n, 4, c] z) {
        grown = Concat <axis = 2> (x, y)
        zero = Constant <value = float {0.0}> ()
        sum = ReduceSum <keepdims = 0> (y)
        positive = Greater(sum, zero)
        z = If (positive) <
            then_branch = one () => (float[n, 4, c] same) { same = Identity(x) },
            else_branch = other () => (float[n, 4, c] less) { less = Neg(x) }
        >
    }""",
    "loop": """m (float[n, 4, c] x, float[n, 4, d] y) => (float[n, 4, e] grown, float[n, 4, c] z) {
        grown = Concat <axis = 2> (x, y)
        times = Constant <value = int64 {3}> ()
        yes = Constant <value = bool {1}> ()
        z = Loop (times, yes, x) <
            body = again (int64 i, bool go, float[n, 4, c] v) => (bool more, float[n, 4, c] w) {
                more = Identity(go)
                w = Sin(v)
            }
        >
    }""",
}  # fmt: skip
"""Programs that append to `x`, and read what they append to or what they made in all ways."""


def parts(shape: Sequence[int], axis: int, room: int) -> tuple[Array, Array]:
    """An array of a shape that is the first rows of a larger one along an axis, and that one, of NaN."""
    whole = np.full([*shape[:axis], room, *shape[axis + 1 :]], np.nan, np.float32)
    return whole[(slice(None),) * axis + (slice(shape[axis]),)], whole


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_parts_of_larger_arrays(name: str, threads: int) -> None:
    """`x` and what grows over it, or each in a larger array of its own; the other arrays are plain."""
    proto = model_of(CASES[name])
    model = compiled(proto, threads=threads)
    names = [value.name for value in proto.graph.input]
    axis = 0 if name == "first axis" else 2
    for lengths in ((3, 5), (4, 1), (2, 9)):
        shapes = [[2, 3 if name == "other shapes" else 4, 0] for _ in names]
        if name == "first axis":
            shapes = [[0, 3, 4] for _ in names]
        for shape, length in zip(shapes, (lengths[0], *[lengths[1]] * 2), strict=False):
            shape[axis] = length
        inputs = dict(zip(names, (floats(*shape) + 1 for shape in shapes), strict=True))
        if name == "first axis":
            inputs["x"] = np.abs(inputs["x"])
        wanted = by_onnxruntime(proto, inputs)
        for together in (True, False):
            results = [np.full_like(each, np.nan) for each in wanted]
            room = wanted[0].shape[axis] + 3
            results[0], whole = parts(wanted[0].shape, axis, room)
            old = parts(inputs["x"].shape, axis, room)[0]
            if together:
                old = whole[(slice(None),) * axis + (slice(lengths[0]),)]
            old[...] = inputs["x"]
            model.bind({**inputs, "x": old}, results).run()
            for one, other in zip(results, wanted, strict=True):
                np.testing.assert_allclose(one, other, 1e-5, 1e-6)
            assert np.isnan(np.moveaxis(whole, axis, 0)[wanted[0].shape[axis] :]).all()


OPERATORS: dict[str, dict[str, Sequence[int]]] = {
    "Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)": {"w": (32, 16, 3, 3)},
    "Conv <kernel_shape = [1, 1]> (x, w)": {"w": (32, 16, 1, 1)},
    "Conv <kernel_shape = [3, 3], strides = [2, 2], group = 16> (x, w)": {"w": (16, 1, 3, 3)},
    "ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (x, w)": {"w": (16, 8, 2, 2)},
    "MaxPool <kernel_shape = [3, 3]> (x)": {},
    "MatMul (x, w)": {"w": (12, 24)},
    "Softmax <axis = 2> (x)": {},
    "LayerNormalization <axis = -1> (x, w)": {"w": (12,)},
    "Transpose <perm = [0, 2, 3, 1]> (x)": {},
    "CumSum (x, w)": {"w": ()},
    "PRelu (x, w)": {"w": (16, 1, 1)},
}


@pytest.mark.slow
@pytest.mark.parametrize("code", OPERATORS)
def test_operators_read_and_write_parts(code: str) -> None:
    """Whatever loops an operator has: its operand and its result are rows of larger arrays."""
    text = f"m (float[2, 16, n, 12] x) => (float[a, b, c, d] y) {{ y = {code} }}"
    proto = model_of(text, **OPERATORS[code])
    if code.startswith("CumSum"):
        axis = numpy_helper.from_array(np.array(2), "w")
        proto.graph.initializer[0].CopyFrom(axis)
    model = compiled(proto)
    for length in (7, 10):
        x = floats(2, 16, length, 12)
        (wanted,) = by_onnxruntime(proto, {"x": x})
        given, result = parts(x.shape, 2, length + 5)[0], parts(wanted.shape, 2, 99)[0]
        given[...] = x
        model.bind([given], [result]).run()
        np.testing.assert_allclose(result, wanted, 1e-4, 1e-4)


# -- wrong arrays --------------------------------------------------------------------------------------

Arrays = tuple[dict[str, Array], dict[str, Array]]


def good() -> Arrays:
    """Arrays for GROWTH along axis 1, `grown` over `old`."""
    cache = np.zeros((2, 9, 5), np.float32)
    inputs = {"old": cache[:, :3], "x": floats(2, 2, 5)}
    return inputs, {"grown": cache[:, :5], "most": np.zeros((2, 5), np.float32)}


def change(side: int, name: str, make: Callable[[Arrays], Any]) -> Callable[[Arrays], None]:
    def changed(arrays: Arrays) -> None:
        arrays[side][name] = make(arrays)

    return changed


def base(array: Array) -> Array:
    return cast(Array, array.base)


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


WRONG: dict[str, tuple[Callable[[Arrays], None], str]] = {
    "no room": (
        lambda a: a[0].update(old=base(a[0]["old"])) or a[1].update(grown=a[0]["old"][:, :11]),
        r"output 'grown' is float32\[2, 9, 5\], expected 'grown' float32\[2, 11, 5\]",
    ),
    "too short": (
        change(1, "grown", lambda a: base(a[1]["grown"])[:, :4]),
        r"output 'grown' is float32\[2, 4, 5\], expected 'grown' float32\[2, 5, 5\]",
    ),
    "another place": (
        change(0, "old", lambda a: base(a[0]["old"])[:, 1:4]),
        "input 'old' .* and output 'grown' .* share memory, and begin at different places",
    ),
    "other rows": (
        change(0, "old", lambda a: base(a[0]["old"]).reshape(-1)[:30].reshape(2, 3, 5)),
        (r"their strides differ: \[60, 20, 4\] and \[180, 20, 4\]; expected both to be the first rows of one array "
        "along axis 1"),
    ),
    "the other input": (
        change(0, "x", lambda a: base(a[0]["old"])[:, 3:5]),
        "output 'grown' shares memory with input 'old' and input 'x', expected one",
    ),
    "two outputs": (
        change(1, "most", lambda a: base(a[1]["grown"])[1:, 3:5].reshape(2, 5)),
        "output '(grown|most)' and output '(grown|most)' share memory",
    ),
    "both inputs": (
        change(0, "x", lambda a: a[0]["old"]),
        "output 'grown' shares memory with input 'old' and input 'x', expected one",
    ),
    "read-only": (
        change(1, "grown", lambda a: read_only(np.zeros((2, 5, 5), "f4"))),
        "output 'grown' is read-only, expected an array that can be written",
    ),
    "backwards": (
        change(0, "x", lambda a: a[0]["x"][:, ::-1]),
        (r"input 'x' is not C-contiguous: its strides are \[40, -20, 4\], expected those of an array \[2, 2, 5\] or of "
        "the first rows of a larger one along one axis"),
    ),
    "every other row": (
        change(0, "x", lambda a: np.zeros((2, 5, 5), "f4")[:, :4:2]),
        "input 'x' is not C-contiguous",
    ),
    "not aligned": (
        change(0, "x", lambda a: np.zeros(81, np.uint8)[1:].view("f4").reshape(2, 2, 5)),
        "input 'x' is not aligned",
    ),
    "dtype": (
        change(1, "most", lambda a: np.zeros((2, 5))),
        r"output 'most' is float64\[2, 5\], expected 'most' float32\[outer, total\]",
    ),
    "rank": (
        change(1, "most", lambda a: np.zeros((2, 5, 1), "f4")),
        r"output 'most' is float32\[2, 5, 1\], expected 'most' float32\[outer, total\]",
    ),
    "lengths": (
        change(0, "x", lambda a: floats(3, 2, 5)),
        "'outer' is 2 in input 'old' and 3 in input 'x'",
    ),
    "a list": (change(0, "x", lambda a: [1.0]), "input 'x' is a list, expected the array 'x'"),
    "names": (
        lambda a: a[1].update(y=a[1].pop("most")),
        "unknown output 'y', missing output 'most'; the model has 'grown'",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def growth() -> DynamicModel:
    return compiled(model_of(GROWTH.format(axis=1)))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arrays(growth: DynamicModel, name: str) -> None:
    """They are named, nothing is written, and the model can be used afterwards."""
    wrong, message = WRONG[name]
    arrays = good()
    wrong(arrays)
    before = [np.array(each) for side in arrays for each in side.values()]
    with pytest.raises(xrelay.ModelError, match=message):
        growth.bind(*arrays)
    after = [np.array(each) for side in arrays for each in side.values()]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    inputs, results = good()
    growth.bind(inputs, results).run()
    assert np.array_equal(results["grown"][:, 3:], np.maximum(inputs["x"], 0))


@pytest.mark.parametrize(
    "grown",
    ["Concat <axis = 1> (x, old)", "Concat <axis = 1> (twice, x)", "Concat <axis = 1> (x2, x)"],
)
def test_outputs_over_inputs_that_are_not_appended_to(grown: str) -> None:
    text = f"""m (float[outer, n, 5] old, float[outer, m, 5] x) => (float[outer, k, 5] grown, float[outer, m, 5] x2) {{
        twice = Add(old, old)
        x2 = Relu(x)
        grown = {grown}
    }}"""
    model = compiled(model_of(text))
    cache, x = np.ones((2, 9, 5), np.float32), floats(2, 3, 5)
    inputs, x2 = [cache[:, :3], x], np.zeros((2, 3, 5), np.float32)
    with pytest.raises(
        DiagnosticException,
        match="input 'old' and output 'grown' share memory, but the program does not compute the output by "
        "appending to the input along axis 1; expected arrays apart",
    ):
        model.bind(inputs, [cache[:, :6], x2])
    assert (cache == 1).all()
    apart = np.zeros((2, 9, 5), np.float32)
    model.bind(inputs, [apart[:, :6], x2]).run()
    wanted = by_onnxruntime(model_of(text), {"old": inputs[0], "x": x})
    assert np.array_equal(apart[:, :6], wanted[0])


def test_programs_with_tuples_take_plain_arrays() -> None:
    pair = "tuple<tensor<2x?xf32>, tensor<2x?xf32>>"
    text = f"""func.func @main(%x: tensor<2x?xf32>) -> {pair} {{
        %y = relay.tanh %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
        %z = relay.tuple %x, %y : (tensor<2x?xf32>, tensor<2x?xf32>) -> {pair}
        func.return %z : {pair}
    }}"""
    model = compiled(Parser(context(), text).parse_module())
    x, y, wide = floats(2, 3), np.zeros((2, 3), np.float32), np.zeros((2, 5), np.float32)
    with pytest.raises(DiagnosticException, match="this one takes or returns tuples"):
        model.bind([x], [wide[:, :3], y])
    model.bind([x], [wide[:, :3].copy(), y]).run()
    np.testing.assert_allclose(y, np.tanh(x), 1e-5)


def test_programs_of_bindings_are_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    counts: list[int] = []
    for _ in range(2):
        stages: list[str] = []
        model = xrelay.compile(model_of(GROWTH.format(axis=1)), progress=stages.append)
        assert isinstance(model, DynamicModel)
        inputs, results = good()
        model.bind(inputs, results).run()
        assert np.array_equal(results["grown"][:, 3:], np.maximum(inputs["x"], 0))
        # The same shapes in arrays of their own are another program.
        apart = np.zeros((2, 5, 5), np.float32)
        model.bind(inputs, {**results, "grown": apart}).run()
        assert np.array_equal(apart, results["grown"])
        counts.append(stages.count("generate kernels"))
    assert counts == [2, 0]


def test_models_with_parts_on_other_engines_are_not_bound() -> None:
    model = compiled(model_of(GROWTH.format(axis=1)), backends=["numpy"])
    with pytest.raises(xrelay.ModelError, match="model 'growth' has parts on other engines"):
        model.bind(*good())


def test_static_models_are_bound() -> None:
    proto = model_of("m (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    model = xrelay.compile(proto, cache=False)
    assert isinstance(model, xrelay.Model)
    x, y = floats(2, 3), np.zeros((2, 3), np.float32)
    binding = model.bind([x], {"y": y})
    assert binding.inputs[0] is x and binding.outputs[0] is y
    assert repr(binding) == "<Binding: (float32[2, 3]) -> (float32[2, 3])>"
    for _ in range(2):
        binding.run()
        assert np.array_equal(y, np.maximum(x, 0))
        x *= -1
    memory = np.zeros(9, np.float32)
    with pytest.raises(xrelay.ModelError, match="input 'x' .* and output 'y' .* share memory"):
        model.bind([memory[:6].reshape(2, 3)], [memory[3:].reshape(2, 3)])
    wide = np.zeros((2, 4), np.float32)
    with pytest.raises(xrelay.ModelError, match="found output 'y'; expected C-contiguous arrays"):
        model.bind([x], [wide[:, :3]])
    with pytest.raises(xrelay.ModelError, match="2 inputs"):
        model.bind([x, x], [y])


def test_guards_hold() -> None:
    """The programs of a cache between pages that fault on access."""
    model = compiled(DECODER)
    for at_end in (True, False):
        for known, steps, room in ((3, 1, 4), (2, 3, 9), (7, 2, 9)):
            size = 2 * 3 * room * 8 * 4
            memories = [Guarded(size, 4, at_end=at_end) for _ in range(2)]
            caches = [each.bytes.view(np.float32).reshape(2, 3, room, 8) for each in memories]
            for cache in caches:
                cache[...] = floats(2, 3, room, 8)
            before = [cache.copy() for cache in caches]
            x, y = floats(2, steps, 24), np.zeros((2, steps, 24), np.float32)
            given = [x, *(cache[:, :, :known] for cache in caches)]
            model.bind(given, [y, *(cache[:, :, : known + steps] for cache in caches)]).run()
            names = ("x", "past_key", "past_value")
            old = [x, *(each[:, :, :known] for each in before)]
            wanted = by_onnxruntime(DECODER, dict(zip(names, old, strict=True)))
            np.testing.assert_allclose(y, wanted[0], 1e-4, 1e-5)
            for memory, cache, first, result in zip(
                memories, caches, before, wanted[1:], strict=True
            ):
                memory.check()
                np.testing.assert_allclose(cache[:, :, : known + steps], result, 1e-4, 1e-5)
                rest = slice(known + steps, None)
                assert np.array_equal(cache[:, :, rest], first[:, :, rest])
