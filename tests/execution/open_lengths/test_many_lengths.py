"""Programs for many lengths: right at all that they serve, whatever they were compiled at, and within their buffers."""

from collections.abc import Mapping

import numpy as np
import onnxruntime
import pytest
from cases.open_lengths import BYTES, CASES, DEPTHS, TRANSPOSED_BYTES
from onnx import ModelProto, numpy_helper
from onnx_models import model_of
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument
from open_shapes.code import check, inputs_at, open_code

import xrelay
from xrelay.options import CompileOptions


@pytest.mark.parametrize("target", ["x86-64-v4"], indirect=True)
def test_images_of_one_line(target: str) -> None:
    """Few columns of a first call are all that its program serves, whatever lengths are likely."""
    model = model_of(
        """line (float[1, 24, height, width] x) => (float[1, 24, height, width] y) {
            y = Conv <pads = [1, 1, 1, 1]> (x, w)
        }""",
        w=(24, 24, 3, 3),
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = xrelay.compile(model, target=target, cache=False)
    random = np.random.default_rng(0)
    for width in (3, 2, 15, 16, 40, 1):
        x = random.standard_normal((1, 24, 1, width), np.float32)
        (found,) = compiled.run({"x": x}).values()
        np.testing.assert_allclose(found, session.run(None, {"x": x})[0], 1e-4, 1e-5)


def test_sizes_that_do_not_divide_take_another_program() -> None:
    model, first, _ = CASES["up and down"]
    lengths = open_code(model, first, CompileOptions()).signature.lengths
    assert lengths is not None
    assert lengths.at([(3, 3, 50, 30)]) is not None
    assert lengths.at([(3, 3, 51, 30)]) is None
    assert lengths.at([(3, 3, 50, 31)]) is None


@pytest.mark.parametrize(("threads", "target"), [(1, "native"), (2, "x86-64")])
@pytest.mark.parametrize("name", CASES)
def test_one_program_serves_many_lengths(name: str, threads: int, target: str) -> None:
    model, first, others = CASES[name]
    code = open_code(model, first, CompileOptions(threads, target))
    for lengths in others:
        check(model, code, lengths)


OF_ROUNDING = "great depths"
"""A case whose results are further from onnxruntime's at some lengths."""
EQUAL = "reshapes"
"""One in which a length is twice the product of others."""


@pytest.mark.parametrize("name", [each for each in CASES if each not in (OF_ROUNDING, EQUAL)])
def test_lengths_of_one(name: str) -> None:
    """Programs serve them as they do others, whether the first call had one or not."""
    model, first, others = CASES[name]
    ones = [{**first, each: 1} for each in first] + [dict.fromkeys(first, 1)]
    possible = [each for each in ones if makes_sense(model, each)]
    assert possible
    for start in (first, possible[-1]):
        code = open_code(model, start, CompileOptions(2))
        for lengths in (*possible, first, others[0]):
            check(model, code, lengths)


def makes_sense(model: ModelProto, lengths: Mapping[str, int]) -> bool:
    """Whether onnxruntime runs a model at some lengths: windows may be longer than images."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    try:
        session.run(None, inputs_at(model, lengths))
    except (Fail, InvalidArgument):
        return False
    return True


PRODUCT_SIZES = (
    *((3, 40, 96, 48), (3, 33, 65, 17), (2, 64, 130, 100), (2, 3, 5, 7), (5, 17, 64, 16)),
    *((2, 9, 2, 24), (3, 16, 3, 33), (2, 5, 259, 40)),
)
"""Batch, rows, depth and columns."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4-vnni", "x86-64-v4-amx"], indirect=True)
@pytest.mark.parametrize("model", [BYTES, TRANSPOSED_BYTES])
def test_products_of_bytes(model: ModelProto, target: str, threads: int) -> None:
    """Groups of the depth that are not whole, also in fewer columns than a panel has."""
    names = ("b", "m", "k", "n")
    sizes = [dict(zip(names, sizes, strict=True)) for sizes in PRODUCT_SIZES]
    code = open_code(model, sizes[0], CompileOptions(threads, target))
    for lengths in sizes:
        check(model, code, lengths)


@pytest.mark.parametrize("target", ["x86-64-v4-bf16", "x86-64-v4-amx"], indirect=True)
def test_attention_in_bfloats(target: str) -> None:
    """The values are summed over keys whose last group may have one element."""
    model, steps, others = CASES["attention"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = xrelay.compile(model, target=target, precision="bf16", threads=2, cache=False)
    random = np.random.default_rng(0)
    for lengths in (steps, *others):
        given = {
            value.name: random.standard_normal(
                [
                    lengths.get(dim.dim_param, dim.dim_value)
                    for dim in value.type.tensor_type.shape.dim
                ]
            ).astype(np.float32)
            for value in model.graph.input
        }
        for found, wanted in zip(
            compiled.run(given).values(), session.run(None, given), strict=True
        ):
            np.testing.assert_allclose(found, wanted, 0.05, 0.05)
    (conditions,) = {each.conditions for each in compiled.specialisations}
    assert conditions is not None


@pytest.mark.parametrize("target", ["x86-64-v4-bf16", "x86-64-v4-amx"], indirect=True)
def test_sums_of_bfloats_over_a_length(target: str) -> None:
    """Infinity in one row is not part of the others, whose last groups have one element."""
    model = xrelay.compile(DEPTHS, target=target, precision="bf16", threads=2, cache=False)
    random = np.random.default_rng(0)
    sizes = ((2, 9, 101), (3, 40, 31), (2, 2, 3), (2, 17, 64), (2, 5, 2))
    for b, m, k in sizes:
        shapes = {"x": (b, m, k), "y": (b, k, 24), "z": (b, 40, k), "p": (b, 1, k)}
        given = {
            name: random.integers(-8, 9, shape).astype(np.float32) for name, shape in shapes.items()
        }
        given["x"][:, 0] = np.inf
        found = model.run(given)
        x, y, z, p = (given[name] for name in ("x", "y", "z", "p"))
        for name, wanted in (("u", x[:, 1:] @ y), ("v", x[:, 1:] @ z.transpose(0, 2, 1))):
            np.testing.assert_allclose(found[name][:, 1:], wanted, 1 / 128)
        np.testing.assert_allclose(found["w"], p @ y, 1 / 128)
    (conditions,) = {each.conditions for each in model.specialisations}
    assert conditions is not None


BYTE_IMAGES = model_of(
    """images (uint8[n, 3, h, w] x, int8[40, 3, 7, 7] v, int8[33, 40, 3, 3] u) => (int32[n, 33, p, q] y) {
        a = ConvInteger <strides = [2, 2], pads = [3, 3, 3, 3]> (x, v)
        b = Cast <to = 2> (a)
        y = ConvInteger <pads = [1, 1, 1, 1]> (b, u)
    }"""
)


@pytest.mark.parametrize("columns", [None, 10, 41])
@pytest.mark.parametrize(
    ("target", "threads"), [("x86-64-v4-vnni", 1), ("x86-64-v4-amx", 2)], indirect=["target"]
)
def test_convolutions_of_bytes(target: str, threads: int, columns: int | None) -> None:
    """
    Also of images that are smaller than a tile, and of several rows of tiles, which may have a known number of columns
    where that of rows is open.
    """
    random = np.random.default_rng(0)
    model = ModelProto()
    model.CopyFrom(BYTE_IMAGES)
    if columns is not None:
        model.graph.input[0].type.tensor_type.shape.dim[3].dim_value = columns
    for value in (model.graph.input.pop(), model.graph.input.pop()):
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        weights = random.integers(-128, 128, shape, np.int8)
        model.graph.initializer.append(numpy_helper.from_array(weights, value.name))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = xrelay.compile(model, target=target, threads=threads, cache=False)
    for n, h, w in ((1, 40, 60), (2, 31, 9), (1, 7, 7), (1, 1, 90)):
        x = random.integers(0, 256, (n, 3, h, w if columns is None else columns), np.uint8)
        (found,) = compiled.run({"x": x}).values()
        (wanted,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("out", [24, 256])
@pytest.mark.parametrize("target", ["x86-64-v4-vnni", "x86-64-v4-amx"], indirect=True)
def test_images_without_pads_are_read_to_their_end(target: str, out: int) -> None:
    """And not beyond, where rows of windows of 3 taps are read as groups of 4."""
    model = model_of(
        f"""image (uint8[1, 3, h, w] x) => (int32[1, {out}, p, q] y) {{
            y = ConvInteger <strides = [2, 2]> (x, v)
        }}"""
    )
    weights = np.random.default_rng(0).integers(-128, 128, (out, 3, 3, 3), np.int8)
    model.graph.initializer.append(numpy_helper.from_array(weights, "v"))
    for threads in (1, 2):
        code = open_code(model, {"h": 64, "w": 64}, CompileOptions(threads, target))
        for h, w in ((63, 63), (64, 65), (62, 64), (5, 3)):
            check(model, code, {"h": h, "w": w})


@pytest.mark.parametrize("channels", [(512, 16), (1024, 32)])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"], indirect=True)
def test_few_tiles_of_deep_images_fit_into_a_block(target: str, channels: tuple[int, int]) -> None:
    """Winograd's blocks have room for fewer of them than registers, which few output channels leave free."""
    depth, out = channels
    model = model_of(
        f"""image (float[1, {depth}, h, w] x) => (float[1, {out}, p, q] y) {{
            y = Conv <pads = [1, 1, 1, 1]> (x, v)
        }}""",
        v=(out, depth, 3, 3),
    )
    for threads in (1, 2):
        code = open_code(model, {"h": 24, "w": 24}, CompileOptions(threads, target))
        assert any(step.implementation.startswith("winograd") for step in code.signature.steps)
        for h, w in ((24, 24), (7, 9), (1, 1), (50, 3)):
            check(model, code, {"h": h, "w": w}, tolerance=1e-3)
