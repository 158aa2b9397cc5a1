"""
What operators of neural networks take (see `operator_bounds`): Relay's type relations, where the docstrings of the
dialect do not say that it differs.
"""

from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i8, i16, i32

from bounds.operator import (
    ANY_REAL,
    OPTIONAL_DTYPE,
    Bound,
    Says,
    Subject,
    at_least,
    axes,
    axis,
    between,
    floats,
    indices,
    only,
    subject,
    words,
)
from bounds.window import image_layouts

ui8, ui32 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 32))
BLOCKS: tuple[Subject, ...] = (
    subject(
        "nn.depth_to_space",
        "1x12x4x4xf32",
        block_size=at_least(1),
        layout=image_layouts("NCHW"),
        mode=words("DCR", "CRD"),
        data=Bound((), ("12x4x4xf32", "1x12x4x4x1xf32")),
    ),
    subject(
        "nn.space_to_depth",
        "1x3x4x8xf32",
        block_size=Bound((1, 2, 4), (0, -1, Says(3, "3"), Says(8, "height"))),
        layout=image_layouts("NCHW"),
        mode=only("DCR", others=("CRD", "")),
        data=Bound((), ("3x4x4xf32",)),
    ),
    subject(
        "nn.space_to_depth",
        "1x3x6x4xf32",
        block_size=Bound((2, 1), (Says(3, "width"), Says(4, "height"))),
    ),
    subject(
        "nn.batch_to_space_nd",
        "12x4x5x2xf32",
        block_shape=Bound(([2, 3], [12, 1]), ([0, 1], [1, -1], Says([2], "'crops'"))),
        crops=Bound(
            ([(0, 0), (0, 0)], [(8, 0), (7, 8)]),
            ([(9, 0), (0, 0)], [(0, 0), (8, 8)], [(-1, 0), (0, 0)], [(0, 0)], [(0,), (0, 0)]),
        ),
        data=Bound(("12x4x5xf32",), (Says("12x4xf32", "'block_shape'"),)),
    ),
    subject(
        "nn.space_to_batch_nd",
        "2x4x5x2xf32",
        block_shape=Bound(
            ([2, 3], [4, 2], [1, 1]),
            (
                [0, 1],
                [2, -1],
                Says([3, 3], "padded length of axis 1"),
                Says([2, 4], "axis 2"),
                Says([2], "'paddings'"),
            ),
        ),
        paddings=Bound(
            ([(0, 0), (1, 0)], [(1, 1), (0, 4)]),
            (
                [(-1, 1), (1, 0)],
                [(0, 0)],
                Says([(1, 0), (1, 0)], "axis 1"),
                Says([(0, 0), (1, 1)], "axis 2"),
            ),
        ),
        pad_value=ANY_REAL,
        data=Bound(("2x4x5xf32",), (Says("2x4xf32", "'block_shape'"),)),
    ),
    subject(
        "vision.yolo_reorg",
        "1x8x4x6xf32",
        stride=Bound((2, 1), (0, -1, Says(3, "channels"), Says(4, "channels"))),
        data=Bound((), ("8x4x6xf32", "1x6x4x6xf32", "1x8x5x6xf32", "1x8x4x5xf32")),
    ),
    subject(
        "nn.bitpack",
        "64x64x64xui8",
        bits=between(1, 8),
        pack_axis=axis(3),
        bit_axis=axis(4),
        pack_type=only(None, ui8, ui32, others=(i8, i32, f32)),
        name=Bound(("BitPack", "")),
        data=Bound((), ("64x64x64xf32", "64x64x64xi1")),
    ),
    subject(
        "nn.bitpack",
        "3x40xi32",
        bits=1,
        pack_axis=1,
        pack_type=only(ui8, others=(Says(None, "32 bits"),)),
        data=Bound(("3x0xi8",), ("3x41xi32", "3x39xi32")),
    ),
    subject(
        "layout_transform",
        "2x6x4x4xf32",
        src_layout=Bound(("NCHW",), ("NCHw", "4c")),
        dst_layout=Bound(("NHWC", "NCHW4c", "HWNC2c"), ("NCH", "NCHX", "NCHWC", "")),
        data=Bound((), ("2x6x4xf32", "2x6x4x4x1xf32")),
    ),
    subject(
        "layout_transform",
        "2x2x4x4x3xf32",
        src_layout=Bound(("NCHW3c",), ("NCHW4c",)),
        dst_layout=Bound(("NCHW",)),
    ),
)

NORMS: tuple[Subject, ...] = (
    *(
        subject(
            op,
            "4x4x4xf32 4xf32",
            axis=axis(3),
            **{name: Bound((), ("3xf32", "5xf32", "f32", "1x4xf32", "4xf64"))},
        )
        for op, name in (("nn.bias_add", "bias"), ("nn.prelu", "alpha"))
    ),
    subject(
        "nn.bias_add",
        "3x4x5xf32 4xf32",
        axis=Bound((1, -2), (Says(0, "'bias'"), Says(2, "'bias'"))),
    ),
    subject(
        "nn.batch_norm",
        "4x4x4xf32 4xf32 4xf32 4xf32 4xf32",
        axis=axis(3),
        epsilon=ANY_REAL,
        data=Bound((), ("4x4x4xi32", "4x4x4xf64")),
        **{
            name: Bound((), ("3xf32", "f32", "4xf64"))
            for name in ("gamma", "beta", "moving_mean", "moving_var")
        },
    ),
    *(
        subject(
            op,
            "4x4x4xf32 4xf32 4xf32",
            axis=axis(3),
            epsilon=ANY_REAL,
            data=Bound((), ("4x4x4xi32",)),
            gamma=Bound((), ("3xf32", "f32", "4xf64")),
            beta=Bound((), ("5xf32", "4x1xf32", "4xf64")),
        )
        for op in ("nn.layer_norm", "nn.instance_norm")
    ),
    subject(
        "nn.group_norm",
        "6x6x6xf32 6xf32 6xf32",
        axis=axis(3),
        epsilon=ANY_REAL,
        num_groups=Bound((3, 1, 6), (0, -1, 4, 5, 7, 12)),
        data=Bound((), ("6x6x6xi32",)),
        gamma=Bound((), ("3xf32", "f32", "6xf64")),
    ),
    subject(
        "nn.rms_norm",
        "4x4x4xf32 4xf32",
        axis=axis(3),
        epsilon=ANY_REAL,
        data=Bound((), ("4x4x4xi32",)),
        gamma=Bound((), ("3xf32", "f32", "4xf64")),
    ),
    *(
        subject(op, "4x4x4xf32", axis=axis(3), data=floats("4x4x4x"))
        for op in ("nn.softmax", "nn.fast_softmax", "nn.log_softmax")
    ),
    subject(
        "nn.lrn",
        "4x4x4xf32",
        axis=axis(3),
        size=at_least(1),
        bias=ANY_REAL,
        alpha=ANY_REAL,
        beta=ANY_REAL,
        data=floats("4x4x4x"),
    ),
    subject(
        "nn.l2_normalize",
        "4x4x4xf32",
        axis=axes(3) + Bound(([],)),
        eps=ANY_REAL,
        data=floats("4x4x4x"),
    ),
    subject(
        "nn.nll_loss",
        "2x3x4xf32 2x4xi32 3xf32",
        reduction=words("mean", "sum", "none"),
        ignore_index=Bound((-100, 0, 3)),
        targets=indices("2x4x") + Bound((), ("2xi32", "2x3xi32", "1x4xi32", "2x4x1xi32")),
        weights=Bound((), ("2xf32", "4xf32", "3x1xf32", "3xf64")),
        predictions=Bound(
            (),
            (Says("2x4xf32", "rank"), "2x3x4xi32", "2x3x4x1xf32", Says("2x2x4xf32", "'weights'")),
        ),
    ),
    subject(
        "nn.nll_loss",
        "0x0xf32 0xi32 0xf32",
        ignore_index=0,
        predictions=Bound((), (Says("2x0xf32", "'targets'"),)),
    ),
    *(
        subject(
            op,
            "2x3xf32 2x3xf32",
            x=Bound((), ("2xf32", "2x3xi32", "3x3xf32")),
            y=Bound((), ("2x4xf32", "1x3xf32", "2x3x1xf32", "2x3xf64")),
        )
        for op in ("nn.cross_entropy", "nn.cross_entropy_with_logits")
    ),
)

PRODUCTS: tuple[Subject, ...] = (
    subject(
        "nn.dense",
        "2x3x5xf32 4x5xf32",
        units=Bound((None, 4), (3, 5)),
        out_dtype=OPTIONAL_DTYPE,
        data=Bound(("5xf32", "0x5xf32"), ("2x4xf32", "f32")),
        weight=Bound(("0x5xf32",), ("4x6xf32", "5xf32", "4x5x1xf32")),
    ),
    subject(
        "nn.contrib_dense_pack",
        "3x5xf32 2x5x4xf32",
        units=only(8, others=(7, 9)),
        out_dtype=OPTIONAL_DTYPE,
        data=Bound((), ("3x4xf32", "5xf32")),
        weight=Bound(("4x5x2xf32",), ("2x4x4xf32", "8x5xf32", "2x5x5xf32")),
    ),
    subject(
        "nn.matmul",
        "2x3x5xf32 5x4xf32",
        units=Bound((None, 4), (3, 5)),
        out_dtype=OPTIONAL_DTYPE,
        tensor_a=Bound(("3x5xf32",), ("2x3x4xf32", "5xf32")),
        tensor_b=Bound(("5x0xf32",), ("4x5xf32", "2x5x4xf32", "5xf32")),
    ),
    subject(
        "nn.batch_matmul",
        "2x3x5xf32 2x5x4xf32",
        out_dtype=OPTIONAL_DTYPE,
        tensor_a=Bound(("1x3x5xf32",), ("3x3x5xf32", "2x3x4xf32", "3x5xf32", "1x2x3x5xf32")),
        tensor_b=Bound(("1x5x4xf32",), ("3x5x4xf32", "2x4x5xf32", "5x4xf32")),
    ),
    subject(
        "nn.batch_matmul",
        "2x5x3xf32 2x4x5xf32",
        transpose_a=True,
        transpose_b=True,
        tensor_a=Bound((), ("2x3x5xf32",)),
        tensor_b=Bound((), ("2x5x4xf32",)),
    ),
    subject(
        "nn.bitserial_dense",
        "3x32xui8 4x32xui8",
        units=only(4, others=(3, 5)),
        data_bits=between(1, 8),
        weight_bits=between(1, 8),
        pack_dtype=only(None, ui8, ui32, others=(i8, i32, f32)),
        out_dtype=only(None, i16, ui8, others=(i1, f32)),
        data=Bound((), ("3x31xui8", "3x64xui8", "32xui8", "3x32xi1", "3x32xf32")),
        weight=Bound((), ("4x64xui8", "32xui8", "4x32xf32")),
    ),
    subject(
        "nn.bitserial_dense",
        "3x64xui8 4x2x2xui32",
        units=4,
        weight_bits=only(2, others=(Says(1, "'weight'"), Says(3, "'weight'"))),
        weight=Bound((), ("4x2x3xui32", "4x2x2xui8")),
    ),
    *(
        subject(
            op,
            "3x8xf32 5x2x2xf32 5xi32 4xi32",
            **dict(
                zip(
                    names,
                    (
                        Bound(("3x2xf32",), ("3x7xf32", "3x9xf32", "8xf32", "3x8xf64")),
                        Bound(("5xf32",), ("5x2xf32", "4x2x2xf32", Says("5x2x3xf32", "columns"))),
                        indices("5x") + Bound((), ("4xi32", "5x1xi32", "i32")),
                        indices("1x") + Bound(("9xi8",), ("0xi32", "i32")),
                    ),
                    strict=True,
                )
            ),
        )
        for op, names in (
            ("nn.sparse_dense", ("dense_data", "sparse_data", "sparse_indices", "sparse_indptr")),
            (
                "nn.internal.sparse_dense_padded",
                ("data", "weight_data", "weight_indices", "weight_indptr"),
            ),
        )
    ),
    subject(
        "nn.sparse_add",
        "3x8xf32 5xf32 5xi32 4xi32",
        dense_data=Bound(("3x0xf32",), ("8xf32", "2x8xf32", "3x8xf64")),
        sparse_data=Bound((), ("5x1xf32", "5x1x1xf32", "4xf32")),
        sparse_indptr=Bound((), ("3xi32", "5xi32")),
    ),
    subject(
        "nn.sparse_transpose",
        "5xf32 5xi32 4xi32",
        sparse_data=Bound((), ("5x1x1xf32", "4xf32")),
        sparse_indptr=Bound(("1xi32",), ("0xi32",)),
    ),
    subject(
        "nn.sparse_conv2d",
        "1x5x5x8xf32 5x2x2xf32 5xi32 4xi32",
        layout=only("NHWC", others=("HWCN", "")),
        kernel_size=only([1, 1], others=([1, 3], [3, 3], [0, 1], [1])),
        dense_data=Bound((), ("1x5x5x7xf32", "5x5x8xf32", "1x5x5x8xf64")),
        sparse_data=Bound(("5x2xf32",), ("5xf32", "4x2x2xf32")),
    ),
    subject(
        "sparse_fill_empty_rows",
        "3x2xi64 3xf32 2xi64 1xf32",
        sparse_indices=indices("3x2x") + Bound((), ("3xi64", "3x3xi64")),
        sparse_values=Bound((), ("4xf32", "3x1xf32", "f32")),
        dense_shape=Bound((), ("i64", "2xf32", "2x1xi64")),
        default_value=Bound((), ("f32", "1xf64", "1x1xf32")),
    ),
    subject(
        "sparse_reshape",
        "3x2xi64 2xi64 4xi64",
        sparse_indices=Bound((), ("3x3xi64", "3xi64", Says("3x2xi32", "elements of type"))),
        prev_shape=Bound((), (Says("3xi64", "'prev_shape'"), "2xi32", "i64")),
        new_shape=Bound(("0xi64",), ("4xi32", "i64", "4x1xi64")),
    ),
)


NETWORK_SUBJECTS = (*BLOCKS, *NORMS, *PRODUCTS)
