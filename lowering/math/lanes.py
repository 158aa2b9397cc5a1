"""
What the formulas of `vector_math` are written in: arithmetic on the numbers and on the bits of
f32 or f64 values, with any number of lanes.

Comparisons and choices work on the bits: the bits of a number without its sign, read as an
integer, have the order of the numbers, with infinity above all finite ones and NaN above that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ldexp

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, f32, f64
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import lanes_of, scalar_type, with_lanes


@dataclass(frozen=True)
class Format:
    """A binary floating-point format."""

    type: Float32Type | Float64Type
    bits: int
    mantissa: int
    """Stored bits of the significand."""

    @property
    def bias(self) -> int:
        """What is added to exponents before they are stored."""
        return 2 ** (self.bits - self.mantissa - 2) - 1

    @property
    def infinity(self) -> int:
        """The bits of infinity, and the mask of the exponent."""
        return (2 * self.bias + 1) << self.mantissa

    @property
    def sign(self) -> int:
        """The mask of the sign."""
        return 1 << (self.bits - 1)

    @property
    def magnitude(self) -> int:
        """The mask of all bits but the sign."""
        return self.sign - 1

    @property
    def rounder(self) -> float:
        """
        A sum with it is rounded to a whole number, which its last bits then hold in two's
        complement.
        """
        return ldexp(1.5, self.mantissa)

    def power_of_two(self, exponent: int) -> int:
        """The bits of 2**exponent."""
        return (exponent + self.bias) << self.mantissa


F32 = Format(f32, 32, 23)
F64 = Format(f64, 64, 52)


@dataclass(frozen=True)
class Lanes:
    """Arithmetic on values of one format and one number of lanes."""

    b: KernelBuilder
    format: Format
    count: int

    @staticmethod
    def of(b: KernelBuilder, value: SSAValue) -> "Lanes":
        """The arithmetic that fits an f32 or f64 value."""
        return Lanes(b, F32 if scalar_type(value) == f32 else F64, lanes_of(value))

    # -- numbers ------------------------------------------------------------------------------

    def number(self, value: float) -> SSAValue:
        """A constant."""
        return self.b.constant(self.format.type, value, self.count)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y"""
        return self.b.insert(arith.AddfOp(x, y)).result

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y"""
        return self.b.insert(arith.SubfOp(x, y)).result

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y"""
        return self.b.insert(arith.MulfOp(x, y)).result

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y"""
        return self.b.insert(arith.DivfOp(x, y)).result

    def sqrt(self, x: SSAValue) -> SSAValue:
        """The square root, correctly rounded."""
        return self.b.insert(math.SqrtOp(x)).result

    def fma(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        """x * y + z, in one rounding where the CPU has an instruction for it."""
        if self.b.target.fma:
            return self.b.insert(math.FmaOp(x, y, z)).result
        return self.add(self.mul(x, y), z)

    def neg(self, x: SSAValue) -> SSAValue:
        """-x"""
        return self.b.insert(arith.NegfOp(x)).result

    def abs(self, x: SSAValue) -> SSAValue:
        """|x|"""
        return self.b.insert(math.AbsFOp(x)).result

    def with_sign(self, x: SSAValue, sign: SSAValue) -> SSAValue:
        """|x| with the sign of another number."""
        return self.b.intrinsic("copysign", [x, sign], x.type)

    def at_most(self, x: SSAValue, limit: float | SSAValue) -> SSAValue:
        """The smaller of x and a limit; NaN for NaN."""
        most = limit if isinstance(limit, SSAValue) else self.number(limit)
        return self.b.insert(arith.MinimumfOp(x, most)).result

    def at_least(self, x: SSAValue, limit: float) -> SSAValue:
        """The larger of x and a limit; NaN for NaN."""
        return self.b.insert(arith.MaximumfOp(x, self.number(limit))).result

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """By Horner's rule; the coefficient of the highest power comes first."""
        result = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, self.number(coefficient))
        return result

    # -- exact sums and products --------------------------------------------------------------

    def ordered_sum(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
        """x + y and its rounding error, for |x| >= |y|. Source: T. J. Dekker, 1971."""
        total = self.add(x, y)
        return total, self.sub(y, self.sub(total, x))

    def exact_sum(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
        """x + y and its rounding error. Source: D. E. Knuth, TAOCP 2, 4.2.2."""
        total = self.add(x, y)
        own = self.sub(total, x)
        return total, self.add(self.sub(x, self.sub(total, own)), self.sub(y, own))

    def exact_product(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
        """x * y and its rounding error. Source: T. J. Dekker, 1971, where there is no FMA."""
        product = self.mul(x, y)
        if self.b.target.fma:
            return product, self.fma(x, y, self.neg(product))
        (x1, x2), (y1, y2) = self._halves(x), self._halves(y)
        error = self.sub(self.mul(x1, y1), product)
        error = self.add(self.add(error, self.mul(x1, y2)), self.mul(x2, y1))
        return product, self.add(error, self.mul(x2, y2))

    def _halves(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """x as a sum of two numbers with half the bits each."""
        dropped = (self.format.mantissa + 2) // 2
        high = self.float(self.mask(self.bits(x), -1 << dropped))
        return high, self.sub(x, high)

    # -- bits ---------------------------------------------------------------------------------

    @property
    def _integer(self) -> IntegerType:
        return IntegerType(self.format.bits)

    def whole(self, value: int) -> SSAValue:
        """A constant integer, cut to the bits of the format."""
        value &= 2**self.format.bits - 1
        if value & self.format.sign:
            value -= 2**self.format.bits
        return self.b.constant(self._integer, value, self.count)

    def bits(self, x: SSAValue) -> SSAValue:
        """The bits of a number."""
        return self.b.bitcast(x, with_lanes(self._integer, self.count))

    def float(self, bits: SSAValue) -> SSAValue:
        """The number that has some bits."""
        return self.b.bitcast(bits, with_lanes(self.format.type, self.count))

    def plus(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y of integers"""
        return self.b.insert(arith.AddiOp(x, y)).result

    def minus(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y of integers"""
        return self.b.insert(arith.SubiOp(x, y)).result

    def times(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y of integers"""
        return self.b.insert(arith.MuliOp(x, y)).result

    def mask(self, x: SSAValue, bits: int) -> SSAValue:
        """The bits of x that a constant has."""
        return self.b.both(x, self.whole(bits))

    def left(self, x: SSAValue, count: int | SSAValue) -> SSAValue:
        """x shifted to higher places."""
        by = self.whole(count) if isinstance(count, int) else count
        return self.b.insert(arith.ShLIOp(x, by)).result

    def right(self, x: SSAValue, count: int | SSAValue) -> SSAValue:
        """x shifted to lower places, zeros following."""
        by = self.whole(count) if isinstance(count, int) else count
        return self.b.insert(arith.ShRUIOp(x, by)).result

    def sign_mask(self, x: SSAValue) -> SSAValue:
        """All bits set where the sign is, none elsewhere."""
        count = self.whole(self.format.bits - 1)
        return self.b.insert(arith.ShRSIOp(x, count)).result

    def below(self, x: SSAValue, limit: int) -> SSAValue:
        """Whether unsigned bits are below a constant."""
        return self.b.compare_integers(x, "ult", self.whole(limit))

    def equal(self, x: SSAValue, value: int) -> SSAValue:
        """Whether bits are those of a constant."""
        return self.b.compare_integers(x, "eq", self.whole(value))

    def is_negative(self, x: SSAValue) -> SSAValue:
        """Whether the sign of a number is set."""
        return self.b.compare_integers(self.bits(x), "slt", self.whole(0))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """x where the condition holds, y elsewhere."""
        return self.b.select(condition, x, y)

    def select_bits(self, mask: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """The bits of x where a mask is set, those of y elsewhere."""
        return self.b.either(self.b.both(mask, x), self.b.both(self.b.negate(mask), y))

    # -- formats ------------------------------------------------------------------------------

    def widened(self, x: SSAValue) -> tuple["Lanes", SSAValue]:
        """f32 as f64."""
        wide = Lanes(self.b, F64, self.count)
        return wide, self.b.insert(llvm.FPExtOp(x, with_lanes(f64, self.count))).result

    def narrowed(self, x: SSAValue) -> SSAValue:
        """f64 as f32."""
        return self.b.insert(llvm.FPTruncOp(x, with_lanes(f32, self.count))).result
