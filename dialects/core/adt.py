"""
Algebraic data types: their definition, construction, and case distinction by patterns.

    relay.type_def @List ["A"] [
      #relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>,
      #relay.constructor<"Nil", []>]

A `relay.match` has one region for each clause. The patterns of the clauses are attributes; the
variables of a pattern, from left to right, are the arguments of the block of its clause.
"""

from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import (
    ArrayAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TupleType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.traits import (
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import Value, operators
from xrelay.dialects.core.functional import AdtType, FnType, Instance
from xrelay.dialects.core.values import YieldOp
from xrelay.dialects.shapes import compatible
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


@irdl_attr_definition
class ConstructorAttr(ParametrizedAttribute):
    """A constructor of a data type: its name and the types of its fields."""

    name = "relay.constructor"
    constructor: StringAttr
    fields: ArrayAttr[Attribute]

    def __init__(self, constructor: str | StringAttr, fields: Iterable[Attribute]):
        if isinstance(constructor, str):
            constructor = StringAttr(constructor)
        super().__init__(constructor, ArrayAttr(fields))


@irdl_attr_definition
class WildcardPatternAttr(ParametrizedAttribute):
    """The pattern `_`: every value."""

    name = "relay.wildcard_pattern"


@irdl_attr_definition
class VarPatternAttr(ParametrizedAttribute):
    """The pattern `%x`: every value, which becomes an argument of the clause."""

    name = "relay.var_pattern"


@irdl_attr_definition
class ConstructorPatternAttr(ParametrizedAttribute):
    """The pattern `Cons(p, …)`: the values of one constructor whose fields match."""

    name = "relay.constructor_pattern"
    constructor: SymbolRefAttr
    fields: ArrayAttr[Attribute]

    def __init__(self, constructor: SymbolRefAttr, fields: Iterable[Attribute]):
        super().__init__(constructor, ArrayAttr(fields))


@irdl_attr_definition
class TuplePatternAttr(ParametrizedAttribute):
    """The pattern `(p, …)`: tuples whose fields match."""

    name = "relay.tuple_pattern"
    fields: ArrayAttr[Attribute]

    def __init__(self, fields: Iterable[Attribute]):
        super().__init__(ArrayAttr(fields))


def constructor_ref(type_name: str, constructor: str) -> SymbolRefAttr:
    """How operations name a constructor: `@List::@Cons`."""
    return SymbolRefAttr(type_name, [constructor])


def constructor_name(ref: SymbolRefAttr) -> str:
    """The name of the constructor that operations name `@List::@Cons`."""
    return ref.nested_references.data[-1].data


def find_constructor(user: Operation, ref: SymbolRefAttr) -> tuple["TypeDefOp", ConstructorAttr]:
    """
    The definition of a data type and the constructor of it that an operation names.

    Raises VerifyException when there is none.
    """
    definition = SymbolTable.lookup_symbol(user, ref.root_reference)
    match definition, ref.nested_references.data:
        case TypeDefOp(), (name,):
            constructor = definition.by_name.get(name.data)
            if constructor is not None:
                return definition, constructor
        case _:
            pass
    raise VerifyException(f"{ref} is no constructor of a type of the module")


@irdl_op_definition
class TypeDefOp(IRDLOperation):
    """
    The definition of an algebraic data type with type parameters. Without `constructors` the
    type is defined elsewhere.

    Source: Relay's `TypeData`.
    """

    name = "relay.type_def"
    irdl_options = (ParsePropInAttrDict(),)

    sym_name = prop_def(SymbolNameConstraint())
    type_params = prop_def(ArrayAttr[StringAttr])
    constructors = opt_prop_def(ArrayAttr[ConstructorAttr])
    traits = traits_def(
        Pure(), SymbolOpInterface(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )
    assembly_format = "$sym_name $type_params ($constructors^)? attr-dict"

    def __init__(
        self,
        name: str,
        type_params: Sequence[str],
        constructors: Sequence[ConstructorAttr] | None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "type_params": ArrayAttr(map(StringAttr, type_params)),
                "constructors": None if constructors is None else ArrayAttr(constructors),
            }
        )

    @property
    def param_names(self) -> tuple[str, ...]:
        """The names of the type parameters."""
        return tuple(name.data for name in self.type_params)

    @property
    def by_name(self) -> dict[str, ConstructorAttr]:
        """The constructors by name; of several with one name, the first."""
        known = _BY_NAME.get(self)
        if known is None or known[0] is not self.constructors:
            found = {
                each.constructor.data: each for each in reversed((*(self.constructors or ()),))
            }
            known = _BY_NAME[self] = self.constructors, found
        return known[1]

    def verify_(self) -> None:
        seen: set[str] = set()
        for constructor in self.constructors or ():
            if constructor.constructor.data in seen:
                raise VerifyException(f"constructor {constructor.constructor} is defined twice")
            seen.add(constructor.constructor.data)


_BY_NAME: WeakKeyDictionary[
    TypeDefOp, tuple[ArrayAttr[ConstructorAttr] | None, dict[str, ConstructorAttr]]
] = WeakKeyDictionary()
"""What `TypeDefOp.by_name` has found of which constructors, for as long as a definition has them."""


class _NamesConstructor(SymbolUserOpInterface):
    """The constructor exists, and the types are an instance of its types."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, ConstructOp | ConstructorOp)
        definition, constructor = find_constructor(op, op.constructor)
        inputs, output = op.signature
        fields = constructor.fields.data
        if len(inputs) != len(fields):
            raise VerifyException(
                f"{op.constructor} has {len(fields)} fields, {len(inputs)} are given"
            )
        instance = Instance(definition.param_names)
        if not isinstance(output, AdtType) or output.definition != SymbolRefAttr(
            definition.sym_name
        ):
            raise VerifyException(f"result type is {output}, expected a type of {op.constructor}")
        instance.chosen.update(zip(definition.param_names, output.args.data, strict=False))
        for i, (field, given) in enumerate(zip(fields, inputs, strict=True)):
            if not instance.match(field, given):
                raise VerifyException(
                    f"field {i} of {op.constructor} is {given}, expected {instance.apply(field)}"
                )


@irdl_op_definition
class ConstructOp(IRDLOperation):
    """
    A value of an algebraic data type.

    Source: Relay's `Call` of a `Constructor`.
    """

    name = "relay.construct"
    irdl_options = (ParsePropInAttrDict(),)

    constructor = prop_def(SymbolRefAttr)
    fields = var_operand_def()
    result = result_def(AdtType)
    traits = traits_def(
        Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational(), _NamesConstructor()
    )
    assembly_format = (
        "$constructor `(` $fields `)` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, constructor: SymbolRefAttr, fields: Sequence[Value], result_type: AdtType):
        super().__init__(
            operands=[list(fields)],
            result_types=[result_type],
            properties={"constructor": constructor},
        )

    @property
    def signature(self) -> tuple[Sequence[Attribute], Attribute]:
        """The types of the fields, and of the value."""
        return self.fields.types, self.result.type


@irdl_op_definition
class ConstructorOp(IRDLOperation):
    """
    A constructor as a function value.

    Source: Relay's `Constructor`.
    """

    name = "relay.constructor_var"
    irdl_options = (ParsePropInAttrDict(),)

    constructor = prop_def(SymbolRefAttr)
    result = result_def(FnType)
    traits = traits_def(
        Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational(), _NamesConstructor()
    )
    assembly_format = "$constructor attr-dict `:` type($result)"

    def __init__(self, constructor: SymbolRefAttr, result_type: FnType):
        super().__init__(result_types=[result_type], properties={"constructor": constructor})

    @property
    def signature(self) -> tuple[Sequence[Attribute], Attribute]:
        """The types of the fields, and of the value."""
        return self.result.type.inputs, self.result.type.output


class _PatternsFit(SymbolUserOpInterface):
    """The patterns are of the type of the data, and the blocks take their variables."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, MatchOp)
        # `verify_`, which runs later, counts them.
        for i, (pattern, region) in enumerate(zip(op.patterns, op.clauses, strict=False)):
            bound = [type_ for _, type_ in pattern_variables(op, pattern, op.data.type)]
            args = region.block.arg_types
            if len(bound) != len(args) or not all(map(Instance().match, bound, args)):
                raise VerifyException(
                    f"clause {i} has a block with arguments {list(map(str, args))}, its pattern "
                    f"binds {list(map(str, bound))}"
                )


@irdl_op_definition
class MatchOp(IRDLOperation):
    """
    The result of the first clause whose pattern `data` matches. `complete` says that every value
    matches one.

    Source: Relay's `Match`.
    """

    name = "relay.match"
    irdl_options = (ParsePropInAttrDict(),)

    data = operand_def()
    patterns = prop_def(ArrayAttr[Attribute])
    complete = opt_prop_def(UnitAttr)
    result = result_def()
    clauses = var_region_def("single_block")
    traits = traits_def(
        RecursiveMemoryEffect(),
        HasPatternKind(OpPatternKind.OPAQUE),
        NonComputational(),
        _PatternsFit(),
    )
    assembly_format = (
        "$data $patterns attr-dict-with-keyword `:` functional-type(operands, results) $clauses"
    )

    def __init__(
        self,
        data: Value,
        patterns: Sequence[Attribute],
        clauses: Sequence[Region],
        result_type: Attribute,
        *,
        complete: bool = True,
    ):
        super().__init__(
            operands=[data],
            result_types=[result_type],
            regions=[list(clauses)],
            properties={
                "patterns": ArrayAttr(patterns),
                "complete": UnitAttr() if complete else None,
            },
        )

    def verify_(self) -> None:
        if len(self.patterns) != len(self.clauses):
            raise VerifyException(f"{len(self.patterns)} patterns for {len(self.clauses)} clauses")
        for i, region in enumerate(self.clauses):
            last = region.block.last_op
            if not isinstance(last, YieldOp):
                raise VerifyException(f"clause {i} does not end with relay.yield")
            if not compatible(last.value.type, self.result.type):
                raise VerifyException(
                    f"result type is {self.result.type}, clause {i} yields {last.value.type}"
                )


def pattern_variables(
    user: Operation, pattern: Attribute, type_: Attribute
) -> Iterator[tuple[Attribute, Attribute]]:
    """
    The variables of a pattern from left to right, and the types they have in data of `type_`.

    Raises VerifyException when data of this type cannot match.
    """
    pending = [(pattern, type_)]
    while pending:
        pattern, type_ = pending.pop()
        match pattern:
            case WildcardPatternAttr():
                continue
            case VarPatternAttr():
                yield pattern, type_
            case TuplePatternAttr():
                if not isinstance(type_, TupleType) or len(type_.types) != len(pattern.fields):
                    raise VerifyException(f"pattern {pattern} does not match {type_}")
                fields = zip(pattern.fields, type_.types, strict=True)
                pending.extend(reversed(list(fields)))
            case ConstructorPatternAttr():
                definition, constructor = find_constructor(user, pattern.constructor)
                if (
                    not isinstance(type_, AdtType)
                    or type_.definition.string_value() != definition.sym_name.data
                    or len(constructor.fields) != len(pattern.fields)
                ):
                    raise VerifyException(f"pattern {pattern} does not match {type_}")
                instance = Instance(definition.param_names)
                instance.chosen.update(zip(definition.param_names, type_.args, strict=True))
                types = map(instance.apply, constructor.fields)
                pending.extend(reversed(list(zip(pattern.fields, types, strict=True))))
            case _:
                raise VerifyException(f"{pattern} is no pattern")


ADT_OPS = operators(__name__)
ADT_ATTRS = (
    ConstructorAttr,
    ConstructorPatternAttr,
    TuplePatternAttr,
    VarPatternAttr,
    WildcardPatternAttr,
)
