"""Reductions."""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import AddOp, DivideOp, EqualOp, MultiplyOp, PowerOp, SubtractOp
from xrelay.dialects.tensor.bits import IsFiniteOp
from xrelay.dialects.tensor.reduce import (
    AllOp,
    AnyOp,
    ArgmaxOp,
    ArgminOp,
    MaxOp,
    MeanOp,
    MinOp,
    ProdOp,
    ReductionOp,
    SumOp,
)
from xrelay.dialects.tensor.reshape import SqueezeOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import AbsOp, CastOp, ExpOp, LogOp, SqrtOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.tensor.unary import in_floating_point, in_single_precision

Reduce = Callable[[Node, SSAValue, list[int] | None, bool], SSAValue]
"""Reduces a value along axes (all for None), and maybe keeps them with length 1."""


def axes_by_attribute(reduce: Reduce) -> Converter:
    """Converts a reduction whose axes are an attribute."""

    def convert(node: Node) -> SSAValue:
        axes, keepdims = node.integers("axes"), node.flag("keepdims", default=True)
        return reduce(node, node.input(0), axes or None, keepdims)

    return convert


def axes_by_input(reduce: Reduce) -> Converter:
    """Converts a reduction whose axes are an optional input; without axes it may do nothing."""

    def convert(node: Node) -> SSAValue:
        keepdims = node.flag("keepdims", default=True)
        nothing = node.flag("noop_with_empty_axes")
        axes = node.known_integers(1, "axes") if node.has_input(1) else []
        return reduce(node, node.input(0), axes or ([] if nothing else None), keepdims)

    return convert


def reduction(op: type[ReductionOp], for_bools: type[ReductionOp] | None = None) -> Reduce:
    """A reduction by one operation, by another one for bools."""

    def reduce(node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool) -> SSAValue:
        chosen = for_bools if for_bools is not None and node.element_type(data) == i1 else op
        return node.emit(chosen(data, axes, keepdims=keepdims))

    return reduce


def mean(node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool) -> SSAValue:
    """ReduceMean; of integers, the sum divided by the number of elements."""
    if is_float(node.element_type(data)):
        return node.emit(MeanOp(data, axes, keepdims=keepdims))
    total = SumOp(data, axes, keepdims=keepdims)
    shape = node.shape_of(data)
    count = prod(shape[axis] for axis in total.reduced_axes)
    return node.emit(DivideOp(node.emit(total), node.scalar(count, data)))


def sum_of_magnitudes(
    node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool
) -> SSAValue:
    """ReduceL1."""
    return node.emit(SumOp(node.emit(AbsOp(data)), axes, keepdims=keepdims))


def sum_of_squares(node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool) -> SSAValue:
    """ReduceSumSquare."""

    def compute(data: SSAValue) -> SSAValue:
        return node.emit(SumOp(node.emit(MultiplyOp(data, data)), axes, keepdims=keepdims))

    return in_single_precision(node, data, compute)


def by_floats(reduce: Reduce) -> Reduce:
    """A reduction by functions of floating-point numbers, of integers and f16 as well."""

    def convert(node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool) -> SSAValue:
        def compute(wide: SSAValue) -> SSAValue:
            return reduce(node, wide, axes, keepdims)

        if is_float(node.element_type(data)):
            return in_single_precision(node, data, compute)
        return in_floating_point(node, data, compute)

    return convert


def length(node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool) -> SSAValue:
    """ReduceL2."""
    return node.emit(SqrtOp(sum_of_squares(node, data, axes, keepdims)))


def log_of_sum(node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool) -> SSAValue:
    """ReduceLogSum."""
    return node.emit(LogOp(node.emit(SumOp(data, axes, keepdims=keepdims))))


def log_of_sum_of_exponentials(
    node: Node, data: SSAValue, axes: list[int] | None, keepdims: bool
) -> SSAValue:
    """ReduceLogSumExp, in which no exp overflows: the largest element is taken out of the sum."""
    largest = node.emit(MaxOp(data, axes, keepdims=True))
    zero = node.scalar(0, data)
    # Infinite elements, and none at all, leave nothing to subtract.
    largest = node.emit(WhereOp(node.emit(IsFiniteOp(largest)), largest, zero))
    exponentials = node.emit(ExpOp(node.emit(SubtractOp(data, largest))))
    total = SumOp(exponentials, axes, keepdims=keepdims)
    if not keepdims:
        largest = node.emit(SqueezeOp(largest, total.reduced_axes))
    return node.emit(AddOp(node.emit(LogOp(node.emit(total))), largest))


def root_of_powers(
    node: Node, data: SSAValue, p: int, total: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """The p-th root of a sum of the p-th powers of magnitudes."""

    def compute(data: SSAValue) -> SSAValue:
        if p == 1:
            return total(node.emit(AbsOp(data)))
        if p == 2:
            return node.emit(SqrtOp(total(node.emit(MultiplyOp(data, data)))))
        powers = node.emit(PowerOp(node.emit(AbsOp(data)), node.scalar(p, data)))
        return node.emit(PowerOp(total(powers), node.scalar(1 / p, data)))

    return in_single_precision(node, data, compute)


def norm(node: Node, data: SSAValue, p: int, axes: Sequence[int]) -> SSAValue:
    """The p-norms along some axes, which stay with length 1."""
    return root_of_powers(
        node, data, p, lambda powers: node.emit(SumOp(powers, axes, keepdims=True))
    )


def norm_normalization(node: Node) -> SSAValue:
    """LpNormalization: division by the p-norm along an axis, 0 where that is 0."""
    axis, p = node.integer("axis", -1), node.integer("p", 2)
    if p not in (1, 2):
        raise OnnxImportError(f"'p' is {p}, accepted are 1 and 2")

    def compute(data: SSAValue) -> SSAValue:
        length = norm(node, data, p, [axis])
        zero = node.scalar(0, data)
        quotient = node.emit(DivideOp(data, length))
        return node.emit(WhereOp(node.emit(EqualOp(length, zero)), zero, quotient))

    return in_single_precision(node, node.input(0), compute)


def extreme_index(op: type[ArgmaxOp] | type[ArgminOp]) -> Converter:
    """Converts ArgMax or ArgMin."""

    def convert(node: Node) -> SSAValue:
        axis, keepdims = node.integer("axis", 0), node.flag("keepdims", default=True)
        last = node.flag("select_last_index")
        index = op(node.input(0), [axis], keepdims=keepdims, select_last_index=last)
        return node.emit(CastOp(node.emit(index), i64))

    return convert


def since_18(reduce: Reduce) -> dict[int, Converter]:
    """The converters of a reduction whose axes became an input in operator set 18."""
    return {1: axes_by_attribute(reduce), 18: axes_by_input(reduce)}


CONVERTERS: ConverterTable = {
    "ArgMax": {1: extreme_index(ArgmaxOp)},
    "ArgMin": {1: extreme_index(ArgminOp)},
    "LpNormalization": {1: norm_normalization},
    "ReduceL1": since_18(sum_of_magnitudes),
    "ReduceL2": since_18(by_floats(length)),
    "ReduceLogSum": since_18(by_floats(log_of_sum)),
    "ReduceLogSumExp": since_18(by_floats(log_of_sum_of_exponentials)),
    "ReduceMax": since_18(reduction(MaxOp, AnyOp)),
    "ReduceMean": since_18(mean),
    "ReduceMin": since_18(reduction(MinOp, AllOp)),
    "ReduceProd": since_18(reduction(ProdOp)),
    "ReduceSum": {
        1: axes_by_attribute(reduction(SumOp)),
        13: axes_by_input(reduction(SumOp)),
    },
    "ReduceSumSquare": since_18(sum_of_squares),
}
