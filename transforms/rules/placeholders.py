"""Values without content, for places where none is looked at."""

from typing import overload

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.base import tuple_type
from xrelay.dialects.core.failure import FailOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.shapes import is_dynamic, is_tensor_type
from xrelay.interpreters.arrays import dtype_of
from xrelay.transforms.rules.loop_types import casted
from xrelay.transforms.rules.rewriting import Emitter


def may_be_placeholder(type_: Attribute) -> bool:
    """Whether there is a value of a type without content: a tensor, or a tuple of such."""
    if isinstance(type_, TupleType):
        return all(map(may_be_placeholder, type_.types.data))
    return is_tensor_type(type_)


def placeholder(type_: Attribute, emit: Emitter) -> SSAValue:
    """
    A value without content of a type that has one. Unknown dimensions are 2: what is written for a branch that does not run has to
    fit nevertheless, and is not broadcast.
    """
    if isinstance(type_, TupleType):
        return emit(TupleOp([placeholder(each, emit) for each in type_.types.data]))
    assert is_tensor_type(type_)
    if not is_dynamic(type_):
        return emit(tensor.EmptyOp([], type_))
    return zeros(type_, emit)


def zeros(type_: TensorType[Attribute], emit: Emitter) -> SSAValue:
    """A tensor of zeros; unknown dimensions are 2."""
    known = _known(type_)
    content = emit.constant(np.zeros(known.get_shape(), dtype_of(known.element_type)))
    return content if known == type_ else emit(tensor.CastOp(content, type_))


def failure(message: str, type_: Attribute, emit: Emitter) -> SSAValue:
    """A value of a type that there is none of: the program ends with a message."""
    known = _known(type_)
    value = emit(FailOp(message, known))
    if known == type_:
        return value
    found = casted(value, type_, emit)
    assert found is not None, "only tensors have unknown dimensions"
    return found


@overload
def _known(type_: TensorType[Attribute]) -> TensorType[Attribute]: ...
@overload
def _known(type_: Attribute) -> Attribute: ...
def _known(type_: Attribute) -> Attribute:
    """A type with dimensions of 2 in the place of unknown ones."""
    if isinstance(type_, TupleType):
        return tuple_type([_known(each) for each in type_.types.data])
    if not is_tensor_type(type_):
        return type_
    return TensorType(type_.element_type, [2 if dim < 0 else dim for dim in type_.get_shape()])
