"""Guards of Winograd's convolutions in `layout-rewrite`."""

from functools import partial
from typing import Any

from xdsl.dialects.builtin import i32

from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.conv.conv import Conv2DOp, Conv3DOp

TILES = GuardTable(
    'layout-rewrite{weights="nn.conv2d:winograd2","nn.conv3d:winograd3"}',
    units=1024,
    special=False,
    expects="-nn.conv2d|-nn.conv3d",
    before="fuse-ops",
)
TABLES = (TILES,)


def flat(
    g: GuardGraph,
    weight: tuple[int, ...] = (4, 2, 3, 3),
    image: tuple[int, ...] = (1, 2, 7, 8),
    dtype: Any = "float32",
    is_constant: bool = True,
    **options: Any,
) -> None:
    w = g.w(*weight, dtype=dtype) if is_constant else g.x(*weight, dtype=dtype)
    g.show(Conv2DOp(g.x(*image, dtype=dtype), w, **options))


def deep(g: GuardGraph, *kernel: int, **options: Any) -> None:
    g.show(Conv3DOp(g.x(1, 2, 7, 7, 8), g.w(3, 2, *kernel), **options))


TILES.changes("filters of three taps", flat)
TILES.changes("filters of seven taps", partial(flat, weight=(2, 2, 7, 7)))
TILES.changes("padding on one side", partial(flat, padding=(1, 0, 0, 2)))
TILES.changes("double precision", partial(flat, dtype="float64"))
TILES.changes(
    "another order of axes",
    partial(
        flat, weight=(3, 3, 2, 4), image=(1, 7, 8, 2), data_layout="NHWC", kernel_layout="HWIO"
    ),
)
TILES.keeps("filters of two taps", partial(flat, weight=(4, 2, 2, 2)))
TILES.keeps("filters of eight taps", partial(flat, weight=(2, 2, 8, 8), image=(1, 2, 9, 9)))
TILES.keeps("filters that are not square", partial(flat, weight=(4, 2, 3, 5)))
TILES.keeps("strides", partial(flat, strides=(1, 2)))
TILES.keeps("dilation", partial(flat, dilation=(2, 1)))
TILES.keeps("groups", partial(flat, weight=(4, 1, 3, 3), groups=2))
TILES.keeps("integers", partial(flat, dtype="int8", out_dtype=i32))
TILES.keeps("sums in integers", partial(flat, out_dtype=i32))
TILES.keeps("a weight that is no constant", partial(flat, is_constant=False))
TILES.keeps("blocks of images", partial(flat, image=(1, 1, 7, 8, 2), data_layout="NCHW2c"))
TILES.keeps("blocks of weights", partial(flat, weight=(2, 2, 3, 3, 2), kernel_layout="OIHW2o"))
TILES.changes("volumes", lambda g: deep(g, 3, 3, 3))
TILES.changes("a depth that is not transformed", lambda g: deep(g, 2, 3, 3))
TILES.keeps("a depth that would be taken for a transformed one", lambda g: deep(g, 5, 3, 3))
TILES.keeps("windows that are not square", lambda g: deep(g, 3, 3, 4))
