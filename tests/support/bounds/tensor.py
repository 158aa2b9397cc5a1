"""
What operators on tensors of any kind take (see `operator_bounds`): Relay's type relations, where
the docstrings of the dialect do not say that it differs.
"""

import numpy as np
from xdsl.dialects.builtin import IndexType, f32, i1, i8, i32, i64

from bounds.operator import (
    ANY_REAL,
    DTYPE,
    OPTIONAL_DTYPE,
    Bound,
    Says,
    Subject,
    at_least,
    axes,
    axis,
    between,
    indices,
    only,
    positive,
    subject,
    typed,
    words,
)
from xrelay.dialects.core.device import VirtualDeviceAttr

CUBE = "4x4x4xf32"
SCALAR = Bound(("f32",), ("1xf32",))
LIKE_F32 = typed("", ("f32",), ("f64", "i32"))

REDUCTIONS: tuple[Subject, ...] = (
    *(
        subject(op, CUBE, axis=axes(3) + Bound((None, [])))
        for op in ("max", "mean", "min", "prod", "sum")
    ),
    *(
        subject(
            op,
            "4x4x4xi1",
            axis=axes(3) + Bound((None, [])),
            data=Bound(("0x4x4xi1",), ("4x4x4xi8", "4x4x4xf32")),
        )
        for op in ("all", "any")
    ),
    *(subject(op, CUBE, axis=axes(3) + Bound((None, []))) for op in ("argmax", "argmin")),
    *(
        subject(op, CUBE, axis=[1], data=Bound(("4x1xf32", "0x4xf32"), ("4x0xf32", "0x0x4xi8")))
        for op in ("argmax", "argmin")
    ),
    subject(
        "variance",
        "4x4x4xf32 4x1x4xf32",
        axis=axes(3) + Bound((None, [])),
        mean=Bound(
            ("f32", "4xf32", "1x1x1xf32", "4x4x4xf32"),
            ("1x4x4x4xf32", "5x1x4xf32", "3xf32", "4x1x4xf64"),
        ),
        data=Bound((), ("4x4x4xf64", "4x4x4xi32", "1x1x4xf32")),
    ),
)

CREATION: tuple[Subject, ...] = (
    *(
        subject(
            op,
            "",
            shape=Bound(([], [0], [3, 1]), ([-1], [2, -1, 3])),
            dtype=DTYPE,
        )
        for op in ("ones", "zeros")
    ),
    subject(
        "full",
        "f32",
        shape=Bound(([], [0], [3, 1]), ([-1], [2, -1, 3])),
        dtype=OPTIONAL_DTYPE,
        fill_value=SCALAR,
    ),
    subject(
        "arange",
        (np.float32(0), np.float32(5), np.float32(2)),
        dtype=DTYPE,
        start=Bound(
            ("f32", np.float32(9)), ("1xf32", Says("f64", "'end'"), Says("i1", "expected"))
        ),
        end=Bound(("f32", np.float32(-3)), ("1xf32", "f64", "i32")),
        step=Bound(("f32", np.float32(-1), np.float32(1e-3)), ("1xf32", "f64", np.float32(0))),
    ),
    subject(
        "one_hot",
        "3x4xi32 f32 f32",
        depth=at_least(0),
        axis=axis(3),
        dtype=OPTIONAL_DTYPE,
        indices=indices("3x4x") + Bound(("0x4xi64",)),
        on_value=Bound(("f32",), ("1xf32", Says("i32", "'off_value'"))),
        off_value=Bound(("f32",), ("1xf32", "f64")),
    ),
    subject("full_like", "4xi8 f32", fill_value=Bound(("f64", "i1"), ("1xf32",))),
    subject("shape_of", CUBE, dtype=OPTIONAL_DTYPE),
    subject("ndarray_size", CUBE, dtype=OPTIONAL_DTYPE),
    subject("vm.shape_of", CUBE, dtype=OPTIONAL_DTYPE),
    subject(
        "vm.reshape_tensor",
        "3x4xf32 1xi64",
        newshape=Bound(([12], [2, 6], [1, 12, 1]), ([11], [13], [-12, -1], [])),
        data=Bound(("12xf32", "?x4xf32"), ("13xf32",)),
    ),
    subject("vm.reshape_tensor", "?xf32 1xi64", newshape=Bound(([12], [0]), ([-1], [-2, 3]))),
    subject(
        "memory.alloc_tensor",
        "Storage i64 2xi64",
        dtype=DTYPE,
        assert_shape=Bound(
            (None, [2, 3], [0, 0], []),
            ([-1, 2], *(Says(dims, "the stated shape") for dims in ([2], [1, 2, 3]))),
        ),
    ),
    subject("memory.alloc_storage", "i64 i64", dtype=DTYPE, virtual_device=VirtualDeviceAttr()),
    subject("cast", CUBE, dtype=DTYPE),
    subject("annotation.cast_hint", CUBE, dtype=DTYPE),
    subject("reinterpret", CUBE, dtype=only(i32, f32, others=(i8, i64, IndexType()))),
    subject("reinterpret", "4xi8", dtype=only(i8, others=(i1, f32))),
    subject("clip", CUBE, a_min=ANY_REAL, a_max=ANY_REAL),
    subject("nn.leaky_relu", CUBE, alpha=ANY_REAL),
    subject("nn.dropout", CUBE, rate=ANY_REAL),
    subject(
        "fixed_point_multiply",
        "4xi32",
        multiplier=between(-(2**31), 2**31 - 1),
        shift=between(-31, 31),
        data=Bound(("i32",), ("4xi64", "4xui32", "4xf32")),
    ),
)

MOVEMENT: tuple[Subject, ...] = (
    subject(
        "transpose",
        CUBE,
        axes=Bound((None, [2, 0, 1], [-1, -3, 1]), ([0, 1], [0, 1, 1], [0, 1, 3], [-4, 0, 1], [])),
    ),
    subject(
        "broadcast_to",
        "4x1x6xf32",
        shape=Bound(
            ([4, 5, 6], [2, 4, 1, 6], [-1, 5, 6], [4, 0, 6]),
            ([4, 6], [5, 5, 6], [1, 5, 6], [4, 5, -2], [4, 5, 0]),
        ),
    ),
    subject(
        "broadcast_to_like",
        "4x1xf32 4x3xi8",
        data=Bound(("f32", "3xf32"), ("3x3xf32", "1x4x3xf32")),
    ),
    subject("tile", "4x5xf32", reps=Bound(([0, 1], [3], [2, 1, 3], []), ([-1], [1, -1]))),
    subject("repeat", CUBE, repeats=at_least(0), axis=axis(3)),
    subject("reverse", CUBE, axis=axis(3) + Bound((None,))),
    subject(
        "reverse_sequence",
        "4x4x4xf32 4xi32",
        seq_axis=axis(3),
        batch_axis=axis(3),
        seq_lengths=indices("4x") + Bound((), ("3xi32", "5xi32", "4x1xi32", "i32")),
    ),
    subject(
        "sequence_mask",
        "4x4x3xf32 4xi32",
        axis=between(0, 1),
        mask_value=ANY_REAL,
        valid_length=Bound(("4xf32",), ("3xi32", "5xi32", "i32", "4x1xi32")),
        data=Bound(("5x4xf32",), ("4xf32", Says("5x3xf32", "'valid_length'"))),
    ),
    subject(
        "meshgrid",
        "(2xf32,3xf32,f32)",
        indexing=words("ij", "xy"),
        data=Bound(("(f32)", "(4xi8)"), ("()", "(2xf32,2x2xf32)", "(2xf32,2xi8)")),
    ),
    subject(
        "sliding_window",
        "4x4x4xf32",
        axis=Bound((1, -2), (-4, 3)),
        window_shape=Bound(([4, 4], [1, 2]), ([5, 4], [4, 5], [0, 1], [1, -1], [1], [1, 1, 1])),
        strides=Bound(([1, 1], [9, 2]), ([0, 1], [1, 0], [1], [1, 1, 1])),
    ),
    subject(
        "trilu",
        "3x4xf32 i64",
        data=Bound(("2x3x4xi8", "0x4xi1"), ("4xf32", "f32")),
        k=indices("") + Bound((), ("1xi64",)),
    ),
    subject(
        "matrix_set_diag",
        "3x5xf32 3xf32",
        k1=Bound((0,), (1, -3, Says(-1, "'diagonal'"))),
        k2=Bound((0,), (-1, 5)),
        diagonal=Bound((), ("2xf32", "4xf32", "1x3xf32", "3xi32", "f32")),
        input=Bound(("3x3xf32", "9x3xf32"), ("3xf32", Says("2x3x5xf32", "'diagonal'"))),
    ),
    subject(
        "matrix_set_diag",
        "3x5xf32 7x3xf32",
        k1=only(-2, others=(-3, Says(-1, "7x3"))),
        k2=only(4, others=(5, Says(3, "7x3"))),
    ),
    subject("matrix_set_diag", "3x5xf32 1xf32", k1=only(4, others=(5,)), k2=only(4, others=(3, 5))),
    subject(
        "matrix_set_diag", "3x5xf32 1xf32", k1=only(-2, others=(-1,)), k2=only(-2, others=(-3,))
    ),
    subject(
        "unravel_index",
        "2x3xi32 4xi32",
        data=typed("2x3x", ("i32",), ("f32", "i1", "i64")),
        shape=Bound(("0xi32",), ("i32", "4x1xi32", "4xf32")),
    ),
    subject("invert_permutation", "4xi32", data=indices("4x") + Bound((), ("i32", "2x2xi32"))),
    subject(
        "concatenate",
        "(4x4x4xf32,4x4x4xf32)",
        axis=axis(3),
        data=Bound(
            ("(4x4x4xf32)", "(4x4x4xf32,0x4x4xf32,7x4x4xf32)"),
            (
                "()",
                "(4x4xf32,4x4x4xf32)",
                "(4x4x4xf32,4x4x4xf64)",
                "(4x4x4xf32,4x5x4xf32)",
                "(4x?x4xf32,4x2x4xf32,4x3x4xf32)",
            ),
        ),
    ),
    subject(
        "stack",
        "(4x4x4xf32,4x4x4xf32)",
        axis=axis(4),
        data=Bound(
            ("(4x4x4xf32)", "(0x4x4xf32,0x4x4xf32)", "(?x4x4xf32,2x?x4xf32,2x4x4xf32)"),
            (
                "()",
                "(4x4xf32,4x4x4xf32)",
                "(4x4x4xf32,4x4x4xf64)",
                "(4x4x4xf32,4x4x5xf32)",
                "(?x4x4xf32,2x4x4xf32,3x4x4xf32)",
            ),
        ),
    ),
    subject(
        "split",
        "6x6x6xf32",
        axis=axis(3),
        indices_or_sections=Bound(
            (2, 1, 6, [0], [6], [1, 1, 5], []), (0, -1, 4, 7, (1 << 20) + 1, [7], [-1], [3, 2])
        ),
    ),
    subject(
        "nn.pad",
        "3x4xf32 f32",
        pad_mode=words("constant", "edge", "reflect"),
        pad_width=Bound(
            ([(0, 0), (0, 0)], [(9, 0), (0, 9)], [(-3, 0), (-2, -2)], [(-4, 1), (0, 0)]),
            (
                [(0, 0)],
                [(0, 0)] * 3,
                [(0, 0, 0), (0, 0)],
                [(-3, -1), (0, 0)],
                [(0, 0), (-5, 0)],
            ),
        ),
        pad_val=Bound(("i8",), ("1xf32",)),
    ),
    subject(
        "nn.pad",
        "3x4xf32 f32",
        pad_mode="reflect",
        pad_width=Bound(
            ([(2, 2), (0, 3)],), ([(3, 0), (0, 0)], [(0, 3), (0, 0)], [(0, 0), (4, 0)])
        ),
        data=Bound(("3x4xf32",), tuple(Says(t, "'pad_width'") for t in ("2x4xf32", "0x4xf32"))),
    ),
    subject(
        "nn.pad",
        "1x4xf32 f32",
        pad_mode="edge",
        pad_width=Bound(([(9, 0), (0, 3)], [(0, 9), (0, 0)]), ()),
        data=Bound(("1x1xf32",), (Says("0x4xf32", "'pad_width'"), Says("1x0xf32", "'pad_width'"))),
    ),
    subject(
        "nn.mirror_pad",
        "3x4xf32",
        mode=words("SYMMETRIC", "REFLECT"),
        pad_width=Bound(
            ([(0, 2), (1, 0)], [(3, 3), (0, 4)]),
            ([(4, 0), (0, 0)], [(0, 0), (0, 5)], [(-1, 0), (0, 0)], [(0, 0)], [(0,), (0, 0)]),
        ),
    ),
    subject(
        "nn.mirror_pad",
        "3x4xf32",
        mode="REFLECT",
        pad_width=Bound(([(2, 2), (0, 3)],), ([(3, 0), (0, 0)], [(0, 0), (0, 4)])),
    ),
    subject("nn.dilate", CUBE, strides=positive(3), dilation_value=ANY_REAL),
    subject(
        "nn.fifo_buffer",
        "4x4xf32 4x4xf32",
        axis=axis(2),
        data=Bound(("1x4xf32", "9x4xf32"), ("4xf32", "4x4xi8", "4x4x1xf32", "4x5xf32")),
    ),
    subject(
        "nn.fifo_buffer",
        "4x4xf32 4x4xf32",
        axis=1,
        data=Bound(("4x1xf32", "4x0xf32"), ("5x4xf32",)),
    ),
)

SHAPES: tuple[Subject, ...] = (
    subject(
        "reshape",
        "2x3x4xf32",
        newshape=Bound(
            ([24], [-1], [0, -1], [-2], [-3, 4], [-3, -2], [2, -4, 1, 3, 4], [-4, -1, 1, 0, 0]),
            ([-5], [-1, -1], [5, -1], [25], [23], [0, 0, 0, 0], [-3, -3], [-4, 2])
            + ([-4, -1, -1, 12], [-4, 3, 1, 12], [-4, 0, 2, 12], [0, 0], [], [24, -4, 1, 1]),
        ),
    ),
    subject(
        "reshape",
        "0x3xf32",
        allowzero=True,
        newshape=Bound(([0], [3, 0], [0, 7]), ([-1, 0], [3], [])),
    ),
    subject(
        "contrib_reverse_reshape",
        "2x3x4xf32",
        newshape=Bound(
            ([24], [-1], [-1, 0], [-2], [-1, 3, 0]), ([-1, -1], [5, -1], [25], [0, 0, 0, 0], [-6])
        ),
    ),
    subject(
        "reshape_like",
        "4x6xf32 2x2x6xi8",
        lhs_begin=Bound((0, -2), (-3, 3, Says(1, "elements"))),
        lhs_end=Bound((None, 2), (-3, 3, Says(1, "elements"))),
        rhs_begin=Bound((0, -3), (-4, 4, Says(1, "elements"))),
        rhs_end=Bound((None, 3), (-4, 4, Says(2, "elements"))),
    ),
    subject(
        "reshape_like",
        "4x6xf32 2x2x6xi8",
        lhs_begin=Bound((0,), (2,)),
        lhs_end=Bound((1, -1), (Says(2, "elements"),)),
        rhs_begin=Bound((0,), (3, Says(1, "elements"))),
        rhs_end=Bound((2, -1), (Says(3, "elements"), Says(1, "elements"))),
    ),
    subject(
        "squeeze",
        "1x1x4xf32",
        axis=Bound((None, [0], [-3, 1], []), ([2], [-1], [3], [-4], [0, -3])),
    ),
    subject("expand_dims", CUBE, axis=axis(4), num_newaxis=between(0, 64)),
    subject("nn.batch_flatten", CUBE, data=Bound(("4xf32", "0x4x4xi8"), ("f32",))),
    subject(
        "strided_slice",
        "4x4x4xf32",
        begin=Bound(([0], [0, -9], [9]), ([0, 0, 0, 0],)),
        end=Bound(([4], [2, 2, 2], [-9]), ([4] * 4,)),
        strides=Bound((None, [1], [-1, 2]), ([0], [1, 0], [1] * 4)),
        slice_mode=words("end", "size"),
    ),
    subject(
        "strided_slice",
        CUBE,
        begin=Bound(([0, 0],), ([0], [0, 0, 0])),
        end=Bound(([2, 2],), ([2], [2, 2, 2])),
        strides=Bound(([1, 1], [2], None), ([1, 1, 1],)),
        axes=Bound(([0, 2], [-1, 0]), ([0, 3], [-4, 0], [0, -3], Says([0], "axes"), [0, 1, 2])),
    ),
    *(
        subject(
            "strided_slice",
            "4x4xf32",
            begin=Bound(([2], [1], [0], [-1])),
            end=Bound(([3], [2], [1], [0], [-1])),
            slice_mode=mode,
        )
        for mode in ("end", "size")
    ),
    subject(
        "slice_like",
        "4x5xf32 3x5xi8",
        axes=Bound((None, [], [0], [-1]), ([2], [-3], [0, -2])),
        shape_like=Bound(("4x5xi8", "0x0xi8"), ("5x5xi8", "4x6xi8")),
        data=Bound(("4x5x6xf32",), (Says("4xf32", "'axes'"), Says("2x5xf32", "'shape_like'"))),
    ),
    subject("slice_like", "4x5x6xf32 3x5xi8", axes=Bound(([0, 1],), ([2], [3]))),
    subject(
        "collapse_sum_like",
        "3x4x5xf32 4x1xf32",
        collapse_type=Bound(("f32", "3x4x5xf32"), ("2x1xf32", "1x3x4x5xf32")),
    ),
    subject(
        "collapse_sum_to",
        ("3x4x5xf32", np.array([4, 1])),
        shape=Bound(
            (np.array([1]), np.array([3, 4, 5]), "2xi64"),
            (np.array([2, 1]), np.array([1, 3, 4, 5]), "4xi64", "i64", "?xi64", "2xf32"),
        ),
    ),
)

FLOAT_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "fast_erf"),
    *("fast_exp", "fast_tanh", "log", "log10", "log2", "rsqrt", "sigmoid", "sin", "sinh", "sqrt"),
    *("tan", "tanh"),
)
UNARY = (
    *("abs", "annotation.checkpoint", "annotation.stop_fusion", "bitwise_not", "ceil", "copy"),
    *("floor", "isfinite", "isinf", "isnan", "logical_not", "negative", "nn.relu", "ones_like"),
    *("round", "sign", "trunc", "zeros_like"),
)
BINARY = (
    *("add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "floor_divide"),
    *("floor_mod", "greater", "greater_equal", "left_shift", "less", "less_equal", "logical_and"),
    *("logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "not_equal", "power"),
    *("right_shift", "subtract", "trunc_divide", "trunc_mod"),
)
ELEMENTWISE: tuple[Subject, ...] = (
    *(
        subject(op, "4x5xf32", data=Bound(("f32", "0xf64", "?x3xi32", "2xi1")))
        for op in (*FLOAT_UNARY, *UNARY)
    ),
    *(
        subject(
            op,
            "4x1xf32 3xf32",
            lhs=Bound(
                ("f32", "2x1x1xf32", "4x3xf32", "?x1xf32"), ("4x2xf32", "4xf32", "3xf64", "3xi1")
            ),
            rhs=Bound(("f32", "4x0xf32", "2x1x7xf32"), ("3x3xf32", "2x2x1xf32", "4x1xi32")),
        )
        for op in BINARY
    ),
    subject("argwhere", "4x5xf32", condition=Bound(("i1", "0xf64"))),
    subject("bounded_argwhere", "4x5xf32", condition=Bound(("i1", "0xf64"))),
    subject("cast_like", "4xf32 3xi8", dtype_like=Bound(("i1",))),
    subject("tuple_get_item", "(4xf32,3xi8,f64)", index=between(0, 2)),
    subject("on_device", "4xf32"),
    subject(
        "einsum",
        "(3x4xf32,4x5xf32)",
        equation=Bound(
            ("ij,jk->ik", "ij,jk", "ab , bc -> ", "i...,...j", "ij,jk->kji"),
            ("ij,jk->ii", "ij,jk->il", "ij->ij", "ij,jk,kl->i", "ijk,jk->i", "i,jk->i", "i1,jk->i")
            + ("ij,jk->i-", Says("ij,ik->jk", "length"), Says("ii,jk->ik", "length")),
        ),
        data=Bound(
            ("(3x1xf32,4x5xf32)", "(?x4xf32,4x?xf32)"),
            (
                "()",
                "(3x4xf32,5x5xf32)",
                "(3x4xf32,4x5xf64)",
                "(3x4xf32)",
                Says("(3xf32,4x5xf32)", "rank 1"),
            ),
        ),
    ),
)

TENSOR_SUBJECTS = (
    *ELEMENTWISE,
    *REDUCTIONS,
    *CREATION,
    *MOVEMENT,
    *SHAPES,
)
