"""Themes about convolutions between blocks of pixels, joins of many tensors, and images in blocks of four channels."""

from typing import Any

from xdsl.ir import SSAValue

from tests.fuzz.themes.program import Steps, ThemeProgram
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.device import OnDeviceOp, VirtualDeviceAttr
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.space import BatchToSpaceNDOp, SpaceToBatchNDOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.qnn.products import QnnConv2DOp
from xrelay.dialects.tensor import binary, unary
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StackOp
from xrelay.interpreters.arrays import dtype_of


class AtrousProgram(ThemeProgram):
    """Convolutions of images whose pixels lie in batches, as those with dilation are written."""

    def start(self) -> None:
        self.values.append(self.image())

    def image(self) -> SSAValue:
        shape = self.one_of(1, 1, 2, 0), self.number(1, 6), self.number(1, 6), self.one_of(1, 2, 4)
        dtype = self.one_of("int8", "uint8") if self.likely(0.2) else self.dtype
        return self.x(*shape, dtype=dtype)

    def steps(self) -> Steps:
        return (*(self.dilated,) * 4, self.activated, self.scaled, self.shifted, self.transposed)

    def dilated(self, x: SSAValue) -> SSAValue | None:
        """A convolution between the two, which mostly have the same blocks."""
        if len(x.type.get_shape()) != 4:
            x = self.image()
        blocks = [self.number(1, 3), self.number(1, 3)]
        pads: list[tuple[int, int]] = []
        for length, block in zip(x.type.get_shape()[1:3], blocks, strict=True):
            before = self.number(0, 3)
            pads.append((before, -(length + before) % block + block * self.one_of(0, 0, 1)))
        zero = self.one_of(0, 0, 0, 3)
        split = self.attempt(lambda: SpaceToBatchNDOp(x, blocks, paddings=pads, pad_value=zero))
        if split is None:
            return None
        inner = self.activated(split) if self.likely(0.1) else split
        image = inner and self.convolution(inner, zero)
        if image is None:
            return None
        if self.likely(0.1):
            self.returns(self.one_of(split, image))
        image = (self.activated(image) or image) if self.likely(0.1) else image
        joined = blocks if self.likely(0.9) else [self.number(1, 3), self.number(1, 3)]
        crops = [
            (min(pair[0], self.one_of(0, 0, 1, pair[0])), self.one_of(0, 0, 1, pair[1]))
            for pair in pads
        ]
        result = self.attempt(lambda: BatchToSpaceNDOp(image, joined, crops=crops))
        if result is None:
            return None
        return self.back(result) if self.likely(0.5) else result

    def convolution(self, x: SSAValue, zero: int) -> SSAValue | None:
        dtype, channels = dtype_of(x.type.element_type), x.type.get_shape()[3]
        groups = self.one_of(1, 1, 1, max(channels, 1))
        options: dict[str, Any] = {
            "strides": self.one_of([1, 1], [1, 1], [1, 1], [1, 1], [2, 1]),
            "padding": self.one_of([0, 0], [0, 0], [1, 1], [1, 0, 2, 1]),
            "dilation": self.one_of([1, 1], [1, 1], [2, 1]),
            "groups": groups,
            "data_layout": "NHWC",
            "kernel_layout": "HWIO",
        }
        shape = self.number(1, 4), self.number(1, 4), channels // groups, self.one_of(1, 2) * groups
        if dtype.name not in ("int8", "uint8"):
            weight = (
                self.x(*shape, dtype=dtype) if self.likely(0.2) else self.w(*shape, dtype=dtype)
            )
            return self.attempt(lambda: Conv2DOp(x, weight, **options))
        weight = self.w(*shape, dtype=self.one_of("int8", "uint8"))
        number = zero if self.likely(0.9) else 1
        zeros = self.c(number, "int32"), self.c(self.one_of(0, -5), "int32")
        return self.attempt(
            lambda: QnnConv2DOp(x, weight, *zeros, self.c(0.5), self.c(0.25), **options)
        )


class JoinProgram(ThemeProgram):
    """Joins of one tensor, of a few and of many."""

    def start(self) -> None:
        self.values.append(
            self.x(*self.one_of((3,), (1,), (2, 2), (0, 3), (2, 1, 2)), dtype=self.dtype)
        )

    def steps(self) -> Steps:
        return (*(self.many,) * 4, self.changed, self.combined, self.reduced, self.transposed)

    def many(self, x: SSAValue) -> SSAValue | None:
        """Parameters, constants and other values one after the other along an axis, where they may be empty."""
        shape = x.type.get_shape()
        if not shape:
            stacked = self.op(TupleOp([x] * self.number(1, 9)))
            return self.attempt(lambda: StackOp(stacked, axis=0))
        axis = self.number(0, len(shape) - 1)
        fields = [self.field(x, axis) for _ in range(self.one_of(1, 2, 3, 4, 5, 7, 8, 12, 20))]
        whole = self.op(TupleOp(fields))
        if self.likely(0.1):
            whole = self.op(LetOp(whole))
        if self.likely(0.1):
            parts = self.attempt(lambda: SplitOp(x, shape[axis] or 1, axis=axis))
            whole = whole if parts is None else parts
        axis -= self.one_of(0, len(shape))
        return self.attempt(lambda: ConcatenateOp(whole, axis=axis))

    def field(self, x: SSAValue, axis: int) -> SSAValue:
        known = [each for each in self.values if each.type == x.type]
        if known and self.likely(0.6):
            return self.one_of(*known)
        shape = list(x.type.get_shape())
        shape[axis] = self.one_of(0, 1, 1, 2)
        return self.one_of(self.x, self.w)(*shape, dtype=self.dtype)


class TextureProgram(ThemeProgram):
    """Images whose channels are in blocks of four, on several devices."""

    def start(self) -> None:
        self.values.append(self.image())

    def image(self) -> SSAValue:
        blocks, length = self.one_of(1, 1, 2, 5), self.one_of(4, 4, 4, 3)
        build = self.one_of(self.x, self.x, self.w)
        return build(
            self.one_of(1, 1, 2, 0), blocks, self.one_of(2, 3), 3, length, dtype=self.dtype
        )

    def steps(self) -> Steps:
        own = (self.placed, self.convolved, self.pooled, self.relaid, self.met)
        return (
            *own,
            *own,
            self.activated,
            self.activated,
            self.scaled,
            self.transposed,
            self.named,
        )

    def placed(self, x: SSAValue) -> SSAValue | None:
        """On a CPU or a GPU."""
        sides = {"constrain_result": self.likely(0.3), "constrain_body": self.likely(0.8)}
        return self.op(
            OnDeviceOp(x, VirtualDeviceAttr(self.one_of(1, 4), self.one_of(0, -1)), **sides)
        )

    def convolved(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        if len(shape) != 5:
            return None
        weight = self.operand(self.one_of(1, 2), shape[1] * 4, self.one_of(1, 2), 1, 4)
        return self.attempt(
            lambda: Conv2DOp(x, weight, data_layout="NCHW4c", kernel_layout="OIHW4o")
        )

    def pooled(self, x: SSAValue) -> SSAValue | None:
        if self.likely(0.2):
            return self.attempt(lambda: GlobalMaxPool2DOp(x, "NCHW4c"))
        kind = self.one_of(MaxPool2DOp, AvgPool2DOp)
        return self.attempt(lambda: kind(x, [2, 2], layout="NCHW4c"))

    def relaid(self, x: SSAValue) -> SSAValue | None:
        layouts = ("NCHW", "NCHW4c")[:: 1 if len(x.type.get_shape()) == 4 else -1]
        return self.attempt(lambda: LayoutTransformOp(x, *layouts))

    def met(self, x: SSAValue) -> SSAValue | None:
        """A sum with another image, which may be a constant or lie elsewhere."""
        other = self.image() if self.likely(0.5) else self.one_of(*self.values)
        return self.attempt(lambda: binary.AddOp(x, other)) or self.attempt(unary.ReluOp, other)
