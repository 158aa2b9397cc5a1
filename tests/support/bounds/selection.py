"""
What operators that select elements, or whose shapes are operands, take (see `operator_bounds`): Relay's type relations, where the docstrings of the
dialect do not say that it differs.
"""

import numpy as np
from xdsl.dialects.builtin import f32

from bounds.operator import (
    DTYPE,
    OPTIONAL_DTYPE,
    Bound,
    Says,
    Subject,
    axis,
    between,
    indices,
    subject,
    words,
)
from bounds.tensor import CUBE, LIKE_F32, SCALAR

SELECTION: tuple[Subject, ...] = (
    subject("sort", CUBE, axis=axis(3), dtype=Bound((None, f32))),
    subject("argsort", CUBE, axis=axis(3), dtype=OPTIONAL_DTYPE),
    subject(
        "topk",
        "5x5xf32",
        axis=axis(2),
        k=Bound((None, 5, 1, 0, -1), (6,)),
        ret_type=words("both", "values", "indices"),
        dtype=OPTIONAL_DTYPE,
    ),
    subject(
        "searchsorted",
        "2x5xf32 2x3xf32",
        dtype=DTYPE,
        sorted_sequence=Bound(("5xf32", "2x0xf32"), ("f32", "3x5xf32", "1x2x5xf32", "2x5xf64")),
        values=Bound(("2x0xf32",), ("3x3xf32", "3xf32")),
    ),
    subject(
        "searchsorted",
        "2x3x5xf32 2x3x4xf32",
        dtype=DTYPE,
        sorted_sequence=Bound(("5xf32",), ("2x4x5xf32", "1x3x5xf32")),
        values=Bound(("2x3x1xf32",), ("2x4x4xf32", "3x3x4xf32")),
    ),
    subject("unique", "5xf32", data=Bound(("0xi8",), ("f32", "5x1xf32"))),
    *(
        subject(op, CUBE, axis=axis(3) + Bound((None,)), dtype=OPTIONAL_DTYPE)
        for op in ("cumprod", "cumsum")
    ),
    subject(
        "take",
        "4x4x4xf32 4x4xi32",
        axis=Bound((2, -1), (-4, 3)),
        batch_dims=Bound((0, 1, 2), (-1, 3)),
        mode=words("clip", "wrap", "fast"),
        indices=indices("4x4x") + Bound(("i32", "4x0xi32")),
        data=Bound((), (Says("4x4x0xf32", "length 0"),)),
    ),
    subject("take", "4x4x4xf32 4x4xi32", axis=1, batch_dims=Bound((1, 0), (2,))),
    subject("take", "4x4x4xf32 4xi32", axis=2, batch_dims=Bound((1, 0), (2,))),
    subject(
        "take", "4x4xf32 i32", batch_dims=Bound((0,), (1, -1)), axis=Bound((None, 0, -2), (2,))
    ),
    subject(
        "take",
        "4x4x4xf32 4x4xi32",
        axis=2,
        batch_dims=2,
        indices=Bound(("4x4x3xi32",), ("4x5xi32", "5x4xi32", Says("4xi32", "'batch_dims'"))),
    ),
    subject(
        "gather",
        "4x5x4xf32 4x5x4xi32",
        axis=axis(3) + Bound((None,)),
        indices=indices("9x5x4x")
        + Bound(("1x1x1xi32", "9x0x4xi32"), ("4x6x4xi32", "4x5x5xi32", "4x5xi32")),
    ),
    subject("gather", "0x4xf32 0x4xi32", indices=Bound(("3x0xi32",), ("1x4xi32",))),
    subject(
        "gather_nd",
        "4x4x5xf32 2x4x4xi32",
        batch_dims=Bound((0, 1), (-1, 2)),
        index_rank=Bound((None, 2)),
        indices=indices("2x4x4x") + Bound(("3x4x4xi8", "0x4x4xi8"), ("4x4x4xi8", "i32", "?x4xi32")),
        data=Bound(("4x4xf32",), (Says("4xf32", "'indices'"), Says("0x4xf32", "length 0"))),
    ),
    subject(
        "gather_nd",
        "4x4x5xf32 1x4x4xi32",
        batch_dims=Bound((2, 0), (3,)),
        indices=Bound(("1x4x4x2xi32",), ("2x4x4xi32", "1x4x3xi32", "1x4xi32")),
    ),
    subject(
        "adv_index",
        "(4x5xf32,3xi32,2x1xi64)",
        inputs=Bound(
            ("(4x5xf32,3xi32)", "(4x5xf32,0xi32)"),
            ("(4x5xf32)", "(4xf32,3xi32,3xi32)", "(4x5xf32,3xf32)", "(4x5xf32,3xi1)"),
        )
        + Bound((), (Says("(4x5xf32,3xi32,2xi32)", "broadcast"), "(0x5xf32,3xi32)")),
    ),
    *(
        subject(
            op,
            "4x5x4xf32 4x5x4xi32 4x5x4xf32",
            axis=axis(3),
            indices=indices("4x5x4x")
            + Bound((), ("4x6x4xi32", "4x5xi32", Says("3x5x4xi32", "'updates'"))),
            updates=Bound((), ("4x5x4xf64", "4x5xf32", "4x4x4xf32")),
        )
        for op in ("scatter", "scatter_add")
    ),
    subject("scatter", "2x5xf32 9x5xi32 9x5xf32", axis=Bound((0,), (Says(1, "'indices'"),))),
    subject(
        "scatter_nd",
        "4x5xf32 2x3xi32 3xf32",
        mode=words("update", "add", "mul", "min", "max"),
        indices=indices("2x3x")
        + Bound((), ("i32", "3x3xi32", Says("?x3xi32", "unknown"), Says("1x3xi32", "'updates'"))),
        updates=Bound((), ("2xf32", "3x1xf32", "3xf64")),
    ),
    subject(
        "scatter_nd", "4x5xf32 1x3xi32 3x5xf32", mode="add", updates=Bound((), ("3x4xf32", "3xf32"))
    ),
    subject(
        "strided_set",
        "4x5xf32 2x2xf32 2xi64 2xi64 2xi64",
        v=Bound(("9x0xf32",), ("2xf32", "2x2x1xf32", "2x2xf64")),
        begin=indices("2x") + Bound(("0xi32",), ("3xi64", "i64")),
        end=indices("1x") + Bound((), ("3xi64", "2x1xi64")),
        strides=indices("0x") + Bound((), ("3xi64", "i64")),
    ),
    subject(
        "sparse_to_dense",
        "3x2xi32 3xf32 f32",
        output_shape=Bound(
            ([4, 5], [0, 0]), ([-1, 5], Says([4], "'sparse_indices'"), Says([4, 5, 6], "axes"))
        ),
        sparse_indices=indices("3x2x") + Bound((), ("3xi32", "i32", "3x1xi32", "3x2x1xi32")),
        sparse_values=Bound(("f32",), ("2xf32", "3x1xf32")),
        default_value=Bound(("i8",), ("1xf32",)),
    ),
    subject(
        "sparse_to_dense",
        "3xi32 3xf32 f32",
        output_shape=[4],
        sparse_indices=Bound(("3x1xi8",), (Says("2xi8", "'sparse_values'"),)),
        sparse_values=Bound(("f32",), ("4xf32",)),
    ),
    subject(
        "where",
        "4x1xi1 5xf32 f32",
        condition=Bound(("f32",), ("4xi1",)),
        x=Bound((), ("5xf64", Says("2x3x5xf32", "'condition'"))),
    ),
)

DYNAMIC: tuple[Subject, ...] = (
    subject(
        "dyn.broadcast_to",
        ("4x1xf32", np.array([4, 3])),
        shape=Bound(
            (np.array([2, 4, 1]), "2xi64"),
            (np.array([3, 3]), np.array([4]), "?xi64", "i64", "2xf32", "2xi1"),
        ),
    ),
    subject(
        "dyn.expand_dims",
        (CUBE, np.array(0)),
        num_newaxis=between(0, 64),
        axis=Bound(
            (np.array(3), np.array([-4]), "i8", "1xi64"),
            (np.array(4), np.array(-5), "2xi64", "f32", "1x1xi64"),
        ),
    ),
    subject("dyn.expand_dims", "4xf32 i64", num_newaxis=between(0, 64)),
    subject(
        "dyn.full",
        ("f32", np.array([2, 0])),
        dtype=OPTIONAL_DTYPE,
        shape=Bound(("2xi64", "0xi8"), (np.array([-1]), "i64", "?xi64", "1x2xi64")),
        fill_value=SCALAR,
    ),
    subject("dyn.full", "f32 2xi64", dtype=OPTIONAL_DTYPE, fill_value=SCALAR),
    *(
        subject(
            op,
            operands,
            dtype=DTYPE,
            shape=Bound((np.array([2, 0]), "2xi64"), (np.array([-1]), "i64", "?xi64")),
        )
        for op in ("dyn.ones", "dyn.zeros")
        for operands in ("2xi64", (np.array([3]),))
    ),
    subject(
        "dyn.reshape",
        ("4x6xf32", np.array([24])),
        newshape=Bound(
            (np.array([0, -1]), "3xi64"),
            (np.array([25]), np.array([5, -1]), "?xi64", "i64", "2xf32"),
        ),
    ),
    subject(
        "dyn.squeeze",
        ("1x1x4xf32", np.array([0])),
        axes=Bound(
            (np.array([-3, 1]), "2xi64", "0xi64"),
            (Says(np.array([2]), "'axis'"), Says(np.array([3]), "'axis'"), "4xi64", "?xi64", "i64"),
        ),
    ),
    subject(
        "dyn.strided_slice",
        ("4x5x6xf32", np.array([0, 1]), np.array([9, 5]), np.array([1, 2])),
        axes=Bound((None, [0, 2], [-1, 0]), ([0], [0, 1, 2], [0, 3], [0, -3])),
        slice_mode=words("end", "size"),
        begin=Bound(("2xi64",), ("?xi64", "i64")),
        end=Bound(("2xi64",), ("3xi64", "1xi64", "i64", "2xf32")),
        strides=Bound(("2xi64",), (np.array([0, 1]), "3xi64", "1xi64", "i64", "2xf32")),
    ),
    subject(
        "dyn.strided_slice",
        "4x5x6xf32 2xi64 2xi64 2xi64",
        axes=Bound((None, [0, 2], [-1, 0]), ([0], [0, 1, 2], [0, 3], [0, -3])),
        slice_mode=words("end", "size"),
        begin=Bound((), ("3xi64", "4xi64")),
    ),
    subject(
        "dyn.strided_slice",
        "4x5x6xf32 3xi64 3xi64 3xi64",
        data=Bound((), (Says("4x5xf32", "'axes'"),)),
    ),
    subject(
        "dyn.tile",
        ("4x5xf32", np.array([2])),
        reps=Bound((np.array([1, 0, 3]), "1xi64", "3xi64"), (np.array([-1]), "?xi64", "i64")),
    ),
    subject(
        "dyn.one_hot",
        ("3x4xi32", "f32", "f32", np.array(5)),
        axis=axis(3),
        dtype=OPTIONAL_DTYPE,
        depth=Bound((np.array([0]), "i64", "1xi8"), (np.array(-1), "2xi64", "f32")),
        indices=indices("3x4x"),
        off_value=LIKE_F32,
    ),
    subject(
        "dyn.one_hot",
        "3x4xi32 f32 f32 i64",
        axis=axis(3),
        dtype=OPTIONAL_DTYPE,
        indices=indices("3x4x"),
        off_value=LIKE_F32,
    ),
    *(
        subject(
            "dyn.nn.pad",
            ("3x4xf32", widths, "f32"),
            pad_mode=words("constant", "edge", "reflect"),
            pad_width=Bound(("2x2xi8",), ("2x1xi64", "3x2xi64", "4xi64", "2x2xf32"))
            + Bound((), (np.array([[-4, 0], [0, 0]]),)),
            pad_val=Bound(("i8",), ("1xf32",)),
        )
        for widths in ("2x2xi64", np.array([[0, 1], [1, 0]]))
    ),
    subject(
        "dyn.sparse_to_dense",
        ("3x2xi32", "3xf32", "f32", np.array([4, 5])),
        output_shape=Bound(("2xi64",), (np.array([4, -5]), "?xi64", "i64", Says("3xi64", "axes"))),
        sparse_indices=Bound((), ("3xi32", "3x1xi32", "3x2xf32")),
    ),
    subject(
        "dyn.topk",
        ("5x5xf32", np.array(5)),
        axis=axis(2),
        ret_type=words("both", "values", "indices"),
        dtype=OPTIONAL_DTYPE,
        k=Bound((np.array([1]), np.array(0), "i64", "1xi8"), (np.array(6), "2xi64", "f32")),
    ),
    subject(
        "dyn.topk",
        "5x5xf32 i64",
        axis=axis(2),
        ret_type=words("both", "values", "indices"),
        dtype=OPTIONAL_DTYPE,
    ),
)


SELECTION_SUBJECTS = (*SELECTION, *DYNAMIC)
