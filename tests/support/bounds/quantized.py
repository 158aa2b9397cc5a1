"""
What operators on quantised tensors, and of random numbers, take (see `operator_bounds`): Relay's type relations, where the docstrings of the
dialect do not say that it differs.
"""

from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i8, i16, i32, i64

from bounds.operator import (
    Bound,
    Says,
    Subject,
    at_least,
    axis,
    between,
    floats,
    only,
    subject,
    typed,
    words,
)
from bounds.window import convolutions, transposed

ui8, ui32 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 32))
QUANTIZED = typed("4x4x4x", ("i8", "ui8", "i16", "ui16", "i32"), ("f32", "i64", "i1", "ui32"))
OUT_QUANTIZED = only(i8, ui8, i16, i32, others=(f32, i64, i1, ui32))
PER_CHANNEL = ("3xf32", "5xf32", "1x4xf32", "4xf64", "4xi32")
ZEROS_PER_CHANNEL = ("3xi32", "5xi32", "1x4xi32", "4xi64", "4xf32")
SCALE = Bound(("f32",), ("1xf32", "f64", "i32"))
ZERO_POINT = Bound(("i32",), ("1xi32", "i8", "f32"))
SCALARS = "i32 i32 f32 f32"


def channel_parameters(prefix: str) -> dict[str, Bound]:
    """A scale and a zero point that channels may have of their own."""
    return {
        f"{prefix}_scale": Bound(("f32", "1xf32"), PER_CHANNEL),
        f"{prefix}_zero_point": Bound(("i32", "1xi32"), ZEROS_PER_CHANNEL),
    }


QUANTIZATION: tuple[Subject, ...] = (
    subject(
        "qnn.quantize",
        "4x4x4xf32 4xf32 4xi32",
        axis=axis(3),
        out_dtype=OUT_QUANTIZED,
        data=typed("4x4x4x", ("f32",), ("f64", "i8")),
        **channel_parameters("output"),
    ),
    subject(
        "qnn.dequantize",
        "4x4x4xi8 4xf32 4xi32",
        axis=axis(3),
        data=QUANTIZED,
        **channel_parameters("input"),
    ),
    subject(
        "qnn.requantize",
        "4x4x4xi8 4xf32 4xi32 f32 i32",
        axis=axis(3),
        rounding=words("None", "UPWARD", "TONEAREST"),
        compute_dtype=words("None", "int64", "float32", "float64"),
        out_dtype=OUT_QUANTIZED + Bound((None,)),
        data=typed("4x4x4x", ("i8", "ui8", "i16", "ui16", "i32", "i64"), ("f32", "i1", "ui32")),
        output_scale=SCALE,
        output_zero_point=ZERO_POINT,
        **channel_parameters("input"),
    ),
    *(
        subject(
            op,
            "4x4x4xf32 i32 4xf32 4xi32",
            axis=axis(3),
            data=floats("4x4x4x"),
            **{code: Bound((), ("1xi32", "i64", "f32"))},
            **channel_parameters(prefix),
        )
        for op, code, prefix in (
            ("qnn.simulated_quantize", "out_dtype", "output"),
            ("qnn.simulated_dequantize", "in_dtype", "input"),
        )
    ),
    *(
        subject(
            op,
            "4x4xi8 4x4xi8 4xf32 4xi32 4xf32 4xi32 f32 i32",
            lhs_axis=axis(2),
            rhs_axis=axis(2),
            rhs=Bound(("1x4x4xi8",), ("4x4xui8",)),
            output_scale=SCALE,
            output_zero_point=ZERO_POINT,
            **channel_parameters("lhs"),
            **channel_parameters("rhs"),
        )
        for op in ("qnn.add", "qnn.mul", "qnn.subtract")
    ),
    subject(
        "qnn.add",
        "4x4xi8 4x4xi8 1xf32 i32 f32 1xi32 f32 i32",
        rhs=Bound(("1xi8", "2x1x4xi8"), ("3x4xi8", "2xi8")),
    ),
    subject(
        "qnn.concatenate",
        "(4x4xi8,4x4xi8) (f32,f32) (i32,i32) f32 i32",
        axis=axis(2),
        data=Bound(
            ("(1x4xi8,4x4xi8)",),
            (
                "()",
                "(4x4xf32,4x4xf32)",
                "(4x4xi8,4x4xui8)",
                "(4x4xi8,4xi8)",
                "(4x4xi8,4x5xi8)",
                "(4x?xi8,4x2xi8,4x3xi8)",
            ),
        ),
        input_scales=Bound((), ("(f32)", "(f32,f32,f32)", "(f32,f64)", "(f32,1xf32)")),
        input_zero_points=Bound((), ("(i32)", "(i32,i8)")),
        output_scale=SCALE,
        output_zero_point=ZERO_POINT,
    ),
    subject(
        "qnn.leaky_relu",
        "4xi8 f32 i32 f32 i32",
        alpha=Bound((0.25, -2147483647.5, 2147483647.5), (2.0**31, -(2.0**31), float("nan"))),
        data=typed("4x", ("i8", "ui8"), ("i16", "f32")),
        input_scale=SCALE,
        input_zero_point=ZERO_POINT,
    ),
    subject(
        "qnn.dense_blocks",
        "3x70xf32 4x35xui8 4x5xf32 4x5xui8",
        block_size=Bound((16, 14, 17), (0, -1, 13, 18)),
        bits=Bound((4,), (0, 1, 2, 3, 8, 16)),
        data_bits=Bound((32, 8), (0, 4, 16, -8)),
        data=Bound(("70xf32", "2x3x70xf32", "?x70xf32"), ("3x69xf16", "3x72xf32", "f32")),
        weight=Bound(("?x35xui8",), ("4x34xui8", "4x36xui8", "4x35xi8", "35xui8")),
        weight_scale=Bound(
            ("4x5xf16", "4x5xbf16"), ("4x4xf32", "3x5xf32", "4x5xf64", "4xf32", "f32")
        ),
        weight_zero_point=Bound(
            ("ui8", "f32", "4x5xf32", "4x5xf16"), ("4x3xui8", "i32", "4x5xi32", "20xui8", "1xui8")
        ),
    ),
    subject(
        "qnn.dequantize_blocks",
        "4x35xui8 4x5xf32 ui8",
        block_size=Bound((16, 14, 17), (0, -1, 13, 18)),
        bits=Bound((4,), (0, 1, 2, 3, 8, 16)),
        length=Bound((70, 69), (-1, 0, 68, 71)),
        data=Bound(("?x35xui8",), ("4x34xui8", "4x36xui8", "4x35xi8", "35xui8")),
        scale=Bound(("4x5xf16", "4x5xbf16"), ("4x4xf32", "3x5xf32", "4x5xf64", "4xf32", "f32")),
        zero_point=Bound(
            ("f32", "4x5xui8", "4x5xf32", "4x5xf16"),
            ("4x3xui8", "i32", "4x5xi32", "20xui8", "1xui8"),
        ),
    ),
    subject(
        "qnn.lookup",
        "4xi8 256xf32",
        data=typed("4x", ("i8", "ui8"), ("i16", "f32")),
        table=Bound(("256xi8", "256xi64"), ("255xi8", "257xi8", "1x256xi8", "i8")),
    ),
    *(
        subject(
            f"qnn.{name}",
            "4xi8 f32 i32 f32 i32",
            data=typed("4x", ("i8", "ui8"), ("i16", "f32")),
            scale=SCALE,
            zero_point=ZERO_POINT,
            output_scale=SCALE,
            output_zero_point=ZERO_POINT,
        )
        for name in ("abs", "erf", "exp", "hardswish", "log", "rsqrt", "sigmoid", "sqrt", "tanh")
    ),
    convolutions(
        "qnn.conv2d",
        2,
        SCALARS,
        out_dtype=only(None, i32, i16, others=(f32, i64, i8)),
        input_zero_point=ZERO_POINT,
        weight_zero_point=Bound(("6xi32", "1xi32"), ("5xi32", "7xi32", "6xi8", "1x6xi32")),
        input_scale=SCALE,
        weight_scale=Bound(("6xf32", "1xf32"), ("5xf32", "7xf32", "6xf64", "1x6xf32")),
    ),
    transposed(
        "qnn.conv2d_transpose",
        2,
        "IOHW",
        SCALARS,
        out_dtype=only(None, i32, i16, others=(f32, i64, i8)),
        input_zero_point=ZERO_POINT,
        weight_zero_point=ZERO_POINT,
        input_scale=SCALE,
        weight_scale=Bound(("6xf32", "1xf32"), ("5xf32", "7xf32", "3xf32")),
    ),
    subject(
        "qnn.dense",
        f"2x5xi8 4x5xi8 {SCALARS}",
        units=Bound((None, 4), (3, 5)),
        out_dtype=only(None, i32, others=(i16, f32, i64)),
        data=Bound(("5xui8",), ("2x4xi8", "2x5xi16", "2x5xf32")),
        weight=Bound(("4x5xui8",), ("4x6xi8", "5xi8", "4x5xi32")),
        weight_zero_point=Bound(("4xi32", "1xi32"), ("3xi32", "5xi32", "4xi8")),
        weight_scale=Bound(("4xf32",), ("3xf32", "5xf32", "2xf32")),
        input_zero_point=ZERO_POINT,
        input_scale=SCALE,
    ),
    subject(
        "qnn.batch_matmul",
        f"2x3x5xi8 2x5x4xi8 {SCALARS}",
        out_dtype=only(None, i32, others=(i16, f32, i64)),
        x=Bound(("1x3x5xui8",), ("2x3x5xf32", "2x3x5xi16")),
        y=Bound((), ("2x5x4xf32", "2x5x4xi16")),
        x_zero_point=ZERO_POINT,
        y_zero_point=ZERO_POINT,
        x_scale=SCALE,
        y_scale=Bound(("f32", "1xf32"), ("2xf32", "f64")),
    ),
    subject(
        "relay.op.annotation.simulated_quantize",
        "4xf32 f32 f32 f32",
        kind=between(0, 3),
        rounding=words("round", "floor", "ceil"),
        data=Bound((), ("4xi32", Says("4xf64", "'dom_scale'"))),
        **{name: Bound((), ("1xf32", "f64")) for name in ("dom_scale", "clip_min", "clip_max")},
    ),
)

RANDOM: tuple[Subject, ...] = (
    subject(
        "random.threefry_generate",
        "10xui64",
        out_shape=Bound(([], [0], [3, 4]), ([-1], [2, -1])),
        key=Bound((), ("9xui64", "11xui64", "10xi64", "1x10xui64")),
    ),
    subject("random.threefry_split", "10xui64", key=Bound((), ("9xui64", "11xui64", "10xi64"))),
    *(
        subject(
            op,
            "10xui64 f32 f32",
            out_shape=Bound(([3], [], [0]), ([-1],)),
            out_dtype=only(None, f32, others=(i32, Says(i64, "i64"))),
            key=Bound((), ("9xui64", "10xi64")),
            **{
                names[0]: Bound((), ("1xf32", Says("i32", names[0]))),
                names[1]: Bound((), ("1xf32", "f64")),
            },
        )
        for op, names in (("random.uniform", ("low", "high")), ("random.normal", ("mean", "scale")))
    ),
    subject(
        "random.multinomial",
        "10xui64 3x5xf32",
        num_samples=at_least(0),
        key=Bound((), ("9xui64",)),
        probs=floats("5x") + Bound((), ("f32",)),
    ),
)


QUANTIZED_SUBJECTS = (*QUANTIZATION, *RANDOM)
