"""
Losses, packed and transformed weights, bits of integers, and sparse matrices in NumPy, compared
with onnxruntime, with the plain operators, and with their definitions written out.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import close, evaluate, every_index, reference, runtime, same, sample
from tiers import fixed_examples
from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32

from xrelay.dialects.conv import packed as conv_packed
from xrelay.dialects.conv import winograd
from xrelay.dialects.nn import bitserial, dense, loss
from xrelay.dialects.sparse import products as sparse
from xrelay.interpreters.conv.winograd import POINTS, weight_matrix

run_settings = fixed_examples(20, HealthCheck.too_slow, HealthCheck.filter_too_much)
seeds = st.integers(0, 2**32)

# Losses


@given(seed=seeds, shape=st.tuples(st.integers(1, 4), st.integers(1, 4)))
@run_settings
def test_cross_entropy(seed: int, shape: tuple[int, int]):
    rng = np.random.default_rng(seed)
    x, y = (rng.random(shape).astype(np.float32) + np.float32(0.1) for _ in range(2))
    total = sum(math.log(x[i]) * float(y[i]) for i in every_index(shape))
    close(evaluate(loss.CrossEntropyOp, x, y), np.asarray(-total / shape[0], np.float32), 1e-5)
    total = sum(float(x[i]) * float(y[i]) for i in every_index(shape))
    found = evaluate(loss.CrossEntropyWithLogitsOp, x, y)
    close(found, np.asarray(-total / shape[0], np.float32), 1e-5)


@pytest.mark.parametrize("reduction", ("none", "sum", "mean"))
@given(seed=seeds, shape=st.lists(st.integers(1, 3), min_size=2, max_size=4))
@run_settings
def test_nll_loss(reduction: str, seed: int, shape: list[int]):
    rng = np.random.default_rng(seed)
    predictions = sample(seed, shape)
    targets = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    weights = rng.random(shape[1]).astype(np.float32) + np.float32(0.5)
    ignored = int(rng.integers(-1, shape[1]))
    found = evaluate(
        lambda p, t, w: loss.NllLossOp(p, t, w, reduction=reduction, ignore_index=ignored),
        predictions,
        targets,
        weights,
    )
    if reduction == "mean" and (targets == ignored).all():
        assert np.isnan(found)
        return
    expected = runtime(
        "NegativeLogLikelihoodLoss",
        predictions,
        targets,
        weights,
        reduction=reduction,
        ignore_index=ignored,
    )
    close(found, expected, 1e-4, 1e-5)


def test_classes_out_of_range_are_clamped():
    predictions, targets = np.eye(3, dtype=np.float32), np.array([-7, 1, 9])
    weights = np.array([1, 2, 4], np.float32)
    found = evaluate(
        lambda p, t, w: loss.NllLossOp(p, t, w, reduction="none"), predictions, targets, weights
    )
    same(found, np.array([-1, -2, -4], np.float32))


def test_loss_of_one_class():
    """Targets that are ignored need no class."""
    predictions, weights = np.array([[2], [4]], np.float32), np.ones(1, np.float32)
    targets = np.array([0, 7], np.int32)
    found = evaluate(
        lambda p, t, w: loss.NllLossOp(p, t, w, reduction="none", ignore_index=7),
        *(predictions, targets, weights),
    )
    same(found, np.array([-2, 0], np.float32))


# Weights in other forms


def test_dense_of_packed_weight():
    data, weight = sample(1, (3, 5)), sample(2, (12, 5))
    packed = weight.reshape(3, 4, 5).transpose(0, 2, 1)
    found = evaluate(lambda d, w: dense.ContribDensePackOp(d, w, 12), data, packed)
    close(found, runtime("Gemm", data, weight, transB=1), 1e-5, 1e-5)


@given(
    seed=seeds,
    blocks=st.tuples(st.sampled_from((1, 2, 4)), st.sampled_from((1, 2, 4))),
    geometry=st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(0, 1)),
)
@run_settings
def test_packed_convolutions(seed: int, blocks: tuple[int, int], geometry: tuple[int, int, int]):
    (x, y), (taps, stride, pad) = blocks, geometry
    data, weight = sample(seed, (2, 4, 5, 6)), sample(seed + 1, (8, 4, taps, taps))
    packed = data.reshape(2, 4 // x, x, 5, 6).transpose(0, 1, 3, 4, 2)
    filters = weight.reshape(8 // y, y, 4 // x, x, taps, taps).transpose(0, 2, 4, 5, 3, 1)
    found = evaluate(
        lambda d, w: conv_packed.ContribConv2DNCHWcOp(
            d,
            w,
            data_layout=f"NCHW{x}c",
            kernel_layout=f"OIHW{x}i{y}o",
            out_layout=f"NCHW{y}c",
            strides=(stride, stride),
            padding=(pad, pad),
        ),
        packed,
        filters,
    )
    attributes = {"strides": [stride] * 2, "pads": [pad] * 4}
    expected = runtime("Conv", data, weight, **attributes)
    _, _, *positions = expected.shape
    close(found.transpose(0, 1, 4, 2, 3).reshape(2, 8, *positions), expected, 1e-4, 1e-4)
    own = sample(seed + 2, (4, 1, taps, taps))
    found = evaluate(
        lambda d, w: conv_packed.ContribDepthwiseConv2DNCHWcOp(
            d,
            w,
            data_layout=f"NCHW{x}c",
            kernel_layout=f"OIHW1i{x}o",
            strides=(stride, stride),
            padding=(pad, pad),
            groups=4,
        ),
        packed,
        own.reshape(4 // x, x, 1, 1, taps, taps).transpose(0, 2, 4, 5, 3, 1),
    )
    expected = runtime("Conv", data, own, **attributes, group=4)
    close(found.transpose(0, 1, 4, 2, 3).reshape(expected.shape), expected, 1e-4, 1e-4)


def test_winograd_matrix_is_that_of_the_paper():
    # F(2, 3) of Lavin and Gray, its rows in the order of the points 0, -1, 1.
    expected = [[1, 0, 0], [0.5, -0.5, 0.5], [0.5, 0.5, 0.5], [0, 0, 1]]
    same(weight_matrix(2, 3), np.array(expected))


def test_winograd_points_are_as_many_as_needed():
    for count, points in POINTS.items():
        assert len(points) == len(set(points)) == count
    needed = {tile + taps - 2 for tile in winograd.TILE_SIZES for taps in winograd.TRANSFORMED_TAPS}
    assert needed == set(POINTS)


@given(
    seed=seeds,
    tile=st.sampled_from(winograd.TILE_SIZES),
    taps=st.sampled_from(winograd.TRANSFORMED_TAPS),
    extra=st.tuples(*[st.integers(0, 6)] * 2),
)
@run_settings
def test_winograd_is_a_convolution(seed: int, tile: int, taps: int, extra: tuple[int, int]):
    x = sample(seed, (2, 3, taps + extra[0], taps + extra[1]), "float64")
    weight = sample(seed + 1, (2, 3, taps, taps), "float64")
    made = evaluate(lambda w: winograd.ContribConv2DWinogradWeightTransformOp(w, tile), weight)
    layout = ("NCHW", "NHWC")[seed % 2]
    pads = [1, 0, 0, 2]
    found = evaluate(
        lambda d, w: winograd.ContribConv2DWinogradWithoutWeightTransformOp(
            d, w, tile, padding=pads, data_layout=layout
        ),
        x if layout == "NCHW" else x.transpose(0, 2, 3, 1),
        made.transpose(0, 1, 3, 2),
    )
    expected = reference("Conv", x, weight, pads=pads)
    # The largest matrices multiply rounding errors by some millions.
    close(found if layout == "NCHW" else found.transpose(0, 3, 1, 2), expected, 1e-7, 1e-7)


@pytest.mark.parametrize("kernel", ((3, 3, 3), (2, 3, 3), (1, 5, 5), (4, 4, 4), (3, 5, 5)))
@given(seed=seeds, tile=st.integers(2, 4), extra=st.tuples(*[st.integers(0, 3)] * 3))
@settings(run_settings, max_examples=5)
def test_winograd_of_volumes(
    kernel: tuple[int, ...], seed: int, tile: int, extra: tuple[int, int, int]
):
    image = [taps + more for taps, more in zip(kernel, extra, strict=True)]
    x, weight = sample(seed, (1, 2, *image)), sample(seed + 1, (3, 2, *kernel))
    made = evaluate(lambda w: winograd.ContribConv3DWinogradWeightTransformOp(w, tile), weight)
    alpha = tile + kernel[1] - 1
    depth = alpha if kernel[0] == kernel[1] else kernel[0]
    assert made.shape == (alpha, alpha, depth, 3, 2)
    found = evaluate(
        lambda d, w: winograd.ContribConv3DWinogradWithoutWeightTransformOp(
            d, w, tile, padding=[1, 0, 1]
        ),
        x,
        made,
    )
    close(found, runtime("Conv", x, weight, pads=[1, 0, 1, 1, 0, 1]), 1e-2, 1e-2)


# Bits


def word(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


@pytest.mark.parametrize("width", (8, 16, 32, 64))
@given(seed=seeds, bits=st.integers(1, 8), data=st.data())
@settings(run_settings, max_examples=8)
def test_bitpack(width: int, seed: int, bits: int, data: st.DataObject):
    shape = [2, 3]
    axis = data.draw(st.integers(0, 1))
    bit_axis = data.draw(st.integers(-3, 2))
    shape[axis] = 2 * width
    rng = np.random.default_rng(seed)
    dtype = ("int8", "uint8", "int32", "int64")[seed % 4]
    x = rng.integers(0 if dtype == "uint8" else -128, 128, shape).astype(dtype)
    found = evaluate(
        lambda v: bitserial.BitPackOp(
            v, bits=bits, pack_axis=axis, bit_axis=bit_axis, pack_type=word(width)
        ),
        x,
    )
    for index in every_index(found.shape):
        place = list(index)
        bit = place.pop(bit_axis)
        first = place[axis] * width
        digits = ""
        for k in range(width):
            place[axis] = first + k
            digits += str((int(x[tuple(place)]) >> bit) & 1)
        assert int(found[index]) == int(digits, 2)
    assert found.dtype == np.dtype(f"uint{width}")


def bit_products(a: int, w: int, bits: tuple[int, int], unipolar: bool) -> int:
    """The sum over all pairs of bits, as a definition by population counts has it."""
    total = 0
    for p in range(bits[0]):
        for q in range(bits[1]):
            one, other = (a >> p) & 1, (w >> q) & 1
            product = one & other
            if unipolar:
                product -= one & (1 - other)
            total += product << (p + q)
    return total


def wrapped(value: int, width: int) -> int:
    value %= 1 << width
    return value - (1 << width) if value >> (width - 1) else value


@given(
    seed=seeds,
    bits=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    unipolar=st.booleans(),
    packed=st.booleans(),
)
@run_settings
def test_bitserial_dense(seed: int, bits: tuple[int, int], unipolar: bool, packed: bool):
    rng = np.random.default_rng(seed)
    data, weight = (rng.integers(-128, 128, (n, 16)).astype(np.int16) for n in (2, 3))
    given_weight = weight
    if packed:
        given_weight = evaluate(
            lambda w: bitserial.BitPackOp(w, bits=bits[1], bit_axis=1, pack_type=word(8)), weight
        )
    found = evaluate(
        lambda d, w: bitserial.BitSerialDenseOp(
            d,
            w,
            3,
            data_bits=bits[0],
            weight_bits=bits[1],
            pack_dtype=word(8),
            out_dtype=i8 if seed % 2 else i32,
            unipolar=unipolar,
        ),
        data,
        given_weight,
    )
    for i, j in every_index((2, 3)):
        total = sum(
            bit_products(int(a), int(w), bits, unipolar)
            for a, w in zip(data[i], weight[j], strict=True)
        )
        assert found[i, j] == wrapped(total, 8 if seed % 2 else 32)


@pytest.mark.parametrize("layout", ("NCHW", "NHWC"))
@given(
    seed=seeds,
    bits=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    unipolar=st.booleans(),
    packed=st.booleans(),
)
@settings(run_settings, max_examples=10)
def test_bitserial_conv2d(
    layout: str, seed: int, bits: tuple[int, int], unipolar: bool, packed: bool
):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 8, (1, 8, 4, 5)).astype(np.uint8)
    weight = rng.integers(0, 8, (2, 8, 2, 3)).astype(np.uint8)
    last = layout == "NHWC"
    images = data.transpose(0, 2, 3, 1) if last else data
    filters = weight.transpose(2, 3, 1, 0) if last else weight
    if packed:
        filters = evaluate(
            lambda w: bitserial.BitPackOp(
                w, bits=bits[1], pack_axis=2 if last else 1, bit_axis=4, pack_type=word(8)
            ),
            filters,
        )
    found = evaluate(
        lambda d, w: bitserial.BitSerialConv2DOp(
            d,
            w,
            (2, 3),
            strides=(1, 2),
            padding=(1, 0, 0, 1),
            activation_bits=bits[0],
            weight_bits=bits[1],
            data_layout=layout,
            kernel_layout="HWIO" if last else "OIHW",
            pack_dtype=word(8),
            unipolar=unipolar,
        ),
        images,
        filters,
    )
    assert found.dtype == np.int16
    found = found.transpose(0, 3, 1, 2) if last else found
    padded = np.pad(data, [(0, 0), (0, 0), (1, 0), (0, 1)])
    assert found.shape == (1, 2, 4, 2)
    for n, o, y, x in every_index(found.shape):
        total = sum(
            bit_products(
                int(padded[n, c, y + i, 2 * x + j]), int(weight[o, c, i, j]), bits, unipolar
            )
            for c, i, j in every_index((8, 2, 3))
        )
        assert found[n, o, y, x] == total


# Sparse matrices


@st.composite
def matrices(draw: st.DrawFn, *block: int) -> tuple[Any, list[Any]]:
    """A dense matrix, and the same one as data, indices and pointers."""
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    height, width = (*block, 1, 1)[:2]
    rng = np.random.default_rng(draw(seeds))
    present = rng.random((rows, columns)) < 0.4
    blocks = sample(draw(seeds), (rows, columns, *block))
    whole = np.where(present.reshape(rows, columns, *(1,) * len(block)), blocks, 0)
    pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    dtype = draw(st.sampled_from(("int32", "int64")))
    parts = [blocks[present], np.nonzero(present)[1].astype(dtype), pointers.astype(dtype)]
    whole = whole.reshape(rows, columns, height, width).transpose(0, 2, 1, 3)
    return whole.reshape(rows * height, columns * width).astype(np.float32), parts


@pytest.mark.parametrize("op", (sparse.SparseDenseOp, sparse.InternalSparseDensePaddedOp))
@pytest.mark.parametrize("block", ((), (2, 3), (1, 1)))
@given(seed=seeds, data=st.data())
@settings(run_settings, max_examples=8)
def test_sparse_dense(op: Any, block: tuple[int, ...], seed: int, data: st.DataObject):
    whole, parts = data.draw(matrices(*block))
    other = sample(seed, (3, whole.shape[1]))
    close(evaluate(op, other, *parts), other @ whole.T, 1e-4, 1e-5)
    found = evaluate(lambda *v: op(*v, sparse_lhs=True), other, *parts)
    close(found, whole @ other.T, 1e-4, 1e-5)


@pytest.mark.parametrize("block", ((2,), (2, 2)))
@given(seed=seeds, data=st.data())
@settings(run_settings, max_examples=8)
def test_sparse_conv2d(block: tuple[int, ...], seed: int, data: st.DataObject):
    whole, parts = data.draw(matrices(*block))
    x = sample(seed, (2, 3, 2, whole.shape[1]))
    close(evaluate(sparse.SparseConv2DOp, x, *parts), x @ whole.T, 1e-4, 1e-5)
    first = np.moveaxis(x, -1, 1)
    found = evaluate(lambda *v: sparse.SparseConv2DOp(*v, layout="NCHW"), first, *parts)
    if whole.size:
        expected = runtime("Conv", first, whole[:, :, None, None])
        close(found, expected, 1e-4, 1e-5)


@given(seed=seeds, case=matrices())
@run_settings
def test_sparse_add(seed: int, case: tuple[Any, list[Any]]):
    whole, parts = case
    other = sample(seed, whole.shape)
    close(evaluate(sparse.SparseAddOp, other, *parts), other + whole, 1e-5, 1e-6)


def test_equal_places_are_added_up_and_others_clamped():
    data, indices = np.array([1, 2, 4], np.float32), np.array([1, 1, 9], np.int32)
    other, pointers = np.zeros((1, 3), np.float32), np.array([0, 3], np.int32)
    found = evaluate(sparse.SparseAddOp, other, data, indices, pointers)
    same(found, np.array([[0, 3, 4]], np.float32))


@given(seed=seeds, size=st.integers(0, 5))
@run_settings
def test_sparse_transpose(seed: int, size: int):
    rng = np.random.default_rng(seed)
    whole = np.where(rng.random((size, size)) < 0.4, rng.integers(1, 9, (size, size)), 0)

    def compressed(matrix: Any) -> list[Any]:
        rows, columns = np.nonzero(matrix)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size)[:size])])
        return [matrix[rows, columns].astype(np.float32), columns.astype(np.int32), pointers]

    found = evaluate(sparse.SparseTransposeOp, *compressed(whole))
    for one, other in zip(found, compressed(whole.T), strict=True):
        same(one, other)
