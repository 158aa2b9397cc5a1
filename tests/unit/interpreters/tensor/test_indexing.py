"""The NumPy meaning of the operators of `like`, `reorder`, `indexing` and `creation`."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from operator_oracles import (
    BOOL,
    F32,
    FLOATS,
    INTEGERS,
    dims,
    evaluate,
    full_shapes,
    reference,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
    shapes,
)
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i8, i32, i64
from xdsl.ir import Block
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor import creation, indexing, like, reorder, reshape
from xrelay.interpreters.arrays import Array, element_type_of
from xrelay.interpreters.constants import constant_op

I64 = np.dtype(np.int64)
NUMBERS = [dtype for dtype in INTEGERS if dtype != BOOL]


def build_tuple(op: Any, **attributes: Any) -> Any:
    """A builder of an operator on a tuple of the operands."""
    return lambda *values: op(TupleOp(values), **attributes)


# like


@run_settings
@given(seed=seeds, shape=shapes, old=st.sampled_from(FLOATS), new=st.sampled_from(INTEGERS))
def test_cast_like_and_full_like(seed: int, shape: list[int], old: Any, new: Any):
    x, other = sample(seed, shape, new, edges=False), sample(seed + 1, [2], old)
    if new != BOOL:
        same(evaluate(like.CastLikeOp, x, other), x.astype(old))
    value = np.array(3, np.uint8)
    same(evaluate(like.FullLikeOp, sample(seed, shape, old), value), np.full(shape, 3, old))
    assert evaluate(like.FullLikeOp, sample(seed, shape, BOOL), value).all()


@run_settings
@given(seed=seeds, shape=full_shapes, data=st.data())
def test_shapes_of_others(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, F32)
    small = [data.draw(st.sampled_from([1, dim])) for dim in shape]
    small = small[data.draw(st.integers(0, len(small))) :]
    y = sample(seed, small, F32)
    same(evaluate(like.BroadcastToLikeOp, y, x), np.broadcast_to(y, shape))
    numbers = np.random.default_rng(seed).integers(-5, 6, shape).astype(np.float32)
    # The gradient of broadcasting adds up: as many ones as elements were made of one.
    expected = np.zeros(small, np.float32)
    for place in np.ndindex(*shape):
        inner = place[len(shape) - len(small) :]
        expected[tuple(0 if d == 1 else i for i, d in zip(inner, small, strict=True))] += numbers[
            place
        ]
    same(evaluate(like.CollapseSumLikeOp, numbers, y), expected)
    target = np.array(small, np.int32)
    same(evaluate(lambda v: like.CollapseSumToOp(v, constant_op(target)), numbers), expected)
    same(evaluate(like.CollapseSumToOp, numbers, target), expected)
    lengths = [data.draw(st.integers(0, dim)) for dim in shape]
    cut = tuple(slice(length) for length in lengths)
    same(evaluate(like.SliceLikeOp, x, np.zeros(lengths, np.int8)), x[cut])
    last = evaluate(lambda v, w: like.SliceLikeOp(v, w, [-1]), x, np.zeros(lengths, np.int8))
    same(last, x[..., : lengths[-1]])
    same(evaluate(like.ShapeOfOp, x), np.array(shape, np.int32))
    same(evaluate(lambda v: like.ShapeOfOp(v, i64), x), reference("Shape", x))
    same(evaluate(lambda v: like.NdarraySizeOp(v, i64), x), reference("Size", x))


def test_collapse_sum_refuses_other_shapes():
    with pytest.raises(InterpretationError, match=r"shape \[2\] does not broadcast"):
        evaluate(like.CollapseSumToOp, np.zeros((2, 3), F32), np.array([2], np.int32))


@pytest.mark.parametrize(
    ("old", "other", "options", "expected"),
    [
        ((1, 2, 3, 4), (1, 6, 5), (1, 3, 1, 2), (1, 6, 4)),
        ((1, 2, 3, 4), (2, 3, 4, 1, 6), (0, None, 0, 3), (2, 3, 4)),
        ((1, 2, 3, 4), (2, 3, 4, 1, 6), (0, None, 2, None), (4, 1, 6)),
        ((5, 6, 4), (30,), (0, -1, 0, None), (30, 4)),
        ((2, 3, 4), (1, 8, 3), (0, None, 0, None), (1, 8, 3)),
    ],
)
def test_reshape_like(old: Any, other: Any, options: Any, expected: Any):
    x = sample(1, old, F32)
    names = ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")
    keywords = dict(zip(names, options, strict=True))
    found = evaluate(lambda v, w: like.ReshapeLikeOp(v, w, **keywords), x, np.zeros(other, F32))
    same(found, x.reshape(expected))


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([4, 0, 2], (4, 3, 2)), ([0, -1], (3, 8)), ([-1, 0], (6, 4)), ([-1], (24,))],
)
def test_reverse_reshape(codes: list[int], expected: tuple[int, ...]):
    x = sample(1, (2, 3, 4), F32)
    same(evaluate(lambda v: reshape.ReverseReshapeOp(v, codes), x), x.reshape(expected))


# creation


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int32, np.int64], ids=str)
@run_settings
@given(start=st.integers(-20, 20), length=st.integers(-30, 30), step=st.integers(-5, 5))
def test_arange(dtype: Any, start: int, length: int, step: int):
    assume(step != 0)
    numbers = [np.array(n, dtype) for n in (start, start + length, step)]
    expected = reference("Range", *numbers)
    type_ = element_type_of(np.dtype(dtype))
    same(evaluate(lambda *v: creation.ArangeOp(*v, type_), *numbers), expected)
    found = evaluate(lambda: creation.ArangeOp(*map(constant_op, numbers), type_))
    same(found, expected)
    constants = [constant_op(number) for number in numbers]
    assert creation.ArangeOp(*constants, type_).result.type == TensorType(type_, [len(expected)])


def test_arange_of_unsigned_and_fractions():
    numbers = [np.array(n, np.uint8) for n in (250, 255, 2)]
    found = evaluate(lambda *v: creation.ArangeOp(*v, i32), *numbers)
    same(found, np.array([250, 252, 254], np.int32))
    fractions = [np.array(n, np.float32) for n in (1, 20.5, 0.75)]
    same(
        evaluate(lambda *v: creation.ArangeOp(*v, f32), *fractions), reference("Range", *fractions)
    )
    with pytest.raises(VerifyException, match="'step' is 0 from 1 to 3"):
        evaluate(lambda *v: creation.ArangeOp(*v, i32), *(np.array(n) for n in (1, 3, 0)))


@run_settings
@given(seed=seeds, shape=st.lists(st.integers(0, 4), max_size=3), data=st.data())
def test_one_hot(seed: int, shape: list[int], data: st.DataObject):
    axis, depth = data.draw(st.integers(-len(shape) - 1, len(shape))), data.draw(st.integers(1, 5))
    rng = np.random.default_rng(seed)
    # ONNX counts negative indices from the end.
    indices = np.asarray(rng.integers(0, depth + 2, shape))
    values = np.array([2.5, -1.5], np.float32)
    expected = reference("OneHot", indices, np.array(depth), values, axis=axis)
    on, off = np.array(-1.5, np.float32), np.array(2.5, np.float32)
    found = evaluate(lambda *v: creation.OneHotOp(*v, depth, axis=axis), indices, on, off)
    same(found, expected)
    nothing = evaluate(
        lambda *v: creation.OneHotOp(*v, depth, axis=axis, dtype=i8),
        np.asarray(-1 - indices),
        on,
        off,
    )
    same(nothing, np.full(expected.shape, 2, np.int8))


# reorder


@run_settings
@given(seed=seeds, shape=shapes)
def test_reverse(seed: int, shape: list[int]):
    x = sample(seed, shape, F32)
    same(evaluate(reorder.ReverseOp, x), x[tuple(slice(None, None, -1) for _ in shape)])
    for axis in range(-len(shape), len(shape)):
        found = evaluate(lambda v, a=axis: reorder.ReverseOp(v, a), x)
        same(found, np.flip(x, axis))


@pytest.mark.parametrize("seed", range(5))
def test_reverse_sequence(seed: int):
    rng = np.random.default_rng(seed)
    x = sample(seed, (4, 5, 3), F32)
    for batch, time in ((0, 1), (1, 0)):
        lengths = rng.integers(1, x.shape[time] + 1, x.shape[batch])
        expected = runtime("ReverseSequence", x, lengths, batch_axis=batch, time_axis=time)

        def build(v: Any, n: Any, batch: int = batch, time: int = time) -> Any:
            return reorder.ReverseSequenceOp(v, n, seq_axis=time, batch_axis=batch)

        same(evaluate(build, x, lengths), expected)
        whole = np.where(lengths == x.shape[time], 99, np.where(lengths == 1, -7, lengths))
        same(evaluate(build, x, whole), expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_sequence_mask(dtype: Any, axis: int):
    x = sample(4, (4, 5, 2), dtype, edges=False)
    lengths = [np.array(n) for n in ([0, 2.5, 9, -1, 3], [1, 5, 0, 2])][axis]
    expected = x.copy()
    for place in np.ndindex(*x.shape):
        if not place[axis] < lengths[place[1 - axis]]:
            expected[place] = 1
    found = evaluate(
        lambda v, n: reorder.SequenceMaskOp(v, n, mask_value=1.0, axis=axis), x, lengths
    )
    same(found, expected)


@run_settings
@given(seed=seeds, lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_meshgrid(seed: int, lengths: list[int]):
    fields = [sample(seed + i, [length], F32) for i, length in enumerate(lengths)]
    for indexing_ in ("ij", "xy"):
        found = evaluate(build_tuple(reorder.MeshgridOp, indexing=indexing_), *fields)
        for one, other in zip(found, np.meshgrid(*fields, indexing=indexing_), strict=True):
            same(one, other)


def test_sliding_window():
    x = sample(2, (2, 3, 8, 9), F32)
    found = evaluate(lambda v: reorder.SlidingWindowOp(v, 1, [3, 4, 5], [1, 2, 3]), x)
    assert found.shape == (2, 1, 3, 2, 3, 4, 5)
    for a, o, p, q in product(range(2), range(1), range(3), range(2)):
        same(found[a, o, p, q], x[a, o : o + 3, 2 * p : 2 * p + 4, 3 * q : 3 * q + 5])


@run_settings
@given(seed=seeds, shape=st.lists(st.integers(0, 4), min_size=2, max_size=4), k=st.integers(-5, 5))
def test_trilu(seed: int, shape: list[int], k: int):
    x = sample(seed, shape, F32)
    for upper in (True, False):
        found = evaluate(lambda v, n, u=upper: reorder.TriluOp(v, n, upper=u), x, np.array(k))
        same(found, np.triu(x, k) if upper else np.tril(x, k))
        if x.size:
            same(found, reference("Trilu", x, np.array(k), upper=int(upper)))


def test_matrix_set_diag():
    # The examples of TensorFlow's documentation of MatrixSetDiagV3.
    x = np.full((2, 3, 4), 7, np.int32)
    diagonal = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    found = evaluate(reorder.MatrixSetDiagOp, x, diagonal)
    same(found[0], np.array([[1, 7, 7, 7], [7, 2, 7, 7], [7, 7, 3, 7]], np.int32))
    found = evaluate(lambda v, d: reorder.MatrixSetDiagOp(v, d, k1=1, k2=1), x, diagonal)
    same(found[1], np.array([[7, 4, 7, 7], [7, 7, 5, 7], [7, 7, 7, 6]], np.int32))
    several = np.array([[[0, 9, 1], [6, 5, 8], [1, 2, 3], [4, 5, 0]]] * 2, np.int32)
    expected = np.array([[1, 6, 9, 7], [4, 2, 5, 1], [7, 5, 3, 8]], np.int32)
    found = evaluate(lambda v, d: reorder.MatrixSetDiagOp(v, d, k1=-1, k2=2), x, several)
    same(found[0], expected)
    other = np.array([[[9, 1, 0], [6, 5, 8], [1, 2, 3], [0, 4, 5]]] * 2, np.int32)
    found = evaluate(
        lambda v, d: reorder.MatrixSetDiagOp(
            v, d, k1=-1, k2=2, super_diag_right_align=False, sub_diag_right_align=True
        ),
        *(x, other),
    )
    same(found[1], expected)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_permutations(dtype: Any):
    dims = np.array([3, 4, 5], dtype)
    offsets = np.arange(60, dtype=dtype).reshape(6, 10)
    expected = np.stack(np.unravel_index(offsets.astype(np.int64), (3, 4, 5))).astype(dtype)
    same(evaluate(reorder.UnravelIndexOp, offsets, dims), expected)
    permutation = np.random.default_rng(1).permutation(50).astype(dtype)
    same(evaluate(reorder.InvertPermutationOp, permutation), np.argsort(permutation).astype(dtype))
    odd = np.array([2, 2, 100], dtype)
    same(evaluate(reorder.InvertPermutationOp, odd), np.array([0, 0, 1], dtype))


# indexing


def index_sample(seed: int, shape: Any, length: int, dtype: Any = I64) -> Array:
    return np.asarray(np.random.default_rng(seed).integers(-length, length, shape)).astype(dtype)


@run_settings
@given(seed=seeds, shape=full_shapes, data=st.data())
def test_gather(seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    inner = [data.draw(st.integers(0, dim)) for dim in shape]
    inner[axis] = data.draw(st.integers(0, 5))
    x, indices = sample(seed, shape, F32), np.abs(index_sample(seed, inner, shape[axis]))
    indices = np.minimum(indices, shape[axis] - 1)
    found = evaluate(lambda v, i: indexing.GatherOp(v, i, axis), x, indices)
    same(found, runtime("GatherElements", x, indices, axis=axis))
    outside = np.where(indices == 0, -9, np.where(indices == shape[axis] - 1, 99, indices))
    if shape[axis] > 1:
        same(evaluate(lambda v, i: indexing.GatherOp(v, i, axis), x, outside), found)


def test_adv_index():
    x = sample(3, (4, 5, 3), F32)
    rows, columns = np.array([[0, 3], [1, 2]]), np.array([4, 0], np.int8)
    found = evaluate(build_tuple(indexing.AdvIndexOp), x, rows, columns)
    same(found, x[rows, columns])
    same(evaluate(build_tuple(indexing.AdvIndexOp), x, np.array(-1)), x[0])
    same(evaluate(build_tuple(indexing.AdvIndexOp), x, np.array([7])), x[[3]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64], ids=str)
@settings(run_settings, max_examples=15)
@given(seed=seeds, shape=full_shapes, data=st.data())
def test_scatter(dtype: Any, seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    inner = [data.draw(st.integers(1, dim)) for dim in shape]
    inner[axis] = data.draw(st.integers(1, 5))
    indices = index_sample(seed, inner, shape[axis])
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.integers(-9, 9, shape)).astype(dtype)
    updates = np.asarray(rng.integers(-9, 9, inner)).astype(dtype)
    for op, attributes in (
        (indexing.ScatterOp, {}),
        (indexing.ScatterAddOp, {"reduction": "add"}),
    ):
        expected = runtime("ScatterElements", x, indices, updates, axis=axis, **attributes)
        same(evaluate(lambda *v, op=op: op(*v, axis=axis), x, indices, updates), expected)
        # What is out of range changes nothing.
        away = np.where(indices >= 0, indices + shape[axis], indices - shape[axis])
        same(evaluate(lambda *v, op=op: op(*v, axis=axis), x, away, updates), x)


@pytest.mark.parametrize("op", [indexing.ScatterOp, indexing.ScatterAddOp])
def test_scatter_is_along_the_first_axis_unless_said(op: type[indexing.ElementScatterOp]):
    x, indices = np.zeros((2, 3), np.float32), np.ones((1, 3), np.int64)
    updates = np.array([[4, 5, 6]], np.float32)
    same(evaluate(op, x, indices, updates), np.array([[0, 0, 0], [4, 5, 6]], np.float32))


@pytest.mark.parametrize("mode", indexing.SCATTER_MODES)
@settings(run_settings, max_examples=15)
@given(seed=seeds, shape=full_shapes, data=st.data())
def test_scatter_nd(mode: str, seed: int, shape: list[int], data: st.DataObject):
    count = data.draw(st.integers(1, len(shape)))
    places = data.draw(st.lists(st.integers(0, 3), max_size=2))
    indices = np.stack([index_sample(seed + i, places, shape[i]) for i in range(count)])
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.integers(-9, 9, shape)).astype(np.int64)
    updates = np.asarray(rng.integers(-9, 9, [*places, *shape[count:]])).astype(np.int64)
    expected = x.copy()
    for place in np.ndindex(*places):
        target = tuple(int(i[place]) for i in indices)
        old, new = expected[target], updates[place]
        functions = {"add": old + new, "mul": old * new, "update": new}
        functions |= {"min": np.minimum(old, new), "max": np.maximum(old, new)}
        expected[target] = functions[mode]
    found = evaluate(lambda *v: indexing.ScatterNDOp(*v, mode), x, indices, updates)
    same(found, expected)
    if mode == "update" and updates.size:
        last = np.moveaxis(indices, 0, -1)
        same(found, reference("ScatterND", x, last, updates))


@run_settings
@given(seed=seeds, shape=full_shapes, data=st.data())
def test_strided_set(seed: int, shape: list[int], data: st.DataObject):
    count = data.draw(st.integers(0, len(shape)))
    bounds = st.integers(-6, 6)
    begin, end = ([data.draw(bounds) for _ in range(count)] for _ in range(2))
    strides = [data.draw(bounds.filter(bool)) for _ in range(count)]
    taken = tuple(map(slice, begin, end, strides))
    x = sample(seed, shape, F32)
    v = sample(seed + 1, x[taken].shape, F32)
    expected = x.copy()
    expected[taken] = v
    numbers = [np.array(n, np.int64) for n in (begin, end, strides)]
    same(evaluate(indexing.StridedSetOp, x, v, *numbers), expected)
    if count:
        nothing = np.zeros(count, np.int64)
        same(evaluate(indexing.StridedSetOp, x, v, *numbers[:2], nothing), x)


def test_sparse_to_dense():
    def build(shape: list[int]) -> Any:
        return lambda *v: indexing.SparseToDenseOp(*v, shape)

    values, default = np.array([3, 4, 5], np.int16), np.array(-1, np.int16)
    found = evaluate(build([5]), np.array([0, 3, 0]), values, default)
    same(found, np.array([5, -1, -1, 4, -1], np.int16))
    found = evaluate(build([3]), np.array(1), np.array(7, np.int16), default)
    same(found, np.array([-1, 7, -1], np.int16))
    places = np.array([[0, 1], [2, 0], [5, 0]])
    found = evaluate(build([3, 2]), places, values, default)
    same(found, np.array([[-1, 3], [-1, -1], [4, -1]], np.int16))
    found = evaluate(build([3, 2]), places, np.array(9, np.int16), default)
    same(found, np.array([[-1, 9], [-1, -1], [9, -1]], np.int16))


def test_collapse_sum_to_a_stated_shape():
    data, shape = parameters(TensorType(f32, [2, 3]), TensorType(i64, [1]))
    stated = like.CollapseSumToOp.create(
        operands=[data, shape], result_types=[TensorType(f32, [2])]
    )
    with pytest.raises(VerifyException, match=r"'result' \[2\] .*'data' \[2, 3\]"):
        stated.verify()


# types


def parameters(*types: Any) -> Any:
    return Block(arg_types=types).args


def test_types_with_unknown_dimensions():
    unknown = DYNAMIC_INDEX
    x, y, n, k = parameters(
        TensorType(f32, [unknown, 3]),
        TensorType(f32, [2, unknown]),
        TensorType(i64, [unknown]),
        TensorType(i64, []),
    )
    assert like.BroadcastToLikeOp(x, y).result.type == TensorType(f32, [2, 3])
    assert like.CollapseSumToOp(x, parameters(TensorType(i64, [2]))[0]).result.type == TensorType(
        f32, [unknown, unknown]
    )
    assert creation.ArangeOp(k, k, k, i32).result.type == TensorType(i32, [unknown])
    assert reorder.UnravelIndexOp(n, n).result.type == TensorType(i64, [unknown, unknown])
    assert reorder.ReverseSequenceOp(x, n).result.type == x.type
    window = reorder.SlidingWindowOp(x, 0, [2, 2], [1, 1])
    assert window.result.type == TensorType(f32, [unknown, 2, 2, 2])


VECTOR, MATRIX, INDICES = (
    TensorType(f32, [3]),
    TensorType(f32, [2, 3]),
    TensorType(i64, [3]),
)


@pytest.mark.parametrize(
    ("build", "types", "message"),
    [
        (like.BroadcastToLikeOp, [MATRIX, VECTOR], "'data' .2, 3. does not broadcast"),
        (like.CollapseSumLikeOp, [VECTOR, MATRIX], "'collapse_type' .2, 3. does not broadcast"),
        (like.FullLikeOp, [VECTOR, VECTOR], "'fill_value' is tensor<3xf32>, expected a scalar"),
        (like.ReshapeLikeOp, [VECTOR, MATRIX], "has 3 elements, the new shape .2, 3. has 6"),
        (like.SliceLikeOp, [TensorType(f32, [2]), VECTOR], "'shape_like' has length 3"),
        (
            lambda *v: creation.OneHotOp(*v, 3),
            [VECTOR, VECTOR, VECTOR],
            "'indices' is tensor<3xf32>, expected integers",
        ),
        (lambda v: reorder.ReverseOp(v, 1), [VECTOR], r"'axis' is 1, accepted range is \[-1, 0\]"),
        (reorder.ReverseSequenceOp, [MATRIX, INDICES], "'seq_lengths' has 3 elements"),
        (reorder.SequenceMaskOp, [VECTOR, VECTOR], "expected at least rank 2"),
        (
            lambda v: reorder.SlidingWindowOp(v, 0, [4], [1]),
            [VECTOR],
            r"'window_shape' \[4\] does not fit",
        ),
        (reorder.TriluOp, [MATRIX, INDICES], "'k' is tensor<3xi64>, expected a scalar"),
        (
            lambda *v: reorder.MatrixSetDiagOp(*v, k1=2, k2=1),
            [MATRIX, VECTOR],
            "'k1' is 2, expected at most 'k2' 1",
        ),
        (reorder.MatrixSetDiagOp, [MATRIX, VECTOR], "expected tensor<2xf32>"),
        (reorder.InvertPermutationOp, [VECTOR], "'data' is tensor<3xf32>, expected integers"),
        (indexing.GatherOp, [MATRIX, INDICES], "expected the rank of 'data'"),
        (indexing.ScatterOp, [VECTOR, INDICES, MATRIX], "expected the shape of 'indices'"),
        (
            lambda *v: indexing.ScatterNDOp(*v, "sub"),
            [VECTOR, INDICES, VECTOR],
            "'mode' is \"sub\", accepted is",
        ),
        (indexing.StridedSetOp, [VECTOR, VECTOR, *[INDICES] * 3], "'begin' has 3 elements"),
        (
            lambda *v: indexing.SparseToDenseOp(*v, [3, -1]),
            [INDICES, VECTOR, TensorType(f32, [])],
            r"'output_shape' is \[3, -1\]",
        ),
        (
            lambda *v: indexing.SparseToDenseOp(*v, [3, 3]),
            [INDICES, VECTOR, TensorType(f32, [])],
            "expected 2 numbers for each element",
        ),
    ],
)
def test_refusals(build: Any, types: list[Any], message: str):
    with pytest.raises(VerifyException, match=message):
        build(*parameters(*types))


def taken_by_loops(data: Array, indices: Array, axis: int, batch: int, mode: str) -> Array:
    shape = data.shape[:axis] + indices.shape[batch:] + data.shape[axis + 1 :]
    result = np.empty(shape, data.dtype)
    for position in np.ndindex(*shape):
        inner = position[axis : axis + indices.ndim - batch]
        index = int(indices[(*position[:batch], *inner)])
        length = data.shape[axis]
        index = index % length if mode == "wrap" else min(max(index, 0), length - 1)
        rest = position[axis + indices.ndim - batch :]
        result[position] = data[(*position[:axis], index, *rest)]
    return result


@given(seed=seeds, shape=full_shapes, data=st.data())
@settings(run_settings, max_examples=60)
def test_take(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, F32)
    axis = data.draw(st.integers(0, len(shape) - 1))
    batch = data.draw(st.integers(0, axis))
    index_shape = [*shape[:batch], *data.draw(st.lists(dims, max_size=2))]
    mode = data.draw(st.sampled_from(["clip", "wrap", "fast"]))
    dtype = data.draw(st.sampled_from([d for d in INTEGERS if d != BOOL]))
    indices = sample(seed, index_shape, dtype)
    found = evaluate(
        lambda v, i: indexing.TakeOp(v, i, axis=axis, batch_dims=batch, mode=mode), x, indices
    )
    same(found, taken_by_loops(x, indices, axis, batch, mode))
    flat = evaluate(lambda v, i: indexing.TakeOp(v, i, mode=mode), x, indices)
    same(flat, taken_by_loops(x.reshape(-1), indices, 0, 0, mode))
    proper = np.asarray(indices.astype(np.int64) % shape[axis])
    found = evaluate(lambda v, i: indexing.TakeOp(v, i, axis=axis - len(shape)), x, proper)
    same(found, reference("Gather", x, proper, axis=axis))


def test_take_from_nothing():
    found = evaluate(
        lambda v, i: indexing.TakeOp(v, i, axis=0), np.zeros((0, 0)), np.zeros((3,), np.int32)
    )
    same(found, np.zeros((3, 0)))


@given(seed=seeds, shape=full_shapes, data=st.data())
@run_settings
def test_gather_nd(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, F32)
    batch = data.draw(st.integers(0, len(shape) - 1))
    count = data.draw(st.integers(1, len(shape) - batch))
    outer = [*shape[:batch], *data.draw(st.lists(dims, max_size=2))]
    indices = sample(seed, [count, *outer], np.dtype("int64"))
    found = evaluate(lambda v, i: indexing.GatherNDOp(v, i, batch_dims=batch), x, indices)
    limits = np.array(shape[batch : batch + count]).reshape(-1, *[1] * len(outer))
    clamped = np.clip(indices, 0, limits - 1)
    if 0 not in outer:
        same(found, reference("GatherND", x, np.moveaxis(clamped, 0, -1), batch_dims=batch))
    else:
        same(found, np.zeros((*outer, *shape[batch + count :]), np.float32))


def test_gather_nd_without_indices_repeats_the_data():
    x = np.arange(3)
    found = evaluate(indexing.GatherNDOp, x, np.zeros((0, 2), np.int64))
    same(found, np.stack([x, x]))
