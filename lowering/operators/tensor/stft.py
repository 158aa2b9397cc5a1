"""Kernel code of the short-time Fourier transform: sums of products with a table of the circle."""

from collections.abc import Sequence
from math import pi, sqrt

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.tensor.stft import StftOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, element, wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.trigonometry import cos, sin

REAL = element(f64)


def _stft(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, StftOp)
    b, kind = ctx.b, element_of(op.data)
    computed = wide(kind)
    size, hop, length = op.lengths
    shape, out_shape = shape_of(op.data), shape_of(op.result)
    table = [ctx.scratch(computed, row_major((length,))) for _ in range(2)]
    factor = 1 / sqrt(size) if op.normalized.value.data else 1.0

    def circle(coords: tuple[Index, ...]) -> None:
        turn = b.constant(f64, 2 * pi / length)
        angle = b.insert(arith.MulfOp(convert(b, b.index(coords[0]), INDEX, REAL), turn)).result
        minus = b.insert(arith.NegfOp(sin(b, angle))).result
        for buffer, value in zip(table, (cos(b, angle), minus), strict=True):
            b.store(buffer.pointer, coords[0], computed, convert(b, value, REAL, computed))

    def one(coords: tuple[Index, ...]) -> None:
        batch, frequency, frame = coords
        start, turn = b.mul(frame, hop), b.mod(frequency, length)

        def step(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = at(shape, (batch, b.add(start, i)))
            x = convert(b, ctx.ev.get((op.data, 0), place), kind, computed)
            w = convert(b, ctx.ev.get((op.window, 0), at((length,), (i,))), kind, computed)
            product = b.insert(arith.MulfOp(x, w)).result
            sums: list[SSAValue] = []
            for buffer, total in zip(table, state[1:], strict=True):
                part = b.load(buffer.pointer, state[0], computed, 1)
                sums.append(
                    b.insert(
                        arith.AddfOp(total, b.insert(arith.MulfOp(product, part)).result)
                    ).result
                )
            return [b.index(b.mod(b.add(state[0], turn), length)), *sums]

        zero = b.constant(computed.compute, 0)
        totals = b.fold(0, length, 1, [b.index(0), zero, zero], step)[1:]
        for part, total in enumerate(totals):
            if factor != 1.0:
                scale = b.constant(computed.compute, factor)
                total = b.insert(arith.MulfOp(total, scale)).result
            sink(at(out_shape, (*coords, part)), convert(b, total, computed, kind))

    ctx.tasks((length,), circle)
    ctx.barrier()
    ctx.tasks(out_shape[:3], one)


STRATEGIES: dict[type[Operation], Strategy] = {StftOp: (Implementation("loops", _stft),)}
