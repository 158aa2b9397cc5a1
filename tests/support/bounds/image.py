"""
What operators on images and boxes take (see `operator_bounds`): Relay's type relations, where the docstrings of the
dialect do not say that it differs.
"""

from math import inf

from bounds.operator import (
    ANY_REAL,
    OPTIONAL_DTYPE,
    Bound,
    Says,
    Subject,
    at_least,
    between,
    floats,
    only,
    positive,
    subject,
    words,
)
from bounds.window import image_layouts, shape

COORDINATES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "")


def resize(operator: str, spatial: int) -> Subject:
    """An image of three elements along each axis."""
    names, three, five = "NC" + "DHW"[-spatial:], [3] * spatial, [5] * spatial
    region = [0.0] * spatial + [1.0] * spatial
    return subject(
        operator,
        shape(2, 3, *three),
        size=Bound(
            (five, [0] * spatial, [1] * spatial),
            ([-1, *five[1:]], [*five[1:], -1], five[1:], [*five, 5]),
        ),
        roi=Bound((None, region), (region[1:], [*region, 1.0])),
        scales=Bound(
            (None, [0.5] * spatial, [7.0] * spatial),
            ([0.5] * (spatial + 1), [0.0] * spatial, [-0.5] * spatial, [inf] * spatial),
        ),
        layout=Bound((names,), (names[:-1], names[:-1] + "X", names.lower())),
        method=words("nearest_neighbor", "linear", "cubic"),
        coordinate_transformation_mode=words(*COORDINATES),
        rounding_method=words(*ROUNDINGS),
        cubic_alpha=ANY_REAL,
        cubic_exclude=Bound((0, 1, -1)),
        extrapolation_value=ANY_REAL,
        out_dtype=OPTIONAL_DTYPE,
        data=Bound(
            (shape(0, 0, *three),),
            (shape(2, 3, *three[1:]), shape(2, 3, *three, 1), shape(2, 3, *three[1:], 0)),
        ),
    )


IMAGE_SUBJECTS: tuple[Subject, ...] = (
    *(resize(f"image.resize{n}d", n) for n in (1, 2, 3)),
    subject(
        "image.resize2d",
        "2x3x4x5xf32",
        size=Bound(([1, 1],)),
        data=Bound(("2x0x1x1xf32",), ("2x3x0x5xf32", "2x3x4x0xf32")),
    ),
    *(
        subject(
            "dyn.image.resize2d",
            f"2x3x4x4xf32 2x{dtype} 4xf32",
            layout=Bound(("NCHW",), ("NCH", "NCHX")),
            method=words("nearest_neighbor", "linear", "cubic"),
            coordinate_transformation_mode=words(*COORDINATES),
            rounding_method=words(*ROUNDINGS),
            cubic_alpha=ANY_REAL,
            cubic_exclude=Bound((0, 1)),
            extrapolation_value=ANY_REAL,
            out_dtype=OPTIONAL_DTYPE,
            size=Bound(([5, 1],), ([0, 5], [5, -1], "3xi64", "1xi64", "i64", "2xi1")),
            roi=Bound(("4xf64",), ("3xf32", "5xf32", "4x1xf32", "4xi1")),
        )
        for dtype in ("i64", "f32")
    ),
    subject(
        "image.crop_and_resize",
        "2x3x4x4xf32 5x4xf32 5xi32",
        crop_size=Bound(([6, 7], [0, 0]), ([-1, 6], [6, -1], [6], [6, 6, 6])),
        layout=Bound(("NCHW",), ("NCH", "NCHX")),
        method=words("bilinear", "nearest_neighbor"),
        extrapolation_value=ANY_REAL,
        out_dtype=OPTIONAL_DTYPE,
        data=Bound((), ("2x3x4xf32", "0x3x4x4xf32", "2x3x0x4xf32", "2x3x4x0xf32")),
        boxes=Bound((), ("4x4xf32", "5x3xf32", "5x5xf32", "5x4xf64", "4xf32")),
        box_indices=Bound((), ("4xi32", "5xi64", "5x1xi32", "i32")),
    ),
    subject(
        "image.affine_grid",
        "2x2x3xf32",
        target_shape=Bound(([2, 2], [9, 5]), ([1, 2], [2, 1], [2], [2, 2, 2])),
        data=floats("2x2x3x") + Bound((), ("2x3x3xf32", "2x2x2xf32", "2x3xf32")),
    ),
    subject(
        "image.grid_sample",
        "2x3x4x4xf32 2x2x5x5xf32",
        method=words("bilinear", "nearest", "bicubic"),
        layout=only("NCHW", others=("NHWC", "NCDHW", "")),
        padding_mode=words("zeros", "border", "reflection"),
        data=floats("2x3x4x4x")
        + Bound((), (Says("1x3x4x4xf32", "images"), "2x3x0x4xf32", "2x3x4xf32")),
        grid=floats("2x2x5x5x")
        + Bound(("2x2x0x5xf32",), ("2x3x5x5xf32", "2x1x5x5xf32", "3x2x5x5xf32", "2x2x5xf32")),
    ),
    subject(
        "image.grid_sample",
        "2x3x4x4x4xf32 2x3x5x5x5xf32",
        layout=only("NCDHW", others=("NCHW",)),
        method=words("bilinear", "nearest") + Bound((), ("bicubic",)),
        grid=Bound((), ("2x2x5x5x5xf32", "2x4x5x5x5xf32")),
    ),
    subject(
        "nn.upsampling",
        "2x3x4x4xf32",
        **{
            name: Bound((2.0, 0.1, 1e-9), (0.0, -1.0, float("inf"), float("nan")))
            for name in ("scale_h", "scale_w")
        },
        layout=image_layouts("NCHW"),
        method=words("nearest_neighbor", "bilinear", "bicubic") + Bound((), ("trilinear",)),
        data=Bound((), ("2x3x4xf32",)),
    ),
    subject(
        "nn.upsampling3d",
        "2x3x4x4x4xf32",
        **{
            name: Bound((2.0, 0.1, 1e-9), (0.0, -1.0, float("inf"), float("nan")))
            for name in ("scale_d", "scale_h", "scale_w")
        },
        layout=image_layouts("NCDHW"),
        method=words("nearest_neighbor", "trilinear") + Bound((), ("bilinear", "bicubic")),
        coordinate_transformation_mode=words("half_pixel", "align_corners", "asymmetric"),
        data=Bound((), ("2x3x4x4xf32",)),
    ),
    subject(
        "dyn.nn.upsampling",
        "2x3x4x4xf32 f32 f32",
        layout=Bound(("NCHW",), ("NCH", "NCHX")),
        method=words("nearest_neighbor", "bilinear", "bicubic"),
        data=Bound((), ("2x3x4xf32",)),
        **{name: Bound((), ("1xf32",)) for name in ("scale_h", "scale_w")},
    ),
    subject(
        "dyn.nn.upsampling3d",
        "2x3x4x4x4xf32 f32 f32 f32",
        layout=Bound(("NCDHW",), ("NCHW", "NCDHX")),
        method=words("nearest_neighbor", "trilinear"),
        coordinate_transformation_mode=words("half_pixel", "align_corners", "asymmetric"),
        data=Bound((), ("2x3x4x4xf32",)),
        **{name: Bound((), ("1xf32",)) for name in ("scale_d", "scale_h", "scale_w")},
    ),
    *(
        subject(
            op,
            "2x3x4x4xf32 5x5xf32",
            pooled_size=positive(2),
            spatial_scale=ANY_REAL,
            layout=words("NCHW"),
            **more,
            data=Bound(
                (), ("2x3x4xf32", "2x3x4x4xi32", "0x3x4x4xf32", "2x3x0x4xf32", "2x3x4x0xf32")
            ),
            rois=Bound(("0x5xf32",), ("5x4xf32", "5x6xf32", "5xf32", "5x5xf64")),
        )
        for op, more in (
            ("vision.roi_align", {"mode": words("avg", "max"), "sample_ratio": Bound((-1, 0, 2))}),
            ("vision.roi_pool", {}),
        )
    ),
    subject(
        "vision.multibox_prior",
        "2x3x4x5xf32",
        sizes=Bound(([1.0], [0.5, 2.0]), ([],)),
        ratios=Bound(([1.0], [0.5, 2.0]), ([], [0.0], [1.0, -1.0])),
        steps=Bound(([-1.0, -1.0], [0.0, 2.0]), ([1.0], [1.0] * 3)),
        offsets=Bound(([0.5, 0.5],), ([1.0], [1.0] * 3)),
        data=floats("2x3x4x5x") + Bound((), ("2x3x4xf32",)),
    ),
    subject(
        "vision.multibox_transform_loc",
        "2x3x6xf32 2x24xf32 1x6x4xf32",
        threshold=ANY_REAL,
        variances=Bound(([0.1, 0.1, 0.2, 0.2],), ([0.1] * 3, [0.1] * 5)),
        cls_prob=Bound((), ("2x6xf32", "2x3x6xi32")),
        loc_pred=Bound((), ("2x23xf32", "2x25xf32", "1x24xf32", "2x24xf64", "2x6x4xf32")),
        anchor=Bound((), ("2x6x4xf32", "1x5x4xf32", "1x6x3xf32", "6x4xf32")),
    ),
    subject(
        "vision.proposal",
        "2x4x3x5xf32 2x8x3x5xf32 2x3xf32",
        scales=Bound(([8.0, 16.0],), ([],)),
        ratios=Bound(([1.0],), ([], [0.0], [-1.0])),
        feature_stride=at_least(1),
        threshold=ANY_REAL,
        rpn_pre_nms_top_n=Bound((6000, 0, -1)),
        rpn_post_nms_top_n=at_least(0),
        rpn_min_size=Bound((16, 0)),
        cls_prob=Bound(
            (),
            (
                "2x2x3x5xf32",
                "2x5x3x5xf32",
                "2x4x3xf32",
                "2x4x3x5xi32",
                Says("2x4x0x5xf32", "'bbox_pred'"),
            ),
        ),
        bbox_pred=Bound((), ("2x4x3x5xf32", "2x8x3x4xf32", "1x8x3x5xf32", "2x8x3x5xf64")),
        im_info=Bound((), ("2x2xf32", "2x4xf32", "1x3xf32", "3xf32")),
    ),
    subject(
        "vision.proposal",
        "2x4x3x5xf32 2x8x3x5xf32 2x3xf32",
        scales=Bound(([8.0],), ()),
        ratios=Bound(
            ([1.0, 2.0],), (Says([1.0], "'cls_prob'"), Says([1.0, 2.0, 3.0], "'cls_prob'"))
        ),
    ),
    subject(
        "vision.get_valid_counts",
        "2x7x6xf32 f32",
        id_index=Bound((0, 5, -1, -9), (6,)),
        score_index=between(0, 5),
        data=Bound((), ("2x7xf32", "2x7x6xi32")),
        score_threshold=Bound(("1xf32", "1x1xf32"), ("2xf32", "f64", "i32")),
    ),
    subject(
        "vision.get_valid_counts",
        "2x7x6xf32 f32",
        score_index=1,
        id_index=-1,
        data=Bound(("2x7x2xf32",), (Says("2x7x1xf32", "'score_index'"),)),
    ),
    subject(
        "vision.non_max_suppression",
        "2x7x6xf32 2xi32 2x7xi32 i32 f32",
        top_k=Bound((-1, 0, 9)),
        coord_start=between(0, 2),
        score_index=between(0, 5),
        id_index=Bound((0, 5, -1), (6,)),
        data=Bound((), ("2x7xf32", "2x7x6xi32", "2x7x3xf32")),
        valid_count=Bound((), ("3xi32", "2xi64", "2x1xi32")),
        indices=Bound((), ("2x6xi32", "3x7xi32", "2x7xi64", "7xi32")),
        max_output_size=Bound(("i64", "1xi32"), ("2xi32", "f32", "i8")),
        iou_threshold=Bound(("1xf32",), ("2xf32", "f64", "i32")),
    ),
    subject(
        "vision.all_class_non_max_suppression",
        "2x7x4xf32 2x3x7xf32 i64 f32 f32",
        output_format=words("onnx", "tensorflow"),
        boxes=Bound(
            (), ("2x7x3xf32", "2x7x5xf32", "2x6x4xf32", "1x7x4xf32", "7x4xf32", "2x7x4xf64")
        ),
        scores=Bound(("2x0x7xf32",), ("2x3x8xf32", "1x3x7xf32", "2x3x7xf64", "3x7xf32")),
        max_output_boxes_per_class=Bound(("i32", "1xi64"), ("2xi64", "f32")),
        iou_threshold=Bound((), ("2xf32", "f64")),
        score_threshold=Bound((), ("2xf32", "f64")),
    ),
    subject(
        "stft",
        "2x16xf32 6xf32",
        n_fft=Bound((8, 6, 16), (Says(5, "'n_fft'"), Says(17, "'n_fft'"), 0, -1)),
        hop_length=at_least(1),
        win_length=only(6, others=(0, 5, 7, Says(9, "'win_length'"))),
        data=Bound(("0x8xf32",), ("16xf32", "2x7xf32", "2x16xf64", "2x16xi32")),
        window=Bound((), ("5xf32", "7xf32", "6x1xf32", "6xf64")),
    ),
)
