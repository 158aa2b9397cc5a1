"""
Kernel code of the arithmetic of quantised numbers: integer operations only, where the operators
compute in fixed-point numbers.

What does not depend on the elements, the fixed-point form of a ratio of scales above all, is
computed by the same code; LLVM does so once, before the loop, or when it compiles constants.
"""

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Rule, shape_of
from xrelay.lowering.emit.index import lanes_of
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math.arithmetic import highest, lowest
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.math.lanes import F64, Lanes
from xrelay.lowering.operators.nn.norm import channel_elements

SCALE = element(f32)
ZERO_POINT = element(i32)
WIDE = element(i64)


def parameter(ev: Evaluator, value: SSAValue, axis: int, position: Position) -> Rule:
    """
    The elements of a scale or zero point that belong to a position of a tensor with channels along
    `axis`; a scalar where it is the same for all lanes.
    """
    shape = shape_of(value)
    if all(certainly(dim, 1) for dim in shape):
        return (yield Demand((value, 0), at(shape, [0] * len(shape))))
    return (yield from channel_elements(ev, value, axis, position))


class Arithmetic:
    """Arithmetic on values of some number of lanes; scalars are repeated for all of them."""

    def __init__(self, b: KernelBuilder, lanes: int):
        self.b = b
        self.lanes = lanes

    def _both(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
        lanes = max(lanes_of(x), lanes_of(y))
        return self.b.splat(x, lanes), self.b.splat(y, lanes)

    def number(self, value: float, kind: Element) -> SSAValue:
        """A constant, in every lane."""
        return self.b.constant(kind.compute, value, self.lanes)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y of integers"""
        return self.b.insert(arith.AddiOp(*self._both(x, y))).result

    def subtract(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y of integers"""
        return self.b.insert(arith.SubiOp(*self._both(x, y))).result

    def multiply(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y of integers"""
        return self.b.insert(arith.MuliOp(*self._both(x, y))).result

    def add_real(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y of floating-point numbers"""
        return self.b.insert(arith.AddfOp(*self._both(x, y))).result

    def subtract_real(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y of floating-point numbers"""
        return self.b.insert(arith.SubfOp(*self._both(x, y))).result

    def multiply_real(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y of floating-point numbers"""
        return self.b.insert(arith.MulfOp(*self._both(x, y))).result

    def divide_real(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y of floating-point numbers"""
        return self.b.insert(arith.DivfOp(*self._both(x, y))).result

    def convert(self, x: SSAValue, old: Element, new: Element) -> SSAValue:
        """x as another kind of element."""
        return convert(self.b, x, old, new)

    # -- quantised numbers --------------------------------------------------------------------

    def clamped(self, x: SSAValue, kind: Element) -> SSAValue:
        """Numbers of i32 as others, which they are clamped to the range of."""
        if kind == ZERO_POINT:
            return x
        x = self.b.splat(x, self.lanes)
        low, high = (self.number(limit, ZERO_POINT) for limit in (lowest(kind), highest(kind)))
        least = self.b.insert(arith.MaxSIOp(x, low)).result
        return self.convert(self.b.insert(arith.MinSIOp(least, high)).result, ZERO_POINT, kind)

    def quantized(
        self, x: SSAValue, scale: SSAValue, zero_point: SSAValue, kind: Element
    ) -> SSAValue:
        """Numbers of f32 as quantised ones."""
        whole = self.b.insert(math.RoundEvenOp(self.divide_real(x, scale))).result
        moved = self.add_real(whole, self.convert(zero_point, ZERO_POINT, SCALE))
        # The conversion clamps, and NaN becomes 0.
        return self.convert(moved, SCALE, kind)

    def dequantized(
        self, q: SSAValue, kind: Element, scale: SSAValue, zero_point: SSAValue
    ) -> SSAValue:
        """The numbers of f32 that quantised ones stand for."""
        centered = self.subtract(self.convert(q, kind, ZERO_POINT), zero_point)
        return self.multiply_real(self.convert(centered, ZERO_POINT, SCALE), scale)

    def ratio(self, scale: SSAValue, new_scale: SSAValue) -> SSAValue:
        """The quotient of two scales as f64."""
        return self.divide_real(
            self.convert(scale, SCALE, REAL), self.convert(new_scale, SCALE, REAL)
        )

    def fixed_point(self, ratio: SSAValue) -> tuple[SSAValue, SSAValue]:
        """
        The integers m and s of normal positive numbers m * 2**(s - 31) of f64, or 0 and 0 of zero: m
        has 31 bits, rounded to nearest. Numbers between 0.5 and 1 have shift 0.
        """
        v = Lanes.of(self.b, ratio)
        bits = v.bits(ratio)
        dropped = F64.mantissa + 1 - 31
        digits = v.b.either(v.mask(bits, 2**F64.mantissa - 1), v.whole(2**F64.mantissa))
        rounded = v.right(v.plus(digits, v.whole(2 ** (dropped - 1))), dropped)
        shift = v.minus(v.right(v.mask(bits, F64.magnitude), F64.mantissa), v.whole(F64.bias - 1))
        carried = v.equal(rounded, 2**31)
        m = v.select(carried, v.whole(2**30), rounded)
        s = v.select(carried, v.plus(shift, v.whole(1)), shift)
        is_zero = v.equal(v.mask(bits, F64.magnitude), 0)
        return v.select(is_zero, v.whole(0), m), v.select(is_zero, v.whole(0), s)

    def fixed_point_product(
        self, x: SSAValue, m: SSAValue, s: SSAValue, *, rounds_up: bool = True
    ) -> SSAValue:
        """
        The whole numbers next to x * m * 2**(s - 31) for numbers x of i32, as i32; halves are
        rounded up or else away from zero.
        """
        b, lanes = self.b, lanes_of(s)

        def number(value: int) -> SSAValue:
            return b.constant(i64, value, lanes)

        left = b.insert(arith.MaxSIOp(s, number(0))).result
        fits = b.compare_integers(left, "ult", number(64))
        left = b.insert(arith.MinSIOp(left, number(63))).result
        beyond = b.insert(arith.MaxSIOp(b.insert(arith.SubiOp(number(0), s)).result, number(0)))
        # No product reaches the half that a longer shift would round by.
        right = b.insert(arith.AddiOp(beyond.result, number(31))).result
        right = b.insert(arith.MinSIOp(right, number(63))).result
        last = b.insert(arith.SubiOp(right, number(1))).result
        half = b.insert(arith.ShLIOp(number(1), last)).result
        # A factor of 0 where the elements are shifted out.
        m = b.select(b.splat(fits, lanes_of(m)), *self._both(m, b.constant(i64, 0)))
        wide, left = self._both(self.convert(x, ZERO_POINT, WIDE), left)
        product = self.multiply(b.insert(arith.ShLIOp(wide, left)).result, m)
        total = self.add(product, half)
        if not rounds_up:
            zero = b.constant(i64, 0, lanes_of(product))
            below = b.compare_integers(product, "slt", zero)
            less = self.subtract(total, b.constant(i64, 1))
            total = b.select(below, less, total)
        total, right = self._both(total, right)
        return self.convert(b.insert(arith.ShRSIOp(total, right)).result, WIDE, ZERO_POINT)

    def round_half_away(self, x: SSAValue) -> SSAValue:
        """Whole numbers; halves are rounded away from zero."""
        v = Lanes.of(self.b, x)
        whole = self.b.insert(math.TruncOp(x)).result
        rest = v.abs(v.sub(x, whole))
        step = v.with_sign(v.number(1.0), x)
        away = self.b.compare_floats(v.number(0.5), "ole", rest)
        return v.add(whole, v.select(away, step, v.number(0.0)))
