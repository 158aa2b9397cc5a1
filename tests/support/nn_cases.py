"""
Graphs of the neural network operators for the comparison of compiled kernels with the interpreter
(tests/execution/test_kernels.py): one case for each operator or family, and dtype.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from graphs import Graph
from xdsl.ir import Operation, SSAValue

from xrelay.dialects import conv, conv_transpose, pool

Case: TypeAlias = Callable[[Graph], None]

FLOATS = ("float16", "float32", "float64")
DTYPES = (*FLOATS, "int8", "int32", "int64", "uint8", "uint16", "uint64", "bool")

CASES: dict[str, Case] = {}
COVERED: set[type[Operation]] = set()


def cases(ops: Sequence[type[Operation]], dtypes: Sequence[str]) -> Callable[[Any], Any]:
    """Registers a case for each dtype, which `build` gets as its second argument."""

    def register(build: Any) -> Any:
        COVERED.update(ops)
        for dtype in dtypes:
            CASES[f"{build.__name__}-{dtype}"] = lambda g, dtype=dtype: build(g, dtype)
        return build

    return register


def in_layout(array: Any, names: str, layout: str) -> Any:
    """An array with the axes `names` in another order of them."""
    return np.ascontiguousarray(array.transpose([names.index(name) for name in layout]))


# Windows

VOLUMES: tuple[tuple[Any, ...], ...] = (
    # volume, window, strides, padding, dilation
    ((3, 4, 7), (1, 1, 1), (1, 1, 1), [0], (1, 1, 1)),
    ((5, 6, 19), (3, 3, 3), (1, 1, 1), [1, 1, 1], (1, 1, 1)),
    ((6, 5, 17), (2, 3, 3), (2, 1, 2), [1, 0, 2], (1, 1, 1)),
    ((4, 5, 9), (3, 1, 2), (1, 2, 3), [1, 0, 1, 2, 1, 0], (1, 1, 2)),
    ((7, 7, 11), (3, 2, 3), (1, 1, 1), [2, 0, 2], (2, 3, 2)),
    ((1, 1, 1), (3, 3, 3), (1, 1, 1), [1], (1, 1, 1)),
)
CHANNELS = ((3, 5, 1), (1, 1, 1), (6, 4, 2), (5, 5, 5), (9, 9, 3), (8, 17, 1))
CONVOLVED = ("float16", "float32", "float64", "int8", "int32", "uint16", "bool")
VOLUME_LAYOUTS = (
    ("NCDHW", "OIDHW", ""),
    ("NDHWC", "DHWIO", ""),
    ("NDHWC", "OIDHW", "NCDHW"),
    ("NCDHW", "ODHWI", "NDWHC"),
)


@cases((conv.Conv3DOp,), CONVOLVED)
def convolutions_of_volumes(g: Graph, dtype: str) -> None:
    for i, (volume, window, strides, padding, dilation) in enumerate(VOLUMES):
        inputs, outputs, groups = CHANNELS[i]
        layouts = VOLUME_LAYOUTS[i % len(VOLUME_LAYOUTS)]
        x = in_layout(g.small(dtype, 1 + i % 2, inputs, *volume), "NCDHW", layouts[0])
        w = in_layout(g.small(dtype, outputs, inputs // groups, *window), "OIDHW", layouts[1])
        op = conv.Conv3DOp(
            g.input(x),
            g.input(w),
            strides=strides,
            padding=padding,
            dilation=dilation,
            groups=groups,
            data_layout=layouts[0],
            kernel_layout=layouts[1],
            out_layout=layouts[2],
        )
        g.show(op)
    blocked = g.input(g.small(dtype, 1, 2, 3, 3, 5, 4)), g.input(g.small(dtype, 8, 8, 2, 2, 2))
    g.show(conv.Conv3DOp(*blocked, data_layout="NCDHW4c", out_layout="NDHWC8c"))
    for data, weight in (((0, 3, 4, 4, 4), (2, 3, 3, 3, 3)), ((1, 0, 4, 4, 4), (2, 0, 3, 3, 3))):
        g.show(conv.Conv3DOp(g.input(g.small(dtype, *data)), g.input(g.small(dtype, *weight))))


@cases(
    (
        conv_transpose.Conv1DTransposeOp,
        conv_transpose.Conv2DTransposeOp,
        conv_transpose.Conv3DTransposeOp,
    ),
    ("float32", "float64", "int32"),
)
def transposed_convolutions_of_all_ranks(g: Graph, dtype: str) -> None:
    ops = (
        (conv_transpose.Conv1DTransposeOp, "W", ("NCW", "NWC"), ("OIW", "IOW", "WIO")),
        (conv_transpose.Conv2DTransposeOp, "HW", ("NCHW", "NHWC"), ("OIHW", "IOHW", "HWOI")),
        (conv_transpose.Conv3DTransposeOp, "DHW", ("NCDHW", "NDHWC"), ("OIDHW", "IODHW", "DHWIO")),
    )
    for op, spatial, data_layouts, kernel_layouts in ops:
        rank = len(spatial)
        for i, (volume, window, strides, padding, dilation) in enumerate(VOLUMES[:5]):
            inputs, outputs, groups = CHANNELS[i]
            data_layout, kernel_layout = data_layouts[i % 2], kernel_layouts[i % 3]
            x = g.small(dtype, 1 + i % 2, inputs, *volume[-rank:])
            w = g.small(dtype, inputs, outputs // groups, *window[-rank:])
            shown = op(
                g.input(in_layout(x, f"NC{spatial}", data_layout)),
                g.input(in_layout(w, f"IO{spatial}", kernel_layout)),
                strides=strides[-rank:],
                output_padding=[stride - 1 for stride in strides[-rank:]],
                padding=padding[-rank:],
                dilation=dilation[-rank:],
                groups=groups,
                data_layout=data_layout,
                kernel_layout=kernel_layout,
                out_layout="" if i % 4 else data_layouts[(i + 1) % 2],
            )
            g.show(shown)


POOLED = ("float16", "float32", "float64", "int8", "int32", "uint8", "uint64", "bool")


@cases((pool.MaxPool1DOp, pool.AvgPool1DOp, pool.MaxPool3DOp, pool.AvgPool3DOp), POOLED)
def pools_of_lines_and_volumes(g: Graph, dtype: str) -> None:
    families = (
        (pool.MaxPool1DOp, pool.AvgPool1DOp, 1, ("NCW", "NWC")),
        (pool.MaxPool3DOp, pool.AvgPool3DOp, 3, ("NCDHW", "NDHWC")),
    )
    for largest, mean, rank, layouts in families:
        for i, (volume, window, strides, padding, dilation) in enumerate(VOLUMES):
            layout = layouts[i % 2]
            shape = [1 + i % 2, 3, *volume[-rank:]]

            def image(array: Any, layout: str = layout, layouts: Any = layouts) -> SSAValue:
                return g.input(in_layout(array, layouts[0], layout))

            options: dict[str, Any] = {
                "strides": strides[-rank:],
                "padding": padding if len(padding) == 1 else padding[-rank:],
                "dilation": dilation[-rank:],
                "ceil_mode": bool(i % 3),
                "layout": layout,
            }
            g.show(largest(image(g.numbers(dtype, *shape)), window[-rank:], **options))
            whole = g.small(dtype, *shape, low=-100, high=100)
            count = {"count_include_pad": bool(i % 2)}
            tolerance = 1 if dtype in FLOATS else 0
            g.show(mean(image(whole), window[-rank:], **options, **count), tolerance)
    blocked = g.input(g.numbers(dtype, 2, 3, 19, 8))
    g.show(pool.MaxPool1DOp(blocked, [3], padding=[1, 2], layout="NCW8c"))
    # Windows of nothing but padding, and no elements.
    g.show(pool.AvgPool1DOp(g.input(g.small(dtype, 1, 2, 3)), [2], padding=[3]))
    g.show(pool.MaxPool3DOp(g.input(g.small(dtype, 1, 1, 0, 3, 2)), [2, 2, 2], padding=[1]))
    g.show(pool.MaxPool3DOp(g.input(g.small(dtype, 0, 1, 2, 3, 2)), [2, 2, 2]))
