"""Sorting in kernels: the order of some keys in memory, by merging."""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from xrelay.lowering.builder import Index, KernelBuilder
from xrelay.lowering.context import KernelContext
from xrelay.lowering.elements import Element
from xrelay.lowering.evaluate import Buffer
from xrelay.lowering.format import row_major
from xrelay.lowering.interpolation import INDEX

KeyAt = Callable[[Index], SSAValue]
"""Computes the key of an element, a floating-point number."""


def order_scratch(ctx: KernelContext, capacity: int) -> tuple[Buffer, Buffer]:
    """Memory of each thread for the order of at most `capacity` elements, and as much again."""
    format = row_major((max(capacity, 1),))
    return ctx.private_scratch(INDEX, format), ctx.private_scratch(INDEX, format)


def descending(
    b: KernelBuilder,
    key_at: KeyAt,
    kind: Element,
    count: Index,
    capacity: int,
    scratch: tuple[Buffer, Buffer],
) -> Buffer:
    """
    The indices of the first `count` keys in descending order; equal ones keep their order, NaN is
    last. Runs of sorted indices are merged, twice as long in every pass.
    """
    passes = max(capacity - 1, 0).bit_length()
    source, target = scratch if passes % 2 == 0 else (scratch[1], scratch[0])
    with b.loop(0, count) as i:
        b.store(source.pointer, i, INDEX, b.index(i))
    for turn in range(passes):
        _merge_runs(b, key_at, kind, count, 2**turn, source, target)
        source, target = target, source
    return source


def _merge_runs(
    b: KernelBuilder,
    key_at: KeyAt,
    kind: Element,
    count: Index,
    length: int,
    source: Buffer,
    target: Buffer,
) -> None:
    last = b.sub(count, 1)

    def entry(place: Index) -> tuple[SSAValue, SSAValue]:
        """The index at a place, and its key; of the last place for those after it."""
        index = b.load(source.pointer, b.smaller(place, last), INDEX, 1)
        return index, key_at(index)

    with b.loop(0, count, 2 * length) as start:
        middle = b.smaller(b.add(start, length), count)
        stop = b.smaller(b.add(start, 2 * length), count)

        def step(place: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left, right = values
            (first, first_key), (second, second_key) = entry(left), entry(right)
            is_nan = b.is_nan(first_key)
            better = b.either(
                b.compare_floats(first_key, "olt", second_key),
                b.both(is_nan, b.negate(b.is_nan(second_key))),
            )
            takes_right = b.both(
                b.compare_index(right, "slt", stop),
                b.either(b.compare_index(left, "sge", middle), better),
            )
            b.store(target.pointer, place, INDEX, b.select(takes_right, second, first))
            return [
                b.select(takes_right, left, b.index(b.add(left, 1))),
                b.select(takes_right, b.index(b.add(right, 1)), right),
            ]

        b.fold(start, stop, 1, [b.index(start), b.index(middle)], step)
