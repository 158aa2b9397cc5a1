"""Guards of the passes that move scales, pads, products and reshapes between layers."""

import numpy as np
from xdsl.ir import SSAValue

from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import LeakyReluOp, ReluOp, TanhOp

FLOATS = ("float16", "float32", "float64")

# -- fold-scale-axis. An infinite number by another factor is NaN where a scale is 0.

BACKWARD = GuardTable(
    'fold-scale-axis{directions="backward"}',
    units=256,
    special=False,
    expects="<multiply|=nn.dense|=nn.bias_add",
)
FORWARD = GuardTable(
    'fold-scale-axis{directions="forward"}',
    units=256,
    special=False,
    expects="<multiply|=nn.dense|=nn.bias_add",
)
CONSTANT = GuardTable(
    "fold-scale-axis{constant-weights=true}",
    units=256,
    special=False,
    expects="<multiply|=nn.dense|=nn.bias_add",
)


def of(value: SSAValue):
    """The dtype of a tensor, as an attribute."""
    return value.type.element_type


def by(*factors, shape=None, left: bool = False, op=MultiplyOp):
    """A product with constants, all of one shape."""

    def apply(g: GuardGraph, x: SSAValue):
        c = g.c(np.reshape(factors, shape if shape is not None else len(factors)), g.dtype)
        return op(c, x) if left else op(x, c)

    return apply


def unary(kind, *args, **options):
    return lambda g, x: kind(x, *args, **options)


def conv(*weight: int, constant: bool = True, **options):
    """A convolution with a weight of that shape."""

    def apply(g: GuardGraph, x: SSAValue):
        make = g.w if constant else g.x
        return Conv2DOp(x, make(*weight, dtype=g.dtype), **options)

    return apply


def dense(*weight: int, constant: bool = True, **options):
    def apply(g: GuardGraph, x: SSAValue):
        return DenseOp(x, (g.w if constant else g.x)(*weight, dtype=g.dtype), **options)

    return apply


def bias(length: int, axis: int = 1, *, constant: bool = True):
    def apply(g: GuardGraph, x: SSAValue):
        return BiasAddOp(x, (g.w if constant else g.x)(length, dtype=g.dtype), axis=axis)

    return apply


def plus(*shape: int, constant: bool = True, left: bool = False, op=AddOp):
    def apply(g: GuardGraph, x: SSAValue):
        c = (g.w if constant else g.x)(*shape, dtype=g.dtype)
        return op(c, x) if left else op(x, c)

    return apply


def layers(shape, *steps, dtype: str = "float32", again: int | None = None):
    """Operators on a parameter, one after the other; the value after step `again` is used again."""

    def build(g: GuardGraph) -> None:
        g.dtype = dtype
        value = g.x(*shape, dtype=dtype)
        for number, step in enumerate(steps):
            value = g.op(step(g, value))
            if number == again:
                g.show(TanhOp(value))
        g.returns(value)

    return build


IMAGE, ROWS = (1, 4, 5, 6), (3, 4)
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
        BACKWARD.changes(f"{name} {dtype}", layers(IMAGE, *steps, dtype=dtype))
    BACKWARD.changes(f"dense {dtype}", layers(ROWS, dense(4, 4), LAST, dtype=dtype))
    BACKWARD.changes(
        f"dense, bias {dtype}", layers(ROWS, dense(4, 4), bias(4, -1), LAST, dtype=dtype)
    )
    BACKWARD.changes(
        f"dense of batches {dtype}", layers((4, *ROWS), dense(4, 4), LAST, dtype=dtype)
    )
NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
TO_NHWC = {"data_layout": "NCHW", "out_layout": "NHWC"}
BACKWARD.changes("channels last", layers((1, 5, 6, 4), conv(2, 3, 4, 4, **NHWC), LAST))
BACKWARD.keeps(
    "columns, not channels", layers((1, 5, 4, 4), conv(1, 1, 4, 4, **NHWC), by(*C, shape=(4, 1)))
)
BACKWARD.changes("channels come last", layers((1, 4, 4, 4), conv(4, 4, 1, 1, **TO_NHWC), LAST))
BACKWARD.keeps("channels came second", layers((1, 4, 4, 4), conv(4, 4, 1, 1, **TO_NHWC), CHANNELS))
BACKWARD.keeps(
    "groups in another layout", layers((1, 5, 6, 4), conv(1, 1, 2, 4, groups=2, **NHWC), LAST)
)
BACKWARD.keeps("rows", layers((1, 4, 4, 4), conv(4, 4, 1, 1), by(*C, shape=(4, 1))))
BACKWARD.keeps("images", layers((4, 4, 4, 4), conv(4, 4, 1, 1), by(*C, shape=(4, 1, 1, 1))))
BACKWARD.keeps("two axes", layers((1, 2, 2, 2), conv(2, 2, 1, 1), by(*C, shape=(2, 2, 1))))
BACKWARD.keeps("rows of a dense", layers((4, 4), dense(4, 4), by(*C, shape=(4, 1))))
BACKWARD.keeps("the scale's shape counts", layers((1, 4), dense(1, 4), LAST))
BACKWARD.keeps("negative and relu", layers(IMAGE, conv(4, 4, 1, 1), unary(ReluOp), NEGATIVE))
BACKWARD.keeps(
    "zero and relu", layers(IMAGE, conv(4, 4, 1, 1), unary(ReluOp), by(0, 1, 2, 3, shape=(4, 1, 1)))
)
BACKWARD.keeps(
    "negative and leaky relu", layers(IMAGE, conv(4, 4, 1, 1), unary(LeakyReluOp, 0.1), NEGATIVE)
)
BACKWARD.keeps("another user", layers(IMAGE, conv(4, 4, 1, 1), CHANNELS, again=0))
BACKWARD.keeps(
    "another user between", layers(IMAGE, conv(4, 4, 1, 1), unary(ReluOp), CHANNELS, again=1)
)
BACKWARD.keeps("tanh", layers(IMAGE, conv(4, 4, 1, 1), unary(TanhOp), CHANNELS))
BACKWARD.keeps("pooling", layers(IMAGE, conv(4, 4, 1, 1), unary(MaxPool2DOp, [2, 2]), CHANNELS))
BACKWARD.keeps("bias of another axis", layers((1, 4, 4, 4), conv(4, 4, 1, 1), bias(4, 2), CHANNELS))
BACKWARD.keeps("a parameter", layers(IMAGE, CHANNELS))
BACKWARD.keeps(
    "a computed summand that broadcasts",
    layers(IMAGE, conv(4, 4, 1, 1), plus(4, 1, 1, constant=False), CHANNELS),
)
BACKWARD.keeps(
    "a computed summand", layers(IMAGE, conv(4, 4, 1, 1), plus(*IMAGE, constant=False), CHANNELS)
)
BACKWARD.keeps("integers", layers(ROWS, dense(4, 4), by(2, 3, 4, 5), dtype="int32"))
BACKWARD.keeps("an empty image", layers((0, 4, 5, 6), conv(4, 4, 1, 1), CHANNELS))
BACKWARD.keeps("division", layers(IMAGE, conv(4, 4, 1, 1), by(*C, shape=(4, 1, 1), op=DivideOp)))
BACKWARD.changes("weights that are computed", layers(ROWS, dense(4, 4, constant=False), LAST))
CONSTANT.keeps("weights that are computed", layers(ROWS, dense(4, 4, constant=False), LAST))
CONSTANT.keeps("a bias that is computed", layers(ROWS, dense(4, 4), bias(4, constant=False), LAST))
CONSTANT.changes("weights that are known", layers(ROWS, dense(4, 4), bias(4), LAST))
CONSTANT.changes(
    "weights that are scaled twice", layers(ROWS, dense(4, 4), LAST, unary(ReluOp), LAST)
)
MOVES = (unary(ReshapeOp, [4, 3]), unary(TransposeOp), unary(ExpandDimsOp, 1))
BACKWARD.changes("a number behind moves", layers(ROWS, dense(4, 4), *MOVES, by(3, shape=())))
BACKWARD.keeps("factors behind moves", layers(ROWS, dense(4, 4), *MOVES, by(*C, shape=(1, 4))))
BACKWARD.changes(
    "a number behind a product",
    layers(ROWS, dense(4, 4), plus(4, 5, op=MatmulOp), by(3, shape=(1,))),
)
BACKWARD.keeps("factors behind a product", layers(ROWS, dense(4, 4), plus(4, 4, op=MatmulOp), LAST))


def both_summands(g: GuardGraph, *, same: bool = False, broadcast: bool = False) -> None:
    x = g.x(*ROWS)
    first = g.op(DenseOp(x, g.w(4, 4)))
    second = first if same else g.op(DenseOp(g.x(1, 4) if broadcast else x, g.w(4, 4)))
    g.show(MultiplyOp(g.op(SubtractOp(first, second)), g.c(C)))


BACKWARD.changes("both summands", both_summands)
BACKWARD.keeps("one value twice", lambda g: both_summands(g, same=True))
BACKWARD.keeps("one summand broadcasts", lambda g: both_summands(g, broadcast=True))

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
        FORWARD.changes(f"{name} {dtype}", layers(IMAGE, *steps, dtype=dtype))
    FORWARD.changes(f"dense {dtype}", layers(ROWS, LAST, dense(2, 4), dtype=dtype))
    FORWARD.changes(f"dense of batches {dtype}", layers((4, *ROWS), LAST, dense(4, 4), dtype=dtype))
FORWARD.changes("channels last", layers((1, 5, 6, 4), LAST, conv(2, 3, 4, 4, **NHWC)))
FORWARD.changes("channels go last", layers((1, 4, 4, 4), CHANNELS, conv(4, 4, 1, 1, **TO_NHWC)))
FORWARD.keeps("columns go to channels", layers((1, 4, 4, 4), LAST, conv(4, 4, 1, 1, **TO_NHWC)))
FORWARD.keeps(
    "columns, not channels", layers((1, 5, 4, 4), by(*C, shape=(4, 1)), conv(1, 1, 4, 4, **NHWC))
)
FORWARD.keeps(
    "groups in another layout", layers((1, 5, 6, 4), LAST, conv(1, 1, 2, 4, groups=2, **NHWC))
)
FORWARD.keeps("rows", layers((1, 4, 4, 4), by(*C, shape=(4, 1)), conv(4, 4, 1, 1)))
FORWARD.keeps("rows of a dense", layers((4, 4), by(*C, shape=(4, 1)), dense(4, 4)))
FORWARD.keeps("negative and relu", layers(IMAGE, NEGATIVE, unary(ReluOp), conv(4, 4, 1, 1)))
FORWARD.keeps(
    "negative and maxima", layers(IMAGE, NEGATIVE, unary(MaxPool2DOp, [2, 2]), conv(4, 4, 1, 1))
)
FORWARD.keeps(
    "negative and the maximum", layers(IMAGE, NEGATIVE, unary(GlobalMaxPool2DOp), conv(4, 4, 1, 1))
)
FORWARD.keeps(
    "averages of rows",
    layers((1, 4, 4, 4), by(*C, shape=(4, 1)), unary(AvgPool2DOp, [1, 1]), conv(4, 4, 1, 1)),
)
FORWARD.keeps(
    "maxima of rows",
    layers((1, 4, 4, 4), by(*C, shape=(4, 1)), unary(GlobalMaxPool2DOp), conv(4, 4, 1, 1)),
)
FORWARD.keeps("zero and a sum", layers(ROWS, by(0, 1, 2, 3), plus(4), dense(4, 4)))
FORWARD.changes("zero and no sum", layers(ROWS, by(0, 1, 2, 3), dense(4, 4)))
for number in (np.inf, -np.inf, np.nan):
    for shape, factors in (((), [number]), ((4,), [1, number, 2, 3])):
        scale = by(*factors, shape=shape)
        BACKWARD.keeps(f"{number}, {len(factors)} factors", layers(ROWS, dense(4, 4), scale))
        FORWARD.keeps(f"{number}, {len(factors)} factors", layers(ROWS, scale, dense(4, 4)))
for number in (0.0, -0.0):
    scale = by(number, 1, 2, 3)
    BACKWARD.changes(f"{number} as a factor", layers(ROWS, dense(4, 4), scale))
    BACKWARD.keeps(f"{number} and relu", layers(ROWS, dense(4, 4), unary(ReluOp), scale))
    FORWARD.changes(f"{number} as a factor", layers(ROWS, scale, dense(4, 4)))
    FORWARD.keeps(f"{number} and relu", layers(ROWS, scale, unary(ReluOp), dense(4, 4)))
FORWARD.keeps(
    "so little that quotients are infinite", layers(ROWS, by(1e-40, 1, 2, 3), plus(4), dense(4, 4))
)
FORWARD.keeps(
    "a computed summand",
    layers(ROWS, LAST, plus(3, 4, constant=False), dense(4, 4, constant=False), dtype="float32"),
)
FORWARD.keeps("a sum that broadcasts", layers((1, 4), LAST, plus(3, 4), dense(4, 4)))
FORWARD.keeps("the result is used", layers(ROWS, LAST, dense(4, 4), again=0))
FORWARD.keeps("no weight", layers(ROWS, LAST, unary(ReluOp), plus(4)))
FORWARD.keeps("tanh", layers(ROWS, LAST, unary(TanhOp), dense(4, 4)))
FORWARD.changes("another product", layers(ROWS, LAST, plus(4, op=MultiplyOp)))
FORWARD.keeps("another product that broadcasts", layers((1, 4), LAST, plus(3, 4, op=MultiplyOp)))
FORWARD.changes("a number before moves", layers(ROWS, by(3, shape=()), *MOVES, dense(4, 4)))
FORWARD.keeps("factors before moves", layers(ROWS, LAST, *MOVES, dense(4, 4)))


def two_users(g: GuardGraph, *, weight: bool = False) -> None:
    scaled = g.op(MultiplyOp(g.x(4, 4), g.c(C)))
    g.show(DenseOp(scaled, g.w(2, 4)))
    g.show(DenseOp(g.x(2, 4), scaled) if weight else DenseOp(scaled, g.w(4, 4)))


FORWARD.changes("two users", two_users)
FORWARD.keeps("a weight is scaled", lambda g: two_users(g, weight=True))

# -- fold-explicit-padding

PADS = GuardTable("fold-explicit-padding", units=16, expects="-nn.pad")
LOWEST = {
    "float16": -np.inf,
    "float32": -np.inf,
    "float64": -np.inf,
    "int8": -128,
    "uint8": 0,
    "int32": -(2**31),
}


def pad(value, *widths, mode: str = "constant"):
    return lambda g, x: PadOp(x, g.c(value, g.dtype), widths, pad_mode=mode)


NONE, ONE, UNEVEN = (0, 0), (1, 1), (2, 1)
RIM = (NONE, NONE, ONE, UNEVEN)
for dtype in FLOATS:
    PADS.changes(
        f"convolution {dtype}", layers(IMAGE, pad(0, *RIM), conv(2, 4, 2, 3), dtype=dtype), units=64
    )
    PADS.changes(
        f"averages {dtype}", layers(IMAGE, pad(0, *RIM), unary(AvgPool2DOp, [3, 2]), dtype=dtype)
    )
for dtype, low in LOWEST.items():
    PADS.changes(
        f"maxima {dtype}", layers(IMAGE, pad(low, *RIM), unary(MaxPool2DOp, [3, 3]), dtype=dtype)
    )
    above = 1 if dtype == "uint8" else low / 2 if low > -np.inf else -6e4
    PADS.keeps(
        f"maxima and {above} {dtype}",
        layers(IMAGE, pad(above, *RIM), unary(MaxPool2DOp, [3, 3]), dtype=dtype),
    )
UNSIGNED = {"strides": [2, 1], "dilation": [1, 2], "padding": [1, 0, 2, 3]}
PADS.changes(
    "convolution with padding", layers(IMAGE, pad(0, *RIM), conv(2, 4, 2, 3, **UNSIGNED)), units=64
)
PADS.changes(
    "convolution of groups", layers(IMAGE, pad(0, *RIM), conv(2, 2, 2, 3, groups=2)), units=64
)
PADS.changes(
    "channels last",
    layers((1, 5, 6, 4), pad(0, NONE, ONE, UNEVEN, NONE), conv(2, 3, 4, 2, **NHWC)),
    units=64,
)
PADS.changes(
    "channels come last", layers(IMAGE, pad(0, *RIM), conv(2, 4, 1, 2, **TO_NHWC)), units=64
)
PADS.changes(
    "maxima, channels last",
    layers(
        (1, 5, 6, 4),
        pad(-np.inf, NONE, ONE, UNEVEN, NONE),
        unary(MaxPool2DOp, [3, 3], layout="NHWC"),
    ),
)
PADS.changes(
    "maxima in blocks",
    layers((1, 1, 5, 6, 4), pad(-np.inf, *RIM, NONE), unary(MaxPool2DOp, [3, 3], layout="NCHW4c")),
)
PADS.changes(
    "maxima with padding",
    layers(IMAGE, pad(-np.inf, *RIM), unary(MaxPool2DOp, [4, 5], padding=[1, 0, 0, 2])),
)
PADS.changes(
    "pads of pads",
    layers(IMAGE, pad(0, *RIM), pad(0, NONE, NONE, NONE, ONE), conv(2, 4, 2, 3)),
    units=64,
)
PADS.changes(
    "another user of the pad",
    layers(IMAGE, pad(0, *RIM), conv(2, 4, 2, 3), again=0),
    units=64,
    expects="",
)
PADS.changes(
    "averages that count",
    layers(IMAGE, pad(0, *RIM), unary(AvgPool2DOp, [3, 3], padding=[1, 1], count_include_pad=True)),
)
PADS.keeps(
    "averages that do not count",
    layers(IMAGE, pad(0, *RIM), unary(AvgPool2DOp, [3, 3], padding=[0, 0, 0, 1])),
)
PADS.keeps(
    "averages to the end",
    layers(IMAGE, pad(0, *RIM), unary(AvgPool2DOp, [3, 3], strides=[2, 2], ceil_mode=True)),
)
PADS.keeps(
    "maxima to the end",
    layers(IMAGE, pad(-np.inf, *RIM), unary(MaxPool2DOp, [3, 3], strides=[2, 2], ceil_mode=True)),
)
PADS.keeps("averages of others", layers(IMAGE, pad(1, *RIM), unary(AvgPool2DOp, [3, 3])))
PADS.keeps(
    "averages with the lowest", layers(IMAGE, pad(-np.inf, *RIM), unary(AvgPool2DOp, [3, 3]))
)
PADS.keeps("maxima with zeros", layers(IMAGE, pad(0, *RIM), unary(MaxPool2DOp, [3, 3])))
PADS.keeps("convolution with ones", layers(IMAGE, pad(1, *RIM), conv(2, 4, 2, 3)), units=64)
PADS.keeps("convolution with NaN", layers(IMAGE, pad(np.nan, *RIM), conv(2, 4, 2, 3)))
PADS.keeps("edges", layers(IMAGE, pad(0, *RIM, mode="edge"), conv(2, 4, 2, 3)), units=64)
PADS.keeps("reflections", layers(IMAGE, pad(0, *RIM, mode="reflect"), conv(2, 4, 2, 3)), units=64)
PADS.keeps("channels", layers(IMAGE, pad(0, NONE, (0, 1), ONE, ONE), conv(2, 5, 2, 3)), units=64)
PADS.keeps("images", layers(IMAGE, pad(0, (1, 0), NONE, ONE, ONE), conv(2, 4, 2, 3)), units=64)
PADS.keeps(
    "one column less", layers(IMAGE, pad(0, NONE, NONE, ONE, (2, -1)), conv(2, 4, 2, 3)), units=64
)
PADS.keeps(
    "one row less",
    layers(IMAGE, pad(-np.inf, NONE, NONE, (-1, 1), ONE), unary(MaxPool2DOp, [2, 2])),
)
PADS.keeps("another operator", layers(IMAGE, pad(0, *RIM), unary(ReluOp)))


def padded_weight(g: GuardGraph) -> None:
    weight = g.op(PadOp(g.x(2, 4, 1, 1), g.c(0), [NONE, NONE, ONE, ONE]))
    g.show(Conv2DOp(g.x(*IMAGE), weight), 64)


def asked_value(g: GuardGraph) -> None:
    g.show(Conv2DOp(g.op(PadOp(g.x(*IMAGE), g.x(), list(RIM))), g.w(2, 4, 1, 1)), 64)


PADS.keeps("the weight is padded", padded_weight)
PADS.keeps("with a number that is asked", asked_value)
TABLES = (BACKWARD, FORWARD, CONSTANT, PADS)
