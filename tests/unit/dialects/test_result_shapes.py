"""
Results of operators with random attributes, odd and empty sizes: their inferred types against their
values, which the interpreter compares, and both against NumPy or the definition.
"""

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any, TypeAlias

import numpy as np
import pytest
from graphs import value_type
from operator_oracles import evaluate, ints, pick
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation

from xrelay.dialects.nn import dilate, space
from xrelay.dialects.pool import adaptive as adaptive_pool
from xrelay.dialects.tensor import creation, indexing, like, reorder, sort, transform
from xrelay.dialects.tensor import reduce as reduction
from xrelay.dialects.tensor import reshape as reshapes
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import constant_op

Random: TypeAlias = np.random.Generator
Case: TypeAlias = tuple[Callable[..., Operation], Sequence[Array], Any]
CASES: list[Callable[[Random], Case]] = []
ROUNDS = 12


def case(build: Callable[[Random], Case]) -> Callable[[Random], Case]:
    """Registers an operator on random operands, and what it gives."""
    CASES.append(build)
    return build


def numbers(rng: Random, *shape: int) -> Array:
    """Elements that are all different, in no order."""
    return rng.permutation(prod(shape)).astype(np.float32).reshape(shape)


def tensor(rng: Random, least: int = 0, rank: int = 0) -> Array:
    """A tensor of a rank, or of some rank from 1 on, whose axes have `least` elements or more."""
    return numbers(rng, *ints(rng, least, 5, rank or pick(rng, 1, 3)))


def some_axis(rng: Random, rank: int) -> int:
    """An axis, counted from either end."""
    return pick(rng, -rank, rank - 1)


# Elements in other places


@case
def strided_slice(rng: Random) -> Case:
    x = tensor(rng)
    count = pick(rng, 1, x.ndim)
    axes = rng.permutation(x.ndim)[:count].tolist()
    begin, end = ints(rng, -8, 8, count), ints(rng, -8, 8, count)
    steps = rng.choice([-3, -2, -1, 1, 2, 3], count).tolist()
    slices = [slice(None)] * x.ndim
    for axis, first, last, step in zip(axes, begin, end, steps, strict=True):
        slices[axis] = slice(first, last, step)
    named = [axis - x.ndim * pick(rng, 0, 1) for axis in axes]
    return (
        lambda v: transform.StridedSliceOp(v, begin, end, steps, axes=named),
        [x],
        x[tuple(slices)],
    )


@case
def slices_of_lists_of_unequal_length(rng: Random) -> Case:
    x = tensor(rng, rank=3)
    begin, end = (ints(rng, -6, 6, pick(rng, 0, 3)) for _ in range(2))
    steps = rng.choice([-2, -1, 1, 2], pick(rng, 0, 3)).tolist()
    slices: list[slice] = []
    for i in range(max(map(len, (begin, end, steps)))):
        step = steps[i] if i < len(steps) else 1
        # As in Relay, a negative step without an end leaves out element 0.
        last = end[i] if i < len(end) else None if step > 0 else 0
        slices.append(slice(begin[i] if i < len(begin) else None, last, step))
    return lambda v: transform.StridedSliceOp(v, begin, end, steps), [x], x[tuple(slices)]


@case
def slice_by_size(rng: Random) -> Case:
    x = tensor(rng)
    begin = [pick(rng, 0, length) for length in x.shape]
    sizes = ints(rng, -1, 6, x.ndim)
    slices = [
        slice(first, None if size < 0 else first + size)
        for first, size in zip(begin, sizes, strict=True)
    ]
    return (
        lambda v: transform.StridedSliceOp(v, begin, sizes, slice_mode="size"),
        [x],
        x[tuple(slices)],
    )


@case
def pad(rng: Random) -> Case:
    x, mode = tensor(rng, 1), rng.choice(["constant", "edge", "reflect"])
    widths: list[tuple[int, int]] = []
    for length in x.shape:
        most = length - 1 if mode == "reflect" else 4
        before, after = ints(rng, -2, most, 2)
        widths.append((before, after))
    added = [(max(before, 0), max(after, 0)) for before, after in widths]
    if any(length + sum(pair) < 0 for length, pair in zip(x.shape, widths, strict=True)):
        widths = added
    options = {"constant_values": -7} if mode == "constant" else {}
    kept = tuple(
        slice(max(-before, 0), max(-before, 0) + length + before + after)
        for length, (before, after) in zip(x.shape, widths, strict=True)
    )
    return (
        lambda v, w: space.PadOp(v, w, widths, pad_mode=str(mode)),
        [x, np.array(-7, np.float32)],
        np.pad(x, added, str(mode), **options)[kept],
    )


@case
def mirror_pad(rng: Random) -> Case:
    x, mode = tensor(rng, 1), str(rng.choice(["SYMMETRIC", "REFLECT"]))
    border = 1 if mode == "REFLECT" else 0
    widths = [(pick(rng, 0, n - border), pick(rng, 0, n - border)) for n in x.shape]
    return (
        lambda v: space.MirrorPadOp(v, widths, mode=mode),
        [x],
        np.pad(x, widths, mode.lower()),
    )


@case
def split(rng: Random) -> Case:
    x = tensor(rng)
    axis = some_axis(rng, x.ndim)
    places = sorted(ints(rng, 0, x.shape[axis], pick(rng, 0, 3)))
    expected = tuple(np.split(x, places, axis))
    return lambda v: transform.SplitOp(v, places, axis=axis), [x], expected


@case
def split_into_sections(rng: Random) -> Case:
    sections, axis = pick(rng, 1, 4), pick(rng, -2, 1)
    shape = ints(rng, 0, 4, 2)
    shape[axis] *= sections
    x = numbers(rng, *shape)
    expected = tuple(np.split(x, sections, axis))
    return lambda v: transform.SplitOp(v, sections, axis=axis), [x], expected


@case
def repeat(rng: Random) -> Case:
    x, count = tensor(rng), pick(rng, 0, 3)
    axis = some_axis(rng, x.ndim)
    return lambda v: transform.RepeatOp(v, count, axis), [x], np.repeat(x, count, axis)


@case
def tile(rng: Random) -> Case:
    x, reps = tensor(rng), ints(rng, 0, 3, pick(rng, 0, 4))
    return lambda v: transform.TileOp(v, reps), [x], np.tile(x, reps)


@case
def transpose(rng: Random) -> Case:
    x = tensor(rng, rank=4)
    axes = rng.permutation(4).tolist()
    return lambda v: transform.TransposeOp(v, axes), [x], x.transpose(axes)


@case
def concatenate(rng: Random) -> Case:
    x = tensor(rng)
    axis = some_axis(rng, x.ndim)
    places = sorted(ints(rng, 0, x.shape[axis], 2))
    parts = tuple(np.split(x, places, axis))
    return lambda v: transform.ConcatenateOp(v, axis=axis), [parts], x


@case
def stack(rng: Random) -> Case:
    x = tensor(rng)
    parts, axis = tuple(x + i for i in range(pick(rng, 1, 3))), some_axis(rng, x.ndim + 1)
    return lambda v: transform.StackOp(v, axis=axis), [parts], np.stack(parts, axis)


@case
def expand_dims(rng: Random) -> Case:
    x, count = tensor(rng), pick(rng, 0, 3)
    axis = some_axis(rng, x.ndim + 1)
    place = axis % (x.ndim + 1)
    shape = (*x.shape[:place], *[1] * count, *x.shape[place:])
    return lambda v: reshapes.ExpandDimsOp(v, axis, num_newaxis=count), [x], x.reshape(shape)


@case
def squeeze(rng: Random) -> Case:
    shape = ints(rng, 0, 2, 4)
    axes = [i - 4 * pick(rng, 0, 1) for i in range(4) if shape[i] == 1]
    x = numbers(rng, *shape)
    named = axes if pick(rng, 0, 1) else None
    return lambda v: reshapes.SqueezeOp(v, named), [x], np.squeeze(x)


@case
def reshape(rng: Random) -> Case:
    a, b, c = ints(rng, 1, 4, 3)
    x = numbers(rng, a * b, c, 2)
    codes, shape = [
        ([-1], (a * b * c * 2,)),
        ([0, -1], (a * b, c * 2)),
        ([-4, a, b, -2], (a, b, c, 2)),
        ([-4, -1, b, -3], (a, b, c * 2)),
        ([-4, a, -1, 0, 0], (a, b, c, 2)),
        ([-3, -1], (a * b * c, 2)),
        ([2, -1, c], (2, a * b, c)),
    ][pick(rng, 0, 6)]
    return lambda v: reshapes.ReshapeOp(v, codes), [x], x.reshape(shape)


@case
def sliding_window(rng: Random) -> Case:
    x = tensor(rng, 2, 3)
    axis = pick(rng, 0, 2)
    windows = [pick(rng, 1, length) for length in x.shape[axis:]]
    strides = ints(rng, 1, 3, 3 - axis)
    views = np.lib.stride_tricks.sliding_window_view(x, windows, tuple(range(axis, 3)))
    taken = tuple([slice(None)] * axis + [slice(None, None, stride) for stride in strides])
    return lambda v: reorder.SlidingWindowOp(v, axis, windows, strides), [x], views[taken]


@case
def dilated(rng: Random) -> Case:
    x = tensor(rng)
    strides = ints(rng, 1, 3, x.ndim)
    shape = [max((n - 1) * step + 1, 0) for n, step in zip(x.shape, strides, strict=True)]
    expected = np.full([0 if n == 0 else m for n, m in zip(x.shape, shape, strict=True)], -1.0)
    expected[tuple(slice(None, None, step) for step in strides)] = x
    return lambda v: dilate.DilateOp(v, strides, -1.0), [x], expected.astype(np.float32)


@case
def space_to_batch(rng: Random) -> Case:
    b1, b2 = ints(rng, 1, 3, 2)
    n, h, w, c = ints(rng, 1, 3, 4)
    top, left = pick(rng, 0, h * b1 - 1), pick(rng, 0, w * b2 - 1)
    x = numbers(rng, n, h * b1 - top, w * b2 - left, c)
    padded = np.pad(x, [(0, 0), (top, 0), (0, left), (0, 0)], constant_values=-1)
    blocks = padded.reshape(n, h, b1, w, b2, c).transpose(2, 4, 0, 1, 3, 5)
    return (
        lambda v: space.SpaceToBatchNDOp(
            v, [b1, b2], paddings=[(top, 0), (0, left)], pad_value=-1.0
        ),
        [x],
        blocks.reshape(b1 * b2 * n, h, w, c),
    )


@case
def batch_to_space(rng: Random) -> Case:
    b1, b2 = ints(rng, 1, 3, 2)
    n, h, w, c = ints(rng, 1, 3, 4)
    top, left = pick(rng, 0, h * b1), pick(rng, 0, w * b2)
    x = numbers(rng, b1 * b2 * n, h, w, c)
    whole = x.reshape(b1, b2, n, h, w, c).transpose(2, 3, 0, 4, 1, 5)
    whole = whole.reshape(n, h * b1, w * b2, c)
    return (
        lambda v: space.BatchToSpaceNDOp(v, [b1, b2], crops=[(top, 0), (0, left)]),
        [x],
        whole[:, top:, : w * b2 - left],
    )


@case
def space_to_depth(rng: Random) -> Case:
    b, n, c, h, w = (pick(rng, 1, 3), *ints(rng, 1, 3, 4))
    x = numbers(rng, n, c, h * b, w * b)
    moved = x.reshape(n, c, h, b, w, b).transpose(0, 3, 5, 1, 2, 4)
    return lambda v: space.SpaceToDepthOp(v, b), [x], moved.reshape(n, b * b * c, h, w)


@case
def depth_to_space(rng: Random) -> Case:
    b, n, c, h, w = (pick(rng, 1, 3), *ints(rng, 1, 3, 4))
    x = numbers(rng, n, b * b * c, h, w)
    mode = str(rng.choice(["DCR", "CRD"]))
    if mode == "DCR":
        moved = x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    expected = moved.reshape(n, c, h * b, w * b)
    return lambda v: space.DepthToSpaceOp(v, b, mode=mode), [x], expected


@case
def matrix_set_diag(rng: Random) -> Case:
    rows, columns = ints(rng, 1, 5, 2)
    low, high = sorted(ints(rng, 1 - rows, columns - 1, 2))
    x = numbers(rng, rows, columns)
    lengths = {k: len(np.diagonal(x, k)) for k in range(low, high + 1)}
    longest = max(lengths.values())
    new = -1 - numbers(rng, *([high - low + 1] if low != high else []), longest)
    expected = x.copy()
    for row, k in zip(new.reshape(-1, longest), range(high, low - 1, -1), strict=True):
        # The defaults align those from 0 up at the right, others at the left.
        start = longest - lengths[k] if k >= 0 else 0
        for i in range(lengths[k]):
            expected[i + max(-k, 0), i + max(k, 0)] = row[start + i]
    return lambda v, d: reorder.MatrixSetDiagOp(v, d, k1=low, k2=high), [x, new], expected


@case
def trilu(rng: Random) -> Case:
    x, k, upper = tensor(rng, rank=3), pick(rng, -6, 6), bool(pick(rng, 0, 1))
    expected = np.triu(x, k) if upper else np.tril(x, k)
    return lambda v, n: reorder.TriluOp(v, n, upper=upper), [x, np.array(k)], expected


@case
def reverse_sequence(rng: Random) -> Case:
    x = tensor(rng, 1, 3)
    seq, batch = rng.permutation(3)[:2].tolist()
    lengths = np.array(ints(rng, -1, 6, x.shape[batch]))
    rows = np.moveaxis(x.copy(), (batch, seq), (0, 1))
    for row, length in zip(rows, lengths, strict=True):
        length = min(max(length, 0), x.shape[seq])
        row[:length] = row[:length][::-1].copy()
    return (
        lambda v, n: reorder.ReverseSequenceOp(v, n, seq_axis=seq, batch_axis=batch),
        [x, lengths],
        np.moveaxis(rows, (0, 1), (batch, seq)),
    )


@case
def slice_like(rng: Random) -> Case:
    x = tensor(rng, 1, 3)
    other = numbers(rng, *(pick(rng, 0, length) for length in x.shape))
    axis = some_axis(rng, 3)
    taken = [slice(None)] * 3
    taken[axis] = slice(other.shape[axis])
    return lambda v, o: like.SliceLikeOp(v, o, [axis]), [x, other], x[tuple(taken)]


# Elements at indices, in order, and summed up


@case
def take(rng: Random) -> Case:
    x, mode = tensor(rng, 1), str(rng.choice(["clip", "wrap"]))
    indices = np.array(ints(rng, -9, 9, 6)).reshape(2, 3)
    axis = some_axis(rng, x.ndim)
    expected = np.take(x, indices, axis, mode=mode)
    return lambda v, i: indexing.TakeOp(v, i, axis=axis, mode=mode), [x, indices], expected


@case
def gather(rng: Random) -> Case:
    x = tensor(rng, 1, 3)
    axis = some_axis(rng, 3)
    shape = list(x.shape)
    shape[axis] = pick(rng, 0, 7)
    indices = rng.integers(-3, 9, shape)
    expected = np.take_along_axis(x, np.clip(indices, 0, x.shape[axis] - 1), axis)
    return lambda v, i: indexing.GatherOp(v, i, axis), [x, indices], expected


@case
def one_hot(rng: Random) -> Case:
    indices, depth = rng.integers(-2, 7, (3, 2)), pick(rng, 0, 5)
    axis = some_axis(rng, 3)
    hot = indices[..., None] == np.arange(depth)
    expected = np.moveaxis(np.where(hot, np.float32(2), np.float32(-1)), -1, axis)
    return (
        lambda i, on, off: creation.OneHotOp(i, on, off, depth, axis=axis),
        [indices, np.array(2, np.float32), np.array(-1, np.float32)],
        expected,
    )


@case
def topk(rng: Random) -> Case:
    x = tensor(rng, 1)
    axis, ascending = some_axis(rng, x.ndim), bool(pick(rng, 0, 1))
    k = pick(rng, -1, x.shape[axis])
    ordered = np.argsort(x if ascending else -x, axis, kind="stable")
    indices = ordered.take(range(k if k > 0 else x.shape[axis]), axis)
    expected = np.take_along_axis(x, indices, axis), indices.astype(np.int32)
    return lambda v: sort.TopkOp(v, k, axis=axis, is_ascend=ascending), [x], expected


@case
def cumulative_sums(rng: Random) -> Case:
    x = tensor(rng)
    axis, exclusive = some_axis(rng, x.ndim), bool(pick(rng, 0, 1))
    expected = np.cumsum(x, axis, dtype=np.float32)
    if exclusive:
        expected = expected - x
    return lambda v: sort.CumsumOp(v, axis, exclusive=exclusive), [x], expected


@case
def sums(rng: Random) -> Case:
    x = tensor(rng, rank=3)
    axes = [i - 3 * pick(rng, 0, 1) for i in rng.permutation(3)[: pick(rng, 0, 3)].tolist()]
    keep, exclude = bool(pick(rng, 0, 1)), bool(pick(rng, 0, 1))
    named = {axis % 3 for axis in axes}
    reduced = tuple(axis for axis in range(3) if (axis in named) != exclude)
    expected = np.asarray(x.sum(reduced, keepdims=keep, dtype=np.float32))
    return lambda v: reduction.SumOp(v, axes, keepdims=keep, exclude=exclude), [x], expected


@case
def positions_of_the_largest(rng: Random) -> Case:
    x = rng.integers(0, 3, ints(rng, 1, 5, 3)).astype(np.float32)
    axis, keep, last = some_axis(rng, 3), bool(pick(rng, 0, 1)), bool(pick(rng, 0, 1))
    found = np.argmax(np.flip(x, axis) if last else x, axis, keepdims=keep)
    expected = x.shape[axis] - 1 - found if last else found
    return (
        lambda v: reduction.ArgmaxOp(v, [axis], keepdims=keep, select_last_index=last),
        [x],
        np.asarray(expected, np.int32),
    )


@case
def largest_of_adaptive_windows(rng: Random) -> Case:
    length, count = pick(rng, 1, 9), pick(rng, 1, 11)
    x = numbers(rng, 1, 1, length)
    edges = [(i * length // count, ceil((i + 1) * length / count)) for i in range(count)]
    expected = np.array([[[x[0, 0, first:last].max() for first, last in edges]]])
    return lambda v: adaptive_pool.AdaptiveMaxPool1DOp(v, [count]), [x], expected


def compare(found: Any, expected: Any) -> None:
    """Equal values of one type, in tuples or not."""
    assert value_type(found) == value_type(expected)
    if isinstance(expected, tuple):
        for field, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(field, other)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_results_are_those_of_numpy(build: Callable[[Random], Case]):
    rng = np.random.default_rng(20)
    for _ in range(ROUNDS):
        op, inputs, expected = build(rng)
        compare(evaluate(op, *inputs, types=list(map(value_type, inputs))), expected)


def test_lengths_of_ranges():
    rng = np.random.default_rng(21)
    for _ in range(150):
        dtype = rng.choice(["int32", "int64", "float32", "float64", "int8"])
        divisor = 1 if dtype.startswith("i") else 4
        start, end, step = (np.asarray(n / divisor, dtype) for n in ints(rng, -20, 20, 3))
        if step == 0:
            continue
        constants = [constant_op(value) for value in (start, end, step)]
        op = creation.ArangeOp(*constants, i64)
        expected = np.arange(start.item(), end.item(), step.item())
        assert op.results[0].type == TensorType(i64, expected.shape), (start, end, step)
        found = evaluate(lambda *v: creation.ArangeOp(*v, i64), start, end, step)
        np.testing.assert_array_equal(found, np.trunc(expected))
