"""Guards of `fold-scale-axis`, with the rules of the original and more."""

import numpy as np
from xdsl.ir import SSAValue

from guards.layers import FLOATS, IMAGE, NHWC, TO_NHWC, bias, by, conv, dense, layers, plus, unary
from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.conv.conv import Conv3DOp
from xrelay.dialects.nn.dense import DenseOp, MatmulOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import LeakyReluOp, ReluOp, TanhOp

# -- fold-scale-axis

CPU_BACKWARD = GuardTable(
    'fold-scale-axis{directions="backward" rules=cpu}',
    units=256,
    expects="<multiply|=nn.dense|=nn.bias_add",
)
CPU_FORWARD = GuardTable(
    'fold-scale-axis{directions="forward" rules=cpu}',
    units=256,
    expects="<multiply|=nn.dense|=nn.bias_add",
)
CPU_CONSTANT = GuardTable(
    "fold-scale-axis{constant-weights=true rules=cpu}",
    units=256,
    expects="<multiply|=nn.dense|=nn.bias_add",
)

ROWS = (3, 4)
C = (2, 0.5, 3, 4)
CHANNELS = by(*C, shape=(4, 1, 1))
NEGATIVE = by(2, -1, 3, 4, shape=(4, 1, 1))
LAST = by(*C)
for dtype in FLOATS:
    for name, steps in {
        "convolution": (conv(4, 4, 2, 3), CHANNELS),
        "convolution of groups": (conv(4, 2, 2, 3, groups=2), CHANNELS),
        "scale in front": (conv(4, 4, 1, 1), by(*C, shape=(1, 4, 1, 1), left=True)),
        "a number": (conv(4, 4, 1, 1), by(0.25, shape=())),
        "negative": (conv(4, 4, 1, 1), NEGATIVE),
        "bias": (conv(4, 4, 1, 1), bias(4), CHANNELS),
        "bias of computed numbers": (conv(4, 4, 1, 1), bias(4, constant=False), CHANNELS),
        "sums": (
            conv(4, 4, 1, 1),
            plus(4, 1, 1),
            plus(4, 1, 1, left=True, op=SubtractOp),
            CHANNELS,
        ),
        "relu": (conv(4, 4, 1, 1), unary(ReluOp), unary(LeakyReluOp, 0.1), CHANNELS),
        "product": (plus(4, 1, 1, op=MultiplyOp), CHANNELS, unary(TanhOp)),
    }.items():
        CPU_BACKWARD.changes(f"{name} {dtype}", layers(IMAGE, *steps, dtype=dtype))
    CPU_BACKWARD.changes(f"dense {dtype}", layers(ROWS, dense(4, 4), LAST, dtype=dtype))
    CPU_BACKWARD.changes(
        f"dense, bias {dtype}", layers(ROWS, dense(4, 4), bias(4, -1), LAST, dtype=dtype)
    )
    CPU_BACKWARD.changes(
        f"dense of batches {dtype}", layers((4, *ROWS), dense(4, 4), LAST, dtype=dtype)
    )
CPU_BACKWARD.changes("channels last", layers((1, 5, 6, 4), conv(2, 3, 4, 4, **NHWC), LAST))
CPU_BACKWARD.keeps(
    "columns, not channels", layers((1, 5, 4, 4), conv(1, 1, 4, 4, **NHWC), by(*C, shape=(4, 1)))
)
CPU_BACKWARD.changes("channels come last", layers((1, 4, 4, 4), conv(4, 4, 1, 1, **TO_NHWC), LAST))
CPU_BACKWARD.keeps(
    "channels came second", layers((1, 4, 4, 4), conv(4, 4, 1, 1, **TO_NHWC), CHANNELS)
)
CPU_BACKWARD.keeps(
    "groups in another layout", layers((1, 5, 6, 4), conv(1, 1, 2, 4, groups=2, **NHWC), LAST)
)
POINTS = conv(4, 4, 1, 1)
CPU_BACKWARD.changes("a constant image", layers((1, 4, 4, 4), POINTS, plus(4, 4, 4), CHANNELS))
CPU_BACKWARD.changes("constant rows", layers((1, 4, 4, 4), POINTS, plus(4, 1), CHANNELS))
CPU_BACKWARD.changes("constant, a number", layers((1, 4, 4, 4), POINTS, plus(), by(2, shape=())))
CPU_BACKWARD.keeps(
    "an image", layers((1, 4, 4, 4), POINTS, plus(4, 4, 4, constant=False), CHANNELS)
)
CPU_BACKWARD.keeps("rows", layers((1, 4, 4, 4), conv(4, 4, 1, 1), by(*C, shape=(4, 1))))
CPU_BACKWARD.keeps("images", layers((4, 4, 4, 4), conv(4, 4, 1, 1), by(*C, shape=(4, 1, 1, 1))))
CPU_BACKWARD.keeps("two axes", layers((1, 2, 2, 2), conv(2, 2, 1, 1), by(*C, shape=(2, 2, 1))))
CPU_BACKWARD.keeps("rows of a dense", layers((4, 4), dense(4, 4), by(*C, shape=(4, 1))))
CPU_BACKWARD.keeps("the scale's shape counts", layers((1, 4), dense(1, 4), LAST))
CPU_BACKWARD.keeps("negative and relu", layers(IMAGE, conv(4, 4, 1, 1), unary(ReluOp), NEGATIVE))
CPU_BACKWARD.keeps(
    "zero and relu", layers(IMAGE, conv(4, 4, 1, 1), unary(ReluOp), by(0, 1, 2, 3, shape=(4, 1, 1)))
)
CPU_BACKWARD.keeps(
    "negative and leaky relu", layers(IMAGE, conv(4, 4, 1, 1), unary(LeakyReluOp, 0.1), NEGATIVE)
)
CPU_BACKWARD.keeps("another user", layers(IMAGE, conv(4, 4, 1, 1), CHANNELS, again=0))
CPU_BACKWARD.keeps(
    "another user between", layers(IMAGE, conv(4, 4, 1, 1), unary(ReluOp), CHANNELS, again=1)
)
CPU_BACKWARD.keeps("tanh", layers(IMAGE, conv(4, 4, 1, 1), unary(TanhOp), CHANNELS))
CPU_BACKWARD.keeps("pooling", layers(IMAGE, conv(4, 4, 1, 1), unary(MaxPool2DOp, [2, 2]), CHANNELS))
CPU_BACKWARD.keeps(
    "bias of another axis", layers((1, 4, 4, 4), conv(4, 4, 1, 1), bias(4, 2), CHANNELS)
)
CPU_BACKWARD.keeps("a parameter", layers(IMAGE, CHANNELS))
CPU_BACKWARD.changes(
    "a computed summand that broadcasts",
    layers(IMAGE, conv(4, 4, 1, 1), plus(4, 1, 1, constant=False), CHANNELS),
    expects="=add",
)
CPU_BACKWARD.keeps(
    "a computed summand", layers(IMAGE, conv(4, 4, 1, 1), plus(*IMAGE, constant=False), CHANNELS)
)
CPU_BACKWARD.keeps("integers", layers(ROWS, dense(4, 4), by(2, 3, 4, 5), dtype="int32"))
CPU_BACKWARD.keeps("an empty image", layers((0, 4, 5, 6), conv(4, 4, 1, 1), CHANNELS))
CPU_BACKWARD.keeps(
    "division", layers(IMAGE, conv(4, 4, 1, 1), by(*C, shape=(4, 1, 1), op=DivideOp))
)
CPU_BACKWARD.changes("weights that are computed", layers(ROWS, dense(4, 4, constant=False), LAST))
CPU_CONSTANT.keeps("weights that are computed", layers(ROWS, dense(4, 4, constant=False), LAST))
CPU_CONSTANT.keeps(
    "a bias that is computed", layers(ROWS, dense(4, 4), bias(4, constant=False), LAST)
)
CPU_CONSTANT.changes("weights that are known", layers(ROWS, dense(4, 4), bias(4), LAST))
CPU_CONSTANT.changes(
    "weights that are scaled twice", layers(ROWS, dense(4, 4), LAST, unary(ReluOp), LAST)
)
MOVES = (unary(ReshapeOp, [4, 3]), unary(TransposeOp), unary(ExpandDimsOp, 1))
CPU_BACKWARD.changes("a number behind moves", layers(ROWS, dense(4, 4), *MOVES, by(3, shape=())))
CPU_BACKWARD.keeps("factors behind moves", layers(ROWS, dense(4, 4), *MOVES, by(*C, shape=(1, 4))))
CPU_BACKWARD.changes(
    "a number behind a product",
    layers(ROWS, dense(4, 4), plus(4, 5, op=MatmulOp), by(3, shape=(1,))),
)
CPU_BACKWARD.keeps(
    "factors behind a product", layers(ROWS, dense(4, 4), plus(4, 4, op=MatmulOp), LAST)
)


def both_summands(g: GuardGraph, *, same: bool = False, broadcast: bool = False) -> None:
    x = g.x(*ROWS)
    first = g.op(DenseOp(x, g.w(4, 4)))
    second = first if same else g.op(DenseOp(g.x(1, 4) if broadcast else x, g.w(4, 4)))
    g.show(MultiplyOp(g.op(SubtractOp(first, second)), g.c(C)))


CPU_BACKWARD.changes("both summands", both_summands)
CPU_BACKWARD.keeps("one value twice", lambda g: both_summands(g, same=True))
CPU_BACKWARD.changes("one summand broadcasts", lambda g: both_summands(g, broadcast=True))

for dtype in FLOATS:
    for name, steps in {
        "convolution": (CHANNELS, conv(2, 4, 2, 3)),
        "convolution of groups": (CHANNELS, conv(6, 2, 2, 3, groups=2)),
        "depthwise": (CHANNELS, conv(8, 1, 2, 3, groups=4)),
        "a number": (by(0.25, shape=()), conv(6, 2, 2, 3, groups=2)),
        "negative": (NEGATIVE, conv(4, 4, 1, 1)),
        "sums": (
            CHANNELS,
            plus(4, 1, 1),
            plus(4, 1, 1, left=True, op=SubtractOp),
            conv(4, 4, 1, 1),
        ),
        "bias": (CHANNELS, bias(4), conv(4, 4, 1, 1)),
        "relu": (CHANNELS, unary(ReluOp), unary(LeakyReluOp, 0.1), conv(4, 4, 1, 1)),
        "maxima": (CHANNELS, unary(MaxPool2DOp, [2, 2], padding=[1, 1]), conv(4, 4, 1, 1)),
        "averages": (NEGATIVE, unary(AvgPool2DOp, [2, 2], padding=[1, 1]), conv(4, 4, 1, 1)),
        "the average": (NEGATIVE, unary(GlobalAvgPool2DOp), conv(4, 4, 1, 1)),
        "the maximum": (CHANNELS, unary(GlobalMaxPool2DOp), conv(4, 4, 1, 1)),
    }.items():
        CPU_FORWARD.changes(f"{name} {dtype}", layers(IMAGE, *steps, dtype=dtype))
    CPU_FORWARD.changes(f"dense {dtype}", layers(ROWS, LAST, dense(2, 4), dtype=dtype))
    CPU_FORWARD.changes(
        f"dense of batches {dtype}", layers((4, *ROWS), LAST, dense(4, 4), dtype=dtype)
    )
CPU_FORWARD.changes("channels last", layers((1, 5, 6, 4), LAST, conv(2, 3, 4, 4, **NHWC)))
CPU_FORWARD.changes("channels go last", layers((1, 4, 4, 4), CHANNELS, conv(4, 4, 1, 1, **TO_NHWC)))
CPU_FORWARD.keeps("columns go to channels", layers((1, 4, 4, 4), LAST, conv(4, 4, 1, 1, **TO_NHWC)))
CPU_FORWARD.keeps(
    "columns, not channels", layers((1, 5, 4, 4), by(*C, shape=(4, 1)), conv(1, 1, 4, 4, **NHWC))
)
CPU_FORWARD.keeps(
    "groups in another layout", layers((1, 5, 6, 4), LAST, conv(1, 1, 2, 4, groups=2, **NHWC))
)
CPU_FORWARD.keeps("rows", layers((1, 4, 4, 4), by(*C, shape=(4, 1)), conv(4, 4, 1, 1)))
CPU_FORWARD.keeps("rows of a dense", layers((4, 4), by(*C, shape=(4, 1)), dense(4, 4)))
CPU_FORWARD.keeps("negative and relu", layers(IMAGE, NEGATIVE, unary(ReluOp), conv(4, 4, 1, 1)))
CPU_FORWARD.keeps(
    "negative and maxima", layers(IMAGE, NEGATIVE, unary(MaxPool2DOp, [2, 2]), conv(4, 4, 1, 1))
)
CPU_FORWARD.keeps(
    "negative and the maximum", layers(IMAGE, NEGATIVE, unary(GlobalMaxPool2DOp), conv(4, 4, 1, 1))
)
CPU_FORWARD.keeps(
    "averages of rows",
    layers((1, 4, 4, 4), by(*C, shape=(4, 1)), unary(AvgPool2DOp, [1, 1]), conv(4, 4, 1, 1)),
)
CPU_FORWARD.keeps(
    "maxima of rows",
    layers((1, 4, 4, 4), by(*C, shape=(4, 1)), unary(GlobalMaxPool2DOp), conv(4, 4, 1, 1)),
)
CPU_FORWARD.keeps("zero and a sum", layers(ROWS, by(0, 1, 2, 3), plus(4), dense(4, 4)))
CPU_FORWARD.changes("zero and no sum", layers(ROWS, by(0, 1, 2, 3), dense(4, 4)))
for number in (np.inf, -np.inf, np.nan):
    for shape, factors in (((), [number]), ((4,), [1, number, 2, 3])):
        scale = by(*factors, shape=shape)
        CPU_BACKWARD.keeps(f"{number}, {len(factors)} factors", layers(ROWS, dense(4, 4), scale))
        CPU_FORWARD.keeps(f"{number}, {len(factors)} factors", layers(ROWS, scale, dense(4, 4)))
for number in (0.0, -0.0):
    scale = by(number, 1, 2, 3)
    CPU_BACKWARD.changes(f"{number} as a factor", layers(ROWS, dense(4, 4), scale))
    CPU_BACKWARD.keeps(f"{number} and relu", layers(ROWS, dense(4, 4), unary(ReluOp), scale))
    CPU_FORWARD.changes(f"{number} as a factor", layers(ROWS, scale, dense(4, 4)))
    CPU_FORWARD.keeps(f"{number} and relu", layers(ROWS, scale, unary(ReluOp), dense(4, 4)))
CPU_FORWARD.keeps(
    "so little that quotients are infinite", layers(ROWS, by(1e-40, 1, 2, 3), plus(4), dense(4, 4))
)
for dtype, huge in (("float16", 5e4), ("float32", 3e38), ("float64", 1.5e308)):
    # Twice as much is infinite, and so is what is divided by so little.
    full, less = by(1, 2, 1, huge), by(1, 2, 1, huge / 8)
    few = by(1, 2, 1, 1 / 256)

    def weight(value: float):
        return lambda g, x: DenseOp(x, g.c(np.full((4, 4), value), g.dtype))

    def summand(value: float, op=AddOp):
        return lambda g, x: op(x, g.c([0, 1, value, -value], g.dtype))

    CPU_BACKWARD.keeps(f"large {dtype}", layers(ROWS, weight(2), full, dtype=dtype))
    CPU_FORWARD.keeps(f"large {dtype}", layers(ROWS, full, weight(-2), dtype=dtype))
    CPU_BACKWARD.keeps(f"infinite {dtype}", layers(ROWS, weight(np.inf), LAST, dtype=dtype))
    CPU_BACKWARD.keeps(
        f"large summand {dtype}", layers(ROWS, weight(0), summand(2), full, dtype=dtype)
    )
    CPU_BACKWARD.keeps(
        f"large factor {dtype}",
        layers(ROWS, unary(TanhOp), summand(2, MultiplyOp), full, dtype=dtype),
    )
    CPU_FORWARD.keeps(
        f"large quotient {dtype}", layers(ROWS, few, summand(huge / 8), weight(1), dtype=dtype)
    )
    CPU_BACKWARD.changes(f"not too large {dtype}", layers(ROWS, weight(2 / 256), less, dtype=dtype))
    CPU_FORWARD.changes(
        f"quotient that is not too large {dtype}",
        layers(ROWS, few, summand(huge / 1024), weight(1 / 256), dtype=dtype),
    )
CPU_FORWARD.keeps(
    "a computed summand",
    layers(ROWS, LAST, plus(3, 4, constant=False), dense(4, 4, constant=False), dtype="float32"),
)
CPU_FORWARD.keeps("a sum that broadcasts", layers((1, 4), LAST, plus(3, 4), dense(4, 4)))
CPU_FORWARD.keeps("the result is used", layers(ROWS, LAST, dense(4, 4), again=0))
CPU_FORWARD.keeps("no weight", layers(ROWS, LAST, unary(ReluOp), plus(4)))
CPU_FORWARD.keeps("tanh", layers(ROWS, LAST, unary(TanhOp), dense(4, 4)))
CPU_FORWARD.changes("another product", layers(ROWS, LAST, plus(4, op=MultiplyOp)))
CPU_FORWARD.keeps(
    "another product that broadcasts", layers((1, 4), LAST, plus(3, 4, op=MultiplyOp))
)
CPU_FORWARD.changes("a number before moves", layers(ROWS, by(3, shape=()), *MOVES, dense(4, 4)))
CPU_FORWARD.keeps("factors before moves", layers(ROWS, LAST, *MOVES, dense(4, 4)))


def two_users(g: GuardGraph, *, weight: bool = False) -> None:
    scaled = g.op(MultiplyOp(g.x(4, 4), g.c(C)))
    g.show(DenseOp(scaled, g.w(2, 4)))
    g.show(DenseOp(g.x(2, 4), scaled) if weight else DenseOp(scaled, g.w(4, 4)))


CPU_FORWARD.changes("two users", two_users)
CPU_FORWARD.keeps("a weight is scaled", lambda g: two_users(g, weight=True))

CPU_BACKWARD.keeps(
    "a computed number behind a product",
    layers((), by(3, shape=(), left=True), plus(constant=False, op=MultiplyOp)),
)

# -- The rules of the original: vectors along the channels, computed or not, and no more operators than it knows.
# Infinite numbers by factors that are computed, or by zeros, can become NaN or cease to be.

BACKWARD = GuardTable(
    'fold-scale-axis{directions="backward" unsafe=true}',
    units=256,
    special=False,
    expects="=nn.conv2d|=nn.conv3d|=nn.dense|=nn.bias_add|=nn.relu|=nn.leaky_relu|=add|=subtract",
)
FORWARD = GuardTable(
    'fold-scale-axis{directions="forward" unsafe=true}',
    units=256,
    special=False,
    expects="+squeeze|+expand_dims|+reshape|<multiply|~multiply",
)
VOLUME = (1, 4, 3, 5, 6)
BLOCKED = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i2o"}
IN_BLOCKS, SCALED_BLOCKS = (1, 2, 5, 6, 2), by(*C, shape=(1, 2, 1, 1, 2))


def times(*shape: int):
    """A product with numbers that are not known."""
    return plus(*shape, constant=False, op=MultiplyOp)


def late(*shape: int, left: bool = False):
    """A product with numbers that are computed behind what is multiplied."""

    def apply(g: GuardGraph, x: SSAValue):
        scale = g.op(TanhOp(g.x(*shape, dtype=g.dtype)))
        return MultiplyOp(scale, x) if left else MultiplyOp(x, scale)

    return apply


def reciprocal(g: GuardGraph, x: SSAValue):
    """A product with what has no zeros, as batch normalisation has."""
    scale = g.op(DivideOp(g.c(1.0), g.op(AddOp(g.op(MultiplyOp(y := g.x(4), y)), g.c(0.5)))))
    return MultiplyOp(x, g.op(ExpandDimsOp(scale, 1, num_newaxis=2)))


COMPUTED = conv(4, 4, 2, 3, constant=False)
for name, shape, steps in (
    ("convolution", IMAGE, (COMPUTED, times(4, 1, 1))),
    ("scale in front", IMAGE, (COMPUTED, late(1, 4, 1, 1, left=True))),
    ("volumes", VOLUME, (conv(4, 4, 1, 2, 3, constant=False, kind=Conv3DOp), times(4, 1, 1, 1))),
    ("depthwise", IMAGE, (conv(4, 1, 2, 3, groups=4), times(4, 1, 1))),
    ("channels last", (1, 5, 6, 4), (conv(2, 3, 4, 4, **NHWC), times(4))),
    ("blocks", IN_BLOCKS, (conv(2, 2, 1, 1, 2, 2, **BLOCKED), times(1, 2, 1, 1, 2))),
    (
        "blocks of other lengths",
        (1, 1, 5, 6, 4),
        (conv(2, 2, 1, 1, 2, 2, data_layout="NCHW4c", kernel_layout="OIHW2i2o"), times(1, 1, 1, 4)),
    ),
    ("dense", ROWS, (dense(4, 4, constant=False), times(4))),
    ("dense of batches", (2, *ROWS), (dense(4, 4, constant=False), times(1, 4))),
    ("bias", IMAGE, (COMPUTED, bias(4, constant=False), late(4, 1, 1))),
    ("bias of the last axis", ROWS, (dense(4, 4), bias(4, -1, constant=False), late(4))),
    (
        "sums",
        IMAGE,
        (COMPUTED, plus(4, 1, 1, constant=False), plus(1, 4, 1, 1, left=True, op=SubtractOp))
        + (late(4, 1, 1),),
    ),
    ("relu", IMAGE, (COMPUTED, plus(4, 1, 1, constant=False), unary(ReluOp), CHANNELS)),
    ("leaky relu", IMAGE, (COMPUTED, unary(LeakyReluOp, 0.1), by(0, 1, 2, 3, shape=(4, 1, 1)))),
    ("one channel", (2, 1, 3, 3), (conv(1, 1, 1, 1), by(3, shape=(1, 1, 1)))),
):
    BACKWARD.changes(name, layers(shape, *steps))
for name, shape, steps in (
    ("a number", IMAGE, (conv(4, 4, 1, 1), by(3, shape=()))),
    ("a vector of one", IMAGE, (conv(4, 4, 1, 1), by(3, shape=(1,)))),
    ("relu and what may be negative", IMAGE, (COMPUTED, unary(ReluOp), times(4, 1, 1))),
    ("relu and what is negative", IMAGE, (COMPUTED, unary(ReluOp), NEGATIVE)),
    ("groups", IMAGE, (conv(4, 2, 1, 1, groups=2), CHANNELS)),
    ("more filters of a channel", (1, 2, 3, 3), (conv(4, 1, 1, 1, groups=2), CHANNELS)),
    ("filters of each channel", (1, 2, 3, 3), (conv(2, 2, 1, 1, groups=2, channels=4), CHANNELS)),
    ("rows", (1, 4, 4, 4), (conv(4, 4, 1, 1), times(4, 1))),
    ("whole images", IMAGE, (conv(4, 4, 1, 1), times(*IMAGE))),
    ("infinite", ROWS, (dense(4, 4), by(1, np.inf, 2, 3))),
    ("a product", IMAGE, (plus(4, 1, 1, op=MultiplyOp), CHANNELS)),
    ("a pool", IMAGE, (conv(4, 4, 1, 1), unary(MaxPool2DOp, [2, 2]), CHANNELS)),
    ("a reshape", ROWS, (dense(4, 4), unary(ReshapeOp, [1, 3, 4]), LAST)),
    ("a transpose", (4, 4), (dense(4, 4), unary(TransposeOp), LAST)),
    ("another product", ROWS, (dense(4, 4), plus(4, 4, op=MatmulOp), LAST)),
    ("sum with rows", (1, 4, 4, 4), (conv(4, 4, 1, 1), plus(4, 1, constant=False), CHANNELS)),
    ("sum with images", IMAGE, (conv(4, 4, 1, 1), plus(*IMAGE), CHANNELS)),
    ("a sum that broadcasts", (1, 4), (dense(4, 4), plus(3, 4), LAST)),
    ("bias of another axis", (1, 4, 4, 4), (conv(4, 4, 1, 1), bias(4, 2), CHANNELS)),
    ("integers", ROWS, (dense(4, 4), by(2, 3, 4, 5))),
):
    dtype = "int32" if name == "integers" else "float32"
    BACKWARD.keeps(name, layers(shape, *steps, dtype=dtype))
BACKWARD.keeps("used twice", layers(IMAGE, COMPUTED, times(4, 1, 1), again=0))
BACKWARD.keeps(
    "channels in blocks of the image only",
    layers(
        (1, 4, 5, 6),
        conv(4, 4, 1, 1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW2c"),
        SCALED_BLOCKS,
    ),
)
for name, shape, steps in (
    ("convolution", IMAGE, (times(4, 1, 1), COMPUTED)),
    ("volumes", VOLUME, (times(4, 1, 1, 1), conv(4, 4, 1, 2, 3, constant=False, kind=Conv3DOp))),
    ("depthwise", IMAGE, (times(4, 1, 1), conv(4, 1, 2, 3, groups=4))),
    ("channels last", (1, 5, 6, 4), (times(4), conv(2, 3, 4, 4, **NHWC))),
    ("blocks", IN_BLOCKS, (times(1, 2, 1, 1, 2), conv(2, 2, 1, 1, 2, 2, **BLOCKED))),
    (
        "blocks of other lengths",
        (1, 1, 5, 6, 4),
        (times(1, 1, 1, 4), conv(1, 2, 1, 1, 2, 4, data_layout="NCHW4c", kernel_layout="OIHW2i4o")),
    ),
    ("dense", ROWS, (late(4, left=True), dense(4, 4, constant=False))),
    ("relu", ROWS, (LAST, unary(ReluOp), plus(4, constant=False), dense(4, 4, constant=False))),
    ("leaky relu", IMAGE, (by(0, 1, 2, 3, shape=(4, 1, 1)), unary(LeakyReluOp, 0.1), COMPUTED)),
    (
        "sums",
        IMAGE,
        (CHANNELS, plus(4, 1, 1, constant=False), plus(1, 4, 1, 1, left=True, op=SubtractOp))
        + (COMPUTED,),
    ),
    ("sum and reciprocals", IMAGE, (reciprocal, plus(4, 1, 1, constant=False), COMPUTED)),
):
    FORWARD.changes(name, layers(shape, *steps))
for name, shape, steps in (
    ("a number", IMAGE, (by(3, shape=()), conv(4, 4, 1, 1))),
    ("a vector of one", IMAGE, (by(3, shape=(1,)), conv(4, 4, 1, 1))),
    ("relu and what may be negative", IMAGE, (times(4, 1, 1), unary(ReluOp), COMPUTED)),
    ("relu and what is negative", IMAGE, (NEGATIVE, unary(ReluOp), COMPUTED)),
    ("a sum and what may be zero", ROWS, (times(4), plus(4), dense(4, 4))),
    ("a sum and what is zero", ROWS, (by(0, 1, 2, 3), plus(4), dense(4, 4))),
    ("bias", IMAGE, (CHANNELS, bias(4), COMPUTED)),
    ("groups", IMAGE, (CHANNELS, conv(4, 2, 1, 1, groups=2))),
    ("more filters of a channel", IMAGE, (CHANNELS, conv(8, 1, 1, 1, groups=4))),
    ("filters of each channel", IMAGE, (CHANNELS, conv(4, 2, 1, 1, groups=4, channels=8))),
    ("rows", (1, 4, 4, 4), (times(4, 1), conv(4, 4, 1, 1))),
    ("infinite", ROWS, (by(1, np.inf, 2, 3), dense(4, 4))),
    ("a product", IMAGE, (CHANNELS, plus(4, 1, 1, op=MultiplyOp))),
    ("a pool", IMAGE, (CHANNELS, unary(AvgPool2DOp, [2, 2]), COMPUTED)),
    ("a reshape", ROWS, (LAST, unary(ReshapeOp, [1, 3, 4]), dense(4, 4))),
    ("sum with images", IMAGE, (CHANNELS, plus(*IMAGE), COMPUTED)),
    ("sum with rows", (1, 4, 4, 4), (CHANNELS, plus(4, 1), conv(4, 4, 1, 1))),
    ("integers", ROWS, (by(2, 3, 4, 5), dense(4, 4))),
    ("no weight", ROWS, (LAST, unary(ReluOp), plus(4))),
):
    dtype = "int32" if name == "integers" else "float32"
    FORWARD.keeps(name, layers(shape, *steps, dtype=dtype))
A_ROW, END = (1, 4), dense(4, 4)
FORWARD.changes("the left of two rows", layers(A_ROW, LAST, plus(1, 4), END))
FORWARD.keeps("the right of two rows", layers(A_ROW, LAST, plus(1, 4, left=True), END))
CPU_FORWARD.changes("the right of two rows", layers(A_ROW, LAST, plus(1, 4, left=True), END))


def doubled(g: GuardGraph) -> None:
    scaled = g.op(MultiplyOp(g.x(1, 4), g.c(C)))
    g.show(DenseOp(g.op(AddOp(scaled, scaled)), g.w(4, 4)))


FORWARD.keeps("both sides of a sum", doubled)
FORWARD.keeps("used twice", layers(IMAGE, times(4, 1, 1), COMPUTED, again=0))

# -- The same where NaN and infinities stay where they are: factors that are known.

SAFE_BACKWARD = GuardTable(
    'fold-scale-axis{directions="backward"}', units=256, expects=BACKWARD.expects
)
SAFE_FORWARD = GuardTable(
    'fold-scale-axis{directions="forward"}', units=256, expects=FORWARD.expects
)
SOME_ZEROS = by(0, 1, 2, 3, shape=(4, 1, 1))
SUM = plus(4, 1, 1, constant=False)
for name, shape, steps in (
    ("convolution", IMAGE, (COMPUTED, CHANNELS)),
    ("negative", IMAGE, (COMPUTED, SUM, NEGATIVE)),
    ("zeros", IMAGE, (COMPUTED, bias(4, constant=False), SOME_ZEROS)),
    ("relu", IMAGE, (COMPUTED, SUM, unary(ReluOp), unary(LeakyReluOp, 0.1), CHANNELS)),
):
    SAFE_BACKWARD.changes(name, layers(shape, *steps))
for name, shape, steps in (
    ("a computed scale", IMAGE, (COMPUTED, times(4, 1, 1))),
    ("a scale behind the convolution", IMAGE, (COMPUTED, late(4, 1, 1))),
    ("a batch normalisation", IMAGE, (COMPUTED, reciprocal)),
    ("zeros and relu", IMAGE, (COMPUTED, unary(ReluOp), SOME_ZEROS)),
    ("zeros and leaky relu", IMAGE, (COMPUTED, unary(LeakyReluOp, 0.1), SOME_ZEROS)),
):
    SAFE_BACKWARD.keeps(name, layers(shape, *steps))
for name, shape, steps in (
    ("convolution", IMAGE, (CHANNELS, COMPUTED)),
    ("negative", IMAGE, (NEGATIVE, SUM, COMPUTED)),
    ("zeros", IMAGE, (SOME_ZEROS, COMPUTED)),
    ("relu", IMAGE, (CHANNELS, unary(ReluOp), SUM, COMPUTED)),
):
    SAFE_FORWARD.changes(name, layers(shape, *steps))
for name, shape, steps in (
    ("a computed scale", IMAGE, (times(4, 1, 1), COMPUTED)),
    ("a batch normalisation", IMAGE, (reciprocal, SUM, COMPUTED)),
    ("zeros and relu", IMAGE, (SOME_ZEROS, unary(ReluOp), COMPUTED)),
    ("zeros and leaky relu", IMAGE, (SOME_ZEROS, unary(LeakyReluOp, 0.1), COMPUTED)),
):
    SAFE_FORWARD.keeps(name, layers(shape, *steps))
TABLES = (
    *(CPU_BACKWARD, CPU_FORWARD, CPU_CONSTANT),
    *(BACKWARD, FORWARD, SAFE_BACKWARD, SAFE_FORWARD),
)
