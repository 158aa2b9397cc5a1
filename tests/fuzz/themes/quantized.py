"""The theme of operators on quantised tensors, with scales and zero points for all, for each channel, known or not."""

from typing import Any

import numpy as np
from cases.blocks import ZERO_POINTS, Blocks
from xdsl.dialects.builtin import f32, i16, i32
from xdsl.ir import SSAValue

from tests.fuzz.themes.program import Steps, ThemeProgram
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn import dense
from xrelay.dialects.qnn import arithmetic, conversion, products
from xrelay.dialects.qnn.blocks import QnnDequantizeBlocksOp
from xrelay.dialects.qnn.parameters import REQUANTIZED
from xrelay.dialects.tensor import binary, transform, unary
from xrelay.interpreters.arrays import dtype_of

BYTES = ("int8", "uint8")
INTEGERS = (*BYTES, *BYTES, "int16", "uint16", "int32")
ROUNDINGS = ("None", "UPWARD", "TONEAREST", "TONEAREST_EVEN", "TONEAREST_EVEN")
COMPUTE = ("None", "int64", "float32", "float32", "float64")


class QuantizedProgram(ThemeProgram):
    """Conversions, products and functions of quantised tensors, and arithmetic between them."""

    def start(self) -> None:
        self.values.append(
            self.x(
                *self.one_of((), (4,), (2, 3), (0, 3), (2, 1, 4), (2, 4, 3, 3)), dtype=self.dtype
            )
        )

    def steps(self) -> Steps:
        conversions = (
            self.quantized,
            self.dequantized,
            self.dequantized,
            self.requantized,
            self.requantized,
        )
        multiplied = (
            self.convolved,
            self.convolved,
            self.transposed_convolution,
            self.product,
            self.product,
        )
        others = (
            self.function,
            self.arithmetic,
            self.leaky,
            self.joined_bytes,
            self.in_blocks,
            self.in_blocks,
        )
        return (*conversions, *multiplied, *others, self.combined, self.transposed, self.sliced)

    # -- operands -----------------------------------------------------------------------------

    def integers(self, x: SSAValue, *dtypes: str) -> SSAValue:
        """A value as one of some dtypes."""
        if dtype_of(x.type.element_type).name in dtypes:
            return x
        dtype = self.one_of(*dtypes)
        if self.likely(0.4):
            return self.x(*x.type.get_shape(), dtype=dtype)
        return self.op(unary.CastOp(x, self.type_of(dtype)))

    def type_of(self, dtype: str) -> Any:
        return next(each for each in REQUANTIZED if dtype_of(each) == np.dtype(dtype))

    def chosen_by_parameter(self, one: SSAValue, other: SSAValue) -> SSAValue:
        """One of two constants, which is decided when the program runs."""
        return self.op(transform.WhereOp(self.x(dtype="bool"), one, other))

    def scale(self, length: int = 0) -> SSAValue:
        """A positive number, or as many as there are channels."""

        def drawn() -> SSAValue:
            numbers = (1.0, 0.5, 0.25, 0.3, 0.013, 1.7, 70.0, 1e-9)
            shape = self.one_of((), (length,)) if length else ()
            return self.c(self.rng.choice(numbers, shape).astype(np.float32))

        found = drawn()
        return self.chosen_by_parameter(found, self.c(0.125)) if self.likely(0.15) else found

    def zero(self, length: int = 0) -> SSAValue:
        """A zero point, or as many as there are channels; 0 more often than not."""
        numbers = (0, 0, 0, 3, -7, 128, 127, -128, -129, 255, 300, 2**23, 2**31 - 5, -(2**31))
        shape = self.one_of((), (length,)) if length else ()
        found = self.c(self.rng.choice(numbers, shape), "int32")
        return self.chosen_by_parameter(found, self.c(2, "int32")) if self.likely(0.15) else found

    def axis(self, x: SSAValue) -> tuple[int, int]:
        """An axis, and how many channels it has; none where a tensor is a number."""
        shape = x.type.get_shape()
        if not shape or self.likely(0.4):
            return -1, 0
        axis = self.number(-len(shape), len(shape) - 1)
        return axis, shape[axis]

    # -- conversions --------------------------------------------------------------------------

    def quantized(self, x: SSAValue) -> SSAValue | None:
        axis, length = self.axis(x)
        real = x if x.type.element_type == f32 else self.op(unary.CastOp(x, f32))
        dtype, parameters = (
            self.type_of(self.one_of(*INTEGERS)),
            (self.scale(length), self.zero(length)),
        )
        return self.attempt(
            lambda: conversion.QnnQuantizeOp(real, *parameters, axis=axis, out_dtype=dtype)
        )

    def dequantized(self, x: SSAValue) -> SSAValue | None:
        """Numbers, often with several users."""
        data = self.integers(x, *INTEGERS)
        axis, length = self.axis(data)
        parameters = self.scale(length), self.zero(length)
        result = self.attempt(lambda: conversion.QnnDequantizeOp(data, *parameters, axis=axis))
        if result is None or self.likely(0.5):
            return result
        self.values.append(self.op(unary.ReluOp(result)))
        return self.op(binary.AddOp(result, self.one_of(result, self.values[-1])))

    def requantized(self, x: SSAValue) -> SSAValue | None:
        data = self.integers(x, *INTEGERS, "int64")
        axis, length = self.axis(data)
        rounding, compute = self.one_of(*ROUNDINGS), self.one_of(*COMPUTE)
        dtype = self.one_of(None, self.type_of(self.one_of(*INTEGERS)))
        parameters = self.scale(length), self.zero(length), self.scale(), self.zero()
        options: dict[str, Any] = {"rounding": rounding, "compute_dtype": compute, "axis": axis}
        return self.attempt(
            lambda: conversion.QnnRequantizeOp(data, *parameters, out_dtype=dtype, **options)
        )

    # -- products -----------------------------------------------------------------------------

    def factor(self, *shape: int) -> SSAValue:
        dtype = self.one_of(*BYTES)
        return (
            self.x(*shape, dtype=dtype)
            if self.likely(0.3)
            else self.constant(self.numbers(dtype, *shape))
        )

    def parameters(self, channels: int) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
        return self.zero(), self.zero(channels), self.scale(), self.scale(channels)

    def convolved(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        data = (
            self.integers(x, *BYTES) if len(shape) == 4 else self.factor(1, 4, 3, self.number(1, 4))
        )
        layout, kernels = self.one_of(
            ("NCHW", "OIHW"), ("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "HWOI")
        )
        channels = data.type.get_shape()[layout.index("C")]
        groups = self.one_of(1, 1, 2, channels or 1)
        lengths = {
            "O": self.one_of(1, 2) * groups,
            "I": channels // groups,
            "H": self.number(1, 3),
            "W": self.number(1, 2),
        }
        weight = self.factor(*(lengths[axis] for axis in kernels))
        options: dict[str, Any] = {
            "strides": self.one_of([1, 1], [2, 1]),
            "padding": self.one_of([0, 0], [1, 1], [1, 0, 2, 1]),
            "dilation": self.one_of([1, 1], [1, 1], [2, 1]),
            "groups": groups,
            "data_layout": layout,
            "kernel_layout": kernels,
            "out_dtype": self.one_of(None, None, i32, i16),
        }
        numbers = self.parameters(lengths["O"])
        return self.attempt(lambda: products.QnnConv2DOp(data, weight, *numbers, **options))

    def transposed_convolution(self, x: SSAValue) -> SSAValue | None:
        data = self.factor(1, self.number(1, 3), 3, 2)
        groups = self.one_of(1, 1, data.type.get_shape()[1])
        outputs = self.number(1, 2)
        weight = self.factor(data.type.get_shape()[1], outputs, self.number(1, 3), 2)
        options: dict[str, Any] = {
            "strides": [self.number(1, 2), 1],
            "padding": self.one_of([0, 0], [1, 0], [1, 0, 0, 1]),
            "groups": groups,
            "kernel_layout": "IOHW",
        }
        numbers = self.zero(), self.zero(), self.scale(), self.scale(outputs * groups)
        return self.attempt(
            lambda: products.QnnConv2DTransposeOp(data, weight, *numbers, **options)
        )

    def product(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        data = self.integers(x, *BYTES) if len(shape) > 1 else self.factor(2, self.one_of(0, 1, 4))
        shape, units = data.type.get_shape(), self.one_of(0, 1, 2, 3)
        if len(shape) != 3 or self.likely(0.5):
            weight = self.factor(units, shape[-1])
            numbers = self.parameters(units)
            return self.attempt(lambda: products.QnnDenseOp(data, weight, *numbers))
        flags = {"transpose_a": self.likely(0.3), "transpose_b": self.likely(0.6)}
        depth = shape[1] if flags["transpose_a"] else shape[2]
        matrix = [units, depth] if flags["transpose_b"] else [depth, units]
        other = self.factor(self.one_of(shape[0], 1), *matrix)
        numbers = self.parameters(0)
        return self.attempt(lambda: products.QnnBatchMatmulOp(data, other, *numbers, **flags))

    def in_blocks(self, x: SSAValue) -> SSAValue | None:
        """A product with a matrix in blocks of few bits, or the matrix."""
        shape = x.type.get_shape()
        real = x.type.element_type == f32 and len(shape) > 1
        data = x if real else self.x(self.number(1, 2), self.one_of(0, 4, 9))
        length, bits = data.type.get_shape()[-1], self.one_of(2, 4, 8)
        size = self.one_of(3, 4, 8, 16)
        zeros = self.one_of(*ZERO_POINTS)
        arrays = Blocks(
            self.number(1, 3), length, size, bits, zeros, self.one_of("float32", "float16")
        ).arrays(self.rng)
        parts = [self.input(each) if self.likely(0.1) else self.constant(each) for each in arrays]
        matrix = self.attempt(
            lambda: QnnDequantizeBlocksOp(*parts, length=length, block_size=size, bits=bits)
        )
        if matrix is None or self.likely(0.1):
            return matrix
        if self.likely(0.5):
            return self.attempt(lambda: dense.DenseOp(data, matrix))
        turned = self.likely(0.7)
        return self.attempt(lambda: dense.MatmulOp(data, matrix, transpose_b=turned))

    # -- other operators ----------------------------------------------------------------------

    def function(self, x: SSAValue) -> SSAValue | None:
        """A function of a byte."""
        data, kind = self.integers(x, *BYTES), self.one_of(*arithmetic.QNN_UNARY_OPS)
        parameters = self.scale(), self.zero(), self.scale(), self.zero()
        return self.attempt(lambda: kind(data, *parameters))

    def leaky(self, x: SSAValue) -> SSAValue | None:
        data = self.integers(x, *BYTES)
        parameters = self.scale(), self.zero(), self.scale(), self.zero()
        return self.attempt(
            lambda: arithmetic.QnnLeakyReluOp(data, *parameters, self.one_of(0.25, -0.3))
        )

    def arithmetic(self, x: SSAValue) -> SSAValue | None:
        """A sum, difference or product with a value of the same type, or with one column of it."""
        kinds = arithmetic.QnnAddOp, arithmetic.QnnSubtractOp, arithmetic.QnnMulOp
        kind, data = self.one_of(*kinds), self.integers(x, *INTEGERS)
        dtype = dtype_of(data.type.element_type)
        shape = [self.one_of(1, n, n) for n in data.type.get_shape()]
        other = data if self.likely(0.3) else self.x(*shape, dtype=dtype)
        parameters = [each() for _ in range(3) for each in (self.scale, self.zero)]
        return self.attempt(lambda: kind(data, other, *parameters))

    def joined_bytes(self, x: SSAValue) -> SSAValue | None:
        data = self.integers(x, *INTEGERS)
        rank = len(data.type.get_shape())
        count, axis = self.number(1, 3), self.number(0, max(rank - 1, 0))
        whole = [self.op(TupleOp(each)) for each in (
            [data] * count, [self.scale() for _ in range(count)], [self.zero() for _ in range(count)],
        )]  # fmt: skip
        parameters = self.scale(), self.zero()
        return self.attempt(lambda: conversion.QnnConcatenateOp(*whole, *parameters, axis=axis))
