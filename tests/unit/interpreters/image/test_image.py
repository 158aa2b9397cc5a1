"""
Images in other sizes, sampling and morphology in NumPy, against ONNX's Resize, GridSample and
AffineGrid, and against their definitions element by element.
"""

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from evaluation import evaluate, reference, runtime
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tiers import fixed_examples
from xdsl.dialects.builtin import f32, i8

from xrelay.dialects.image import resize as image
from xrelay.dialects.image import sampling
from xrelay.dialects.image.resize import MODES, ROUNDINGS
from xrelay.interpreters.arrays import Array

run_settings = fixed_examples(40, HealthCheck.too_slow)
seeds = st.integers(0, 2**32)
lengths = st.integers(1, 7)
OPS = {1: image.Resize1DOp, 2: image.Resize2DOp, 3: image.Resize3DOp}
ONNX_METHODS = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(0, 3, shape).astype(np.float32)


# Resizing


def coordinate(mode: str, x: int, length: int, target: int, start: float, end: float) -> float:
    """Where an element lies on the axis, by the definition."""
    match mode:
        case "half_pixel":
            return (x + 0.5) * length / target - 0.5
        case "pytorch_half_pixel":
            return (x + 0.5) * length / target - 0.5 if target > 1 else 0
        case "tf_half_pixel_for_nn":
            return (x + 0.5) * length / target
        case "asymmetric":
            return x * length / target
        case "align_corners":
            return x * (length - 1) / (target - 1) if target > 1 else 0
        case _:
            if target == 1:
                return 0.5 * (start + end) * (length - 1)
            return start * (length - 1) + x * (end - start) * (length - 1) / (target - 1)


def keys_cubic(distance: float, alpha: float) -> float:
    """The convolution kernel of R. Keys, 1981."""
    d = abs(distance)
    if d <= 1:
        return (alpha + 2) * d**3 - (alpha + 3) * d**2 + 1
    return alpha * d**3 - 5 * alpha * d**2 + 8 * alpha * d - 4 * alpha if d < 2 else 0


def weights(
    c: float, length: int, method: str, rounding: str, alpha: float, exclude: bool
) -> dict[int, float]:
    """How much of each element of an axis the one at a coordinate is."""
    if method == "nearest_neighbor":
        nearest = {
            "round": math.floor(c + 0.5),
            "round_prefer_floor": math.ceil(c - 0.5),
            "round_prefer_ceil": math.floor(c + 0.5),
            "floor": math.floor(c + 1e-5),
            "ceil": math.ceil(c - 1e-5),
        }[rounding]
        return {min(max(nearest, 0), length - 1): 1.0}
    first = math.floor(c)
    if method == "linear":
        taken = {first: 1 - (c - first), first + 1: c - first}
    else:
        taken = {i: keys_cubic(c - i, alpha) for i in range(first - 1, first + 3)}
        if exclude:
            taken = {i: weight for i, weight in taken.items() if 0 <= i < length}
            total = sum(taken.values())
            taken = {i: weight / total for i, weight in taken.items()}
    result: dict[int, float] = {}
    for i, weight in taken.items():
        inside = min(max(i, 0), length - 1)
        result[inside] = result.get(inside, 0) + weight
    return result


@run_settings
@given(
    seeds,
    st.sampled_from(sorted(ONNX_METHODS)),
    st.sampled_from(MODES),
    st.sampled_from(ROUNDINGS),
    st.lists(st.tuples(lengths, lengths), min_size=1, max_size=3),
    st.sampled_from([-0.5, -0.75]),
    st.booleans(),
)
def test_resize_is_separable_interpolation(
    seed: int,
    method: str,
    mode: str,
    rounding: str,
    sizes: list[tuple[int, int]],
    alpha: float,
    exclude: bool,
):
    old, new = [each[0] for each in sizes], [each[1] for each in sizes]
    rng = np.random.default_rng(seed)
    roi = [*rng.uniform(-0.2, 0.5, len(old)), *rng.uniform(0.5, 1.2, len(old))]
    x = normal(seed, 2, 1, *old)
    found = evaluate(
        lambda operand: OPS[len(old)](
            operand,
            new,
            roi=roi,
            method=method,
            coordinate_transformation_mode=mode,
            rounding_method=rounding,
            cubic_alpha=alpha,
            cubic_exclude=int(exclude),
            extrapolation_value=9.0,
        ),
        x,
    )
    expected = x.astype(np.float64)
    outside = np.zeros(found.shape, bool)
    for axis, (length, target) in enumerate(sizes):
        matrix = np.zeros((target, length))
        for i in range(target):
            c = coordinate(mode, i, length, target, roi[axis], roi[len(old) + axis])
            for j, weight in weights(c, length, method, rounding, alpha, exclude).items():
                matrix[i, j] = weight
            if mode == "tf_crop_and_resize" and not 0 <= c <= length - 1:
                outside[(slice(None),) * (2 + axis) + (i,)] = True
        expected = np.moveaxis(np.tensordot(expected, matrix, (2 + axis, 1)), -1, 2 + axis)
    expected = np.where(outside, 9.0, expected)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


ONNX_MODES = [mode for mode in MODES if mode != "tf_half_pixel_for_nn"]


def onnx_resize(run: Any, x: Array, size: list[int], roi: list[float], **options: Any) -> Array:
    whole = np.array([0, 0, *roi[: len(size)], 1, 1, *roi[len(size) :]], np.float32)
    return run("Resize", x, whole, None, np.array([*x.shape[:2], *size]), opset=19, **options)


@pytest.mark.parametrize("mode", ONNX_MODES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_is_that_of_onnx(mode: str, rounding: str):
    # Lengths whose ratios are powers of two, so that all coordinates are exact; for corners, those
    # whose distances are.
    corners = mode in ("align_corners", "tf_crop_and_resize")
    for old, new in (
        product((1, 2, 3, 5), (1, 2, 3, 5, 9)) if corners else product((1, 2, 4, 8), repeat=2)
    ):
        x, roi = normal(old + new, 1, 2, old, 4), [0.0, 0.0, 1.0, 1.0]
        found = evaluate(
            lambda operand, new=new, roi=roi: image.Resize2DOp(
                operand,
                (new, 4),
                roi=roi,
                method="nearest_neighbor",
                coordinate_transformation_mode=mode,
                rounding_method=rounding,
            ),
            x,
        )
        options = {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
        expected = onnx_resize(reference, x, [new, 4], roi, mode="nearest", **options)
        np.testing.assert_array_equal(found, expected)


@run_settings
@given(
    seeds,
    st.sampled_from(["linear", "cubic"]),
    st.sampled_from(ONNX_MODES),
    st.tuples(lengths, lengths),
    st.tuples(lengths, lengths),
    st.sampled_from([-0.5, -0.75]),
    st.booleans(),
)
def test_linear_and_cubic_are_those_of_onnx(
    seed: int,
    method: str,
    mode: str,
    old: tuple[int, int],
    new: tuple[int, int],
    alpha: float,
    exclude: bool,
):
    x, roi = normal(seed, 1, 2, *old), [0.0, 0.25, 0.75, 1.0]
    exclude = exclude and method == "cubic" and mode != "tf_crop_and_resize"
    found = evaluate(
        lambda operand: image.Resize2DOp(
            operand,
            new,
            roi=roi,
            method=method,
            coordinate_transformation_mode=mode,
            cubic_alpha=alpha,
            cubic_exclude=int(exclude),
        ),
        x,
    )
    options: dict[str, Any] = {"mode": method, "coordinate_transformation_mode": mode}
    if method == "cubic":
        options |= {"cubic_coeff_a": alpha, "exclude_outside": int(exclude)}
    for run in (reference, runtime):
        expected = onnx_resize(run, x, list(new), roi, **options)
        np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("method", sorted(ONNX_METHODS))
def test_layouts_are_orders_of_axes(method: str):
    options: dict[str, Any] = {"method": method, "rounding_method": "floor"}
    for count, letters, size in ((1, "NCW", [5]), (2, "NCHW", [5, 2]), (3, "NCDHW", [5, 2, 3])):
        x = normal(count, 2, 3, *[4] * count)
        resize = partial(OPS[count], size=size, **options)
        straight = evaluate(resize, x)
        for layout in (letters[0] + letters[2:] + "C", letters[::-1]):
            order = [letters.index(letter) for letter in layout]
            found = evaluate(
                partial(resize, layout=layout),
                np.ascontiguousarray(x.transpose(order)),
            )
            np.testing.assert_array_equal(found, straight.transpose(order))


def test_rounding_depends_on_the_mode_unless_stated():
    x = normal(0, 1, 1, 4)
    for mode, rounding in (("align_corners", "round"), ("half_pixel", "floor")):
        unstated, stated = (
            evaluate(
                partial(
                    image.Resize1DOp,
                    size=[7],
                    method="nearest_neighbor",
                    coordinate_transformation_mode=mode,
                    rounding_method=name,
                ),
                x,
            )
            for name in ("", rounding)
        )
        np.testing.assert_array_equal(unstated, stated)


def test_dtypes():
    whole = np.array([[[2**31 - 1, -(2**31), 5]]], np.int32)
    nearest = evaluate(lambda x: image.Resize1DOp(x, [3], method="nearest_neighbor"), whole)
    np.testing.assert_array_equal(nearest, whole)
    same = evaluate(lambda x: image.Resize1DOp(x, [3]), whole)
    np.testing.assert_array_equal(same, whole)
    halves = np.array([[[0, 1, 4, -3]]], np.int8)
    found = evaluate(lambda x: image.Resize1DOp(x, [2]), halves)
    # 0.5 and 0.5, rounded towards zero.
    np.testing.assert_array_equal(found, np.array([[[0, 0]]], np.int8))
    found = evaluate(lambda x: image.Resize1DOp(x, [2], out_dtype=f32), halves)
    np.testing.assert_array_equal(found, np.array([[[0.5, 0.5]]], np.float32))
    big = np.array([[[300.5, 1.75, -1e9]]], np.float32)
    found = evaluate(lambda x: image.Resize1DOp(x, [3], out_dtype=i8), big)
    assert found.tolist() == [[[127, 1, -128]]]


@run_settings
@given(seeds, st.sampled_from(["bilinear", "nearest_neighbor"]), st.tuples(lengths, lengths))
def test_crop_and_resize_resizes_each_box(seed: int, method: str, size: tuple[int, int]):
    rng = np.random.default_rng(seed)
    x = normal(seed, 2, 3, 5, 4)
    boxes = rng.uniform(-0.3, 1.3, (4, 4)).astype(np.float32)
    numbers = rng.integers(0, 2, 4).astype(np.int32)
    found = evaluate(
        lambda *args: image.CropAndResizeOp(*args, size, method=method, extrapolation_value=-2.5),
        x,
        boxes,
        numbers,
    )
    for box, number, part in zip(boxes, numbers, found, strict=True):
        expected = evaluate(
            lambda operand, box=box: image.Resize2DOp(
                operand,
                size,
                roi=list(map(float, box)),
                method="linear" if method == "bilinear" else method,
                coordinate_transformation_mode="tf_crop_and_resize",
                rounding_method="round",
                extrapolation_value=-2.5,
            ),
            x[number : number + 1],
        )
        np.testing.assert_allclose(part, expected[0], 1e-5, 1e-5)


def test_boxes_of_images_that_do_not_exist_are_those_of_the_nearest():
    x, boxes = normal(0, 2, 1, 3, 3), np.array([[0, 0, 1, 1]] * 2, np.float32)
    found = evaluate(
        lambda *args: image.CropAndResizeOp(*args, (3, 3)), x, boxes, np.array([-5, 9], np.int32)
    )
    np.testing.assert_array_equal(found, x)


# Sampling


@run_settings
@given(
    seeds,
    st.sampled_from(["bilinear", "nearest", "bicubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.booleans(),
    st.tuples(st.integers(2, 5), st.integers(2, 5)),
)
def test_grid_sample_is_that_of_onnx(
    seed: int, method: str, padding: str, corners: bool, size: tuple[int, int]
):
    x = normal(seed, 2, 3, *size)
    grid = np.random.default_rng(seed).uniform(-2.5, 2.5, (2, 3, 4, 2)).astype(np.float32)
    found = evaluate(
        lambda *args: sampling.GridSampleOp(
            *args, method=method, padding_mode=padding, align_corners=corners
        ),
        x,
        np.ascontiguousarray(np.moveaxis(grid, -1, 1)),
    )
    name = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[method]
    expected = runtime(
        "GridSample", x, grid, mode=name, padding_mode=padding, align_corners=int(corners)
    )
    if method == "nearest":
        # Places whose coordinates f32 rounds to the other side of a half.
        assert np.mean(found != expected) < 0.02
    else:
        np.testing.assert_allclose(found, expected, 2e-3, 2e-3)


@run_settings
@given(
    seeds,
    st.sampled_from(["bilinear", "nearest"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.booleans(),
)
def test_grid_sample_of_volumes_is_that_of_onnx(
    seed: int, method: str, padding: str, corners: bool
):
    x = normal(seed, 2, 3, 2, 3, 4)
    grid = np.random.default_rng(seed).uniform(-2.5, 2.5, (2, 2, 3, 4, 3)).astype(np.float32)
    found = evaluate(
        lambda *args: sampling.GridSampleOp(
            *args, method=method, layout="NCDHW", padding_mode=padding, align_corners=corners
        ),
        x,
        np.ascontiguousarray(np.moveaxis(grid, -1, 1)),
    )
    name = {"bilinear": "linear", "nearest": "nearest"}[method]
    expected = reference(
        "GridSample", x, grid, mode=name, padding_mode=padding, align_corners=int(corners)
    )
    np.testing.assert_allclose(found, expected, 2e-3, 2e-3)


@run_settings
@given(seeds, st.integers(2, 6), st.integers(2, 6))
def test_affine_grid_is_that_of_onnx(seed: int, height: int, width: int):
    matrices = normal(seed, 3, 2, 3)
    found = evaluate(lambda data: sampling.AffineGridOp(data, (height, width)), matrices)
    size = np.array([3, 1, height, width])
    expected = reference("AffineGrid", matrices, size, align_corners=1)
    np.testing.assert_allclose(np.moveaxis(found, 1, -1), expected, 1e-4, 1e-4)


# Morphology


@run_settings
@given(
    seeds,
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.sampled_from(["float32", "int8"]),
)
def test_dilation2d(
    seed: int, strides: tuple[int, int], steps: tuple[int, int], pads: list[int], dtype: str
):
    rng = np.random.default_rng(seed)
    x, w = (rng.integers(-128, 128, shape).astype(dtype) for shape in ((2, 2, 5, 6), (2, 2, 3)))
    options: dict[str, Any] = {"strides": strides, "dilations": steps, "padding": pads}
    found = evaluate(lambda *args: image.Dilation2DOp(*args, **options), x, w)
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    rows = (padded.shape[2] - steps[0] - 1) // strides[0] + 1
    columns = (padded.shape[3] - 2 * steps[1] - 1) // strides[1] + 1
    assert found.shape == (2, 2, rows, columns)
    for n, c, y, z in np.ndindex(found.shape):
        top, left = y * strides[0], z * strides[1]
        window = padded[
            n, c, top : top + steps[0] + 1 : steps[0], left : left + 2 * steps[1] + 1 : steps[1]
        ]
        assert found[n, c, y, z] == (window + w[c]).max()
    last = np.ascontiguousarray(np.moveaxis(x, 1, -1)), np.ascontiguousarray(np.moveaxis(w, 0, -1))
    other = evaluate(
        lambda *args: image.Dilation2DOp(*args, data_layout="NHWC", kernel_layout="HWI", **options),
        *last,
    )
    np.testing.assert_array_equal(np.moveaxis(other, -1, 1), found)


def test_dilation2d_keeps_nan():
    x = np.array([[[[1, np.nan, 3]]]], np.float32)
    found = evaluate(image.Dilation2DOp, x, np.zeros((1, 1, 2), np.float32))
    assert np.isnan(found).all()
