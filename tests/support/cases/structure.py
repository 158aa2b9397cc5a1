"""Kernel cases of constants, tuples, cells, annotations and bodies."""

import ml_dtypes
import numpy as np
from graphs import BITS, Graph
from xdsl.ir import SSAValue

from cases.kernel import DTYPES, FLOATS, INTEGERS, CaseTable
from xrelay.dialects.conv import conv
from xrelay.dialects.core import annotation, references
from xrelay.dialects.core import values as core
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.tensor import binary, reshape, transform, unary

TABLE = CaseTable()


# Values: constants, tuples, references, bodies, annotations


@TABLE.each((core.ConstantOp,), DTYPES)
def constants(g: Graph, dtype: str) -> None:
    splat = np.full((3, 5), g.numbers(dtype, 30)[-1])
    for array in (
        g.numbers(dtype),
        g.numbers(dtype, 0),
        g.numbers(dtype, 7),
        g.numbers(dtype, 5, 9),
        splat,
    ):
        g.returns(g.constant(array), BITS)
        # In a kernel: as the number itself, or in memory.
        g.show(unary.CopyOp(g.constant(array)), BITS)
        g.returns(g.fused([], lambda b, array=array: b.op(unary.CopyOp(b.constant(array)))), BITS)
    same = g.constant(np.arange(40).astype(dtype)), g.constant(np.arange(40).astype(dtype))
    g.show(binary.AddOp(*same))


@TABLE.case(core.ConstantOp)
def special_numbers_in_kernels(g: Graph) -> None:
    for dtype in FLOATS:
        info = ml_dtypes.finfo(dtype)
        for number in (np.nan, np.inf, -np.inf, -0.0, info.max, info.smallest_subnormal, 0.1):
            x, constant = g.input(g.numbers(dtype, 19)), np.array(number, dtype)
            g.show(binary.MaximumOp(x, g.constant(constant)))
            g.show(transform.WhereOp(g.input(g.numbers("bool", 19)), x, g.constant(constant)), BITS)
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        for number in (info.min, info.max):
            x, constant = g.input(g.numbers(dtype, 19)), np.array(number, dtype)
            g.show(binary.SubtractOp(x, g.constant(constant)))


@TABLE.case(core.TupleOp, core.TupleGetItemOp)
def tuples(g: Graph) -> None:
    a, b, c = (g.numbers(dtype, 2, 5) for dtype in ("float32", "int8", "bool"))
    nested = g.input((a, (b, c), ()))
    inner = g.op(core.TupleGetItemOp(nested, 1))
    g.returns(nested, BITS)
    g.show(core.TupleGetItemOp(inner, 1), BITS)
    g.show(unary.NegativeOp(g.op(core.TupleGetItemOp(inner, 0))))
    x = g.op(unary.AbsOp(g.op(core.TupleGetItemOp(nested, 0))))
    pair = g.op(core.TupleOp([x, g.op(core.TupleOp([inner, x]))]))
    g.returns(pair)
    g.returns(pair)
    g.show(core.TupleOp([]))
    g.returns(g.op(core.TupleGetItemOp(g.op(core.TupleGetItemOp(pair, 1)), 1)))


@TABLE.case()
def results_that_are_no_kernel(g: Graph) -> None:
    x = g.input(g.numbers("float32", 3, 5))
    y = g.op(unary.AbsOp(x))
    g.returns(x, BITS)
    g.returns(x, BITS)
    g.returns(y)
    g.returns(y)
    g.show(reshape.ReshapeOp(x, [5, 3]), BITS)
    g.show(reshape.ReshapeOp(y, [15]))
    g.show(reshape.ExpandDimsOp(g.op(reshape.ReshapeOp(y, [1, 15])), 0))
    constant = g.constant(g.numbers("int16", 4, 9))
    g.returns(constant, BITS)
    g.show(reshape.SqueezeOp(g.op(reshape.ReshapeOp(constant, [36, 1]))), BITS)


@TABLE.case(references.RefCreateOp, references.RefReadOp, references.RefWriteOp)
def cells(g: Graph) -> None:
    x = g.input(g.numbers("float32", 17))
    cell = g.op(references.RefCreateOp(x))
    before = g.show(references.RefReadOp(cell), BITS)
    g.show(references.RefWriteOp(cell, g.op(unary.NegativeOp(before))))
    after = g.show(references.RefReadOp(cell))
    g.show(references.RefWriteOp(cell, g.op(binary.AddOp(after, after))))
    g.returns(before, BITS)
    g.show(binary.AddOp(g.op(references.RefReadOp(cell)), x))
    pair = g.op(core.TupleOp([x, g.constant(g.numbers("int8", 3))]))
    cell = g.op(references.RefCreateOp(pair))
    g.op(references.RefWriteOp(cell, g.op(core.TupleOp([after, g.input(g.numbers("int8", 3))]))))
    g.show(references.RefReadOp(cell))
    empty = g.op(references.RefCreateOp(g.op(core.TupleOp([]))))
    g.show(references.RefReadOp(empty))


@TABLE.case(annotation.StopFusionOp, annotation.CompilerBeginOp, annotation.CompilerEndOp)
def annotations(g: Graph) -> None:
    x = g.op(annotation.CompilerBeginOp(g.input(g.numbers("float32", 4, 5)), "test"))
    y = g.op(annotation.CompilerEndOp(g.op(unary.AbsOp(x)), "test"))
    g.show(unary.NegativeOp(g.op(annotation.StopFusionOp(y))))
    g.returns(y)
    pair = g.op(annotation.CompilerBeginOp(g.op(core.TupleOp([x, y])), "test"))
    g.show(core.TupleGetItemOp(pair, 1))
    g.show(annotation.StopFusionOp(x), BITS)

    def body(b: Graph, p: SSAValue) -> SSAValue:
        begun = b.op(annotation.CompilerBeginOp(p, "test"))
        return b.op(unary.ReluOp(b.op(annotation.CompilerEndOp(begun, "test"))))

    g.returns(g.fused([x], body))


@TABLE.case(core.CompositeOp, core.YieldOp)
def composites(g: Graph) -> None:
    data, weight = g.input(g.small("float32", 1, 3, 5, 5)), g.input(g.small("float32", 4, 3, 3, 3))

    def body(b: Graph, p: SSAValue, w: SSAValue) -> SSAValue:
        return b.op(unary.ReluOp(b.op(conv.Conv2DOp(p, w))))

    composite = g.fused([data, weight], body, composite="test.conv2d_relu")
    g.returns(composite)
    g.show(unary.NegativeOp(composite))


@TABLE.case(core.FusedOp)
def bodies_that_only_reshape(g: Graph) -> None:
    x = g.input(g.numbers("float32", 3, 5))

    def body(b: Graph, x: SSAValue) -> SSAValue:
        return b.op(reshape.ExpandDimsOp(b.op(reshape.ReshapeOp(x, [5, 3])), 1))

    y = g.fused([x], body, reshape_only=True)
    g.returns(y, BITS)
    g.show(unary.NegativeOp(y))
    g.returns(g.fused([g.op(unary.AbsOp(x))], body, reshape_only=True))
    g.returns(g.fused([x], lambda b, p: p, reshape_only=True), BITS)
    g.returns(g.fused([x], lambda b, p: p), BITS)


@TABLE.each((qnn.QnnConcatenateOp,), ("int8", "uint8"))
def quantised_concatenation(g: Graph, dtype: str) -> None:
    def scalars(dtype: str, *values: float) -> SSAValue:
        return g.op(core.TupleOp([g.input(np.array(value, dtype)) for value in values]))

    for axis in (0, 1):
        fields = [g.input(g.numbers(dtype, 3, 17)) for _ in range(3)]
        data = g.op(core.TupleOp(fields))
        scales, zeros = scalars("float32", 0.5, 0.25, 0.75), scalars("int32", 3, 3, -2)
        out = g.input(np.float32(0.25)), g.input(np.int32(3))
        g.show(qnn.QnnConcatenateOp(data, scales, zeros, *out, axis=axis))
