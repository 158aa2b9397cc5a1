"""Kernel code of the short-time Fourier transform: sums of products with a table of the circle."""

from collections.abc import Sequence
from math import pi, sqrt

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.tensor.stft import StftOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.math.interpolation import real
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.math.trigonometry import cos, sin


def _stft(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, StftOp)
    b, kind = ctx.b, element_of(op.data)
    computed = wide(kind)
    size, hop, length = op.lengths
    shape, out_shape = shape_of(op.data), shape_of(op.result)
    table = [ctx.scratch(computed, row_major((length,))) for _ in range(2)]
    factor = 1 / sqrt(size) if op.normalized.value.data else 1.0

    def circle(coords: tuple[Index, ...]) -> None:
        turn = b.constant(REAL.compute, 2 * pi / length)
        angle = multiply(b, real(b, coords[0]), turn, REAL)
        minus = Lanes.of(b, angle).neg(sin(b, angle))
        for buffer, value in zip(table, (cos(b, angle), minus), strict=True):
            b.store(buffer.pointer, coords[0], computed, convert(b, value, REAL, computed))

    def one(coords: tuple[Index, ...]) -> None:
        batch, frequency, frame = coords
        start, turn = b.mul(frame, hop), b.mod(frequency, length)

        def step(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = at(shape, (batch, b.add(start, i)))
            x = convert(b, ctx.ev.get((op.data, 0), place), kind, computed)
            w = convert(b, ctx.ev.get((op.window, 0), at((length,), (i,))), kind, computed)
            product = multiply(b, x, w, computed)
            sums: list[SSAValue] = []
            for buffer, total in zip(table, state[1:], strict=True):
                part = b.load(buffer.pointer, state[0], computed, 1)
                sums.append(add(b, total, multiply(b, product, part, computed), computed))
            return [b.index(b.mod(b.add(state[0], turn), length)), *sums]

        zero = b.constant(computed.compute, 0)
        totals = b.fold(0, length, 1, [b.index(0), zero, zero], step)[1:]
        for part, total in enumerate(totals):
            if factor != 1.0:
                total = multiply(b, total, b.constant(computed.compute, factor), computed)
            sink(at(out_shape, (*coords, part)), convert(b, total, computed, kind))

    ctx.tasks((length,), circle)
    ctx.barrier()
    ctx.tasks(out_shape[:3], one)


STRATEGIES: dict[type[Operation], Strategy] = {StftOp: (Implementation("loops", _stft),)}
