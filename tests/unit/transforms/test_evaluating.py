"""How large constants are that passes would compute."""

from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, f32, i8
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Block, Operation

from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.interpreters.arrays import Array, type_bytes
from xrelay.transforms.rules.evaluating import Evaluator, byte_size, held_bytes

F = TensorType(f32, [3, 5])


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        (F, 60),
        (TensorType(i8, []), 1),
        (TensorType(f32, [0, 7]), 0),
        (TensorType(f32, [DYNAMIC_INDEX, 7]), 0),
        (TupleType(()), 0),
        (TupleType((F, TupleType((TensorType(i8, [2]), F)))), 122),
        (f32, 0),
    ],
)
def test_bytes_of_types(type_: Attribute, size: int) -> None:
    assert type_bytes(type_) == size


def test_a_number_that_is_repeated_is_held_once() -> None:
    row, repeated = np.zeros(7, np.float32), np.broadcast_to(np.float32(2), (5, 3))
    nested = (row, (repeated, row))
    assert (byte_size(nested), held_bytes(nested)) == (116, 60)
    assert (byte_size(repeated), held_bytes(repeated)) == (60, 4)


class FirstOperand:
    """Stands for an interpreter: what an operator gives is its first operand, which takes no time."""

    def run_op(self, op: Operation, args: tuple[Array, ...]) -> tuple[Array]:
        """The results of an operation."""
        return args[:1]


@pytest.mark.parametrize(
    ("size", "computed"), [(2**28, True), (2**28 + 1, False), (2**31, False), (2**31 + 2, False)]
)
def test_operands_of_one_number_count_up_to_a_limit(size: int, computed: bool) -> None:
    """A quarter of a gigabyte: results that are larger than that, and than what is held, are left."""
    (data,) = Block(arg_types=[TensorType(i8, [size])]).args
    ones = np.broadcast_to(np.int8(1), (size,))
    evaluator = Evaluator(0, interpreter=cast(Interpreter, FirstOperand()))
    assert (evaluator.result(NegativeOp(data), [ones]) is not None) == computed
