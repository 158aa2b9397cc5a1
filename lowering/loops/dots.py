"""
Dot products: what one step of the inner loop of convolutions and matrix products computes.

    sums [lanes] += weights [lanes, group] * elements of the image [group]       for each lane

A step consumes `group` neighbours along the depth. They lie next to each other in the image, and in
packed weights for every lane. Where a group has 32 bits, registers hold one in each lane of the sums.

    elements of image and weights        step                                  group
    f32, f64, 32-bit integers            multiply and add                      1
    weights with fewer bits than sums    the same, converted as they are read  1
                                         or before many tiles (`wide_panels`)
    bf16                                 `vdpbf16ps`                           2
    8 bits                               `vpdpbusd`                            4
    8 and 16 bits                        `pmaddwd`                             2

Sums of integers have 32 bits and wrap, as the products that the operators mean do: every order gives the
same bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import bf16, f32, i16, i32
from xdsl.ir import Attribute, SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element, wide
from xrelay.lowering.emit.index import Index, with_lanes
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.target import Target
from xrelay.lowering.math.arithmetic import multiply_add
from xrelay.lowering.math.convert import convert

NO_DOT = "elements of types that only general code multiplies"
"""Why an implementation that needs a dot product refuses a site."""
SHORT = element(i16)
WHOLE = element(i32)
WHOLE_MULTIPLY_ADD = 3
"""Instructions that the product of 32-bit integers and the sum take, nearly."""
SLOW_BFLOATS = 4
"""
Products and sums of f32 that take as long as `vdpbf16ps` on processors with tiles, measured on Xeons of the fifth
generation. Where tiles may not be used nothing competes with it but f32, which is converted.
"""
FLIP = 0x80808080
"""The sign bits of four bytes."""


@dataclass(frozen=True)
class Work:
    """Instructions on vectors in a step."""

    step: float = 1
    """For each register of sums."""
    factor: float = 0
    """For each group of the image, beside the load."""
    weight: float = 0
    """For each vector of weights, beside the load."""
    registers: int = 0
    """What steps need besides sums, weights and a group, of a file of 16."""


@dataclass(frozen=True)
class Operands:
    """What is multiplied and summed, and how it lies in memory."""

    image: Element
    """Of the image, or the left operand, in memory."""
    weight: Element
    """Of the weights, or the right operand, in memory."""
    total: Element
    """Of the sums in registers."""
    group: ClassVar[int] = 1
    """How many neighbours along the depth a step consumes."""
    together: ClassVar[int] = 1
    """How many steps are computed at once: others are steps with zeros."""

    @property
    def shift(self) -> int:
        """What a step adds to the elements of the image: the sums begin with so much less."""
        return 0

    def steps(self, depth: int) -> int:
        """How many steps a depth takes."""
        return blocks(depth, self.group * self.together) * self.together

    def step_bytes(self, target: Target) -> int:
        """How many bytes of the weights a step reads for a register."""
        return target.lanes(self.total.bytes) * self.group * self.weight.bytes


@dataclass(frozen=True)
class Dot(Operands, ABC):
    """The step, and the elements that it works on."""

    @property
    def work(self) -> Work:
        """What a step costs."""
        return Work()

    @property
    def single(self) -> "Dot":
        """The same products one at a time."""
        return MultiplyAdd(self.total, self.weight, self.total)

    @property
    def ahead(self) -> "Dot":
        """The same for weights that are converted before many tiles, where they need that."""
        return self

    @abstractmethod
    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        """The weights of a step for some lanes; offsets count elements."""

    @abstractmethod
    def factor(
        self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int, counted: int
    ) -> SSAValue:
        """A group of the image in every lane. Of its elements the first `counted` count."""

    @abstractmethod
    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        """The sums with the products of a step added."""


@dataclass(frozen=True)
class MultiplyAdd(Dot):
    """One product a step, of the type of the sums: weights are converted as they are read."""

    @staticmethod
    def of(kind: Element) -> "MultiplyAdd":
        """All elements are of one type."""
        return MultiplyAdd(kind, kind, kind)

    @property
    def work(self) -> Work:
        step = 1 if self.total.is_float else WHOLE_MULTIPLY_ADD
        converts = int(self.weight != self.total)
        return Work(step, weight=2 * converts, registers=converts)

    @property
    def ahead(self) -> Dot:
        return replace(self, weight=self.total)

    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        return convert(b, b.load(pointer, offset, self.weight, lanes), self.weight, self.total)

    def factor(
        self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int, counted: int
    ) -> SSAValue:
        return b.splat(b.load(pointer, offset, self.image, 1), lanes)

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        return multiply_add(b, weights, factor, total, self.total)


@dataclass(frozen=True)
class GroupDot(Dot):
    """A dot product of groups of 32 bits."""

    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        return b.load_bits(pointer, offset, self.weight, with_lanes(i32, lanes))

    def factor(
        self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int, counted: int
    ) -> SSAValue:
        return b.splat(b.load_bits(pointer, offset, self.image, i32), lanes)


@dataclass(frozen=True)
class BfloatDot(GroupDot):
    """Two products of bf16, each sum of which is rounded; subnormal numbers count as zero."""

    group: ClassVar[int] = 2
    step_work: float = 1
    """How many products and sums of f32 take as long."""

    @property
    def work(self) -> Work:
        return Work(step=self.step_work)

    def factor(
        self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int, counted: int
    ) -> SSAValue:
        pair = super().factor(b, pointer, offset, lanes, counted)
        # Weights of 0 do not help against infinity in what does not count.
        return pair if counted == 2 else b.both(pair, b.constant(i32, 0xFFFF, lanes))

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        return bfloat_products(b, factor, weights, total)


@dataclass(frozen=True)
class ByteDot(GroupDot):
    """
    Four products of an unsigned and a signed byte. Where both are signed or both are not, the sign bits of
    the image are flipped, which adds 128 to each element, or subtracts it.
    """

    group: ClassVar[int] = 4

    @property
    def flips(self) -> bool:
        """Whether the image is read with its sign bits flipped."""
        return self.image.signed == self.weight.signed

    @property
    def shift(self) -> int:
        if not self.flips:
            return 0
        return 128 if self.weight.signed else -128

    @property
    def work(self) -> Work:
        # Processors have more units for logic than for products.
        return Work(factor=0.5 if self.flips else 0)

    def factor(
        self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int, counted: int
    ) -> SSAValue:
        group = super().factor(b, pointer, offset, lanes, counted)
        if not self.flips:
            return group
        return b.insert(arith.XOrIOp(group, b.constant(i32, FLIP, lanes))).result

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        name = f"llvm.x86.avx512.vpdpbusd.{b.target.vector_bytes * 8}"
        unsigned, signed = (factor, weights) if self.weight.signed else (weights, factor)
        return b.instruction(name, [total, unsigned, signed], total.type)


@dataclass(frozen=True)
class ShortDot(GroupDot):
    """Two products of 16-bit integers; weights of 8 bits are widened as they are read."""

    group: ClassVar[int] = 2

    @property
    def work(self) -> Work:
        return Work(2, weight=0 if self.weight == SHORT else 1, registers=4)

    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        pairs = b.load(pointer, offset, self.weight, 2 * lanes)
        return b.bitcast(convert(b, pairs, self.weight, SHORT), with_lanes(i32, lanes))

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        return b.insert(arith.AddiOp(total, short_products(b, weights, factor))).result


@dataclass(frozen=True)
class ChannelDot(MultiplyAdd):
    """
    One product a step, where every lane has an element of the image of its own, as in depthwise
    convolution: those are converted as they are read, too. A group are neighbours in a column of the image.
    """

    def column(
        self, b: KernelBuilder, lines: Sequence[SSAValue], offset: Index, lanes: int
    ) -> SSAValue:
        """The elements at an offset of lines that are a group of the image, or its beginning."""
        (line,) = lines
        return convert(b, b.load(line, offset, self.image, lanes), self.image, self.total)


@dataclass(frozen=True)
class ShortChannelDot(ChannelDot):
    """
    The same for integers of 16 bits. Each is the lower half of a lane of 32 bits, and the upper halves of the
    weights are 0.
    """

    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        return b.both(super().weights(b, pointer, offset, lanes), b.constant(i32, 0xFFFF, lanes))

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        if b.target.vnni:
            name = f"llvm.x86.avx512.vpdpwssd.{b.target.vector_bytes * 8}"
            return b.instruction(name, [total, factor, weights], total.type)
        return b.insert(arith.AddiOp(total, short_products(b, factor, weights))).result


@dataclass(frozen=True)
class BfloatChannelDot(ChannelDot):
    """The same for two products of bf16: the lower and the upper half of each lane of the sums."""

    group: ClassVar[int] = 2

    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        return b.load_bits(pointer, offset, self.weight, with_lanes(i32, lanes))

    def column(
        self, b: KernelBuilder, lines: Sequence[SSAValue], offset: Index, lanes: int
    ) -> SSAValue:
        halves = [b.load_bits(line, offset, self.image, with_lanes(i16, lanes)) for line in lines]
        if len(halves) == 1:
            return b.insert(llvm.ZExtOp(halves[0], with_lanes(i32, lanes))).res
        lower, upper = halves
        order = [lane + lanes * half for lane in range(lanes) for half in (0, 1)]
        return b.bitcast(b.merge(lower, upper, order), with_lanes(i32, lanes))

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        return bfloat_products(b, weights, factor, total)


def bfloat_products(b: KernelBuilder, x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
    """Sums with the products of two bf16 in each lane of 32 bits."""
    name = f"llvm.x86.avx512bf16.dpbf16ps.{b.target.vector_bytes * 8}"
    return b.instruction(name, [total, x, y], total.type)


def short_products(b: KernelBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """In each lane of 32 bits, the products of the lower and of the upper halves, added."""
    lanes = b.target.lanes(WHOLE.bytes)
    pairs = [b.bitcast(value, with_lanes(i16, 2 * lanes)) for value in (x, y)]
    return b.instruction(SHORT_PRODUCTS[b.target.vector_bytes], pairs, with_lanes(i32, lanes))


SHORT_PRODUCTS = {
    16: "llvm.x86.sse2.pmadd.wd",
    32: "llvm.x86.avx2.pmadd.wd",
    64: "llvm.x86.avx512.pmaddw.d.512",
}
"""Instructions by bytes of a register."""


SINGLE = MultiplyAdd.of(element(f32))
"""In single precision."""


@cache
def dot_of(target: Target, image: Element, weight: Element, result: Element) -> Dot | None:
    """
    How products of two types are summed for a result of a third, as the operators mean it: in the
    type of the result, or f32 when that is f16 or bf16. None where only general code does so.
    """
    if result.is_float and image.is_float and weight.is_float:
        return _float_dot(target, image, weight, result)
    if any(kind.is_float or kind.is_bool for kind in (image, weight, result)) or result.bits > 32:
        return None
    if image.bits == weight.bits == 8 and target.vnni:
        return ByteDot(image, weight, WHOLE)
    if target.has_short_dots and _fits_short(image) and _fits_short(weight):
        return ShortDot(SHORT, weight, WHOLE)
    return MultiplyAdd(WHOLE, weight, WHOLE)


def _float_dot(target: Target, image: Element, weight: Element, result: Element) -> Dot | None:
    total = wide(result)
    # Operands are rounded to the type of the result first.
    if any(result not in (kind, wide(kind)) for kind in (image, weight)):
        return None
    operands: set[Attribute] = {image.compute, weight.compute}
    if operands == {bf16} and target.bf16_dot:
        return BfloatDot(image, weight, total, SLOW_BFLOATS if target.bf16_tiles else 1)
    return MultiplyAdd(total, weight, total)


def _fits_short(kind: Element) -> bool:
    return kind.bits == 8 or kind == SHORT


@cache
def channel_dot(
    target: Target, image: Element, weight: Element, result: Element
) -> ChannelDot | None:
    """The same for lanes that have elements of the image of their own."""
    dot = dot_of(target, image, weight, result)
    if dot is None:
        return None
    kind = ChannelDot
    if isinstance(dot, ByteDot | ShortDot):
        kind = ShortChannelDot
    elif isinstance(dot, BfloatDot) and dot.step_work == 1:
        kind = BfloatChannelDot
    return kind(image, weight, dot.total)
