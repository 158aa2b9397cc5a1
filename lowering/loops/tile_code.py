"""The code of a tile, as the loops around it (`tiles.py`) and those who write it see it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position
from xrelay.lowering.loops.micro_kernel import Meanwhile, Prefetch
from xrelay.lowering.loops.tile_grid import Place
from xrelay.lowering.loops.tiling import Tiling


@dataclass(frozen=True)
class TileAt:
    """A tile that is to be computed."""

    place: Place
    y: Index
    x: Index
    """Its first position."""
    part: Index
    """The part of the depth."""
    prefetch: Prefetch | None
    """What to bring near meanwhile."""
    tiling: Tiling
    """Its rows, columns and vectors."""
    columns: Sequence[int]
    """Which columns it has, counted from x: the last one may be there again and again."""
    is_rare: bool = False
    """Whether there are few such tiles, so that little code matters more than speed."""
    windows: SSAValue | None = None
    """The address of what was gathered of its positions, where something is."""
    width: int = 0
    """How many columns it has whose sums leave registers through memory: `tiling` says how many at most."""


TileCode: TypeAlias = Callable[[TileAt, Sequence[SSAValue]], Sequence[SSAValue]]
"""Adds a part of the depth to the registers of a tile, position by position; there are as many for
each position as the tile has vectors."""


@dataclass(frozen=True)
class Gather:
    """Code that brings together what the positions of a tile read, once for all panels of a task."""

    kind: Element
    elements: Callable[[Tiling], int]
    """How many there are for a tile."""
    write: Callable[[TileAt], None]


@dataclass(frozen=True)
class SumsInMemory:
    """Code of tiles whose sums are in registers that other code does not know, and then in memory."""

    compute: Callable[[TileAt, int, SSAValue, Meanwhile], None]
    """
    Writes the sums of a tile of a number of vectors over the whole depth to memory, position by position, after all
    else that is done meanwhile.
    """
    task: Callable[[Tiling, int], AbstractContextManager[None]]
    """What a task does around its tiles, of which it gets how many columns they have, too: the tiling says how many at most."""
    gather: Gather | None = None


StartCode: TypeAlias = Callable[[Place, int], Sequence[SSAValue]]
"""What the sums of a panel begin with, for each of a number of vectors."""

PrepareCode: TypeAlias = Callable[[Place, Index], None]
"""Brings the weights of a part of the depth of a panel to where the tiles read them."""

PlaceOf: TypeAlias = Callable[[Place, Index, Index, Index, int], Position]
"""Where the result for position (y, x) and a number of lanes of a vector of channels lies."""
