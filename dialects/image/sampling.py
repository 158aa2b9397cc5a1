"""Sampling of images at computed places."""

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import Flag, Integers, Tensor, Text, operand, prop
from xrelay.dialects.shapes import (
    is_float,
    ranked,
    require_float,
    require_one_of,
    same_dimension,
    tensor_type,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class AffineGridOp(RelayOp):
    """
    The places (x', y') = A (x, y, 1) of the elements of an image of `target_shape` (H, W), for each
    matrix A of `data` [N, 2, 3]: a tensor [N, 2, H, W] of its dtype. x runs from -1 in steps of
    (2 - 1e-7) / (W - 1), y likewise; both are computed in the dtype, f32 for 16 bits.

    Source: Relay's `image.affine_grid`.
    """

    name = "relay.image.affine_grid"

    data: Tensor = operand()
    target_shape: Integers = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def steps(self) -> tuple[float, float]:
        """From one row to the next, and from one column to the next."""
        height, width = self.target_shape.get_values()
        return (2 - 1e-7) / (height - 1), (2 - 1e-7) / (width - 1)

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", 3)
        batch, *matrix = data.get_shape()
        if not is_float(data.element_type) or not all(map(same_dimension, matrix, (2, 3))):
            raise VerifyException(
                f"'data' is {data}, expected matrices [2, 3] of floating-point elements"
            )
        shape = self.target_shape.get_values()
        if len(shape) != 2 or any(length < 2 for length in shape):
            raise VerifyException(
                f"'target_shape' is {list(shape)}, expected two numbers of at least 2"
            )
        return with_shape(data, [batch, 2, *shape])


@irdl_op_definition
class GridSampleOp(RelayOp):
    """
    Elements of `data` [N, C, H, W] at the places of `grid` [N, 2, H', W']: a tensor [N, C, H', W'];
    or of volumes [N, C, D, H, W] at those of a grid [N, 3, D', H', W']. The first number of a place
    is that along the last axis. -1 and 1 are the centres of the first and the last element with
    `align_corners`, their outer edges without: on an axis of length L, the coordinate of g is
    (g + 1) * (L - 1) / 2, or (g + 1) * L / 2 - 0.5.

    `method` is "bilinear", "nearest" (halves to even) or, for images, "bicubic" (convolution with
    a = -0.75). Elements outside of the image are 0 with `padding_mode` "zeros"; with "border"
    coordinates, with "bicubic" the indices of elements, are moved to the nearest one in the image,
    with "reflection" they are mirrored at the corners as `align_corners` defines them, until they
    are in it. Coordinates and weights are computed in f64, elements in their dtype, f32 for 16 bits.

    Source: Relay's `image.grid_sample`, ONNX's GridSample.
    """

    name = "relay.image.grid_sample"

    data: Tensor = operand()
    grid: Tensor = operand()
    method: Text = prop(default="bilinear")
    layout: Text = prop(default="NCHW")
    padding_mode: Text = prop(default="zeros")
    align_corners: Flag = prop(default=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        data = tensor_type(self.data, "'data'")
        rank = data.get_num_dims()
        if rank not in (4, 5):
            raise VerifyException(f"'data' is {data}, expected rank 4 or 5")
        grid = ranked(self.grid, "'grid'", rank)
        for type_, name in ((data, "data"), (grid, "grid")):
            require_float(type_, name)
        require_one_of("layout", self.layout, "NCHW" if rank == 4 else "NCDHW")
        require_one_of("method", self.method, "bilinear", "nearest", *["bicubic"] * (rank == 4))
        require_one_of("padding_mode", self.padding_mode, "zeros", "border", "reflection")
        batch, channels, *image = data.get_shape()
        count, numbers, *places = grid.get_shape()
        if not same_dimension(batch, count):
            raise VerifyException(f"'data' has {batch} images, 'grid' is for {count}")
        if not same_dimension(numbers, rank - 2):
            raise VerifyException(f"'grid' has {numbers} coordinates, 'data' {rank - 2} axes")
        if 0 in image:
            raise VerifyException(f"'data' is {data}, expected images that are not empty")
        return with_shape(data, [count if batch < 0 else batch, channels, *places])
