"""What differs between xrelay and other engines on purpose: docs/onnx.md says it to users."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, helper

from tests.fuzz.onnx.values import Array


class Known(NamedTuple):
    """A difference of a node that is known."""

    operators: str
    """A regular expression."""
    applies: Callable[[Mapping[str, Array]], bool]
    """To these operands."""
    reason: str
    stated: Callable[[NodeProto], bool] = lambda node: True
    """With these attributes."""


def has_nan(operands: Mapping[str, Array]) -> bool:
    """Whether a NaN is among the numbers."""
    return any(np.isnan(a).any() for a in operands.values() if a.dtype.kind == "f")


def exponential_may_overflow(operands: Mapping[str, Array]) -> bool:
    """Whether the first operand has a number whose exponential its type may not hold."""
    data, *_ = operands.values()
    if data.dtype.kind != "f":
        return False
    return bool((data > np.log(np.finfo(data.dtype).max) - np.log(max(data.size, 1))).any())


def exponential_of_other_types_may_overflow(operands: Mapping[str, Array]) -> bool:
    """As `exponential_may_overflow`, for types in which onnxruntime computes by the formula: all but `float32`."""
    data, *_ = operands.values()
    return data.dtype != np.float32 and exponential_may_overflow(operands)


def may_overflow(operands: Mapping[str, Array]) -> bool:
    """Whether sums and products of integers can leave their type."""
    return any(
        a.size and float(np.abs(a.astype(np.float64)).max()) ** 2 * a.size > np.iinfo(a.dtype).max
        for a in operands.values()
        if a.dtype.kind in "iu"
    )


def product_may_overflow(operands: Mapping[str, Array]) -> bool:
    """Whether the product of all integers can leave their type, or the digits of f64 where they have 64 bits."""
    return any(
        np.log2(np.maximum(np.abs(a.astype(np.float64)), 1)).sum() >= min(8 * a.itemsize - 1, 53)
        for a in operands.values()
        if a.dtype.kind in "iu"
    )


def partial_product_may_leave(operands: Mapping[str, Array]) -> bool:
    """Whether some factors alone, in an order that ONNX leaves open, are too large or too small for their type."""
    data, *_ = operands.values()
    if data.dtype.kind != "f":
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.log2(np.abs(data.astype(np.float64)))
    powers = powers[np.isfinite(powers)]
    limits = np.finfo(data.dtype)
    return bool(
        powers[powers > 0].sum() >= limits.maxexp or powers[powers < 0].sum() <= limits.minexp
    )


def square_may_overflow(operands: Mapping[str, Array]) -> bool:
    """Whether the sum of the squares of all integers can leave their type."""
    return any(
        np.square(a.astype(np.float64)).sum() > np.iinfo(a.dtype).max
        for a in operands.values()
        if a.dtype.kind in "iu"
    )


def leaves_int32(operands: Mapping[str, Array]) -> bool:
    """Whether the first operand, divided by the second, may be beyond what 32 bits count."""
    data, scale, *_ = (np.abs(a.astype(np.float64)) for a in operands.values())
    with np.errstate(all="ignore"):
        return not float(data.max(initial=0.0)) / float(scale.min(initial=np.inf)) < 2**31


def scale_vanishes(operands: Mapping[str, Array]) -> bool:
    """Whether the range of numbers is too small for a scale of 255 steps."""
    (data,) = operands.values()
    low, high = (float(limit(data, initial=0.0)) for limit in (np.min, np.max))
    return np.float32((high - low) / 255) == 0


def stated(node: NodeProto) -> dict[str, Any]:
    """The attributes of a node."""
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def skips_elements(node: NodeProto) -> bool:
    """Whether padding is chosen for strides that are larger than windows."""
    given = stated(node)
    steps = zip(given.get("strides", ()), given.get("kernel_shape", ()), strict=False)
    return b"SAME" in given.get("auto_pad", b"") and any(step > size for step, size in steps)


def power_may_overflow(operands: Mapping[str, Array]) -> bool:
    """Whether a power of an integer, by any of the exponents, can leave its type."""
    base, exponents = operands.values() if len(operands) == 2 else 2 * tuple(operands.values())
    if base.dtype.kind not in "iu" or not base.size or not exponents.size:
        return False
    largest = np.log2(max(1.0, float(np.abs(base.astype(np.float64)).max())))
    return bool(largest * float(exponents.max()) >= 8 * base.itemsize - 1)


def not_finite(operands: Mapping[str, Array]) -> bool:
    """Whether infinities or NaN are among the numbers."""
    return any(not np.isfinite(a).all() for a in operands.values() if a.dtype.kind == "f")


def has_integers(operands: Mapping[str, Array]) -> bool:
    """Whether the first operand has integers."""
    data, *_ = operands.values()
    return data.dtype.kind in "iu"


EXCEPTIONS = (
    Known(
        "ArgMax|ArgMin|Hardmax|ReduceMax|ReduceMin|Scatter.*|.*Pool",
        has_nan,
        "the largest of numbers with NaN among them is NaN",
    ),
    Known(
        "DeformConv|GridSample|Resize|RoiAlign|Upsample",
        not_finite,
        "between elements, one that is not finite has the weight 0, or does not take part",
    ),
    Known("QuantizeLinear", has_nan, "NaN has no quantised number"),
    Known(
        "LogSoftmax|ReduceLogSumExp",
        not_finite,
        "what is computed of NaN is NaN; onnxruntime clips it",
    ),
    Known("Sign", has_nan, "the sign of NaN is NaN; onnxruntime's in f16 is 0"),
    Known("PRelu", not_finite, "zero is no negative number, and takes part with no slope"),
    Known(
        "LSTM|GRU|RNN",
        not_finite,
        "what is computed of NaN is NaN, also of the difference of infinities; onnxruntime clips it",
    ),
    Known("DynamicQuantizeLinear", scale_vanishes, "zero divided by zero is no zero point"),
    Known(
        "DynamicQuantizeLinear",
        has_nan,
        "the zero point of a scale of NaN is 0; onnxruntime's is 255",
    ),
    Known("OneHot", has_nan, "NaN is the index 0; onnxruntime converts it as the processor does"),
    Known(
        "QuantizeLinear",
        leaves_int32,
        "numbers saturate; onnxruntime's wrap around where 32 bits do not hold them",
    ),
    Known(
        "LpPool|AveragePool|MaxPool",
        lambda operands: True,
        "no padding is negative; onnxruntime crops what strides skip",
        skips_elements,
    ),
    Known(
        "Erf|ReduceLogSum|ReduceLogSumExp",
        has_integers,
        "functions of integers are cut, and ONNX does not say in which precision they are computed, "
        "nor what the logarithm of a negative sum is",
    ),
    Known(
        "ReduceSum|ReduceMean|ReduceL1|ReduceLogSum.*|Gemm|Shrink|Einsum",
        may_overflow,
        "sums of integers wrap around; onnxruntime saturates, and sums int64 in float64",
    ),
    Known(
        "ReduceProd",
        product_may_overflow,
        "products of integers wrap around; onnxruntime saturates, and multiplies int64 in float64",
    ),
    Known(
        "ReduceProd",
        partial_product_may_leave,
        "the order of factors decides whether a part of the product is infinite or zero",
    ),
    Known(
        "ReduceSumSquare|ReduceL2",
        square_may_overflow,
        "sums of squares of integers wrap around; onnxruntime saturates",
    ),
    Known("Pow", power_may_overflow, "powers of integers saturate; onnxruntime's do not always"),
    Known(
        "LayerNormalization",
        not_finite,
        "onnxruntime's mean of a row with an infinity is NaN",
    ),
    Known(
        "Softplus",
        exponential_of_other_types_may_overflow,
        "onnxruntime's exponential overflows; the logarithm of it is the number itself",
    ),
    Known(
        "Attention",
        not_finite,
        "onnxruntime hides keys by the least finite number, which counts more than a score of -inf",
    ),
    Known(
        "Einsum",
        not_finite,
        "sums have the products of all operands; other engines multiply two operands at a time",
        lambda node: len(node.input) > 2,
    ),
    Known(
        "ReduceLogSumExp",
        exponential_may_overflow,
        "onnxruntime computes the newest operator set by its formula, whose exponential overflows",
    ),
    Known(
        "DFT|STFT",
        not_finite,
        "infinity times a cosine that is 0 but for its rounding",
    ),
)


class KnownElements(NamedTuple):
    """A difference of some elements of a node's result that is known."""

    where: Callable[[NodeProto, Array], Array]
    """In which elements, by the first operand, which has their shape."""
    reason: str


def without_variance(node: NodeProto, data: Array) -> Array:
    """Elements that are normalised with nearly equal ones only, or with some whose squares are too large."""
    axes = tuple(stated(node).get("axes", (0, 2, 3)))
    with np.errstate(all="ignore"):
        small = data.std(axes, keepdims=True) < 1e-4
        large = ~(np.abs(data) < 1e4).all(axes, keepdims=True)
    return np.broadcast_to(small | large, data.shape)


def nearly_equal_in_group(node: NodeProto, data: Array) -> Array:
    """Elements of groups whose variance is small beside the square of the mean."""
    groups = data.reshape(data.shape[0], stated(node)["num_groups"], -1).astype(np.float64)
    with np.errstate(all="ignore"):
        small = ~(groups.var(-1, keepdims=True) > 1e-2 * groups.mean(-1, keepdims=True) ** 2)
    return np.broadcast_to(small, groups.shape).reshape(data.shape)


def behind_large(node: NodeProto, data: Array) -> Array:
    """Elements whose windows of channels, or ones before, have numbers of large squares, or not finite."""
    with np.errstate(invalid="ignore"):
        large = np.maximum.accumulate(~(np.abs(data) < 4), axis=1)
    # A window reaches so far beyond its element.
    last = np.minimum(np.arange(data.shape[1]) + stated(node)["size"] // 2, data.shape[1] - 1)
    return large[:, last]


def out_of_range(node: NodeProto, data: Array) -> Array:
    """Elements that the integers of a type do not have; of an unknown type, as of CastLike, those of int64."""
    to = stated(node).get("to")
    dtype = np.dtype(np.int64 if to is None else helper.tensor_dtype_to_np_dtype(to))
    if data.dtype.kind != "f" or dtype.kind not in "iu":
        return np.zeros(data.shape, bool)
    info, wide = np.iinfo(dtype), data.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return ~((np.trunc(wide) >= float(info.min)) & (np.trunc(wide) < float(info.max) + 1))


ELEMENTS = {
    **dict.fromkeys(
        ("Cast", "CastLike"),
        KnownElements(
            out_of_range, "ONNX does not say what becomes of them; NaN is 0, others saturate"
        ),
    ),
    "MeanVarianceNormalization": KnownElements(
        without_variance,
        "the deviation is taken plus 1e-9, as ONNX's function says, so that equal elements become 0; onnxruntime "
        "takes it as it is, and divides zero by zero",
    ),
    "GroupNormalization": KnownElements(
        nearly_equal_in_group,
        "onnxruntime takes the square of the mean off the mean of squares, of which few digits are left",
    ),
    "LRN": KnownElements(behind_large, "onnxruntime subtracts from a sum what leaves the window"),
}
REFUSALS: Mapping[str, str] = {}

BY_LARGEST = "DFT|STFT|.*Window|MelWeightMatrix|Swish|SwiGLU"
"""Operators whose numbers have errors relative to the largest one: differences of cosines, multiples of sigmoids."""
BY_ONE = "Sigmoid|Tanh|Erf|Gelu|HardSigmoid|HardSwish|Shrink|LSTM|GRU|RNN|Mish|CausalConvWithState"
"""Operators that other engines approximate, with errors relative to 1."""


BETWEEN = "GridSample|Resize|Upsample"
"""Operators of which other engines compute coordinates in f32, with errors relative to the longest axis."""


def documented_elements(node: NodeProto, operands: Mapping[str, Array]) -> Array | np.bool_:
    """Where the result of a node may differ from other engines'."""
    known = ELEMENTS.get(node.op_type)
    data = operands[node.input[0]]
    return known.where(node, data) if known is not None and data.size else np.False_


def operators_of(node: NodeProto) -> Iterator[str]:
    """The operators of a node, and of the graphs in it."""
    yield node.op_type
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from operators_of(inner)


def is_documented(
    node: NodeProto,
    operands: Mapping[str, Array],
    found: Sequence[Array],
    expected: Sequence[Array],
) -> bool:
    """Whether a node may differ from other engines."""
    tolerances = (
        (BY_LARGEST, _near_largest),
        (BY_ONE, _near_one),
        (BETWEEN, _near_coordinates),
        ("Dropout", _same_but_a_mask),
        ("(Global)?MaxPool|MaxRoiPool", _same_but_the_least),
    )
    for operators, is_near in tolerances:
        belongs = any(re.fullmatch(operators, each) for each in operators_of(node))
        if belongs and all(map(is_near, found, expected)):
            return True
    return any(
        re.fullmatch(each.operators, node.op_type) and each.stated(node) and each.applies(operands)
        for each in EXCEPTIONS
    )


def _near_largest(found: Array, expected: Array) -> bool:
    """Whether two arrays differ by a few roundings of the largest element."""
    return _is_near(found, expected, 4 * max(1.0, float(np.abs(expected).max(initial=0.0))))


def _near_coordinates(found: Array, expected: Array) -> bool:
    """Whether two arrays are interpolated at places a few roundings of the last place apart."""
    largest = float(np.abs(expected).max(initial=0.0))
    return _is_near(found, expected, max(expected.shape, default=1) * largest)


def _near_one(found: Array, expected: Array) -> bool:
    """Whether two arrays differ by a few roundings of 1 or of a larger element."""
    return _is_near(found, expected, np.maximum(1, np.abs(expected)))


def _same_but_a_mask(found: Array, expected: Array) -> bool:
    """Whether two arrays are equal, or the mask of what is kept: all of it; onnxruntime has zeros at times."""
    return bool(found.all()) if found.dtype == np.bool_ else _is_near(found, expected, 0)


def _same_but_the_least(found: Array, expected: Array) -> bool:
    """Whether two arrays are equal, where the largest of infinite elements alone may be the least finite number."""
    if expected.dtype.kind != "f":
        return bool((found == expected).all())
    least = (found == -np.inf) & (expected == np.finfo(expected.dtype).min)
    return bool((least | (found == expected) | (np.isnan(found) & np.isnan(expected))).all())


def _is_near(found: Array, expected: Array, size: Any) -> bool:
    if expected.dtype.kind != "f":
        return bool((found == expected).all())
    rounding = max(1e-6, 4 * float(np.finfo(expected.dtype).eps))
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= rounding * size
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    return bool((near | same).all())


def is_documented_refusal(message: str) -> bool:
    """Whether docs/onnx.md says why a model is refused."""
    return any(re.search(text, message) for text in REFUSALS)
