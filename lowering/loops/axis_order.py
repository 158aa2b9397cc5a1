"""
Tensors whose axes lie in another order than kernels name them, or are in blocks.

Kernels of convolution and pooling are written for one order of axes, such as NCDHW. `AxisOrder` tells
where an element lies in the layout that an operator states, and `sink_in_order` hands results on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xrelay.dialects.tensor.layout import Layout
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Sink


@dataclass(frozen=True)
class AxisOrder:
    """Where the elements of a tensor with the axes `names` lie in `layout`."""

    names: str = ""
    layout: Layout | None = None
    """None for the order of the names."""

    @property
    def is_identity(self) -> bool:
        """Whether the tensor has its axes in the order of the names."""
        if self.layout is None:
            return True
        return not self.layout.blocks and self.layout.names == tuple(self.names)

    @property
    def keeps_rows(self) -> bool:
        """Whether neighbours along the last named axis are neighbours in the layout."""
        if self.layout is None:
            return True
        last = self.names[-1]
        return self.layout.axes[-1].name == last and last not in self.layout.blocks

    def canonical(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The lengths of the named axes of a tensor whose shape in the layout is `shape`."""
        if self.layout is None:
            return tuple(shape)
        lengths = self.layout.lengths(shape)
        return tuple(lengths[name] for name in self.names)

    def named(self, b: KernelBuilder, coords: Sequence[Index]) -> list[Index]:
        """Coordinates on the named axes for those in the layout."""
        if self.layout is None:
            return list(coords)
        layout, result = self.layout, list[Index]()
        for name in self.names:
            place = coords[layout.index(name)]
            if name in layout.blocks:
                part = coords[layout.index(name, block=True)]
                place = b.add(b.mul(place, layout.blocks[name]), part)
            result.append(place)
        return result

    def stated(self, b: KernelBuilder, coords: Sequence[Index]) -> list[Index]:
        """Coordinates in the layout for those on the named axes."""
        if self.layout is None:
            return list(coords)
        places = dict(zip(self.names, coords, strict=True))
        blocks = self.layout.blocks
        return [
            b.div(places[axis.name], blocks.get(axis.name, 1))
            if axis.block is None
            else b.mod(places[axis.name], axis.block)
            for axis in self.layout.axes
        ]


FIRST_TO_LAST = AxisOrder()
"""The axes as they are named."""


def in_order(ctx: KernelContext, value: SSAValue, order: AxisOrder) -> Buffer:
    """A tensor operand in memory, row-major with its axes in the order of the names."""
    if order.is_identity:
        return ctx.in_memory(value)
    b, shape = ctx.b, order.canonical(shape_of(value))
    buffer = ctx.scratch(element_of(value), row_major(shape))

    def element(coords: tuple[Index, ...]) -> None:
        found = ctx.ev.get((value, 0), at(shape_of(value), order.stated(b, coords)))
        ctx.store(buffer, at(shape, coords), found)

    ctx.tasks(shape, element)
    ctx.barrier()
    return buffer


def sink_in_order(b: KernelBuilder, sink: Sink, shape: Sequence[int], order: AxisOrder) -> Sink:
    """
    Takes elements of a result with the named axes, and hands them to a sink for a tensor whose
    shape in the layout is `shape`.
    """
    if order.is_identity:
        return sink

    def store(position: Position, value: SSAValue) -> None:
        if position.lanes == 1 or (order.keeps_rows and position.in_row):
            coords = order.stated(b, position.coords(b))
            sink(at(shape, coords, position.lanes), value)
            return
        for i in range(position.lanes):
            store(position.lane(b, i), b.lane(value, i))

    return store
