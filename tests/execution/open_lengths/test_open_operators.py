"""
Operators whose lengths are open: one program serves all lengths, and computes what onnxruntime does. What several share is
tested in test_many_lengths.py, between pages that fault on access.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper
from onnx_models import model_of

import xrelay
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel

Random = np.random.Generator
Sizes = Mapping[str, int]
Make = Callable[[Random, Sizes, Sequence[int]], Array]
"""An input of some shape, made at some lengths."""


def reals(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """Numbers around 0."""
    return random.standard_normal(shape, np.float32)


def parts(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """Numbers between 0 and 1."""
    return random.random(shape, np.float32)


def boxes(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """Two corners of each box."""
    first = random.uniform(0, 50, (*shape[:-1], 2))
    last = first + random.uniform(1, 30, first.shape)
    return np.concatenate([first, last], -1).astype(np.float32)


def below(limit: str | int, dtype: type = np.int64) -> Make:
    """Whole numbers that are not negative, below a length."""

    def make(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
        return random.integers(0, sizes.get(str(limit), limit), shape, dtype)

    return make


def counts(limit: str) -> Make:
    """Whole numbers from 1 to a length."""
    return lambda random, sizes, shape: random.integers(1, sizes[limit] + 1, shape, np.int32)


def leading(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """A mask of tokens: the first ones of each row count."""
    lengths = random.integers(1, shape[-1] + 1, (*shape[:-1], 1))
    return (np.arange(shape[-1]) < lengths).astype(np.int32)


@dataclass(frozen=True)
class Case:
    """A model, how its inputs are made where they are no reals, and lengths."""

    model: ModelProto
    inputs: Mapping[str, Make]
    sizes: Sequence[Sizes]


def sizes(names: str, *lengths: tuple[int, ...]) -> list[dict[str, int]]:
    """Lengths by their names."""
    return [dict(zip(names.split(), each, strict=True)) for each in lengths]


IMAGES = sizes("b h w", (2, 20, 30), (3, 9, 8), (2, 17, 33), (4, 18, 31), (2, 19, 32))
ROWS = sizes("b n", (2, 20), (3, 33), (2, 100), (4, 7), (2, 5000), (3, 15), (2, 16), (2, 17))


def at_opset(version: int, model: ModelProto) -> ModelProto:
    """A model, in an operator set of ONNX, with a zero point of bytes, and places in lists."""
    model.opset_import[0].version = version
    constants = {"zero": np.array(117, np.uint8)}
    constants |= {name: np.array([i]) for i, name in enumerate(("nought", "one", "two"))}
    used = {name for node in model.graph.node for name in node.input}
    for name in sorted(constants.keys() & used):
        model.graph.initializer.append(numpy_helper.from_array(constants[name], name))
    return model


def top(k: str, results: str) -> str:
    """A graph with TopK, whose number of elements is computed first."""
    return f"(float[b, n] x) => (float[b, {results}] y, int64[b, {results}] i) {{ {k} y, i = TopK (x, k) }}"


CASES: dict[str, Case] = {
    name: Case(at_opset(opset, model_of(f"model {text}", **weights)), inputs, lengths)
    for name, (text, inputs, lengths, opset, weights) in {
        "topk": (top("k = Constant <value_ints = [5]> ()", "5"), {}, ROWS, 20, {}),
        "topk of all": (top("k = Shape <start = 1> (x)", "n"), {}, ROWS, 20, {}),
        "topk of at most a thousand": (
            top(
                "s = Shape <start = 1> (x) h = Constant <value_ints = [1000]> () k = Min(s, h)", "m"
            ),
            *({}, ROWS, 20, {}),
        ),
        "topk along another axis": (
            """(int64[b, n, w] x) => (int64[b, 3, w] y, int64[b, 3, w] i) {
                k = Constant <value_ints = [3]> ()
                y, i = TopK <axis = 1, largest = 0> (x, k)
            }""",
            {"x": below(9)},
            sizes("b n w", (2, 20, 3), (3, 33, 17), (4, 7, 9), (2, 500, 6), (3, 3, 4)),
            *(20, {}),
        ),
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
        "einsum": (
            """(float[b, s, 6] x, float[b, t, 6] k) => (float[b, s, t] y, float[b, s, 4] z) {
                y = Einsum <equation = "bsd,btd->bst"> (x, k)
                z = Einsum <equation = "bsd,de->bse"> (x, w)
            }""",
            {},
            sizes("b s t", (2, 5, 7), (1, 1, 1), (3, 1, 4), (1, 40, 1), (2, 3, 3)),
            *(18, {"w": (6, 4)}),
        ),
        "rows that fall as a length grows": (
            """(float[40, 8] x, float[n, 2] z) => (float[m, 5] y) {
                start = Shape <end = 1> (z)
                stop = Constant <value_ints = [100]> ()
                axis = Constant <value_ints = [0]> ()
                rows = Slice (x, start, stop, axis)
                y = MatMul (rows, w)
            }""",
            {},
            sizes("n", (3,), (1,), (15,), (8,), (39,)),
            *(18, {"w": (8, 5)}),
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
        "unique": (
            "(int64[n] x) => (int64[m] y, int64[m] i, int64[n] v, int64[m] c) { y, i, v, c = Unique <sorted = 0> (x) }",
            {"x": below(9)},
            sizes("n", (20,), (33,), (7,), (2,), (200,)),
            *(20, {}),
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
        "padded and cut off again": (
            """(float[b, n, 6] x) => (float[b, n, 6] y) {
                four = Constant <value_ints = [4]> ()
                length = Shape <start = 1, end = 2> (x)
                over = Mod (length, four)
                short = Sub (four, over)
                more = Mod (short, four)
                pads = Concat <axis = 0> (nought, nought, nought, nought, more, nought)
                p = Pad (x, pads)
                q = Tanh (p)
                y = Slice (q, nought, length, one)
            }""",
            *({}, sizes("b n", (2, 9), (3, 8), (2, 11), (4, 33), (2, 3)), 17, {}),
        ),
        "ranges": (
            """(float[b, n] x) => (float[b, n] y, float[b, n] z) {
                real_zero = Constant <value_float = 0.0> ()
                real_one = Constant <value_float = 1.0> ()
                minus_one = Constant <value_int = -1> ()
                length = Shape <start = 1> (x)
                number = Squeeze (length)
                real = Cast <to = 1> (number)
                places = Range (real_zero, real, real_one)
                y = Add (x, places)
                last = Add (number, minus_one)
                back = Range (last, minus_one, minus_one)
                real_back = Cast <to = 1> (back)
                z = Mul (x, real_back)
            }""",
            *({}, ROWS[:4], 17, {}),
        ),
        "one of a length": (
            """(float[b, n] x, int64[b, k] i) => (float[b, k, n] y) {
                length = Shape <start = 1> (x)
                ends = Constant <value_floats = [0.5, 2.0]> ()
                y = OneHot <axis = 2> (i, length, ends)
            }""",
            {"i": below("n")},
            sizes("b n k", (2, 20, 3), (3, 9, 9), (4, 33, 5)),
            *(17, {}),
        ),
        "parts": (
            "(float[b, n] x) => (float[b, p] y, float[b, p] z, float[b, q] v) { y, z, v = Split <axis = 1, num_outputs = 3> (x) }",
            *({}, ROWS[:4], 18, {}),
        ),
        "shapes in parts": (
            """(float[b, 3, h, w] x) => (float[b, n, 3] y) {
                ones = Constant <value_ints = [1, 1, 2]> ()
                shape = Shape (x)
                batch, channels, image = Split (shape, ones)
                count = ReduceProd (image)
                whole = Concat <axis = 0> (batch, channels, count)
                flat = Reshape (x, whole)
                y = Transpose <perm = [0, 2, 1]> (flat)
            }""",
            *({}, IMAGES, 17, {}),
        ),
        "determinants": (
            "(float[b, n, 3, 3] x) => (float[b, n] y) { y = Det (x) }",
            *({}, sizes("b n", (2, 5), (3, 2), (2, 17)), 20, {}),
        ),
        "ones on a diagonal": (
            "(float[n, m] x) => (float[n, m] y) { e = EyeLike <k = 1> (x) y = Add(x, e) }",
            *({}, sizes("n m", (20, 20), (3, 17), (33, 5)), 20, {}),
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
        "caches": (
            """(float[b, 2, n, 4] x, float[b, 2, m, 4] u, int64[b] w) => (float[b, 2, n, 4] y) {
                y = TensorScatter <mode = "circular"> (x, u, w)
            }""",
            {"w": below("n")},
            sizes("b n m", (2, 20, 3), (3, 9, 9), (4, 33, 5)),
            *(24, {}),
        ),
        "losses": (
            "(float[b, 5, n] x, int64[b, n] t) => (float l) { l = SoftmaxCrossEntropyLoss(x, t) }",
            {"t": below(5)},
            sizes("b n", (2, 20), (3, 9), (2, 17)),
            *(20, {}),
        ),
        "attention": (
            """(float[b, s, 16] q, float[b, t, 16] k, float[b, t, 16] v) => (float[b, s, 16] y) {
                y = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1> (q, k, v)
            }""",
            *({}, sizes("b s t", (2, 5, 9), (3, 9, 9), (2, 17, 33), (4, 4, 4)), 23, {}),
        ),
    }.items()
}


@dataclass(frozen=True)
class Written:
    """A node of com.microsoft: the shapes of its inputs, None for absent ones, and how they are made."""

    op: str
    shapes: Sequence[tuple[str | int, ...] | None]
    attributes: Mapping[str, int]
    inputs: Mapping[int, Make]
    outputs: int = 1


STATES = ("b", "s", 8)
TOKENS = sizes("b s t past keys", (2, 5, 7, 3, 8), (3, 9, 4, 20, 29), (4, 16, 16, 16, 32))
GROUPED: Sequence[tuple[str | int, ...]] = (
    *((1, "s", 64), (1, "s", 32), (1, "s", 32), (1, 2, "past", 16), (1, 2, "past", 16)),
    *((1,), (), (99, 8), (99, 8)),
)
PLACES: Mapping[int, Make] = {
    5: lambda random, sizes, shape: np.full(shape, sizes["keys"] - 1, np.int32),
    6: lambda random, sizes, shape: np.full(shape, sizes["keys"], np.int32),
}
MICROSOFT: dict[str, Written] = {
    "heads of one product": Written("Attention", [STATES, (8, 24), (24,)], {"num_heads": 2}, {}),
    "a mask of tokens": Written(
        "Attention", [STATES, (8, 24), (24,), ("b", "s")], {"num_heads": 2}, {3: leading}
    ),
    "numbers of tokens": Written(
        "Attention", [STATES, (8, 24), (24,), ("b",)], {"num_heads": 2}, {3: counts("s")}
    ),
    "a past": Written(
        "Attention",
        [STATES, (8, 24), (24,), None, (2, "b", 2, "past", 4)],
        {"num_heads": 2, "unidirectional": 1},
        {},
        2,
    ),
    "heads": Written(
        "MultiHeadAttention",
        [STATES, ("b", "t", 8), ("b", "t", 8), (24,), ("b", "t")],
        {"num_heads": 2},
        {4: leading},
    ),
    "heads with a past": Written(
        "MultiHeadAttention",
        [
            *(STATES, STATES, STATES, None, None, (1, 2, "s", "keys")),
            *(("b", 2, "past", 4), ("b", 2, "past", 4)),
        ],
        {"num_heads": 2},
        {},
        3,
    ),
    "groups": Written(
        "GroupQueryAttention",
        GROUPED,
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
        PLACES,
        3,
    ),
    "groups, near keys": Written(
        "GroupQueryAttention",
        GROUPED,
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 3},
        PLACES,
        3,
    ),
    "angles": Written(
        "RotaryEmbedding", [("b", 2, "s", 8), (1,), (60, 4), (60, 4)], {}, {1: below(9)}
    ),
    "embeddings": Written(
        "EmbedLayerNormalization",
        [("b", "s"), ("b", "s"), (5, 8), (64, 8), (2, 8), (8,), (8,), ("b", "s")],
        {},
        {0: below(5, np.int32), 1: below(2, np.int32), 7: leading},
        2,
    ),
}


def written_case(written: Written) -> Case:
    """A model of one node, the reals of which that have no open length are constants."""
    random, made = np.random.default_rng(0), dict[str, Make]()
    names, inputs, constants = list[str](), list[ValueInfoProto](), list[Array]()
    for index, shape in enumerate(written.shapes):
        names.append("" if shape is None else f"in{index}")
        if shape is None:
            continue
        make = written.inputs.get(index, reals)
        lengths = [each for each in shape if isinstance(each, int)]
        if make is reals and len(lengths) == len(shape):
            constants.append(numpy_helper.from_array(reals(random, {}, lengths), names[-1]))
            continue
        made[names[-1]] = make
        dtype = make(random, TOKENS[0], [2] * len(shape)).dtype
        code = helper.np_dtype_to_tensor_dtype(dtype)
        inputs.append(helper.make_tensor_value_info(names[-1], code, shape))
    outputs = [f"out{i}" for i in range(written.outputs)]
    node = helper.make_node(
        written.op, names, outputs, domain="com.microsoft", **written.attributes
    )
    results = [ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "graph", inputs, results, constants)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return Case(helper.make_model(graph, opset_imports=domains, ir_version=9), made, TOKENS)


def check(case: Case) -> None:
    """One program gives what onnxruntime gives at all lengths."""
    random = np.random.default_rng(1)
    oracle = onnxruntime.InferenceSession(case.model.SerializeToString())
    model = xrelay.compile(case.model, cache=False)
    assert isinstance(model, DynamicModel)
    constants = {each.name for each in case.model.graph.initializer}
    for lengths in case.sizes:
        given: dict[str, Array] = {}
        for value in case.model.graph.input:
            if value.name in constants:
                continue
            dims = value.type.tensor_type.shape.dim
            shape = [lengths.get(dim.dim_param, dim.dim_value) for dim in dims]
            given[value.name] = case.inputs.get(value.name, reals)(random, lengths, shape)
        for found, wanted in zip(model.run(given).values(), oracle.run(None, given), strict=True):
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(found, wanted, 1e-4, 1e-4, err_msg=str(lengths))
    conditions = {each.conditions for each in model.specialisations}
    assert len(conditions) == 1 and None not in conditions


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


@pytest.mark.parametrize(
    ("node", "mean"),
    [
        ("RandomUniformLike <low = 2.0, high = 4.0>", 3.0),
        ("RandomNormalLike <mean = 2.0, scale = 0.5, seed = 7.0>", 2.0),
        ("Bernoulli", 0.25),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_random_numbers(node: str, mean: float, threads: int) -> None:
    """Those of a program for one shape, which are the same in each run; none for no elements."""
    model = model_of(f"random (float[n, k] x) => (float[n, k] y) {{ y = {node} (x) }}")
    compiled = xrelay.compile(model, cache=False, threads=threads)
    assert isinstance(compiled, DynamicModel)
    for n, k in ((60, 70), (3, 5), (0, 4), (1, 1), (7, 6), (2, 2), (2, 3)):
        x = np.full((n, k), 0.25, np.float32)
        found = compiled.run({"x": x})["y"]
        np.testing.assert_array_equal(compiled.run({"x": x})["y"], found)
        static = xrelay.compile(model, shapes={"n": n, "k": k}, cache=False)
        np.testing.assert_allclose(found, static.run({"x": x})["y"], 1e-6, 1e-6)
        if n == 60:
            assert abs(float(found.mean()) - mean) < 0.03
    assert len({each.conditions for each in compiled.specialisations}) == 1


@pytest.mark.parametrize("name", MICROSOFT)
def test_one_program_serves_all_lengths_of_com_microsoft(name: str) -> None:
    check(written_case(MICROSOFT[name]))
