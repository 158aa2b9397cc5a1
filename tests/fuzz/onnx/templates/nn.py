"""Nodes of operators on images and other signals with channels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.fuzz.onnx.growth import Growth, Tensor, Unfit, longs
from tests.fuzz.onnx.templates.template import Template
from tests.fuzz.onnx.values import random_array


def image(g: Growth, rank: int | tuple[int, int] | None = None) -> Tensor:
    """A batch of signals with channels, of two dimensions in most cases."""
    rank = rank or g.choice(3, 4, 4, 4, 4, 5)
    found = g.find(
        lambda a: (
            a.dtype in (np.float32, np.float16)
            and (a.ndim == rank if isinstance(rank, int) else rank[0] <= a.ndim <= rank[1])
            and a.size > 0
            and min(a.shape[2:], default=1) >= 2
        )
    )
    if found and g.chance(0.75):
        return g.rng.choice(found[-5:])
    size = rank if isinstance(rank, int) else g.rng.randint(*rank)
    channels = g.choice(1, 2, 3, 4, 4, 6, 8, 16, 16, 17, 32)
    lengths = [g.choice(2, 3, 4, 5, 6, 7, 8, 9, 12, 16) for _ in range(size - 2)]
    if size == 5:
        lengths = [min(n, 6) for n in lengths]
    shape = (g.choice(1, 1, 1, 2), channels, *lengths)
    dtype = "float32" if g.chance(0.9) else "float16"
    return g.leaf(random_array(g.rng, dtype, shape), 0)


def window(g: Growth, data: Tensor, *, largest: int = 3, pads: bool = True) -> dict[str, Any]:
    """A kernel's shape, strides, dilations and pads that fit into the data."""
    lengths = data.shape[2:]
    kernel = [g.rng.randint(1, min(largest, n)) for n in lengths]
    strides = [g.choice(1, 1, 1, 2, 3) for _ in lengths]
    if g.chance(0.5):
        kernel = [kernel[0] if kernel[0] <= n else k for k, n in zip(kernel, lengths, strict=True)]
        strides = [strides[0]] * len(strides)
    dilations = [
        g.choice(1, 1, 2) if 2 * k - 1 <= n else 1 for k, n in zip(kernel, lengths, strict=True)
    ]
    result: dict[str, Any] = {"kernel_shape": kernel}
    if g.chance(0.7):
        result["strides"] = strides
    if g.chance(0.3):
        result["dilations"] = dilations
    if pads and g.chance(0.6):
        if g.chance(0.2) and "dilations" not in result:
            result["auto_pad"] = g.choice("SAME_UPPER", "SAME_LOWER", "VALID")
        elif g.chance(0.6):
            result["pads"] = [(k - 1) // 2 for k in kernel] * 2
        else:
            result["pads"] = [g.rng.randint(0, k - 1) for k in kernel * 2]
    return result


def conv(g: Growth, op: str) -> None:
    """Plain, grouped and depthwise convolutions in one to three dimensions."""
    data = image(g)
    options = window(g, data, largest=5)
    channels = data.shape[1]
    group = g.choice(1, 1, 1, channels, *(n for n in (2, 3, 4) if channels % n == 0))
    filters = group * g.choice(1, 1, 2, 3, 4, 8, 16)
    if filters > 64:
        filters = group
    weight = g.weight(data.dtype, (filters, channels // group, *options["kernel_shape"]))
    bias = g.weight(data.dtype, (filters,)) if g.chance(0.5) else None
    if g.chance(0.3):
        del options["kernel_shape"]
    g.node(op, X=data, W=weight, B=bias, group=group, **options)


def conv_transpose(g: Growth, op: str) -> None:
    """Transposed convolutions, with output padding at times."""
    data = image(g)
    options = window(g, data)
    channels = data.shape[1]
    group = g.choice(1, 1, *(n for n in (2, 4, channels) if channels % n == 0))
    if any(
        s > k for s, k in zip(options.get("strides", ()), options["kernel_shape"], strict=False)
    ):
        # onnxruntime makes the image smaller than ONNX's formula says.
        options.pop("auto_pad", None)
    weight = g.weight(data.dtype, (channels, g.choice(1, 2, 4), *options["kernel_shape"]))
    filters = weight.shape[1] * group
    if "strides" in options and g.chance(0.3) and "auto_pad" not in options:
        options["output_padding"] = [g.rng.randint(0, s - 1) for s in options["strides"]]
    bias = g.weight(data.dtype, (filters,)) if g.chance(0.5) else None
    g.node(op, X=data, W=weight, B=bias, group=group, **options)


def deform_conv(g: Growth, op: str) -> None:
    """Convolutions whose places move by fractions."""
    n, c, h, w = g.choice(1, 2), g.choice(2, 4), g.choice(4, 5), g.choice(4, 6)
    kernel = [g.choice(1, 2, 3), g.choice(2, 3)]
    pad = g.choice(0, 1)
    rows, columns = (length + 2 * pad - k + 1 for length, k in zip((h, w), kernel, strict=True))
    groups = g.choice(1, 2)
    count = kernel[0] * kernel[1] * groups
    mask = g.new("float32", (n, count, rows, columns)) if g.chance(0.5) else None
    g.node(
        op,
        X=g.new("float32", (n, c, h, w)),
        W=g.weight("float32", (g.choice(2, 3), c, *kernel)),
        offset=g.weight("float32", (n, 2 * count, rows, columns)),
        mask=mask,
        offset_group=groups,
        pads=[pad] * 4,
        kernel_shape=kernel,
    )


def pool(g: Growth, op: str) -> None:
    """Windows of one to three dimensions."""
    data = image(g)
    options = window(g, data)
    if op == "AveragePool" and g.opset < 19:
        options.pop("dilations", None)
    if op == "LpPool":
        options["p"] = g.choice(1, 2)
        if g.opset < 18:
            options.pop("dilations", None)
    if op == "MaxPool" and g.opset < 10:
        options.pop("dilations", None)
    if op == "AveragePool":
        options["count_include_pad"] = g.choice(0, 1)
    if g.chance(0.3) and g.opset >= (18 if op == "LpPool" else 10) and "auto_pad" not in options:
        options["ceil_mode"] = 1
    g.node(op, X=data, **options)


def global_pool(g: Growth, op: str) -> None:
    """All places of a channel."""
    g.node(op, X=image(g), p=g.choice(1, 2) if op == "GlobalLpPool" else None)


def max_unpool(g: Growth, op: str) -> None:
    """Elements go where they came from."""
    n, c, h, w = g.choice(1, 2), g.choice(1, 3), g.choice(1, 2, 3), g.choice(1, 2, 3)
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    places = np.stack(
        [numbers.permutation(4 * h * w)[: h * w] for _ in range(n * c)]
    ) + 4 * h * w * np.arange(n * c).reshape(-1, 1)
    g.node(
        op,
        X=g.new("float32", (n, c, h, w)),
        I=g.leaf(places.reshape(n, c, h, w)),
        kernel_shape=[2, 2],
        strides=[2, 2],
    )


def batch_norm(g: Growth, op: str) -> None:
    """As inference has it."""
    data = image(g, (2, 5))
    size = (data.shape[1],)
    weights = [g.weight(data.dtype, size) for _ in range(3)]
    names = ("scale", "B", "input_mean" if g.opset >= 14 else "mean")
    variance = "input_var" if g.opset >= 14 else "var"
    g.node(
        op,
        X=data,
        **dict(zip(names, weights, strict=True)),
        **{variance: g.positive(data.dtype, size)},
        epsilon=g.choice(1e-5, 1e-3),
    )


def instance_norm(g: Growth, op: str) -> None:
    """Statistics of each channel."""
    data = image(g)
    scale, shift = (g.weight(data.dtype, (data.shape[1],)) for _ in range(2))
    g.node(op, input=data, scale=scale, B=shift, epsilon=g.choice(1e-5, 1e-2))


def group_norm(g: Growth, op: str) -> None:
    """Statistics of groups of channels; scales for each channel since operator set 21."""
    data = image(g)
    channels = data.shape[1]
    groups = g.choice(*(n for n in (1, 2, 3, 4, 8, channels) if channels % n == 0))
    size = channels if g.opset >= 21 else groups
    scale, shift = (g.weight(data.dtype, (size,)) for _ in range(2))
    g.node(op, X=data, scale=scale, bias=shift, num_groups=groups)


def lrn(g: Growth, op: str) -> None:
    """Neighbouring channels."""
    g.node(op, X=image(g, 4), size=g.choice(1, 3, 5), alpha=g.choice(1e-2, 0.5), bias=1.0)


def resize(g: Growth, op: str) -> None:
    """Scales or sizes of the last axes, in all modes and coordinates."""
    data = image(g, (3, 4))
    mode = (
        g.choice("nearest", "linear", "cubic") if data.rank == 4 else g.choice("nearest", "linear")
    )
    scales = [1.0, 1.0] + [g.choice(0.5, 1.0, 1.5, 2.0, 3.0) for _ in data.shape[2:]]
    if g.opset < 11:
        g.node(
            op, X=data, scales=np.array(scales, np.float32), mode=mode.replace("cubic", "linear")
        )
        return
    coordinates = g.choice("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        options["nearest_mode"] = g.choice(
            "round_prefer_floor", "floor", "ceil", "round_prefer_ceil"
        )
    if g.chance(0.5):
        sizes = [
            *data.shape[:2],
            *(max(1, int(n * s)) for n, s in zip(data.shape[2:], scales[2:], strict=True)),
        ]
        options["sizes"] = longs(*sizes)
        if g.opset < 13:
            options |= {"scales": np.zeros(0, np.float32)}
    else:
        if coordinates == "align_corners":
            scales = [1.0 if s < 1 or s == 1.5 else s for s in scales]
        options["scales"] = np.array(scales, np.float32)
    roi = np.zeros(0, np.float32) if g.opset < 13 else None
    g.node(op, X=data, roi=roi, **options)


def upsample(g: Growth, op: str) -> None:
    """Images become larger."""
    data = image(g, 4)
    scales = np.array([1, 1, g.choice(1, 2, 3), g.choice(1, 2)], np.float32)
    if g.opset >= 9:
        g.node(op, X=data, scales=scales, mode=g.choice("nearest", "linear"))
    else:
        g.node(op, X=data, scales=scales.tolist(), mode=g.choice("nearest", "linear"))


def grid_sample(g: Growth, op: str) -> None:
    """Elements between others, in and around the image."""
    data = image(g, 4)
    shape = (data.shape[0], g.choice(1, 3, 4), g.choice(2, 5), 2)
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    grid = g.leaf(numbers.uniform(-1.3, 1.3, shape).astype(data.dtype), 0.3)
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    g.node(
        op,
        X=data,
        grid=grid,
        mode=g.choice(*modes),
        padding_mode=g.choice("zeros", "border", "reflection"),
        align_corners=g.choice(0, 1),
    )


def roi_align(g: Growth, op: str) -> None:
    """Means and largest elements of samples of regions."""
    data = image(g, 4)
    count = g.choice(1, 2, 3)
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    corners = numbers.uniform(0, 4, (count, 4)).astype(data.dtype)
    corners[:, 2:] += corners[:, :2] + 0.5
    places = g.leaf(numbers.integers(0, data.shape[0], count), 0.7)
    g.node(
        op,
        X=data,
        rois=g.leaf(corners, 0.3),
        batch_indices=places,
        output_height=g.choice(1, 2, 3),
        output_width=g.choice(1, 2),
        sampling_ratio=g.choice(1, 2),
        spatial_scale=g.choice(1.0, 0.5),
        mode=g.choice("avg", "avg", "max"),
        coordinate_transformation_mode=g.choice("half_pixel", "output_half_pixel")
        if g.opset >= 16
        else None,
    )


def max_roi_pool(g: Growth, op: str) -> None:
    """The largest elements of parts of regions."""
    data = image(g, 4)
    if data.dtype != np.float32:
        raise Unfit("onnxruntime has no kernel")
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    count = g.choice(1, 2)
    low = numbers.integers(0, 3, (count, 2))
    high = low + numbers.integers(0, 4, (count, 2))
    batch = numbers.integers(0, data.shape[0], (count, 1))
    rois = np.concatenate([batch, low, high], 1).astype(np.float32)
    g.node(op, X=data, rois=g.leaf(rois), pooled_shape=[g.choice(1, 2), g.choice(1, 3)])


NN_TEMPLATES: Mapping[str, Template] = {
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool"), pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), global_pool),
    "BatchNormalization": batch_norm,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "GridSample": grid_sample,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LRN": lrn,
    "MaxRoiPool": max_roi_pool,
    "MaxUnpool": max_unpool,
    "Resize": resize,
    "RoiAlign": roi_align,
    "Upsample": upsample,
}
