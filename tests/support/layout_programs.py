"""Random programs of convolutions in several layouts, and of operators between them that follow layouts or do not."""

from collections.abc import Callable, Sequence

import numpy as np
from guards.passes import GuardGraph
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.norm import (
    BatchNormOp,
    BiasAddOp,
    InstanceNormOp,
    L2NormalizeOp,
    LayerNormOp,
    PReluOp,
    SoftmaxOp,
)
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, MaxPool2DOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.binary import AddOp, MaximumOp, SubtractOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.like import CastLikeOp, SliceLikeOp
from xrelay.dialects.tensor.reduce import ArgmaxOp, MaxOp, MeanOp, SumOp, VarianceOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp, ReluOp, SigmoidOp
from xrelay.interpreters.arrays import element_type_of

IMAGES = ("NCHW", "NHWC", "HWNC")
KERNELS = ("OIHW", "HWIO", "OHWI", "HWOI")


def shape_of(value: SSAValue) -> tuple[int, ...]:
    assert is_tensor_type(value.type)
    return value.type.get_shape()


class LayoutProgram:
    """A program under construction: values, and the layouts in which images lie."""

    def __init__(self, seed: int):
        self.g = GuardGraph(seed)
        self.rng = self.g.rng
        self.values: list[tuple[SSAValue, str]] = []
        lengths = {"N": int(self.rng.integers(1, 3)), "C": int(self.rng.choice([3, 4, 8]))}
        lengths |= {"H": 4, "W": 5}
        layout = self.choice(IMAGES)
        self.add(self.g.x(*(lengths[axis] for axis in layout)), layout)
        self.conv(*self.values[0])

    def choice(self, of: Sequence[str]) -> str:
        return of[int(self.rng.integers(len(of)))]

    def add(self, value: SSAValue, layout: str) -> None:
        if is_tensor_type(value.type) and not np.prod(shape_of(value)) > 2000:
            self.values.append((value, layout))

    def step(self) -> None:
        """Adds some operators on one of the values, the last one more often than others."""
        index = -1 if self.rng.random() < 0.6 else int(self.rng.integers(len(self.values)))
        value, layout = self.values[index]
        steps = EVERYWHERE + (ON_IMAGES if sorted(layout) == sorted("NCHW") else ())
        try:
            steps[int(self.rng.integers(len(steps)))](self, value, layout)
        except VerifyException:
            return  # Not every image has room for every operator.

    def parameter(self, shape: Sequence[int]) -> SSAValue:
        return self.g.x(*shape) if self.rng.random() < 0.5 else self.g.w(*shape)

    def axis(self, value: SSAValue) -> int:
        rank = len(shape_of(value))
        return int(self.rng.integers(-rank, rank)) if rank else 0

    # -- images -------------------------------------------------------------------------------

    def conv(self, value: SSAValue, layout: str) -> None:
        channels = shape_of(value)[layout.index("C")]
        depthwise = self.rng.random() < 0.25
        size = int(self.rng.choice([1, 3]))
        outputs = channels if depthwise else int(self.rng.choice([4, 6, 8]))
        inputs = 1 if depthwise else channels
        lengths = {"O": outputs, "I": inputs, "H": size, "W": size}
        kernel = self.choice(KERNELS)
        weight = self.parameter([lengths[axis] for axis in kernel])
        op = Conv2DOp(
            value,
            weight,
            padding=(size // 2, size // 2),
            groups=channels if depthwise else 1,
            channels=outputs,
            kernel_size=(size, size),
            data_layout=layout,
            kernel_layout=kernel,
        )
        self.add(self.g.op(op), layout)

    def pool(self, value: SSAValue, layout: str) -> None:
        kind = (MaxPool2DOp, AvgPool2DOp)[int(self.rng.integers(2))]
        stated = layout if self.rng.random() < 0.2 else ""
        op = kind(value, (2, 2), strides=(1, 2), layout=layout, out_layout=stated)
        self.add(self.g.op(op), layout)

    def global_pool(self, value: SSAValue, layout: str) -> None:
        self.add(self.g.op(GlobalAvgPool2DOp(value, layout)), layout)

    def resize(self, value: SSAValue, layout: str) -> None:
        self.add(self.g.op(Resize2DOp(value, (3, 4), layout=layout)), layout)

    def upsampling(self, value: SSAValue, layout: str) -> None:
        self.add(self.g.op(UpsamplingOp(value, 2.0, 1.0, layout=layout)), layout)

    def relaid(self, value: SSAValue, layout: str) -> None:
        other = self.choice(IMAGES)
        self.add(self.g.op(LayoutTransformOp(value, layout, other)), other)

    # -- tensors ------------------------------------------------------------------------------

    def unary(self, value: SSAValue, layout: str) -> None:
        kinds = (
            lambda x: ReluOp(x),
            lambda x: SigmoidOp(x),
            lambda x: CastOp(x, element_type_of(np.dtype("float32"))),
            lambda x: CastLikeOp(x, self.g.x(2)),
        )
        self.add(self.g.op(kinds[int(self.rng.integers(len(kinds)))](value)), layout)

    def binary(self, value: SSAValue, layout: str) -> None:
        other, known = self.values[int(self.rng.integers(len(self.values)))]
        if known != layout or self.rng.random() < 0.5:
            shape = shape_of(value)[int(self.rng.integers(0, len(shape_of(value)) + 1)) :]
            other = self.parameter([n if self.rng.random() < 0.6 else 1 for n in shape])
        kind = (AddOp, SubtractOp, MaximumOp)[int(self.rng.integers(3))]
        pair = (value, other) if self.rng.random() < 0.5 else (other, value)
        op = kind(*pair)
        if len(shape_of(op.result)) == len(layout):
            self.add(self.g.op(op), layout)

    def norm(self, value: SSAValue, layout: str) -> None:
        axis = self.axis(value)
        length = shape_of(value)[axis]
        vectors = [self.g.positive(length) for _ in range(4)]
        match int(self.rng.integers(5)):
            case 0:
                parts = self.g.op(BatchNormOp(value, *vectors, axis=axis))
                self.add(self.g.op(TupleGetItemOp(parts, 0)), layout)
            case 1:
                self.add(self.g.op(InstanceNormOp(value, *vectors[:2], axis=axis)), layout)
            case 2:
                self.add(self.g.op(LayerNormOp(value, *vectors[:2], axis=axis)), layout)
            case 3:
                axes = {axis, int(self.rng.integers(len(layout)))}
                if len({each % len(layout) for each in axes}) == len(axes):
                    self.add(self.g.op(L2NormalizeOp(value, 0.5, sorted(axes))), layout)
            case _:
                bias = (BiasAddOp, PReluOp)[int(self.rng.integers(2))]
                self.add(self.g.op(bias(value, vectors[0], axis=axis % len(layout))), layout)

    def joined(self, value: SSAValue, layout: str) -> None:
        others = [other for other, known in self.values if known == layout]
        fields = [value, others[int(self.rng.integers(len(others)))]]
        joined = ConcatenateOp(self.g.op(TupleOp(fields)), axis=self.axis(value))
        self.add(self.g.op(joined), layout)

    def split(self, value: SSAValue, layout: str) -> None:
        axis = self.axis(value)
        length = shape_of(value)[axis]
        half = self.rng.random() < 0.5 and length % 2 == 0
        parts = self.g.op(SplitOp(value, 2 if half else (length // 2,), axis=axis))
        for index in (0, 1) if self.rng.random() < 0.5 else (1,):
            self.add(self.g.op(TupleGetItemOp(parts, index)), layout)
        if self.rng.random() < 0.3:
            self.g.returns(parts)

    def slice(self, value: SSAValue, layout: str) -> None:
        shape = shape_of(value)
        if self.rng.random() < 0.5:
            axis = self.axis(value)
            step = int(self.rng.choice([1, 2, -1]))
            bounds = (0, shape[axis]) if step > 0 else (shape[axis], 0)
            op = StridedSliceOp(value, [bounds[0]], [bounds[1]], [step], axes=[axis])
        else:
            count = int(self.rng.integers(1, len(shape) + 1))
            begin = [int(self.rng.integers(0, n)) for n in shape[:count]]
            begin = [b - b % int(self.rng.choice([1, 2])) for b in begin]
            mode = self.choice(("end", "size"))
            end = [n for n in shape[:count]] if mode == "end" else [-1] * count
            op = StridedSliceOp(value, begin, end, [1] * (count - 1), slice_mode=mode)
        self.add(self.g.op(op), layout)

    def slice_like(self, value: SSAValue, layout: str) -> None:
        others = [other for other, known in self.values if known == layout]
        other = others[int(self.rng.integers(len(others)))]
        self.add(self.g.op(SliceLikeOp(value, other, [self.axis(value)])), layout)

    def transpose(self, value: SSAValue, layout: str) -> None:
        axes = [int(axis) for axis in self.rng.permutation(len(layout))]
        given = None if self.rng.random() < 0.2 else axes
        axes = axes if given is not None else list(reversed(range(len(layout))))
        self.add(self.g.op(TransposeOp(value, given)), "".join(layout[axis] for axis in axes))

    def reduce(self, value: SSAValue, layout: str) -> None:
        count = int(self.rng.integers(1, max(len(layout), 2)))
        axes = sorted(int(axis) for axis in self.rng.permutation(len(layout))[:count])
        keepdims, exclude = self.rng.random() < 0.5, self.rng.random() < 0.3
        kind = (SumOp, MeanOp, MaxOp, ArgmaxOp)[int(self.rng.integers(4))]
        op = kind(value, axes, keepdims=keepdims, exclude=exclude)
        if kind is ArgmaxOp:
            self.g.show(op)
            return
        result = self.g.op(op)
        left = (
            layout
            if keepdims
            else "".join(axis for i, axis in enumerate(layout) if i not in op.reduced_axes)
        )
        self.add(result, left)
        if keepdims and kind is MeanOp:
            self.add(
                self.g.op(VarianceOp(value, result, axis=axes, keepdims=keepdims, exclude=exclude)),
                layout,
            )

    def pad(self, value: SSAValue, layout: str) -> None:
        widths = [(0, 0)] * len(layout)
        widths[self.axis(value)] = (1, 0)
        op = PadOp(value, self.g.c(self.rng.integers(3)), widths)
        self.add(self.g.op(op), layout)

    def squeeze(self, value: SSAValue, layout: str) -> None:
        ones = [i for i, length in enumerate(shape_of(value)) if length == 1]
        axes = None if self.rng.random() < 0.4 else ones[: int(self.rng.integers(0, 3))]
        gone = ones if axes is None else axes
        left = "".join(axis for i, axis in enumerate(layout) if i not in gone)
        self.add(self.g.op(SqueezeOp(value, axes)), left)

    def topk(self, value: SSAValue, layout: str) -> None:
        kind = self.choice(("both", "values", "indices"))
        found = self.g.op(TopkOp(value, 2, axis=self.axis(value), ret_type=kind))
        if kind == "both":
            self.g.returns(found)
            found = self.g.op(TupleGetItemOp(found, 0))
        if kind != "indices":
            self.add(found, layout)

    def other(self, value: SSAValue, layout: str) -> None:
        match int(self.rng.integers(3)):
            case 0:
                self.add(self.g.op(SoftmaxOp(value, axis=self.axis(value))), layout)
            case 1:
                self.g.show(BatchFlattenOp(value))
            case _:
                flat = self.g.op(ReshapeOp(value, (-1,)))
                self.add(self.g.op(ReshapeOp(flat, shape_of(value))), layout)


Step = Callable[[LayoutProgram, SSAValue, str], None]
ON_IMAGES: tuple[Step, ...] = (
    LayoutProgram.conv,
    LayoutProgram.conv,
    LayoutProgram.conv,
    LayoutProgram.global_pool,
    LayoutProgram.pool,
    LayoutProgram.relaid,
    LayoutProgram.resize,
    LayoutProgram.upsampling,
)
EVERYWHERE: tuple[Step, ...] = (
    LayoutProgram.binary,
    LayoutProgram.binary,
    LayoutProgram.joined,
    LayoutProgram.norm,
    LayoutProgram.other,
    LayoutProgram.pad,
    LayoutProgram.reduce,
    LayoutProgram.slice,
    LayoutProgram.slice_like,
    LayoutProgram.split,
    LayoutProgram.squeeze,
    LayoutProgram.topk,
    LayoutProgram.transpose,
    LayoutProgram.unary,
)


def layout_program(seed: int) -> GuardGraph:
    """A program with some results."""
    program = LayoutProgram(seed)
    for _ in range(int(program.rng.integers(2, 12))):
        program.step()
    for value, _ in program.values[-3:]:
        program.g.returns(value)
    return program.g
