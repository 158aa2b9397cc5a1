"""Sliding windows over the last axes of an image, for convolution and pooling."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from xrelay.dialects.conv.windows import Pads, window_output
from xrelay.interpreters.arrays import Array


@dataclass(frozen=True)
class Windows:
    """
    Where the windows lie on an image: `size` elements in `dilation` steps, at `strides`. Each has
    a number for every spatial axis; these are the last axes of an image.
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: Pads
    ceil_mode: bool = False

    @property
    def axes(self) -> int:
        """How many spatial axes there are."""
        return len(self.size)

    def image(self, images: Array) -> tuple[int, ...]:
        """The lengths of the spatial axes."""
        return images.shape[images.ndim - self.axes :]

    def counts(self, image: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are on each axis of an image."""
        return tuple(
            window_output(
                image, self.size, self.strides, self.dilation, self.pads, ceil_mode=self.ceil_mode
            )
        )

    def pad(self, images: Array, value: Any) -> Array:
        """`images` [..., H, W] within a border of `value` that all windows fit into."""
        image = self.image(images)
        before, after = self.pads[: self.axes], self.pads[self.axes :]
        lengths: list[int] = []
        for axis, count in enumerate(self.counts(image)):
            reach = (count - 1) * self.strides[axis] + (self.size[axis] - 1) * self.dilation[axis]
            lengths.append(max(before[axis] + image[axis] + after[axis], reach + 1))
        if tuple(lengths) == image:
            return images
        result = np.full((*images.shape[: images.ndim - self.axes], *lengths), value, images.dtype)
        inside = [slice(start, start + n) for start, n in zip(before, image, strict=True)]
        result[(..., *inside)] = images
        return result

    def taps(self, padded: Array, image: Sequence[int]) -> Iterator[Array]:
        """
        For each position inside of a window, in row-major order, the elements [..., OH, OW] of
        `padded` images (originally of size `image`) that all windows have there.
        """
        for place in self.places(self.counts(image)):
            yield padded[(..., *place)]

    def places(self, counts: Sequence[int]) -> Iterator[tuple[slice, ...]]:
        """
        Where in padded images windows, `counts` of them on each axis, have their elements: for each
        position inside of a window, in row-major order.
        """
        for tap in np.ndindex(*self.size):
            yield tuple(
                slice(i * gap, i * gap + (count - 1) * step + 1, step)
                for i, gap, count, step in zip(
                    tap, self.dilation, counts, self.strides, strict=True
                )
            )

    def inside(self, image: Sequence[int], *, include_pads: bool) -> Array:
        """How many elements of each window lie on an image, or on it and its padding."""
        counts: list[Array] = []
        for axis, windows in enumerate(self.counts(image)):
            before, after = self.pads[axis], self.pads[axis + self.axes]
            starts = np.arange(windows) * self.strides[axis]
            positions = starts[:, None] + np.arange(self.size[axis]) * self.dilation[axis]
            first, end = before, before + image[axis]
            if include_pads:
                first, end = 0, end + after
            counts.append(((positions >= first) & (positions < end)).sum(axis=1))
        return reduce(np.multiply.outer, counts)
