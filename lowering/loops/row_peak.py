"""The largest elements of rows of floating-point numbers."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import Index, lanes_of, with_lanes
from xrelay.lowering.emit.position import Coords
from xrelay.lowering.loops.reductions import (
    MAXIMUM,
    MINIMUM,
    ElementAt,
    Rows,
    Term,
    each_across_lanes,
    reduce_elements,
    reduce_to_vectors,
)


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
    terms, bits_at = _order_of_bits(ctx.b, kind, element_at)
    largest, smallest = reduce_elements(ctx, [], length, terms, bits_at)
    return _larger(ctx.b, largest, smallest, kind)


def largest_elements_of_parts(
    rows: Rows, kind: Element, elements_of: Callable[[Coords], Callable[[Index, int], SSAValue]]
) -> Callable[[Coords], SSAValue]:
    """
    The largest elements of rows whose parts the threads share: of each row, given its coordinates, in any thread. `elements_of`
    starts the code of a part.
    """

    def bits_of(row: Coords) -> ElementAt:
        return _order_of_bits(rows.b, kind, elements_of(row))[1]

    extremes = rows.reduce_parts(_terms(kind), bits_of)

    def largest_of(row: Coords) -> SSAValue:
        largest, smallest = extremes.of(row)
        return _larger(rows.b, largest, smallest, kind)

    return largest_of


Peaks: TypeAlias = tuple[SSAValue, SSAValue]
"""What is known of a row, lane by lane: the largest bits as signed integers, and the smallest as unsigned ones."""


def peaks_by_lane(
    ctx: KernelContext, length: int, kind: Element, element_at: Callable[[Index, int], SSAValue]
) -> Peaks:
    """What is to be known of a row's elements, to find the largest ones of several rows at once."""
    largest, smallest = reduce_to_vectors(ctx, length, *_order_of_bits(ctx.b, kind, element_at))
    return largest, smallest


def largest_elements(b: KernelBuilder, rows: Sequence[Peaks], kind: Element) -> SSAValue:
    """The largest elements of several rows, no more than a vector has lanes."""
    extremes = [
        each_across_lanes(b, [row[number] for row in rows], term.reducer.combine, term.kind)
        for number, term in enumerate(_terms(kind))
    ]
    return _larger(b, extremes[0], extremes[1], kind)


def _terms(kind: Element) -> list[Term]:
    bits = IntegerType(8 * kind.bytes)
    signed, unsigned = (Element(bits, bits, kind.bytes, sign) for sign in (True, False))
    return [Term(MAXIMUM, signed), Term(MINIMUM, unsigned)]


def _order_of_bits(
    b: KernelBuilder, kind: Element, element_at: Callable[[Index, int], SSAValue]
) -> tuple[list[Term], ElementAt]:
    """Elements as integers, and what is to be known of these."""
    terms = _terms(kind)

    def bits_at(_: tuple[Index, ...], offset: Index, width: int) -> SSAValue:
        return b.bitcast(element_at(offset, width), with_lanes(terms[0].kind.compute, width))

    return terms, bits_at


def _larger(b: KernelBuilder, largest: SSAValue, smallest: SSAValue, kind: Element) -> SSAValue:
    """The largest numbers, from the largest signed and the smallest unsigned bits."""
    lanes = lanes_of(largest)
    zero = b.constant(IntegerType(8 * kind.bytes), 0, lanes)
    chosen = b.select(b.compare_integers(largest, "slt", zero), smallest, largest)
    return b.bitcast(chosen, with_lanes(kind.compute, lanes))
