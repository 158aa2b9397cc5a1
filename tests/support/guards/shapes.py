"""Guards of sink-reshape, recognize-operators, alter-op-layout and passes on operations of any kind."""

from itertools import combinations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from guards.layers import FLOATS, bias, by, conv, layers, plus, unary
from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import LayerNormOp, LogSoftmaxOp, RmsNormOp, SoftmaxOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import AvgPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    GreaterOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
)
from xrelay.dialects.tensor.creation import ZerosOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, SumOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ReshapeOp
from xrelay.dialects.tensor.transform import (
    ConcatenateOp,
    SplitOp,
    StridedSliceOp,
    TransposeOp,
    WhereOp,
)
from xrelay.dialects.tensor.unary import (
    CastOp,
    ClipOp,
    ErfOp,
    ExpOp,
    ReluOp,
    RsqrtOp,
    SigmoidOp,
    SqrtOp,
    TanhOp,
)
from xrelay.interpreters.arrays import element_type_of

# -- sink-reshape

SINK = GuardTable("sink-reshape", units=16, expects="=reshape|-reshape")


def reshape(*shape: int):
    return unary(ReshapeOp, shape, allowzero=True)


def along(kind, length: int, vectors: int, axis: int):
    """A normalisation along an axis, with vectors of its length."""
    return lambda g, x: kind(x, *(g.w(length) for _ in range(vectors)), axis=axis)


def split(g: GuardGraph, old, new, axis: int, sections, *, whole: bool = False) -> None:
    parts = g.op(SplitOp(g.op(ReshapeOp(g.x(*old), new)), sections, axis=axis))
    count = sections if isinstance(sections, int) else len(sections) + 1
    for index in reversed(range(count)):
        g.show(TupleGetItemOp(parts, index))
    if whole:
        g.returns(parts)


for dtype in ("float32", "int8", "float16"):
    SINK.changes(
        f"one operand {dtype}", layers((6, 4), reshape(2, 3, 4), unary(ReluOp), dtype=dtype)
    )
    SINK.changes(f"a row {dtype}", layers((6, 4), reshape(2, 3, 4), plus(4), dtype=dtype))
SINK.changes("to truth values", layers((6, 4), reshape(2, 3, 4), plus(4, op=GreaterOp)))
SINK.changes(
    "a cast",
    layers((6, 4), reshape(2, 3, 4), unary(CastOp, element_type_of(np.dtype("int32")))),
    special=False,
)
SINK.keeps("a constant", lambda g: g.show(ReluOp(g.op(ReshapeOp(g.w(6, 4), [2, 3, 4])))))
SINK.keeps("no element", layers((0, 4), reshape(2, 0, 4), unary(ReluOp)))
SINK.keeps("a transpose", layers((6, 4), unary(TransposeOp), unary(ReluOp)))
SINK.changes("two reshapes", layers((6, 4), reshape(2, 3, 4), reshape(4, 6)))
SHAPES = (
    ((6, 4), (2, 3, 4)),
    ((2, 3, 4), (6, 4)),
    ((2, 3), (2, 1, 3)),
    ((1, 6), (2, 3)),
    ((4, 3), (2, 6)),
)
SHAPES += ((2, 6), (6, 2)), ((4, 3), (3, 4))
SHAPES += (((2, 2, 3), (4, 3)), ((3, 2), (3, 1, 2, 1)), ((2, 2, 2), (2, 4)), ((1, 1), ()))
for old, new in SHAPES:
    for count in range(len(new) + 1):
        for kept in combinations(range(len(new)), count):
            operand = [n if axis in kept else 1 for axis, n in enumerate(new)]
            for shape in {tuple(operand), tuple(np.trim_zeros([n - 1 for n in operand], "f"))}:
                whole = shape == tuple(operand)
                other = shape if whole else tuple(n + 1 for n in shape)
                step = plus(*other, left=True, op=SubtractOp)
                SINK.either(f"{old} to {new}, minus {other}", layers(old, reshape(*new), step))
    for axis in range(-len(new), len(new)):
        SINK.either(
            f"{old} to {new}, softmax {axis}",
            layers(old, reshape(*new), unary(SoftmaxOp, axis=axis)),
        )
        SINK.either(
            f"{old} to {new}, bias {axis}", layers(old, reshape(*new), bias(new[axis], axis))
        )
        for kind, count in ((LayerNormOp, 2), (RmsNormOp, 1)):
            steps = reshape(*new), along(kind, new[axis], count, axis)
            SINK.either(f"{old} to {new}, {kind.name} {axis}", layers(old, *steps), units=256)
        for sections in (new[axis], [1]):
            SINK.either(
                f"{old} to {new}, split {axis} {sections}",
                lambda g, case=(old, new, axis, sections): split(g, *case),
            )


SINK.changes("softmax of whole rows", layers((6, 4), reshape(2, 3, 4), unary(SoftmaxOp, axis=2)))
SINK.keeps("softmax of parts", layers((6, 4), reshape(2, 3, 4), unary(SoftmaxOp, axis=1)))
SINK.changes("log softmax", layers((6, 4), reshape(2, 3, 4), unary(LogSoftmaxOp)))
SINK.changes("columns", layers((6, 4), reshape(6, 2, 2), plus(6, 1, 1)))
SINK.keeps("parts of columns", layers((6, 4), reshape(6, 2, 2), plus(6, 1, 2)))
SINK.keeps("a smaller operand is reshaped", layers((4,), reshape(1, 4), plus(3, 4)))
SINK.changes("parts", lambda g: split(g, (6, 4), (2, 3, 4), 2, 2))
SINK.keeps(
    "parts that are returned together", lambda g: split(g, (6, 4), (2, 3, 4), 2, 2, whole=True)
)
SINK.keeps("parts of an axis that is split", lambda g: split(g, (6, 4), (2, 3, 4), 1, 3))


def summands(
    g: GuardGraph, first: bool, second: bool, *, inverse: bool = False, between=ReluOp
) -> None:
    """Two summands of one shape, of which products or not are computed before."""

    def side(product: bool, moved: bool) -> SSAValue:
        value = g.x(6, 4) if moved else g.x(2, 3, 4)
        if product:
            value = g.op(between(g.op(DenseOp(value, g.w(4, 4)))))
        return g.op(ReshapeOp(value, [2, 3, 4])) if moved else value

    g.show(SubtractOp(side(first, True), side(second, inverse)), 64)


SINK.changes("a product and a value", lambda g: summands(g, True, False))
SINK.keeps("a product and a product", lambda g: summands(g, True, True))
SINK.keeps("a value and a product", lambda g: summands(g, False, True))
SINK.keeps("a value and a value", lambda g: summands(g, False, False))
SINK.changes("both are reshaped", lambda g: summands(g, False, False, inverse=True))


def chosen(g: GuardGraph) -> None:
    condition = g.x(1, 1, 4, dtype="bool")
    values = (g.op(ReshapeOp(g.x(6, 4), [2, 3, 4])) for _ in range(2))
    g.show(WhereOp(condition, *values))


SINK.changes("a choice", chosen)

# -- recognize-operators

KNOWN = GuardTable(
    "recognize-operators",
    units=64,
    special=False,
    expects="+nn.layer_norm|+nn.rms_norm|+nn.softmax",
)
COMPOSITES = GuardTable("recognize-operators{composites=true}", units=8, expects="+composite")


def number(g: GuardGraph, value, like: SSAValue) -> SSAValue:
    return g.constant(np.asarray(value, g.dtype))


def norm(
    *,
    shape=(2, 3, 4),
    axes=(-1, -1),
    keepdims: bool = True,
    exponent=2,
    root: str = "sqrt",
    centered: bool = True,
    gamma=None,
    beta=None,
    dtype: str = "float32",
    used: str = "",
    square: bool = False,
    epsilon=1e-3,
):
    """A normalisation written out."""

    def build(g: GuardGraph) -> None:
        g.dtype = dtype
        x = g.x(*shape, dtype=dtype)
        value = x
        if centered:
            value = g.op(SubtractOp(x, g.op(MeanOp(x, [axes[0]], keepdims=keepdims))))
        power = MultiplyOp(value, value) if square else PowerOp(value, number(g, exponent, x))
        mean = g.op(MeanOp(g.op(power), [axes[1]], keepdims=keepdims))
        stable = g.op(AddOp(mean, number(g, epsilon, x)))
        if root == "rsqrt":
            value = g.op(MultiplyOp(value, g.op(RsqrtOp(stable))))
        elif root == "power":
            value = g.op(MultiplyOp(g.op(PowerOp(stable, number(g, -0.5, x))), value))
        elif root == "inverse":
            inverse = g.op(DivideOp(number(g, 1, x), g.op(SqrtOp(stable))))
            value = g.op(MultiplyOp(inverse, value))
        else:
            value = g.op(DivideOp(value, g.op(SqrtOp(stable))))
        if gamma is not None:
            value = g.op(MultiplyOp(g.w(*gamma, dtype=dtype), value))
        if beta is not None:
            value = g.op(AddOp(value, g.w(*beta, dtype=dtype)))
        g.returns(value)
        if used:
            g.show(ReluOp({"mean": mean, "stable": stable}[used]))

    return build


for dtype in FLOATS:
    for root in ("sqrt", "rsqrt", "power", "inverse"):
        units = 512 if dtype == "float16" else 64
        KNOWN.changes(
            f"layer {root} {dtype}",
            norm(root=root, dtype=dtype, gamma=(4,), beta=(4,)),
            units=units,
        )
        KNOWN.changes(
            f"root mean {root} {dtype}",
            norm(root=root, dtype=dtype, centered=False, gamma=(4,)),
            units=units,
        )
KNOWN.changes("without scale and shift", norm(square=True))
KNOWN.changes("without scale and shift or mean", norm(centered=False))
KNOWN.changes("only a scale", norm(gamma=(4,)))
KNOWN.changes("another axis", norm(axes=(1, 1), gamma=(3, 1), beta=(1, 3, 1)))
KNOWN.changes("the first axis", norm(axes=(0, 0), gamma=(2, 1, 1), beta=(2, 1, 1)))
KNOWN.changes("the same axis otherwise counted", norm(axes=(-1, 2), gamma=(4,), beta=(4,)))
KNOWN.changes("a scale of another axis stays", norm(shape=(4, 4), gamma=(4, 1), beta=(4,)))
KNOWN.changes("a scale of one number stays", norm(gamma=(1,), beta=(4,)))
KNOWN.changes("a scale of all elements stays", norm(gamma=(2, 3, 4), beta=(4,)))
KNOWN.changes("a shift of another axis stays", norm(shape=(4, 4), gamma=(4,), beta=(4, 1)))
KNOWN.changes("a scale of another rank stays", norm(shape=(3, 4), gamma=(2, 3, 4)))
KNOWN.changes("two axes: the mean stays", norm(shape=(4, 4), axes=(0, 1)))
KNOWN.keeps("a softmax of two axes", lambda g: softmax(g, 1, 0))
KNOWN.keeps("means without the axis", norm(shape=(4, 4), keepdims=False))
KNOWN.keeps("another exponent", norm(exponent=4))
KNOWN.keeps("an exponent that is nearly 2", norm(exponent=2.01, centered=False))
KNOWN.keeps("the mean is used", norm(used="mean", gamma=(4,), beta=(4,)))
KNOWN.keeps("the sum is used", norm(used="stable"))
KNOWN.keeps("several numbers", norm(epsilon=[1, 2, 3, 4], shape=(4, 4), axes=(0, 0)))


def softmax(
    g: GuardGraph,
    first=-1,
    second=-1,
    *,
    keepdims=True,
    dtype="float32",
    used=False,
    op=MaxOp,
    swapped=False,
) -> None:
    x = g.x(3, 3, dtype=dtype)
    powers = g.op(ExpOp(g.op(SubtractOp(x, g.op(op(x, [first], keepdims=keepdims))))))
    total = g.op(SumOp(powers, [second], keepdims=keepdims))
    g.show(DivideOp(total, powers) if swapped else DivideOp(powers, total))
    if used:
        g.show(ReluOp(powers))


for dtype in FLOATS:
    KNOWN.changes(f"softmax {dtype}", lambda g, d=dtype: softmax(g, dtype=d))
KNOWN.changes("softmax of columns", lambda g: softmax(g, 0, -2))
KNOWN.keeps("softmax of two axes", lambda g: softmax(g, 0, 1))
KNOWN.keeps("softmax without axes", lambda g: softmax(g, keepdims=False))
KNOWN.keeps("softmax of which powers are used", lambda g: softmax(g, used=True))
KNOWN.keeps("softmax of the mean", lambda g: softmax(g, op=MeanOp))
KNOWN.keeps("softmax upside down", lambda g: softmax(g, swapped=True))


def gate(kind: str, *, other: bool = False, numbers=(), dtype: str = "float32"):
    """x times a function of x, with the numbers of its definition or others."""

    def build(g: GuardGraph) -> None:
        g.dtype = dtype
        x = g.x(9, dtype=dtype)
        y = g.x(9, dtype=dtype) if other else x
        if kind == "silu":
            g.show(MultiplyOp(y, g.op(SigmoidOp(x))))
        elif kind == "gelu":
            root, half, one = (number(g, n, x) for n in numbers or (2**0.5, 0.5, 1))
            factor = g.op(AddOp(g.op(ErfOp(g.op(DivideOp(x, root)))), one))
            g.show(MultiplyOp(g.op(MultiplyOp(y, factor)), half))
        elif kind == "tanh":
            small, root, half = (
                number(g, n, x) for n in numbers or (0.044715, (2 / np.pi) ** 0.5, 0.5)
            )
            cube = g.op(MultiplyOp(g.op(MultiplyOp(x, x)), x))
            inner = g.op(AddOp(x, g.op(MultiplyOp(cube, small))))
            factor = g.op(AddOp(g.op(TanhOp(g.op(MultiplyOp(inner, root)))), number(g, 1, x)))
            g.show(MultiplyOp(g.op(MultiplyOp(half, y)), factor))
        else:
            three, low, high, six = numbers or (3, 0, 6, 6)
            clipped = g.op(ClipOp(g.op(AddOp(x, number(g, three, x))), low, high))
            g.show(DivideOp(g.op(MultiplyOp(clipped, y)), number(g, six, x)))

    return build


for kind in ("silu", "gelu", "tanh", "swish"):
    for dtype in FLOATS:
        COMPOSITES.changes(f"{kind} {dtype}", gate(kind, dtype=dtype))
    COMPOSITES.keeps(f"{kind} of two", gate(kind, other=True))
for kind, wrong in {
    "gelu": ((1.4, 0.5, 1), (2**0.5, 0.25, 1), (2**0.5, 0.5, 2)),
    "tanh": ((0.0447, 0.79788456, 0.5), (0.044715, 0.8, 0.5), (0.044715, 0.79788456, 1)),
    "swish": ((2, 0, 6, 6), (3, 1, 6, 6), (3, 0, 5, 6), (3, 0, 6, 5)),
}.items():
    for numbers in wrong:
        COMPOSITES.keeps(f"{kind} with {numbers}", gate(kind, numbers=numbers))

# -- alter-op-layout

BLOCKS = GuardTable(
    "alter-op-layout{lanes=4}", units=512, special=False, expects="+layout_transform"
)
WIDE = (1, 8, 6, 6)
BEFORE, BEHIND = conv(8, 8, 3, 3, padding=[1, 1]), conv(8, 8, 3, 3)
for name, steps in {
    "channels": (bias(8), unary(ReluOp), plus(8, 1, 1), plus(8, 1, 1, left=True, op=SubtractOp)),
    "rows and columns": (plus(6, 1), plus(6), plus(6, 6), plus(1, 1, 6, 6)),
    "numbers": (plus(), plus(1), plus(1, 1, 1, 1)),
    "images": (plus(*WIDE), plus(*WIDE, constant=False, op=MultiplyOp)),
    "pools": (
        unary(MaxPool2DOp, [2, 2], padding=[1, 0]),
        unary(AvgPool2DOp, [2, 3], padding=[0, 1]),
    ),
    "pads": (lambda g, x: PadOp(x, g.c(1), [(0, 0), (0, 0), (1, 0), (2, 1)]),),
    "another axis": (bias(6, 2), unary(SoftmaxOp, axis=1)),
    "means": (unary(MeanOp, [2, 3], keepdims=True), conv(8, 8, 1, 1)),
    "other means": (unary(MeanOp, [1, 2], keepdims=True),),
    "depthwise": (conv(8, 1, 3, 3, groups=8),),
    "groups of blocks": (conv(8, 4, 3, 3, groups=2),),
    "groups of parts": (conv(8, 2, 3, 3, groups=4),),
    "a part of a block": (
        conv(6, 8, 3, 3),
        plus(6, 1, 1, op=DivideOp),
        unary(ExpOp),
        conv(4, 6, 1, 1),
    ),
    "a reshape": (unary(BatchFlattenOp),),
    "a slice": (unary(StridedSliceOp, [0], [6], axes=[1]), unary(ReluOp)),
    "a slice of other channels": (unary(StridedSliceOp, [2], [8], axes=[1]), unary(ReluOp)),
}.items():
    BLOCKS.changes(name, layers(WIDE, BEFORE, *steps))
for axis in (0, 1, 2, 3):
    BLOCKS.changes(f"concatenation {axis}", lambda g, a=axis: joined(g, a, 8))
BLOCKS.either("concatenation of parts", lambda g: joined(g, 1, 6))


def joined(g: GuardGraph, axis: int, channels: int) -> None:
    x = g.x(*WIDE)
    images = [ReluOp, TanhOp]
    values = [g.op(op(g.op(Conv2DOp(x, g.w(channels, 8, 3, 3))))) for op in images]
    g.show(ConcatenateOp(g.op(TupleOp(values)), axis=axis))


BLOCKS.keeps("weights that are computed", layers(WIDE, conv(8, 8, 3, 3, constant=False)))
BLOCKS.keeps("another type", layers(WIDE, BEFORE, dtype="float64"))
BLOCKS.keeps(
    "another layout",
    layers((1, 6, 6, 8), conv(3, 3, 8, 8, data_layout="NHWC", kernel_layout="HWIO")),
)
BLOCKS.keeps("groups that blocks do not divide", layers(WIDE, conv(12, 4, 3, 3, groups=2)))
BLOCKS.keeps("no image", layers((0, 8, 6, 6), BEFORE))
BLOCKS.keeps("no convolution", layers(WIDE, unary(ReluOp)))

# -- passes on operations of any kind

SAME = GuardTable("eliminate-common-subexpr", units=0, expects="-exp|-multiply|-sum")
DEAD = GuardTable("dead-code-elimination", units=0, expects="-exp")
ONCE = GuardTable("dead-code-elimination{inline-once=true}", units=0, expects="-let")
FOLD = GuardTable("fold-constant{max-bytes=64}", units=0, expects="-add|-tuple_get_item")


def same_data(*builds):
    """Operators on one parameter, whose results are returned."""

    def build(g: GuardGraph) -> None:
        g.dtype = "float32"
        x = g.x(4, 4)
        for each in builds:
            g.show(each(g, x))

    return build


SAME.changes("equal", same_data(unary(ExpOp), unary(ExpOp)))
SAME.changes("equal constants", same_data(by(2), by(2)))
SAME.changes("equal properties", same_data(unary(SumOp, [0]), unary(SumOp, [0])))
SAME.keeps("other properties", same_data(unary(SumOp, [0]), unary(SumOp, [1])))
SAME.keeps("another operator", same_data(unary(ExpOp), unary(TanhOp)))
SAME.keeps("other constants", same_data(by(2), by(3)))
SAME.keeps("zeros of different signs", same_data(by(0.0, op=DivideOp), by(-0.0, op=DivideOp)))
SAME.keeps("constants of other shapes", same_data(by(2), by(2, shape=())))
SAME.keeps(
    "operands the other way round", same_data(by(2, op=DivideOp), by(2, op=DivideOp, left=True))
)
SAME.keeps("cells", same_data(*[lambda g, x: RefReadOp(g.op(RefCreateOp(x)))] * 2))


def filled_twice(g: GuardGraph) -> None:
    for _ in range(2):
        g.show(ZerosOp([2], f32))


SAME.keeps("without operands", filled_twice)
DEAD.changes("unused", lambda g: [g.op(ExpOp(g.x(2))), g.show(TanhOp(g.x(2)))])
DEAD.keeps("used", lambda g: [g.show(TanhOp(g.op(ExpOp(g.x(2)))))])
ONCE.changes("one use", lambda g: g.show(TanhOp(g.op(LetOp(g.op(ExpOp(g.x(2))))))))
ONCE.keeps(
    "two uses", lambda g: [named := g.op(LetOp(g.op(ExpOp(g.x(2))))), g.show(AddOp(named, named))]
)
ONCE.keeps(
    "what a cell holds",
    lambda g: g.show(TanhOp(g.op(LetOp(g.op(RefReadOp(g.op(RefCreateOp(g.x(2))))))))),
)
DEAD.keeps("a cell", lambda g: [g.op(RefReadOp(g.op(RefCreateOp(g.x(2))))), g.show(TanhOp(g.x(2)))])
for dtype in ("float16", "float64", "int8", "uint64", "bool"):
    FOLD.changes(
        f"constants {dtype}", lambda g, d=dtype: g.show(AddOp(g.c([1, 0], d), g.c([1, 1], d)))
    )
FOLD.changes("as many bytes", lambda g: g.show(AddOp(g.w(16), g.w())))
FOLD.changes(
    "few bytes, more than the operands have", lambda g: g.show(AddOp(g.w(4, 1), g.w(1, 4)))
)
FOLD.changes("as large as an operand", lambda g: g.show(AddOp(g.w(4, 5), g.w())))
FOLD.keeps("too many bytes", lambda g: g.show(AddOp(g.w(4, 1), g.w(1, 5))))
FOLD.keeps("a value that is asked", lambda g: g.show(AddOp(g.w(2), g.x(2))))
FOLD.changes("a field", lambda g: g.show(TupleGetItemOp(g.op(TupleOp([g.x(2), g.x(2)])), 1)))

TABLES = (SINK, KNOWN, COMPOSITES, BLOCKS, SAME, DEAD, ONCE, FOLD)
