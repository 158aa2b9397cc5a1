"""
What operators with sliding windows take (see `operator_bounds`): Relay's type relations, where the docstrings of the
dialect do not say that it differs.
"""

from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i8, i16, i32

from bounds.operator import (
    OPTIONAL_DTYPE,
    Bound,
    Says,
    Subject,
    at_least,
    between,
    only,
    paddings,
    positive,
    subject,
)

ui8, ui32 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 32))
COVERS = "the window covers"


def shape(*dims: int, dtype: str = "f32") -> str:
    """The type of tensors of some dimensions."""
    return "x".join((*map(str, dims), dtype))


def image_layouts(names: str) -> Bound:
    """A layout that is that of the operands, and others with axes that images do not have."""
    return Bound((names,), (names[:-1], names[:-1] + "X", names.lower(), f"{names}2w", ""))


def convolutions(operator: str, spatial: int, scalars: str = "", **more: Bound) -> Subject:
    """A convolution of two groups with windows of three elements, on axes of nine."""
    names, kernels = "NC" + "DHW"[-spatial:], "OI" + "DHW"[-spatial:]
    dtype = "i8" if scalars else "f32"
    nine, three = [9] * spatial, [3] * spatial

    def data(*dims: int) -> str:
        return shape(*dims, dtype=dtype)

    def sized(dims: list[int], at: int, size: int) -> list[int]:
        return [*dims[:at], size, *dims[at + 1 :]]

    return subject(
        operator,
        f"{data(2, 4, *nine)} {data(6, 2, *three)} {scalars}",
        strides=positive(spatial) + Bound(([9] * spatial,)),
        padding=paddings(spatial),
        dilation=positive(spatial)
        + Bound(
            ([4] * spatial,), [Says(sized([4] * spatial, i, 5), COVERS) for i in range(spatial)]
        ),
        groups=Bound((2,), (0, -1, *(Says(n, "channels") for n in (1, 3, 4)))),
        channels=Bound((None, 6), (5, 7, 12, 0)),
        kernel_size=Bound(
            (None, three), (three[1:], [*three, 3], *(sized(three, i, 2) for i in range(spatial)))
        ),
        data_layout=image_layouts(names),
        kernel_layout=Bound((kernels,), (kernels[:-1], kernels.lower(), f"{kernels}2w", "")),
        out_layout=Bound(("", names, f"{names}2c"), (names[:-1], f"{names}2w")),
        data=Bound(
            (data(0, 4, *nine), data(1, 4, *three)),
            (data(2, 4, *nine[1:]), data(2, 4, *nine, 1), data(2, 3, *nine), data(2, 5, *nine))
            + tuple(Says(data(2, 4, *sized(three, i, 2)), COVERS) for i in range(spatial)),
        ),
        weight=Bound(
            (data(2, 2, *three), data(6, 2, *nine), data(0, 2, *three)),
            (data(6, 2, *three[1:]), data(6, 2, *three, 1), data(6, 3, *three), data(5, 2, *three))
            + tuple(Says(data(6, 2, *sized(nine, i, 10)), COVERS) for i in range(spatial))
            + tuple(
                Says(data(6, 2, *sized(nine, i, 0)), "expected at least 1") for i in range(spatial)
            ),
        ),
        **more,
    )


def transposed(
    operator: str, spatial: int, kernels: str, scalars: str = "", **more: Bound
) -> Subject:
    """A transposed convolution of two groups with windows of three elements, on axes of five."""
    names = "NC" + "DHW"[-spatial:]
    dtype = "i8" if scalars else "f32"
    five, three = [5] * spatial, [3] * spatial
    ones, zeros = [1] * spatial, [0] * spatial

    def data(*dims: int) -> str:
        return shape(*dims, dtype=dtype)

    empty = "of the result is 0, expected at least 1"
    return subject(
        operator,
        f"{data(2, 4, *five)} {data(4, 3, *three)} {scalars}",
        strides=positive(spatial),
        # Seven elements: as many may be cut off, but for one.
        padding=paddings(spatial)
        + Bound(
            ([3],),
            (Says([4, *ones[1:], 3, *ones[1:]], empty), Says([*ones[1:], 4, *ones[1:], 3], empty)),
        ),
        output_padding=Bound(
            (zeros, ones, [9] * spatial), ([*zeros[1:], -1], zeros[1:], [*zeros, 0])
        ),
        dilation=positive(spatial),
        groups=Bound((2, 1, 4), (0, -1, Says(3, "3 groups"), Says(8, "8 groups"))),
        channels=Bound((None,), (5, 7, 3)),
        kernel_size=Bound((None, three), (three[1:], [*three, 3], [*three[1:], 2])),
        data_layout=image_layouts(names),
        kernel_layout=Bound((kernels,), (kernels[:-1], kernels.lower(), f"{kernels}2w", "")),
        out_layout=Bound(
            ("", names, f"{names}2c"), (names[:-1], f"{names}2w", Says(f"{names}4c", "blocks of 4"))
        ),
        data=Bound(
            (data(0, 4, *five), data(1, 4, *ones)),
            (data(2, 4, *five[1:]), data(2, 4, *five, 1), data(2, 2, *five), data(2, 5, *five)),
        ),
        weight=Bound(
            (data(4, 1, *ones),),
            (
                data(4, 3, *three[1:]),
                data(5, 3, *three),
                Says(data(4, 3, *three[1:], 0), "expected at least 1"),
            ),
        ),
        **more,
    )


def pools(operator: str, spatial: int) -> Subject:
    """Windows of three elements, on axes of nine."""
    names, nine, three = "NC" + "DHW"[-spatial:], [9] * spatial, [3] * spatial
    return subject(
        operator,
        shape(2, 3, *nine),
        pool_size=Bound((three,))
        + positive(spatial)
        + Bound((nine,), [Says([*nine[:i], 10, *nine[i + 1 :]], COVERS) for i in range(spatial)]),
        strides=positive(spatial),
        dilation=positive(spatial)
        + Bound(
            ([4] * spatial,),
            [Says([*([4] * i), 5, *([4] * (spatial - i - 1))], COVERS) for i in range(spatial)],
        ),
        padding=paddings(spatial),
        layout=image_layouts(names),
        out_layout=Bound(("", names), (names[:-1], "NHWC")),
        data=Bound(
            (shape(0, 3, *nine), shape(1, 0, *three, dtype="i8")),
            (
                shape(2, 3, *nine[1:]),
                shape(2, 3, *nine, 1),
                Says(shape(2, 3, *three[1:], 2), COVERS),
            ),
        ),
    )


def pool_gradient(operator: str) -> Subject:
    """The gradient of a pool of 7 x 9 elements by windows of 3 x 3."""
    return subject(
        operator,
        "2x3x5x7xf32 2x3x7x9xf32",
        pool_size=Bound(
            ([3, 3],),
            ([0, 3], [3, -1], [3], [3, 3, 3], Says([8, 3], COVERS), Says([2, 3], "'grad'")),
        ),
        strides=Bound(([1, 1],), ([0, 1], [1, 0], [1], Says([2, 1], "'grad'"))),
        dilation=Bound(([1, 1],), ([0, 1], [1, 0], [1], Says([1, 2], "'grad'"))),
        padding=Bound(([0, 0], [0]), ([-1, 0], [0, -1], [0, 0, 0], Says([0, 1], "'grad'"))),
        layout=image_layouts("NCHW"),
        out_layout=Bound(("", "NCHW"), ("NHWC",)),
        grad=Bound(
            (),
            (
                "2x3x4x7xf32",
                "2x3x5x8xf32",
                "2x4x5x7xf32",
                "1x3x5x7xf32",
                "2x3x5xf32",
                "2x3x5x7xf64",
            ),
        ),
    )


def adaptive(operator: str, spatial: int) -> Subject:
    """Windows on axes of five elements."""
    names, five = "NC" + "DHW"[-spatial:], [5] * spatial
    return subject(
        operator,
        shape(2, 3, *five),
        output_size=Bound(
            ([20] * spatial, []), [size for size in positive(spatial).refused if size]
        ),
        layout=image_layouts(names),
        out_layout=Bound(("", names), (names[:-1],)),
        data=Bound(
            (shape(2, 3, *([0] * spatial)),), (shape(2, 3, *five[1:]), shape(2, 3, *five, 1))
        ),
    )


def winograd(operator: str, data: str, weight: str, spatial: int) -> Subject:
    """A convolution with three taps by tiles of four outputs."""
    ones = [1] * spatial
    return subject(
        operator,
        f"{data} {weight}",
        tile_size=Bound((4,), (1, 9, 5)),
        strides=only(ones, others=([*ones[1:], 2], [0, *ones[1:]], ones[1:])),
        dilation=only(ones, others=([*ones[1:], 2], ones[1:])),
        padding=paddings(spatial),
        groups=only(1, others=(0, 2)),
        channels=Bound((None, 3), (2, 4)),
        kernel_size=Bound((None, [3] * spatial), ([3] * (spatial - 1), [3] * (spatial - 1) + [2])),
        data_layout=image_layouts("NC" + "DHW"[-spatial:]),
        out_layout=Bound(("",), ("NCX",)),
        kernel_layout=Bound(("OI" + "DHW"[-spatial:],)),
        out_dtype=OPTIONAL_DTYPE,
    )


WINDOW_SUBJECTS: tuple[Subject, ...] = (
    *(convolutions(f"nn.conv{n}d", n, out_dtype=OPTIONAL_DTYPE) for n in (1, 2, 3)),
    *(
        transposed(f"nn.conv{n}d_transpose", n, kernels, out_dtype=OPTIONAL_DTYPE)
        for n, kernels in ((1, "OIW"), (2, "IOHW"), (3, "OIDHW"))
    ),
    *(pools(f"nn.{kind}_pool{n}d", n) for n in (1, 2, 3) for kind in ("max", "avg")),
    *(adaptive(f"nn.adaptive_{kind}_pool{n}d", n) for n in (1, 2, 3) for kind in ("max", "avg")),
    *(pool_gradient(f"nn.{kind}_pool2d_grad") for kind in ("max", "avg")),
    *(
        subject(
            f"nn.global_{kind}_pool2d",
            "2x3x5x5xf32",
            layout=image_layouts("NCHW"),
            out_layout=Bound(("", "NCHW"), ("NHWC",)),
            data=Bound(("2x3x0x5xf32",), ("2x3x5xf32", "2x3x5x5x1xf32")),
        )
        for kind in ("max", "avg")
    ),
    # Two filters for each of six channels.
    subject(
        "nn.conv2d",
        "1x6x5x5xf32 6x2x3x3xf32",
        groups=only(6, others=(0, Says(3, "channels"), Says(12, "channels"))),
        channels=only(12, others=(Says(6, "channels"), Says(13, "channels"), Says(24, "channels"))),
        weight=Bound(
            ("12x1x3x3xf32", "?x2x3x3xf32", "6x?x3x3xf32", "?x?x3x3xf32", "?x1x3x3xf32"),
            (Says("12x2x3x3xf32", "channels"), Says("6x3x3x3xf32", "channels"), "?x3x3x3xf32"),
        ),
    ),
    subject(
        "nn.conv2d_backward_weight",
        "2x6x5x7xf32 2x4x7x9xf32",
        kernel_size=Bound(
            ([3, 3],), (None, [0, 3], [3], Says([2, 3], "'grad'"), Says([8, 3], COVERS))
        ),
        strides=Bound(([1, 1],), ([0, 1], [1], Says([2, 1], "'grad'"))),
        dilation=Bound(([1, 1],), ([0, 1], [1], Says([1, 2], "'grad'"))),
        padding=Bound(([0, 0],), ([-1, 0], [0] * 3, Says([0, 1], "'grad'"))),
        groups=Bound((1, 2), (0, -1, 3, 4)),
        channels=Bound((None, 6), (5, 7)),
        data_layout=image_layouts("NCHW"),
        kernel_layout=Bound(("OIHW", "NCHW"), ("OIH", "")),
        out_layout=Bound(("", "OIHW", "HWIO"), ("OIH", "NCHW")),
        out_dtype=OPTIONAL_DTYPE,
        grad=Bound((), ("1x6x5x7xf32", "2x6x4x7xf32", "2x6x5x8xf32", "2x6x5xf32", "2x6x5x7xf64")),
        data=Bound(("2x1x7x9xf32",), ("2x4x7xf32",)),
    ),
    *(
        subject(
            operator,
            f"2x2x9x9x{lanes}xf32 {weight}",
            strides=positive(2),
            padding=paddings(2),
            dilation=positive(2) + Bound(([4, 4],), (Says([5, 4], COVERS),)),
            groups=Bound((groups,), (0, -1, Says(groups + 1, "channels"))),
            channels=Bound((None, channels), (channels - 1, channels + 1)),
            kernel_size=Bound((None, [3, 3]), ([3, 2], [3])),
            data_layout=Bound(
                (f"NCHW{lanes}c",),
                ("NCHX", Says("NCHW", "rank 4"), Says(f"NCHW{lanes + 1}c", "blocks of 3")),
            ),
            kernel_layout=Bound((kernels, "OIHW"), ("OIH",)),
            out_layout=Bound(("", "NCHW", "NCHW3c"), ("NCH", "NCHW2w")),
            out_dtype=OPTIONAL_DTYPE,
        )
        for operator, lanes, weight, kernels, groups, channels in (
            ("nn.contrib_conv2d_NCHWc", 2, "3x2x3x3x2x4xf32", "OIHW2i4o", 1, 12),
            ("nn.contrib_depthwise_conv2d_NCHWc", 2, "2x1x3x3x1x2xf32", "OIHW1i2o", 4, 4),
        )
    ),
    subject(
        "nn.correlation",
        "2x3x9x9xf32 2x3x9x9xf32",
        kernel_size=only(1, 3, 7, others=(0, -1, 2, Says(9, COVERS))),
        max_displacement=Bound((1, 0, 4), (-1, Says(5, COVERS))),
        stride1=at_least(1),
        stride2=at_least(1),
        padding=paddings(2),
        layout=only("NCHW", others=("NHWC", "")),
        data1=Bound((), ("2x3x9xf32", "2x3x9x9xi32", "2x3x9x8xf32")),
        data2=Bound((), ("2x3x9xf32", "2x3x9x9xf64", "2x4x9x9xf32", "2x3x9x8xf32", "1x3x9x9xf32")),
    ),
    subject(
        "nn.deformable_conv2d",
        "2x4x9x9xf32 2x36x7x7xf32 6x2x3x3xf32",
        strides=Bound(([1, 1],), ([0, 1], [1, 0], [1], Says([1, 2], "'offset'"))),
        padding=Bound(([0, 0],), ([-1, 0], [0] * 3, Says([1, 0], "'offset'"))),
        dilation=Bound(([1, 1],), ([0, 1], [1], Says([2, 1], "'offset'"), Says([5, 1], COVERS))),
        groups=Bound((2,), (0, Says(1, "channels"), Says(3, "channels"))),
        deformable_groups=Bound((2,), (0, -1, 3, Says(1, "'offset'"), Says(4, "'offset'"))),
        channels=Bound((None, 6), (5, 7)),
        kernel_size=Bound((None, [3, 3]), ([3, 2], [3])),
        data_layout=image_layouts("NCHW"),
        kernel_layout=Bound(("OIHW",), ("OIH",)),
        out_layout=Bound(("", "NHWC", "NCHW2c"), ("NCH", Says("NCHW4c", "blocks of 4"))),
        out_dtype=OPTIONAL_DTYPE,
        data=Bound((), ("2x4x9x9xi32", "2x4x9xf32", "2x3x9x9xf32")),
        offset=Bound(
            (),
            (
                "2x36x7x7xi32",
                "2x18x7x7xf32",
                "2x37x7x7xf32",
                "2x36x6x7xf32",
                "2x36x7x8xf32",
                "1x36x7x7xf32",
            ),
        ),
        weight=Bound((), ("5x2x3x3xf32", "6x1x3x3xf32", "6x2x3xf32")),
    ),
    subject(
        "nn.contrib_conv2d_winograd_weight_transform",
        "3x2x3x3xf32",
        tile_size=between(2, 8),
        weight=Bound(
            ("3x2x7x7xf32", "0x2x5x5xf32"),
            ("3x2x2x2xf32", "3x2x8x8xf32", "3x2x3x4xf32", "3x2x3xf32", "3x2x3x3xi32"),
        ),
    ),
    subject(
        "nn.contrib_conv3d_winograd_weight_transform",
        "3x2x3x3x3xf32",
        tile_size=between(2, 8),
        weight=Bound(
            ("3x2x1x7x7xf32",),
            ("3x2x3x2x2xf32", "3x2x3x8x8xf32", "3x2x3x3x4xf32", "3x2x3x3xf32", "3x2x3x3x3xi32"),
        ),
    ),
    winograd(
        "nn.contrib_conv2d_winograd_without_weight_transform", "1x2x9x9xf32", "6x6x2x3xf32", 2
    ),
    winograd(
        "nn.contrib_conv3d_winograd_without_weight_transform", "1x2x9x9x9xf32", "6x6x6x3x2xf32", 3
    ),
    subject(
        "image.dilation2d",
        "2x3x9x9xf32 3x3x3xf32",
        strides=positive(2),
        padding=paddings(2),
        dilations=positive(2) + Bound(([4, 4],), (Says([5, 4], COVERS), Says([4, 5], COVERS))),
        data_layout=image_layouts("NCHW"),
        kernel_layout=Bound(("IHW",), ("OHW", "IH")),
        out_dtype=OPTIONAL_DTYPE,
        data=Bound((), ("2x3x9xf32", Says("2x4x9x9xf32", "channels"), Says("2x3x2x9xf32", COVERS))),
        weight=Bound(("3x9x9xf32",), ("4x3x3xf32", "3x3xf32", Says("3x10x3xf32", COVERS))),
    ),
    subject(
        "nn.bitserial_conv2d",
        "1x32x9x9xui8 6x32x3x3xui8",
        strides=positive(2),
        padding=paddings(2),
        kernel_size=Bound(([3, 3],), ([3, 2], [0, 3], [3])),
        channels=Bound((None, 6), (5, 7)),
        activation_bits=between(1, 8),
        weight_bits=between(1, 8),
        data_layout=only("NCHW", others=("NCWH", "")),
        kernel_layout=only("OIHW", "OIHWi", others=("HWIO", "")),
        pack_dtype=only(None, ui8, ui32, others=(i8, i32, f32)),
        out_dtype=only(None, i16, i32, ui8, others=(i1, f32)),
        data=Bound(
            (),
            (
                "1x32x9x9xf32",
                "1x32x9x9xi1",
                "1x32x9xui8",
                "1x31x9x9xui8",
                "1x64x9x9xui8",
                Says("1x32x2x9xui8", COVERS),
            ),
        ),
        weight=Bound(
            (), ("6x64x3x3xui8", "6x32x3xui8", "6x32x3x3xi1", Says("6x32x2x3xui8", "'kernel_size'"))
        ),
    ),
)
