"""Convolution, pooling and upsampling in any layout: what they do with the axes in order."""

import re
from math import prod
from typing import Any

import numpy as np
import pytest
from evaluation import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import close, runtime, same, sample

from xrelay.dialects.conv import conv
from xrelay.dialects.conv import packed as conv_packed
from xrelay.dialects.nn import upsampling
from xrelay.dialects.pool import pool
from xrelay.dialects.qnn import products as qnn_products

run_settings = settings(deadline=None, derandomize=True, max_examples=30)
seeds = st.integers(0, 2**32)


def relaid(array: Any, names: str, layout: str) -> Any:
    """An array with the axes `names` in a layout, whose blocks divide the lengths."""
    parts = re.findall(r"(\d*)(\w)", layout)
    blocks = {letter.upper(): int(count) for count, letter in parts if count}
    split = [n for name, n in zip(names, array.shape, strict=True)
             for n in (n // blocks.get(name, 1), blocks.get(name, 1))]  # fmt: skip
    order = [2 * names.index(letter.upper()) + bool(count) for count, letter in parts]
    order += [axis for axis in range(len(split)) if axis not in order]
    shape = [split[axis] for axis in order[: len(parts)]]
    assert prod(shape) == array.size
    return np.ascontiguousarray(array.reshape(split).transpose(order).reshape(shape))


@st.composite
def layouts(draw: st.DrawFn, names: str, blocked: str) -> str:
    """The axes in some order, with blocks of 2 of some of those that may have them."""
    parts = [*names, *(f"2{name.lower()}" for name in blocked if draw(st.booleans()))]
    return "".join(draw(st.permutations(parts)))


CONVOLUTIONS = (conv.Conv1DOp, conv.Conv2DOp, conv.Conv3DOp, conv_packed.ContribConv2DNCHWcOp)


@pytest.mark.parametrize("op", CONVOLUTIONS, ids=lambda op: op.name)
@given(seed=seeds, data=st.data(), groups=st.integers(1, 2), depthwise=st.booleans())
@run_settings
def test_convolutions(
    op: type[conv.LaidOutConvolutionOp],
    seed: int,
    data: st.DataObject,
    groups: int,
    depthwise: bool,
):
    images, kernels = op.IMAGE_LAYOUT, op.KERNEL_LAYOUT
    stated = [data.draw(layouts(images, "NC")) for _ in range(2)]
    axes = len(images) - 2
    x = sample(seed, (2, 4, *(5, 4, 6)[:axes]))
    options: dict[str, Any] = {"padding": [1] * axes, "strides": (1, 2, 1)[:axes]}
    if depthwise:
        options |= {"groups": 4, "channels": 8}
        weight = sample(seed + 1, (4, 2, *(3, 2, 2)[:axes]))
        plain = weight.reshape(8, 1, *weight.shape[2:])
    else:
        options |= {"groups": groups}
        plain = weight = sample(seed + 1, (6, 4 // groups, *(3, 2, 2)[:axes]))
    kernel_layout = data.draw(layouts(kernels, "OI"))
    found = evaluate(
        lambda v, w: op(
            v,
            w,
            data_layout=stated[0],
            kernel_layout=kernel_layout,
            out_layout=stated[1],
            **options,
        ),
        relaid(x, images, stated[0]),
        relaid(weight, kernels, kernel_layout),
    )
    expected = evaluate(lambda v, w: op(v, w, **options), x, plain)
    same(found, relaid(expected, images, stated[1]))


def test_depthwise_filters_are_those_of_onnx():
    x, weight = sample(1, (1, 3, 6, 7)), sample(2, (3, 2, 3, 3))
    found = evaluate(lambda v, w: conv.Conv2DOp(v, w, groups=3, channels=6), x, weight)
    expected = runtime("Conv", x, weight.reshape(6, 1, 3, 3), group=3)
    close(found, expected, 1e-4, 1e-5)


def test_last_block_is_padded():
    x, weight = sample(3, (2, 5, 6, 6)), sample(4, (3, 5, 3, 3))
    padded = np.pad(x, ((0, 0), (0, 3), (0, 0), (0, 0)), constant_values=np.nan)
    found = evaluate(
        lambda v, w: conv.Conv2DOp(v, w, data_layout="NCHW4c", kernel_layout="HWIO"),
        relaid(padded, "NCHW", "NCHW4c"),
        relaid(weight, "OIHW", "HWIO"),
    )
    expected = evaluate(conv.Conv2DOp, x, weight)
    assert found.shape == (2, 1, 4, 4, 4)
    same(found[..., :3], relaid(expected, "NCHW", "NHWC").reshape(2, 1, 4, 4, 3))


POOLS = {
    "max": lambda v, layout: pool.MaxPool2DOp(v, [2, 3], padding=[1, 0], layout=layout),
    "avg": lambda v, layout: pool.AvgPool2DOp(v, [2, 3], strides=[2, 1], layout=layout),
    "global max": lambda v, layout: pool.GlobalMaxPool2DOp(v, layout),
    "global avg": lambda v, layout: pool.GlobalAvgPool2DOp(v, layout),
    "nearest": lambda v, layout: upsampling.UpsamplingOp(v, 2, 1.5, layout=layout),
    "bilinear": lambda v, layout: upsampling.UpsamplingOp(
        v, 1.5, 2, layout=layout, method="bilinear"
    ),
    "bicubic": lambda v, layout: upsampling.UpsamplingOp(
        v, 1.5, 2, layout=layout, method="bicubic"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POOLS)
@given(seed=seeds, layout=layouts("NCHW", "C"))
@run_settings
def test_pools_and_upsampling(name: str, seed: int, layout: str):
    x = sample(seed, (2, 4, 5, 6))
    found = evaluate(lambda v: POOLS[name](v, layout), relaid(x, "NCHW", layout))
    expected = evaluate(lambda v: POOLS[name](v, "NCHW"), x)
    same(found, relaid(expected, "NCHW", layout))


@pytest.mark.parametrize("align_corners", (False, True))
@pytest.mark.parametrize("method", ("nearest_neighbor", "bilinear", "bicubic"))
def test_upsampling_is_resizing(method: str, align_corners: bool):
    x = sample(5, (1, 2, 5, 7))
    found = evaluate(
        lambda v: upsampling.UpsamplingOp(v, 2.0, 3.0, method=method, align_corners=align_corners),
        x,
    )
    expected = runtime(
        "Resize",
        x,
        None,
        np.array([1, 1, 2, 3], np.float32),
        mode={"bilinear": "linear", "bicubic": "cubic"}.get(method, "nearest"),
        cubic_coeff_a=-0.5,
        coordinate_transformation_mode="align_corners" if align_corners else "asymmetric",
        nearest_mode="round_prefer_ceil" if align_corners else "floor",
    )
    close(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("layout", ("OIHW", "HWIO", "HWOI", "OHWI"))
def test_zero_points_of_output_channels(layout: str):
    rng = np.random.default_rng(6)
    x = rng.integers(-128, 128, (1, 4, 5, 5), np.int8)
    weight = rng.integers(-128, 128, (3, 4, 2, 2), np.int8)
    zeros = np.array([3, -7, 11], np.int32)
    parameters = [np.int32(5), zeros, np.float32(1), np.ones(3, np.float32)]
    parameters = [np.asarray(value) for value in parameters]
    found = evaluate(
        lambda *v: qnn_products.QnnConv2DOp(*v, data_layout="NHWC", kernel_layout=layout),
        relaid(x, "NCHW", "NHWC"),
        relaid(weight, "OIHW", layout),
        *parameters,
    )
    shifted = weight.astype(np.int32) - zeros[:, None, None, None]
    expected = evaluate(conv.Conv2DOp, x.astype(np.int32) - 5, shifted)
    same(found, relaid(expected, "NCHW", "NHWC"))
