"""Quantised concatenation: the interpreter against the definition, compiled code against it."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

import xrelay
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.qnn.conversion import QnnConcatenateOp
from xrelay.interpreters.arrays import type_of
from xrelay.interpreters.relay import interpret


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("seed", range(3))
def test_concatenate(axis: int, dtype: type[np.int8] | type[np.uint8], seed: int):
    generator = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    shapes = [[3, 5, 2], [3, 5, 2], [3, 5, 2]]
    for shape, length in zip(shapes, (1, 17, 4), strict=True):
        shape[axis] = length
    data = [generator.integers(limits.min, limits.max + 1, shape).astype(dtype) for shape in shapes]
    scales = [np.float32(number) for number in (0.5, 0.1, *generator.uniform(0.01, 2, 1))]
    zeros = [np.int32(number) for number in (3, *generator.integers(-100, 100, 2))]
    # The first field has the scale and zero point of the output.
    new_scale, new_zero = scales[0], zeros[0]
    inputs = [*data, *map(np.asarray, scales), *map(np.asarray, zeros)]
    block = Block(arg_types=[type_of(array) for array in inputs])
    tuples = [TupleOp(block.args[start : start + 3]) for start in (0, 3, 6)]
    op = QnnConcatenateOp(*tuples, block.args[3], block.args[6], axis=axis)
    block.add_ops([*tuples, op, func.ReturnOp(op.result)])
    type_ = FunctionType.from_lists(block.arg_types, [op.result.type])
    module = ModuleOp([func.FuncOp("main", type_, Region(block))])
    module.verify()

    def moved(q: int, scale: np.float32, zero: np.int32) -> int:
        exact = (q - int(zero)) * Fraction(float(scale)) / Fraction(float(new_scale))
        return min(max(floor(exact + Fraction(1, 2)) + int(new_zero), limits.min), limits.max)

    parts = [
        np.array([moved(int(q), scale, zero) for q in part.flat], dtype).reshape(part.shape)
        for part, scale, zero in zip(data, scales, zeros, strict=True)
    ]
    expected = np.concatenate(parts, axis)
    np.testing.assert_array_equal(interpret(module, inputs)[0], expected)
    model = xrelay.compile(module)
    names = [spec.name for spec in model.signature.inputs]
    (found,) = model.run(dict(zip(names, inputs, strict=True))).values()
    np.testing.assert_array_equal(found, expected)
