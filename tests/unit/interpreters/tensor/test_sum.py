"""The NumPy meaning of variance, Einstein sums, the Fourier transform, sparse coordinates, and more."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_oracles import (
    BOOL,
    FLOATS,
    INTEGERS,
    close,
    evaluate,
    full_shapes,
    reference,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
)
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i8, i64
from xdsl.ir import Block
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.dialects.base import tuple_type
from xrelay.dialects.core import annotation
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.qnn import simulate as quantize
from xrelay.dialects.sparse import coordinates as sparse_coordinates
from xrelay.dialects.tensor import einsum, stft
from xrelay.dialects.tensor import reduce as reduction


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(run_settings, max_examples=15)
@given(seed=seeds, shape=full_shapes, data=st.data())
def test_variance(dtype: Any, seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.none() | st.sets(st.integers(0, len(shape) - 1)))
    named = None if axis is None else sorted(axis)
    axes = tuple(range(len(shape))) if named is None else tuple(named)
    keepdims, unbiased = data.draw(st.booleans()), data.draw(st.booleans())
    x = sample(seed, shape, dtype, edges=False)
    exact = x.astype(np.float64)
    mean = exact.mean(axes, keepdims=True).astype(dtype)
    # With the mean as it was rounded.
    squares = np.square(exact - mean.astype(np.float64)).sum(axes, keepdims=keepdims)
    count = np.prod([shape[a] for a in axes], dtype=int)
    with np.errstate(all="ignore"):
        expected = np.asarray(squares / (count - unbiased)).astype(dtype)
    found = evaluate(
        lambda v, m: reduction.VarianceOp(v, m, axis=named, keepdims=keepdims, unbiased=unbiased),
        *(x, np.asarray(mean)),
    )
    eps = 2.0**-7 if dtype.itemsize == 2 else 1e-5
    close(found, expected, rtol=eps, atol=eps)


EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(3, 4), (4, 2)]),
    ("ij,jk", [(3, 4), (4, 2)]),
    ("ba", [(2, 3)]),
    ("ii->i", [(5, 5)]),
    ("ii", [(5, 5)]),
    ("i,j,k->kij", [(2,), (3,), (4,)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("b...,b->...", [(3, 2, 4), (3,)]),
    ("...,...", [(2, 3), (3,)]),
    ("a...b->b...", [(2, 3, 4)]),
    (" i , i -> ", [(0,), (0,)]),
    ("->", [()]),
    ("aB,Bc->ca", [(2, 3), (3, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_einsum(dtype: Any, equation: str, shapes: list[tuple[int, ...]]):
    rng = np.random.default_rng(1)
    low = -3 if dtype.kind == "i" or dtype in FLOATS else 0
    fields = [np.asarray(rng.integers(low, 4, shape)).astype(dtype) for shape in shapes]
    found = evaluate(lambda *v: einsum.EinsumOp(TupleOp(v), equation), *fields)
    wide = [field.astype(np.int64) for field in fields]
    exact = np.asarray(np.einsum(equation, *wide))
    exact = exact % 2 if dtype == BOOL else exact
    same(found, exact.astype(dtype))
    assert found.shape == reference("Einsum", *wide, equation=equation).shape


def test_einsum_repeats_axes_of_length_1():
    x, y = np.arange(3.0).reshape(3, 1), np.arange(4.0).reshape(1, 4)
    found = evaluate(lambda *v: einsum.EinsumOp(TupleOp(v), "ij,ij->ij"), x, y)
    same(found, x * y)
    found = evaluate(lambda *v: einsum.EinsumOp(TupleOp(v), "ij,ij->i"), x, y)
    same(found, (x * y).sum(1))


def test_einsum_by_its_definition():
    x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    expected = np.zeros((4, 2), np.int64)
    for i, j, k in product(range(2), range(3), range(4)):
        expected[k, i] += x[i, j] * y[j, k]
    same(evaluate(lambda *v: einsum.EinsumOp(TupleOp(v), "ij,jk->ki"), x, y), expected)


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("size", "hop", "samples"), [(8, 3, 30), (7, 2, 7), (16, 16, 50)])
def test_stft(onesided: bool, size: int, hop: int, samples: int):
    rng = np.random.default_rng(2)
    x, window = rng.standard_normal((2, samples)), rng.uniform(0, 1, size)

    def build(normalized: bool, length: int = size) -> Any:
        return lambda v, w: stft.StftOp(
            v, w, size, hop, length, normalized=normalized, onesided=onesided
        )

    frames = np.stack([x[:, s : s + size] for s in range(0, samples - size + 1, hop)], 1)
    transform = np.fft.rfft if onesided else np.fft.fft
    spectrum = transform(frames * window).transpose(0, 2, 1)
    expected = np.stack([spectrum.real, spectrum.imag], -1)
    close(evaluate(build(False), x, window), expected, 1e-10, 1e-10)
    close(evaluate(build(True), x, window), expected / np.sqrt(size), 1e-10, 1e-10)
    short = window[: size - 2]
    found = evaluate(build(False, size - 2), x, short)
    k = np.arange(expected.shape[1])[:, None] * np.arange(size - 2) / (size - 2)
    other = np.einsum("kn,bmn->bkm", np.exp(-2j * np.pi * k), frames[..., : size - 2] * short)
    close(found, np.stack([other.real, other.imag], -1), 1e-9, 1e-9)


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("size", "hop", "samples"), [(8, 3, 30), (16, 16, 50), (12, 5, 12)])
def test_stft_is_that_of_onnx(onesided: bool, size: int, hop: int, samples: int):
    rng = np.random.default_rng(4)
    x, window = rng.standard_normal((2, samples)), rng.uniform(0, 1, size)
    found = evaluate(lambda *v: stft.StftOp(*v, size, hop, size, onesided=onesided), x, window)
    inputs = x[..., None], np.array(hop), window, np.array(size)
    # ONNX has frames before frequencies.
    expected = runtime("STFT", *inputs, onesided=int(onesided)).transpose(0, 2, 1, 3)
    close(found, expected, 1e-9, 1e-9)


@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=str)
def test_sparse_reshape(dtype: Any):
    rng = np.random.default_rng(3)
    for old, new in (((3, 4), (2, 6)), ((2, 3, 4), (4, 6)), ((12,), (2, 3, 2)), ((5, 2), (10,))):
        places = np.stack([rng.integers(0, dim, 9) for dim in old], 1).astype(dtype)
        offsets = np.ravel_multi_index(tuple(places.T), old)
        expected = np.stack(np.unravel_index(offsets, new), 1).astype(dtype)
        for codes in (new, (-1, *new[1:])):
            found = evaluate(
                sparse_coordinates.SparseReshapeOp,
                places,
                np.array(old, dtype),
                np.array(codes, dtype),
            )
            same(found[0], expected)
            same(found[1], np.array(new, dtype))


def test_sparse_fill_empty_rows():
    # The example of TensorFlow's documentation.
    places = np.array([[0, 1], [0, 3], [2, 0], [3, 1]])
    values = np.array([10, 20, 30, 40], np.float32)
    shape, default = np.array([5, 6]), np.array([-1], np.float32)
    found = evaluate(sparse_coordinates.SparseFillEmptyRowsOp, places, values, shape, default)
    same(found[0], np.array([[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]]))
    same(found[1], np.array([10, 20, -1, 30, 40, -1]))
    same(found[2], np.array([0, 1, 0, 0, 1]))
    with pytest.raises(InterpretationError, match="names row 3 of 2 rows"):
        evaluate(
            sparse_coordinates.SparseFillEmptyRowsOp, places, values, np.array([2, 6]), default
        )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("rounding", ["round", "floor", "ceil"])
def test_simulated_quantize(dtype: Any, rounding: str):
    x = np.array([-9, -1.3, -0.125, 0, 0.125, 0.375, 0.4, 1.7, 9, np.inf], dtype)
    scalars = [np.array(n, dtype) for n in (0.25, -7, 7)]

    def build(kind: int) -> Any:
        return lambda *v: quantize.SimulatedQuantizeOp(*v, kind, rounding=rounding)

    function = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}[rounding]
    expected = function(np.clip(x.astype(np.float64) / 0.25, -7, 7)) * 0.25
    same(evaluate(build(2), x, *scalars), expected.astype(dtype))
    same(evaluate(build(0), x, *scalars), x)


def test_annotations_are_identities():
    x = sample(1, (2,), np.dtype(np.float32))
    same(evaluate(lambda v: annotation.CastHintOp(v, i8), x), x)
    same(evaluate(annotation.CheckpointOp, x), x)


def parameters(*types: Any) -> Any:
    return Block(arg_types=types).args


def test_types_with_unknown_dimensions():
    unknown = DYNAMIC_INDEX
    x, n, pair, window = parameters(
        TensorType(f32, [2, unknown]),
        TensorType(i64, [unknown, unknown]),
        tuple_type([TensorType(f32, [unknown, 3]), TensorType(f32, [3, unknown])]),
        TensorType(f32, [4]),
    )
    assert einsum.EinsumOp(pair, "ij,jk").result.type == TensorType(f32, [unknown, unknown])
    assert stft.StftOp(x, window, 4, 2, 4).result.type == TensorType(f32, [2, 3, unknown, 2])
    (shape,) = parameters(TensorType(i64, [3]))
    assert sparse_coordinates.SparseReshapeOp(n, shape, shape).result.type == tuple_type(
        [TensorType(i64, [unknown, 3]), TensorType(i64, [3])]
    )


VECTOR, MATRIX = TensorType(f32, [3]), TensorType(f32, [2, 3])
PLACES, SHAPE, SCALAR = TensorType(i64, [3, 2]), TensorType(i64, [2]), TensorType(f32, [])


@pytest.mark.parametrize(
    ("build", "types", "message"),
    [
        (reduction.VarianceOp, [VECTOR, MATRIX], "'mean' tensor<2x3xf32> does not broadcast"),
        (reduction.VarianceOp, [SHAPE, SHAPE], "expected floating point of one dtype"),
        (
            lambda *v: einsum.EinsumOp(TupleOp(v), "ij,jk"),
            [MATRIX],
            "has 2 operands, 'data' has 1 fields",
        ),
        (lambda *v: einsum.EinsumOp(TupleOp(v), "ijk"), [MATRIX], "has 3 labels for field 0"),
        (lambda *v: einsum.EinsumOp(TupleOp(v), "ij->ik"), [MATRIX], "has 'k' in its output only"),
        (lambda *v: einsum.EinsumOp(TupleOp(v), "ij->ii"), [MATRIX], "has a label twice"),
        (lambda *v: einsum.EinsumOp(TupleOp(v), "i1->i"), [MATRIX], "expected letters, commas"),
        (
            lambda *v: einsum.EinsumOp(TupleOp(v), "ij,ij"),
            [MATRIX, TensorType(f32, [2, 4])],
            "has length 4 on an axis where others have 3",
        ),
        (lambda *v: stft.StftOp(*v, 4, 0, 3), [MATRIX, VECTOR], "'hop_length' is 0"),
        (lambda *v: stft.StftOp(*v, 4, 1, 3), [MATRIX, VECTOR], "shorter than 'n_fft' 4"),
        (
            lambda *v: stft.StftOp(*v, 2, 1, 3),
            [MATRIX, VECTOR],
            "'win_length' is 3, 'n_fft' only 2",
        ),
        (
            sparse_coordinates.SparseReshapeOp,
            [SHAPE, SHAPE, SHAPE],
            "expected one column for each element",
        ),
        (
            sparse_coordinates.SparseFillEmptyRowsOp,
            [PLACES, MATRIX, SHAPE, VECTOR],
            "'sparse_values' is tensor<2x3xf32>",
        ),
        (
            lambda *v: quantize.SimulatedQuantizeOp(*v, 4),
            [VECTOR, SCALAR, SCALAR, SCALAR],
            "'kind' is 4",
        ),
        (
            lambda *v: quantize.SimulatedQuantizeOp(*v, 1, rounding="up"),
            [VECTOR, SCALAR, SCALAR, SCALAR],
            "'rounding' is \"up\", accepted is",
        ),
        (
            lambda *v: quantize.SimulatedQuantizeOp(*v, 1, sign=False),
            [VECTOR, SCALAR, SCALAR, SCALAR],
            "'sign' is false, expected true",
        ),
    ],
)
def test_refusals(build: Any, types: list[Any], message: str):
    with pytest.raises(VerifyException, match=message):
        build(*parameters(*types))
