"""
Random small programs, as data: a list of steps, each of which names a production and chooses its operands.

    ("unary", 0, 0, 0), ("dense", 0, 1, 0), ("sum", 0, 0, 1)   ──►   tanh, dense, sum; the last is returned

A number chooses among what fits, the latest value first: 0 everywhere makes a chain. So Hypothesis makes
programs smaller by smaller numbers, and by steps of the kind `nothing`. Values are shared, unused, returned
twice; matrices are square, so that a wrong axis does not show in a shape.
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, TupleType, f32, f64, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MaximumOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, SumOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.sort import CumsumOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import AbsOp, CastOp, NegativeOp, ReluOp, TanhOp
from xrelay.interpreters.arrays import Array, constant_op, type_of

Step = tuple[str, int, int, int]
"""A production, and what its choices are made by."""
Shape = tuple[int, ...]

UNARY = (TanhOp, ReluOp, NegativeOp, AbsOp)
BINARY = (AddOp, MultiplyOp, SubtractOp, MaximumOp)
REDUCTIONS = (SumOp, MeanOp, MaxOp)
IMAGE_LAYOUTS = {4: "NCHW", 5: "NCHW4c"}
"""By rank."""
LARGEST = 200
"""Elements of a value, at most."""

ELEMENTWISE = ("unary", "unary", "binary", "binary", "binary", "scaled")
MOVING = ("transpose", "flatten", "expand", "concatenate", "split", "slice")
TUPLES = ("tuple", "field", "field")
REDUCING = ("reduce", "centered")
COMPLEX = ("dense", "softmax")
FUSIBLE = (
    *ELEMENTWISE,
    *ELEMENTWISE,
    *MOVING,
    *TUPLES,
    *REDUCING,
    *COMPLEX,
    "constant",
    "bias",
    "cast",
)
"""What a block of a program is made of, as often as it should occur."""
SQUARE: tuple[Shape, ...] = ((3, 3), (3, 3), (3,))
IMAGES: tuple[Shape, ...] = ((1, 2, 4, 4), (1, 2, 4, 4), (1, 1, 4, 4))
BLOCKED: tuple[Shape, ...] = ((1, 2, 2, 3, 4), (1, 1, 2, 3, 4))
"""Images whose channels are in blocks of four."""


class RandomGraph:
    """A function under construction, and inputs for it."""

    def __init__(self, shapes: Sequence[Shape], helpers: Sequence[func.FuncOp] = ()):
        self.rng = np.random.default_rng(len(shapes))
        self.inputs: list[Array] = [
            self.rng.standard_normal(shape).astype(np.float32) for shape in shapes
        ]
        self.helpers = helpers
        self.block = Block(arg_types=[type_of(array) for array in self.inputs])
        self.values: list[SSAValue] = list(self.block.args)
        """The tensors so far."""
        self.tuples: list[SSAValue] = []

    # -- choosing -----------------------------------------------------------------------------

    def op(self, op: Operation) -> SSAValue:
        """Adds an operation with one result, which later steps may use."""
        self.block.add_op(op)
        (result,) = op.results
        (self.tuples if isinstance(result.type, TupleType) else self.values).append(result)
        return result

    def within(self, op: Operation) -> SSAValue:
        """Adds an operation that only this step uses."""
        self.block.add_op(op)
        return op.results[0]

    def constant(self, *shape: int) -> Operation:
        return constant_op(self.rng.standard_normal(shape).astype(np.float32))

    def pick(
        self, number: int, fits: Callable[[SSAValue], bool] = lambda value: True
    ) -> SSAValue | None:
        """One of the tensors that fit, the latest for 0."""
        fitting = [value for value in self.values if fits(value)]
        return fitting[-1 - number % len(fitting)] if fitting else None

    def typed(self, number: int, type_: Attribute) -> SSAValue:
        """A tensor of the type of a parameter."""
        found = self.pick(number, lambda value: value.type == type_)
        assert found is not None
        return found

    def ranked(self, number: int, rank: int) -> SSAValue | None:
        """A tensor of a rank, or of a greater one."""
        return self.pick(number, lambda value: len(shape_of(value)) >= rank)

    def add(self, step: Step) -> None:
        """One more step. What nothing fits becomes the negative of a value."""
        name, a, b, c = step
        if name == "nothing":
            return
        production: Callable[[int, int, int], SSAValue | None] = getattr(self, f"make_{name}")
        if production(a, b, c) is None:
            self.make_unary(a, b, 2)

    # -- productions --------------------------------------------------------------------------

    def make_unary(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a)
        return None if value is None else self.op(UNARY[c % len(UNARY)](value))

    def make_binary(self, a: int, b: int, c: int) -> SSAValue | None:
        one = self.pick(a)
        assert one is not None
        other = self.pick(b, lambda value: broadcast(shape_of(one), shape_of(value)))
        assert other is not None
        pair = (other, one) if c // len(BINARY) % 2 else (one, other)
        return self.op(BINARY[c % len(BINARY)](*pair))

    def make_product(self, a: int, b: int, c: int) -> SSAValue | None:
        """A product or a quotient."""
        one = self.pick(a)
        assert one is not None
        other = self.pick(b, lambda value: broadcast(shape_of(one), shape_of(value)))
        assert other is not None
        return self.op((MultiplyOp, DivideOp)[c % 2](one, other))

    def make_scaled(self, a: int, b: int, c: int) -> SSAValue | None:
        """A product with a scalar constant, which others may use, too, when `c` is odd."""
        value = self.pick(a)
        assert value is not None
        factor = (self.op if c % 2 else self.within)(self.constant())
        return self.op(MultiplyOp(value, factor))

    def make_constant(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a)
        assert value is not None
        return self.op(self.constant(*(() if c % 2 else shape_of(value))))

    def make_bias(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.ranked(a, 1)
        if value is None:
            return None
        axis = c % len(shape_of(value))
        row = self.pick(b, lambda each: shape_of(each) == shape_of(value)[axis : axis + 1])
        return None if row is None else self.op(BiasAddOp(value, row, axis=axis))

    def make_cast(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a)
        assert value is not None
        return self.op(CastOp(self.within(CastOp(value, f64)), f32))

    def make_transpose(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.ranked(a, 2)
        return None if value is None else self.op(TransposeOp(value))

    def make_flatten(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.ranked(a, 2)
        return (
            None
            if value is None
            else self.op(ReshapeOp(value, [prod(shape_of(value))], allowzero=True))
        )

    def make_expand(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a, lambda value: len(shape_of(value)) < 4)
        if value is None:
            return None
        return self.op(ExpandDimsOp(value, c % (len(shape_of(value)) + 1)))

    def make_concatenate(self, a: int, b: int, c: int) -> SSAValue | None:
        one = self.ranked(a, 1)
        if one is None:
            return None
        shape, axis = shape_of(one), c % len(shape_of(one))

        def fits(value: SSAValue) -> bool:
            found = shape_of(value)
            others = (*found[:axis], *shape[axis : axis + 1], *found[axis + 1 :])
            return len(found) == len(shape) and others == shape and prod(found) <= LARGEST // 3

        other = self.pick(b, fits)
        if other is None or prod(shape) > LARGEST // 3:
            return None
        fields = [one, other, one] if c % 5 == 4 else [one, other]
        return self.op(ConcatenateOp(self.within(TupleOp(fields)), axis=axis))

    def make_split(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a, lambda value: any(size and size % 2 == 0 for size in shape_of(value)))
        if value is None:
            return None
        axes = [axis for axis, size in enumerate(shape_of(value)) if size and size % 2 == 0]
        return self.op(SplitOp(value, 2, axis=axes[c % len(axes)]))

    def make_slice(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a, lambda value: any(size > 1 for size in shape_of(value)))
        if value is None:
            return None
        axes = [axis for axis, size in enumerate(shape_of(value)) if size > 1]
        axis = axes[c % len(axes)]
        return self.op(StridedSliceOp(value, [b % 2], [shape_of(value)[axis]], axes=[axis]))

    def make_reduce(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.ranked(a, 1)
        if value is None or 0 in shape_of(value):
            return None
        axis = b % len(shape_of(value))
        kind = REDUCTIONS[c % len(REDUCTIONS)]
        return self.op(kind(value, axis=[axis], keepdims=bool(c // 3 % 2)))

    def make_centered(self, a: int, b: int, c: int) -> SSAValue | None:
        """A value less what it is reduced to along an axis."""
        value = self.ranked(a, 1)
        if value is None or 0 in shape_of(value):
            return None
        axis = b % len(shape_of(value))
        kind = REDUCTIONS[c % len(REDUCTIONS)]
        return self.op(SubtractOp(value, self.op(kind(value, axis=[axis], keepdims=True))))

    def make_dense(self, a: int, b: int, c: int) -> SSAValue | None:
        data = self.pick(a, lambda value: len(shape_of(value)) == 2)
        if data is None:
            return None
        width = shape_of(data)[1]
        weight = self.pick(b, lambda value: shape_of(value)[1:] == (width,))
        if weight is None or len(shape_of(weight)) != 2:
            weight = data
        if shape_of(data)[0] * shape_of(weight)[0] > LARGEST:
            return None
        return self.op(TanhOp(self.op(DenseOp(data, weight))))

    def make_softmax(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.ranked(a, 1)
        if value is None or 0 in shape_of(value):
            return None
        return self.op(SoftmaxOp(value, axis=c % len(shape_of(value))))

    def make_opaque(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.ranked(a, 1)
        return None if value is None else self.op(CumsumOp(value, c % len(shape_of(value))))

    def make_stop(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a)
        assert value is not None
        return self.op(StopFusionOp(value))

    def make_let(self, a: int, b: int, c: int) -> SSAValue | None:
        value = self.pick(a)
        return None if value is None else self.op(LetOp(value))

    def make_tuple(self, a: int, b: int, c: int) -> SSAValue | None:
        """A pair of tensors, now and then of a tuple and a tensor."""
        one, other = self.pick(a), self.pick(b)
        assert one is not None and other is not None
        first = self.tuples[-1 - a % len(self.tuples)] if self.tuples and c % 4 == 3 else one
        return self.op(TupleOp([first, other]))

    def make_field(self, a: int, b: int, c: int) -> SSAValue | None:
        """A field of a tuple of before, or of one of two values."""
        source = self.tuples[-1 - a % len(self.tuples)] if self.tuples else self.make_tuple(a, b, 0)
        assert source is not None and isinstance(source.type, TupleType)
        return self.op(TupleGetItemOp(source, c % len(source.type.types.data)))

    def make_conv(self, a: int, b: int, c: int) -> SSAValue | None:
        """Of images, or of those whose channels are in blocks of four."""
        data = self.pick(a, lambda value: is_image(shape_of(value)))
        if data is None:
            return None
        shape = shape_of(data)
        block = prod(shape[4:])
        taps = 3 if c % 2 else 1
        weight = self.within(self.constant(block * (1 + b % 3), block * shape[1], taps, taps))
        padding, layout = [taps // 2] * 2, IMAGE_LAYOUTS[len(shape)]
        return self.op(Conv2DOp(data, weight, padding=padding, data_layout=layout))

    def make_pool(self, a: int, b: int, c: int) -> SSAValue | None:
        """Over images, or over those whose channels are in blocks of four."""
        data = self.pick(a, lambda value: is_image(shape_of(value)))
        if data is None:
            return None
        layout = IMAGE_LAYOUTS[len(shape_of(data))]
        return self.op(MaxPool2DOp(data, [3, 3], padding=[1, 1], layout=layout))

    def make_call(self, a: int, b: int, c: int) -> SSAValue | None:
        """The first result of a call of another function."""
        if not self.helpers:
            return None
        helper = self.helpers[a % len(self.helpers)]
        types = helper.function_type
        operands = [self.typed(b, type_) for type_ in types.inputs.data]
        return self.op(func.CallOp(helper.sym_name.data, operands, types.outputs.data))

    def make_choice(self, a: int, b: int, c: int) -> SSAValue | None:
        """One of two values, computed from values outside."""
        value = self.pick(a)
        assert value is not None
        other = self.pick(b, lambda each: shape_of(each) == shape_of(value))
        assert other is not None
        number = self.within(constant_op(np.array(c % 2 == 0)))
        condition = self.within(tensor.ExtractOp(number, [], i1))
        sides: list[Region] = []
        for side in (value, other):
            ops: list[Operation] = []
            for depth in range(c % 4):
                ops.append(UNARY[(c + depth) % len(UNARY)](ops[-1] if ops else side))
            if ops:
                pair: list[SSAValue | Operation] = [ops[-1], value]
                ops.append(AddOp(*(pair[::-1] if b % 2 else pair)))
            sides.append(Region(Block([*ops, scf.YieldOp(ops[-1] if ops else side)])))
        return self.op(scf.IfOp(condition, [value.type], *sides))

    # -- the end ------------------------------------------------------------------------------

    def function(self, name: str, results: Sequence[int]) -> func.FuncOp:
        """The function that returns the values which numbers choose, the latest first."""
        chosen = [self.pick(number) for number in results]
        returned = [value for value in chosen if value is not None]
        self.block.add_op(func.ReturnOp(*returned))
        types = FunctionType.from_lists(self.block.arg_types, [value.type for value in returned])
        return func.FuncOp(name, types, Region(self.block))


def shape_of(value: SSAValue) -> Shape:
    """The shape of a tensor; of something else none that fits."""
    return value.type.get_shape() if isinstance(value.type, TensorType) else (-1,)


def is_image(shape: Shape) -> bool:
    """Whether a shape is that of images, or of some with channels in blocks of four."""
    return 0 not in shape and (len(shape) == 4 or (len(shape) == 5 and shape[4] == 4))


def broadcast(one: Shape, other: Shape) -> bool:
    """Whether two shapes can be broadcast against each other, to not too many elements."""
    rank = max(len(one), len(other))
    pairs = list(
        zip((1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other, strict=True)
    )
    fits = all(x == y or 1 in (x, y) for x, y in pairs)
    return fits and prod(x if y == 1 else y for x, y in pairs) <= LARGEST


class RandomProgram:
    """A program that steps describe. Two of the same steps are equal programs."""

    def __init__(
        self,
        steps: Sequence[Step],
        results: Sequence[int] = (0,),
        shapes: Sequence[Shape] = SQUARE,
        helper: Sequence[Step] = (),
    ):
        self.arguments = steps, results, shapes, helper
        self.helpers: list[func.FuncOp] = []
        if helper:
            self.helpers.append(self.built(helper, "helper", (0,)))
        self.main = self.built(steps, "main", results)
        self.module = ModuleOp([self.main, *self.helpers])
        self.module.verify()

    def built(self, steps: Sequence[Step], name: str, results: Sequence[int]) -> func.FuncOp:
        graph = RandomGraph(self.arguments[2], self.helpers)
        for step in steps:
            graph.add(step)
        self.inputs = graph.inputs
        return graph.function(name, results)

    @property
    def block(self) -> Block:
        """The block of the main function."""
        return self.main.body.block

    def __repr__(self) -> str:
        steps, *rest = self.arguments
        kept = [step for step in steps if step[0] != "nothing"]
        return f"RandomProgram{(kept, *rest)}\n{self.module}"


def steps(kinds: Sequence[str], size: int, reach: int = 40) -> st.SearchStrategy[list[Step]]:
    """As many steps of some kinds as `size` at most, on the latest `reach` values."""
    number = st.integers(0, reach)
    step = st.tuples(st.sampled_from(("nothing", *kinds)), number, number, number)
    return st.lists(step, min_size=size, max_size=size)


def programs(
    kinds: Sequence[str] = FUSIBLE,
    *,
    size: int = 14,
    reach: int = 40,
    shapes: Sequence[Shape] = SQUARE,
) -> st.SearchStrategy[RandomProgram]:
    """Programs of steps of some kinds."""
    results = st.lists(st.integers(0, 6), min_size=1, max_size=3)
    return st.builds(RandomProgram, steps(kinds, size, reach), results, st.just(shapes))
