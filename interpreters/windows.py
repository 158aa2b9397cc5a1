"""Sliding windows over the last two axes of an image, for convolution and pooling."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xrelay.dialects.windows import Pads, window_output
from xrelay.interpreters.arrays import Array


@dataclass(frozen=True)
class Windows:
    """Where the windows lie on an image: `size` elements in `dilation` steps, at `strides`."""

    size: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    pads: Pads
    ceil_mode: bool = False

    def counts(self, image: tuple[int, int]) -> tuple[int, int]:
        """How many windows there are on each axis of an image."""
        height, width = window_output(
            image, self.size, self.strides, self.dilation, self.pads, ceil_mode=self.ceil_mode
        )
        return height, width

    def pad(self, images: Array, value: Any) -> Array:
        """`images` [..., H, W] within a border of `value` that all windows fit into."""
        *outer, height, width = images.shape
        top, left, bottom, right = self.pads
        reach = [
            (count - 1) * stride + (size - 1) * dilation + 1
            for count, stride, size, dilation in zip(
                self.counts((height, width)), self.strides, self.size, self.dilation, strict=True
            )
        ]
        rows, columns = max(top + height + bottom, reach[0]), max(left + width + right, reach[1])
        if (rows, columns) == (height, width):
            return images
        result = np.full((*outer, rows, columns), value, images.dtype)
        result[..., top : top + height, left : left + width] = images
        return result

    def taps(self, padded: Array, image: tuple[int, int]) -> Iterator[Array]:
        """
        For each position inside of a window, in row-major order, the elements [..., OH, OW] of
        `padded` images (originally of size `image`) that all windows have there.
        """
        rows, columns = (
            (count - 1) * stride + 1
            for count, stride in zip(self.counts(image), self.strides, strict=True)
        )
        for i in range(self.size[0]):
            for j in range(self.size[1]):
                y, x = i * self.dilation[0], j * self.dilation[1]
                yield padded[..., y : y + rows : self.strides[0], x : x + columns : self.strides[1]]

    def inside(self, image: tuple[int, int], *, include_pads: bool) -> Array:
        """How many elements of each window lie on an image, or on it and its padding."""
        counts: list[Array] = []
        for axis, windows in enumerate(self.counts(image)):
            before, after = self.pads[axis], self.pads[axis + 2]
            starts = np.arange(windows) * self.strides[axis]
            positions = starts[:, None] + np.arange(self.size[axis]) * self.dilation[axis]
            first, end = before, before + image[axis]
            if include_pads:
                first, end = 0, end + after
            counts.append(((positions >= first) & (positions < end)).sum(axis=1))
        return np.outer(*counts)
