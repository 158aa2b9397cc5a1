"""Kernel code of packing bits: each word in a loop over the numbers that its bits come from."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn.bitserial import BitPackOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add
from xrelay.lowering.math.convert import convert


def _bitpack(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, BitPackOp)
    b, shape, out_shape = ctx.b, shape_of(op.data), shape_of(op.result)
    source, kind = element_of(op.data), element_of(op.result)
    pack_axis, bit_axis = op.axes

    def word(coords: tuple[Index, ...]) -> None:
        bit = coords[bit_axis]
        own = list(coords[:bit_axis] + coords[bit_axis + 1 :])
        first = b.mul(own[pack_axis], kind.bits)
        shift = convert(b, b.index(bit), INDEX, source)

        def digit(k: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = [*own[:pack_axis], b.add(first, k), *own[pack_axis + 1 :]]
            number = ctx.ev.get((op.data, 0), at(shape, place))
            shifted = b.insert(arith.ShRUIOp(number, shift)).result
            low = b.both(shifted, b.constant(source.compute, 1))
            doubled = add(b, values[0], values[0], kind)
            return [add(b, doubled, convert(b, low, source, kind), kind)]

        zero = b.constant(kind.compute, 0)
        sink(at(out_shape, coords), b.fold(0, kind.bits, 1, [zero], digit)[0])

    ctx.tasks(out_shape, word)


STRATEGIES: dict[type[Operation], Strategy] = {
    BitPackOp: (Implementation("words", _bitpack),),
}
