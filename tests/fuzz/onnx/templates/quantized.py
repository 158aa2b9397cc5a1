"""Nodes of operators on quantised numbers."""

from collections.abc import Mapping

import numpy as np

from tests.fuzz.onnx.growth import Growth, Tensor
from tests.fuzz.onnx.templates.nn import window
from tests.fuzz.onnx.templates.template import Template


def _zero_point(g: Growth, dtype: np.dtype, shape: tuple[int, ...] = ()) -> Tensor:
    info = np.iinfo(dtype)
    middle = (info.min + info.max + 1) // 2
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    low = max(info.min, middle - 9)
    found = np.asarray(numbers.integers(low, middle + 10, shape)).astype(dtype)
    return g.leaf(found, 1)


def _scale(g: Growth, shape: tuple[int, ...] = (), dtype: str = "float32") -> Tensor:
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    exact = 2.0 ** numbers.integers(-6, 0, shape)
    other = numbers.uniform(0.01, 0.2, shape)
    return g.leaf(np.asarray(exact if g.chance(0.3) else other).astype(dtype), 1)


def quantize(g: Growth, op: str) -> None:
    """One scale, or one for each place of an axis."""
    data = g.pick(op, "x", rank=(0, 4), kind="f")
    dtype = np.dtype(g.choice("uint8", "int8"))
    axis = g.axis(data.rank) if data.rank and g.opset >= 13 and g.chance(0.4) else None
    shape = () if axis is None else (data.shape[axis],)
    zero = _zero_point(g, dtype, shape) if dtype == np.int8 or g.chance(0.8) else None
    scale = _scale(g, shape, data.dtype.name)
    g.node(op, x=data, y_scale=scale, y_zero_point=zero, axis=axis)


def dequantize(g: Growth, op: str) -> None:
    """The inverse."""
    data = g.pick(op, "x", rank=(0, 4), where=lambda a: a.dtype in (np.int8, np.uint8, np.int32))
    axis = g.axis(data.rank) if data.rank and g.opset >= 13 and g.chance(0.4) else None
    shape = () if axis is None else (data.shape[axis],)
    zero = None if data.dtype == np.int32 or g.chance(0.2) else _zero_point(g, data.dtype, shape)
    g.node(op, x=data, x_scale=_scale(g, shape), x_zero_point=zero, axis=axis)


def dynamic_quantize(g: Growth, op: str) -> None:
    """The range is found; zeros and numbers that are not finite have none."""

    def has_range(array: np.ndarray) -> bool:
        return bool(np.isfinite(array).all() and array.any())

    g.node(op, 3, x=g.pick(op, "x", rank=(0, 4), where=has_range, nonempty=True))


def _bytes(g: Growth, shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
    dtype = dtype or g.choice("uint8", "int8")
    found = g.find(lambda a: a.dtype == dtype and a.shape == shape)
    if found and g.chance(0.7):
        return g.choice(*found)
    info = np.iinfo(dtype)
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    return g.leaf(numbers.integers(info.min, info.max, shape, dtype, endpoint=True), 0.3)


def matmul(g: Growth, op: str) -> None:
    """Products of bytes with 32-bit sums, scaled to bytes again or not."""
    batch = (g.choice(1, 2),) if g.chance(0.3) else ()
    m, k, n = (g.choice(1, 2, 3, 4, 7, 8, 16, 17, 33) for _ in range(3))
    a, b = _bytes(g, (*batch, m, k)), _bytes(g, (*batch, k, n))
    if op == "MatMulInteger":
        zeros = [_zero_point(g, each.dtype) if g.chance(0.6) else None for each in (a, b)]
        g.node(op, A=a, B=b, a_zero_point=zeros[0], b_zero_point=zeros[1])
        return
    g.node(
        op,
        a=a,
        a_scale=_scale(g),
        a_zero_point=_zero_point(g, a.dtype),
        b=b,
        b_scale=_scale(g),
        b_zero_point=_zero_point(g, b.dtype),
        y_scale=_scale(g),
        y_zero_point=_zero_point(g, a.dtype),
    )


def conv(g: Growth, op: str) -> None:
    """Convolutions of bytes with 32-bit sums, scaled to bytes again or not."""
    channels = g.choice(1, 2, 4, 8, 16)
    shape = (g.choice(1, 2), channels, g.choice(3, 5, 8), g.choice(3, 4, 9))
    data = _bytes(g, shape, "uint8" if op == "ConvInteger" else None)
    options = window(g, data)
    group = g.choice(1, 1, channels)
    filters = group * g.choice(1, 2, 4)
    weight = _bytes(g, (filters, channels // group, *options["kernel_shape"]), data.dtype.name)
    zero, weight_zero = _zero_point(g, data.dtype), _zero_point(g, weight.dtype)
    if op == "ConvInteger":
        g.node(op, x=data, w=weight, x_zero_point=zero, w_zero_point=weight_zero, group=group,
               **options)  # fmt: skip
        return
    scales = (filters,) if g.chance(0.4) else ()
    bias = None
    if g.chance(0.5):
        numbers = np.random.default_rng(g.rng.getrandbits(63))
        bias = g.leaf(numbers.integers(-500, 500, filters).astype(np.int32), 1)
    g.node(
        op,
        x=data,
        x_scale=_scale(g),
        x_zero_point=zero,
        w=weight,
        w_scale=_scale(g, scales),
        w_zero_point=weight_zero,
        y_scale=_scale(g),
        y_zero_point=_zero_point(g, data.dtype),
        B=bias,
        group=group,
        **options,
    )


QUANTIZED_TEMPLATES: Mapping[str, Template] = {
    **dict.fromkeys(("MatMulInteger", "QLinearMatMul"), matmul),
    **dict.fromkeys(("ConvInteger", "QLinearConv"), conv),
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "QuantizeLinear": quantize,
}
