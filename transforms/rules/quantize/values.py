"""What integers stand for while operators on numbers become operators on integers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue, TypeAttribute

from xrelay.dialects.base import RelayOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnRequantizeOp
from xrelay.dialects.qnn.parameters import is_scalar
from xrelay.dialects.shapes import element_type_of, normalize_axis, shape_of
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.folding import folded
from xrelay.transforms.rules.rewriting import Emitter

RELATIVE = 1e-5
"""Scales that are closer than this count as one: 8-bit integers are the same with either."""


class Kept(Exception):
    """Why an operator stays as it is, for people."""


@dataclass(frozen=True)
class Affine:
    """
    Integers q of `dtype` stand for (q - zero_point) * scale. Scale and zero point are single numbers, or have one
    element for each index of `axis`.
    """

    scale: SSAValue
    zero_point: SSAValue
    axis: int
    dtype: TypeAttribute

    @property
    def parameters(self) -> tuple[SSAValue, SSAValue]:
        """Scale and zero point, in the order in which operators take them."""
        return self.scale, self.zero_point

    @property
    def is_whole(self) -> bool:
        """Whether scale and zero point are those of the whole tensor."""
        return all(map(is_scalar, self.parameters))

    def axis_of(self, value: SSAValue) -> int:
        """`axis` of a tensor, counted from the front."""
        return normalize_axis(self.axis, len(shape_of(value)))

    def is_near(self, other: "Affine", value: SSAValue) -> bool:
        """Whether integers of this kind in `value` are, up to rounding, those of another kind."""
        same_axis = self.is_whole or other.is_whole or self.axis_of(value) == other.axis_of(value)
        return same_axis and self._agrees(other, RELATIVE)

    def equals(self, other: "Affine") -> bool:
        """Whether integers of this kind are those of another kind that has the same axis, if any."""
        same_axis = self.is_whole or other.is_whole or self.axis == other.axis
        return same_axis and self._agrees(other, 0)

    def _agrees(self, other: "Affine", relative: float) -> bool:
        return (
            self.dtype == other.dtype
            and _agree(self.scale, other.scale, relative)
            and _agree(self.zero_point, other.zero_point, 0)
        )

    @property
    def is_centred(self) -> bool:
        """Whether the zero point is known to be 0."""
        zero = known_array(self.zero_point)
        return zero is not None and not zero.any()


def _agree(one: SSAValue, other: SSAValue, relative: float) -> bool:
    if one == other:
        return True
    left, right = known_array(one), known_array(other)
    if left is None or right is None:
        return False
    if left.size != right.size and 1 not in (left.size, right.size):
        return False
    return np.allclose(left, right, rtol=relative, atol=0)


@dataclass(frozen=True)
class Quantized:
    """A value of the rewritten program: integers, a tuple of integers, or (`kind` None) a constant number."""

    value: SSAValue
    kind: Affine | tuple[Affine, ...] | None

    @property
    def affine(self) -> Affine:
        """What the integers of a tensor stand for. Raises Kept where there are none."""
        if not isinstance(self.kind, Affine):
            raise Kept("an operand is not quantized")
        return self.kind


@dataclass(frozen=True)
class Site:
    """Where an operator on integers is made."""

    emit: Emitter
    out: Affine | None
    """What the integers of the whole region stand for in the end; None where that is not known."""

    @property
    def wanted(self) -> Affine:
        """`out`. Raises Kept where it is not known."""
        if self.out is None:
            raise Kept("no qnn.quantize says what its result stands for")
        return self.out

    def folded(self, op: RelayOp) -> SSAValue:
        """The result of an operator, computed at once where its operands are known."""
        return folded(self.emit, op)


IntegerBuild: TypeAlias = Callable[[Any, list[Quantized], Site], Quantized]
"""The result on integers of an operator on numbers. Raises Kept, or VerifyException, where there is none."""


@dataclass(frozen=True)
class IntegerRule:
    """What an operator on numbers becomes on integers."""

    build: IntegerBuild
    needs_out: bool = False
    """Whether that depends on what the result of the region stands for."""


def dequantized(op: QnnDequantizeOp, emit: Emitter) -> Quantized:
    """The integers that `op` takes."""
    scale, zero_point = (_single(value, emit) for value in op.parameters)
    kind = Affine(scale, zero_point, op.axis.value.data, element_type_of(op.data))
    return Quantized(op.data, kind)


def _single(value: SSAValue, emit: Emitter) -> SSAValue:
    """A parameter; a constant of one element as a scalar, which is what operators on integers take."""
    known = known_array(value)
    return value if known is None or known.shape != (1,) else emit.constant(known.reshape(()))


def requantized(emit: Emitter, source: Quantized, kind: Affine, dtype: TypeAttribute) -> Quantized:
    """The same numbers with the scale and the zero point of another kind, as integers of `dtype`."""
    own = source.affine
    parameters = (*own.parameters, *kind.parameters)
    op = QnnRequantizeOp(source.value, *parameters, axis=own.axis, out_dtype=dtype)
    return Quantized(emit(op), replace(kind, dtype=dtype))
