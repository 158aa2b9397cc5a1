"""Images with zeros around them, in memory."""

from math import prod

from xdsl.ir import SSAValue

from xrelay.dialects.shapes import is_empty
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import NO_HALO, Halo, with_halo
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position
from xrelay.lowering.math.convert import convert


def clear_halo(ctx: KernelContext, buffer: Buffer) -> None:
    """Writes the zeros around the images of a buffer; nothing where it has no halo."""
    format = buffer.format
    if format.halo == NO_HALO or is_empty(format.shape):
        return
    b, shape = ctx.b, format.shape
    top, left, bottom, right = format.halo
    row, column = format.strides[2], format.strides[3]

    def image(indices: tuple[Index, ...]) -> None:
        origin = buffer.origin(b, indices)
        before = top * row + left * column
        ctx.clear(buffer, b.sub(origin, before), before)
        # Right of one row and left of the next is one piece.
        gap = (right + left) * column
        if gap:
            with b.loop(0, shape[2] - 1) as y:
                end = b.add(b.add(origin, b.mul(y, row)), shape[3] * column)
                ctx.clear(buffer, end, gap)
        end = b.add(origin, (shape[2] - 1) * row + shape[3] * column)
        ctx.clear(buffer, end, right * column + bottom * row)

    ctx.tasks(shape[:2], image)


def with_zeros(ctx: KernelContext, value: SSAValue, halo: Halo, kind: Element) -> Buffer:
    """
    A tensor operand with at least the given zeros around its images and elements of type `kind`:
    where it lies, if it has them there, or as a copy in scratch memory.
    """
    buffer = ctx.placed(value)
    enough = all(has >= wanted for has, wanted in zip(buffer.format.halo, halo, strict=True))
    if enough and buffer.element == kind:
        return buffer
    b, shape, source = ctx.b, shape_of(value), element_of(value)
    copy = ctx.scratch(kind, with_halo(shape, halo))
    clear_halo(ctx, copy)
    length = prod(shape[3:])

    def elements(indices: tuple[Index, ...], start: Index, width: int) -> None:
        position = Position(shape, indices, start, width)
        number = convert(b, ctx.ev.get((value, 0), position), source, kind)
        ctx.store(copy, position, number)

    ctx.vector_tasks(shape[:3], length, ctx.target.lanes(kind.bytes), elements)
    ctx.barrier()
    return copy
