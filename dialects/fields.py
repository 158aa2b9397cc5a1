"""
The fields of operators: operands and properties, each stated once.

    axis: Integer = prop(default=-1)

says how a property is kept (as an attribute), what constructors take for it (a number, or such an
attribute) and its default. Constructors follow from fields, as in dataclasses, and type checkers
know them for the same reason: operands and properties without a default are given by position or
by name, those with a default by name, unless `kw_only` says otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, get_args, overload

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    TupleType,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrConstraint,
    IntConstraint,
    IRDLAttrConstraint,
    VarOperand,
    VerificationContext,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)

from xrelay.dialects.lengths import LengthsAttr, length_array
from xrelay.dialects.shapes import boolean, float_array, integer, real, string

Value: TypeAlias = SSAValue | Operation
"""What constructors accept as an operand: a value, or an operation with one result."""

Read_co = TypeVar("Read_co", covariant=True)
Given_contra = TypeVar("Given_contra", contravariant=True)
Default = TypeVar("Default")


class Field(Generic[Read_co, Given_contra]):
    """
    What type checkers know of a field: what reading it gives, and what a constructor takes for it.
    At run time xDSL's accessors stand in its place; setting one of them takes attributes only.
    """

    @overload
    def __get__(self, instance: None, owner: type) -> "Field[Read_co, Given_contra]": ...
    @overload
    def __get__(self, instance: Operation, owner: type) -> Read_co: ...
    def __get__(self, instance: Operation | None, owner: type) -> object: ...
    def __set__(self, instance: Operation, value: Given_contra) -> None: ...


@dataclass(frozen=True)
class Stated:
    """What `operand` and `prop` leave in a class until its annotations are read."""

    default: Any = Parameter.empty
    kw_only: bool = False
    name: str | None = None
    """What a property is called in text, when that is not the name of the field."""

    @property
    def required(self) -> bool:
        """Whether a constructor must be given the field."""
        return self.default is Parameter.empty

    def parameter(self, name: str) -> Parameter:
        """The parameter of the constructor."""
        kind = Parameter.KEYWORD_ONLY if self.kw_only else Parameter.POSITIONAL_OR_KEYWORD
        return Parameter(name, kind, default=self.default)


@dataclass(frozen=True)
class OperandKind:
    """Operands of some type; any number of them if `variadic`."""

    constraint: IRDLAttrConstraint = Attribute
    variadic: bool = False

    def definition(self, stated: Stated) -> object:
        """The field in xDSL's words."""
        return var_operand_def(self.constraint) if self.variadic else operand_def(self.constraint)


@dataclass(frozen=True)
class PropertyKind:
    """Properties of some attributes, and the attribute for what constructors take besides."""

    constraint: IRDLAttrConstraint
    convert: Callable[[Any], Attribute] | None = None

    def attribute(self, value: Any) -> Attribute | None:
        """The attribute for a value; None, which is that of absent properties, stays None."""
        if self.convert is None or value is None or isinstance(value, Attribute):
            return value
        return self.convert(value)

    def definition(self, stated: Stated) -> object:
        """The field in xDSL's words."""
        if stated.default is None:
            return opt_prop_def(self.constraint, prop_name=stated.name)
        default = None if stated.required else self.attribute(stated.default)
        return prop_def(self.constraint, default, prop_name=stated.name)


Kind: TypeAlias = OperandKind | PropertyKind


def define_fields(op_type: type[Operation]) -> dict[str, tuple[Kind, Stated]]:
    """Puts what xDSL knows of fields in the place of those that a class states itself."""
    fields: dict[str, tuple[Kind, Stated]] = {}
    for name, annotation in op_type.__annotations__.items():
        stated = vars(op_type).get(name)
        if isinstance(stated, Stated):
            _, kind = get_args(annotation)
            fields[name] = kind, stated
            setattr(op_type, name, kind.definition(stated))
    return fields


def operand() -> Any:
    """An operand, given by position or by name."""
    return Stated()


@overload
def prop(*, kw_only: bool = False, name: str | None = None) -> Any: ...
@overload
def prop(
    *, default: Default, kw_only: bool = True, name: str | None = None
) -> Field[Any, Default]: ...
def prop(
    *, default: Any = Parameter.empty, kw_only: bool | None = None, name: str | None = None
) -> Any:
    """
    A property, called `name` in text if that is not the name of the field. Without a default it
    must be given; with the default None it may be absent.
    """
    if kw_only is None:
        kw_only = default is not Parameter.empty
    return Stated(default, kw_only, name)


Tensor: TypeAlias = Annotated[
    Field[SSAValue[TensorType[Attribute]], Value], OperandKind(TensorType)
]
TensorTuple: TypeAlias = Annotated[Field[SSAValue[TupleType], Value], OperandKind(TupleType)]
AnyValue: TypeAlias = Annotated[Field[SSAValue, Value], OperandKind()]
AnyValues: TypeAlias = Annotated[Field[VarOperand, Sequence[Value]], OperandKind(variadic=True)]

_IntegerAttr: TypeAlias = IntegerAttr[IntegerType]
_IntegersAttr: TypeAlias = DenseArrayBase[IntegerType]
_RealsAttr: TypeAlias = DenseArrayBase[Float64Type]
_PairsAttr: TypeAlias = ArrayAttr[DenseArrayBase[IntegerType]]


def _pairs(values: Sequence[Sequence[int]]) -> _PairsAttr:
    return ArrayAttr([length_array(pair) for pair in values])


_ARRAY = DenseArrayBase.constr(i64)


@dataclass(frozen=True)
class _IntegersConstraint(AttrConstraint[Attribute]):
    """An array of integers, or lengths in its place, of which messages say nothing: nobody writes them."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, LengthsAttr):
            _ARRAY.verify(attr, constraint_context)

    def mapping_type_vars(
        self, type_var_mapping: Mapping[Any, AttrConstraint | IntConstraint]
    ) -> "_IntegersConstraint":
        return self


_INTEGER = PropertyKind(IntegerAttr.constr(i64), integer)
_INTEGERS = PropertyKind(_IntegersConstraint(), length_array)
_REALS = PropertyKind(DenseArrayBase.constr(f64), float_array)
_DTYPE = PropertyKind(TypeAttribute)

Integer: TypeAlias = Annotated[Field[_IntegerAttr, int | _IntegerAttr], _INTEGER]
OptionalInteger: TypeAlias = Annotated[
    Field[_IntegerAttr | None, int | _IntegerAttr | None], _INTEGER
]
Integers: TypeAlias = Annotated[Field[_IntegersAttr, Sequence[int] | _IntegersAttr], _INTEGERS]
OptionalIntegers: TypeAlias = Annotated[
    Field[_IntegersAttr | None, Sequence[int] | _IntegersAttr | None], _INTEGERS
]
IntegerPairs: TypeAlias = Annotated[
    Field[_PairsAttr, Sequence[Sequence[int]] | _PairsAttr],
    PropertyKind(ArrayAttr.constr(_IntegersConstraint()), _pairs),
]
Real: TypeAlias = Annotated[
    Field[FloatAttr, float | FloatAttr], PropertyKind(FloatAttr.constr(f64), real)
]
Reals: TypeAlias = Annotated[Field[_RealsAttr, Sequence[float] | _RealsAttr], _REALS]
OptionalReals: TypeAlias = Annotated[
    Field[_RealsAttr | None, Sequence[float] | _RealsAttr | None], _REALS
]
Flag: TypeAlias = Annotated[Field[BoolAttr, bool | BoolAttr], PropertyKind(BoolAttr, boolean)]
Text: TypeAlias = Annotated[Field[StringAttr, str | StringAttr], PropertyKind(StringAttr, string)]
Dtype: TypeAlias = Annotated[Field[TypeAttribute, TypeAttribute], _DTYPE]
OptionalDtype: TypeAlias = Annotated[Field[TypeAttribute | None, TypeAttribute | None], _DTYPE]
