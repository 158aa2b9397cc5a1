"""
The attributes that kernels are full of, made once each, and the operations on memory, which have them.

xDSL checks an attribute when it is made, which takes longer than to make the operation that has it.
Attributes never change, and nor do the tables of them here: one object serves all operations.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    I32,
    AnyDenseElement,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.dtypes import FloatType

Number: TypeAlias = IntegerAttr[IntegerType] | FloatAttr | DenseIntOrFPElementsAttr[AnyDenseElement]
"""The attribute of a constant: a scalar, or a vector."""

POINTER = llvm.LLVMPointerType()

MOST = 10_000
"""Attributes of a kind that are kept; programs have few that occur often."""


@lru_cache(MOST)
def whole_number(type_: IntegerType, value: int, lanes: int = 1) -> Number:
    """An integer of some type, without the bits that this does not have, in every lane."""
    whole = IntegerAttr(value, type_, truncate_bits=True)
    if lanes == 1:
        return whole
    numbers = [whole.value.data] * lanes
    return DenseIntOrFPElementsAttr.from_list(VectorType(type_, [lanes]), numbers)


@lru_cache(MOST)
def float_number(type_: FloatType, value: float, lanes: int, sign: float) -> Number:
    """A number that the type has, in every lane. `sign` is its sign: -0.0 equals 0.0."""
    del sign
    if lanes == 1:
        return FloatAttr(value, type_)
    return DenseIntOrFPElementsAttr.from_list(VectorType(type_, [lanes]), [value] * lanes)


@cache
def predicate_attribute(name: str) -> IntegerAttr[IntegerType]:
    """A comparison of integers: "eq", "ne", "slt", "ult", …"""
    return IntegerAttr(llvm.ICmpPredicateFlag(name).to_int(), i64)


@lru_cache(MOST)
def lane_mask(*lanes: int) -> DenseArrayBase[I32]:
    """The lanes that a shuffle takes."""
    return DenseArrayBase.from_list(i32, list(lanes))


@cache
def access(alignment: int) -> Mapping[str, Attribute]:
    """The properties of a load or store."""
    return MappingProxyType(
        {"ordering": IntegerAttr(0, i64), "alignment": IntegerAttr(alignment, i64)}
    )


@lru_cache(MOST)
def step(storage: Attribute, offset: int) -> Mapping[str, Attribute]:
    """The properties of an address `offset` elements away, or as many as an operand says."""
    return MappingProxyType(
        {
            "rawConstantIndices": lane_mask(offset),
            "elem_type": storage,
            "noWrapFlags": IntegerAttr(0, i32),
        }
    )


def load_op(address: SSAValue, type_: Attribute, alignment: int) -> llvm.LoadOp:
    """A value of a type from memory."""
    properties = access(alignment)
    return llvm.LoadOp.create(operands=[address], result_types=[type_], properties=properties)


def store_op(value: SSAValue, address: SSAValue, alignment: int) -> llvm.StoreOp:
    """A value to memory."""
    return llvm.StoreOp.create(operands=[value, address], properties=access(alignment))


def address_op(operands: Sequence[SSAValue], offset: int, storage: Attribute) -> llvm.GEPOp:
    """The address `offset` elements behind a pointer, or as many as a second operand says."""
    properties = step(storage, offset)
    return llvm.GEPOp.create(operands=operands, result_types=[POINTER], properties=properties)


@lru_cache(MOST)
def intrinsic_call(name: str, operands: int) -> Mapping[str, Attribute]:
    """The properties of a call of a function of LLVM with so many operands."""
    return MappingProxyType(
        {
            "intrin": StringAttr(name),
            "op_bundle_sizes": lane_mask(),
            "operandSegmentSizes": lane_mask(operands, 0),
        }
    )


BRANCH_WITHOUT_ARGUMENTS: Mapping[str, Attribute] = MappingProxyType(
    {"operandSegmentSizes": lane_mask(1, 0, 0)}
)
"""The properties of a branch whose blocks have no arguments."""
