"""Random programs of what the rules of `simplify-expr` look for, of all dtypes and shapes: empty ones and scalars, too."""

from attribute_programs import AttributeProgram
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.conversion import QnnDequantizeOp
from xrelay.dialects.tensor import binary, like, unary
from xrelay.dialects.tensor.creation import FullOp, OnesLikeOp, OnesOp, ZerosLikeOp, ZerosOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.reduce import ArgmaxOp, ArgminOp
from xrelay.dialects.tensor.reshape import ReshapeOp, ReverseReshapeOp
from xrelay.dialects.tensor.sort import ArgsortOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.interpreters.arrays import element_type_of

SHAPES = ((), (3,), (3, 4), (1, 4), (0, 3), (2, 1, 6), (1, 4, 2, 2), (2, 3, 0, 4), (1, 2, 2, 2, 4))
LAYOUTS = {
    4: (("NCHW", "NHWC"), ("NHWC", "NCHW"), ("NCHW", "NCHW4c"), ("NCHW", "NCHW2c")),
    5: (("NCHW4c", "NCHW"), ("NCHW4c", "NHWC"), ("NCHW4c", "NCHW2c"), ("NCHW4c", "NHWC4c")),
}
ARITHMETIC = (
    *(binary.AddOp, binary.SubtractOp, binary.MultiplyOp, binary.DivideOp, binary.MaximumOp),
    *(binary.FloorModOp, binary.PowerOp, binary.BitwiseXorOp, binary.LogicalAndOp),
)


class AlgebraProgram(AttributeProgram):
    """A program under construction."""

    least = 0

    def filled(self, x: SSAValue) -> SSAValue | None:
        """An operator on a tensor of one number, on either side."""
        shape, t = x.type.get_shape(), element_type_of(self.dtype)
        kind = self.one_of(
            lambda: ZerosOp(shape, t),
            lambda: OnesOp(shape, t),
            lambda: ZerosLikeOp(x),
            lambda: OnesLikeOp(x),
            lambda: FullOp(self.scalar(), shape, t),
            lambda: FullOp(self.c(2.5), shape, t),
            lambda: like.FullLikeOp(x, self.one_of(self.scalar, lambda: self.c(2.5))()),
        )
        pair = (x, self.op(kind()))
        op = self.one_of(*ARITHMETIC)
        return self.attempt(lambda: op(*pair[:: self.one_of(1, -1)]))

    def alike(self, x: SSAValue) -> SSAValue | None:
        """The shape or the type of another value."""
        flat = self.op(ReshapeOp(x, [-1])) if 0 not in x.type.get_shape() else x
        kind = self.one_of(
            lambda: like.ReshapeLikeOp(flat, self.recent()),
            lambda: like.BroadcastToLikeOp(self.along(x), x),
            lambda: like.CollapseSumLikeOp(x, self.along(x)),
            lambda: like.CastLikeOp(self.any_type(x), x),
        )
        return self.attempt(kind)

    def any_type(self, x: SSAValue) -> SSAValue:
        """A value in another type, or in several, one after the other."""
        for _ in range(self.number(1, 2)):
            to = self.x(1, dtype=self.one_of("int8", "uint8", "int32", "float32", "float64"))
            x = self.op(
                like.CastLikeOp(x, to)
                if self.likely(0.5)
                else unary.CastOp(x, to.type.element_type)
            )
        return x

    def rooted(self, x: SSAValue) -> SSAValue | None:
        root = self.attempt(lambda: unary.SqrtOp(self.along(x)))
        return root and self.attempt(lambda: binary.DivideOp(x, root))

    def polynomial(self, x: SSAValue) -> SSAValue | None:
        """a * x * x + b * x * y + c * y * y, often with roots."""
        y = self.one_of(self.along(x), *(each for each in self.values if each.type == x.type))
        numbers = self.one_of((1, 2, 1), (1, 3, 2), (6, 5, 1), (1, 1, 1), (2, 1, 3), (1, 0, 1))
        terms: list[SSAValue] = []
        for number, (one, other) in zip(numbers, ((x, x), (x, y), (y, y)), strict=True):
            product = self.op(binary.MultiplyOp(one, other))
            factor = self.c(number, self.dtype)
            terms.append(product if number == 1 else self.op(binary.MultiplyOp(factor, product)))
        first, second, third = (terms[place] for place in self.rng.permutation(3))
        return self.attempt(lambda: binary.AddOp(self.op(binary.AddOp(first, second)), third))

    def summed(self, x: SSAValue) -> SSAValue | None:
        """Constants added one after the other, or a value to itself."""
        if self.likely(0.3):
            return self.op(binary.AddOp(x, x))
        for _ in range(self.number(2, 3)):
            pair = (x, self.scalar() if self.likely(0.6) else self.along(x))
            x = self.op(binary.AddOp(*pair[:: self.one_of(1, -1)]))
        return x

    def moved(self, x: SSAValue) -> SSAValue | None:
        """Reshapes or transposes, one after the other."""
        for _ in range(self.number(1, 3)):
            x = self.attempt(self.move, x) or x
        return x

    def move(self, x: SSAValue) -> Operation:
        rank = len(x.type.get_shape())
        match self.number(0, 3):
            case 0:
                return ReshapeOp(x, self.one_of([-1], [2, -1], [-1, 4], [0, -1]))
            case 1:
                return ReverseReshapeOp(x, self.one_of([-1], [2, -1], [-1, 0]))
            case 2 if rank in LAYOUTS:
                return LayoutTransformOp(x, *self.one_of(*LAYOUTS[rank]))
            case _:
                return TransposeOp(x, self.rng.permutation(rank).tolist())

    def ordered(self, x: SSAValue) -> SSAValue | None:
        """The order of quantised numbers."""
        shape, dtype = x.type.get_shape(), self.one_of("int8", "uint8", "int16", "int32")
        if not shape:
            return None
        axis = self.number(0, len(shape) - 1)
        scale = self.one_of(0.5, -1.0, 2.0, 0.0, 1e-40, 1e37)
        scales = self.c(scale) if self.likely(0.7) else self.positive(shape[axis])
        zero = self.c(self.one_of(0, 7, -128), "int32")
        numbers = self.x(*shape, dtype=dtype)
        meant = self.op(QnnDequantizeOp(numbers, scales, zero, axis=axis))
        along = self.number(0, len(shape) - 1)
        places = self.attempt(
            self.one_of(
                lambda: ArgmaxOp(meant, [along], keepdims=True, select_last_index=self.likely(0.5)),
                lambda: ArgminOp(meant, [along], exclude=self.likely(0.5)),
                lambda: ArgsortOp(meant, axis=along, is_ascend=self.likely(0.5), dtype=i32),
            )
        )
        return places and self.op(unary.CastOp(places, element_type_of(self.dtype)))


def random_program(seed: int, dtype: str, size: int = 10) -> AlgebraProgram:
    """A program whose arithmetic is of one dtype."""
    p = AlgebraProgram(seed, dtype)
    p.values.append(p.x(*p.one_of(*SHAPES), dtype=dtype))
    p.values.append(p.x(*p.one_of(*SHAPES), dtype=dtype))
    steps = (p.filled, p.filled, p.alike, p.alike, p.rooted, p.polynomial, p.summed, p.scaled)
    steps += (p.moved, p.moved, p.ordered, p.shifted, p.divided, p.cast, p.clipped, p.copied)
    p.grow(steps, size)
    p.finish()
    return p
