"""
Graphs of windows on lines, images and volumes, with which those of nn.py begin: convolutions and pools in all layouts,
their gradients, correlations, and upsampled images. What networks have is in networks.py.
"""

from typing import Any

import numpy as np
from graphs import BITS, Graph
from xdsl.ir import SSAValue

from cases.kernel import FLOATS, CaseTable, share
from xrelay.dialects.base import operators
from xrelay.dialects.conv import conv
from xrelay.dialects.conv import gradient as conv_gradient
from xrelay.dialects.conv import transpose as conv_transpose
from xrelay.dialects.nn import correlation, upsampling
from xrelay.dialects.pool import adaptive as adaptive_pool
from xrelay.dialects.pool import gradient as pool_gradient
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import unary

WINDOWS = CaseTable()


def in_layout(array: Any, names: str, layout: str) -> Any:
    """An array with the axes `names` in another order of them."""
    return np.ascontiguousarray(array.transpose([names.index(name) for name in layout]))


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
CONVOLVED = ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint16", "bool")
VOLUME_LAYOUTS = (
    ("NCDHW", "OIDHW", ""),
    ("NDHWC", "DHWIO", ""),
    ("NDHWC", "OIDHW", "NCDHW"),
    ("NCDHW", "ODHWI", "NDWHC"),
)


@WINDOWS.each((conv.Conv2DOp, conv.Conv3DOp), ("float32", "int32"))
def pointwise_windows_that_skip_elements(g: Graph, dtype: str) -> None:
    """Also where a row has place for one window only, whose stride then counts for nothing."""
    for strides in ((1, 2), (2, 1), (2, 2), (1, 3)):
        for image in ((2, 2), (3, 4)):
            data = g.input(g.small(dtype, 1, 2, *image))
            g.show(conv.Conv2DOp(data, g.input(g.small(dtype, 3, 2, 1, 1)), strides=strides))
        data = g.input(g.small(dtype, 1, 2, 2, *image))
        weight = g.input(g.small(dtype, 3, 2, 1, 1, 1))
        g.show(conv.Conv3DOp(data, weight, strides=(1, *strides)))


@WINDOWS.each((conv.Conv3DOp,), CONVOLVED)
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


@WINDOWS.each((conv.Conv1DOp, conv.Conv2DOp, conv.Conv3DOp), ("float32", "int32"))
def convolutions_in_other_layouts(g: Graph, dtype: str) -> None:
    for op, image_layout, kernel_layout in (
        (conv.Conv1DOp, "NWC", "WIO"),
        (conv.Conv2DOp, "NHWC", "HWIO"),
        (conv.Conv2DOp, "CNHW", "OHWI"),
        (conv.Conv3DOp, "NDHWC", "DHWIO"),
    ):
        spatial = op.IMAGE_LAYOUT[2:]
        size, taps = (6, 5, 9)[: len(spatial)], (2, 3, 2)[: len(spatial)]
        x = in_layout(g.small(dtype, 2, 6, *size), op.IMAGE_LAYOUT, image_layout)
        w = in_layout(g.small(dtype, 4, 3, *taps), op.KERNEL_LAYOUT, kernel_layout)
        layouts = {"data_layout": image_layout, "kernel_layout": kernel_layout}
        g.show(op(g.input(x), g.input(w), groups=2, **layouts))
        # Two filters for each channel.
        w = in_layout(g.small(dtype, 6, 2, *taps), op.KERNEL_LAYOUT, kernel_layout)
        g.show(op(g.input(x), g.input(w), groups=6, channels=12, **layouts))
    # The last blocks are padded.
    x, w = g.input(g.small(dtype, 1, 2, 5, 5, 4)), g.input(g.small(dtype, 3, 6, 3, 3))
    g.show(conv.Conv2DOp(x, w, data_layout="NCHW4c"))


@WINDOWS.each((pool.MaxPool2DOp, pool.AvgPool2DOp), ("float32", "int8"))
def pools_of_images_in_other_layouts(g: Graph, dtype: str) -> None:
    for layout in ("NHWC", "CNWH"):
        x = g.input(in_layout(g.small(dtype, 2, 5, 7, 9), "NCHW", layout))
        g.show(pool.MaxPool2DOp(x, [2, 3], strides=[2, 1], padding=[1, 1], layout=layout))
        g.show(pool.AvgPool2DOp(x, [3, 2], padding=[1, 0], layout=layout))
        g.show(pool.GlobalMaxPool2DOp(x, layout))
        g.show(pool.GlobalAvgPool2DOp(x, layout), 2)


@WINDOWS.each((upsampling.UpsamplingOp,), ("float32", "int8"))
def upsampled_images(g: Graph, dtype: str) -> None:
    for layout in ("NCHW", "NHWC", "NCHW2c"):
        x = g.numbers(dtype, 1, 2, 3, 5, 2) if "2c" in layout else g.numbers(dtype, 1, 4, 3, 5)
        y = g.small(dtype, *x.shape)
        for corners in (False, True):
            options: dict[str, Any] = {"layout": layout, "align_corners": corners}
            g.show(upsampling.UpsamplingOp(g.input(x), 2.0, 1.5, **options), BITS)
            # Engines compute the places that 16 weights depend on in f32.
            for method, tolerance in (("bilinear", 4), ("bicubic", 32)):
                op = upsampling.UpsamplingOp(g.input(y), 1.5, 3.0, method=method, **options)
                g.show(op, tolerance)


@WINDOWS.each(
    (
        conv_transpose.Conv1DTransposeOp,
        conv.Conv2DTransposeOp,
        conv_transpose.Conv3DTransposeOp,
    ),
    ("float32", "float64", "int32"),
)
def transposed_convolutions_of_all_ranks(g: Graph, dtype: str) -> None:
    ops = (
        (conv_transpose.Conv1DTransposeOp, "W", ("NCW", "NWC"), ("OIW", "IOW", "WIO")),
        (conv.Conv2DTransposeOp, "HW", ("NCHW", "NHWC"), ("OIHW", "IOHW", "HWOI")),
        (conv_transpose.Conv3DTransposeOp, "DHW", ("NCDHW", "NDHWC"), ("OIDHW", "IODHW", "DHWIO")),
    )
    for op, spatial, data_layouts, kernel_layouts in ops:
        rank = len(spatial)
        for i, (volume, window, strides, padding, dilation) in enumerate(VOLUMES[:5]):
            inputs, outputs, groups = CHANNELS[i]
            data_layout, kernel_layout = (
                data_layouts[i % len(data_layouts)],
                kernel_layouts[i % len(kernel_layouts)],
            )
            x = g.small(dtype, 1 + i % 2, inputs, *volume[-rank:])
            w = g.small(dtype, inputs, outputs // groups, *window[-rank:])
            shown = op(
                g.input(in_layout(x, f"NC{spatial}", data_layout)),
                g.input(in_layout(w, op.KERNEL_LAYOUT, kernel_layout)),
                strides=strides[-rank:],
                output_padding=[stride - 1 for stride in strides[-rank:]],
                padding=padding[-rank:],
                dilation=dilation[-rank:],
                groups=groups,
                data_layout=data_layout,
                kernel_layout=kernel_layout,
                out_layout="" if i % 4 else data_layouts[(i + 1) % len(data_layouts)],
            )
            g.show(shown)


POOLED = ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint8", "uint64", "bool")


@WINDOWS.each((pool.MaxPool1DOp, pool.AvgPool1DOp, pool.MaxPool3DOp, pool.AvgPool3DOp), POOLED)
def pools_of_lines_and_volumes(g: Graph, dtype: str) -> None:
    families = (
        (pool.MaxPool1DOp, pool.AvgPool1DOp, 1, ("NCW", "NWC")),
        (pool.MaxPool3DOp, pool.AvgPool3DOp, 3, ("NCDHW", "NDHWC")),
    )
    for largest, mean, rank, layouts in families:
        for i, (volume, window, strides, padding, dilation) in share(dtype, enumerate(VOLUMES)):
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


@WINDOWS.each(operators(adaptive_pool.__name__), POOLED)
def adaptive_pools(g: Graph, dtype: str) -> None:
    layouts = (("NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC"))
    sizes = (((5, 7, 33), (3, 7, 17)), ((4, 3, 8), (6, 1, 4)), ((2, 3, 5), ()))
    for axes, names in enumerate(layouts, start=1):
        for i, (image, size) in enumerate(sizes):
            shape, wanted, layout = (1 + i % 2, 3, *image[-axes:]), size[-axes:], names[i % 2]
            special = in_layout(g.numbers(dtype, *shape), names[0], layout)
            whole = in_layout(g.small(dtype, *shape, low=-100, high=100), names[0], layout)
            largest = adaptive_pool.ADAPTIVE_MAX_OPS[axes - 1]
            mean = adaptive_pool.ADAPTIVE_AVG_OPS[axes - 1]
            g.show(largest(g.input(special), wanted, layout=layout))
            tolerance = 1 if dtype in FLOATS else 0
            g.show(mean(g.input(whole), wanted, layout=layout), tolerance)
    empty = g.input(g.small(dtype, 1, 2, 0))
    g.show(adaptive_pool.AdaptiveAvgPool1DOp(empty, [3]))
    g.show(adaptive_pool.AdaptiveMaxPool1DOp(empty, [3]))
    blocked = g.op(unary.CopyOp(g.input(g.numbers(dtype, 1, 2, 3, 5, 4))))
    g.show(adaptive_pool.AdaptiveMaxPool2DOp(blocked, [2, 2], layout="NCHW4c"))


IMAGES = (
    # image, window, strides, padding, dilation
    ((5, 7), (2, 3), (1, 1), [0, 0], (1, 1)),
    ((8, 17), (3, 3), (2, 2), [1], (1, 1)),
    ((6, 9), (2, 2), (3, 1), [0, 1, 2, 3], (1, 2)),
    ((3, 3), (2, 2), (1, 1), [2, 3], (1, 1)),
)


@WINDOWS.each(
    (pool_gradient.AvgPool2DGradOp, pool_gradient.MaxPool2DGradOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64", "uint16"),
)
def gradients_of_pools(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in enumerate(IMAGES):
        layout = ("NCHW", "NHWC")[i % 2]
        options: dict[str, Any] = {
            "strides": strides,
            "padding": padding,
            "dilation": dilation,
            "ceil_mode": bool(i % 2),
        }
        shape = (1 + i % 2, 3, *image)
        pooled = pool.MaxPool2DOp(g.input(g.numbers(dtype, *shape)), window, **options)
        counts = pooled.result.type.get_shape()
        pooled.drop_all_references()
        for array in (g.numbers(dtype, *shape), g.small(dtype, *shape)):
            data = g.input(in_layout(array, "NCHW", layout))
            grad = g.input(in_layout(g.small(dtype, *counts), "NCHW", layout))
            g.show(pool_gradient.MaxPool2DGradOp(grad, data, window, **options, layout=layout))
        tolerance = 8 if dtype in FLOATS else 0
        mean = pool_gradient.AvgPool2DGradOp(grad, data, window, **options, layout=layout)
        g.show(mean, tolerance)
    empty = g.input(g.small(dtype, 0, 1, 1, 1)), g.input(g.small(dtype, 0, 1, 2, 2))
    g.show(pool_gradient.MaxPool2DGradOp(*empty, [2, 2]))


@WINDOWS.each((conv_gradient.Conv2DBackwardWeightOp,), CONVOLVED)
def gradients_of_convolution(g: Graph, dtype: str) -> None:
    layouts = (("NCHW", "OIHW", ""), ("NHWC", "NHWC", "HWIO"), ("NCHW", "NHWC", "OHWI"))
    for i, (image, window, strides, padding, dilation) in enumerate(IMAGES):
        inputs, outputs, groups = CHANNELS[i]
        shape = (1 + i % 2, inputs, *image)
        options: dict[str, Any] = {
            "strides": strides,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
        }
        weight = g.input(g.small(dtype, outputs, inputs // groups, *window))
        convolved = conv.Conv2DOp(g.input(g.small(dtype, *shape)), weight, **options)
        counts = convolved.result.type.get_shape()
        convolved.drop_all_references()
        names = layouts[i % 3]
        grad = in_layout(g.small(dtype, *counts), "NCHW", names[0])
        data = in_layout(g.small(dtype, *shape), "NCHW", names[1].replace("OI", "NC"))
        op = conv_gradient.Conv2DBackwardWeightOp(
            g.input(grad),
            g.input(data),
            window,
            **options,
            data_layout=names[0],
            kernel_layout=names[1],
            out_layout=names[2],
        )
        g.show(op)
    empty = g.input(g.small(dtype, 0, 2, 2, 2)), g.input(g.small(dtype, 0, 3, 3, 3))
    g.show(conv_gradient.Conv2DBackwardWeightOp(*empty, (2, 2)))


@WINDOWS.each((correlation.CorrelationOp,), FLOATS)
def correlations(g: Graph, dtype: str) -> None:
    settings = (
        ((2, 3, 6, 21), {"kernel_size": 1, "max_displacement": 2, "padding": [2]}),
        ((1, 2, 9, 19), {"kernel_size": 3, "max_displacement": 3, "stride2": 2}),
        ((1, 4, 9, 11), {"kernel_size": 3, "stride1": 2, "padding": [1, 0, 2, 3]}),
        ((1, 1, 4, 4), {"max_displacement": 0}),
        ((0, 1, 4, 4), {}),
        ((1, 0, 4, 4), {}),
    )
    for shape, options in settings:
        for multiply in (True, False):
            pair = (g.input(g.small(dtype, *shape)) for _ in range(2))
            g.show(correlation.CorrelationOp(*pair, **options, is_multiply=multiply), 1)


@WINDOWS.each((correlation.DeformableConv2DOp,), FLOATS)
def deformable_convolutions(g: Graph, dtype: str) -> None:
    layouts = (("NCHW", "OIHW", ""), ("NHWC", "HWIO", ""), ("NCHW", "OIHW", "NHWC"))
    for i, (image, window, strides, padding, dilation) in enumerate(IMAGES):
        groups, parts = ((1, 1), (2, 1), (1, 2), (2, 3))[i]
        data_layout, kernel_layout, out_layout = layouts[i % 3]
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        x, w = g.small(dtype, 1 + i % 2, 6, *image), g.small(dtype, 4, 6 // groups, *window)
        plain = conv.Conv2DOp(g.input(x), g.input(w), **options, groups=groups)
        positions = plain.result.type.get_shape()[2:]
        plain.drop_all_references()
        # Quarters, so that weights are exact; far away and nowhere, too.
        offset = g.small(dtype, 1 + i % 2, parts * 2 * np.prod(window), *positions, low=-9, high=9)
        offset = offset / np.asarray(4, dtype)
        offset.flat[:4] = [np.nan, np.inf, -np.inf, 1e4]
        op = correlation.DeformableConv2DOp(
            g.input(in_layout(x, "NCHW", data_layout)),
            g.input(in_layout(offset, "NCHW", data_layout)),
            g.input(in_layout(w, "OIHW", kernel_layout)),
            **options,
            deformable_groups=parts,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_layout=out_layout,
        )
        g.show(op)
    nothing = (
        g.input(g.small(dtype, *shape)) for shape in ((1, 1, 0, 3), (1, 2, 1, 4), (2, 1, 1, 1))
    )
    g.show(correlation.DeformableConv2DOp(*nothing, padding=[1, 0, 0, 1]))
