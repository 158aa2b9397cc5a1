"""
Graphs of the neural network operators for the comparison of compiled kernels with the interpreter
(tests/execution/test_kernels.py): one case for each operator or family, and dtype.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32
from xdsl.ir import Operation, SSAValue

from cases.kernel import share
from xrelay.dialects.conv import conv, winograd
from xrelay.dialects.conv import gradient as conv_gradient
from xrelay.dialects.conv import packed as conv_packed
from xrelay.dialects.conv import transpose as conv_transpose
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import bitserial, correlation, dense, loss, norm, space, upsampling
from xrelay.dialects.pool import adaptive as adaptive_pool
from xrelay.dialects.pool import gradient as pool_gradient
from xrelay.dialects.pool import pool
from xrelay.dialects.sparse import products as sparse
from xrelay.dialects.tensor import transform, unary

Case: TypeAlias = Callable[[Graph], None]

FLOATS = ("bfloat16", "float16", "float32", "float64")
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
CONVOLVED = ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint16", "bool")
VOLUME_LAYOUTS = (
    ("NCDHW", "OIDHW", ""),
    ("NDHWC", "DHWIO", ""),
    ("NDHWC", "OIDHW", "NCDHW"),
    ("NCDHW", "ODHWI", "NDWHC"),
)


@cases((conv.Conv2DOp, conv.Conv3DOp), ("float32", "int32"))
def pointwise_windows_that_skip_elements(g: Graph, dtype: str) -> None:
    """Also where a row has place for one window only, whose stride then counts for nothing."""
    for strides in ((1, 2), (2, 1), (2, 2), (1, 3)):
        for image in ((2, 2), (3, 4)):
            data = g.input(g.small(dtype, 1, 2, *image))
            g.show(conv.Conv2DOp(data, g.input(g.small(dtype, 3, 2, 1, 1)), strides=strides))
        data = g.input(g.small(dtype, 1, 2, 2, *image))
        weight = g.input(g.small(dtype, 3, 2, 1, 1, 1))
        g.show(conv.Conv3DOp(data, weight, strides=(1, *strides)))


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


@cases((conv.Conv1DOp, conv.Conv2DOp, conv.Conv3DOp), ("float32", "int32"))
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


@cases((pool.MaxPool2DOp, pool.AvgPool2DOp), ("float32", "int8"))
def pools_of_images_in_other_layouts(g: Graph, dtype: str) -> None:
    for layout in ("NHWC", "CNWH"):
        x = g.input(in_layout(g.small(dtype, 2, 5, 7, 9), "NCHW", layout))
        g.show(pool.MaxPool2DOp(x, [2, 3], strides=[2, 1], padding=[1, 1], layout=layout))
        g.show(pool.AvgPool2DOp(x, [3, 2], padding=[1, 0], layout=layout))
        g.show(pool.GlobalMaxPool2DOp(x, layout))
        g.show(pool.GlobalAvgPool2DOp(x, layout), 2)


@cases((upsampling.UpsamplingOp,), ("float32", "int8"))
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


@cases(
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


@cases((pool.MaxPool1DOp, pool.AvgPool1DOp, pool.MaxPool3DOp, pool.AvgPool3DOp), POOLED)
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


@cases(adaptive_pool.ADAPTIVE_POOL_OPS, POOLED)
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


@cases(
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


@cases((conv_gradient.Conv2DBackwardWeightOp,), CONVOLVED)
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


@cases((correlation.CorrelationOp,), FLOATS)
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


@cases((correlation.DeformableConv2DOp,), FLOATS)
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


# Elements


@cases((norm.PReluOp,), DTYPES)
def prelu(g: Graph, dtype: str) -> None:
    for shape, axis in (((2, 3, 17), 1), ((5, 33), -1), ((7,), 0), ((3, 2, 4, 5), 0), ((2, 0), 1)):
        data, alpha = g.input(g.numbers(dtype, *shape)), g.input(g.numbers(dtype, shape[axis]))
        g.show(norm.PReluOp(data, alpha, axis=axis))
        g.show(unary.NegativeOp(g.op(norm.PReluOp(g.op(unary.ReluOp(data)), alpha, axis=axis))))


@cases((norm.FastSoftmaxOp,), FLOATS)
def fast_softmax(g: Graph, dtype: str) -> None:
    for shape, axis in (((3, 33), -1), ((4, 5, 17), 1), ((7,), 0)):
        x = g.input((4 * g.rng.standard_normal(shape)).astype(dtype))
        g.show(norm.FastSoftmaxOp(x, axis=axis), 8)


MOVED = ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool")


@cases((space.MirrorPadOp,), MOVED)
def mirrored_borders(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 3, 4, 17))
    for widths in ([(0, 0)] * 3, [(1, 2), (0, 0), (0, 0)], [(2, 2), (3, 3), (16, 1)], [(0, 1)] * 3):
        for mode in ("SYMMETRIC", "REFLECT"):
            g.show(space.MirrorPadOp(x, widths, mode=mode), BITS)
    g.show(space.MirrorPadOp(x, [(3, 3), (4, 4), (17, 17)]), BITS)
    g.show(space.MirrorPadOp(g.input(g.numbers(dtype)), []), BITS)
    g.show(space.MirrorPadOp(g.input(g.numbers(dtype, 0, 3)), [(0, 0), (1, 1)]), BITS)


@cases((space.DepthToSpaceOp, space.SpaceToDepthOp), MOVED)
def channels_as_pixels(g: Graph, dtype: str) -> None:
    for layout in ("NCHW", "NHWC", "HCNW"):
        for block, channels in ((1, 3), (2, 2), (3, 1)):
            deep = g.numbers(dtype, 2, channels * block**2, 3, 5)
            for mode in ("DCR", "CRD"):
                data = g.input(in_layout(deep, "NCHW", layout))
                op = space.DepthToSpaceOp(data, block, layout=layout, mode=mode)
                g.show(op, BITS)
            wide = g.numbers(dtype, 1, channels, 2 * block, 4 * block)
            data = g.input(in_layout(wide, "NCHW", layout))
            g.show(space.SpaceToDepthOp(data, block, layout=layout), BITS)
    blocked = g.input(g.numbers(dtype, 1, 4, 2, 3, 4))
    g.show(space.DepthToSpaceOp(blocked, 2, layout="NCHW4c"), BITS)


@cases((space.BatchToSpaceNDOp, space.SpaceToBatchNDOp), MOVED)
def blocks_as_batches(g: Graph, dtype: str) -> None:
    settings = (
        ((12, 3, 5, 17), [2, 3], [(1, 2), (0, 3)]),
        ((4, 6, 9), [2], [(0, 0)]),
        ((4, 3, 4), [2, 2], [(1, 0), (3, 2)]),
        ((5, 3), [], []),
        ((0, 3, 2), [2], [(0, 1)]),
    )
    for shape, blocks, cuts in settings:
        g.show(space.BatchToSpaceNDOp(g.input(g.numbers(dtype, *shape)), blocks, crops=cuts), BITS)
    settings = (
        ((2, 5, 7, 17), [2, 3], [(1, 2), (0, 2)]),
        ((1, 6, 9), [2], [(0, 0)]),
        ((1, 3, 4), [2, 2], [(1, 0), (3, 1)]),
        ((5, 3), [], []),
        ((2, 0, 3), [3], [(2, 1)]),
    )
    for i, (shape, blocks, widths) in enumerate(settings):
        x = g.input(g.numbers(dtype, *shape))
        g.show(space.SpaceToBatchNDOp(x, blocks, paddings=widths, pad_value=1.6 * (i % 2)), BITS)


@cases((space.FifoBufferOp,), MOVED)
def queues(g: Graph, dtype: str) -> None:
    for new, old, axis in (
        ((2, 17), (5, 17), 0),
        ((3, 4), (3, 9), -1),
        ((7, 3), (5, 3), 0),
        ((5, 3), (5, 3), 0),
        ((0, 3), (5, 3), 0),
        ((2, 3), (0, 3), 0),
    ):
        data, buffer = g.input(g.numbers(dtype, *new)), g.input(g.numbers(dtype, *old))
        g.show(space.FifoBufferOp(data, buffer, axis=axis), BITS)


@cases(
    (upsampling.Upsampling3DOp,), ("bfloat16", "float16", "float32", "float64", "int8", "uint16")
)
def upsampled_volumes(g: Graph, dtype: str) -> None:
    scales = ((2, 2, 2), (1, 3, 1.5), (0.5, 0.4, 2.3), (1, 1, 0.01))
    for i, mode in enumerate(("half_pixel", "align_corners", "asymmetric")):
        for j, scale in enumerate(scales):
            layout = ("NCDHW", "NDHWC")[(i + j) % 2]
            for method in ("nearest_neighbor", "trilinear"):
                exact = method == "nearest_neighbor"
                x = (g.numbers if exact else g.small)(dtype, 1, 2, 2, 3, 5)
                op = upsampling.Upsampling3DOp(
                    g.input(in_layout(x, "NCDHW", layout)),
                    *scale,
                    layout=layout,
                    method=method,
                    coordinate_transformation_mode=mode,
                )
                g.show(op, BITS if exact else 4)


# Replaced by other operators


@cases((norm.L2NormalizeOp,), FLOATS)
def l2_normalize(g: Graph, dtype: str) -> None:
    x = g.input(g.rng.standard_normal((3, 5, 17)).astype(dtype))
    for axes in ([1], [-1], [0, 2], [], [0, 1, 2]):
        g.show(norm.L2NormalizeOp(x, 1e-2, axes), 4)
    special = g.input(g.numbers(dtype, 4, 9))
    g.show(norm.L2NormalizeOp(special, 1e-6, [0]), 4)


@cases((loss.CrossEntropyOp, loss.CrossEntropyWithLogitsOp), FLOATS)
def cross_entropy(g: Graph, dtype: str) -> None:
    for shape in ((3, 17), (1, 1), (0, 3), (2, 0)):
        x, y = (g.input(g.rng.random(shape).astype(dtype)) for _ in range(2))
        g.show(loss.CrossEntropyOp(x, y), 16)
        g.show(loss.CrossEntropyWithLogitsOp(x, y), 16)


@cases((loss.NllLossOp,), FLOATS)
def likelihoods(g: Graph, dtype: str) -> None:
    for shape, index in (((5, 3), "int32"), ((2, 4, 3), "int64"), ((2, 3, 2, 5), "uint8")):
        predictions = g.input(g.small(dtype, *shape))
        weights = g.input(g.small(dtype, shape[1], low=1))
        targets = g.input(g.small(index, shape[0], *shape[2:], low=-2, high=shape[1] + 2))
        for reduction in ("none", "sum", "mean"):
            for ignored in (1, -100):
                options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignored}
                g.show(loss.NllLossOp(predictions, targets, weights, **options), 1)
    nothing = g.input(g.small(dtype, 0, 3)), g.input(g.small("int32", 0))
    g.show(loss.NllLossOp(*nothing, g.input(g.small(dtype, 3)), reduction="none"))
    g.show(loss.NllLossOp(*nothing, g.input(g.small(dtype, 3)), reduction="mean"))


@cases((dense.ContribDensePackOp,), ("bfloat16", "float16", "float32", "float64", "int8", "int64"))
def packed_dense(g: Graph, dtype: str) -> None:
    for rows, depth, blocks, lanes in ((3, 17, 2, 8), (1, 5, 3, 4), (2, 0, 1, 3), (0, 4, 2, 2)):
        data, weight = g.small(dtype, rows, depth), g.small(dtype, blocks, depth, lanes)
        operands = g.input(data), g.input(weight)
        g.show(dense.ContribDensePackOp(*operands, blocks * lanes))
    int8 = g.input(g.small("int8", 3, 9)), g.input(g.small("int8", 2, 9, 4))
    g.show(dense.ContribDensePackOp(*int8, 8, out_dtype=i32))


@cases(
    (conv_packed.ContribConv2DNCHWcOp, conv_packed.ContribDepthwiseConv2DNCHWcOp),
    ("float32", "float64", "int32"),
)
def packed_convolutions(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in enumerate(IMAGES):
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        x, y, out = ((4, 8, "NCHW8c"), (8, 4, ""), (2, 16, "NCHW"), (4, 4, "NHWC"))[i]
        data = g.input(g.small(dtype, 1 + i % 2, 16 // x, *image, x))
        weight = g.input(g.small(dtype, 32 // y, 16 // x, *window, x, y))
        if i % 2:
            weight = g.constant(g.small(dtype, 32 // y, 16 // x, *window, x, y))
        layouts: dict[str, str] = {"data_layout": f"NCHW{x}c", "out_layout": out}
        op = conv_packed.ContribConv2DNCHWcOp(
            data, weight, **layouts, kernel_layout=f"OIHW{x}i{y}o", **options
        )
        g.show(op)
        weight = g.input(g.small(dtype, 16 // x, 1, *window, 1, x))
        op = conv_packed.ContribDepthwiseConv2DNCHWcOp(
            data, weight, **layouts, kernel_layout=f"OIHW1i{x}o", groups=16, **options
        )
        g.show(op)


@cases(winograd.WINOGRAD_OPS, FLOATS)
def winograd_in_two_steps(g: Graph, dtype: str) -> None:
    images = (
        (2, 3, 5, (7, 9), 3, 2, [1, 1]),
        (1, 2, 4, (8, 5), 3, 4, [0]),
        (1, 2, 2, (9, 9), 5, 2, [2, 0, 1, 2]),
    )
    for batch, inputs, outputs, image, taps, tile, padding in share(dtype, images):
        layout_ = ("NCHW", "NHWC")[tile // 4]
        x = g.rng.standard_normal((batch, inputs, *image)).astype(dtype)
        w = g.rng.standard_normal((outputs, inputs, taps, taps)).astype(dtype)
        made = g.show(winograd.ContribConv2DWinogradWeightTransformOp(g.input(w), tile), 16)
        swapped = g.op(transform.TransposeOp(made, (0, 1, 3, 2)))
        op = winograd.ContribConv2DWinogradWithoutWeightTransformOp(
            g.input(in_layout(x, "NCHW", layout_)),
            swapped,
            tile,
            padding=padding,
            data_layout=layout_,
        )
        g.show(op, 2000)
    volumes = (
        (1, 2, 3, (5, 6, 7), (3, 3, 3), 2, [1]),
        (2, 2, 1, (4, 5, 5), (2, 3, 3), 2, [1, 0, 1]),
    )
    for batch, inputs, outputs, image, kernel, tile, padding in share(dtype, volumes):
        x = g.rng.standard_normal((batch, inputs, *image)).astype(dtype)
        w = g.rng.standard_normal((outputs, inputs, *kernel)).astype(dtype)
        made = g.show(winograd.ContribConv3DWinogradWeightTransformOp(g.input(w), tile), 16)
        op = winograd.ContribConv3DWinogradWithoutWeightTransformOp(
            g.input(x), made, tile, padding=padding
        )
        g.show(op, 2000)
    empty = g.input(g.small(dtype, 0, 2, 4, 4)), g.input(g.small(dtype, 4, 4, 2, 3))
    g.show(winograd.ContribConv2DWinogradWithoutWeightTransformOp(*empty, 2))


@cases(bitserial.BITSERIAL_OPS, ("int8", "int16", "uint8", "uint32", "int64"))
def bits_of_small_integers(g: Graph, dtype: str) -> None:
    for width in (8, 16, 32, 64):
        word = IntegerType(width, Signedness.UNSIGNED)
        x = g.input(g.numbers(dtype, 2, 2 * width, 3))
        for bits, bit_axis in ((1, -1), (3, 0), (8, 2)):
            g.show(bitserial.BitPackOp(x, bits=bits, bit_axis=bit_axis, pack_type=word), BITS)
        last = g.input(g.numbers(dtype, 3, width))
        g.show(bitserial.BitPackOp(last, bits=2, pack_axis=-1, bit_axis=1, pack_type=word), BITS)
    word = IntegerType(8, Signedness.UNSIGNED)
    for unipolar in (True, False):
        options: dict[str, Any] = {
            "weight_bits": 2,
            "pack_dtype": word,
            "out_dtype": i32 if unipolar else i8,
            "unipolar": unipolar,
        }
        data, weight = g.input(g.numbers(dtype, 3, 16)), g.input(g.numbers(dtype, 5, 16))
        g.show(bitserial.BitSerialDenseOp(data, weight, 5, data_bits=3, **options))
        packed = g.input(g.numbers("uint8", 5, 2, 2))
        g.show(bitserial.BitSerialDenseOp(data, packed, 5, data_bits=8, **options))
        for layout_, image, kernel, packed_kernel in (
            ("NCHW", (2, 8, 5, 7), (3, 8, 3, 2), (3, 1, 3, 2, 2)),
            ("NHWC", (1, 5, 4, 16), (3, 2, 16, 4), (3, 2, 2, 4, 2)),
        ):
            x = g.input(g.numbers(dtype, *image))
            for w in (g.numbers(dtype, *kernel), g.numbers("uint8", *packed_kernel)):
                op = bitserial.BitSerialConv2DOp(
                    x,
                    g.input(w),
                    (3, 2),
                    strides=(1, 2),
                    padding=(1, 0),
                    activation_bits=2,
                    data_layout=layout_,
                    kernel_layout="OIHW" if layout_ == "NCHW" else "HWIO",
                    **options,
                )
                g.show(op)


# Sparse matrices


def _sparse(
    g: Graph, dtype: str, index: str, rows: int, columns: int, count: int, *block: int
) -> list[SSAValue]:
    """Data, indices and pointers of a sparse matrix; some indices are out of range."""
    pointers = np.sort(g.rng.integers(0, count + 1, rows + 1)).astype(index)
    pointers[0], pointers[-1] = 0, count
    indices = g.small(index, count, low=-1, high=columns + 1)
    return [g.input(a) for a in (g.small(dtype, count, *block), indices, pointers)]


@cases(
    (
        sparse.SparseDenseOp,
        sparse.InternalSparseDensePaddedOp,
        sparse.SparseConv2DOp,
        sparse.SparseAddOp,
    ),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64"),
)
def sparse_matrices(g: Graph, dtype: str) -> None:
    for i, (rows, columns, count, block) in enumerate(
        ((5, 7, 11, ()), (3, 4, 6, (2, 3)), (1, 1, 0, ()), (4, 3, 5, (1, 1)))
    ):
        index = ("int32", "int64", "uint8", "int32")[i]
        matrix = _sparse(g, dtype, index, rows, columns, count, *block)
        width = block[1] if block else 1
        dense_ = g.input(g.small(dtype, 3, columns * width))
        for op in (sparse.SparseDenseOp, sparse.InternalSparseDensePaddedOp):
            for lhs in (False, True):
                g.show(op(dense_, *matrix, sparse_lhs=lhs))
        if not block:
            whole = g.input(g.small(dtype, rows, columns))
            g.show(sparse.SparseAddOp(whole, *matrix))
            g.show(sparse.SparseAddOp(g.op(unary.NegativeOp(whole)), *matrix))
    for block in ((2,), (2, 2)):
        matrix = _sparse(g, dtype, "int32", 3, 4, 7, *block)
        channels = 4 * (block[1] if len(block) > 1 else 1)
        for layout_, shape in (("NHWC", (1, 2, 3, channels)), ("NCHW", (2, channels, 3, 5))):
            g.show(sparse.SparseConv2DOp(g.input(g.small(dtype, *shape)), *matrix, layout=layout_))
    nothing = _sparse(g, dtype, "int32", 2, 0, 0)
    g.show(sparse.SparseDenseOp(g.input(g.small(dtype, 3, 0)), *nothing))


@cases((sparse.SparseTransposeOp,), ("bfloat16", "float16", "float32", "float64", "int8", "bool"))
def transposed_sparse_matrices(g: Graph, dtype: str) -> None:
    for i, (size, count) in enumerate(((5, 11), (1, 0), (3, 2), (0, 0))):
        index = ("int32", "int64", "uint8", "int32")[i]
        operands = _sparse(g, dtype, index, size, size, count)
        made = g.show(sparse.SparseTransposeOp(*operands))
        g.show(core.TupleGetItemOp(made, 1))
    # Pointers that make no sense read and write nothing else.
    data, indices = g.input(g.numbers(dtype, 4)), g.input(np.array([0, 1, 9, -3], np.int32))
    pointers = g.input(np.array([-5, 4, 1, 90], np.int32))
    g.show(sparse.SparseTransposeOp(data, indices, pointers))
