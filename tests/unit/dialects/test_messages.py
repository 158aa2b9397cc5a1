"""What operators and attributes say of types and bodies that do not fit, in whole sentences, and what just fits."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    f64,
    i8,
    i32,
    i64,
)
from xdsl.dialects.scf import YieldOp as BranchYieldOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from xrelay.compiler import context, parse_program
from xrelay.dialects.base import RelayOp
from xrelay.dialects.branches import passed_on
from xrelay.dialects.constants import MOST_NUMBERS, constant_integers, constant_numbers
from xrelay.dialects.conv.packed import ContribConv2DNCHWcOp
from xrelay.dialects.conv.winograd import (
    ContribConv2DWinogradWithoutWeightTransformOp,
    ContribConv3DWinogradWithoutWeightTransformOp,
)
from xrelay.dialects.core.adt import AdtType
from xrelay.dialects.core.blob import Blob, BlobAttr
from xrelay.dialects.core.functional import ApplyOp, FnType, ForallType, TypeVarType
from xrelay.dialects.core.memory import STORAGE, AllocTensorOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.length_scope import Pinned, Scope
from xrelay.dialects.lengths import LengthsAttr, length_array, symbol
from xrelay.dialects.nn.bitserial import BitSerialConv2DOp
from xrelay.dialects.nn.loss import NllLossOp
from xrelay.dialects.qnn.blocks import QnnDequantizeBlocksOp
from xrelay.dialects.shapes import static_tensor
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.vision.regions import ProposalOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import constant_array, constant_op

ANY = DYNAMIC_INDEX
UI8, UI16, UI32 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32))


def tensor(*shape: int, of: Attribute = f32) -> TensorType[Attribute]:
    return TensorType(of, shape)


def values(*types: Attribute) -> Sequence[SSAValue]:
    return TestOp(result_types=types).results


def planes(*weight: int) -> RelayOp:
    """A convolution of images with a transformed weight of a shape."""
    operands = values(tensor(1, 2, 8, 8), tensor(*weight))
    return ContribConv2DWinogradWithoutWeightTransformOp(*operands, tile_size=4)


def spaces(*weight: int) -> RelayOp:
    """A convolution of volumes with a transformed weight of a shape."""
    operands = values(tensor(1, 2, 8, 8, 8), tensor(*weight))
    return ContribConv3DWinogradWithoutWeightTransformOp(*operands, tile_size=4)


def of_bits(weight: TensorType[Attribute]) -> RelayOp:
    """A convolution of images of 32 channels with two bits of a packed weight."""
    data, packed = values(tensor(1, 32, 5, 5, of=i8), weight)
    return BitSerialConv2DOp(data, packed, weight_bits=2)


def of_blocks(size: int, bits: int = 8) -> RelayOp:
    """A matrix of two rows of three numbers, with a scale for each block."""
    types = tensor(2, 3, of=UI8), tensor(2, -(-3 // max(size, 1))), tensor(of=UI8)
    return QnnDequantizeBlocksOp(*values(*types), length=3, block_size=size, bits=bits)


def loss(classes: int, images: int) -> RelayOp:
    """The loss of predictions of a number of classes."""
    types = tensor(images, classes), tensor(images, of=i32), tensor(classes)
    return NllLossOp(*values(*types))


def proposals(height: int, width: int) -> RelayOp:
    """Boxes in images of a size."""
    types = tensor(2, 24, height, width), tensor(2, 48, height, width), tensor(2, 3)
    return ProposalOp(*values(*types))


def allocated(shape: TensorType[Attribute]) -> RelayOp:
    """A tensor whose lengths are in a tensor of a type."""
    return AllocTensorOp(*values(AdtType(STORAGE, []), tensor(of=i64), shape))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "rows and columns": (
        lambda: planes(6, 5, 2, 3),
        "'weight' is tensor<6x5x2x3xf32>, expected [a, a, C, O]",
    ),
    "unknown rows and columns": (
        lambda: planes(ANY, ANY, 2, 3),
        "'weight' is tensor<?x?x2x3xf32>, expected [a, a, C, O]",
    ),
    **{
        f"a weight of {weight}": (
            lambda weight=weight: spaces(*weight, 3, 2),
            f"'weight' is {tensor(*weight, 3, 2)}, expected [a, a, a, O, C] or [a, a, KD, O, C]",
        )
        for weight in ((6, 5, 6), (ANY, ANY, 6), (6, 6, ANY), (6, 6, 0))
    },
    "packed in other words": (
        lambda: of_bits(tensor(4, 1, 3, 3, 2, of=UI16)),
        "'weight' is tensor<4x1x3x3x2xui16>, expected tensor<4x1x3x3x2xui32>",
    ),
    "packed with another bit": (
        lambda: of_bits(tensor(4, 1, 3, 3, 1, of=UI32)),
        "'weight' is tensor<4x1x3x3x1xui32>, expected 2 bits last",
    ),
    "blocks of nothing": (lambda: of_blocks(0), "'block_size' is 0, expected a positive number"),
    "blocks of less": (lambda: of_blocks(-1), "'block_size' is -1, expected a positive number"),
    "another number of bits": (
        lambda: of_blocks(1, 3),
        "'bits' is 3, accepted are 2, 4 and 8",
    ),
    "no class": (
        lambda: loss(0, 1),
        "'predictions' has no class, and 'targets' has elements",
    ),
    "no rows of images": (
        lambda: proposals(0, 8),
        "'cls_prob' is tensor<2x24x0x8xf32>, expected images that are not empty",
    ),
    "no columns of images": (
        lambda: proposals(6, 0),
        "'cls_prob' is tensor<2x24x6x0xf32>, expected images that are not empty",
    ),
    "a matrix of lengths": (
        lambda: allocated(tensor(2, 1, of=i64)),
        "'shape' is tensor<2x1xi64>, expected a list of known length",
    ),
    "an unknown number of lengths": (
        lambda: allocated(tensor(ANY, of=i64)),
        "'shape' is tensor<?xi64>, expected a list of known length",
    ),
    "type parameters of a tensor": (
        lambda: ForallType(["A"], f32),
        "relay.forall is about f32, expected a function type",
    ),
    "fields of a tensor": (
        lambda: ConcatenateOp(*values(tensor(2)), axis=0),
        "'data' is tensor<2xf32>, expected a tuple of tensors",
    ),
    "a number in place of a tensor": (lambda: static_tensor(f64), "f64 is not a tensor type"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_types_that_are_refused(case: str) -> None:
    """The sentence, without the operation that the verifier prints below it."""
    build, message = REFUSED[case]
    with pytest.raises(DiagnosticException) as caught:
        build()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("build", "result"),
    [
        (lambda: planes(6, 6, 2, 3), tensor(1, 3, 6, 6)),
        (lambda: spaces(6, 6, 6, 3, 2), tensor(1, 3, 6, 6, 6)),
        (lambda: spaces(6, 6, 1, 3, 2), tensor(1, 3, 8, 6, 6)),
        (lambda: of_bits(tensor(4, 1, 3, 3, 2, of=UI32)), tensor(1, 4, 3, 3, of=IntegerType(16))),
        (lambda: of_blocks(1), tensor(2, 3)),
        (lambda: of_blocks(3), tensor(2, 3)),
        (lambda: loss(0, 0), tensor()),
        (lambda: loss(1, 1), tensor()),
        (lambda: proposals(1, 1), tensor(600, 5)),
        (lambda: allocated(tensor(1, of=i64)), tensor(ANY)),
        (lambda: allocated(tensor(0, of=i64)), tensor()),
    ],
)
def test_types_that_just_fit(build: Callable[[], RelayOp], result: Attribute) -> None:
    """The results beside those that are refused."""
    assert build().results[0].type == result


DATA = 'relay.type_def @T [] [#relay.constructor<"C", [tensor<f32>]>]\n'
ANYTHING = "#relay.wildcard_pattern"
BODIES: dict[str, tuple[str, str]] = {
    "a closure without an end": (
        """
        %0 = "relay.closure"() ({ %1 = "test.termop"() : () -> tensor<f32> })
            : () -> !relay.fn<() -> tensor<f32>>
        """,
        "the body does not end with relay.yield",
    ),
    "a clause without an end": (
        """
        %0 = "relay.match"(%x) ({ %1 = "test.termop"() : () -> tensor<f32> })
            {patterns = [#relay.wildcard_pattern]} : (tensor<f32>) -> tensor<f32>
        """,
        "clause 0 does not end with relay.yield",
    ),
    "a pattern of another type": (
        """
        %0 = relay.match %x [#relay.constructor_pattern<@T::@C, [#relay.wildcard_pattern]>]
            : (tensor<f32>) -> tensor<f32> { relay.yield %x : tensor<f32> }
        """,
        f"pattern #relay.constructor_pattern<@T::@C, [{ANYTHING}]> does not match tensor<f32>",
    ),
    "a pattern with too few fields": (
        """
        %c = relay.construct @T::@C(%x) : (tensor<f32>) -> !relay.adt<@T, []>
        %0 = relay.match %c [#relay.constructor_pattern<@T::@C, []>]
            : (!relay.adt<@T, []>) -> tensor<f32> { relay.yield %x : tensor<f32> }
        """,
        "pattern #relay.constructor_pattern<@T::@C, []> does not match !relay.adt<@T, []>",
    ),
    "what is no pattern": (
        """
        %0 = "relay.match"(%x) ({ relay.yield %x : tensor<f32> }) {patterns = [unit]}
            : (tensor<f32>) -> tensor<f32>
        """,
        "unit is no pattern",
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_bodies_that_are_refused(case: str) -> None:
    """Functions and clauses end with what they give."""
    body, message = BODIES[case]
    text = f"{DATA}func.func @f(%x: tensor<f32>) {{ {body} func.return }}"
    with pytest.raises(VerifyException) as caught:
        parse_program(text.encode(), "text", context()).verify()
    assert message in str(caught.value)


def test_a_blob_has_bytes_or_a_name() -> None:
    """One of the two is enough; what has neither cannot be told from others."""
    with pytest.raises(ValueError, match="^a blob has bytes or a key$"):
        Blob(None)
    assert Blob(None, "a") == Blob(None, "a") != Blob(None, "b")


def test_results_tell_the_type_parameters_that_arguments_do_not() -> None:
    """Of `fn [A](tensor) -> A`, what a call states as its result is A; without one it stays a variable."""
    some = TypeVarType("A")
    function, argument = values(ForallType(["A"], FnType([tensor(2)], some)), tensor(2))
    assert ApplyOp(function, [argument], tensor(3)).infer_type() == tensor(3)
    assert ApplyOp(function, [argument], tensor(4, of=i8)).infer_type() == tensor(4, of=i8)


def test_what_regions_hand_over_ends_them() -> None:
    """A block that ends with something else hands nothing over."""
    first, second = values(tensor(2), tensor(3))
    assert passed_on(Block([BranchYieldOp(first, second)])) == (first, second)
    assert passed_on(Block([TestOp([first])])) == ()
    assert passed_on(Block()) == ()


def blob(array: Array, of: Attribute) -> ConstantOp:
    """A large constant: its bytes, and its type."""
    return ConstantOp(BlobAttr(Blob(array.tobytes())), TensorType(of, array.shape))


MANY = np.arange(MOST_NUMBERS + 1)
NUMBERS: dict[str, tuple[ConstantOp, tuple[float, ...] | None]] = {
    "whole ones": (constant_op(np.array([3, -1])), (3, -1)),
    "one for all": (constant_op(np.array([5, 5, 5], np.int32)), (5, 5, 5)),
    "real ones": (constant_op(np.array([0.5, 2], np.float32)), (0.5, 2.0)),
    "bytes": (blob(np.array([-1, 2], np.int8), i8), (-1, 2)),
    "bytes without signs": (blob(np.array([255, 2], np.uint8), UI8), (255, 2)),
    "large ones": (blob(np.array([2**40, -2]), i64), (2**40, -2)),
    "as many as are read": (blob(MANY[:-1], i64), tuple(range(MOST_NUMBERS))),
    "one more": (blob(MANY, i64), None),
    "real ones in memory": (blob(np.array([0.5, 2], np.float32), f32), None),
    "those that are not there": (ConstantOp(BlobAttr(Blob(None, "a")), tensor(2, of=i64)), None),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_constants(case: str) -> None:
    """Those that result types may depend on."""
    op, numbers = NUMBERS[case]
    assert constant_numbers(op.result) == numbers
    whole = numbers is not None and all(isinstance(each, int) for each in numbers)
    assert constant_integers(op.result) == (numbers if whole else None)


def test_numbers_that_are_no_constants_or_lengths() -> None:
    """Values that are computed have none, and lengths stand for themselves."""
    assert constant_numbers(values(tensor(2, of=i64))[0]) is None
    n = symbol(Scope(), "n", 6)
    op = ConstantOp(length_array([n, 3]), tensor(2, of=i64))
    assert constant_numbers(op.result) == (n, 3)
    with pytest.raises(Pinned, match="^n$"):
        constant_array(op)


def test_lengths_have_no_text_to_read() -> None:
    """They mean something in the program that they are of only."""
    known = context()
    known.load_attr_or_type(LengthsAttr)
    with pytest.raises(ParseError) as caught:
        parse_program(b'"test.op"() {a = #relay.lengths<n>} : () -> ()', "text", known)
    message = "lengths have no meaning outside of the program that they are of"
    assert message in str(caught.value)


@pytest.mark.parametrize("blocks", [(0, 8), (8, 0)])
def test_weights_without_elements_have_no_blocks(blocks: tuple[int, int]) -> None:
    """They are those of the layout that is stated, which has four axes."""
    shape = [1, 1, 1, 1, *blocks]
    data, weight = Block(arg_types=[TensorType(f32, [1, 1, 4, 4, 8]), TensorType(f32, shape)]).args
    with pytest.raises(VerifyException) as caught:
        ContribConv2DNCHWcOp(data, weight, data_layout="NCHW8c")
    text = "x".join(map(str, shape))
    assert str(caught.value) == f"'weight' is tensor<{text}xf32>, expected rank 4"
