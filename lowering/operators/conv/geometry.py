"""The numbers that describe a convolution."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from xdsl.ir import Operation

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.conv.windows import Pads, may_pad, positive_pair
from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.dialects.tensor.layout import blocked_lanes
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import Halo
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.strategy import Site, unless


@dataclass(frozen=True)
class Convolution:
    """A two-dimensional convolution. Pairs are (vertical, horizontal)."""

    images: int
    groups: int
    depth: int
    """Input channels of a group."""
    out_channels: int
    size: tuple[int, int]
    """Of the input images."""
    positions: tuple[int, int]
    """Of the output images."""
    taps: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    pads: Pads
    data_lanes: int | None
    """Channels in a block of the input; None when it is not blocked."""
    out_lanes: int | None
    image: Element
    weight: Element
    kind: Element
    """Of the result."""
    open_positions: bool = False
    """Whether it is not known before the program runs how many rows or columns the output images have."""

    @staticmethod
    def of(op: Operation) -> "Convolution":
        """The geometry of an operator, which must be plain."""
        assert isinstance(op, Conv2DOp)
        data, weight, result = shape_of(op.data), shape_of(op.weight), shape_of(op.result)
        images, _, results = op.layouts
        return Convolution(
            data[0],
            op.groups.value.data,
            weight[1],
            weight[0],
            (data[2], data[3]),
            (result[2], result[3]),
            (weight[2], weight[3]),
            positive_pair(op.strides, "strides"),
            positive_pair(op.dilation, "dilation"),
            op.pads,
            blocked_lanes(images),
            blocked_lanes(results),
            element_of(op.data),
            element_of(op.weight),
            element_of(op.result),
            is_open(result[2]) or is_open(result[3]),
        )

    @staticmethod
    def at(site: Site) -> "Convolution":
        """The geometry of the operator at a site, for choices: lengths that are open are likely ones."""
        conv, actual = Convolution.of(site.likely.op), Convolution.of(site.actual)
        return replace(conv, open_positions=actual.open_positions)

    @property
    def likely(self) -> "Convolution":
        """At likely lengths."""
        height, width = self.size
        rows, columns = self.positions
        return replace(
            self,
            images=likely(self.images),
            size=(likely(height), likely(width)),
            positions=(likely(rows), likely(columns)),
        )

    @property
    def group_channels(self) -> int:
        """Output channels of a group."""
        return self.out_channels // self.groups

    @property
    def is_pointwise(self) -> bool:
        """Whether every output element meets exactly the elements at its own place."""
        return self.taps == (1, 1) and self.strides == (1, 1) and not may_pad(self.pads)

    @property
    def is_depthwise(self) -> bool:
        """Whether every channel is convolved with itself only."""
        return certainly(self.depth, 1) and certainly(self.out_channels, self.groups)

    @cached_property
    def halo(self) -> Halo:
        """How far the windows reach beyond the images; of open sizes, how far they may reach."""
        top, left, bottom, right = self.pads
        return top, left, self._behind(0, top, bottom), self._behind(1, left, right)

    def _behind(self, axis: int, before: int, pad: int) -> int:
        """How far the last window reaches beyond the end of an axis, which strides may keep it away from."""
        last = (self.positions[axis] - 1) * self.strides[axis]
        reach = last + (self.taps[axis] - 1) * self.dilation[axis] + 1 - before - self.size[axis]
        return max(0, pad if is_open(reach) else reach)

    @property
    def out_blocks(self) -> int:
        """Blocks of output channels of a group, when the result is in blocks."""
        assert self.out_lanes is not None
        return blocks(self.group_channels, self.out_lanes)

    def extents(self, *, flat: bool) -> tuple[int, int]:
        """The positions of an output image, or of one that is seen as one long row."""
        return (1, prod(self.positions)) if flat else self.positions

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compute."""
        return 0 in (self.images, self.out_channels, *self.positions)


def packing_refusal(site: Site) -> str | None:
    """For those that need constant weights."""
    assert isinstance(site.op, Conv2DOp)
    return unless(site.op.weight in site.constants, "weights not constant")


def blocks_refusal(conv: Convolution, lanes: int) -> str | None:
    """For those that need image and result in blocks of a vector of channels."""
    return unless(
        conv.data_lanes == conv.out_lanes == lanes, f"images not in blocks of {lanes} channels"
    )
