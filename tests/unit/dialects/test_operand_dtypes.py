"""What operators compute of operands whose dtypes, lengths and signs Relay leaves open."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_oracles import evaluate, run_settings, same
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f16, f32, i1, i8, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import DiagnosticException, InterpretationError, VerifyException

import xrelay
from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.dyn import select as dyn_select
from xrelay.dialects.nn import dense, space
from xrelay.dialects.qnn import arithmetic as qnn_arithmetic
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.tensor import (
    binary,
    bits,
    creation,
    indexing,
    reshape,
    transcendental,
    transform,
    unary,
)
from xrelay.dialects.tensor import reduce as reduction
from xrelay.frontends.relay_text import print_relay_text, read_relay_text
from xrelay.interpreters.constants import constant_op
from xrelay.transforms.fold_constant import FoldConstantPass

Build = Callable[..., Operation]
UNSIGNED = np.array([0, 1, 127, 128, 255], np.uint8)
SIGNED = np.array([-128, -5, -1, 0, 1, 127], np.int8)


def module_of(build: Build, types: Sequence[Attribute]) -> ModuleOp:
    block = Block(arg_types=types)
    op = build(*block.args)
    block.add_ops([op, func.ReturnOp(op.results[0])])
    module = ModuleOp([func.FuncOp("main", (types, [op.results[0].type]), Region(block))])
    module.verify()
    return module


def parameter(*shape: int, dtype: Any = f32) -> Any:
    return Block(arg_types=[TensorType(dtype, shape)]).args[0]


# Typed for every dtype, computed for some

QNN_SUM = [TensorType(f32, [2])] * 2 + [TensorType(f32, []), TensorType(i32, [])] * 3
NOT_COMPUTED: list[tuple[Build, Sequence[Attribute], str]] = [
    *(
        (op, [TensorType(i32, [4])], "'data' has elements of type i32, it computes with floating")
        for op in (
            *transcendental.TRANSCENDENTAL_OPS,
            *(unary.ExpOp, unary.LogOp, unary.SqrtOp, unary.RsqrtOp, unary.TanhOp),
            *(unary.SigmoidOp, unary.ErfOp, unary.SinOp, unary.CosOp),
        )
    ),
    (
        unary.LogicalNotOp,
        [TensorType(i8, [4])],
        "'data' has elements of type i8, it computes with b",
    ),
    (bits.BitwiseNotOp, [TensorType(f32, [4])], "'data' has elements of type f32, .* integers"),
    (binary.LeftShiftOp, [TensorType(f32, [4])] * 2, "'lhs' has elements of type f32, .* integers"),
    (
        binary.BitwiseXorOp,
        [TensorType(f16, [4])] * 2,
        "'lhs' has elements of type f16, .* integers",
    ),
    (binary.PowerOp, [TensorType(i32, [4])] * 2, "'lhs' has elements of type i32, .* floating"),
    (binary.LogicalAndOp, [TensorType(i32, [4])] * 2, "'lhs' has elements of type i32, .* bools"),
    (reduction.MeanOp, [TensorType(i1, [4])], "'data' has elements of type i1, .* numbers"),
    (
        qnn_arithmetic.QnnAddOp,
        QNN_SUM,
        "'lhs' has elements of type f32, it computes with i8, ui8, i16, ui16, i32",
    ),
]


@pytest.mark.parametrize(("build", "types", "message"), NOT_COMPUTED)
def test_typed_but_not_computed(build: Build, types: Sequence[Attribute], message: str):
    module = module_of(build, types)
    name = next(op.name for op in module.walk() if op.name.startswith("relay."))
    inputs = [sample(type_) for type_ in types]
    with pytest.raises(InterpretationError, match=f"{name}: {message}"):
        evaluate(build, *inputs)
    with pytest.raises(DiagnosticException, match=f"no kernel code for {name}: {message}"):
        xrelay.compile(module)


def sample(type_: Attribute) -> Any:
    assert isinstance(type_, TensorType)
    dtype = {f32: np.float32, f16: np.float16, i32: np.int32, i8: np.int8, i1: np.bool_}
    return np.ones(type_.get_shape(), dtype[type_.element_type])


def test_constants_without_a_meaning_are_not_folded():
    block = Block()
    constant = constant_op(np.array([1, 2], np.int32))
    op = unary.ExpOp(constant)
    block.add_ops([constant, op, func.ReturnOp(op)])
    module = ModuleOp([func.FuncOp("main", ([], [op.result.type]), Region(block))])
    FoldConstantPass().apply(Context(), module)
    assert [type(each) for each in block.ops] == [core.ConstantOp, unary.ExpOp, func.ReturnOp]


# Integers


@pytest.mark.parametrize("op", [unary.FloorOp, unary.CeilOp, unary.RoundOp, unary.TruncOp])
@pytest.mark.parametrize("values", [UNSIGNED, SIGNED, np.array([True, False])])
def test_rounding_leaves_integers_as_they_are(op: Build, values: Any):
    same(evaluate(op, values), values)


@pytest.mark.parametrize("alpha", [0.25, -1.5, 2.75])
@pytest.mark.parametrize("values", [UNSIGNED, SIGNED])
def test_leaky_relu_of_integers(alpha: float, values: Any):
    factor = math.trunc(alpha) if values.dtype.kind == "i" else max(math.trunc(alpha), 0)
    wide = [int(x) if x > 0 else int(x) * factor for x in values]
    expected = np.array([x % 256 for x in wide], np.uint8).view(values.dtype)
    same(evaluate(lambda x: unary.LeakyReluOp(x, alpha), values), expected)


@pytest.mark.slow
@given(data=st.data(), dtype=st.sampled_from(["int8", "uint8", "int64", "uint64"]))
@run_settings
def test_mean_of_integers(data: st.DataObject, dtype: str):
    info = np.iinfo(dtype)
    numbers = st.integers(int(info.min), int(info.max))
    values = data.draw(st.lists(numbers, min_size=1, max_size=300))
    total = sum(values) % 2**info.bits
    if total > info.max:
        total -= 2**info.bits
    mean = abs(total) // len(values) * (-1 if total < 0 else 1)
    same(evaluate(reduction.MeanOp, np.array(values, dtype)), np.array(mean, dtype))


def test_mean_of_no_integers():
    same(evaluate(reduction.MeanOp, np.zeros(0, np.int32)), np.array(0, np.int32))


# Numbers of another dtype are converted


def test_full_converts_its_number():
    for number, dtype, expected in (
        (np.float32(2.75), i32, np.int32(2)),
        (np.float32(-1), i8, np.int8(-1)),
        (np.float32(1e9), i8, np.int8(127)),
        (np.int32(300), i8, np.int8(44)),
        (np.int32(7), f16, np.float16(7)),
        (np.float32(0.5), i1, np.bool_(True)),
    ):
        found = evaluate(lambda v, dtype=dtype: creation.FullOp(v, [2, 3], dtype), np.array(number))
        same(found, np.full((2, 3), expected))
    with pytest.raises(VerifyException, match="'dtype' is tensor<f32>, expected an integer or"):
        creation.FullOp(parameter(), [2], TensorType(f32, []))


def test_pads_and_defaults_are_converted():
    x = np.array([5, 6], np.int8)
    padded = evaluate(lambda x, v: space.PadOp(x, v, [(1, 0)]), x, np.array(-2.9, np.float32))
    same(padded, np.array([-2, 5, 6], np.int8))
    widths = np.array([[0, 1]])
    found = evaluate(dyn_select.DynPadOp, x, widths, np.array(300, np.int32))
    same(found, np.array([5, 6, 44], np.int8))
    found = evaluate(
        lambda p, v, d: indexing.SparseToDenseOp(p, v, d, [3]),
        np.array([1]),
        np.array([4]),
        np.array(-7, np.int32),
    )
    same(found, np.array([-7, 4, -7]))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "bool"])
def test_conditions_are_true_unless_0(dtype: str):
    condition = np.array([0, 1, 0, 3, 0]).astype(dtype)
    if condition.dtype.kind == "f":
        condition[[1, 2]] = np.nan, -0.0
    x, y = np.arange(5, dtype=np.float32), -np.arange(5, dtype=np.float32)
    same(evaluate(transform.WhereOp, condition, x, y), np.array([0, 1, -2, 3, -4], np.float32))


@pytest.mark.parametrize(
    ("left", "right", "sums"),
    [("uint8", "int8", i32), ("uint8", "int8", None), ("int8", "float32", f32)],
)
def test_factors_of_two_dtypes(left: str, right: str, sums: Any):
    rng = np.random.default_rng(0)
    x, w = (
        rng.integers(0, 256, (3, 19)).astype(left),
        rng.integers(-128, 128, (4, 19)).astype(right),
    )
    out = np.dtype({i32: "int32", None: left, f32: "float32"}[sums])
    exact = x.astype(np.int64) @ w.astype(np.int64).T
    expected = (exact % 256).astype(np.uint8) if sums is None else exact.astype(out)
    same(evaluate(lambda x, w: dense.DenseOp(x, w, out_dtype=sums), x, w), expected)
    same(
        evaluate(lambda x, w: dense.MatmulOp(x, w, transpose_b=True, out_dtype=sums), x, w),
        expected,
    )
    same(
        evaluate(lambda x, w: dense.BatchMatmulOp(x, w, transpose_b=True, out_dtype=sums),
                 x[None], w[None]),
        expected[None],
    )  # fmt: skip
    for op, ones in ((conv.Conv1DOp, 1), (conv.Conv2DOp, 2), (conv.Conv3DOp, 3)):
        places = (1,) * ones
        found = evaluate(
            lambda x, w, op=op: op(x, w, out_dtype=sums),
            x.reshape(3, 19, *places),
            w.reshape(4, 19, *places),
        )
        same(found, expected.reshape(3, 4, *places))


@pytest.mark.parametrize("batch", [(3,), (2, 3)])
@pytest.mark.parametrize("flip", [False, True])
def test_batches_times_a_matrix(batch: tuple[int, ...], flip: bool):
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (*batch, 5, 4)).astype(np.float32)
    b = rng.integers(-3, 4, (4, 6)).astype(np.float32)
    stored = a.swapaxes(-1, -2) if flip else a
    same(evaluate(lambda a, b: dense.MatmulOp(a, b, transpose_a=flip), stored, b), a @ b)


def test_matrices_of_other_ranks():
    with pytest.raises(VerifyException, match=r"'tensor_a' is tensor<4xf32>, expected at least ra"):
        dense.MatmulOp(parameter(4), parameter(4, 6))
    with pytest.raises(VerifyException, match=r"'tensor_b' is tensor<2x4x6xf32>, expected rank 2"):
        dense.MatmulOp(parameter(2, 5, 4), parameter(2, 4, 6))


def test_concatenation_of_wide_integers():
    def build(x: Any, y: Any, scale: Any, zero: Any, half: Any) -> Operation:
        tuples = (core.TupleOp([x, y]), core.TupleOp([scale, half]), core.TupleOp([zero, zero]))
        return qnn.QnnConcatenateOp(*tuples, scale, zero)

    x, y = np.array([2**31 - 1, -5], np.int32), np.array([2**31 - 1, -5, 3], np.int32)
    scalars = np.array(1, np.float32), np.array(1, np.int32), np.array(0.5, np.float32)
    found = evaluate(build, x, y, *scalars)
    # (q - 1) / 2 + 1, halves up
    same(found, np.array([2**31 - 1, -5, 2**30, -2, 2], np.int32))


# Lists of unequal length and negative pads


@pytest.mark.parametrize(
    ("begin", "end", "strides", "expected"),
    [
        ([1, 1, 0], [4, 4], [1], np.s_[1:4, 1:4, 0:]),
        ([1, 1], [4, 4, 3], [1], np.s_[1:4, 1:4, :3]),
        ([0, 1], [1, -1, 5], [1, 1, 2], np.s_[0:1, 1:-1, :5:2]),
        ([], [], [2], np.s_[::2]),
        ([4], [], [-1], np.s_[4:0:-1]),
        ([], [1], [-1], np.s_[:1:-1]),
        ([2], [], None, np.s_[2:]),
    ],
)
def test_slices_by_lists_of_unequal_length(begin: Any, end: Any, strides: Any, expected: Any):
    x = np.arange(5 * 6 * 7, dtype=np.int32).reshape(5, 6, 7)
    found = evaluate(lambda x: transform.StridedSliceOp(x, begin, end, strides), x)
    same(found, x[expected])


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (([1, 1, 0], [4, 4], [1]), np.s_[1:4, 1:4, 0:]),
        (([1], [4, 4, 3], [1, 2]), np.s_[1:4, :4:2, :3]),
        (([3], [], [-1, -2]), np.s_[3::-1, ::-2]),
        (([], [], []), np.s_[:]),
    ],
)
def test_sets_by_lists_of_unequal_length(lists: Any, expected: Any):
    x = np.arange(5 * 6 * 7, dtype=np.int32).reshape(5, 6, 7)
    result = x.copy()
    v = np.full_like(x[expected], -1)
    result[expected] = v
    numbers = [np.array(each, np.int64) for each in lists]
    same(evaluate(indexing.StridedSetOp, x, v, *numbers), result)


def test_lists_that_are_too_long():
    three = [parameter(3, dtype=i64)] * 3
    with pytest.raises(VerifyException, match="'begin' has 3 elements, 'data' 2 axes"):
        indexing.StridedSetOp(parameter(4, 5), parameter(4, 5), *three)
    with pytest.raises(VerifyException, match="have numbers for 3 axes, there are 2"):
        transform.StridedSliceOp(parameter(4, 5), [0], [1, 1, 1])
    with pytest.raises(VerifyException, match=r"do not have one number for each of 'axes' \[1\]"):
        transform.StridedSliceOp(parameter(4, 5), [0], [], axes=[1])


@given(data=st.data(), mode=st.sampled_from(["constant", "edge", "reflect"]))
@run_settings
def test_negative_pads(data: st.DataObject, mode: str):
    length = data.draw(st.integers(1, 7))
    widest = length - 1 if mode == "reflect" else 5
    before = data.draw(st.integers(-length - 2, widest))
    after = data.draw(
        st.integers(max(-length - before, -length - 2), max(widest, -length - before))
    )
    if mode == "reflect" and after >= length:
        return
    x = np.arange(1, length + 1, dtype=np.int32)

    def element(place: int) -> int:
        if 0 <= place < length:
            return int(x[place])
        if mode == "constant":
            return -9
        if mode == "edge":
            return int(x[0 if place < 0 else -1])
        return int(x[-place if place < 0 else 2 * (length - 1) - place])

    expected = [element(i - before) for i in range(length + before + after)]
    found = evaluate(
        lambda x, v: space.PadOp(x, v, [(before, after)], pad_mode=mode),
        x,
        np.array(-9, np.int32),
    )
    same(found, np.array(expected, np.int32))


def test_pads_that_leave_out_too_much():
    with pytest.raises(
        VerifyException, match=r"'pad_width' \[-3, -2\] leaves out more than an axis"
    ):
        space.PadOp(parameter(4), parameter(), [(-3, -2)])


# Types


UNKNOWN = DYNAMIC_INDEX


@pytest.mark.parametrize(
    ("shape", "codes", "expected"),
    [
        ([UNKNOWN, 3, 4], [0, -1], [UNKNOWN, 12]),
        ([2, UNKNOWN, 4], [-1, 0], [8, UNKNOWN]),
        ([2, UNKNOWN, 4], [2, 0, 2, -1], [2, UNKNOWN, 2, 2]),
        ([UNKNOWN, UNKNOWN, 6], [0, 0, 2, -1], [UNKNOWN, UNKNOWN, 2, 3]),
        ([3, UNKNOWN, 4], [-1, 6, -2], [UNKNOWN, 6, 4]),
        ([8, 3, UNKNOWN, 2], [4, -1, -2], [4, 6, UNKNOWN, 2]),
    ],
)
def test_copied_dimensions_cancel(shape: Sequence[int], codes: Sequence[int], expected: Any):
    result = reshape.ReshapeOp(parameter(*shape), codes).result.type
    assert list(result.get_shape()) == expected


@pytest.mark.parametrize(
    "call",
    [
        "dyn.reshape(%x, %s, newshape=[])",
        "dyn.broadcast_to(%x, %s, shape=None)",
        "dyn.tile(%x, %s, reps=[])",
        "dyn.topk(%x, %k, k=None, axis=0)",
        'dyn.zeros(%s, shape=None, dtype="int8")',
        'dyn.full(%f, %s, shape=None, dtype="int8")',
        "dyn.nn.pad(%x, %w, %f, pad_width=[])",
        "dyn.strided_slice(%x, %s, %s, %s, begin=None, end=None, strides=None, axes=None)",
    ],
)
def test_attributes_beside_operands(call: str):
    text = (
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 5), float32], %s: Tensor[(2), int64], '
        "%k: int64, %f: float32, %w: Tensor[(2, 2), int64]) {\n  " + call + "\n}\n"
    )
    module = read_relay_text(text)
    module.verify()
    exact, compatible = (print_relay_text(module, tvm_compatible=each) for each in (False, True))
    for name in ("newshape", "shape", "reps", "k", "pad_width", "begin", "end", "strides"):
        assert (f" {name}=" in compatible) == (f" {name}=" in call)
        assert f" {name}=" not in exact
    assert str(read_relay_text(compatible)) == str(read_relay_text(exact)) == str(module)
