"""Cases of the operators on quantised tensors: equal to the last bit."""

from itertools import product
from typing import Any

import numpy as np
from graphs import Graph
from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import SSAValue

from cases.blocks import Blocks
from cases.kernel import CaseTable
from xrelay.dialects.qnn import arithmetic as qnn_arithmetic
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.qnn import products as qnn_products
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.dialects.qnn.parameters import QUANTIZED, ui8
from xrelay.interpreters.arrays import dtype_of

TABLE = CaseTable()

RATIOS = (1.0, 0.5, 2.0, 0.3, 1.7, 3e-3, 70.0, 1e-9, 1e-12, 2e-20, 1e7, 1e12, 1e25)


def scale(g: Graph, value: float) -> SSAValue:
    return g.input(np.float32(value))


def zero_point(g: Graph, value: int) -> SSAValue:
    return g.input(np.int32(value))


def scales(g: Graph, count: int) -> SSAValue:
    return g.input(np.exp(g.rng.normal(-2, 1.5, count)).astype(np.float32))


def zero_points(g: Graph, count: int) -> SSAValue:
    return g.input(g.rng.integers(-200, 200, count).astype(np.int32))


@TABLE.each((qnn.QnnQuantizeOp,), ("int8", "uint8", "int16", "uint16", "int32"))
def quantize(g: Graph, dtype: str) -> None:
    out = next(each for each in QUANTIZED if dtype_of(each) == np.dtype(dtype))
    halves = (np.arange(-40, 41) / 2).astype(np.float32)
    for array in (g.numbers("float32", 67), halves, g.numbers("float32"), halves[:0]):
        for step, zero in ((1.0, 0), (0.25, 3), (0.013, -7), (3.7, 300)):
            parameters = scale(g, step), zero_point(g, zero)
            g.show(qnn.QnnQuantizeOp(g.input(array), *parameters, out_dtype=out))
    for shape, axis in (((3, 5, 17), 0), ((3, 5, 17), 1), ((3, 5, 17), -1), ((33,), 0)):
        x = g.input(g.numbers("float32", *shape))
        both = scales(g, shape[axis]), zero_points(g, shape[axis])
        g.show(qnn.QnnQuantizeOp(x, *both, out_dtype=out, axis=axis))
        one = scale(g, 0.5), zero_points(g, shape[axis])
        g.show(qnn.QnnQuantizeOp(x, *one, out_dtype=out, axis=axis))
        g.show(qnn.QnnQuantizeOp(x, scales(g, 1), zero_point(g, 1), out_dtype=out, axis=axis))


@TABLE.each((qnn.QnnDequantizeOp,), ("int8", "uint8", "int16", "uint16", "int32"))
def dequantize(g: Graph, dtype: str) -> None:
    for shape in ((67,), (), (0,)):
        for step, zero in ((1.0, 0), (0.013, -7), (3.7, 2**31 - 5)):
            x = g.input(g.numbers(dtype, *shape))
            g.show(qnn.QnnDequantizeOp(x, scale(g, step), zero_point(g, zero)))
    for shape, axis in (((3, 5, 17), 0), ((3, 5, 17), -2), ((3, 5, 17), 2)):
        both = scales(g, shape[axis]), zero_points(g, shape[axis])
        g.show(qnn.QnnDequantizeOp(g.input(g.numbers(dtype, *shape)), *both, axis=axis))


@TABLE.each((qnn.QnnRequantizeOp,), ("int8", "uint8", "int16", "uint16", "int32", "int64"))
def requantize(g: Graph, dtype: str) -> None:
    ratios = g.input(np.array(RATIOS, np.float32))
    for i, (rounding, compute) in enumerate(
        product(("None", "TONEAREST"), ("None", "float32", "float64"))
    ):
        options: dict[str, Any] = {"rounding": rounding, "compute_dtype": compute}
        out = QUANTIZED[i % len(QUANTIZED)]
        new = scale(g, 0.7), zero_point(g, (0, -5, 120)[i % 3])
        for shape, axis in (((len(RATIOS), 9), 0), ((2, len(RATIOS)), -1)):
            data = g.input(g.numbers(dtype, *shape))
            old = ratios, zero_points(g, len(RATIOS))
            g.show(qnn.QnnRequantizeOp(data, *old, *new, axis=axis, out_dtype=out, **options))
        data = g.input(g.numbers(dtype, 40))
        for ratio in RATIOS[i % 2 :: 2]:
            old = scale(g, ratio), zero_point(g, (0, 3, -(2**31))[i % 3])
            g.show(qnn.QnnRequantizeOp(data, *old, *new, out_dtype=out, **options))


@TABLE.each(
    (qnn.QnnSimulatedQuantizeOp, qnn.QnnSimulatedDequantizeOp),
    ("bfloat16", "float16", "float32", "float64"),
)
def simulated(g: Graph, dtype: str) -> None:
    for code in range(5):
        number = zero_point(g, code)
        for op in (qnn.QnnSimulatedQuantizeOp, qnn.QnnSimulatedDequantizeOp):
            x = g.input(g.numbers(dtype, 3, 5, 17))
            g.show(op(x, number, scale(g, 0.25), zero_point(g, 3)))
            g.show(op(x, number, scales(g, 5), zero_points(g, 5), axis=1))
            g.show(op(x, number, scales(g, 17), zero_point(g, -4)))


PATTERNS = (((33,), (33,)), ((), ()), ((0,), (1,)), ((5, 7), (7,)), ((2, 3, 1), (3, 17)))
SUMS = (qnn_arithmetic.QnnAddOp, qnn_arithmetic.QnnSubtractOp, qnn_arithmetic.QnnMulOp)


@TABLE.each(SUMS, ("int8", "uint8", "int16", "uint16", "int32"))
def quantised_arithmetic(g: Graph, dtype: str) -> None:
    for op in SUMS:
        for i, shapes in enumerate(PATTERNS):
            lhs, rhs = (g.input(g.numbers(dtype, *shape)) for shape in shapes)
            for ratio in RATIOS[i % 3 :: 3] if i == 0 else RATIOS[i : i + 1]:
                lhs_parameters = scale(g, ratio), zero_point(g, 3)
                rhs_parameters = scale(g, 0.3), zero_point(g, -2)
                new = scale(g, 0.25), zero_point(g, 5)
                g.show(op(lhs, rhs, *lhs_parameters, *rhs_parameters, *new))
        lhs, rhs = g.input(g.numbers(dtype, 2, 3, 17)), g.input(g.numbers(dtype, 3, 17))
        new = scale(g, 0.25), zero_point(g, 5)
        for lhs_axis, rhs_axis in ((0, 1), (1, 0), (-1, -1), (1, -2)):
            both = [
                parameter
                for length in ((2, 3, 17)[lhs_axis], (3, 17)[rhs_axis])
                for parameter in (scales(g, length), zero_points(g, length))
            ]
            g.show(op(lhs, rhs, *both, *new, lhs_axis=lhs_axis, rhs_axis=rhs_axis))
        one = scale(g, 0.3), zero_point(g, -2)
        column = g.input(g.numbers(dtype, 3, 1))
        g.show(op(lhs, column, *one, scales(g, 3), zero_points(g, 3), *new, rhs_axis=0))


@TABLE.each(qnn_arithmetic.QNN_UNARY_OPS, ("int8", "uint8"))
def quantised_functions(g: Graph, dtype: str) -> None:
    info = np.iinfo(dtype)
    every = g.input(np.arange(info.min, info.max + 1).astype(dtype))
    for op in qnn_arithmetic.QNN_UNARY_OPS:
        for step, zero in ((0.03, 7), (0.5, -3), (1e-3, 128)):
            for new_step in (0.01, 0.37):
                parameters = scale(g, step), zero_point(g, zero)
                g.show(op(every, *parameters, scale(g, new_step), zero_point(g, -9)))
        small = g.input(g.numbers(dtype, 3))
        g.show(op(small, scale(g, 1), zero_point(g, 0), scale(g, 1), zero_point(g, 0)))


@TABLE.each((qnn_arithmetic.QnnLeakyReluOp,), ("int8", "uint8"))
def quantised_leaky_relu(g: Graph, dtype: str) -> None:
    info = np.iinfo(dtype)
    every = g.input(np.arange(info.min, info.max + 1).astype(dtype))
    for alpha in (0.25, 0.01, 0.0, 1.0, 1.5, -0.3):
        for step, zero, new_step, new_zero in ((0.1, 7, 0.1, 7), (0.1, 7, 0.25, -30), (1, 0, 3, 1)):
            parameters = scale(g, step), zero_point(g, zero)
            new = scale(g, new_step), zero_point(g, new_zero)
            g.show(qnn_arithmetic.QnnLeakyReluOp(every, *parameters, *new, alpha))


@TABLE.each((qnn_arithmetic.QnnLookupOp,), ("int8", "uint8"))
def lookups(g: Graph, dtype: str) -> None:
    info = np.iinfo(dtype)
    every = g.input(np.arange(info.min, info.max + 1).astype(dtype))
    some, one = g.input(g.numbers(dtype, 3, 21)), g.input(g.numbers(dtype))
    for of in ("int8", "uint8", "float32"):
        table = g.constant(np.random.default_rng(3).permutation(256).astype(np.uint8).astype(of))
        for data in (every, some, one):
            g.show(qnn_arithmetic.QnnLookupOp(data, table))


@TABLE.each((QnnDequantizeBlocksOp,), (2, 4, 8))
def dequantized_blocks(g: Graph, bits: int) -> None:
    for zero_points, scales in (("one", "float32"), ("each", "float16"), ("each f32", "float32")):
        for length, size in ((33, 16), (9, 5), (4, 64)):
            matrix = Blocks(3, length, size, bits, zero_points, scales)
            parts = [g.input(array) for array in matrix.arrays(g.rng)]
            g.show(QnnDequantizeBlocksOp(*parts, length=length, block_size=size, bits=bits))


@TABLE.case(QnnDenseBlocksOp)
def dense_blocks(g: Graph) -> None:
    """Whole numbers and powers of two, of which all sums are exact; one constant is scales and zero points."""
    for bits, length, size in ((2, 33, 16), (4, 70, 32), (4, 9, 5), (8, 20, 16), (4, 0, 16)):
        data = g.input(g.small("float32", 2, 3, length))
        weight, scale, zeros = Blocks(7, length, size, bits, "each", "float32").arrays(g.rng)
        scale = np.exp2(np.rint(4 * scale)).astype(np.float32)
        options: dict[str, Any] = {"block_size": size, "bits": bits}
        parts = [g.constant(array) for array in (weight, scale, zeros)]
        g.show(QnnDenseBlocksOp(data, *parts, **options))
        g.show(QnnDenseBlocksOp(data, *parts[:2], parts[1], **options))
        g.show(QnnDenseBlocksOp(data, *parts, data_bits=8, **options), 100)


@TABLE.case(qnn.QnnRequantizeOp)
def halves_to_even(g: Graph) -> None:
    data = g.input(np.arange(-600, 600, dtype=np.int32))
    for compute in ("float32", "float64"):
        for ratio, zero, out in ((0.5, 3, i8), (0.25, 129, ui8), (0.1, 0, i8), (1e-9, 7, ui8)):
            old = g.constant(np.float32(ratio)), g.constant(np.int32(1))
            new = g.constant(np.float32(1)), g.constant(np.int32(zero))
            options: dict[str, Any] = {"rounding": "TONEAREST_EVEN", "compute_dtype": compute}
            g.show(qnn.QnnRequantizeOp(data, *old, *new, out_dtype=out, **options))


@TABLE.case(qnn.QnnRequantizeOp)
def constant_scales(g: Graph) -> None:
    data = g.input(g.numbers("int32", 70))
    for ratio in RATIOS:
        old = g.constant(np.float32(ratio)), g.constant(np.int32(4))
        new = g.constant(np.float32(0.7)), g.constant(np.int32(-4))
        for rounding, out in (("UPWARD", i8), ("TONEAREST", i32)):
            g.show(qnn.QnnRequantizeOp(data, *old, *new, rounding=rounding, out_dtype=out))


def product_parameters(g: Graph, zeros: tuple[int, int], channels: int = 0) -> list[SSAValue]:
    """Zero points, then scales; those of the second factor for each channel if there are any."""
    second = zero_points(g, channels) if channels else zero_point(g, zeros[1])
    weight_scale = scales(g, channels) if channels else scale(g, 0.3)
    return [zero_point(g, zeros[0]), second, scale(g, 0.5), weight_scale]


FACTORS = (("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8"))


@TABLE.case(qnn_products.QnnConv2DOp, qnn_products.QnnConv2DTransposeOp)
def quantised_convolutions(g: Graph) -> None:
    for i, ((lhs, rhs), groups) in enumerate(product(FACTORS, (1, 2))):
        data = g.input(g.numbers(lhs, 2, 4, 7, 9))
        options: dict[str, Any] = {"groups": groups, "strides": (1, 1 + i % 2), "padding": (1, 0)}
        weight = g.input(g.numbers(rhs, 6, 4 // groups, 3, 2))
        for channels in (0, 6):
            parameters = product_parameters(g, (3, -5), channels)
            g.show(qnn_products.QnnConv2DOp(data, weight, *parameters, **options))
        parameters = product_parameters(g, (3, 1000))
        g.show(qnn_products.QnnConv2DOp(data, weight, *parameters, out_dtype=i16, **options))
        weight = g.input(g.numbers(rhs, 3, 4, 3, 2))
        parameters = product_parameters(g, (-128, 7))
        g.show(qnn_products.QnnConv2DTransposeOp(data, weight, *parameters, **options))


@TABLE.case(qnn_products.QnnDenseOp, qnn_products.QnnBatchMatmulOp)
def quantised_matrix_products(g: Graph) -> None:
    for (lhs, rhs), (batch, rows, depth, columns) in product(
        FACTORS, ((1, 3, 17, 5), (2, 1, 9, 33), (2, 0, 3, 4))
    ):
        data, weight = g.input(g.numbers(lhs, rows, depth)), g.input(g.numbers(rhs, columns, depth))
        for channels in (0, columns):
            parameters = product_parameters(g, (3, -5), channels)
            g.show(qnn_products.QnnDenseOp(data, weight, *parameters))
        for transpose_a, transpose_b in product((False, True), repeat=2):
            x = g.input(g.numbers(lhs, batch, *((depth, rows) if transpose_a else (rows, depth))))
            y = g.input(g.numbers(rhs, 1, *((columns, depth) if transpose_b else (depth, columns))))
            options = {"transpose_a": transpose_a, "transpose_b": transpose_b}
            parameters = product_parameters(g, (0, 128))
            g.show(qnn_products.QnnBatchMatmulOp(x, y, *parameters, **options))


@TABLE.case(qnn_products.QnnDenseOp)
def constant_zero_points(g: Graph) -> None:
    data, weight = g.input(g.numbers("int8", 3, 9)), g.constant(g.numbers("int8", 5, 9))
    for zeros in (np.int32(0), np.int32([7]), np.arange(5, dtype=np.int32)):
        parameters = (g.constant(np.int32(0)), g.constant(zeros), scale(g, 1), scale(g, 1))
        g.show(qnn_products.QnnDenseOp(data, weight, *parameters))
