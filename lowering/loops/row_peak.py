"""The largest element of a row of floating-point numbers."""

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import Index, with_lanes
from xrelay.lowering.loops.reductions import MAXIMUM, MINIMUM, Term, reduce_elements


def largest_element(
    ctx: KernelContext, length: int, kind: Element, element_at: Callable[[Index, int], SSAValue]
) -> SSAValue:
    """
    The largest of `length` elements, of which `element_at(offset, lanes)` gives neighbours. A NaN
    may count as larger or smaller than all numbers.

    The bits of numbers, read as integers, have their order where there is a positive one, and the
    opposite order where there is none: two integer instructions for each vector instead of six that
    a maximum of floating-point numbers takes.
    """
    b = ctx.b
    bits = IntegerType(8 * kind.bytes)
    signed, unsigned = (Element(bits, bits, kind.bytes, sign) for sign in (True, False))

    def bits_at(_: tuple[Index, ...], offset: Index, width: int) -> SSAValue:
        return b.bitcast(element_at(offset, width), with_lanes(bits, width))

    terms = [Term(MAXIMUM, signed), Term(MINIMUM, unsigned)]
    largest, smallest = reduce_elements(ctx, [], length, terms, bits_at)
    below_zero = b.compare_integers(largest, "slt", b.constant(bits, 0))
    return b.bitcast(b.select(below_zero, smallest, largest), kind.compute)
