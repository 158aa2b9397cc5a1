"""Nodes of operators that move elements, or say something about shapes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import helper

from tests.fuzz.onnx.growth import Growth, Unfit, longs, tensor_attribute
from tests.fuzz.onnx.templates.template import Template
from tests.fuzz.onnx.values import DTYPES, random_array, random_shape


def reshape(g: Growth, op: str) -> None:
    """Any shape of as many elements, with -1 and 0 at times."""
    data = g.pick(op, "data")
    shape: list[int] = []
    rest = data.array.size
    for _ in range(g.choice(0, 1, 1, 2, 2, 3, 3, 4)):
        divisors = [n for n in range(1, min(rest, 300) + 1) if rest % n == 0] or [1]
        shape.append(g.choice(*divisors))
        rest //= max(1, shape[-1])
    if rest != 1:
        shape.append(rest)
    g.rng.shuffle(shape)
    allow = 1 if 0 in shape and g.opset >= 14 else None
    if shape and 0 not in shape:
        if g.chance(0.4):
            shape[g.rng.randrange(len(shape))] = -1
        for i, n in enumerate(shape):
            if i < data.rank and n == data.shape[i] and g.chance(0.3):
                shape[i] = 0
    g.node(op, data=data, shape=longs(*shape), allowzero=allow)


def transpose(g: Growth, op: str) -> None:
    """Any order of axes; without one they are reversed."""
    data = g.pick(op, "data")
    perm = g.rng.sample(range(data.rank), data.rank)
    g.node(op, data=data, perm=None if g.chance(0.1) else perm)


def flatten(g: Growth, op: str) -> None:
    """Two axes remain."""
    data = g.pick(op, "input")
    low = -data.rank if g.opset >= 11 else 0
    g.node(op, input=data, axis=g.rng.randint(low, data.rank))


def squeeze(g: Growth, op: str) -> None:
    """Axes of length 1, or all of them."""
    data = g.pick(op, "data", where=lambda a: 1 in a.shape)
    ones = [axis for axis, n in enumerate(data.shape) if n == 1]
    if g.chance(0.2):
        g.node(op, data=data)
        return
    axes = g.rng.sample(ones, g.rng.randint(1, len(ones)))
    low = data.rank if g.opset >= 11 and g.chance(0.3) else 0
    g.node(op, data=data, axes=longs(*(axis - low for axis in axes)))


def unsqueeze(g: Growth, op: str) -> None:
    """One to three new axes."""
    data = g.pick(op, "data", rank=(0, 4))
    count = g.choice(1, 1, 2, 3) if data.rank < 3 else 1
    rank = data.rank + count
    axes = g.rng.sample(range(rank), count)
    low = rank if g.opset >= 11 and g.chance(0.3) else 0
    g.node(op, data=data, axes=longs(*(axis - low for axis in axes)))


def concat(g: Growth, op: str) -> None:
    """One to four tensors that differ in one axis."""
    data = g.pick(op, "inputs", rank=(1, 5))
    axis = g.axis(data.rank)
    operands = [data]
    for _ in range(g.choice(0, 1, 1, 2, 3)):
        shape = list(data.shape)
        shape[axis] = g.choice(1, 2, 3, shape[axis])

        def fits(array: Any) -> bool:
            rest = [list(each) for each in (array.shape, data.shape)]
            return (
                array.dtype == data.dtype
                and array.ndim == data.rank
                and all(
                    a == b
                    for i, (a, b) in enumerate(zip(*rest, strict=True))
                    if i != axis % data.rank
                )
            )

        found = g.find(fits)
        operands.append(g.choice(*found) if found and g.chance(0.5) else g.new(data.dtype, shape))
    g.rng.shuffle(operands)
    g.raw_node(op, operands, axis=axis)


def split(g: Growth, op: str) -> None:
    """Parts of equal or of stated lengths."""
    data = g.pick(op, "input", rank=(1, 5), nonempty=True)
    axis = g.axis(data.rank)
    length = data.shape[axis]
    if g.chance(0.5) and g.opset >= 18:
        count = g.rng.randint(1, min(4, length))
        g.node(op, count, input=data, axis=axis, num_outputs=count)
        return
    parts: list[int] = []
    while sum(parts) < length and len(parts) < 3:
        parts.append(g.rng.randint(0 if g.chance(0.1) else 1, length - sum(parts)))
    if sum(parts) < length:
        parts.append(length - sum(parts))
    g.node(op, len(parts), input=data, axis=axis, split=longs(*parts))


def slice_(g: Growth, op: str) -> None:
    """Starts and ends in the range, beyond it, counted from the end; steps of both signs."""
    data = g.pick(op, "data", rank=(1, 5))
    axes = g.axes(data.rank)
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for axis in axes:
        n = data.shape[axis]
        step = 1 if g.opset < 10 else g.choice(1, 1, 1, 2, 3, -1, -2)
        low, high = sorted(g.rng.randint(0, n) for _ in range(2))
        if step < 0:
            # Starts in the range: what is beyond is docs/onnx.md's subject.
            low, high = max(0, high - 1), low - 1 if low else -n - 1
        elif g.chance(0.3):
            low, high = low - n - (n == 0), g.choice(high, n + 5, 2**31 - 1)
        starts.append(low)
        ends.append(high)
        steps.append(step)
    plain = len(axes) == data.rank and axes == list(range(data.rank))
    g.node(
        op,
        data=data,
        starts=longs(*starts),
        ends=longs(*ends),
        axes=None if plain and g.chance(0.5) else longs(*axes),
        steps=None if g.opset < 10 or steps == [1] * len(steps) else longs(*steps),
    )


def pad(g: Growth, op: str) -> None:
    """Pads of all modes; negative ones crop."""
    kind = "f" if g.opset < 11 else "fiu"
    data = g.pick(op, "data", rank=(1, 5), kind=kind, nonempty=True)
    mode = g.choice("constant", "constant", "reflect", "edge")
    pads = [0] * (2 * data.rank)
    for i in range(len(pads)):
        n = data.shape[i % data.rank]
        most = min(3, n - 1) if mode == "reflect" else 3
        if g.chance(0.5):
            pads[i] = g.rng.randint(-1 if n > 3 and mode == "constant" else 0, most)
    value = g.choice(0, 0, 1, 2)
    if g.opset < 11:
        g.node(op, data=data, pads=pads, mode=mode, value=float(value))
        return
    constant = np.array(value, data.dtype) if mode == "constant" and g.chance(0.7) else None
    g.node(op, data=data, pads=longs(*pads), constant_value=constant, mode=mode)


def expand(g: Growth, op: str) -> None:
    """Axes of length 1 become longer, and there are new ones."""
    data = g.pick(op, "input", rank=(0, 4))
    shape = [g.choice(1, 2, 3, 7) if n == 1 else g.choice(1, n, n) for n in data.shape]
    shape = [g.choice(1, 2, 3) for _ in range(g.choice(0, 0, 1))] + shape
    g.node(op, input=data, shape=longs(*shape))


def tile(g: Growth, op: str) -> None:
    """Each axis one to three times."""
    data = g.pick(op, "input", rank=(1, 5))
    g.node(op, input=data, repeats=longs(*(g.choice(1, 1, 2, 3) for _ in data.shape)))


def depth_to_space(g: Growth, op: str) -> None:
    """Channels in blocks."""
    block = g.choice(1, 2, 2, 3)
    n, c, h, w = (g.choice(1, 2, 3, 4) for _ in range(4))
    c *= block * block
    data = _image(g, op, lambda a: a.shape[1] % block**2 == 0, (n, c, h, w))
    mode = g.choice("DCR", "CRD") if g.opset >= 11 else None
    g.node(op, input=data, blocksize=block, mode=mode)


def space_to_depth(g: Growth, op: str) -> None:
    """Images in blocks."""
    block = g.choice(1, 2, 2, 3)
    n, c, h, w = (g.choice(1, 2, 3, 4) for _ in range(4))
    data = _image(
        g,
        op,
        lambda a: a.shape[2] % block == a.shape[3] % block == 0,
        (n, c, h * block, w * block),
    )
    g.node(op, input=data, blocksize=block)


def _image(g: Growth, op: str, fits: Any, shape: tuple[int, ...]) -> Any:
    try:
        return g.pick(op, "input", rank=4, where=fits, kind="f", nonempty=True)
    except Unfit:
        return g.new("float32", shape)


def trilu(g: Growth, op: str) -> None:
    """A triangle of each matrix."""
    data = g.pick(op, "input", rank=(2, 5))
    k = None if g.chance(0.3) else np.array(g.rng.randint(-3, 3), np.int64)
    g.node(op, input=data, k=k, upper=g.choice(0, 1))


def center_crop_pad(g: Growth, op: str) -> None:
    """Some axes get other lengths."""
    data = g.pick(op, "input_data", rank=(1, 4), nonempty=True)
    axes = g.axes(data.rank)
    shape = longs(*(max(1, data.shape[axis] + g.rng.randint(-2, 3)) for axis in axes))
    g.node(op, input_data=data, shape=shape, axes=axes)


def reverse_sequence(g: Growth, op: str) -> None:
    """The first elements of each sequence in reverse."""
    data = g.pick(op, "input", rank=(2, 5), nonempty=True)
    time = g.choice(0, 1)
    lengths = [g.rng.randint(1, data.shape[time]) for _ in range(data.shape[1 - time])]
    g.node(
        op, input=data, sequence_lens=g.leaf(longs(*lengths)), time_axis=time, batch_axis=1 - time
    )


def shape_of(g: Growth, op: str) -> None:
    """A shape or a part of it."""
    data = g.pick(op, "data")
    bounds: dict[str, int] = {}
    if g.opset >= 15 and g.chance(0.4):
        bounds = {"start": g.rng.randint(-4, 4), "end": g.rng.randint(-4, 4)}
    g.node(op, data=data, **bounds)


def size(g: Growth, op: str) -> None:
    """The number of elements."""
    g.node(op, data=g.pick(op, "data"))


def constant(g: Growth, op: str) -> None:
    """Tensors, and numbers or lists where the operator set has them."""
    kind = g.choice("value", "value", "value_float", "value_floats", "value_int", "value_ints")
    value: Any = {
        "value": tensor_attribute(random_array(g.rng, g.choice(*DTYPES[:12]), random_shape(g.rng))),
        "value_float": 1.5,
        "value_floats": [1.0, -2.0, 0.5],
        "value_int": 3,
        "value_ints": [0, 1, 2],
    }[kind]
    g.node(op, **{kind: value})


def constant_of_shape(g: Growth, op: str) -> None:
    """Equal elements."""
    value = random_array(g.rng, g.choice(*DTYPES), (1,))
    shape = longs(*random_shape(g.rng))
    g.node(op, input=shape, value=None if g.chance(0.3) else tensor_attribute(value))


def eye_like(g: Growth, op: str) -> None:
    """Ones on a diagonal."""
    data = g.pick(op, "input", rank=2)
    dtype = g.choice(None, "float32", "int32", "float64", "int64")
    code = None if dtype is None else int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    g.node(op, input=data, k=g.rng.randint(-2, 2), dtype=code)


def range_(g: Growth, op: str) -> None:
    """Numbers at equal distances."""
    dtype = g.choice("int64", "int32", "float32", "float64")
    start, delta, count = g.rng.randint(-3, 3), g.choice(1, 2, -1, 3), g.rng.randint(0, 20)
    numbers = (start, start + delta * count, delta)
    start_, limit, step = (np.array(number, dtype) for number in numbers)
    g.node(op, start=start_, limit=limit, delta=step)


def dropout(g: Growth, op: str) -> None:
    """As inference has it: nothing is dropped."""
    outputs = g.choice(1, 1, 2) if g.opset >= 10 else 1
    g.node(op, outputs, data=g.pick(op, "data", kind="f"))


def affine_grid(g: Growth, op: str) -> None:
    """Places in images of two or three dimensions."""
    n, space = g.choice(1, 2), g.choice(2, 3)
    theta = g.weight("float32", (n, space, space + 1))
    size = longs(n, g.choice(1, 2), *(g.choice(2, 3, 4) for _ in range(space)))
    g.node(op, theta=theta, size=size, align_corners=g.choice(0, 1))


def col2im(g: Growth, op: str) -> None:
    """Columns become images."""
    block = [g.choice(1, 2, 3) for _ in range(g.choice(1, 2, 2))]
    image = [g.choice(3, 4, 5, 6) for _ in block]
    columns = math.prod(n - k + 1 for n, k in zip(image, block, strict=True))
    shape = (g.choice(1, 2), g.choice(1, 2, 3) * math.prod(block), columns)
    g.node(op, input=g.new("float32", shape), image_shape=longs(*image), block_shape=longs(*block))


SHAPE_TEMPLATES: Mapping[str, Template] = {
    "AffineGrid": affine_grid,
    "CenterCropPad": center_crop_pad,
    "Col2Im": col2im,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Dropout": dropout,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape,
    "ReverseSequence": reverse_sequence,
    "Shape": shape_of,
    "Size": size,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": unsqueeze,
}
