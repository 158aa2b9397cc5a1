"""
Weights with fewer bits than sums, for many tiles: before these, each panel is written to memory of the thread as
the type of the sums, and then read as other weights are. Converted as they are read, they would be converted for every tile.
`tiling.converts_ahead` says where that pays.
"""

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import Operands
from xrelay.lowering.loops.matrix_operands import Panels
from xrelay.lowering.loops.tiling import positions_per_block
from xrelay.lowering.math.convert import convert

WIDENING_CYCLES = 2
"""To read, convert and write a vector."""
AT_ONCE = 8
"""Vectors that are converted in a round."""


@dataclass(frozen=True)
class WidePanel(Panels):
    """The part of a panel that is in memory of the thread: the one that is multiplied."""

    def weights(self, b: object, member: Index, panel: Index, step: Index) -> Index:
        del b, member, panel, step
        return 0


def widen(
    b: KernelBuilder, dot: Operands, packed: SSAValue, room: SSAValue, vectors: int, lanes: int
) -> None:
    """Writes so many vectors of weights, which lie one after the other, as the type of the sums."""

    def some(first: Index, count: int) -> None:
        start = b.mul(first, lanes)
        source = b.address(packed, start, dot.weight.storage)
        target = b.address(room, start, dot.total.storage)
        for i in range(count):
            value = b.load(source, i * lanes, dot.weight, lanes)
            b.store(target, i * lanes, dot.total, convert(b, value, dot.weight, dot.total))

    whole, rest = divmod(vectors, AT_ONCE)
    if whole:
        with b.loop(0, whole) as i:
            some(b.mul(i, AT_ONCE), AT_ONCE)
    if rest:
        some(whole * AT_ONCE, rest)


def widening_cycles(target: Target, vectors: float, positions: int, position_bytes: int) -> float:
    """To convert so many vectors before each block of positions, which read so many bytes of the image."""
    block = positions_per_block(target, position_bytes, positions, 0, again=False)
    return blocks(positions, block) * vectors * WIDENING_CYCLES
