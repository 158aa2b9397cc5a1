"""The base classes of relay operators: construction, type inference and its verification."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import NoneType, TensorType, TupleType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.shapes import compatible

Value: TypeAlias = SSAValue | Operation
"""What constructors accept as an operand: a value, or an operation with one result."""


class RelayOp(IRDLOperation, ABC):
    """
    An operator of the relay dialect with one result, whose type follows from operands and
    properties. Operators with several outputs return a tuple, as in Relay.

    `infer_type` is the one place that knows the result type: constructors call it to build the
    result, the verifier compares it with the type that the program states. The stated type may
    know more or fewer dimensions than the inferred one, but may not contradict it.
    """

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(
        self,
        operands: Sequence[Value | Sequence[Value]],
        properties: Mapping[str, Attribute | None] | None = None,
        result_type: Attribute | None = None,
    ):
        super().__init__(
            operands=operands,
            result_types=[NoneType() if result_type is None else result_type],
            properties=properties or {},
        )
        if result_type is None:
            self.results = SSAValues((OpResult(self.infer_type(), self, 0),))

    @abstractmethod
    def infer_type(self) -> Attribute:
        """
        The type of the result. Unknown dimensions are `?`.

        Raises VerifyException naming the operand or property at fault.
        """

    def undefined(self) -> str | None:
        """
        Why the operator computes nothing although its operands have types that it takes; None when
        it does. Relay types many operators for every dtype and has code for some: interpreting
        and compiling the others is refused with this sentence.
        """
        return None

    def verify_(self) -> None:
        hint = self.results[0].name_hint
        what = f"{self.name} %{hint}" if hint else self.name
        try:
            inferred, stated = self.infer_type(), self.results[0].type
        except VerifyException as error:
            raise VerifyException(f"{what}: {error}") from error
        if not compatible(inferred, stated):
            raise VerifyException(
                f"{what}: result type is {stated}, but the operands give {inferred}"
            )


def defined_for(kind: str, defined: bool, operand: SSAValue, name: str) -> str | None:
    """What `RelayOp.undefined` says of an operand that has to hold elements of some kind."""
    if defined:
        return None
    type_ = cast(TensorType[Attribute], operand.type)
    return f"'{name}' has elements of type {type_.element_type}, it computes with {kind}"


def tensor_operand_def() -> SSAValue[TensorType[Attribute]]:
    """A tensor operand. Unlike `operand_def`, its type is known to type checkers."""
    return cast(SSAValue[TensorType[Attribute]], operand_def(TensorType))


def tuple_operand_def() -> SSAValue[TupleType]:
    """A tuple operand, typed as `tensor_operand_def`."""
    return cast(SSAValue[TupleType], operand_def(TupleType))


def tensor_result_def() -> OpResult[TensorType[Attribute]]:
    """A tensor result."""
    return result_def(TensorType)


def tuple_type(fields: Sequence[Attribute]) -> TupleType:
    """The builtin tuple type of some field types."""
    return TupleType(cast(tuple[TypeAttribute, ...], tuple(fields)))
