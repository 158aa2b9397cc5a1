"""Numbers of attributes, and the dtypes that emitters compute in."""

from math import isinf, isnan

import numpy as np
from xdsl.dialects.builtin import FloatAttr

from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import FLOAT32, FLOAT64, INT64, DType, OutputGraph, Tensor


def computing_dtype(dtype: DType) -> DType:
    """What numbers are computed in: f32 for 16-bit floating point, otherwise their own dtype."""
    return FLOAT32 if dtype.kind not in "iub" and dtype.itemsize == 2 else dtype


def real_attribute(number: FloatAttr, dtype: DType, what: str) -> float:
    """
    A number as an attribute of a node, which is one of f32.

    Raises NotExpressible where f64 elements would notice the difference.
    """
    value = number.value.data
    if dtype == FLOAT64 and float(np.float32(value)) != value and not isnan(value):
        raise NotExpressible(f"'{what}' is {value}, which an attribute of f32 does not hold")
    return value


def rounded(number: float, dtype: DType) -> int | float:
    """A number as an element of a dtype; integers are the nearest ones, and saturate."""
    if dtype.kind == "b":
        return number > 0.5
    if dtype.kind not in "iu":
        return number
    if isnan(number):
        return 0
    info = np.iinfo(dtype)
    if isinf(number):
        return info.max if number > 0 else info.min
    return min(max(round(number), info.min), info.max)


def converted(graph: OutputGraph, tensor: Tensor, dtype: DType) -> Tensor:
    """
    A tensor with elements of another dtype as `relay.cast` has them, also where ONNX's Cast leaves
    them open: integers saturate, and are 0 for NaN.
    """
    if tensor.dtype.kind in "iub" or dtype.kind not in "iu":
        return graph.cast(tensor, dtype)
    exact = graph.cast(tensor, computing_dtype(tensor.dtype))
    number = graph.node("Where", graph.node("IsNaN", exact), graph.scalar(0, exact.dtype), exact)
    info = np.iinfo(dtype)
    # The largest integer may not be a number of the dtype, and round up to one out of range.
    top = exact.dtype.type(info.max)
    if int(top) > info.max:
        top = np.nextafter(top, exact.dtype.type(0))
    bounds = (graph.scalar(bound, exact.dtype) for bound in (info.min, top))
    result = graph.cast(graph.node("Clip", number, *bounds), dtype)
    if int(top) == info.max:
        return result
    above = graph.node("Greater", number, graph.scalar(top, exact.dtype))
    return graph.node("Where", above, graph.scalar(info.max, dtype), result)


def as_i64(graph: OutputGraph, tensor: Tensor, limit: int) -> Tensor:
    """Integers as i64; those of u64 are at most `limit` then, which i64 would not hold all of."""
    if tensor.dtype == np.uint64:
        tensor = graph.node("Min", tensor, graph.scalar(limit, tensor.dtype))
    return graph.cast(tensor, INT64)
