"""
Themes about what is known of shapes: operators that take them as operands, which turn out to be constants or do not, and
types that a program leaves open.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, NoneType, TensorType, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from tests.fuzz.themes.program import Steps, ThemeProgram
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.dyn import select
from xrelay.dialects.dyn import tensor as dyn
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor import binary, like, transform, unary
from xrelay.interpreters.arrays import element_type_of


class DynamicProgram(ThemeProgram):
    """Shapes as operands, which are computed by constants, by shapes of other tensors, or by parameters."""

    def start(self) -> None:
        self.values.append(
            self.x(*self.one_of((), (1,), (3,), (2, 3), (0, 3), (2, 1, 3)), dtype=self.dtype)
        )

    def steps(self) -> Steps:
        own = (self.sized,) * 4
        return (*own, self.changed, self.combined, self.reduced, self.transposed, self.sliced)

    # -- shapes -------------------------------------------------------------------------------

    def numbers_of(self, numbers: Any) -> SSAValue:
        """An operand with these elements, computed in some way."""
        dtype = self.one_of("int64", "int32")
        array = np.asarray(numbers, dtype)
        ways: list[Callable[[], SSAValue]] = [
            lambda: self.constant(array),
            lambda: self.op(binary.AddOp(self.constant(array - 2), self.c(2, dtype))),
            lambda: self.op(
                unary.CastOp(self.c(array, "float32"), element_type_of(np.dtype(dtype)))
            ),
        ]
        if array.ndim == 1 and (array >= 0).all() and array.prod(dtype="int64") < 500:
            ways += [lambda: self.shape_of_parameter(array, dtype)] * 2
        if array.ndim == 1 and len(array):
            ways.append(lambda: self.put_together(array))
            turned = [-1], [-len(array) - 1], [-1]
            ways.append(
                lambda: self.op(
                    transform.StridedSliceOp(self.constant(array[::-1].copy()), *turned)
                )
            )
        return self.one_of(*ways)()

    def shape_of_parameter(self, array: Any, dtype: str) -> SSAValue:
        """The shape of a parameter, whose elements do not count."""
        return self.op(
            like.ShapeOfOp(
                self.x(*array.tolist(), dtype=self.dtype), element_type_of(np.dtype(dtype))
            )
        )

    def put_together(self, array: Any) -> SSAValue:
        """A concatenation of two parts."""
        cut = self.number(0, len(array))
        both = self.op(TupleOp([self.constant(part) for part in (array[:cut], array[cut:])]))
        return self.op(transform.ConcatenateOp(both, axis=0))

    def unknown(self, count: int) -> SSAValue:
        """Lengths from 1 to 3 that are decided when the program runs."""
        return self.op(unary.ClipOp(self.x(count, dtype="int64"), 1, 3))

    # -- operators ----------------------------------------------------------------------------

    def sized(self, x: SSAValue) -> SSAValue | None:
        """An operator whose operands decide its shape, and what uses the result."""
        shape = list(x.type.get_shape())
        ways = (self.filled_to, self.spread, self.flat, self.cut, self.tiled, self.grown, self.squeezed,
                self.bordered, self.chosen_most, self.marked)  # fmt: skip
        value = self.made(lambda: self.one_of(*ways)(x, shape))
        if value is not None:
            self.returns(self.followed(self.followed(value)))
        return None

    def followed(self, value: SSAValue) -> SSAValue:
        """A value, or what an operator makes of it."""
        return self.likely(0.5) and self.made(lambda: self.follow(value)) or value

    def made(self, build: Callable[[], Operation]) -> SSAValue | None:
        """The result of an operator, whose lengths need not be known; None when it is refused."""
        try:
            op = build()
            op.verify()
        except VerifyException:
            return None
        if isinstance(op, RelayOp) and op.undefined() is not None:
            return None
        return self.op(op)

    def follow(self, value: SSAValue) -> Operation:
        """An operator on a value whose shape may not be known."""
        return self.one_of(
            lambda: self.one_of(unary.NegativeOp, unary.CopyOp, unary.ReluOp, unary.AbsOp)(value),
            lambda: binary.AddOp(value, self.one_of(value, self.scalar())),
            lambda: like.ShapeOfOp(value, self.one_of(i32, i64)),
            lambda: dyn.DynOnesOp(self.op(like.ShapeOfOp(value, i64)), element_type_of(self.dtype)),
            lambda: transform.ConcatenateOp(self.op(TupleOp([value, value])), axis=-1),
            lambda: dyn.DynReshapeOp(value, self.numbers_of([-1])),
        )()

    def lengths(self) -> list[int]:
        return [self.one_of(0, 1, 2, 3) for _ in range(self.number(0, 3))]

    def filled_to(self, x: SSAValue, shape: list[int]) -> Operation:
        size = self.numbers_of(self.lengths()) if self.likely(0.8) else self.unknown(2)
        dtype = element_type_of(self.dtype)
        return self.one_of(
            lambda: dyn.DynFullOp(self.scalar(), size),
            lambda: dyn.DynOnesOp(size, dtype),
            lambda: dyn.DynZerosOp(size, dtype),
        )()

    def spread(self, x: SSAValue, shape: list[int]) -> Operation:
        if not shape and self.likely(0.3):
            return dyn.DynBroadcastToOp(x, self.unknown(2))
        wider = [self.one_of(0, 1, 2)] * self.number(0, 2)
        return dyn.DynBroadcastToOp(
            x, self.numbers_of(wider + [n if n != 1 else self.number(0, 3) for n in shape])
        )

    def flat(self, x: SSAValue, shape: list[int]) -> Operation:
        if 0 in shape:
            return dyn.DynReshapeOp(x, self.numbers_of(shape[::-1]), allowzero=True)
        return dyn.DynReshapeOp(
            x, self.numbers_of(self.one_of([-1], [1, -1], shape[::-1], [*shape, 1]))
        )

    def cut(self, x: SSAValue, shape: list[int]) -> Operation:
        axes = [axis for axis in range(len(shape)) if self.likely(0.6)]
        begin = [self.number(-1, 1) for _ in axes]
        end = [self.number(0, shape[axis]) for axis in axes]
        steps = [self.one_of(1, 1, 2, -1) for _ in axes]
        return dyn.DynStridedSliceOp(x, *map(self.numbers_of, (begin, end, steps)), axes=axes)

    def tiled(self, x: SSAValue, shape: list[int]) -> Operation:
        count = self.number(0, len(shape) + 1)
        reps = self.unknown(count) if self.likely(0.2) else self.numbers_of(self.lengths()[:count])
        return dyn.DynTileOp(x, reps)

    def grown(self, x: SSAValue, shape: list[int]) -> Operation:
        place = self.numbers_of(self.number(-len(shape) - 1, len(shape)))
        return dyn.DynExpandDimsOp(x, place, num_newaxis=self.number(0, 2))

    def squeezed(self, x: SSAValue, shape: list[int]) -> Operation:
        axes = [axis for axis, n in enumerate(shape) if n == 1 and self.likely(0.7)]
        return dyn.DynSqueezeOp(x, self.numbers_of(axes))

    def bordered(self, x: SSAValue, shape: list[int]) -> Operation:
        widths = self.numbers_of(self.rng.integers(0, 3, (len(shape), 2)))
        return select.DynPadOp(x, widths, self.scalar(), pad_mode=self.one_of("constant", "edge"))

    def chosen_most(self, x: SSAValue, shape: list[int]) -> Operation:
        axis = self.number(0, max(len(shape) - 1, 0))
        count = self.numbers_of(self.number(0, min(shape, default=0)))
        kind = self.one_of("values", "indices")
        return select.DynTopkOp(x, count, axis=axis, ret_type=kind, is_ascend=self.likely(0.5))

    def marked(self, x: SSAValue, shape: list[int]) -> Operation:
        places, depth = self.x(*shape, dtype="int32"), self.numbers_of(self.number(0, 4))
        return select.DynOneHotOp(
            places, self.scalar(), self.scalar(), depth, dtype=element_type_of(self.dtype)
        )


def with_open_types(module: ModuleOp, random: Random) -> None:
    """Leaves out some of what the types of results say: lengths, or everything."""
    for op in list(module.walk()):
        if not isinstance(op, RelayOp) or random.random() < 0.4:
            continue
        (result,) = op.results
        stated = result.type
        users = [use.operation for use in result.uses]
        # What is no operator states types of its own.
        if not is_tensor_type(stated) or not all(
            isinstance(each, RelayOp | func.ReturnOp) for each in users
        ):
            continue
        shape = [DYNAMIC_INDEX if random.random() < 0.6 else n for n in stated.get_shape()]
        open_type = NoneType() if random.random() < 0.3 else TensorType(stated.element_type, shape)
        value = Rewriter.replace_value_with_new_type(result, open_type)
        try:
            _stated_as_returned(users)
            module.verify()
        except VerifyException:
            # What uses it asks for the length.
            Rewriter.replace_value_with_new_type(value, stated)
            _stated_as_returned(users)


def _stated_as_returned(users: Sequence[Operation]) -> None:
    """Gives functions the types of what they return."""
    for user in users:
        function = user.parent_op()
        if isinstance(user, func.ReturnOp) and isinstance(function, func.FuncOp):
            function.update_function_type()
