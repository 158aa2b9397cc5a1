"""Operators on images and signals whose lengths are open: one program serves all lengths, and computes what onnxruntime does."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_models import model_of

import xrelay
from tests.execution.open_lengths.cases import (
    IMAGES,
    at_opset,
    below,
    boxes,
    check,
    parts,
    reals,
    sizes,
    written,
)
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.runtime.dynamic import DynamicModel

CASES = written(
    {
        "resized by weights": (
            """(float[b, 2, h, w] x) => (float[b, 2, 9, 12] y, float[b, 2, p, q] z, float[b, 2, 7, 5] c, float[b, 2, p, q] s, float[b, 2, 1, 5] a) {
                some = Constant <value_ints = [9, 12]> ()
                few = Constant <value_ints = [7, 5]> ()
                line = Constant <value_ints = [1, 5]> ()
                scales = Constant <value_floats = [1.0, 1.0, 0.5, 0.75]> ()
                y = Resize <mode = "linear", antialias = 1, axes = [2, 3]> (x, , , some)
                z = Resize <mode = "cubic", antialias = 1> (x, , scales)
                c = Resize <mode = "cubic", antialias = 1, exclude_outside = 1, axes = [2, 3]> (x, , , few)
                s = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"> (x, , scales)
                a = Resize <mode = "linear", antialias = 1, coordinate_transformation_mode = "align_corners", axes = [2, 3]> (x, , , line)
            }""",
            {},
            [*IMAGES, {"b": 1, "h": 2, "w": 200}],
            *(18, {}),
        ),
        "resized to open sizes, also to one": (
            """(float[b, 2, h, w] x, float[p, q] like) => (float[b, 2, p, q] a, float[b, 2, p, q] c, float[b, 2, p, q] d) {
                size = Shape (like)
                part = Constant <value_floats = [0.1, 0.2, 0.7, 0.9]> ()
                a = Resize <mode = "linear", coordinate_transformation_mode = "align_corners", axes = [2, 3]> (x, , , size)
                c = Resize <mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel", axes = [2, 3]> (x, , , size)
                d = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize", axes = [2, 3]> (x, part, , size)
            }""",
            {},
            sizes("b h w p q", (2, 9, 12, 5, 7), (1, 2, 5, 1, 4), (2, 3, 2, 9, 1), (3, 8, 4, 1, 1)),
            *(18, {}),
        ),
        "resized to one": (
            """(float[b, 2, h, w] x) => (float[b, 2, p, q] y) {
                scales = Constant <value_floats = [1.0, 1.0, 0.5, 0.5]> ()
                y = Resize <mode = "linear", antialias = 1, coordinate_transformation_mode = "align_corners"> (x, , scales)
            }""",
            {},
            sizes("b h w", (2, 20, 30), (1, 2, 8), (2, 2, 2), (3, 8, 4)),
            *(18, {}),
        ),
        "nearest elements": (
            """(float[b, 2, h, w] x) => (float[b, 2, p, q] y, float[b, 2, r, s] z, float[m, 2, h, w] a, float[b, 2, t, u] f) {
                scales = Constant <value_floats = [1.0, 1.0, 0.5, 1.5]> ()
                fit = Constant <value_ints = [9, 12]> ()
                half = Constant <value_floats = [1.5]> ()
                y = Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, , scales)
                z = Resize <keep_aspect_ratio_policy = "not_larger", nearest_mode = "floor", axes = [2, 3]> (x, , , fit)
                a = Resize <nearest_mode = "ceil", axes = [0]> (x, , half)
                f = Resize <keep_aspect_ratio_policy = "not_larger", coordinate_transformation_mode = "tf_half_pixel_for_nn",
                            nearest_mode = "round_prefer_ceil", axes = [2, 3]> (x, , , fit)
            }""",
            {},
            sizes("b h w", (2, 20, 24), (3, 18, 24), (2, 40, 50), (4, 9, 11), (7, 30, 33)),
            *(18, {}),
        ),
        "spectra": (
            """(float[b, n, k, 1] x, float[m] l) => (float[b, n, k, 2] y, float[b, p, k, 2] z, float[b, n, k, 2] r, float[b, m, k, 2] s) {
                axis = Constant <value_int = 1> ()
                y = DFT (x, , axis)
                z = DFT <onesided = 1> (x, , axis)
                r = DFT <inverse = 1> (y, , axis)
                shape = Shape (l)
                length = Squeeze (shape)
                s = DFT (x, length, axis)
            }""",
            {},
            sizes(
                "b n k m", (2, 16, 3, 9), (3, 7, 1, 8), (1, 1, 5, 3), (2, 33, 2, 40), (4, 6, 6, 6)
            ),
            *(20, {}),
        ),
        "frames": (
            """(float[b, n] x, float[m] w, float[b, n, 2] c) => (float[b, p, k, 2] y, float[b, p, m, 2] z) {
                step = Constant <value_int = 3> ()
                y = STFT (x, step, w)
                size = Shape (w)
                length = Squeeze (size)
                z = STFT <onesided = 0> (c, step, , length)
            }""",
            {},
            sizes("b n m", (2, 40, 16), (3, 17, 9), (1, 5, 5), (2, 30, 1), (4, 64, 33)),
            *(17, {}),
        ),
        "windows": (
            """(float[n] x) => (float[n] y, float[n] z, float[n] u) {
                size = Shape (x)
                number = Squeeze (size)
                y = HannWindow (number)
                z = HammingWindow <periodic = 0> (number)
                u = BlackmanWindow (number)
            }""",
            {},
            sizes("n", (16,), (7,), (2,), (400,)),
            *(17, {}),
        ),
        "resized to fit": (
            """(float[b, 2, h, w] x) => (float[b, 2, p, q] y, float[b, 2, p, q] z) {
                room = Constant <value_ints = [12, 9]> ()
                y = Resize <mode = "linear", keep_aspect_ratio_policy = "not_larger", axes = [2, 3]> (x, , , room)
                z = Resize <mode = "cubic", antialias = 1, keep_aspect_ratio_policy = "not_larger", axes = [2, 3]> (x, , , room)
            }""",
            {},
            sizes("b h w", (2, 20, 31), (3, 10, 17), (1, 1, 8), (2, 16, 40), (2, 30, 23)),
            *(18, {}),
        ),
        "suppression": (
            """(float[b, n, 4] x, float[b, 3, n] s) => (int64[k, 3] y) {
                most = Constant <value_ints = [10]> ()
                threshold = Constant <value_floats = [0.5]> ()
                least = Constant <value_floats = [0.1]> ()
                y = NonMaxSuppression (x, s, most, threshold, least)
            }""",
            {"x": boxes, "s": parts},
            sizes("b n", (2, 20), (3, 33), (2, 100), (4, 7), (2, 2)),
            *(20, {}),
        ),
        "regions": (
            """(float[2, 4, h, w] x, float[n, 4] r, int64[n] i) => (float[n, 4, 3, 5] y, float[n, 4, 3, 5] z, float[n, 4, 2, 2] m) {
                y = RoiAlign <output_height = 3, output_width = 5, sampling_ratio = 2, spatial_scale = 0.25> (x, r, i)
                z = RoiAlign <output_height = 3, output_width = 5, coordinate_transformation_mode = "output_half_pixel"> (x, r, i)
                m = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 1, mode = "max"> (x, r, i)
            }""",
            {"r": boxes, "i": below(2)},
            sizes("h w n", (20, 30, 5), (33, 17, 9), (9, 12, 40), (25, 25, 2)),
            *(16, {}),
        ),
        "places of the largest": (
            """(float[b, 3, h, w] x) => (float[b, 3, p, q] y, int64[b, 3, p, q] i, float[b, 3, r, s] z, int64[b, 3, r, s] j) {
                y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
                z, j = MaxPool <kernel_shape = [3, 3], strides = [2, 1], pads = [1, 0, 1, 2]> (x)
            }""",
            *({}, IMAGES, 20, {}),
        ),
        "pools": (
            """(float[b, 3, h, w] x) => (float[b, 3, p, q] y, float[b, 3, r, s] z, float[b, 3, t, u] a, float[b, 3, k, l] c) {
                y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)
                z = AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)
                a = MaxPool <kernel_shape = [3, 5], strides = [1, 3], auto_pad = "SAME_UPPER"> (x)
                c = AveragePool <kernel_shape = [3, 3], strides = [3, 3], pads = [0, 1, 1, 0], count_include_pad = 1> (x)
            }""",
            *({}, IMAGES, 20, {}),
        ),
        "means of bytes": (
            """(float[b, 4, h, w] x) => (float[b, 4, 1, 1] y) {
                scale = Constant <value_float = 0.05> ()
                other = Constant <value_float = 0.0123> ()
                q = QuantizeLinear(x, scale, zero)
                d = DequantizeLinear(q, scale, zero)
                m = GlobalAveragePool(d)
                r = QuantizeLinear(m, other, zero)
                y = DequantizeLinear(r, other, zero)
            }""",
            *({}, IMAGES, 17, {}),
        ),
        "sizes in floating point": (
            """(float[b, 3, h, w] x) => (float[b, 3, p, q] y, float[b, 3, r, q] z) {
                factors = Constant <value_floats = [0.7, 1.3]> ()
                three = Constant <value_float = 3.0> ()
                lengths = Shape <start = 2, end = 4> (x)
                outer = Shape <start = 0, end = 2> (x)
                reals = Cast <to = 1> (lengths)
                products = Mul (reals, factors)
                down = Floor (products)
                whole = Cast <to = 7> (down)
                size = Concat <axis = 0> (outer, whole)
                y = Resize <mode = "linear"> (x, , , size)
                thirds = Div (reals, three)
                up = Ceil (thirds)
                height = Slice (up, nought, one)
                width = Slice (down, one, two)
                both = Concat <axis = 0> (height, width)
                others = Cast <to = 7> (both)
                other_size = Concat <axis = 0> (outer, others)
                z = Resize <mode = "nearest"> (x, , , other_size)
            }""",
            *({}, IMAGES, 17, {}),
        ),
        "turned and rolled": (
            """(float[b, 3, h, w] x) => (float[b, 3, h, w] y, float[b, 3, h, w] z) {
                three = Constant <value_ints = [3]> ()
                back = Constant <value_ints = [-1]> ()
                far = Constant <value_ints = [-9223372036854775807]> ()
                y = Slice (x, back, far, three, back)
                width = Shape <start = 3> (x)
                places = Constant <value_ints = [-5]> ()
                first = Mod (places, width)
                head = Slice (x, nought, first, three)
                tail = Slice (x, first, width, three)
                z = Concat <axis = 3> (tail, head)
            }""",
            *({}, IMAGES, 17, {}),
        ),
        "padded as the result asks for": (
            """(float[b, 3, h, w] x) => (float[b, 4, p, q] y, float[b, 3, p, q] z) {
                y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, k)
                m = MaxPool <auto_pad = "SAME_LOWER", kernel_shape = [3, 2], strides = [2, 2]> (x)
                a = AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [3, 2], strides = [2, 2]> (x)
                z = Add (m, a)
            }""",
            *({}, IMAGES, 17, {"k": (4, 3, 3, 3)}),
        ),
        "deformed windows": (
            """(float[b, 4, h, w] x, float[b, 18, h, w] o) => (float[b, 6, h, w] y) {
                y = DeformConv <pads = [1, 1, 1, 1], kernel_shape = [3, 3]> (x, k, o)
            }""",
            *({}, IMAGES[:3], 20, {"k": (6, 4, 3, 3)}),
        ),
        "grids": (
            """(float[b, 2, 3] t, float[b, 3, h, w] x) => (float[b, h, w, 2] y, float[b, h, w, 2] z) {
                s = Shape(x)
                y = AffineGrid(t, s)
                z = AffineGrid <align_corners = 1> (t, s)
            }""",
            *({}, IMAGES[:3], 20, {}),
        ),
    }
)


@pytest.mark.parametrize("name", CASES)
def test_one_program_serves_all_lengths(name: str) -> None:
    check(CASES[name])


FOLDED = """(float[b, c, l] x, float[1, 1, h, w] like) => (float[b, p, q, r] y) {{
    shape = Shape <start = 2> (like)
    block = Constant <value_ints = [2, 3]> ()
    y = Col2Im {} (x, shape, block)
}}"""


@pytest.mark.parametrize(
    ("attributes", "steps", "pads"),
    [("", (1, 1), (0, 0)), ("<strides = [2, 1], pads = [1, 0, 1, 2]>", (2, 1), (2, 2))],
)
def test_sums_of_windows(attributes: str, steps: tuple[int, int], pads: tuple[int, int]) -> None:
    """Of images whose size is an input; the number of windows follows from it."""
    random = np.random.default_rng(3)
    model = at_opset(18, model_of(f"folded {FOLDED.format(attributes)}"))
    oracle = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = xrelay.compile(model, cache=False)
    assert isinstance(compiled, DynamicModel)
    for batch, channels, height, width in (
        (2, 3, 8, 9),
        (1, 1, 2, 3),
        (3, 5, 17, 12),
        (2, 3, 4, 40),
    ):
        rows = (height + pads[0] - 2) // steps[0] + 1
        columns = (width + pads[1] - 3) // steps[1] + 1
        x = reals(random, {}, (batch, 6 * channels, rows * columns))
        given = {"x": x, "like": np.zeros((1, 1, height, width), np.float32)}
        (wanted,) = oracle.run(None, given)
        np.testing.assert_allclose(compiled.run(given)["y"], wanted, 1e-5, 1e-5)
    assert len({each.conditions for each in compiled.specialisations}) == 1
    with pytest.raises(OnnxImportError, match="places in images"):
        compiled.run({**given, "x": x[..., 1:]})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_corners_of_images_that_keep_their_ratio(mode: str, policy: str) -> None:
    """As ONNX's own evaluator: onnxruntime takes the rounded size for the scaled one."""
    model = at_opset(
        18,
        model_of(
            f"""fitted (float[b, 2, h, w] x, float[p, q] like) => (float[b, 2, s, t] y) {{
                size = Shape (like)
                y = Resize <mode = "{mode}", coordinate_transformation_mode = "align_corners",
                            keep_aspect_ratio_policy = "{policy}", axes = [2, 3]> (x, , , size)
            }}"""
        ),
    )
    compiled = xrelay.compile(model, cache=False)
    assert isinstance(compiled, DynamicModel)
    random, oracle = np.random.default_rng(4), ReferenceEvaluator(model)
    for h, w, p, q in ((9, 12, 5, 7), (12, 9, 5, 7), (4, 4, 4, 4), (7, 20, 3, 2), (5, 3, 11, 17)):
        given = {"x": reals(random, {}, (2, 2, h, w)), "like": np.zeros((p, q), np.float32)}
        (wanted,) = oracle.run(None, given)
        np.testing.assert_allclose(compiled.run(given)["y"], wanted, 1e-4, 1e-4)
    assert len({each.conditions for each in compiled.specialisations}) == 1


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_sizes_of_nothing_beside_a_ratio(mode: str) -> None:
    """A size of 0 leaves the scale to the others."""
    text = f"""fitted (float[b, 2, h, w] x, float[p, q] like) => (float[b, 2, s, t] y) {{
        size = Shape (like)
        y = Resize <mode = "{mode}", keep_aspect_ratio_policy = "not_smaller", axes = [2, 3]> (x, , , size)
    }}"""
    model = at_opset(18, model_of(text))
    compiled = xrelay.compile(model, cache=False)
    random, oracle = np.random.default_rng(5), ReferenceEvaluator(model)
    for p, q in ((3, 4), (0, 4), (4, 0)):
        given = {"x": reals(random, {}, (1, 2, 5, 7)), "like": np.zeros((p, q), np.float32)}
        (wanted,) = oracle.run(None, given)
        np.testing.assert_allclose(compiled.run(given)["y"], wanted, 1e-4, 1e-4)


@pytest.mark.parametrize("ranges", [{}, {"h": (2, 64), "w": (2, 64)}, {"h": (5, 40)}])
def test_images_that_are_halved_and_doubled(
    tmp_path: Path, ranges: dict[str, tuple[int, int]]
) -> None:
    """Usual lengths are odd, so others are tried for a file, and the program serves what divides."""
    text = """net (float[n, 3, h, w] x) => (float[n, 6, h, w] y) {
        scales = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
        a = Relu (x)
        b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
        c = Resize <mode = "nearest"> (b, , scales)
        y = Concat <axis = 1> (a, c)
    }"""
    model, path = at_opset(18, model_of(text)), tmp_path / "model.so"
    compiled = xrelay.compile(model, shapes=ranges)
    assert isinstance(compiled, DynamicModel)
    compiled.save(path)
    found, oracle = xrelay.load(path), onnxruntime.InferenceSession(model.SerializeToString())
    random = np.random.default_rng(6)
    for n, h, w in ((1, 8, 12), (2, 40, 6), (3, 20, 34)):
        given = {"x": reals(random, {}, (n, 3, h, w))}
        (wanted,) = oracle.run(None, given)
        np.testing.assert_allclose(found.run(given)["y"], wanted, 1e-5)
