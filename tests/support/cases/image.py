"""Cases of images in other sizes, of sampling and of morphology: equal to the last bit."""

from itertools import product
from typing import Any

import numpy as np
from graphs import Graph
from xdsl.dialects.builtin import f32, f64, i8, i32

from cases.kernel import CaseTable, share
from xrelay.dialects.image import resize as image
from xrelay.dialects.image import sampling
from xrelay.dialects.image.resize import MODES, ROUNDINGS

TABLE = CaseTable()

METHODS = ("nearest_neighbor", "linear", "cubic")


@TABLE.each((image.Resize1DOp, image.Resize2DOp, image.Resize3DOp), METHODS)
def resize(g: Graph, method: str) -> None:
    for i, mode in enumerate(MODES):
        options: dict[str, Any] = {"method": method, "coordinate_transformation_mode": mode}
        options["rounding_method"] = (*ROUNDINGS, "")[i]
        options["cubic_exclude"], options["extrapolation_value"] = i % 2, 7.5
        for j, (length, target) in enumerate(((5, 12), (7, 3), (4, 1), (1, 3))):
            layout, shape = (("NCW", (2, 3, length)), ("NWC", (2, length, 17)))[(i + j) % 2]
            x = g.input(g.numbers("float32", *shape))
            roi = (0.1, 0.8) if j % 2 else (-0.2, 1.3)
            g.show(image.Resize1DOp(x, [target], layout=layout, roi=roi, **options))
        for layout, shape, size in (
            ("NCHW", (1, 2, 5, 4), (9, 7)),
            ("NHWC", (1, 4, 6, 19), (3, 8)),
            ("HWNC", (3, 4, 2, 1), (1, 5)),
        )[i % 3 :]:
            x = g.input(g.small("float32", *shape, low=-99, high=99))
            roi = (0.1, 0.2, 0.8, 1.1)
            g.show(image.Resize2DOp(x, size, layout=layout, roi=roi, **options))
        volume = g.input(g.small("float32", 1, 2, 3, 2, 4, low=-99, high=99))
        roi = (0.0, 0.1, 0.2, 1.0, 0.7, 1.4)
        g.show(image.Resize3DOp(volume, (2, 5, 3), roi=roi, **options))


@TABLE.each((image.Resize1DOp, image.Resize2DOp, image.Resize3DOp), METHODS)
def resize_by_scales(g: Graph, method: str) -> None:
    """Lengths times scales that are no whole numbers."""
    for i, mode in enumerate(MODES):
        options: dict[str, Any] = {"method": method, "coordinate_transformation_mode": mode}
        options["rounding_method"] = (*ROUNDINGS, "")[i]
        for length, scale in ((5, 1.5), (7, 0.3), (3, 0.4), (1, 1.7), (9, 1 / 3)):
            x = g.input(g.numbers("float32", 2, 3, length))
            g.show(image.Resize1DOp(x, [int(length * scale)], scales=[scale], **options))
        x = g.input(g.small("float32", 1, 5, 4, 19, low=-99, high=99))
        g.show(image.Resize2DOp(x, (7, 2), layout="NHWC", scales=(1.5, 0.625), **options))
        volume = g.input(g.small("float32", 1, 2, 3, 2, 4, low=-99, high=99))
        g.show(image.Resize3DOp(volume, (4, 3, 2), scales=(1.5, 1.75, 0.7), **options))


@TABLE.each(
    (image.Resize2DOp,),
    ("bfloat16", "float16", "float64", "int8", "uint16", "int32", "int64", "bool"),
)
def resize_dtypes(g: Graph, dtype: str) -> None:
    for method in METHODS:
        x = g.input(g.numbers(dtype, 2, 2, 4, 5))
        for out in share(dtype, (None, f32, i8, i32)):
            g.show(image.Resize2DOp(x, (7, 3), method=method, out_dtype=out))
        crop: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize"}
        g.show(
            image.Resize2DOp(
                x, (3, 4), method=method, roi=(-0.5, 0, 1, 1.5), extrapolation_value=-300.7, **crop
            )
        )


@TABLE.case(image.Resize2DOp)
def empty_images(g: Graph) -> None:
    for shape, size in (((0, 2, 3, 4), (2, 2)), ((1, 2, 0, 4), (0, 2)), ((1, 2, 3, 4), (0, 2))):
        g.show(image.Resize2DOp(g.input(g.numbers("float32", *shape)), size))


@TABLE.each((image.CropAndResizeOp,), ("float32", "float64", "int8"))
def crop_and_resize(g: Graph, dtype: str) -> None:
    boxes = g.rng.uniform(-0.2, 1.2, (6, 4)).astype(np.float32)
    boxes[0], boxes[1], boxes[2, 1] = (0, 0, 1, 1), (1, 1, 0, 0), np.nan
    boxes[3, 2] = np.inf
    numbers = np.array([0, 1, 1, 0, 7, -3], np.int32)
    sizes = (3, 4), (1, 6), (4, 1)
    for method, size in share(dtype, product(("bilinear", "nearest_neighbor"), sizes)):
        for layout, shape in (("NCHW", (2, 3, 5, 6)), ("NHWC", (2, 5, 6, 18))):
            x = g.input(g.numbers(dtype, *shape))
            operands = x, g.input(boxes), g.input(numbers)
            options: dict[str, Any] = {"method": method, "layout": layout}
            g.show(image.CropAndResizeOp(*operands, size, extrapolation_value=3.5, **options))
        g.show(image.CropAndResizeOp(*operands, size, method=method, layout="NHWC", out_dtype=f64))


@TABLE.each((image.Dilation2DOp,), ("float32", "float16", "float64", "int8", "uint8", "int32"))
def dilation(g: Graph, dtype: str) -> None:
    for i, (strides, dilations, padding) in enumerate(
        (((1, 1), (1, 1), (0, 0)), ((2, 1), (1, 2), (1, 2)), ((1, 3), (2, 1), (0, 1, 2, 3)))
    ):
        options: dict[str, Any] = {"strides": strides, "dilations": dilations, "padding": padding}
        x, w = g.input(g.numbers(dtype, 2, 3, 6, 7)), g.input(g.numbers(dtype, 3, 2, 3))
        g.show(image.Dilation2DOp(x, w, **options))
        x, w = g.input(g.numbers(dtype, 1, 6, 7, 19)), g.input(g.numbers(dtype, 2, 3, 19))
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWI"}
        out = (None, f32, i32)[i]
        g.show(image.Dilation2DOp(x, w, out_dtype=out, **layouts, **options))


@TABLE.each((sampling.AffineGridOp,), ("float32", "float16", "float64"))
def affine_grid(g: Graph, dtype: str) -> None:
    for batch, shape in ((1, (2, 2)), (3, (5, 33)), (0, (2, 3))):
        g.show(sampling.AffineGridOp(g.input(g.numbers(dtype, batch, 2, 3)), shape))


@TABLE.each((sampling.GridSampleOp,), ("float32", "float16", "float64"))
def grid_sample(g: Graph, dtype: str) -> None:
    special = np.array([-1, 1, 0, -3, 3, 0.5, np.nan, np.inf, -np.inf, 1e30, -7.25, 1.0625])
    modes = product(("zeros", "border", "reflection"), (True, False))
    for (padding, corners), method in share(
        dtype, product(modes, ("bilinear", "nearest", "bicubic"))
    ):
        options: dict[str, Any] = {"padding_mode": padding, "align_corners": corners}
        for image_shape in ((3, 4), (1, 5)):
            places = g.rng.uniform(-2, 2, (2, 2, 3, 9))
            chosen = g.rng.random(places.shape) < 0.3
            places[chosen] = g.rng.choice(special, int(chosen.sum()))
            x = g.input(g.small(dtype, 2, 3, *image_shape, low=-99, high=99))
            grid = g.input(places.astype(np.float32))
            g.show(sampling.GridSampleOp(x, grid, method=method, **options))
        if method != "bicubic":
            x = g.input(g.small(dtype, 1, 2, 2, 3, 4, low=-99, high=99))
            places = g.rng.uniform(-2, 2, (1, 3, 2, 2, 5)).astype(dtype)
            op = sampling.GridSampleOp(x, g.input(places), method=method, layout="NCDHW", **options)
            g.show(op)
