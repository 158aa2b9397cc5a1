"""Interpolation between the elements of an axis: scalar code in f64, as in the interpreter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.ir import SSAValue

from xrelay.dialects.image.resize import CUBIC, NEAREST
from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.index import Index
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import REAL, SINGLE, convert
from xrelay.lowering.math.lanes import Lanes

EPSILON = 1e-5
"""What rounding down and up looks beyond a coordinate."""
MARGIN = 8
"""Coordinates that are farther from the axis count as this far."""
FAR = 2**31
"""The same where elements outside of the axis are mirrored: which one it is depends on how far."""


@dataclass(frozen=True)
class Tap:
    """An element of an axis and how much of it is taken."""

    index: SSAValue
    """An i64 within the axis."""
    weight: SSAValue | None = None
    """Of the kind that elements are blended in; None is 1."""
    inside: SSAValue | None = None
    """Whether the element was within the axis; None where that does not matter."""


def blend_kind(kind: Element) -> Element:
    """What elements are blended in."""
    if kind.is_float:
        return wide(kind)
    return SINGLE if kind.bytes <= 2 else REAL


def real(b: KernelBuilder, index: Index) -> SSAValue:
    """An index as f64."""
    return convert(b, b.index(index), INDEX, REAL)


def extent(v: Lanes, length: int) -> SSAValue:
    """A length as f64. It may be known when the program runs only."""
    return real(v.b, length) if is_open(length) else v.number(float(length))


def floor(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The largest whole number that is not above x."""
    return b.insert(math.FloorOp(x)).result


def _whole(b: KernelBuilder, x: SSAValue, length: int, margin: int = MARGIN) -> SSAValue:
    """A whole number near an axis as an integer; NaN as 0."""
    v = Lanes.of(b, x)
    return convert(b, v.at_most(v.at_least(x, -margin), extent(v, length + margin)), REAL, INDEX)


def _nearest(b: KernelBuilder, c: SSAValue, rounding: str) -> SSAValue:
    v = Lanes.of(b, c)
    match rounding:
        case "even":
            return b.insert(math.RoundEvenOp(c)).result
        case "round_prefer_floor":
            return b.insert(math.CeilOp(v.sub(c, v.number(0.5)))).result
        case "floor":
            return floor(b, v.add(c, v.number(EPSILON)))
        case "ceil":
            return b.insert(math.CeilOp(v.sub(c, v.number(EPSILON)))).result
        case _:
            return floor(b, v.add(c, v.number(0.5)))


def _cubic_weights(v: Lanes, t: SSAValue, alpha: float) -> list[SSAValue]:
    t2 = v.mul(t, t)
    t3 = v.mul(t2, t)

    def times(x: SSAValue, factor: float) -> SSAValue:
        return v.mul(x, v.number(factor))

    rise = v.sub(times(t3, alpha + 2), times(t2, alpha + 3))
    fall = v.sub(times(t2, 2 * alpha + 3), times(t3, alpha + 2))
    return [
        times(v.add(v.sub(t3, v.mul(v.number(2.0), t2)), t), alpha),
        v.add(rise, v.number(1.0)),
        v.sub(fall, times(t, alpha)),
        times(v.sub(t2, t3), alpha),
    ]


def is_inside(b: KernelBuilder, index: SSAValue, length: int) -> SSAValue:
    """Whether an axis has an index."""
    return b.compare_integers(index, "ult", b.index(length))


def clamped(b: KernelBuilder, index: SSAValue, length: int) -> SSAValue:
    """The nearest index that an axis has."""
    return b.index(b.smaller(b.larger(index, 0), length - 1))


def raw_taps(
    b: KernelBuilder,
    c: SSAValue,
    length: int,
    method: str,
    *,
    rounding: str = "round",
    alpha: float = -0.5,
    exclude: bool = False,
    margin: int = MARGIN,
) -> list[tuple[SSAValue, SSAValue | None]]:
    """
    The elements of an axis that make the one at a coordinate: their indices, which may be outside
    of it, up to `margin`, and their weights in f64.
    """
    if method == NEAREST:
        return [(_whole(b, _nearest(b, c, rounding), length, margin), None)]
    v = Lanes.of(b, c)
    below = floor(b, c)
    first, t = _whole(b, below, length, margin), v.sub(c, below)
    if method != CUBIC:
        return [(first, v.sub(v.number(1.0), t)), (b.index(b.add(first, 1)), t)]
    indices = [b.index(b.add(first, step)) for step in (-1, 0, 1, 2)]
    weights = _cubic_weights(v, t, alpha)
    if exclude:
        weights = [
            b.select(is_inside(b, index, length), weight, v.number(0.0))
            for index, weight in zip(indices, weights, strict=True)
        ]
        total = v.add(v.add(v.add(weights[0], weights[1]), weights[2]), weights[3])
        weights = [v.div(weight, total) for weight in weights]
    return list(zip(indices, weights, strict=True))


def taps(
    b: KernelBuilder,
    raw: Sequence[tuple[SSAValue, SSAValue | None]],
    length: int,
    kind: Element,
    *,
    outside_is_zero: bool = False,
) -> list[Tap]:
    """Indices within the axis, and weights of the kind that elements are blended in."""
    return [
        Tap(
            clamped(b, index, length),
            None if weight is None else convert(b, weight, REAL, kind),
            is_inside(b, index, length) if outside_is_zero else None,
        )
        for index, weight in raw
    ]


Load = Callable[[tuple[SSAValue, ...], SSAValue | None], SSAValue]
"""Elements at indices of all axes, or 0 where they are outside of the image."""


def blended(
    b: KernelBuilder, choices: Sequence[Sequence[Tap]], kind: Element, lanes: int, load: Load
) -> SSAValue:
    """The sum over all axes of elements times weights, the last axis first."""

    def nested(
        axes: Sequence[Sequence[Tap]], indices: tuple[SSAValue, ...], inside: SSAValue | None
    ) -> SSAValue:
        if not axes:
            return load(indices, inside)
        total: SSAValue | None = None
        for tap in axes[0]:
            held = tap.inside
            if held is not None and inside is not None:
                held = b.both(inside, held)
            part = nested(axes[1:], (*indices, tap.index), held)
            if tap.weight is not None:
                part = multiply(b, part, b.splat(tap.weight, lanes), kind)
            total = part if total is None else add(b, total, part, kind)
        assert total is not None
        return total

    return nested(choices, (), None)
