"""Equal arrays are equal constants, whichever way they come, and give the same bytes back."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from xrelay.analysis.facts.constants import number_of
from xrelay.compiler import context
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.core.blob import BlobAttr, stored_bytes
from xrelay.dialects.core.dense import repeats
from xrelay.dialects.core.values import INLINE_ELEMENTS, ConstantOp, TupleOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.frontends.onnx import export_model, import_model
from xrelay.frontends.onnx.tensors import data_type_of, tensor_array
from xrelay.frontends.relay_text import print_relay_text, read_relay_text
from xrelay.frontends.relay_text.metadata import array_bytes, array_constant
from xrelay.interpreters.arrays import Array, DType, type_of
from xrelay.interpreters.constants import constant_array, constant_op, known_array
from xrelay.program_parser import ProgramParser
from xrelay.transforms.fold_constant import FoldConstantPass

MANY = INLINE_ELEMENTS + 5
DTYPES = [
    np.dtype(name)
    for name in ("bool", *(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)))
] + [np.dtype(name) for name in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)]
SPECIAL: dict[type, list[int]] = {
    # A signalling and two quiet NaNs, infinity, both zeros, the smallest subnormal.
    np.float16: [0x7C01, 0x7E00, 0xFE03, 0xFC00, 0x8000, 0x0000, 0x0001],
    ml_dtypes.bfloat16: [0x7F81, 0x7FC0, 0xFFC3, 0xFF80, 0x8000, 0x0000, 0x0001],
    np.float32: [0x7F800001, 0x7FC00000, 0xFFC00003, 0xFF800000, 0x80000000, 0, 1],
    np.float64: [0x7FF << 52 | 1, 0x7FF8 << 48, 0xFFF8 << 48 | 3, 0xFFF << 52, 1 << 63, 0, 1],
}


def bits(dtype: DType, numbers: list[int]) -> Array:
    """Floating-point numbers of these bits."""
    return np.array(numbers, f"uint{8 * dtype.itemsize}").view(dtype)


def arrays_of(dtype: DType) -> list[Array]:
    """Arrays of a dtype: empty, of rank 0, with few elements and many, that differ and repeat."""
    counted = np.arange(MANY).astype(dtype)
    found = [
        np.zeros((2, 0, 3), dtype),
        np.ones((), dtype),
        np.ones((1, 1), dtype),
        np.zeros(3, dtype),
        np.ones((MANY, 2), dtype),
        np.arange(6).astype(dtype).reshape(2, 3) % dtype.type(2),
        counted,
        # Repeats a pair of elements.
        np.tile(counted[:2], MANY),
    ]
    if dtype.kind in "iu":
        found.append(np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype))
    special = SPECIAL.get(dtype.type)
    if special is not None:
        numbers = bits(dtype, special)
        found += [numbers, np.tile(numbers, 4), bits(dtype, special[4:6])]
        found += [np.full(shape, number) for number in numbers for shape in ((), 3, (5, 5))]
        # All are the same number, but not the same bits.
        found.append(np.concatenate([np.zeros(MANY, dtype), numbers[4:5]]))
    return found


ARRAYS = [array for dtype in DTYPES for array in arrays_of(dtype)]


def function_of(constants: list[ConstantOp]) -> ModuleOp:
    """A program that returns constants as a tuple."""
    fields = TupleOp(constants)
    block = Block([*constants, fields, func.ReturnOp(fields.result)])
    return ModuleOp([func.FuncOp("main", ((), (fields.result.type,)), Region(block))])


def values_in(module: ModuleOp) -> list[Attribute]:
    """The constants that a program returns."""
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    last = function.body.block.last_op
    assert last is not None
    source = last.operands[0].owner
    fields = source.fields if isinstance(source, TupleOp) else last.operands
    owners = [value.owner for value in fields]
    return [owner.value for owner in owners if isinstance(owner, ConstantOp)]


# -- ways to make constants -----------------------------------------------------------------------


def swapped(array: Array) -> Array:
    """The other order of bytes."""
    return array if array.dtype.isbuiltin == 2 else array.astype(array.dtype.newbyteorder(">"))


def strided(array: Array) -> Array:
    """Elements with others between them, as columns."""
    doubled = np.repeat(array[..., None], 2, -1)[..., 0]
    return np.asfortranarray(doubled) if array.ndim > 1 else doubled


def repeated(array: Array) -> Array:
    """One element that stands for all."""
    content = array.tobytes()
    same = array.size and content == content[: array.itemsize] * array.size
    return np.broadcast_to(array.flat[0], array.shape) if same else array


def expanded(array: Array) -> ConstantOp:
    """A dense attribute with all elements."""
    stored = array.astype(np.int8) if array.dtype == np.bool_ else array
    value = DenseIntOrFPElementsAttr(type_of(array), BytesAttr(stored.tobytes()))
    return ConstantOp(value, type_of(array))


def from_tensor(array: Array) -> ConstantOp:
    """An ONNX tensor."""
    proto = TensorProto(
        data_type=data_type_of(array.dtype), dims=array.shape, raw_data=array.tobytes()
    )
    return constant_op(tensor_array(proto, None))


def from_tvm(array: Array) -> ConstantOp:
    """An array in the metadata of Relay text."""
    op = constant_op(array)
    value, type_ = array_constant(array_bytes(op.value, op.result.type))
    assert type_ == op.result.type
    return ConstantOp(value, op.result.type)


ONE_BY_ONE: dict[str, Callable[[Array], ConstantOp]] = {
    "other byte order": lambda array: constant_op(swapped(array)),
    "strides": lambda array: constant_op(strided(array)),
    "broadcast": lambda array: constant_op(repeated(array)),
    "ONNX tensor": from_tensor,
    "TVM array": from_tvm,
    "again": lambda array: constant_op(constant_array(constant_op(array))),
}


def through_text(module: ModuleOp) -> ModuleOp:
    """Written and read by us."""
    return ProgramParser(context(), str(module), "text").parse_module()


def through_relay(module: ModuleOp) -> ModuleOp:
    """Written and read as Relay text."""
    return read_relay_text(print_relay_text(module), "text")


def through_onnx(module: ModuleOp) -> ModuleOp:
    """Exported and imported."""
    return import_model(export_model(module, "constants"))


def through_folding(module: ModuleOp) -> ModuleOp:
    """Computed by the pass."""
    for op in list(module.walk()):
        if isinstance(op, ConstantOp):
            shape = op.result.type.get_shape()
            copy = ReshapeOp(op, shape, allowzero=0 in shape)
            op.result.replace_all_uses_with(copy.result)
            copy.operands[0] = op.result
            assert op.parent is not None
            op.parent.insert_op_after(copy, op)
    FoldConstantPass().apply(context(), module)
    return module


# -- what holds of all ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ONE_BY_ONE)
def test_equal_arrays_are_equal_attributes(way: str) -> None:
    for array in ARRAYS:
        expected, found = constant_op(array), ONE_BY_ONE[way](array)
        assert found.value == expected.value, array
        assert hash(found.value) == hash(expected.value)
        assert found.result.type == expected.result.type


@pytest.mark.parametrize(
    "through",
    [through_text, through_relay, through_onnx, through_folding],
    ids=lambda f: f.__name__,
)
def test_programs_keep_constants(through: Callable[[ModuleOp], ModuleOp]) -> None:
    # What text names stays a name there: the digest of the bytes.
    constants = list(map(constant_op, ARRAYS))
    found = values_in(through(function_of([op.clone() for op in constants])))
    assert len(found) == len(constants)
    for array, value, expected in zip(ARRAYS, found, constants, strict=True):
        assert value == expected.value, array


def test_the_bytes_come_back() -> None:
    for array in ARRAYS:
        found = constant_array(constant_op(array))
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        assert not found.flags.writeable


def test_what_repeats_is_kept_once() -> None:
    for array in ARRAYS:
        elements = [element.tobytes() for element in array.reshape(-1, 1)]
        op = constant_op(array)
        kept = stored_bytes(op.value)
        assert kept == (array.itemsize if len(set(elements)) == 1 else array.nbytes)
        assert isinstance(op.value, BlobAttr) == (kept > array.itemsize * INLINE_ELEMENTS)
        # A dense attribute that was made elsewhere.
        few = len(elements) <= INLINE_ELEMENTS or kept == array.itemsize
        assert (expanded(array).value == op.value) == few


def test_arrays_that_differ_in_a_bit_are_other_attributes() -> None:
    for dtype, numbers in SPECIAL.items():
        for shape in ((), (3,), (5, 5)):
            values = {
                constant_op(np.full(shape, each)).value for each in bits(np.dtype(dtype), numbers)
            }
            assert len(values) == len(numbers)


def test_any_byte_but_0_is_true() -> None:
    """In the text of others, and in arrays of TVM and ONNX."""
    odd = bytes([0, 1, 2, 255])
    op = constant_op(np.array([False, True, True, True]))
    proto = TensorProto(data_type=TensorProto.BOOL, dims=[4], raw_data=odd)
    assert constant_op(tensor_array(proto, None)).value == op.value
    content = array_bytes(op.value, op.result.type)
    assert array_constant(content[:-4] + odd)[0] == op.value
    text = 'relay.constant dense<"0x000102FF"> : tensor<4xi1>'
    (read,) = Parser(context(), text).parse_module().ops
    assert isinstance(read, ConstantOp)
    assert read.value == op.value


def test_a_blob_shares_the_memory_of_its_array() -> None:
    for array in (np.arange(100.0), np.arange(100) % 2 == 0):
        value = constant_op(array).value
        assert isinstance(value, BlobAttr)
        assert np.shares_memory(array, np.frombuffer(value.data.data or b"", np.uint8))


def test_numbers_of_a_splat() -> None:
    for array, expected in (
        (np.full(3, 7, np.int64), 7),
        (np.full((2, 40), -0.0, np.float32), 0.0),
        (np.array(True), True),
        (np.arange(3), None),
        (np.zeros((0, 2)), None),
        (np.array([0.0, -0.0]), None),
    ):
        op = constant_op(array)
        assert number_of(op.result) == expected
        assert constant_numbers(op.result) in (tuple(array.reshape(-1).tolist()), (-1,))
    assert constant_numbers(constant_op(np.zeros(1 << 17, np.int64)).result) is None
    assert known_array(Block(arg_types=[type_of(np.zeros(2))]).args[0]) is None


@pytest.mark.parametrize("length", [1, 2, 3, 4095, 4096, 4097, 8192, 10000])
def test_repeats(length: int) -> None:
    """At the edges of the pieces that are compared at once."""
    for width in (1, 2, 8):
        content = bytes(range(1, width + 1)) * length
        assert repeats(content, width)
        assert repeats(memoryview(content), width)
        for place in {0, width, len(content) // 2, len(content) - 1} if length > 1 else ():
            other = bytearray(content)
            other[min(place, len(content) - 1)] ^= 1
            assert not repeats(bytes(other), width)
    assert not repeats(b"", 4)


def test_types_without_arrays_are_refused() -> None:
    with pytest.raises(InterpretationError, match="complex64 is no element type"):
        constant_op(np.zeros(3, np.complex64))
    (op,) = Parser(context(), "relay.constant dense<[1, 2]> : tensor<2xi4>").parse_module().ops
    with pytest.raises(InterpretationError, match="element type i4 has no NumPy type"):
        known_array(op.results[0])


def test_generic_text_is_kept_once_too() -> None:
    text = '%0 = "relay.constant"() <{value = dense<0.5> : tensor<64x64xf32>}> : () -> tensor<64x64xf32>'
    (op,) = Parser(context(), text).parse_module().ops
    assert isinstance(op, ConstantOp)
    assert op.value == constant_op(np.full((64, 64), 0.5, np.float32)).value
    assert stored_bytes(op.value) == 4


def test_initializers_in_fields_and_bytes_are_the_same() -> None:
    """An ONNX model may write a tensor either way."""
    graph = helper.make_graph(
        [
            helper.make_node("Identity", ["fields"], ["a"]),
            helper.make_node("Identity", ["bytes"], ["b"]),
        ],
        "g",
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [MANY]) for name in "ab"],
        [
            helper.make_tensor("fields", TensorProto.FLOAT, [MANY], [1.5] * MANY),
            helper.make_tensor(
                "bytes",
                TensorProto.FLOAT,
                [MANY],
                np.full(MANY, 1.5, np.float32).tobytes(),
                raw=True,
            ),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    one, other = values_in(import_model(model))
    assert one == other == constant_op(np.full(MANY, 1.5, np.float32)).value


def test_elements_that_tvm_has_no_arrays_of() -> None:
    value = constant_op(np.arange(2)).value
    with pytest.raises(ValueError, match="TVM has no arrays with elements of type index"):
        array_bytes(value, TensorType(IndexType(), [2]))
