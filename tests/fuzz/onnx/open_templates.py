"""Nodes of graphs with open dimensions: each kind with its rule for shapes, and with operands as exporters write them."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tests.fuzz.onnx.open_graphs import Dim, OpenGrowth, Shape, Tensor, Unfit, each_call, is_static

Template: TypeAlias = Callable[[OpenGrowth], object]
"""Adds nodes to a graph. Raises Unfit when it cannot."""

UNARY = ("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Erf", "Softplus", "Floor", "Identity", "Elu")
ENDLESS = 2**31 - 1
COORDINATES = ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")


def unary(g: OpenGrowth) -> None:
    """Each element by itself."""
    x = g.pick()
    g.add(g.rng.choice(UNARY), [x], x.dtype, x.shape)


def _broadcast(lhs: Shape, rhs: Shape) -> Shape:
    rank = max(len(lhs), len(rhs))
    one = (1,) * len((*lhs, *rhs, (1,))[0])
    padded = [(one,) * (rank - len(each)) + each for each in (lhs, rhs)]
    for left, right in zip(*padded, strict=True):
        if left != right and set(left) != {1} and set(right) != {1}:
            raise Unfit("shapes do not agree")
    return tuple(r if set(left) == {1} else left for left, r in zip(*padded, strict=True))


def binary(g: OpenGrowth) -> None:
    """Two tensors of shapes that agree, or one with a constant."""
    x = g.pick()
    op = g.rng.choice(("Add", "Sub", "Mul", "Max", "Min", "PRelu", "Div"))
    if g.chance(0.4) or op == "Div":
        shape = [d[0] if is_static(d) and g.chance(0.7) else 1 for d in x.shape]
        weight = g.weight(*shape)
        if op == "Div":
            weight = g.constant(np.full(shape, 1.5, np.float32))
        g.add(op, [x, weight], x.dtype, x.shape)
        return
    others = [each for each in g.tensors if each.dtype == x.dtype and each.name != x.name]
    g.rng.shuffle(others)
    for y in others:
        try:
            shape = _broadcast(x.shape, y.shape)
        except Unfit:
            continue
        g.add("Mul" if op == "PRelu" else op, [x, y], x.dtype, shape)
        return
    raise Unfit("no other tensor agrees")


def choose(g: OpenGrowth) -> None:
    """A comparison, and what it chooses."""
    x = g.pick()
    bound = g.constant(np.array(g.rng.choice((0.0, 0.3)), np.float32))
    above = g.hidden("Greater", x, bound)
    g.add("Where", [above, x, g.constant(np.array(-0.5, np.float32))], x.dtype, x.shape)


def convert(g: OpenGrowth) -> None:
    """Another element type."""
    x = g.pick(("float32", "int64", "int32"))
    to = g.rng.choice([each for each in ("float32", "int64", "int32") if each != x.dtype])
    g.add("Cast", [x], to, x.shape, to={"float32": 1, "int64": 7, "int32": 6}[to])


def transpose(g: OpenGrowth) -> None:
    """Another order of axes."""
    x = g.pick(("float32", "int64"), range(1, 6))
    perm = g.rng.sample(range(x.rank), x.rank)
    g.add("Transpose", [x], x.dtype, tuple(x.shape[axis] for axis in perm), perm=perm)


def _regrouped(g: OpenGrowth, shape: Shape) -> Shape:
    """A shape of as many elements: two axes in one, or one in two."""
    if len(shape) >= 2 and g.chance(0.6):
        axis = g.rng.randrange(len(shape) - 1)
        merged = each_call(int.__mul__, shape[axis], shape[axis + 1])
        return (*shape[:axis], merged, *shape[axis + 2 :])
    if not shape:
        raise Unfit("there is no axis")
    axis = g.rng.randrange(len(shape))
    known: list[Dim] = [dim for dim, _, _ in g.dimensions()]
    known += [g.number(n) for n in (1, 2, 3, 4)]
    parts = [
        dim
        for dim in dict.fromkeys(known)
        if 0 not in dim and all(a % b == 0 for a, b in zip(shape[axis], dim, strict=True))
    ]
    part = g.rng.choice(parts or [g.number(1)])
    pair = [part, each_call(int.__floordiv__, shape[axis], part)]
    g.rng.shuffle(pair)
    return (*shape[:axis], *pair, *shape[axis + 1 :])


def reshape(g: OpenGrowth) -> None:
    """Constants, 0 and -1 where they do, or a vector that is computed."""
    x = g.pick(("float32", "int64"))
    shape = x.shape
    for _ in range(g.rng.choice((1, 1, 2, 3))):
        shape = _regrouped(g, shape)
    stated: list[int] = []
    for axis, dim in enumerate(shape):
        if is_static(dim):
            stated.append(dim[0])
        elif axis < x.rank and x.shape[axis] == dim and g.chance(0.8):
            stated.append(0)
        else:
            stated.append(-1)
    if stated.count(-1) <= 1 and 0 not in (d for dim in x.shape for d in dim) and g.chance(0.7):
        vector = g.longs(*stated)
    else:
        vector = g.shape_vector(shape)
    g.add("Reshape", [x, vector], x.dtype, shape)


def unsqueeze(g: OpenGrowth) -> None:
    """Axes of length 1 come, or go."""
    x = g.pick(("float32", "int64"))
    ones = [axis for axis, dim in enumerate(x.shape) if set(dim) == {1}]
    if ones and g.chance(0.5):
        axis = g.rng.choice(ones)
        g.add("Squeeze", [x, g.longs(axis)], x.dtype, x.shape[:axis] + x.shape[axis + 1 :])
        return
    axis = g.rng.randint(0, x.rank)
    shape = (*x.shape[:axis], g.number(1), *x.shape[axis:])
    g.add("Unsqueeze", [x, g.longs(axis)], x.dtype, shape)


def flatten(g: OpenGrowth) -> None:
    """Two axes remain."""
    x = g.pick(ranks=range(1, 5))
    axis = g.rng.randint(0, x.rank)
    one = g.number(1)
    sides = (x.shape[:axis], x.shape[axis:])
    shape = tuple(each_call(lambda *n: int(np.prod(n)), one, *side) for side in sides)
    g.add("Flatten", [x], x.dtype, shape, axis=axis)


def cut(g: OpenGrowth) -> None:
    """A slice from constants, or up to the length of another tensor."""
    x = g.pick(("float32", "int64"))
    axis = g.axis(x)
    dim = x.shape[axis]
    steps = g.longs(axis)
    if g.chance(0.3):
        others = [
            d for d, _, _ in g.dimensions() if all(a <= b for a, b in zip(d, dim, strict=True))
        ]
        other = g.rng.choice(others)
        shape = (*x.shape[:axis], other, *x.shape[axis + 1 :])
        g.add("Slice", [x, g.longs(0), g.length(other), steps], x.dtype, shape)
        return
    step = g.rng.choice((1, 1, 1, 2, 3, -1, -2))
    start = g.rng.choice((0, 0, 1, 2, 5, -1, -2, -4, -40))
    stop = g.rng.choice((ENDLESS, ENDLESS, 1, 2, 9, 33, -1, -2))
    if step < 0:
        start, stop = g.rng.choice((-1, -1, ENDLESS, 7)), g.rng.choice((-ENDLESS, -ENDLESS, 0, 2))
    shape = (
        *x.shape[:axis],
        each_call(lambda n: len(range(n)[start:stop:step]), dim),
        *x.shape[axis + 1 :],
    )
    g.add("Slice", [x, g.longs(start), g.longs(stop), steps, g.longs(step)], x.dtype, shape)


def split(g: OpenGrowth) -> None:
    """One of two parts of an axis of a known length."""
    x = g.pick()
    axis = g.axis(x, lambda d: is_static(d) and d[0] > 1)
    first = g.rng.randint(1, x.shape[axis][0] - 1)
    sizes = first, x.shape[axis][0] - first
    names = [g.name("v"), g.name("v")]
    g.hidden("Split", x, g.longs(*sizes), axis=axis)
    g.nodes[-1].output[:] = names
    for name, size in zip(names, sizes, strict=True):
        shape = (*x.shape[:axis], g.number(size), *x.shape[axis + 1 :])
        g.tensors.append(Tensor(name, x.dtype, shape))


def concat(g: OpenGrowth) -> None:
    """Tensors one behind the other."""
    x = g.pick(ranks=range(1, 5))
    axis = g.axis(x)
    rest = [d for i, d in enumerate(x.shape) if i != axis]
    fitting = [
        each
        for each in g.tensors
        if each.dtype == x.dtype
        and each.rank == x.rank
        and [d for i, d in enumerate(each.shape) if i != axis] == rest
    ]
    parts = [x, *(g.rng.choice(fitting) for _ in range(g.rng.choice((1, 1, 2))))]
    length = each_call(lambda *n: sum(n), *(each.shape[axis] for each in parts))
    g.add("Concat", parts, x.dtype, (*x.shape[:axis], length, *x.shape[axis + 1 :]), axis=axis)


def pad(g: OpenGrowth) -> None:
    """More elements at the ends of axes."""
    x = g.pick(ranks=range(1, 5))
    mode = g.rng.choice(("constant", "constant", "edge", "reflect"))
    before = [g.rng.choice((0, 0, 0, 1, 2)) for _ in x.shape]
    after = [g.rng.choice((0, 0, 0, 1, 2)) for _ in x.shape]
    if mode == "reflect":
        for axis, dim in enumerate(x.shape):
            if min(dim) <= 2:
                before[axis] = after[axis] = 0
    shape = tuple(
        each_call(lambda n, more=b + a: n + more, dim)
        for dim, b, a in zip(x.shape, before, after, strict=True)
    )
    g.add("Pad", [x, g.longs(*before, *after)], x.dtype, shape, mode=mode)


def expand(g: OpenGrowth) -> None:
    """To the shape of another tensor."""
    y = g.pick()
    fitting: list[Tensor] = []
    for x in g.tensors:
        if x.dtype == "float32" and x.rank <= y.rank and x.shape != y.shape:
            pairs = list(zip(reversed(x.shape), reversed(y.shape), strict=False))
            if all(a == b or set(a) == {1} for a, b in pairs):
                fitting.append(x)
    if not fitting:
        raise Unfit("nothing is smaller")
    x = g.rng.choice(fitting)
    vector = g.hidden("Shape", y) if g.chance(0.5) else g.shape_vector(y.shape)
    g.add("Expand", [x, vector], x.dtype, y.shape)


def filled(g: OpenGrowth) -> None:
    """A tensor of one number, of the shape of another one."""
    y = g.pick(("float32", "int64"))
    value = numpy_tensor(np.array([g.rng.choice((0.0, 1.5))], np.float32))
    vector = g.hidden("Shape", y) if g.chance(0.5) else g.shape_vector(y.shape)
    g.add("ConstantOfShape", [vector], "float32", y.shape, value=value)


def numpy_tensor(array: np.ndarray) -> object:
    """An array as an attribute."""
    from onnx import numpy_helper

    return numpy_helper.from_array(array)


def tile(g: OpenGrowth) -> None:
    """Axes that are repeated, at times as often as another one is long."""
    x = g.pick(ranks=range(1, 4))
    repeats = [g.number(g.rng.choice((1, 1, 2, 3))) for _ in x.shape]
    if g.chance(0.3):
        repeats[g.rng.randrange(x.rank)] = g.rng.choice([d for d, _, _ in g.dimensions()])
    shape = tuple(each_call(int.__mul__, d, n) for d, n in zip(x.shape, repeats, strict=True))
    g.add("Tile", [x, g.shape_vector(tuple(repeats))], x.dtype, shape)


def reduce(g: OpenGrowth) -> None:
    """Over any axes."""
    x = g.pick(ranks=range(1, 6))
    op = g.rng.choice(("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"))
    axes = sorted(g.rng.sample(range(x.rank), g.rng.randint(1, x.rank)))
    keep = g.chance(0.6)
    shape = tuple(
        g.number(1) if axis in axes else dim
        for axis, dim in enumerate(x.shape)
        if keep or axis not in axes
    )
    if op == "Sum" or g.opset >= 18:
        g.add(f"Reduce{op}", [x, g.longs(*axes)], x.dtype, shape, keepdims=int(keep))
    else:
        g.add(f"Reduce{op}", [x], x.dtype, shape, axes=axes, keepdims=int(keep))


def greatest(g: OpenGrowth) -> None:
    """Where the greatest element of an axis is."""
    x = g.pick(ranks=range(1, 5))
    axis = g.axis(x)
    shape = (*x.shape[:axis], g.number(1), *x.shape[axis + 1 :])
    g.add(g.rng.choice(("ArgMax", "ArgMin")), [x], "int64", shape, axis=axis)


def softmax(g: OpenGrowth) -> None:
    """Along an axis."""
    x = g.pick(ranks=range(1, 5))
    axis = x.rank - 1 if g.chance(0.6) else g.axis(x)
    g.add(g.rng.choice(("Softmax", "Softmax", "LogSoftmax")), [x], x.dtype, x.shape, axis=axis)


def sums(g: OpenGrowth) -> None:
    """Sums of all elements before."""
    x = g.pick(ranks=range(1, 4))
    axis = g.axis(x)
    g.add("CumSum", [x, g.constant(np.array(axis))], x.dtype, x.shape)


def layer_norm(g: OpenGrowth) -> None:
    """Over the last axis, of a known length."""
    x = g.pick(ranks=range(2, 5))
    if not is_static(x.shape[-1]):
        raise Unfit("weights are of a known length")
    width = x.shape[-1][0]
    weights = g.weight(width), g.weight(width)
    g.add("LayerNormalization", [x, *weights], x.dtype, x.shape, axis=-1, epsilon=1e-2)


def dense(g: OpenGrowth) -> None:
    """A product with weights."""
    x = g.pick(ranks=range(2, 5))
    if not is_static(x.shape[-1]):
        raise Unfit("weights are of a known length")
    depth, width = x.shape[-1][0], g.rng.choice((1, 3, 8, 16, 17, 40))
    shape = (*x.shape[:-1], g.number(width))
    if x.rank == 2 and g.chance(0.5):
        g.add("Gemm", [x, g.weight(width, depth), g.weight(width)], x.dtype, shape, transB=1)
        return
    g.add("MatMul", [x, g.weight(depth, width)], x.dtype, shape)


def product(g: OpenGrowth) -> None:
    """A product of two tensors of the graph; where there is none that fits, of one with itself."""
    x = g.pick(ranks=range(2, 5))
    *batch, rows, depth = x.shape
    fitting = [
        each
        for each in g.tensors
        if each.dtype == x.dtype
        and each.rank == x.rank
        and each.shape[-2] == depth
        and list(each.shape[:-2]) == batch
    ]
    if fitting and g.chance(0.7):
        y = g.rng.choice(fitting)
        g.add("MatMul", [x, y], x.dtype, (*batch, rows, y.shape[-1]))
        return
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    g.add("MatMul", [x, g.hidden("Transpose", x, perm=perm)], x.dtype, (*batch, rows, rows))


def attention(g: OpenGrowth) -> None:
    """Scores, softmax and values, as a transformer has them."""
    x = g.pick(ranks=(3, 4))
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    scores = g.hidden("MatMul", x, g.hidden("Transpose", x, perm=perm))
    scores = g.hidden("Mul", scores, g.constant(np.array(0.4, np.float32)))
    weights = g.hidden("Softmax", scores, axis=-1)
    g.add("MatMul", [weights, x], x.dtype, x.shape)


def _window(dim: Dim, kernel: int, stride: int, before: int, after: int) -> Dim:
    return each_call(lambda n: (n + before + after - kernel) // stride + 1, dim)


def conv(g: OpenGrowth) -> None:
    """Over one or two axes, plain, in groups or by channel."""
    x = g.pick(ranks=(3, 4))
    if not is_static(x.shape[1]):
        raise Unfit("channels are of a known length")
    channels, axes = x.shape[1][0], x.rank - 2
    group = g.rng.choice((1, 1, channels))
    outputs = channels if group > 1 else g.rng.choice((1, 4, 16, 17, 32))
    kernel = [g.rng.choice((1, 3, 3, 5)) for _ in range(axes)]
    dilations = [g.rng.choice((1, 1, 1, 2)) for _ in range(axes)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = [each // 2 for each in reach] * 2 if g.chance(0.7) else [0] * (2 * axes)
    strides = [g.rng.choice((1, 1, 2)) for _ in range(axes)]
    spatial = tuple(
        _window(dim, k, s, before, after)
        for dim, k, s, before, after in zip(
            x.shape[2:], reach, strides, pads[:axes], pads[axes:], strict=True
        )
    )
    weights = [g.weight(outputs, channels // group, *kernel), g.weight(outputs)]
    shape = (x.shape[0], g.number(outputs), *spatial)
    g.add("Conv", [x, *weights], x.dtype, shape, kernel_shape=kernel, pads=pads, strides=strides, dilations=dilations, group=group)  # fmt: skip


def pool(g: OpenGrowth) -> None:
    """Windows, or whole images."""
    x = g.pick(ranks=(3, 4))
    axes = x.rank - 2
    if g.chance(0.3):
        shape = (*x.shape[:2], *[g.number(1)] * axes)
        g.add(g.rng.choice(("GlobalAveragePool", "GlobalMaxPool")), [x], x.dtype, shape)
        return
    op = g.rng.choice(("MaxPool", "AveragePool"))
    kernel = [g.rng.choice((2, 3)) for _ in range(axes)]
    strides = [g.rng.choice((1, 2)) for _ in range(axes)]
    pads = [g.rng.choice((0, 1)) for _ in range(axes)] * 2
    spatial = tuple(
        _window(dim, k, s, p, p)
        for dim, k, s, p in zip(x.shape[2:], kernel, strides, pads[:axes], strict=True)
    )
    g.add(
        op, [x], x.dtype, (*x.shape[:2], *spatial), kernel_shape=kernel, strides=strides, pads=pads
    )


def resize(g: OpenGrowth) -> None:
    """Images of another size, by scales or of the size of another image."""
    x = g.pick(ranks=(4,))
    how = {
        "mode": g.rng.choice(("nearest", "linear", "cubic")),
        "coordinate_transformation_mode": g.rng.choice(COORDINATES),
        "nearest_mode": g.rng.choice(("floor", "round_prefer_floor")),
    }
    others = [each for each in g.tensors if each.rank == 4 and each.shape[2:] != x.shape[2:]]
    if others and g.chance(0.4):
        other = g.rng.choice(others)
        sizes = [g.hidden("Shape", each) for each in (x, other)]
        ends = [g.constant(np.array([i], np.int64)) for i in (0, 2, 4)]
        size = [g.hidden("Slice", sizes[0], *ends[:2]), g.hidden("Slice", sizes[1], *ends[1:])]
        both = g.hidden("Concat", *size, axis=0)
        g.add("Resize", [x, "", "", both], x.dtype, (*x.shape[:2], *other.shape[2:]), **how)
        return
    scales = g.constant(np.array([1, 1, 2, g.rng.choice((1, 2))], np.float32))
    factors = (1, 1, *g.constants[-1][1][2:].astype(int).tolist())
    shape = tuple(each_call(lambda n, f=f: n * f, d) for d, f in zip(x.shape, factors, strict=True))
    g.add("Resize", [x, "", scales], x.dtype, shape, **how)


def gather(g: OpenGrowth) -> None:
    """Elements by constant places, or rows of a table by computed ones."""
    if g.chance(0.5):
        places = g.pick(("int64",), range(4))
        width = g.rng.choice((1, 8, 17))
        inside = g.hidden("Mod", places, g.constant(np.array(5)))
        g.add(
            "Gather",
            [g.weight(5, width), inside],
            "float32",
            (*places.shape, g.number(width)),
            axis=0,
        )
        return
    x = g.pick(ranks=range(1, 5))
    axis = g.axis(x)
    least = min(x.shape[axis])
    count = g.rng.randint(1, 4)
    places = [g.rng.randint(-least, least - 1) if least else 0 for _ in range(count)]
    shape = (*x.shape[:axis], g.number(count), *x.shape[axis + 1 :])
    g.add("Gather", [x, g.longs(*places)], x.dtype, shape, axis=axis)


def positions(g: OpenGrowth) -> None:
    """The numbers from 0 to the length of an axis."""
    x = g.pick(("float32", "int64"))
    dim = x.shape[g.axis(x)]
    zero, one = (g.constant(np.array(number)) for number in (0, 1))
    stop = g.hidden("Squeeze", g.length(dim), g.longs(0))
    g.add("Range", [zero, stop, one], "int64", (dim,))


def triangle(g: OpenGrowth) -> None:
    """The elements above or below a diagonal."""
    x = g.pick(ranks=range(2, 5))
    g.add("Trilu", [x], x.dtype, x.shape, upper=g.rng.randrange(2))


def mean_by_length(g: OpenGrowth) -> None:
    """A quotient by a length."""
    x = g.pick()
    length = g.hidden("Cast", g.length(x.shape[g.axis(x)]), to=1)
    g.add("Div", [x, length], x.dtype, x.shape if x.rank else (g.number(1),))


def batch_norm(g: OpenGrowth) -> None:
    """By channel, of a known number."""
    x = g.pick(ranks=(3, 4))
    if not is_static(x.shape[1]):
        raise Unfit("channels are of a known length")
    channels = x.shape[1][0]
    means = [g.weight(channels) for _ in range(3)]
    variance = g.constant(np.full(channels, 1.3, np.float32))
    g.add("BatchNormalization", [x, *means, variance], x.dtype, x.shape)


def largest(g: OpenGrowth) -> None:
    """The few largest elements of an axis."""
    x = g.pick(ranks=range(1, 4))
    axis = g.axis(x, lambda d: min(d) >= 2)
    shape = (*x.shape[:axis], g.number(2), *x.shape[axis + 1 :])
    names = [g.name("v"), g.name("v")]
    g.hidden("TopK", x, g.longs(2), axis=axis)
    g.nodes[-1].output[:] = names
    g.tensors.append(Tensor(names[0], x.dtype, shape))


USUAL: tuple[Template, ...] = (
    unary, binary, binary, choose, transpose, reshape, reshape, unsqueeze, cut, concat, reduce, softmax, dense, product,
    layer_norm, attention,
)  # fmt: skip
TEMPLATES: tuple[Template, ...] = (
    *USUAL, convert, flatten, split, pad, expand, filled, tile, greatest, sums, conv, conv, pool, resize, gather, positions,
    triangle, mean_by_length, batch_norm, largest,
)  # fmt: skip
