"""
Vectors of numbers that become integers of 8 bits, stored together: of four vectors of 16 numbers whose bytes follow one
another in memory, or two and two, two instructions that saturate make one vector of 64 bytes.

    numbers of f32             4 registers of 16
    integers of 32 bits        4, rounded by the conversion
    integers of 16 bits        2, saturated; what is added to them as well
    integers of 8 bits         1, saturated

By itself each vector would be clamped to the bounds of the type, and stored with two more instructions.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from xdsl.dialects.builtin import f32, i16, i32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.builder import KernelBuilder, Saturated, Store
from xrelay.lowering.emit.index import lanes_of, parts_of, with_lanes
from xrelay.lowering.emit.target import Target
from xrelay.lowering.math.arithmetic import highest

TOGETHER = 4
"""As many vectors are stored at once."""
LANES, BYTES = 16, 64
"""The numbers in each, and the bytes of a register."""
MOST_ADDED = 255
"""To a number, so that sums of 16 bits saturate where those of 8 bits do."""
NEAREST = 4
"""The rounding that is set: to the nearest number, ties to even."""
ORDER = [4 * quarter + vector for vector in range(4) for quarter in range(4)]
"""Where the four bytes of each quarter of each vector lie among those of all."""


def joins_stores(target: Target) -> bool:
    """Whether there are the instructions."""
    return target.vector_bytes == BYTES


@contextmanager
def joined_stores(b: KernelBuilder) -> Generator[None]:
    """Stores of vectors of saturated numbers wait for their neighbours meanwhile."""
    assert b.waiting is None
    b.waiting = waiting = list[Store]()
    yield
    b.waiting = None
    runs: dict[tuple[SSAValue, SSAValue | None], list[tuple[int, Store]]] = {}
    for store in waiting:
        base, constant = parts_of(store.offset)
        if is_open(constant):
            b.store(store.pointer, store.offset, store.element, store.value)
        else:
            runs.setdefault((store.pointer, base), []).append((constant, store))
    for run in runs.values():
        _store_run(b, sorted(run, key=lambda each: each[0]))


def _store_run(b: KernelBuilder, run: Sequence[tuple[int, Store]]) -> None:
    """Stores vectors at offsets that are known one beside the other."""
    start = 0
    while start < len(run):
        some = run[start : start + TOGETHER]
        stores = [store for _, store in some]
        first = stores[0]
        parts = _parts([offset for offset, _ in some])
        if parts and _alike(b, [b.saturated[store.value] for store in stores]):
            joined = _joined(b, [b.saturated[store.value] for store in stores])
            size = BYTES // parts
            for part, store in enumerate(stores[:: TOGETHER // parts]):
                lanes = range(part * size, (part + 1) * size)
                value = b.shuffle(joined, lanes) if parts > 1 else joined
                b.store(store.pointer, store.offset, store.element, value)
            start += TOGETHER
        else:
            b.store(first.pointer, first.offset, first.element, first.value)
            start += 1


def _parts(offsets: Sequence[int]) -> int:
    """How many pieces of memory so many vectors fill as lie at some offsets: one, or two of equal size; 0 for others."""
    if len(offsets) < TOGETHER:
        return 0
    follows = [other - one == LANES for one, other in pairwise(offsets)]
    if all(follows):
        return 1
    return 2 if follows[0] and follows[2] else 0


def _alike(b: KernelBuilder, vectors: Sequence[Saturated]) -> bool:
    first = vectors[0]
    return abs(first.added) <= MOST_ADDED and all(
        (each.added, each.kind) == (first.added, first.kind)
        and first.kind.bits == 8
        and lanes_of(each.number) == LANES
        for each in vectors
    )


def _joined(b: KernelBuilder, vectors: Sequence[Saturated]) -> SSAValue:
    """The bytes of four vectors."""
    first = vectors[0]
    wide = [_whole(b, each) for each in vectors]
    short = with_lanes(i16, 2 * LANES)
    halves = [
        b.instruction("llvm.x86.avx512.packssdw.512", pair, short) for pair in (wide[:2], wide[2:])
    ]
    if first.added:
        added = b.constant(i16, first.added, 2 * LANES)
        halves = [b.instruction("llvm.sadd.sat.v32i16", [half, added], short) for half in halves]
    name = f"llvm.x86.avx512.pack{'ss' if first.kind.signed else 'us'}wb.512"
    packed = b.instruction(name, halves, with_lanes(first.kind.compute, BYTES))
    quarters = b.bitcast(packed, with_lanes(i32, LANES))
    return b.bitcast(b.shuffle(quarters, ORDER), with_lanes(first.kind.compute, BYTES))


def _whole(b: KernelBuilder, vector: Saturated) -> SSAValue:
    """Integers of 32 bits; the lowest for what they do not hold, which is NaN or far below."""
    x, rounding = vector.number, b.constant(i32, NEAREST)
    if not vector.is_bounded:
        most = b.constant(f32, float(highest(vector.kind) - vector.added), LANES)
        # Of NaN and a number this instruction gives the second operand.
        x = b.instruction("llvm.x86.avx512.min.ps.512", [most, x, rounding], x.type)
    none, all_lanes = b.constant(i32, 0, LANES), b.constant(i16, -1)
    return b.instruction(
        "llvm.x86.avx512.mask.cvtps2dq.512", [x, none, all_lanes, rounding], with_lanes(i32, LANES)
    )
