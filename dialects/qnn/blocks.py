"""
Matrices of a few bits a number, quantised in blocks along their rows: the weights of large models.

A number q of `bits` bits without sign stands for (q - zero point) * scale. A row of `length` numbers fills whole
bytes, the first number the lowest bits of the first byte. Each block of `block_size` neighbours in a row has a scale
of its own, and a zero point unless there is one for the whole matrix; the last block of a row may be shorter.
"""

from abc import ABC

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, bf16, f16, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import Integer, Tensor, operand, prop
from xrelay.dialects.qnn.parameters import require_dtype, ui8
from xrelay.dialects.shapes import ranked, same_dimension, shape_text, tensor_type
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

WIDTHS = (2, 4, 8)
"""How many bits a number may have."""
SCALES: tuple[Attribute, ...] = (f16, bf16, f32)
"""The dtypes of scales."""
DATA_WIDTHS = (8, 32)
"""In how many bits products may take the data."""
LEAST_PEAK = 127 * 2.0**-126
"""The largest magnitude of a block of data whose scale is the least normal number of f32."""
LONGEST_BLOCK = 2**16
"""So many products of 8 bits with 8 bits have a sum of 32 bits."""


def _blocks(length: int, size: int) -> int:
    """How many blocks of `size` hold `length`, which may be unknown."""
    return DYNAMIC_INDEX if length < 0 else -(-length // size)


class BlocksOp(RelayOp, ABC):
    """What operators on such matrices share: how many bits a number has, and the size of blocks."""

    block_size: Integer = prop(kw_only=True)
    bits: Integer = prop(default=4)

    @property
    def size(self) -> int:
        """The numbers of a block."""
        return self.block_size.value.data

    @property
    def width(self) -> int:
        """The bits of a number."""
        return self.bits.value.data

    def has_whole_words(self, length: int) -> bool:
        """Whether each block of a row of `length` numbers begins with a new word of 32 bits."""
        return length <= self.size or self.size * self.width % 32 == 0

    def require_matrix(
        self, matrix: SSAValue, scale: SSAValue, zero_point: SSAValue, length: int, prefix: str
    ) -> int:
        """
        The rows of a matrix with rows of `length` numbers.

        Raises VerifyException unless it has as many bytes as they take, and its parameters fit. The
        names of these begin with `prefix`.
        """
        if self.width not in WIDTHS:
            raise VerifyException(f"'bits' is {self.width}, accepted are 2, 4 and 8")
        if self.size < 1:
            raise VerifyException(f"'block_size' is {self.size}, expected a positive number")
        what = "'weight'" if prefix else "'data'"
        packed = ranked(matrix, what, 2)
        require_dtype(packed.element_type, f"{what} has elements of type", (ui8,))
        rows, count = packed.get_shape()
        wanted = _blocks(length * self.width, 8)
        if not same_dimension(count, wanted):
            numbers = f"rows of {length} in 'data'" if prefix else f"'length' {length}"
            raise VerifyException(
                f"{what} has rows of {count} bytes, {numbers} and 'bits' {self.width} take {wanted}"
            )
        shape = (rows, _blocks(length, self.size))
        self._require_each(scale, f"'{prefix}scale'", shape, SCALES)
        if tensor_type(zero_point, f"'{prefix}zero_point'").get_num_dims():
            self._require_each(zero_point, f"'{prefix}zero_point'", shape, (ui8, *SCALES))
        else:
            found = tensor_type(zero_point, f"'{prefix}zero_point'").element_type
            require_dtype(found, f"'{prefix}zero_point' has elements of type", (ui8, *SCALES))
        return rows

    def _require_each(
        self, value: SSAValue, what: str, shape: tuple[int, int], accepted: tuple[Attribute, ...]
    ) -> None:
        """Raises VerifyException unless a parameter has one element for each block."""
        type_ = ranked(value, what, 2)
        require_dtype(type_.element_type, f"{what} has elements of type", accepted)
        if not all(map(same_dimension, type_.get_shape(), shape)):
            raise VerifyException(
                f"{what} has the shape {shape_text(type_.get_shape())}, 'block_size' {self.size} "
                f"makes {shape_text(shape)}"
            )


@irdl_op_definition
class QnnDequantizeBlocksOp(BlocksOp):
    """
    The numbers (q - zero_point) * scale of a matrix in blocks, as f32: `data` [N, length * bits / 8] of ui8 becomes
    [N, length], `scale` has the shape [N, length / block_size], and so has `zero_point`, unless it is a scalar. Both are
    converted to f32 first.

    Source: ONNX's DequantizeLinear with `block_size`.
    """

    name = "relay.qnn.dequantize_blocks"

    data: Tensor = operand()
    scale: Tensor = operand()
    zero_point: Tensor = operand()
    length: Integer = prop(kw_only=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        length = self.length.value.data
        if length < 0:
            raise VerifyException(f"'length' is {length}, expected a number that is not negative")
        rows = self.require_matrix(self.data, self.scale, self.zero_point, length, "")
        return TensorType(f32, [rows, length])


@irdl_op_definition
class QnnDenseBlocksOp(BlocksOp):
    """
    `data` [..., K] of f32 times the transpose of a matrix in blocks, as `relay.nn.dense` with what
    `relay.qnn.dequantize_blocks` makes of `weight` [N, K * bits / 8], `weight_scale` and `weight_zero_point`: a tensor
    [..., N] of f32.

    With `data_bits` of 8 the data are rounded first, in the blocks of the matrix, so that products and sums within a block
    are those of integers. Of a block of a row with the largest magnitude m, x becomes round(x * (127 / m)), halves to even,
    times m / 127, in f32. A block in which m is below 127 times the least normal number counts as zeros; one with an
    infinity or a NaN makes its row NaN. The zero points are integers then, and blocks have at most 65,536 numbers.

    Source: onnxruntime's MatMulNBits; `data_bits` of 8 is its `accuracy_level` 4.
    """

    name = "relay.qnn.dense_blocks"

    data: Tensor = operand()
    weight: Tensor = operand()
    weight_scale: Tensor = operand()
    weight_zero_point: Tensor = operand()
    data_bits: Integer = prop(default=32)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def rounds_data(self) -> bool:
        """Whether the data are rounded to 8 bits."""
        return self.data_bits.value.data == 8

    @property
    def takes_rounded_data(self) -> bool:
        """Whether `data_bits` may be 8: zero points are integers, and sums of blocks have 32 bits."""
        zero_point = tensor_type(self.weight_zero_point, "'weight_zero_point'").element_type
        return zero_point == ui8 and self.size <= LONGEST_BLOCK

    def round_data(self) -> None:
        """Lets it round the data to 8 bits, if it can."""
        if self.takes_rounded_data:
            self.data_bits = IntegerAttr(8, i64)

    def infer_type(self) -> Attribute:
        self._require_width_of_data()
        data = tensor_type(self.data, "'data'")
        require_dtype(data.element_type, "'data' has elements of type", (f32,))
        if data.get_num_dims() < 1:
            raise VerifyException(f"'data' is {data}, expected at least rank 1")
        *outer, depth = data.get_shape()
        parameters = self.weight_scale, self.weight_zero_point
        rows = self.require_matrix(self.weight, *parameters, depth, "weight_")
        return TensorType(f32, [*outer, rows])

    def _require_width_of_data(self) -> None:
        width = self.data_bits.value.data
        if width not in DATA_WIDTHS:
            known = " and ".join(map(str, DATA_WIDTHS))
            raise VerifyException(f"'data_bits' is {width}, accepted are {known}")
        if width == 32:
            return
        if self.size > LONGEST_BLOCK:
            raise VerifyException(
                f"'block_size' is {self.size}, with 'data_bits' 8 it is at most {LONGEST_BLOCK}"
            )
        zero_point = tensor_type(self.weight_zero_point, "'weight_zero_point'").element_type
        require_dtype(
            zero_point, "with 'data_bits' 8 'weight_zero_point' has elements of type", (ui8,)
        )
