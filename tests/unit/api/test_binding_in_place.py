"""Outputs of bindings that lie exactly on an input: only what is replaced is written, or all is computed apart."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from guard_pages import LIBC, PAGE, Guarded
from onnx_models import Samples, by_onnxruntime, model_of
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.runtime.dynamic import DynamicModel

floats = Samples(3).floats

REPLACED = """replaced (float[rows, width] cache, float[new, width] x, int64[new, 1] at)
    => (float[rows, width] next, float[new, width] y) {
    y = Relu(x)
    next = ScatterND(cache, at, y)
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_what_stays_is_not_touched(threads: int) -> None:
    """Rows are pages here: those that are not replaced can be neither read nor written."""
    rows, width, at = 5, PAGE // 4, np.array([[3], [1]])
    memory = Guarded(rows * PAGE, 4, at_end=True)
    cache = memory.bytes.view(np.float32).reshape(rows, width)
    before, x, y = floats(rows, width), floats(2, width), np.empty((2, width), "f4")
    cache[:] = before
    model = xrelay.compile(model_of(REPLACED), threads=threads, cache=False)
    binding = model.bind([cache, x, at], [cache, y])

    def protect(flags: int) -> None:
        for row in (0, 2, 4):
            address = ctypes.c_void_p(memory.address + row * PAGE)
            assert not LIBC.mprotect(address, ctypes.c_size_t(PAGE), flags)

    protect(0)
    binding.run()
    protect(3)
    before[at[:, 0]] = np.maximum(x, 0)
    np.testing.assert_array_equal(cache, before)
    memory.check()


@pytest.mark.parametrize(
    "next",
    [
        "ScatterND (twice, at, x)",
        "ScatterND (cache, at, part)",
        "Relu (cache)",
        "Identity (cache)",
        "Add (replaced, replaced)",
    ],
)
def test_what_is_read_otherwise_is_computed_apart(next: str) -> None:
    """What the output lies on is read by more than what replaces its elements."""
    text = f"""m (float[rows, width] cache, float[new, width] x, int64[new, 1] at)
        => (float[rows, width] next, float[width] most) {{
        twice = Add (cache, cache)
        part = GatherND (cache, at)
        replaced = ScatterND (cache, at, x)
        next = {next}
        most = ReduceMax <axes = [0], keepdims = 0> (cache)
    }}"""
    model = model_of(text)
    cache, x, at = floats(6, 3), floats(2, 3), np.array([[5], [0]])
    wanted = by_onnxruntime(model, [cache, x, at])
    results = [cache, np.empty(3, "f4")]
    xrelay.compile(model, cache=False).bind([cache, x, at], results).run()
    for one, other in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


STATE = """state (float[rows, width] cache, float[new, width] x, int64[new, 1] at)
    => (float[rows, width] next, float[rows, width] change, float[rows] most) {
    next = ScatterND(cache, at, x)
    change = Sub(next, cache)
    most = ReduceMax <axes = [1], keepdims = 0> (next)
}"""


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_outputs_that_lie_exactly_on_an_input(static: bool, wide: bool) -> None:
    """A cache of a fixed length: what was there is read until all is computed. It may be a part of a larger array."""
    model = model_of(STATE)
    shapes = {"cache": (7, 3), "x": (2, 3), "at": (2, 1)} if static else None
    found = xrelay.compile(model, shapes=shapes, cache=False)
    memory = floats(7, 5)
    cache = memory[:, :3] if wide else memory[:, :3].copy()
    kept, rest = cache.copy(), memory[:, 3:].copy()
    x, at = floats(2, 3), np.array([[5], [0]])
    change, most = np.empty((7, 3), "f4"), np.empty(7, "f4")
    if static and wide:
        with pytest.raises(xrelay.ModelError, match="parts of larger arrays are for models with"):
            found.bind([cache, x, at], [cache, change, most])
        return
    binding = found.bind([cache, x, at], [cache, change, most])
    for first, second in ((5, 0), (1, 5), (6, 2)):
        at[:, 0] = first, second
        x += 1
        wanted = by_onnxruntime(model, [kept, x, at])
        binding.run()
        for one, other in zip((cache, change, most), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        kept = cache.copy()
    np.testing.assert_array_equal(memory[:, 3:], rest)
    assert binding.outputs[0] is cache


def test_outputs_that_lie_on_an_input_and_on_each_other() -> None:
    model = xrelay.compile(model_of(STATE), cache=False)
    cache, x, at = floats(7, 3), floats(2, 3), np.array([[5], [0]])
    most = np.empty(7, "f4")
    with pytest.raises(DiagnosticException, match="share"):
        model.bind([cache, x, at], [cache, cache, most])
    with pytest.raises(DiagnosticException, match="share"):
        model.bind([cache, x, at], [cache, np.empty((7, 3), "f4"), cache.reshape(-1)[2:9]])
    with pytest.raises(DiagnosticException, match="output 'next' is read-only"):
        cache.flags.writeable = False
        model.bind([cache, x, at], [cache, np.empty((7, 3), "f4"), most])


def test_programs_of_a_file_compute_apart(tmp_path: Path) -> None:
    """They were compiled for arrays apart."""
    xrelay.compile(model_of(REPLACED), cache=False).save(tmp_path / "replaced.so")
    model = xrelay.load(tmp_path / "replaced.so")
    assert isinstance(model, DynamicModel)
    cache, x, at = floats(6, 3), floats(2, 3), np.array([[5], [0]])
    wanted = cache.copy()
    wanted[at[:, 0]] = np.maximum(x, 0)
    model.bind([cache, x, at], [cache, np.empty((2, 3), "f4")]).run()
    np.testing.assert_array_equal(cache, wanted)
