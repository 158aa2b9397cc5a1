"""The base classes of relay operators: construction, type inference and its verification."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import Signature
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, dataclass_transform

from xdsl.dialects.builtin import NoneType, TensorType, TupleType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, result_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.fields import (
    Kind,
    OperandKind,
    PropertyKind,
    Stated,
    Value,
    define_fields,
    operand,
    prop,
)
from xrelay.dialects.shapes import compatible

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr
    from xdsl.ir import Block, Region, Use


def tensor_result_def() -> OpResult[TensorType[Attribute]]:
    """A tensor result."""
    return result_def(TensorType)


@dataclass(frozen=True)
class Constructor:
    """How a constructor finds the operands and properties of its operator in what it gets."""

    fields: Mapping[str, tuple[Kind, Stated]]
    operands: Sequence[str]
    """The names of operands, in their order in the operator."""
    positional: Sequence[str]
    required: frozenset[str]

    @staticmethod
    @cache
    def of(op_type: "type[RelayOp]") -> "Constructor":
        """That of an operator. Fields of bases stand first, as in dataclasses."""
        fields: dict[str, tuple[Kind, Stated]] = {}
        for base in reversed(op_type.__mro__):
            fields |= vars(base).get("__fields__", {})
        fields = dict(sorted(fields.items(), key=_place))
        return Constructor(
            fields,
            [name for name, _ in op_type.get_irdl_definition().operands],
            [name for name, (_, stated) in fields.items() if not stated.kw_only],
            frozenset(name for name, (_, stated) in fields.items() if stated.required),
        )

    @property
    def signature(self) -> Signature:
        """What `inspect.signature` says of a constructor that is written out."""
        return Signature([stated.parameter(name) for name, (_, stated) in self.fields.items()])

    def bind(
        self, args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Attribute | None]]:
        """
        The operands, and the properties by their names in text.

        Raises TypeError, as a function does, for arguments that do not fit.
        """
        given = {**dict(zip(self.positional, args, strict=False)), **named}
        fits = self.required <= given.keys() <= self.fields.keys()
        if not fits or len(given) != len(args) + len(named):
            self.signature.bind(*args, **named)
        properties = {
            stated.name or name: kind.attribute(given.get(name, stated.default))
            for name, (kind, stated) in self.fields.items()
            if isinstance(kind, PropertyKind)
        }
        return [given[name] for name in self.operands], properties


def _place(field_: tuple[str, tuple[Kind, Stated]]) -> tuple[bool, bool]:
    """Sorts fields: those given by name only stand last, and last of all those that may be left out."""
    _, (_, stated) = field_
    return stated.kw_only, stated.kw_only and not stated.required


@dataclass_transform(eq_default=False, field_specifiers=(operand, prop, field))
class FieldsOp(IRDLOperation, ABC):
    """An operation whose class states fields (`xrelay.dialects.fields`)."""

    __fields__: Mapping[str, tuple[Kind, Stated]] = {}
    """Those that the class states itself."""

    def __init_subclass__(cls) -> None:
        cls.__fields__ = define_fields(cls)
        if "name" in vars(cls) and cls.assembly_format is None and cls.print is Operation.print:
            cls.assembly_format = _regular_format(cls)


def _regular_format(op_type: type[Operation]) -> str:
    """The format of an operator that lists its operands: `relay.add %x, %y {…} : (…) -> …`."""
    names: dict[str, None] = {}
    for base in op_type.__mro__:
        fields = vars(base).get("__fields__", {})
        names |= {name: None for name, (kind, _) in fields.items() if isinstance(kind, OperandKind)}
    listed = " `,` ".join(f"${name}" for name in names)
    return f"{listed} attr-dict `:` functional-type(operands, results)".lstrip()


if TYPE_CHECKING:

    class PlainOp(FieldsOp, ABC):
        """xDSL's operations are dataclasses, but constructors of operators take none of this."""

        _operands: SSAValues = field(init=False)
        _operand_uses: tuple[Use, ...] = field(init=False)
        results: SSAValues[OpResult] = field(init=False)
        _successors: tuple[Block, ...] = field(init=False)
        _successor_uses: tuple[Use, ...] = field(init=False)
        properties: dict[str, Attribute] = field(init=False)
        attributes: dict[str, Attribute] = field(init=False)
        location: LocationAttr = field(init=False)
        regions: tuple[Region, ...] = field(init=False)
        parent: Block | None = field(init=False)
        _next_op: Operation | None = field(init=False)
        _prev_op: Operation | None = field(init=False)

else:
    PlainOp = FieldsOp


class RelayOp(PlainOp, ABC):
    """
    An operator of the relay dialect with one result, whose type follows from operands and
    properties. Operators with several outputs return a tuple, as in Relay.

    `infer_type` is the one place that knows the result type: constructors call it to build the
    result, the verifier compares it with the type that the program states. The stated type may
    know more or fewer dimensions than the inferred one, but may not contradict it.
    """

    irdl_options = (ParsePropInAttrDict(),)

    result = tensor_result_def()

    def __init__(self, *args: Any, **named: Any):
        self.initialize(*Constructor.of(type(self)).bind(args, named))

    def initialize(
        self,
        operands: Sequence[Value | Sequence[Value]],
        properties: Mapping[str, Attribute | None] | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        """What constructors do; for an operation that a constructor of its own begins to build."""
        IRDLOperation.__init__(
            self,
            operands=operands,
            result_types=[NoneType() if result_type is None else result_type],
            properties=properties or {},
        )
        if result_type is None:
            try:
                inferred = self.infer_type()
            except VerifyException:
                self.drop_all_references()  # What is refused uses no values.
                raise
            self.results = SSAValues((OpResult(inferred, self, 0),))

    @classmethod
    def of(
        cls,
        operands: Sequence[Value | Sequence[Value]],
        properties: Mapping[str, Attribute | None],
    ) -> Self:
        """The operator on operands in their order, with properties by their names in text."""
        op = cls.__new__(cls)
        op.initialize(operands, properties)
        return op

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


Op = TypeVar("Op", bound=IRDLOperation)


def operators(file: str, base: type[Op] = IRDLOperation) -> tuple[type[Op], ...]:
    """The operators that a file of the dialect, by the name of its module, defines up to here, in alphabetical order."""
    defined = vars(sys.modules[file]).values()
    found = [
        each
        for each in defined
        if isinstance(each, type) and issubclass(each, base) and each.__module__ == file
    ]
    return tuple(
        sorted((each for each in found if "name" in vars(each)), key=lambda each: each.__name__)
    )


def defined_for(kind: str, defined: bool, operand: SSAValue, name: str) -> str | None:
    """What `RelayOp.undefined` says of an operand that has to hold elements of some kind."""
    if defined:
        return None
    type_ = cast(TensorType[Attribute], operand.type)
    return f"'{name}' has elements of type {type_.element_type}, it computes with {kind}"


def tuple_type(fields: Sequence[Attribute]) -> TupleType:
    """The builtin tuple type of some field types."""
    return TupleType(cast(tuple[TypeAttribute, ...], tuple(fields)))
