"""How large constants are that passes would compute."""

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, f32, i8
from xdsl.ir import Attribute

from xrelay.interpreters.arrays import type_bytes
from xrelay.transforms.rules.evaluating import byte_size, held_bytes

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
