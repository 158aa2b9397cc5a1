"""
f16 and bf16 to and from wider floating point in integer arithmetic, rounded to nearest, ties to even.

f16 for CPUs without instructions for it, where LLVM would call a function of the compiler's run-time
library that programs need not have. bf16 for all: `vcvtneps2bf16` takes subnormal numbers for zero.

With e exponent and m mantissa bits, f16 has 5 and 10, f32 8 and 23, f64 11 and 52. Aligned at the
sign, the magnitude of an f16 is that of a wider number with another exponent bias. bf16 is the upper half
of f32, with 8 and 7.
"""

from xdsl.dialects import llvm
from xdsl.dialects.builtin import bf16, f16, i16, i32
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import lanes_of, with_lanes
from xrelay.lowering.math.lanes import F32, Lanes

BFLOAT_LANES = {
    8: "llvm.x86.avx512bf16.cvtneps2bf16.256",
    16: "llvm.x86.avx512bf16.cvtneps2bf16.512",
}
"""Instructions that round f32 to bf16, by the number of lanes."""


def widen_half(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """f16 as f32, which has all its numbers."""
    v = Lanes(b, F32, lanes_of(value))
    half = b.bitcast(value, with_lanes(i16, v.count))
    half = b.insert(llvm.ZExtOp(half, with_lanes(i32, v.count))).res
    magnitude = v.left(v.mask(half, 0x7FFF), 13)
    # A multiplication moves the bias, and normalises subnormal numbers.
    scale = v.number(2.0**112)
    finite = v.bits(v.mul(v.float(magnitude), scale))
    special = b.either(magnitude, v.whole(F32.infinity))
    is_finite = v.below(magnitude, 0x7C00 << 13)
    sign = v.left(v.mask(half, 0x8000), 16)
    return v.float(b.either(b.select(is_finite, finite, special), sign))


def narrow_to_half(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """f32 or f64 as f16."""
    v = Lanes.of(b, value)
    format, dropped = v.format, v.format.mantissa - 10
    whole = v.bits(value)
    magnitude = v.mask(whole, format.magnitude)
    # Normal: move the bias, add a little less than half of the last place, and its parity.
    odd = v.mask(v.right(magnitude, dropped), 1)
    moved = v.whole((2 ** (dropped - 1) - 1) - ((format.bias - 15) << format.mantissa))
    normal = v.right(v.plus(v.plus(magnitude, moved), odd), dropped)
    # Subnormal: a sum with 2**-14 * 2**dropped has its last place where f16 has it.
    anchor = format.power_of_two(dropped - 14)
    float_anchor = v.float(v.whole(anchor))
    total = v.add(v.float(magnitude), float_anchor)
    subnormal = v.plus(v.bits(total), v.whole(-anchor))
    result = b.select(v.below(magnitude, format.power_of_two(-14)), subnormal, normal)
    # From 2**16 on infinity; sums above 65504 round to it by themselves.
    result = b.select(v.below(magnitude, format.power_of_two(16)), result, v.whole(0x7C00))
    result = b.select(v.below(magnitude, format.infinity + 1), result, v.whole(0x7E00))
    sign = v.mask(v.right(whole, format.bits - 16), 0x8000)
    short = b.insert(llvm.TruncOp(b.either(result, sign), with_lanes(i16, v.count))).res
    return b.bitcast(short, with_lanes(f16, v.count))


def widen_bfloat(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """bf16 as f32, which has all its numbers."""
    v = Lanes(b, F32, lanes_of(value))
    upper = b.bitcast(value, with_lanes(i16, v.count))
    upper = b.insert(llvm.ZExtOp(upper, with_lanes(i32, v.count))).res
    return v.float(v.left(upper, 16))


def narrow_to_bfloat(b: KernelBuilder, value: SSAValue) -> SSAValue:
    """f32 as bf16; of NaN the sign stays."""
    v = Lanes(b, F32, lanes_of(value))
    whole = v.bits(value)
    # Add a little less than half of the last place, and its parity; carries reach infinity.
    odd = v.mask(v.right(whole, 16), 1)
    rounded = v.right(v.plus(v.plus(whole, v.whole(0x7FFF)), odd), 16)
    nan = b.either(v.mask(v.right(whole, 16), 0x8000), v.whole(0x7FC0))
    is_number = v.below(v.mask(whole, F32.magnitude), F32.infinity + 1)
    short = b.insert(llvm.TruncOp(b.select(is_number, rounded, nan), with_lanes(i16, v.count))).res
    return b.bitcast(short, with_lanes(bf16, v.count))


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
