"""
Orders of elements in which kernels read their weights.

Weights are known when a model is compiled, so a kernel gets them in the order in which its inner
loop reads them: in *panels* of as many output channels as the loop computes at once, padded with
zeros. A packing is only a description, part of the lowered program; `pack` carries it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xrelay.lowering.emit.winograd_matrices import weight_matrix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic[Any]]


@dataclass(frozen=True)
class Packing(ABC):
    """An order of the elements of a tensor, with zeros between them."""

    name: ClassVar[str]
    """What the order is called."""

    @abstractmethod
    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the packed tensor."""

    @abstractmethod
    def pack(self, weights: Array) -> Array:
        """The packed tensor."""

    def byte_size(self, shape: tuple[int, ...], own: int) -> int:
        """The size of the packed tensor, of one of elements of a size."""
        return prod(self.packed_shape(shape)) * own

    def __str__(self) -> str:
        stated = [getattr(self, each.name) for each in fields(self)]
        while fields(self)[len(stated) - 1].default == stated[-1]:
            stated.pop()
        return f"{self.name}<{', '.join(map(str, stated))}>"


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


def _shifted(panels: Array, group: int, shift: int) -> Array:
    """
    Panels [..., steps, panel * group] of bytes with a row before the first: the 32-bit integers that the sums
    of images begin with whose elements are too large by `shift`.
    """
    if not shift:
        return panels
    import numpy as np

    *outer, steps, width = panels.shape
    weights = panels.reshape(*outer, steps, width // group, group)
    sums = weights.sum((-3, -1), dtype=np.int32) * np.int32(-shift)
    first = np.ascontiguousarray(sums).view(panels.dtype)
    return np.concatenate([first.reshape(*outer, 1, width), panels], axis=-2)


@dataclass(frozen=True)
class MatrixPanels(Packing):
    """
    [N, K], or [K, N] when `by_rows`, to [N / panel, K / group, panel, group]; so each matrix of a batch
    [B, …].
    """

    name: ClassVar[str] = "matrix_panels"
    panel: int
    by_rows: bool
    group: int = 1
    """How many neighbours along the depth lie together."""
    shift: int = 0
    """By how much the elements of the image are too large: each panel begins with what undoes it."""
    together: int = 1
    """A depth of no multiple of so many groups is filled up with zeros."""

    def _steps(self, depth: int) -> int:
        return blocks(depth, self.group * self.together) * self.together

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        *batch, rows, depth = shape
        columns, depth = (depth, rows) if self.by_rows else (rows, depth)
        steps = self._steps(depth) + bool(self.shift)
        return *batch, blocks(columns, self.panel), steps, self.panel * self.group

    def pack(self, weights: Array) -> Array:
        matrices = weights.swapaxes(-1, -2) if self.by_rows else weights
        *batch, columns, depth = matrices.shape
        panel, group = self.panel, self.group
        count, steps = blocks(columns, panel), self._steps(depth)
        padded = _padded(_padded(matrices, -2, count * panel), -1, steps * group)
        parted = padded.reshape(*batch, count, panel, steps, group).swapaxes(-2, -3)
        return _shifted(parted.reshape(*batch, count, steps, panel * group), group, self.shift)


@dataclass(frozen=True)
class BitPanels(Packing):
    """
    Rows [N, bytes] of numbers of a few bits to panels of words of 32 bits, as `MatrixPanels` with a group of four. The numbers
    of a word are in such an order that those of the same place in each of `group` parts of the word are neighbours:

        number group * j + i of a word:  its part i, bits j * bits and up
    """

    name: ClassVar[str] = "bit_panels"
    panel: int
    bits: int
    group: int

    @property
    def _panels(self) -> MatrixPanels:
        return MatrixPanels(self.panel, by_rows=False, group=4)

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._panels.packed_shape(shape)

    def pack(self, weights: Array) -> Array:
        import numpy as np

        words = _padded(weights, 1, blocks(weights.shape[1], 4) * 4).view("<u4")
        parts, result = 32 // self.group, np.zeros_like(words)
        for number in range(32 // self.bits):
            place, part = divmod(number, self.group)
            value = words >> np.uint32(number * self.bits) & np.uint32(2**self.bits - 1)
            result |= value << np.uint32(part * parts + place * self.bits)
        return self._panels.pack(result.view(np.uint8))


@dataclass(frozen=True)
class ConvolutionPanels(Packing):
    """
    [O, I, KH, KW] to [groups, O / groups / panel, I / lanes, KH, KW, lanes / group, panel, group], for
    images of `lanes` channels per block. For images that are not in blocks a group are taps of a row: to
    [groups, O / groups / panel, I, KH, KW / group, panel, group].
    """

    name: ClassVar[str] = "convolution_panels"
    panel: int
    lanes: int
    groups: int
    group: int = 1
    """How many neighbours in an image lie together."""
    shift: int = 0
    """By how much the elements of the image are too large: each panel begins with what undoes it."""
    together: int = 1
    """A depth of no multiple of so many groups is filled up with zeros."""

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        out_channels, depth, height, width = shape
        panels = blocks(out_channels // self.groups, self.panel)
        if self.lanes == 1:
            width = blocks(width, self.group) * self.group
        elements = blocks(depth, self.lanes) * self.lanes * height * width
        steps = blocks(elements // self.group, self.together) * self.together + bool(self.shift)
        return self.groups, panels, steps, self.panel * self.group

    def pack(self, weights: Array) -> Array:
        groups, panels, rows, step = self.packed_shape(weights.shape)
        panel, lanes, group = self.panel, self.lanes, self.group
        split = weights.reshape(groups, weights.shape[0] // groups, *weights.shape[1:])
        padded = _padded(split, 1, panels * panel)
        depth, height, width = weights.shape[1:]
        if lanes == 1:
            width = blocks(width, group)
            padded = _padded(padded, 4, width * group)
            parted = padded.reshape(groups, panels, panel, depth, height, width, group)
            ordered = parted.transpose(0, 1, 3, 4, 5, 2, 6)
        else:
            depth = blocks(depth, lanes)
            padded = _padded(padded, 2, depth * lanes)
            parts = depth, lanes // group, group, height, width
            parted = padded.reshape(groups, panels, panel, *parts)
            ordered = parted.transpose(0, 1, 3, 6, 7, 4, 2, 5)
        steps = ordered.reshape(groups, panels, prod(ordered.shape[2:]) // step, step)
        return _shifted(_padded(steps, 2, rows - bool(self.shift)), group, self.shift)


@dataclass(frozen=True)
class DepthwiseBlocks(Packing):
    """[C, 1, KH, KW] to [C / lanes, KH / group, KW, lanes, group]."""

    name: ClassVar[str] = "depthwise_blocks"
    lanes: int
    group: int = 1
    """How many neighbours in a column of the filter lie together."""

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        channels, _, rows, columns = shape
        return (
            blocks(channels, self.lanes),
            blocks(rows, self.group),
            columns,
            self.lanes * self.group,
        )

    def pack(self, weights: Array) -> Array:
        count, rows, columns, step = self.packed_shape(weights.shape)
        lanes, group = self.lanes, self.group
        padded = _padded(_padded(weights, 0, count * lanes), 2, rows * group)
        parted = padded.reshape(count, lanes, rows, group, columns)
        return parted.transpose(0, 2, 4, 1, 3).reshape(count, rows, columns, step)


@dataclass(frozen=True)
class WinogradPanels(Packing):
    """
    [O, I, 3, 3], transformed for F(m x m, 3 x 3), to
    [O / panel, (m + 2)^2, I, panel]: one matrix for every component of a tile.
    """

    name: ClassVar[str] = "winograd_panels"
    tile: int
    panel: int

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return blocks(shape[0], self.panel), (self.tile + 2) ** 2, shape[1], self.panel

    def byte_size(self, shape: tuple[int, ...], own: int) -> int:
        # What is computed has at least single precision.
        return super().byte_size(shape, max(own, 4))

    def pack(self, weights: Array) -> Array:
        """The packed tensor, computed in double precision."""
        import numpy as np

        dtype = np.float32 if weights.itemsize < 4 else weights.dtype
        count, components, depth, panel = self.packed_shape(weights.shape)
        g = np.array(weight_matrix(self.tile))
        flat = weights.reshape(-1, 9).astype(np.float64)
        transformed = (flat @ np.kron(g, g).T).astype(dtype)
        shaped = _padded(transformed.reshape(weights.shape[0], depth, components), 0, count * panel)
        return shaped.reshape(count, panel, depth, components).transpose(0, 3, 2, 1)
