"""
Random small programs of numbers, empty tensors and single elements, of all dtypes, with the constants that algebra gets
wrong: NaN, infinities, zeros of both signs, the extremes of integers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attribute_programs import DTYPES, AttributeProgram
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor import binary, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.interpreters.arrays import element_type_of
from xrelay.interpreters.numerics import highest, is_float, lowest

SHAPES = ((), (), (1,), (3,), (2, 1), (2, 2), (3, 3), (0,), (0, 3), (2, 0, 1))
ALL_DTYPES = (*DTYPES, "bfloat16")

UNARY = (
    *(unary.AbsOp, unary.NegativeOp, unary.SignOp, unary.ReluOp, unary.CopyOp, unary.FloorOp, unary.RoundOp),
    *(unary.ExpOp, unary.LogOp, unary.SqrtOp, unary.RsqrtOp, unary.TanhOp, unary.SigmoidOp, unary.LogicalNotOp),
)  # fmt: skip
BINARY = (
    *(binary.AddOp, binary.SubtractOp, binary.MultiplyOp, binary.DivideOp, binary.MaximumOp, binary.MinimumOp),
    *(binary.FloorDivideOp, binary.TruncDivideOp, binary.FloorModOp, binary.ModOp, binary.PowerOp),
    *(binary.LeftShiftOp, binary.RightShiftOp, binary.BitwiseAndOp, binary.BitwiseXorOp, binary.LogicalAndOp),
)  # fmt: skip
COMPARISONS = (binary.EqualOp, binary.NotEqualOp, binary.LessOp, binary.GreaterEqualOp)
REDUCTIONS = (
    *(reduction.SumOp, reduction.ProdOp, reduction.MaxOp, reduction.MinOp, reduction.MeanOp),
    *(reduction.AllOp, reduction.AnyOp, reduction.ArgmaxOp, reduction.ArgminOp),
)  # fmt: skip


class CornerProgram(AttributeProgram):
    """A program of few elements."""

    least = 0

    def scalar(self) -> SSAValue:
        extremes = lowest(self.dtype), highest(self.dtype)
        odd = (np.nan, -0.0, 0.5, -1) if is_float(self.dtype) else (7,)
        return self.c(self.one_of(0, 1, 1, 2, 4, *extremes, *odd), self.dtype)

    def changed(self, x: SSAValue) -> SSAValue | None:
        return self.attempt(lambda: self.one_of(*UNARY)(x))

    def combined(self, x: SSAValue) -> SSAValue | None:
        pair = (x, self.one_of(self.scalar(), self.scalar(), self.one_of(*self.values)))
        return self.attempt(lambda: self.one_of(*BINARY)(*pair[:: self.one_of(1, 1, -1)]))

    def compared(self, x: SSAValue) -> SSAValue | None:
        found = self.attempt(lambda: self.one_of(*COMPARISONS)(x, self.along(x)))
        return found and self.back(found)

    def reduced(self, x: SSAValue) -> SSAValue | None:
        rank = len(x.type.get_shape())
        axis = self.one_of(None, [self.number(-rank, rank - 1)]) if rank else None
        options = {"keepdims": self.likely(0.5), "exclude": self.likely(0.2)}
        found = self.attempt(lambda: self.one_of(*REDUCTIONS)(x, axis, **options))
        return found and self.back(found)

    def back(self, value: SSAValue) -> SSAValue:
        """A value as one of the type of the program."""
        wanted = element_type_of(self.dtype)
        return value if value.type.element_type == wanted else self.op(unary.CastOp(value, wanted))

    def twice(self, x: SSAValue) -> SSAValue | None:
        """Two results of one kind of operator on one value, which differ in an attribute only."""
        rank, kind = len(x.type.get_shape()), self.one_of(*REDUCTIONS)
        if not rank:
            return None
        build = self.one_of(
            lambda: unary.ClipOp(x, self.one_of(-1, 0, 1), self.one_of(2, 3)),
            lambda: kind(x, [self.number(0, rank - 1)], keepdims=True),
            lambda: transform.TransposeOp(x, self.rng.permutation(rank).tolist()),
        )
        found = [each for each in (self.attempt(build), self.attempt(build)) if each is not None]
        self.values.extend(self.back(each) for each in found[1:])
        return self.back(found[0]) if found else None

    def folded(self, x: SSAValue) -> SSAValue | None:
        """An operator on constants."""
        return self.attempt(lambda: self.one_of(*BINARY)(self.scalar(), self.along(x)))

    def widened(self, x: SSAValue) -> SSAValue | None:
        shape = (self.one_of(0, 1, 2), *x.type.get_shape())
        return self.attempt(lambda: transform.BroadcastToOp(x, shape))

    def stacked(self, x: SSAValue) -> SSAValue | None:
        fields = self.op(TupleOp([x, self.one_of(x, self.recent())]))
        return self.attempt(lambda: transform.StackOp(fields, axis=0))

    def flattened(self, x: SSAValue) -> SSAValue | None:
        return self.attempt(
            lambda: ReshapeOp(x, [int(np.prod(x.type.get_shape()))], allowzero=True)
        )


def corner_program(seed: int, dtype: str, size: int = 4) -> CornerProgram:
    """A program whose arithmetic is of one dtype."""
    p = CornerProgram(seed, dtype)
    p.values.append(p.x(*p.one_of(*SHAPES), dtype=dtype))
    steps: Sequence[Any] = (
        *(p.changed, p.changed, p.combined, p.combined, p.combined, p.reduced, p.reduced, p.compared, p.folded, p.twice),
        *(p.scaled, p.shifted, p.joined, p.divided, p.cast, p.clipped, p.filled, p.chosen, p.widened, p.stacked),
        *(p.reshaped, p.transposed, p.sliced, p.parts, p.repeated, p.named, p.known, p.concatenated, p.flattened),
    )  # fmt: skip
    p.grow(steps, size)
    p.finish()
    return p
