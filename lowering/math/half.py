"""
f16 and bf16 to and from wider floating point in integer arithmetic, rounded to nearest, ties to even.

f16 for CPUs without instructions for it, where LLVM would call a function of the compiler's run-time
library that programs need not have. bf16 for all: `vcvtneps2bf16` takes subnormal numbers for zero.

With e exponent and m mantissa bits, f16 has 5 and 10, f32 8 and 23, f64 11 and 52. Aligned at the
sign, the magnitude of an f16 is that of a wider number with another exponent bias. bf16 is the upper half
of f32, with 8 and 7.
"""

from dataclasses import dataclass

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i16, i32
from xdsl.ir import Attribute, SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import lanes_of, scalar_type, with_lanes

BFLOAT_LANES = {
    8: "llvm.x86.avx512bf16.cvtneps2bf16.256",
    16: "llvm.x86.avx512bf16.cvtneps2bf16.512",
}
"""Instructions that round f32 to bf16, by the number of lanes."""


@dataclass(frozen=True)
class _Bits:
    """Integer arithmetic on all lanes of a width."""

    b: KernelBuilder
    width: int
    lanes: int

    def number(self, value: int) -> SSAValue:
        return self.b.constant(IntegerType(self.width), value, self.lanes)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.b.insert(arith.AddiOp(x, y)).result

    def mask(self, x: SSAValue, bits: int) -> SSAValue:
        return self.b.both(x, self.number(bits))

    def left(self, x: SSAValue, count: int) -> SSAValue:
        return self.b.insert(arith.ShLIOp(x, self.number(count))).result

    def right(self, x: SSAValue, count: int) -> SSAValue:
        return self.b.insert(arith.ShRUIOp(x, self.number(count))).result

    def below(self, x: SSAValue, limit: int) -> SSAValue:
        return self.b.compare_integers(x, "ult", self.number(limit))

    def of(self, value: SSAValue) -> SSAValue:
        return self.b.bitcast(value, with_lanes(IntegerType(self.width), self.lanes))

    def as_float(self, x: SSAValue, type_: Attribute) -> SSAValue:
        return self.b.bitcast(x, with_lanes(type_, self.lanes))


def widen_half(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """f16 as f32, which has all its numbers."""
    lanes = lanes_of(value)
    bits = _Bits(b, 32, lanes)
    half = b.bitcast(value, with_lanes(i16, lanes))
    half = b.insert(llvm.ZExtOp(half, with_lanes(i32, lanes))).res
    magnitude = bits.left(bits.mask(half, 0x7FFF), 13)
    # A multiplication moves the bias, and normalises subnormal numbers.
    scale = b.constant(f32, 2.0**112, lanes)
    finite = bits.of(b.insert(arith.MulfOp(bits.as_float(magnitude, f32), scale)).result)
    special = b.either(magnitude, bits.number(0x7F800000))
    is_finite = bits.below(magnitude, 0x7C00 << 13)
    sign = bits.left(bits.mask(half, 0x8000), 16)
    return bits.as_float(b.either(b.select(is_finite, finite, special), sign), f32)


def narrow_to_half(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """f32 or f64 as f16."""
    type_, lanes = scalar_type(value), lanes_of(value)
    exponent, mantissa = (8, 23) if type_ == f32 else (11, 52)
    width, dropped = 1 + exponent + mantissa, mantissa - 10
    bits = _Bits(b, width, lanes)
    bias = 2 ** (exponent - 1) - 1
    infinity = (2**exponent - 1) << mantissa
    whole = bits.of(value)
    magnitude = bits.mask(whole, 2 ** (width - 1) - 1)
    # Normal: move the bias, add a little less than half of the last place, and its parity.
    odd = bits.mask(bits.right(magnitude, dropped), 1)
    moved = bits.number((2 ** (dropped - 1) - 1) - ((bias - 15) << mantissa))
    normal = bits.right(bits.add(bits.add(magnitude, moved), odd), dropped)
    # Subnormal: a sum with 2**-14 * 2**dropped has its last place where f16 has it.
    anchor = (bias - 14 + dropped) << mantissa
    float_anchor = bits.as_float(bits.number(anchor), type_)
    total = b.insert(arith.AddfOp(bits.as_float(magnitude, type_), float_anchor)).result
    subnormal = bits.add(bits.of(total), bits.number(-anchor))
    result = b.select(bits.below(magnitude, (bias - 14) << mantissa), subnormal, normal)
    # From 2**16 on infinity; sums above 65504 round to it by themselves.
    result = b.select(bits.below(magnitude, (bias + 16) << mantissa), result, bits.number(0x7C00))
    result = b.select(bits.below(magnitude, infinity + 1), result, bits.number(0x7E00))
    sign = bits.mask(bits.right(whole, width - 16), 0x8000)
    short = b.insert(llvm.TruncOp(b.either(result, sign), with_lanes(i16, lanes))).res
    return b.bitcast(short, with_lanes(f16, lanes))


def widen_bfloat(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """bf16 as f32, which has all its numbers."""
    lanes = lanes_of(value)
    bits = _Bits(b, 32, lanes)
    upper = b.bitcast(value, with_lanes(i16, lanes))
    upper = b.insert(llvm.ZExtOp(upper, with_lanes(i32, lanes))).res
    return bits.as_float(bits.left(upper, 16), f32)


def narrow_to_bfloat(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """f32 as bf16; of NaN the sign stays."""
    lanes = lanes_of(value)
    bits = _Bits(b, 32, lanes)
    whole = bits.of(value)
    # Add a little less than half of the last place, and its parity; carries reach infinity.
    odd = bits.mask(bits.right(whole, 16), 1)
    rounded = bits.right(bits.add(bits.add(whole, bits.number(0x7FFF)), odd), 16)
    nan = b.either(bits.mask(bits.right(whole, 16), 0x8000), bits.number(0x7FC0))
    is_number = bits.below(bits.mask(whole, 0x7FFFFFFF), 0x7F800001)
    short = b.insert(llvm.TruncOp(b.select(is_number, rounded, nan), with_lanes(i16, lanes))).res
    return b.bitcast(short, with_lanes(bf16, lanes))


def flush_to_bfloat(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """The same by the instruction of targets that multiply bf16: what is subnormal becomes zero."""
    lanes = lanes_of(value)
    whole = max(min(BFLOAT_LANES), 1 << (lanes - 1).bit_length())
    if lanes < whole:
        # The lanes behind do not count.
        filled = [*range(lanes), *[0] * (whole - lanes)]
        value = b.splat(value, whole) if lanes == 1 else b.shuffle(value, filled)
    if whole in BFLOAT_LANES:
        rounded = b.instruction(BFLOAT_LANES[whole], [value], with_lanes(bf16, whole))
    else:
        first, second = (
            flush_to_bfloat(b, b.shuffle(value, range(start, start + whole // 2)))
            for start in (0, whole // 2)
        )
        rounded = b.merge(first, second, range(whole))
    return b.first_lanes(rounded, lanes)
