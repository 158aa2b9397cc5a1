"""
The neural network operators in NumPy, compared with onnxruntime, with ONNX's reference evaluator,
and with their definitions written out element by element.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from oracles import (
    close,
    evaluate,
    every_index,
    from_layout,
    reference,
    runtime,
    same,
    sample,
    to_layout,
)
from tiers import fixed_examples

from xrelay.dialects.conv import conv
from xrelay.dialects.conv import gradient as conv_gradient
from xrelay.dialects.nn import correlation, norm, space, upsampling
from xrelay.dialects.pool import adaptive as adaptive_pool
from xrelay.dialects.pool import gradient as pool_gradient
from xrelay.dialects.pool import pool

run_settings = fixed_examples(20, HealthCheck.too_slow, HealthCheck.filter_too_much)
seeds = st.integers(0, 2**32)
DTYPES = ("float16", "float32", "float64", "int8", "int64", "uint16", "bool")


# Element by element

EDGES = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e30, -1e-30])


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@given(seed=seeds, shape=st.lists(st.integers(0, 3), min_size=1, max_size=4), data=st.data())
@run_settings
def test_prelu(dtype: str, seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    rng = np.random.default_rng(seed)
    x = rng.choice(EDGES, shape).astype(dtype)
    alpha = rng.choice(EDGES, shape[axis]).astype(dtype)
    along = alpha.reshape([-1 if d == axis % len(shape) else 1 for d in range(len(shape))])
    found = evaluate(lambda v, a: norm.PReluOp(v, a, axis=axis), x, alpha)
    with np.errstate(all="ignore"):
        same(found, np.where(x > 0, x, x * along))
    if x.size and dtype == "float32":
        finite = np.nan_to_num(x, posinf=3, neginf=-3)
        slopes = np.nan_to_num(alpha, posinf=2, neginf=-2)
        found = evaluate(lambda v, a: norm.PReluOp(v, a, axis=axis), finite, slopes)
        same(found, runtime("PRelu", finite, slopes.reshape(along.shape)))


@given(seed=seeds, shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
@run_settings
def test_l2_normalize(seed: int, shape: list[int], data: st.DataObject):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    x = sample(seed, shape)
    found = evaluate(lambda v: norm.L2NormalizeOp(v, 1e-3, axes), x)
    expected = np.empty_like(x)
    for index in every_index(shape):
        total = 0.0
        for other in every_index(shape):
            if all(i in axes or other[i] == index[i] for i in range(len(shape))):
                total += float(x[other]) ** 2
        expected[index] = x[index] / math.sqrt(max(total, 1e-3))
    close(found, expected, 1e-5, 1e-6)
    if len(axes) == 1:
        oracle = runtime("LpNormalization", x, axis=axes[0], p=2)
        close(evaluate(lambda v: norm.L2NormalizeOp(v, 0.0, axes), x), oracle, 1e-5, 1e-6)


def test_l2_normalize_of_nothing_and_of_halves():
    zeros = np.zeros((2, 3), np.float32)
    same(evaluate(lambda v: norm.L2NormalizeOp(v, 1e-6, [1]), zeros), zeros)
    # Squares of halves that f16 cannot hold.
    x = np.array([300, 400], np.float16)
    found = evaluate(lambda v: norm.L2NormalizeOp(v, 1e-6, [0]), x)
    same(found, np.array([0.6, 0.8], np.float16))


@given(seed=seeds, shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
@run_settings
def test_fast_softmax(seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = sample(seed, shape)
    found = evaluate(lambda v: norm.FastSoftmaxOp(v, axis=axis), x)
    close(found, runtime("Softmax", x, axis=axis), 1e-5, 1e-6)


# Elements that move


@pytest.mark.parametrize("mode", ("SYMMETRIC", "REFLECT"))
@given(seed=seeds, shape=st.lists(st.integers(1, 4), max_size=3), data=st.data())
@run_settings
def test_mirror_pad(mode: str, seed: int, shape: list[int], data: st.DataObject):
    border = 1 if mode == "REFLECT" else 0
    widths = [
        (data.draw(st.integers(0, n - border)), data.draw(st.integers(0, n - border)))
        for n in shape
    ]
    x = sample(seed, shape, DTYPES[seed % len(DTYPES)])
    found = evaluate(lambda v: space.MirrorPadOp(v, widths, mode=mode), x)
    expected = np.empty([n + sum(pair) for n, pair in zip(shape, widths, strict=True)], x.dtype)
    for index in every_index(expected.shape):
        own: list[int] = []
        for i, n, (before, _) in zip(index, shape, widths, strict=True):
            place = i - before
            while not 0 <= place < n:
                place = border - 1 - place if place < 0 else 2 * n - 1 - border - place
            own.append(place)
        expected[index] = x[tuple(own)]
    same(found, expected)


@pytest.mark.parametrize("layout", ("NCHW", "NHWC"))
@given(seed=seeds, sizes=st.tuples(*[st.integers(1, 3)] * 5))
@run_settings
def test_depth_to_space_and_back(layout: str, seed: int, sizes: tuple[int, int, int, int, int]):
    batch, channels, height, width, block = sizes
    x = sample(seed, (batch, channels * block**2, height, width))
    for mode in ("DCR", "CRD"):
        found = evaluate(
            lambda v, m=mode: space.DepthToSpaceOp(v, block, layout=layout, mode=m),
            to_layout(x, "NCHW", layout),
        )
        expected = runtime("DepthToSpace", x, blocksize=block, mode=mode)
        same(from_layout(found, "NCHW", layout), expected)
    large = sample(seed, (batch, channels, height * block, width * block))
    found = evaluate(
        lambda v: space.SpaceToDepthOp(v, block, layout=layout),
        to_layout(large, "NCHW", layout),
    )
    expected = runtime("SpaceToDepth", large, blocksize=block)
    same(from_layout(found, "NCHW", layout), expected)


@given(
    seed=seeds,
    blocks=st.lists(st.integers(1, 3), max_size=2),
    sizes=st.tuples(*[st.integers(1, 3)] * 4),
    data=st.data(),
)
@run_settings
def test_blocks_to_batch_and_back(
    seed: int, blocks: list[int], sizes: tuple[int, int, int, int], data: st.DataObject
):
    batch, *lengths, channels = sizes
    lengths = lengths[: len(blocks)]
    cuts = [
        (data.draw(st.integers(0, 1)), data.draw(st.integers(0, n * block - 1)))
        for n, block in zip(lengths, blocks, strict=True)
    ]
    x = sample(seed, (batch * math.prod(blocks), *lengths, channels))
    found = evaluate(lambda v: space.BatchToSpaceNDOp(v, blocks, crops=cuts), x)
    whole = [n * block for n, block in zip(lengths, blocks, strict=True)]
    expected = np.empty((batch, *whole, channels), x.dtype)
    for index in every_index(expected.shape):
        n, *places, c = index
        image = 0
        for place, block in zip(places, blocks, strict=True):
            image = image * block + place % block
        parts = [place // block for place, block in zip(places, blocks, strict=True)]
        expected[index] = x[(image * batch + n, *parts, c)]
    kept = [slice(a, n - b) for (a, b), n in zip(cuts, whole, strict=True)]
    same(found, expected[(slice(None), *kept)])
    # Back again: what was cut off is filled in.
    back = evaluate(
        lambda v: space.SpaceToBatchNDOp(v, blocks, paddings=cuts, pad_value=7.0), found
    )
    filled = np.full_like(expected, 7)
    filled[(slice(None), *kept)] = found
    for index in every_index(expected.shape):
        n, *places, c = index
        image = 0
        for place, block in zip(places, blocks, strict=True):
            image = image * block + place % block
        parts = [place // block for place, block in zip(places, blocks, strict=True)]
        assert back[(image * batch + n, *parts, c)] == filled[index]
    assert back.shape == x.shape


def test_padding_of_batches_is_rounded_to_integers():
    x = np.ones((1, 1, 1), np.int8)
    found = evaluate(lambda v: space.SpaceToBatchNDOp(v, [2], paddings=[(0, 1)], pad_value=2.6), x)
    same(found, np.array([[[1]], [[3]]], np.int8))


@given(seed=seeds, lengths=st.tuples(*[st.integers(0, 4)] * 2), axis=st.integers(-2, 1))
@run_settings
def test_fifo_buffer(seed: int, lengths: tuple[int, int], axis: int):
    new, old = ([n, 3] if axis % 2 == 0 else [3, n] for n in lengths)
    data, buffer = sample(seed, new), sample(seed + 1, old)
    found = evaluate(lambda d, q: space.FifoBufferOp(d, q, axis=axis), data, buffer)
    pushed = list(np.moveaxis(buffer, axis, 0)) + list(np.moveaxis(data, axis, 0))
    kept = pushed[len(pushed) - lengths[1] :]
    expected = np.moveaxis(np.array(kept, np.float32).reshape(lengths[1], 3), 0, axis)
    same(found, expected)


@pytest.mark.parametrize("mode", ("half_pixel", "align_corners", "asymmetric"))
@given(
    seed=seeds,
    image=st.tuples(*[st.integers(1, 4)] * 3),
    sizes=st.tuples(*[st.integers(1, 6)] * 3),
)
@run_settings
def test_upsampling3d(mode: str, seed: int, image: tuple[int, ...], sizes: tuple[int, ...]):
    x = sample(seed, (1, 2, *image))
    scales = [new / old for old, new in zip(image, sizes, strict=True)]
    layout = ("NCDHW", "NDHWC")[seed % 2]
    for method, onnx_mode in (("nearest_neighbor", "nearest"), ("trilinear", "linear")):
        found = evaluate(
            lambda v, m=method: upsampling.Upsampling3DOp(
                v, *scales, layout=layout, method=m, coordinate_transformation_mode=mode
            ),
            to_layout(x, "NCDHW", layout),
        )
        expected = runtime(
            "Resize",
            x,
            None,
            None,
            np.array([1, 2, *sizes], np.int64),
            mode=onnx_mode,
            coordinate_transformation_mode=mode,
            nearest_mode="round_prefer_ceil" if mode == "align_corners" else "floor",
        )
        if method == "trilinear":
            close(from_layout(found, "NCDHW", layout), expected, 1e-4, 1e-5)
            continue
        # onnxruntime rounds places to f32: those next to the border between two elements are left
        # to the exact definition.
        places = [
            [exact_place(mode, i, old, new) for i in range(new)]
            for old, new in zip(image, sizes, strict=True)
        ]
        sure = [[1e-5 < float(p % 1) < 1 - 1e-5 for p in along] for along in places]
        found = from_layout(found, "NCDHW", layout)
        certain = np.ix_([True], [True, True], *sure)
        same(found[certain], expected[certain])
        chosen = [
            [min(max(math.floor(place), 0), old - 1) for place in along]
            for along, old in zip(places, image, strict=True)
        ]
        same(found, x[np.ix_([0], [0, 1], *chosen)])


def exact_place(mode: str, i: int, old: int, new: int) -> Fraction:
    """The place whose floor is the nearest element."""
    if mode == "half_pixel":
        return (i + Fraction(1, 2)) * Fraction(old, new) - Fraction(1, 2)
    if mode == "align_corners":
        return (Fraction(i * (old - 1), new - 1) if new > 1 else 0) + Fraction(1, 2)
    return Fraction(i * old, new)


# Windows


@pytest.mark.parametrize("axes", (1, 2, 3))
@given(seed=seeds, data=st.data())
@run_settings
def test_adaptive_pools(axes: int, seed: int, data: st.DataObject):
    names = ("NCW", "NCHW", "NCDHW")[axes - 1]
    layout = data.draw(st.sampled_from((names, "N" + names[2:] + "C")))
    image = [data.draw(st.integers(1, 5)) for _ in range(axes)]
    sizes = [data.draw(st.integers(1, 6)) for _ in range(axes)]
    x = sample(seed, (2, 2, *image), ("float32", "int8", "float64")[seed % 3])
    mean = adaptive_pool.ADAPTIVE_AVG_OPS[axes - 1]
    largest = adaptive_pool.ADAPTIVE_MAX_OPS[axes - 1]
    expected: dict[Any, Any] = {op: np.empty((2, 2, *sizes), x.dtype) for op in (mean, largest)}
    for index in every_index(sizes):
        window = tuple(
            slice(math.floor(i * n / m), math.ceil((i + 1) * n / m))
            for i, n, m in zip(index, image, sizes, strict=True)
        )
        for n, c in every_index((2, 2)):
            part = x[(n, c, *window)]
            average = part.astype(np.float64).mean()
            if x.dtype == np.int8:
                average = math.trunc(int(part.astype(np.int64).sum()) / part.size)
            expected[mean][(n, c, *index)] = average
            expected[largest][(n, c, *index)] = part.max()
    for op, values in expected.items():
        found = evaluate(lambda v, o=op: o(v, sizes, layout=layout), to_layout(x, names, layout))
        close(from_layout(found, names, layout), values, 1e-5, 1e-6)


def test_adaptive_pool_without_size_and_of_nothing():
    x = sample(1, (1, 2, 5))
    same(evaluate(adaptive_pool.AdaptiveMaxPool1DOp, x), x)
    empty = np.zeros((1, 2, 0), np.float32)
    found = evaluate(lambda v: adaptive_pool.AdaptiveAvgPool1DOp(v, [2]), empty)
    same(found, np.zeros((1, 2, 2), np.float32))
    found = evaluate(lambda v: adaptive_pool.AdaptiveMaxPool1DOp(v, [2]), empty)
    same(found, np.full((1, 2, 2), -np.inf, np.float32))


pool_cases = st.fixed_dictionaries(
    {
        "image": st.tuples(st.integers(3, 6), st.integers(3, 6)),
        "pool_size": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "strides": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "padding": st.tuples(*[st.integers(0, 2)] * 4),
        "ceil_mode": st.booleans(),
        "layout": st.sampled_from(("NCHW", "NHWC")),
    }
)


def numerical_gradient(function: Callable[[Any], Any], x: Any, weights: Any) -> Any:
    """
    The derivative of sum(function(x) * weights), by differences on both sides, in f64. The function takes several
    arguments at once, one behind the other on an axis in front of theirs.
    """
    steps = 1e-4 * np.eye(x.size).reshape(-1, *x.shape)
    differences = function(x + steps) - function(x - steps)
    return ((differences * weights).reshape(x.size, -1).sum(1) / 2e-4).reshape(x.shape)


@pytest.mark.slow
@given(seed=seeds, case=pool_cases)
@run_settings
def test_gradients_of_pools(seed: int, case: dict[str, Any]):
    layout = case["layout"]
    options = {name: v for name, v in case.items() if name not in ("image", "layout")}
    # All elements differ by more than the steps.
    rng = np.random.default_rng(seed)
    count = 2 * math.prod(case["image"])
    x = rng.permutation(count).astype(np.float64).reshape(1, 2, *case["image"])
    for op, gradient in (
        (pool.MaxPool2DOp, pool_gradient.MaxPool2DGradOp),
        (pool.AvgPool2DOp, pool_gradient.AvgPool2DGradOp),
    ):

        def pooled(images: Any, o: Any = op) -> Any:
            found = evaluate(lambda p: o(p, **options), images[:, 0])
            return np.where(np.isfinite(found), found, 0)[:, None]

        weights = rng.standard_normal(pooled(x[None]).shape[1:])
        found = evaluate(
            lambda g, d, o=gradient: o(g, d, **options, layout=layout),
            to_layout(weights, "NCHW", layout),
            to_layout(x, "NCHW", layout),
        )
        close(
            from_layout(found, "NCHW", layout), numerical_gradient(pooled, x, weights), 1e-6, 1e-6
        )


def test_gradient_of_ties_and_nan_goes_to_the_first():
    x = np.array([[[[1, 5, 5], [np.nan, 2, np.nan]]]], np.float32)
    grad = np.array([[[[1, 2]]]], np.float32)
    found = evaluate(lambda g, d: pool_gradient.MaxPool2DGradOp(g, d, [2, 2]), grad, x)
    same(found, np.array([[[[0, 0, 0], [1, 0, 2]]]], np.float32))
    found = evaluate(
        lambda g, d: pool_gradient.MaxPool2DGradOp(g, d, [1, 2]),
        *(np.ones((1, 1, 2, 2), np.float32), np.full((1, 1, 2, 3), 4, np.float32)),
    )
    same(found, np.array([[[[1, 1, 0], [1, 1, 0]]]], np.float32))


@given(
    seed=seeds,
    sizes=st.tuples(*[st.integers(1, 2)] * 4),
    window=st.tuples(*[st.integers(1, 3)] * 4),
    extra=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
@run_settings
def test_gradient_of_convolution(
    seed: int, sizes: tuple[int, ...], window: tuple[int, ...], extra: tuple[int, ...]
):
    batch, groups, inner, outer = sizes
    kernel, strides = window[:2], window[2:]
    image = [k + e for k, e in zip(kernel, extra, strict=True)]
    options: dict[str, Any] = {"strides": strides, "padding": (1, 0), "groups": groups}
    x = sample(seed, (batch, groups * inner, *image), "float64")
    weight = sample(seed + 1, (groups * outer, inner, *kernel), "float64")

    def convolved(w: Any) -> Any:
        return evaluate(lambda d, v: conv.Conv2DOp(d, v, **options), x, w)

    grad = sample(seed + 2, convolved(weight).shape, "float64")
    layouts = (
        ("NCHW", "OIHW", ""),
        ("NHWC", "NHWC", "HWIO"),
        ("NCHW", "NHWC", "OHWI"),
    )[seed % 3]
    found = evaluate(
        lambda g, d: conv_gradient.Conv2DBackwardWeightOp(
            g,
            d,
            kernel,
            **options,
            data_layout=layouts[0],
            kernel_layout=layouts[1],
            out_layout=layouts[2],
        ),
        to_layout(grad, "NCHW", layouts[0]),
        to_layout(x, "NCHW", layouts[1].replace("OI", "NC")),
    )
    expected = numerical_gradient(lambda many: np.stack([*map(convolved, many)]), weight, grad)
    close(from_layout(found, "OIHW", layouts[2] or "OIHW"), expected, 1e-6, 1e-6)


@given(
    seed=seeds,
    sizes=st.tuples(st.sampled_from((1, 3)), *[st.integers(0, 2)] * 2, *[st.integers(1, 2)] * 3),
)
@run_settings
def test_correlation(seed: int, sizes: tuple[int, int, int, int, int, int]):
    kernel, most, padding, stride1, stride2, channels = sizes
    window = 2 * most + kernel
    height, width = window + 1, window + 2
    a, b = (sample(seed + i, (2, channels, height, width)) for i in range(2))
    for multiply in (True, False):
        found = evaluate(
            lambda x, y, m=multiply: correlation.CorrelationOp(
                x,
                y,
                kernel_size=kernel,
                max_displacement=most,
                stride1=stride1,
                stride2=stride2,
                padding=[padding],
                is_multiply=m,
            ),
            a,
            b,
        )
        border = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
        first, second = np.pad(a, border), np.pad(b, border)
        grid = 2 * (most // stride2) + 1
        rows, columns = (-(-(n + 2 * padding - window + 1) // stride1) for n in (height, width))
        expected = np.zeros((2, grid * grid, rows, columns))
        for n, q, y, x in every_index(expected.shape):
            y1, x1 = y * stride1 + most, x * stride1 + most
            y2 = y1 + (q // grid - most // stride2) * stride2
            x2 = x1 + (q % grid - most // stride2) * stride2
            for c, i, j in every_index((channels, kernel, kernel)):
                one, other = first[n, c, y1 + i, x1 + j], second[n, c, y2 + i, x2 + j]
                expected[n, q, y, x] += one * other if multiply else abs(one - other)
        close(found, (expected / (kernel**2 * channels)).astype(np.float32), 1e-4, 1e-5)


@given(
    seed=seeds,
    sizes=st.tuples(*[st.integers(1, 2)] * 5),
    window=st.tuples(*[st.integers(1, 2)] * 6),
)
@run_settings
def test_deformable_conv2d(seed: int, sizes: tuple[int, ...], window: tuple[int, ...]):
    batch, groups, parts, inner, outer = sizes
    kernel, strides, dilation = window[:2], window[2:4], window[4:]
    channels = groups * parts * inner
    image = [(k - 1) * d + 3 for k, d in zip(kernel, dilation, strict=True)]
    x = sample(seed, (batch, channels, *image))
    weight = sample(seed + 1, (groups * outer, channels // groups, *kernel))
    rows, columns = (
        (n + 2 - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(image, kernel, dilation, strides, strict=True)
    )
    offset = sample(seed + 2, (batch, parts * 2 * math.prod(kernel), rows, columns))
    layout = ("NCHW", "NHWC")[seed % 2]
    kernel_layout = ("OIHW", "HWIO")[seed % 2]
    found = evaluate(
        lambda d, o, w: correlation.DeformableConv2DOp(
            d,
            o,
            w,
            strides=strides,
            padding=(1, 1),
            dilation=dilation,
            deformable_groups=parts,
            groups=groups,
            data_layout=layout,
            kernel_layout=kernel_layout,
        ),
        to_layout(x, "NCHW", layout),
        to_layout(offset, "NCHW", layout),
        to_layout(weight, "OIHW", kernel_layout),
    )
    expected = np.zeros((batch, groups * outer, rows, columns))
    for n, o, y, x_out, c, i, j in every_index((*expected.shape, channels // groups, *kernel)):
        channel = o // outer * (channels // groups) + c
        tap = ((channel // (channels // parts)) * kernel[0] + i) * kernel[1] + j
        row = float(y * strides[0] + i * dilation[0] - 1 + offset[n, 2 * tap, y, x_out])
        column = float(x_out * strides[1] + j * dilation[1] - 1 + offset[n, 2 * tap + 1, y, x_out])
        if not (0 <= row < image[0] and 0 <= column < image[1]):
            continue
        top, left, value = math.floor(row), math.floor(column), 0.0
        for py, px in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
            if py < image[0] and px < image[1]:
                share = (1 - abs(row - py)) * (1 - abs(column - px))
                value += share * float(x[n, channel, py, px])
        expected[n, o, y, x_out] += value * float(weight[o, c, i, j])
    found = from_layout(found, "NCHW", layout)
    close(found, expected.astype(np.float32), 1e-3, 1e-3)


def test_deformable_convolution_without_offsets_is_a_convolution():
    x, weight = sample(1, (2, 4, 6, 7)), sample(2, (6, 2, 3, 2))
    offset = np.zeros((2, 12, 6, 8), np.float32)
    found = evaluate(
        lambda d, o, w: correlation.DeformableConv2DOp(d, o, w, padding=(1, 1), groups=2),
        x,
        offset,
        weight,
    )
    close(found, runtime("Conv", x, weight, pads=[1, 1, 1, 1], group=2), 1e-4, 1e-4)
    # ONNX's operator differs only where a place lies less than one before the first element.
    inner = np.abs(sample(3, (2, 12, 4, 6))) % 1
    found = evaluate(
        lambda d, o, w: correlation.DeformableConv2DOp(d, o, w, groups=2), x, inner, weight
    )
    close(found, reference("DeformConv", x, weight, inner, group=2), 1e-4, 1e-4)
