"""Guards of the passes that move pads between layers, and what programs of layers are made of."""

import numpy as np
from xdsl.ir import SSAValue

from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp, Conv3DOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from xrelay.dialects.qnn.products import QnnConv2DOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.unary import ReluOp, TanhOp

FLOATS = ("float16", "float32", "float64")


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


def conv(*weight: int, constant: bool = True, kind=Conv2DOp, **options):
    """A convolution with a weight of that shape."""

    def apply(g: GuardGraph, x: SSAValue):
        make = g.w if constant else g.x
        return kind(x, make(*weight, dtype=g.dtype), **options)

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


IMAGE = (1, 4, 5, 6)
NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
TO_NHWC = {"data_layout": "NCHW", "out_layout": "NHWC"}

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
LINE, VOLUME = (1, 4, 6), (1, 4, 3, 5, 6)
for name, shape, widths, op in (
    ("a line", LINE, (NONE, NONE, UNEVEN), conv(2, 4, 3, kind=Conv1DOp, padding=[0, 1])),
    (
        "a line, channels last",
        (1, 6, 4),
        (NONE, UNEVEN, NONE),
        conv(3, 4, 2, kind=Conv1DOp, data_layout="NWC", kernel_layout="WIO"),
    ),
    ("a volume", VOLUME, (*RIM, (0, 3)), conv(2, 4, 1, 2, 3, kind=Conv3DOp, padding=[1, 0, 2])),
    (
        "a volume, channels last",
        (1, 3, 5, 6, 4),
        (NONE, ONE, UNEVEN, (0, 3), NONE),
        conv(1, 2, 3, 4, 2, kind=Conv3DOp, data_layout="NDHWC", kernel_layout="DHWIO"),
    ),
    ("averages of lines", LINE, (NONE, NONE, UNEVEN), unary(AvgPool1DOp, [3])),
    ("averages of volumes", VOLUME, (*RIM, ONE), unary(AvgPool3DOp, [2, 3, 3])),
):
    PADS.changes(name, layers(shape, pad(0, *widths), op), units=64)
    PADS.keeps(f"{name}, with ones", layers(shape, pad(1, *widths), op), units=64)
for name, shape, widths, op in (
    ("maxima of lines", LINE, (NONE, NONE, UNEVEN), unary(MaxPool1DOp, [3], padding=[0, 1])),
    ("maxima of volumes", VOLUME, (*RIM, ONE), unary(MaxPool3DOp, [2, 3, 3])),
):
    PADS.changes(name, layers(shape, pad(-np.inf, *widths), op))
    PADS.keeps(f"{name}, with zeros", layers(shape, pad(0, *widths), op))


def quantized(zero_point: int | None):
    """A convolution of quantised images, whose zero point may be a parameter."""

    def apply(g: GuardGraph, x: SSAValue):
        zero = g.x(dtype="int32") if zero_point is None else g.c(zero_point, "int32")
        scales = g.c(0.5), g.c(0.25)
        return QnnConv2DOp(x, g.w(2, 4, 2, 3, dtype="int8"), zero, g.c(1, "int32"), *scales)

    return apply


for name, value, zero_point in (("", 7, 7), (", zeros", 0, 0)):
    images = layers(IMAGE, pad(value, *RIM), quantized(zero_point), dtype="int8")
    PADS.changes(f"the zero point of images{name}", images)
for name, value, zero_point in (("others", 0, 7), ("unknown", 7, None)):
    images = layers(IMAGE, pad(value, *RIM), quantized(zero_point), dtype="int8")
    PADS.keeps(f"zero points that are {name}", images)
PADS.keeps(
    "edges of quantised images",
    layers(IMAGE, pad(7, *RIM, mode="edge"), quantized(7), dtype="int8"),
)


def padded_weight(g: GuardGraph) -> None:
    weight = g.op(PadOp(g.x(2, 4, 1, 1), g.c(0), [NONE, NONE, ONE, ONE]))
    g.show(Conv2DOp(g.x(*IMAGE), weight), 64)


def asked_value(g: GuardGraph) -> None:
    g.show(Conv2DOp(g.op(PadOp(g.x(*IMAGE), g.x(), list(RIM))), g.w(2, 4, 1, 1)), 64)


PADS.keeps("the weight is padded", padded_weight)
PADS.keeps("with a number that is asked", asked_value)
TABLES = (PADS,)
