"""Layouts: how the axes of a tensor are ordered and split, and the change from one to another."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import Tensor, Text, operand, prop
from xrelay.dialects.shapes import dimension_product, ranked, same_dimension, with_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

IMAGE = "NCHW"
"""The layout of images that is not blocked: batch, channels, height, width."""

MOST = 1000
"""Layouts that are kept; programs have few, which are asked for again and again."""


@dataclass(frozen=True)
class LayoutAxis:
    """One axis of a layout: a whole one, or what is left of one (`C`), or a block of it (`16c`)."""

    name: str
    """The upper-case letter of the axis that this is, or is a part of."""
    block: int | None = None
    """The length of a block; None for the axis itself."""


@dataclass(frozen=True)
class Layout:
    """
    The axes of a tensor from the outermost on. An upper-case letter is an axis; a number with the
    lower-case letter is a block of that many consecutive elements of the axis, whose upper-case
    letter counts the blocks: in NCHW16c, channel c lies at [c // 16] of C and [c % 16] of 16c.
    The last block is padded when its axis is not a multiple of it.

    Source: TVM's `tir.Layout`.
    """

    axes: tuple[LayoutAxis, ...]

    _PART: ClassVar = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")

    @classmethod
    @lru_cache(MOST)
    def parse(cls, text: str, what: str) -> "Layout":
        """
        The layout that `text` states; `what` names the property in errors.

        Raises VerifyException for other characters, axes that occur twice, and blocks of axes that
        do not occur.
        """
        axes: list[LayoutAxis] = []
        end = 0
        while match := cls._PART.match(text, end):
            end = match.end()
            whole, block, part = match.groups()
            axes.append(LayoutAxis(whole) if whole else LayoutAxis(part.upper(), int(block)))
        if end < len(text) or not axes:
            raise VerifyException(
                f"'{what}' is \"{text}\", expected axes in upper case and blocks as a number and "
                'an axis in lower case, as in "NCHW16c"'
            )
        if len({(axis.name, axis.block is None) for axis in axes}) < len(axes):
            raise VerifyException(f"'{what}' is \"{text}\", which has an axis or its block twice")
        whole_axes = {axis.name for axis in axes if axis.block is None}
        for axis in axes:
            if axis.name not in whole_axes:
                raise VerifyException(
                    f"'{what}' is \"{text}\", which has a block of {axis.name} without {axis.name}"
                )
        return cls(tuple(axes))

    def __str__(self) -> str:
        parts = [a.name if a.block is None else f"{a.block}{a.name.lower()}" for a in self.axes]
        return "".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The axes before they are split, in order."""
        return tuple(axis.name for axis in self.axes if axis.block is None)

    @property
    def blocks(self) -> dict[str, int]:
        """The length of the blocks of each axis that is split."""
        return {axis.name: axis.block for axis in self.axes if axis.block is not None}

    def index(self, name: str, *, block: bool = False) -> int:
        """Where an axis, or the block of one, stands."""
        found = self.find(name, block=block)
        assert found is not None
        return found

    def find(self, name: str, *, block: bool = False) -> int | None:
        """Where an axis, or the block of one, stands; None when it does not occur."""
        for i, axis in enumerate(self.axes):
            if axis.name == name and (axis.block is not None) == block:
                return i
        return None

    def last(self, count: int) -> "Layout":
        """The layout of a tensor that has the last `count` axes only."""
        return Layout(self.axes[len(self.axes) - count :])

    def lengths(self, shape: Sequence[int]) -> dict[str, int]:
        """The length of each axis of a tensor in this layout before it is split, with padding."""
        blocks = self.blocks
        return {
            name: dimension_product((shape[self.index(name)], blocks.get(name, 1)))
            for name in self.names
        }

    def shape(self, lengths: dict[str, int]) -> list[int]:
        """The shape in this layout of a tensor whose axes have some lengths."""
        blocks = self.blocks
        return [
            block_count(lengths[axis.name], blocks.get(axis.name))
            if axis.block is None
            else axis.block
            for axis in self.axes
        ]


def block_count(length: int, lanes: int | None) -> int:
    """How many blocks of `lanes` an axis has, the last one padded; its length when not blocked."""
    if lanes is None or length == DYNAMIC_INDEX:
        return length
    return -(-length // lanes)


def blocked_image(lanes: int) -> str:
    """The layout of images with blocks of `lanes` channels innermost: NCHW16c."""
    return f"{IMAGE}{lanes}c"


def blocked_lanes(layout: Layout) -> int | None:
    """How many channels a block has in the layout NCHW{x}c; None in other layouts."""
    lanes = layout.blocks.get("C")
    return lanes if lanes is not None and str(layout) == blocked_image(lanes) else None


def layout_of(attribute: StringAttr, what: str, canonical: str, splits: str = "") -> Layout:
    """
    The layout that a property states: the axes of the layout `canonical` in any order, of which
    those in `splits` may have blocks. `what` names the property in the VerifyException for others.
    """
    layout = Layout.parse(attribute.data, what)
    if sorted(layout.names) != sorted(canonical):
        raise VerifyException(
            f'\'{what}\' is "{attribute.data}", expected the axes of "{canonical}" in any order'
        )
    for name in layout.blocks:
        if name not in splits:
            raise VerifyException(
                f"'{what}' is \"{attribute.data}\", which splits {name}; "
                + (f"only {splits} may be split" if splits else "no axis may be split")
            )
    return layout


def canonical_shape(value: SSAValue, what: str, layout: Layout, canonical: str) -> list[int]:
    """
    The lengths of the axes `canonical` of a tensor in `layout`. `what` names the operand in the
    VerifyException for other ranks and for blocks of other lengths.
    """
    if str(layout) != canonical:
        what = f"{what} in the layout {layout}"
    type_ = ranked(value, what, len(layout.axes))
    shape = type_.get_shape()
    for name, block in layout.blocks.items():
        length = shape[layout.index(name, block=True)]
        if not same_dimension(length, block):
            raise VerifyException(f"{what} is {type_}, expected blocks of {block} along {name}")
    lengths = layout.lengths(shape)
    return [lengths[name] for name in canonical]


def shape_in_layout(shape: Sequence[int], what: str, layout: Layout, canonical: str) -> list[int]:
    """
    The shape in `layout` of a tensor whose axes `canonical` have the lengths `shape`. `what` names
    the layout in the VerifyException for lengths that blocks do not divide.
    """
    lengths = dict(zip(canonical, shape, strict=True))
    for name, block in layout.blocks.items():
        if lengths[name] != DYNAMIC_INDEX and lengths[name] % block:
            raise VerifyException(
                f"'{what}' has blocks of {block} along {name}, which do not divide the length "
                f"{lengths[name]}"
            )
    return layout.shape(lengths)


def padded_shape(shape: Sequence[int], layout: Layout, canonical: str) -> list[int]:
    """
    The shape in `layout` of a tensor whose axes `canonical` have the lengths `shape`, with padding
    after those that blocks do not divide.
    """
    return layout.shape(dict(zip(canonical, shape, strict=True)))


@irdl_op_definition
class LayoutTransformOp(RelayOp):
    """
    `data`, which is in the layout `src_layout`, in the layout `dst_layout`. Both have the same
    axes. An axis whose length is no multiple of its new block is padded with zeros at its end; an
    axis that is no longer split keeps its padding: NCHW → NCHW16c → NCHW has a multiple of 16
    channels.

    Source: Relay's `layout_transform`.
    """

    name = "relay.layout_transform"

    data: Tensor = operand()
    src_layout: Text = prop()
    dst_layout: Text = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def layouts(self) -> tuple[Layout, Layout]:
        """The layouts of `data` and of the result."""
        source = Layout.parse(self.src_layout.data, "src_layout")
        target = Layout.parse(self.dst_layout.data, "dst_layout")
        if set(source.names) != set(target.names):
            raise VerifyException(
                f"'dst_layout' is \"{self.dst_layout.data}\", expected the axes of 'src_layout', "
                f'"{self.src_layout.data}"'
            )
        return source, target

    def infer_type(self) -> Attribute:
        source, target = self.layouts
        data = ranked(self.data, "'data'", len(source.axes))
        shape = data.get_shape()
        for name, block in source.blocks.items():
            length = shape[source.index(name, block=True)]
            if not same_dimension(length, block):
                raise VerifyException(
                    f"'data' is {data}, which has blocks of {length} along {name}, "
                    f"'src_layout' is \"{self.src_layout.data}\""
                )
        return with_shape(data, target.shape(source.lengths(shape)))
