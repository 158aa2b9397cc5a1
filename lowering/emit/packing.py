"""
Orders of elements in which kernels read their weights.

Weights are known when a model is compiled, so a kernel gets them in the order in which its inner
loop reads them: in *panels* of as many output channels as the loop computes at once, padded with
zeros. A packing is only a description, part of the lowered program; `pack` carries it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from xrelay.lowering.emit.winograd_matrices import weight_matrix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic[Any]]


@dataclass(frozen=True)
class Packing(ABC):
    """An order of the elements of a tensor, with zeros between them."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the order is called."""

    @abstractmethod
    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the packed tensor."""

    @abstractmethod
    def pack(self, weights: Array) -> Array:
        """The packed tensor."""

    def elements(self, shape: tuple[int, ...]) -> int:
        """How many elements the packed tensor has."""
        return prod(self.packed_shape(shape))

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, astuple(self)))}>"


def blocks(length: int, size: int) -> int:
    """How many blocks of `size` hold `length` elements."""
    return -(-length // size)


def _padded(array: Array, axis: int, length: int) -> Array:
    if array.shape[axis] == length:
        return array
    import numpy as np

    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, length - array.shape[axis])
    return np.pad(array, widths)


@dataclass(frozen=True)
class MatrixPanels(Packing):
    """
    [N, K], or [K, N] when `by_rows`, to [N / panel, K, panel]; so each matrix of a batch [B, …].
    """

    panel: int
    by_rows: bool

    @property
    def name(self) -> str:
        """What the order is called."""
        return "matrix_panels"

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the packed tensor."""
        *batch, rows, depth = shape
        columns, depth = (depth, rows) if self.by_rows else (rows, depth)
        return *batch, blocks(columns, self.panel), depth, self.panel

    def pack(self, weights: Array) -> Array:
        """The packed tensor."""
        *batch, count, depth, panel = self.packed_shape(weights.shape)
        matrices = weights.swapaxes(-1, -2) if self.by_rows else weights
        padded = _padded(matrices, -2, count * panel)
        return padded.reshape(*batch, count, panel, depth).swapaxes(-1, -2)


@dataclass(frozen=True)
class ConvolutionPanels(Packing):
    """
    [O, I, KH, KW] to [groups, O / groups / panel, I / lanes, KH, KW, lanes, panel], for images of
    `lanes` channels per block.
    """

    panel: int
    lanes: int
    groups: int

    @property
    def name(self) -> str:
        """What the order is called."""
        return "convolution_panels"

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the packed tensor."""
        out_channels, depth, *taps = shape
        panels = blocks(out_channels // self.groups, self.panel)
        return self.groups, panels, blocks(depth, self.lanes), *taps, self.lanes, self.panel

    def pack(self, weights: Array) -> Array:
        """The packed tensor."""
        groups, panels, depth, *taps, lanes, panel = self.packed_shape(weights.shape)
        split = weights.reshape(groups, weights.shape[0] // groups, *weights.shape[1:])
        padded = _padded(_padded(split, 1, panels * panel), 2, depth * lanes)
        parted = padded.reshape(groups, panels, panel, depth, lanes, *taps)
        return parted.transpose(0, 1, 3, 5, 6, 4, 2)


@dataclass(frozen=True)
class DepthwiseBlocks(Packing):
    """[C, 1, KH, KW] to [C / lanes, KH, KW, lanes]."""

    lanes: int

    @property
    def name(self) -> str:
        """What the order is called."""
        return "depthwise_blocks"

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the packed tensor."""
        return blocks(shape[0], self.lanes), *shape[2:], self.lanes

    def pack(self, weights: Array) -> Array:
        """The packed tensor."""
        count, *taps, lanes = self.packed_shape(weights.shape)
        padded = _padded(weights, 0, count * lanes)
        return padded.reshape(count, lanes, *taps).transpose(0, 2, 3, 1)


@dataclass(frozen=True)
class WinogradPanels(Packing):
    """
    [O, I, 3, 3], transformed for F(m x m, 3 x 3), to
    [O / panel, (m + 2)^2, I, panel]: one matrix for every component of a tile.
    """

    tile: int
    panel: int

    @property
    def name(self) -> str:
        """What the order is called."""
        return "winograd_panels"

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the packed tensor."""
        return blocks(shape[0], self.panel), (self.tile + 2) ** 2, shape[1], self.panel

    def pack(self, weights: Array) -> Array:
        """The packed tensor, computed in double precision."""
        import numpy as np

        count, components, depth, panel = self.packed_shape(weights.shape)
        g = np.array(weight_matrix(self.tile))
        flat = weights.reshape(-1, 9).astype(np.float64)
        transformed = (flat @ np.kron(g, g).T).astype(weights.dtype)
        shaped = _padded(transformed.reshape(weights.shape[0], depth, components), 0, count * panel)
        return shaped.reshape(count, panel, depth, components).transpose(0, 3, 2, 1)
