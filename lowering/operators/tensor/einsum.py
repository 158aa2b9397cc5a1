"""Kernel code of Einstein sums: loops over the result around loops over what is summed."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.transform import field_shapes


def _einsum(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, EinsumOp)
    b, equation, shapes = ctx.b, op.parsed, field_shapes(op.data)
    out_shape, kind = shape_of(op.result), element_of(op.result)
    lengths, computed = equation.lengths(shapes), wide(kind)
    summed = equation.summed

    def one(coords: tuple[Index, ...]) -> None:
        def step(indices: tuple[Index, ...], state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = dict(zip([*equation.output, *summed], [*coords, *indices], strict=True))
            product: SSAValue | None = None
            for i, (labels, shape) in enumerate(zip(equation.inputs, shapes, strict=True)):
                own = [
                    0 if certainly(d, 1) else place[n] for n, d in zip(labels, shape, strict=True)
                ]
                value = convert(b, ctx.ev.get((op.data, i), at(shape, own)), kind, computed)
                product = value if product is None else multiply(b, product, value, computed)
            assert product is not None, "an equation has an operand"
            return [add(b, state[0], product, computed)]

        initial = [b.constant(computed.compute, 0)]
        (total,) = b.fold_nest([lengths[label] for label in summed], initial, step)
        sink(at(out_shape, coords), convert(b, total, computed, kind))

    ctx.tasks(out_shape, one)


STRATEGIES: dict[type[Operation], Strategy] = {
    EinsumOp: (Implementation("loops", _einsum),),
}
