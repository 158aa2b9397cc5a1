"""
Relay's language around its operators: `let`, function values, and types with type parameters.

A function value is a `relay.closure`, whose region may use values from outside, or a
`relay.global_var`, the value of a function of the module. `relay.apply` calls either.

A polymorphic function (`fn [A](A) -> A`) has type parameters: a `func.func` in the attribute
`relay.type_params`, a closure in the property `type_params`. The types within name them with
`!relay.type_var<"A">`. Each use of such a function states the types of that use.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
    TupleType,
    UnitAttr,
)
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators, tuple_type
from xrelay.dialects.core.references import RefType
from xrelay.dialects.core.values import BodyOp, YieldOp
from xrelay.dialects.fields import AnyValue, AnyValues, Field, OperandKind, Value, operand
from xrelay.dialects.shapes import compatible, is_tensor_type
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind

TYPE_PARAMS = "relay.type_params"
"""The attribute of a `func.func` that names its type parameters."""


@irdl_attr_definition
class TypeVarType(ParametrizedAttribute, TypeAttribute):
    """A type parameter (Relay's `TypeVar`) of the function or data type around it."""

    name = "relay.type_var"
    variable: StringAttr

    def __init__(self, variable: str | StringAttr):
        super().__init__(StringAttr(variable) if isinstance(variable, str) else variable)


@irdl_attr_definition
class FnType(ParametrizedAttribute, TypeAttribute):
    """
    The type of a function value (Relay's `fn (T, …) -> R`): `!relay.fn<(T, …) -> R>`. It is not the
    builtin function type, which as the one result of an operation reads as a list of results.
    """

    name = "relay.fn"
    signature: FunctionType

    def __init__(self, inputs: Sequence[Attribute] | FunctionType, output: Attribute | None = None):
        if not isinstance(inputs, FunctionType):
            inputs = FunctionType.from_lists(inputs, [] if output is None else [output])
        super().__init__(inputs)

    @property
    def inputs(self) -> tuple[Attribute, ...]:
        """The types of the parameters."""
        return self.signature.inputs.data

    @property
    def output(self) -> Attribute:
        """The type of the result."""
        return self.signature.outputs.data[0]

    def verify(self) -> None:
        if len(self.signature.outputs) != 1:
            raise VerifyException(f"relay.fn is {self.signature}, expected one result")


@irdl_attr_definition
class ForallType(ParametrizedAttribute, TypeAttribute):
    """The type of a function with type parameters (Relay's `fn [A](A) -> A`)."""

    name = "relay.forall"
    type_params: ArrayAttr[StringAttr]
    body: Attribute

    def __init__(self, type_params: Sequence[str] | ArrayAttr[StringAttr], body: Attribute):
        if not isinstance(type_params, ArrayAttr):
            type_params = ArrayAttr([StringAttr(name) for name in type_params])
        super().__init__(type_params, body)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the type parameters."""
        return tuple(name.data for name in self.type_params.data)

    def verify(self) -> None:
        if not isinstance(self.body, FnType):
            raise VerifyException(f"relay.forall is about {self.body}, expected a function type")


@irdl_attr_definition
class AdtType(ParametrizedAttribute, TypeAttribute):
    """An algebraic data type that a `relay.type_def` defines, with its type arguments."""

    name = "relay.adt"
    definition: SymbolRefAttr
    args: ArrayAttr[Attribute]

    def __init__(self, definition: str | SymbolRefAttr, args: Iterable[Attribute]):
        if isinstance(definition, str):
            definition = SymbolRefAttr(definition)
        super().__init__(definition, ArrayAttr(args))


class Instance:
    """One use of something with type parameters: the types that stand for them, as far as known."""

    def __init__(self, type_params: Sequence[str] = ()):
        self.type_params = frozenset(type_params)
        self.chosen: dict[str, Attribute] = {}

    def match(self, general: Attribute, special: Attribute) -> bool:
        """
        Whether `special` is `general` with types for the type parameters, up to unknown
        dimensions. Chooses those that are not chosen yet.
        """
        pending = [(general, special)]
        while pending:
            left, right = pending.pop()
            if isinstance(left, TypeVarType) and left.variable.data in self.type_params:
                known = self.chosen.setdefault(left.variable.data, right)
                if not compatible(known, right):
                    return False
                continue
            if left is right:
                continue
            if is_tensor_type(left) or isinstance(left, TypeVarType):
                if not compatible(left, right):
                    return False
                continue
            if not same_head(left, right):
                return False
            pending.extend(zip(type_parts(left), type_parts(right), strict=True))
        return True

    def apply(self, type_: Attribute) -> Attribute:
        """`type_` with the chosen types in place of type parameters."""
        return replace_type_vars(type_, self.chosen)


def type_parts(type_: Attribute) -> tuple[Attribute, ...]:
    """The types that a type is made of; none for tensors and the like."""
    match type_:
        case TupleType():
            return tuple(type_.types.data)
        case FnType():
            return (*type_.inputs, type_.output)
        case RefType():
            return (type_.value,)
        case AdtType():
            return type_.args.data
        case ForallType():
            return (type_.body,)
        case _:
            return ()


def types_inside(types: Iterable[Attribute]) -> Iterator[Attribute]:
    """
    Some types and those that they are made of, from the left, each of them once however many share it: tuples of shared
    tuples are small and have very many parts. (By identity: to compare two types takes time in all of their parts.)
    """
    pending = [*types][::-1]
    seen: dict[int, Attribute] = {}
    while pending:
        type_ = pending.pop()
        if id(type_) not in seen:
            seen[id(type_)] = type_
            yield type_
            pending.extend(type_parts(type_)[::-1])


def same_head(one: Attribute, other: Attribute) -> bool:
    """Whether two types are equal if their parts are."""
    match one, other:
        case TupleType(), TupleType():
            return len(one.types) == len(other.types)
        case FnType(), FnType():
            return len(one.inputs) == len(other.inputs)
        case RefType(), RefType():
            return True
        case AdtType(), AdtType():
            return one.definition == other.definition and len(one.args) == len(other.args)
        case ForallType(), ForallType():
            return one.type_params == other.type_params
        case _:
            return type(one) is type(other) and not type_parts(one) and one == other


def replace_type_vars(type_: Attribute, chosen: dict[str, Attribute]) -> Attribute:
    """`type_` with the chosen types in place of type parameters."""
    if isinstance(type_, TypeVarType):
        return chosen.get(type_.variable.data, type_)
    if isinstance(type_, ForallType):
        chosen = {name: t for name, t in chosen.items() if name not in type_.names}
    parts = type_parts(type_)
    if not chosen or not parts:
        return type_
    return with_parts(type_, tuple(replace_type_vars(part, chosen) for part in parts))


def with_parts(type_: Attribute, parts: tuple[Attribute, ...]) -> Attribute:
    """A type made of other types: `with_parts(type_, type_parts(type_))` is `type_`."""
    match type_:
        case TupleType():
            return tuple_type(parts)
        case FnType():
            return FnType(parts[:-1], parts[-1])
        case RefType():
            return RefType(parts[0])
        case AdtType():
            return AdtType(type_.definition, parts)
        case ForallType():
            return ForallType(type_.type_params, parts[0])
        case _:
            return type_


def type_params_of(function: func.FuncOp) -> tuple[str, ...]:
    """The names of the type parameters of a function."""
    names = function.attributes.get(TYPE_PARAMS)
    if not isinstance(names, ArrayAttr):
        return ()
    fields = cast(ArrayAttr[Attribute], names).data
    return tuple(name.data for name in fields if isinstance(name, StringAttr))


@irdl_op_definition
class LetOp(RelayOp):
    """
    The value itself, bound to a name (`let %x = value`), which is the name hint of the result.
    It marks a place in the order of evaluation that passes keep: nothing fuses across it.
    `to-graph-normal-form` removes it.

    Source: Relay's `Let`.
    """

    name = "relay.let"

    value: AnyValue = operand()
    result = result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    def infer_type(self) -> Attribute:
        return self.value.type


@irdl_op_definition
class ClosureOp(BodyOp):
    """
    A function value. The arguments of the body's block are its parameters; the body may use
    values from outside. With `recursive` the first argument of the block is the function itself.

    Source: Relay's `Function` as an expression; `recursive` is a `let` whose value names its
    own variable.
    """

    name = "relay.closure"

    type_params = opt_prop_def(ArrayAttr[StringAttr])
    recursive = opt_prop_def(UnitAttr)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())
    assembly_format = "attr-dict-with-keyword `:` type($result) $body"

    def __init__(
        self,
        body: Region,
        *,
        type_params: Sequence[str] = (),
        recursive: bool = False,
        result_type: Attribute | None = None,
    ):
        properties: dict[str, Attribute | None] = {
            "type_params": ArrayAttr(map(StringAttr, type_params)) if type_params else None,
            "recursive": UnitAttr() if recursive else None,
        }
        if result_type is None:
            result_type = _function_type(body.block, recursive, type_params)
        super().__init__(result_types=[result_type], regions=[body], properties=properties)

    @property
    def params(self) -> tuple[SSAValue, ...]:
        """The parameters, without the function itself."""
        return self.block.args[1:] if self.recursive else self.block.args

    def verify_(self) -> None:
        super().verify_()
        if self.recursive and not self.block.args:
            raise VerifyException("a recursive function has itself as first argument of its block")
        names = tuple(name.data for name in self.type_params or ())
        stated, found = self.result.type, _function_type(self.block, bool(self.recursive), names)
        if self.recursive and self.block.args[0].type != stated:
            raise VerifyException(
                f"the first argument of the block is {self.block.args[0].type}, "
                f"the function is {stated}"
            )
        same = isinstance(stated, ForallType) == isinstance(found, ForallType)
        if isinstance(stated, ForallType) and isinstance(found, ForallType):
            same = stated.type_params == found.type_params
        if not same or not Instance().match(found, stated):
            raise VerifyException(f"result type is {stated}, the body gives {found}")


def _function_type(block: Block, recursive: bool, type_params: Sequence[str]) -> Attribute:
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    inputs = block.arg_types[1:] if recursive else block.arg_types
    type_ = FnType(inputs, terminator.value.type)
    return ForallType(type_params, type_) if type_params else type_


@irdl_op_definition
class ApplyOp(RelayOp):
    """
    The result of a function value for some arguments.

    Source: Relay's `Call` of an expression that is no operator.
    """

    name = "relay.apply"

    function: AnyValue = operand()
    args: AnyValues = operand()
    result = result_def()
    # What the function does with references is not known.
    traits = traits_def(
        MemoryReadEffect(),
        MemoryWriteEffect(),
        HasPatternKind(OpPatternKind.OPAQUE),
        NonComputational(),
    )
    assembly_format = "$function `(` $args `)` attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, function: Value, args: Sequence[Value], result_type: Attribute | None = None
    ):
        self.initialize([function, list(args)], None, result_type)

    def infer_type(self) -> Attribute:
        """Type parameters that no argument tells are those of the stated result type."""
        type_, instance = self.function.type, Instance()
        if isinstance(type_, ForallType):
            type_, instance = type_.body, Instance(type_.names)
        if not isinstance(type_, FnType):
            raise VerifyException(f"'function' is {type_}, expected a function")
        inputs = type_.inputs
        if len(inputs) != len(self.args):
            raise VerifyException(
                f"{len(self.args)} arguments are given, {type_} takes {len(inputs)}"
            )
        for i, (parameter, arg) in enumerate(zip(inputs, self.args, strict=True)):
            if not instance.match(parameter, arg.type):
                raise VerifyException(f"argument {i} is {arg.type}, {type_} takes {parameter}")
        output = type_.output
        if len(instance.chosen) < len(instance.type_params) and self.results:
            instance.match(output, self.results[0].type)
        return instance.apply(output)


class _NamesFunction(SymbolUserOpInterface):
    """The function is one of the module, and the type an instance of its type."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, GlobalVarOp)
        found = SymbolTable.lookup_symbol(op, op.function)
        if not isinstance(found, func.FuncOp):
            raise VerifyException(f"{op.function} is no function of the module")
        type_ = FnType(found.function_type)
        if not Instance(type_params_of(found)).match(type_, op.result.type):
            raise VerifyException(f"result type is {op.result.type}, {op.function} is {type_}")


@irdl_op_definition
class GlobalVarOp(IRDLOperation):
    """
    A function of the module as a value. The type is that of the function, with types for its
    type parameters.

    Source: Relay's `GlobalVar`.
    """

    name = "relay.global_var"

    function = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(FnType)
    traits = traits_def(
        Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational(), _NamesFunction()
    )
    assembly_format = "$function attr-dict `:` type($result)"

    def __init__(self, function: str, result_type: Attribute):
        super().__init__(
            result_types=[result_type], properties={"function": SymbolRefAttr(function)}
        )


@irdl_op_definition
class InstantiateOp(RelayOp):
    """
    A function value with type parameters, where one with certain types is needed.

    Source: what type inference does in Relay, which has no expression for it.
    """

    name = "relay.instantiate"

    function: Annotated[Field[SSAValue[ForallType], Value], OperandKind(ForallType)] = operand()
    result = result_def(FnType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    def __init__(self, function: Value, result_type: Attribute):
        self.initialize([function], None, result_type)

    def infer_type(self) -> Attribute:
        type_, stated = self.function.type, self.results[0].type
        assert isinstance(type_, ForallType)
        if not Instance(type_.names).match(type_.body, stated):
            raise VerifyException(f"{stated} is not what {type_} is for some types")
        return stated


def values_from_outside(op: Operation) -> tuple[SSAValue, ...]:
    """The values that the regions of an operation use and do not define, in order of use."""
    defined: set[SSAValue] = set()
    used: dict[SSAValue, None] = {}
    pending: list[Block] = [block for region in op.regions for block in region.blocks]
    while pending:
        block = pending.pop()
        defined.update(block.args)
        for inner in block.ops:
            used.update(dict.fromkeys(inner.operands))
            defined.update(inner.results)
            pending.extend(b for region in inner.regions for b in region.blocks)
    return tuple(value for value in used if value not in defined)


FUNCTIONAL_OPS = operators(__name__)
FUNCTIONAL_ATTRS = (AdtType, FnType, ForallType, TypeVarType)
