"""Resizing, sampling and pooling in the ONNX importer, against onnxruntime."""

from typing import Any

import numpy as np
import pytest
from onnx_models import Array, Samples, by_onnxruntime, check, kinds, longs, one_node

import xrelay
from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(19)
floats = SAMPLES.floats


def reals(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


# GridSample


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_places_far_outside_of_the_image(mode: str, padding: str, corners: int):
    """A mirrored element depends on how far outside its place is."""
    grid = SAMPLES.random.uniform(-9, 9, (2, 5, 6, 2)).astype(np.float32)
    options = {"mode": mode, "padding_mode": padding, "align_corners": corners, "opset": 20}
    model = one_node("GridSample", [floats(2, 3, 12, 20), grid], **options)
    data = [floats(2, 3, 12, 20), grid]
    (expected,) = by_onnxruntime(model, data)
    feeds = {"in0": data[0], "in1": data[1]}
    for found in (xrelay.interpret(model, feeds), xrelay.compile(model, cache=False).run(feeds)):
        np.testing.assert_allclose(found["out0"], expected, 1e-4, 1e-4)


# Resize

COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", [*COORDINATES, "half_pixel_symmetric"])
@pytest.mark.parametrize("sizes", [(1, 2, 6, 9), (1, 2, 3, 4), (1, 2, 1, 7)])
def test_resize_by_sizes(mode: str, coordinates: str, sizes: tuple[int, ...]):
    options = {"mode": mode, "coordinate_transformation_mode": coordinates, "opset": 19}
    check("Resize", [floats(1, 2, 4, 6)], [None, None, longs(*sizes)], **options)


def test_nothing_is_resized_to_nothing():
    check("Resize", [floats(0, 2, 4, 5)], [None, None, longs(0, 2, 8, 5)], mode="linear", opset=19)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
@pytest.mark.parametrize("scales", [(1, 1, 1.375, 2), (1, 1, 0.625, 0.75), (1, 1, 5 / 3, 1)])
def test_resize_by_scales(mode: str, coordinates: str, scales: tuple[float, ...]):
    options = {"mode": mode, "coordinate_transformation_mode": coordinates, "opset": 13}
    check("Resize", [floats(1, 2, 6, 9)], [None, reals(*scales)], **options)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("sizes", [(1, 2, 8, 3), (2, 3, 2, 7)])
def test_nearest(rounding: str, sizes: tuple[int, ...]):
    options = {"nearest_mode": rounding, "opset": 13}
    check("Resize", [floats(1, 2, 4, 5)], [None, None, longs(*sizes)], **options)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (1, 2, 11, 5)])
@pytest.mark.parametrize("outside", [0, 1])
def test_antialias(mode: str, sizes: tuple[int, ...], outside: int):
    options = {
        "mode": mode,
        "antialias": 1,
        "opset": 18,
        "exclude_outside": outside * (mode != "linear"),
    }
    check("Resize", [floats(1, 2, 7, 9)], [None, None, longs(*sizes)], **options)


def test_crop_and_resize():
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    roi = reals(0, 0, 0.4, 0.6, 1, 1, 0.8, 1.2)
    constants = [roi, None, longs(1, 2, 5, 3)]
    check("Resize", [floats(1, 2, 6, 7)], constants, extrapolation_value=7.0, **options)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_aspect_ratio(policy: str):
    options = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "opset": 18}
    check("Resize", [floats(1, 2, 4, 6)], [None, None, longs(7, 8)], **options)


def test_resized_images_are_one_operator():
    for scales in ((1, 1, 2, 2), (1, 1, 1.3, 0.7)):
        model = one_node("Resize", [floats(1, 2, 4, 6)], [None, reals(*scales)], mode="linear")
        assert kinds(model) == ["image.resize2d"]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(mode: str):
    scales = [1.0, 1.0, 2.0, 3.0]
    check("Upsample", [floats(1, 2, 3, 4)], opset=7, mode=mode, scales=scales)
    check("Upsample", [floats(1, 2, 3, 4)], [reals(*scales)], opset=9, mode=mode)
    check("Resize", [floats(1, 2, 3, 4)], [reals(*scales)], opset=10, mode=mode)


@pytest.mark.parametrize(
    ("constants", "options", "message"),
    [
        ([None, None, longs(1, 2, 3)], {}, "expected 4 of one kind"),
        ([None, reals(1, 1, 2, 2), longs(1, 2, 3, 4)], {}, "expected 4 of one kind"),
        ([None, reals(1, 1, -2, 2)], {}, "expected a positive number"),
        ([None, reals(1, 1, 2, 2)], {"mode": "quintic"}, "'mode' is \"quintic\""),
    ],
)
def test_resize_refusals(constants: list[Array | None], options: dict[str, Any], message: str):
    with pytest.raises(OnnxImportError, match=message):
        import_model(one_node("Resize", [floats(1, 2, 4, 6)], constants, **options))


# Sampling

ROIS = reals(0, 0, 7, 5, 1.3, 2.1, 4.4, 6.2, 3, 3, 3.5, 3.2, -4, -3, 20, 30).reshape(4, 4)


@pytest.mark.parametrize(
    ("coordinates", "ratio", "mode"),
    [
        ("half_pixel", 2, "avg"),
        ("half_pixel", 3, "avg"),
        ("half_pixel", 0, "avg"),
        ("output_half_pixel", 2, "avg"),
        ("output_half_pixel", 0, "avg"),
        ("half_pixel", 1, "max"),
        ("half_pixel", 3, "max"),
        ("output_half_pixel", 2, "max"),
    ],
)
def test_roi_align(coordinates: str, ratio: int, mode: str):
    check(
        "RoiAlign",
        [floats(2, 3, 8, 9), ROIS, longs(0, 1, 1, 0)],
        opset=16,
        output_height=3,
        output_width=2,
        sampling_ratio=ratio,
        spatial_scale=0.75,
        coordinate_transformation_mode=coordinates,
        mode=mode,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mode": "max", "coordinate_transformation_mode": "output_half_pixel"},
            "'sampling_ratio' is 0: with the mode \"max\"",
        ),
        ({"mode": "min"}, '\'mode\' is "min", expected "avg" or "max"'),
        (
            {"coordinate_transformation_mode": "whole"},
            'is "whole", expected "half_pixel" or "output_half_pixel"',
        ),
    ],
)
def test_what_roi_align_refuses(options: dict[str, str], message: str):
    inputs = [floats(2, 3, 8, 9), ROIS, longs(0, 1, 1, 0)]
    with pytest.raises(OnnxImportError, match=message):
        import_model(one_node("RoiAlign", inputs, opset=16, **options))


def test_max_roi_pool():
    rois = np.concatenate([reals(0, 1, 1, 0)[:, None], np.abs(ROIS)], 1)
    options = {"pooled_shape": [3, 2], "spatial_scale": 0.5}
    check("MaxRoiPool", [floats(2, 3, 8, 9), rois], opset=13, **options)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("group", [1, 2])
def test_deformable_convolution(mask: bool, group: int):
    offsets = floats(2, 2 * 3 * 2 * 2, 4, 5) * 2
    constants: list[Array | None] = [floats(4, 4 // group, 3, 2)]
    data: list[Array | None] = [floats(2, 4, 7, 9)]
    inputs = [*data, *constants, offsets, floats(4), floats(2, 12, 4, 5) if mask else None]
    options = {"offset_group": 2, "group": group, "strides": [2, 2], "pads": [1, 0, 1, 1]}
    check("DeformConv", inputs, opset=19, expected=None, **options)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_column_to_image(axes: int):
    image, block = [5, 6, 4][:axes], [2, 3, 2][:axes]
    options = {"pads": [1] * 2 * axes, "strides": [1, 2, 1][:axes]}
    places = [
        (length + 2 - taps) // stride + 1
        for length, taps, stride in zip(image, block, options["strides"], strict=True)
    ]
    data = floats(2, 3 * int(np.prod(block)), int(np.prod(places)))
    check("Col2Im", [data], [longs(*image), longs(*block)], opset=18, **options)


@pytest.mark.parametrize("lengths", [(3, 4), (2, 1, 3)])
@pytest.mark.parametrize("batch", [1, 2])
def test_affine_grid(lengths: tuple[int, ...], batch: int):
    matrices = floats(batch, len(lengths), len(lengths) + 1)
    check("AffineGrid", [matrices], [longs(batch, 3, *lengths)], opset=20)
    if 1 not in lengths:
        check("AffineGrid", [matrices], [longs(batch, 3, *lengths)], opset=20, align_corners=1)


def test_affine_grid_of_other_ranks():
    with pytest.raises(OnnxImportError, match=r"the shape \[1, 2, 4\] and 'size' is"):
        import_model(one_node("AffineGrid", [floats(1, 2, 4)], [longs(1, 3, 4, 4)], opset=20))
    with pytest.raises(OnnxImportError, match=r"the shape \[1, 2, 3\] and 'size' is \[\]"):
        import_model(one_node("AffineGrid", [floats(1, 2, 3)], [longs()], opset=20))


@pytest.mark.parametrize(
    ("size", "options", "message"),
    [
        ([], {}, r"'size' is \[\]"),
        ([1, 3, -4, 4], {}, r"\('size'\) is \[1, 3, -4, 4\]"),
        ([1, 3, 2**20, 2**20], {}, "places of the grid has the shape"),
        ([1, 3, 4, 4], {"align_corners": 2}, "'align_corners' is 2, expected 0 or 1"),
    ],
)
def test_affine_grid_of_no_images(size: list[int], options: dict[str, int], message: str):
    model = one_node("AffineGrid", [floats(1, 2, 3)], [longs(*size)], opset=20, **options)
    with pytest.raises(OnnxImportError, match=message):
        import_model(model)


# Pooling


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_pooling(op: str, axes: int, ceil_mode: int):
    data = floats(2, 3, *(7, 6, 5)[:axes])
    options: dict[str, Any] = {"kernel_shape": [2, 3, 2][:axes], "strides": [2] * axes}
    if op != "LpPool":  # whose padding onnxruntime and onnx count in different ways
        options["pads"] = [1] * 2 * axes
    check(op, [data], opset=22 if op == "LpPool" else 19, ceil_mode=ceil_mode, **options)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms(p: int):
    data = floats(2, 3, 4, 5)
    check("GlobalLpPool", [data], opset=2, p=p)
    check("LpPool", [data], opset=11, p=p, kernel_shape=[2, 2])
    expected = (np.abs(np.pad(data, ((0, 0), (0, 0), (1, 1), (0, 0)))) ** p)[:, :, 0:2].sum(2)
    options = {"p": p, "kernel_shape": [2, 1], "pads": [1, 0, 1, 0], "strides": [9, 1]}
    check("LpPool", [data], expected=expected[:, :, None] ** (1 / p), opset=11, **options)
    if p < 3:
        zeros = np.zeros((1, 3, 4, 5), np.float32)
        check("LpNormalization", [np.concatenate([data, zeros])], opset=13, p=p, axis=1)


def test_max_unpool():
    data = floats(1, 1, 2, 2)
    indices = longs(5, 7, 13, 15).reshape(1, 1, 2, 2)
    options = {"kernel_shape": [2, 2], "strides": [2, 2]}
    check("MaxUnpool", [data, indices], opset=11, **options)
