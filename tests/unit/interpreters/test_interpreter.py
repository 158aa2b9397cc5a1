"""What holds for all operators and whole programs in the interpreter: constants, inputs, results, shapes that only arrays know."""

from typing import Any

import numpy as np
import pytest
from operator_oracles import F32, FLOATS, INTEGERS, close, evaluate, parse, same, sample
from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.dialects.core import annotation
from xrelay.dialects.core import values as core
from xrelay.dialects.core.blob import Blob, BlobAttr
from xrelay.dialects.tensor import indexing, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.interpreters.arrays import dtype_of, element_type_of, type_of
from xrelay.interpreters.constants import constant_array, constant_op
from xrelay.interpreters.relay import interpret


def test_memory_that_the_system_does_not_have():
    message = (
        "relay.exp: not enough memory to compute tensor<70368744177664xf64>: Unable to allocate"
    )
    with pytest.raises(InterpretationError, match=message):
        evaluate(lambda: unary.ExpOp(constant_op(np.broadcast_to(0.0, [2**46])).result))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (5, 7)])
def test_constants_keep_bits(dtype: np.dtype[Any], shape: tuple[int, ...]):
    for array in (sample(1, shape, dtype), np.ones(shape, dtype), sample(2, shape, dtype).T):
        op = constant_op(array)
        op.verify()
        found = constant_array(op)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        large = array.size > core.INLINE_ELEMENTS and len(set(array.reshape(-1).tolist())) > 1
        assert isinstance(op.value, BlobAttr) == large
        same(evaluate(lambda a=array: constant_op(a)), array)


def test_large_constants_share_memory():
    array = np.arange(100, dtype=np.float32)
    assert np.shares_memory(constant_array(constant_op(array)), array)


@pytest.mark.parametrize(
    "element, message",
    [
        (builtin.f32, "'value' has 7 bytes, tensor<2xf32> has 8"),
        (builtin.NoneType(), "element type none has no size"),
    ],
)
def test_blob_of_wrong_size(element: Attribute, message: str):
    op = core.ConstantOp(BlobAttr(Blob(bytes(7))), TensorType(element, [2]))
    with pytest.raises(VerifyException, match=message):
        op.verify()


def test_splats_are_compared_by_bits():
    assert isinstance(constant_op(np.full(100, np.nan)).value, DenseIntOrFPElementsAttr)
    zeros = np.zeros(100)
    zeros[50] = -0.0
    assert isinstance(constant_op(zeros).value, BlobAttr)


def test_dense_and_array_types_agree():
    for dtype in (*FLOATS, *INTEGERS):
        assert dtype_of(element_type_of(dtype)) == dtype
    with pytest.raises(InterpretationError, match="index has no NumPy type"):
        dtype_of(builtin.IndexType())
    with pytest.raises(InterpretationError, match="complex128 is no element type"):
        type_of(np.zeros(2, complex))


PROGRAM = """
func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %c: tensor<i1>)
    -> (tensor<2xf32>, tuple<tensor<2xf32>, tensor<i1>>, tuple<>) {
  %0 = relay.fused %x : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.composite "test.negate" %p : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%q: tensor<2xf32>):
      %2 = relay.negative %q : (tensor<2xf32>) -> tensor<2xf32>
      relay.yield %2 : tensor<2xf32>
    }
    relay.yield %1 : tensor<2xf32>
  }
  %b = relay.annotation.compiler_begin %0 compiler "c" : (tensor<2xf32>) -> tensor<2xf32>
  %e = relay.annotation.compiler_end %b compiler "c" : (tensor<2xf32>) -> tensor<2xf32>
  %s = relay.annotation.stop_fusion %e : (tensor<2xf32>) -> tensor<2xf32>
  %ref = relay.ref_create %s : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
  %taken = tensor.extract %c[] : tensor<i1>
  %3 = scf.if %taken -> (tensor<2xf32>) {
    %4 = func.call @double(%s) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    scf.yield %s : tensor<2xf32>
  }
  %w = relay.ref_write %ref, %3 : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
  %r = relay.ref_read %ref : (!relay.ref<tensor<2xf32>>) -> tensor<2xf32>
  %t = relay.tuple %s, %c : (tensor<2xf32>, tensor<i1>) -> tuple<tensor<2xf32>, tensor<i1>>
  func.return %r, %t, %w : tensor<2xf32>, tuple<tensor<2xf32>, tensor<i1>>, tuple<>
}
"""


@pytest.mark.parametrize("condition, expected", [(True, [-2, -4]), (False, [-1, -2])])
def test_whole_programs(condition: bool, expected: list[int]):
    x = np.array([1, 2], F32)
    written, fields, unit = interpret(parse(PROGRAM), [x, np.array(condition)])
    same(written, np.array(expected, F32))
    same(fields[0], -x)
    same(fields[1], np.array(condition))
    assert unit == ()
    (doubled,) = interpret(parse(PROGRAM), [x], "double")
    same(doubled, x + x)


def test_tuple_parameters():
    module = parse("""
    func.func @main(%t: tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<i32> {
      %0 = relay.tuple_get_item %t[1]
        : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
      %1 = relay.tuple_get_item %0[0] : (tuple<tensor<i32>>) -> tensor<i32>
      func.return %1 : tensor<i32>
    }""")
    value = (np.zeros(2, F32), (np.array(5, np.int32),))
    same(interpret(module, [value])[0], np.array(5, np.int32))
    for wrong, message in (
        (np.zeros(2, F32), "is a Python ndarray, expected tuple<"),
        (value[:1], "is a tuple of 1, expected tuple<"),
        ((value[0], (np.array(5, F32),)), "field 0 of field 1 of input 0 of @main is tensor<f32>"),
    ):
        with pytest.raises(InterpretationError, match=message):
            interpret(module, [wrong])


IDENTITY = """
func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  func.return %x : tensor<?x3xf32>
}"""


@pytest.mark.parametrize(
    "inputs, message",
    [
        ([], "@main takes 1 inputs, 0 are given"),
        (
            [np.zeros((2, 4), F32)],
            r"input 0 of @main is tensor<2x4xf32>, expected tensor<\?x3xf32>",
        ),
        ([np.zeros((2, 3))], r"input 0 of @main is tensor<2x3xf64>, expected tensor<\?x3xf32>"),
        ([1.0], r"input 0 of @main is a Python float, expected tensor<\?x3xf32>"),
    ],
)
def test_wrong_inputs(inputs: list[Any], message: str):
    with pytest.raises(InterpretationError, match=message):
        interpret(parse(IDENTITY), inputs)


def test_missing_function():
    with pytest.raises(InterpretationError, match="the module has no function @other"):
        interpret(parse(IDENTITY), [], "other")


def test_constant_without_bytes():
    module = parse("""
    func.func @main() -> tensor<20xf32> {
      %0 = relay.constant #relay.blob<"abc"> : tensor<20xf32>
      func.return %0 : tensor<20xf32>
    }""")
    message = 'the bytes of constant "abc" .* were not supplied with the text'
    with pytest.raises(InterpretationError, match=message):
        interpret(module, [])


def test_shapes_that_only_the_arrays_know():
    unknown = TensorType(builtin.f32, [DYNAMIC_INDEX, DYNAMIC_INDEX])
    x = sample(1, (4, 6), F32)
    for build, expected in (
        (lambda v: reshape.ReshapeOp(v, [0, 2, -1]), x.reshape(4, 2, 3)),
        (lambda v: transform.StridedSliceOp(v, [-2], [100]), x[-2:]),
        (lambda v: transform.BroadcastToOp(v, [2, -1, -1]), np.stack([x, x])),
        (lambda v: indexing.TakeOp(v, constant_op(np.array(9)), axis=1), x[:, 5]),
        (lambda v: reduction.SumOp(v, [-1]), x.sum(1)),
    ):
        close(evaluate(build, x, types=[unknown]), expected)
    first, second = evaluate(lambda v: transform.SplitOp(v, 2), x, types=[unknown])
    same(np.concatenate([first, second]), x)


def test_results_are_compared_with_their_types():
    module = parse("""
    func.func @main(%x: tensor<?xf32>) -> tensor<3xf32> {
      %0 = relay.exp %x : (tensor<?xf32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }""")
    message = "result 0 of relay.exp is tensor<2xf32>, expected tensor<3xf32>"
    with pytest.raises(InterpretationError, match=message):
        interpret(module, [np.zeros(2, F32)])


def test_annotations_are_identities():
    x = sample(1, (2,), F32)
    same(evaluate(annotation.StopFusionOp, x), x)
    same(evaluate(lambda v: annotation.CompilerBeginOp(v, "c"), x), x)
