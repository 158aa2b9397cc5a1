"""
Types that the text does not state: parameters without annotation, results of functions, type
arguments.

Inference gives each expression a type that may have unknown parts, and unifies types that have to
be the same (arguments and parameters, branches, …). What the operators say of types runs as soon as
the types of all operands are known: `infer_type` of their classes. Types of operands that an
operator's attributes determine (weights, above all) are found by `operand_types`.

Modules that state all types, as printed ones do, do not need any of it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Block

from xrelay.dialects.core.functional import ForallType
from xrelay.dialects.shapes import compatible
from xrelay.frontends.relay_text.errors import RelayTextError
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.operand_types import operand_types
from xrelay.frontends.relay_text.operators import OperatorBuilder
from xrelay.frontends.relay_text.patterns import Patterns
from xrelay.frontends.relay_text.syntax import (
    Bindings,
    Call,
    Constant,
    Expr,
    Function,
    If,
    Match,
    Module,
    NameRef,
    Pattern,
    Projection,
    Reference,
    TupleExpr,
    Variable,
)
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.types import (
    Compound,
    Type,
    Unknown,
    closed,
    compound,
    decompose,
    resolve,
    substituted,
)

_BOOL = TensorType(i1, [])


def infer_types(module: Module, metadata: Metadata) -> None:
    """
    Finds the types that importing a module needs and the text does not state.

    Raises RelayTextError for types that contradict each other, and for operators of which not
    enough is known.
    """
    unstated = any(
        name in module.functions and module.functions[name].result is None
        for name in module.referenced
    )
    if module.untyped or module.constructors or unstated:
        TypeInference(module, metadata).run()


class TypeInference:
    """The state of inference on one module."""

    def __init__(self, module: Module, metadata: Metadata):
        self.module = module
        self.source = metadata.source
        self.operators = OperatorBuilder(self.source, metadata)
        self.patterns = Patterns(module, self.source)
        self.types: dict[Expr, Type] = {}
        self.results: dict[Function, Type] = {}
        self.tasks: list[tuple[Callable[[Any], None], Any]] = []
        self.ready: list[Callable[[], None]] = []
        """What waited for a type that became known."""
        self.stuck: dict[Call | Projection, None] = {}
        """What still waits."""

    def run(self) -> None:
        """Infers all types, and writes those that the importer asks for into the tree."""
        for function in self.module.functions.values():
            self.declare(function)
        for function in self.module.functions.values():
            self.tasks.append((self.finish_function, function))
            self.tasks.append((self.visit, function.body))
            while self.tasks:
                task, subject = self.tasks.pop()
                task(subject)
                while self.ready:
                    self.ready.pop()()
        for expr in self.stuck:
            raise self.unknown_operand(expr)
        for variable, type_ in self.types.items():
            if isinstance(variable, Variable) and not isinstance(variable.annotation, Attribute):
                variable.annotation = type_
        for function, type_ in self.results.items():
            if function.result is None:
                function.result = type_

    def unknown_operand(self, expr: Expr) -> RelayTextError:
        """The diagnostic about an expression of whose operands too little is known."""
        for operand in expr.operands:
            if isinstance(closed(self.types[operand]), Unknown):
                what = f"%{operand.name}" if isinstance(operand, Variable) else "this operand"
                return self.source.error(
                    operand.position, f"the type of {what} is not known, state it"
                )
        return self.source.error(expr.position, "the type of this expression is not known")

    # -- functions -------------------------------------------------------------------------------

    def declare(self, function: Function) -> None:
        """Gives the parameters and the result of a function types."""
        for param in function.params:
            self.types[param] = Unknown() if param.annotation is None else param.annotation
        self.results[function] = Unknown() if function.result is None else function.result

    def function_type(self, function: Function) -> Type:
        """The type of a function, without its type parameters."""
        params = [self.types[param] for param in function.params]
        return compound("fn", (*params, self.results[function]))

    def finish_function(self, function: Function) -> None:
        """The body of a function has the type of its result."""
        self.unify(self.results[function], self.types[function.body], function.body.position)

    def instance(self, names: Sequence[str], type_: Type) -> Type:
        """A type for one use, with new unknown types for type parameters."""
        return substituted(type_, {name: Unknown() for name in names})

    # -- unification -----------------------------------------------------------------------------

    def unify(self, one: Type, other: Type, position: int) -> None:
        """
        Makes two types the same, up to unknown dimensions.

        Raises RelayTextError at `position` when they cannot be.
        """
        pending = [(one, other)]
        while pending:
            left, right = map(resolve, pending.pop())
            if left is right:
                continue
            if isinstance(right, Unknown):
                left, right = right, left
            if isinstance(left, Unknown):
                self.bind(left, right, position)
                continue
            if isinstance(left, ForallType) != isinstance(right, ForallType):
                if isinstance(right, ForallType):
                    left, right = right, left
                assert isinstance(left, ForallType)
                pending.append((self.instance(left.names, left.body), right))
                continue
            assert not isinstance(right, Unknown)
            parts = decompose(left), decompose(right)
            if parts[0] is None or parts[1] is None:
                if (
                    isinstance(left, Attribute)
                    and isinstance(right, Attribute)
                    and compatible(left, right)
                ):
                    continue
            elif parts[0][0] == parts[1][0] and len(parts[0][1]) == len(parts[1][1]):
                pending.extend(zip(parts[0][1], parts[1][1], strict=True))
                continue
            raise self.mismatch(one, other, position)

    def mismatch(self, one: Type, other: Type, position: int) -> RelayTextError:
        """The diagnostic that two types are not the same."""
        return self.source.error(position, f"found type {written(other)}, expected {written(one)}")

    def bind(self, unknown: Unknown, type_: Type, position: int) -> None:
        """An unknown type is found."""
        pending = [type_]
        while pending:
            part = resolve(pending.pop())
            if part is unknown:
                raise self.source.error(position, "the type of this expression contains itself")
            if isinstance(part, Compound):
                pending.extend(part.parts)
        unknown.known = type_
        if isinstance(type_, Unknown):
            type_.waiting.extend(unknown.waiting)
        else:
            self.ready.extend(unknown.waiting)
        unknown.waiting = []

    # -- expressions -----------------------------------------------------------------------------

    def visit(self, expr: Expr) -> None:
        """Finds the type of an expression, after those of what it needs."""
        if expr in self.types:
            return
        tasks = self.tasks
        match expr:
            case Constant():
                self.types[expr] = expr.result_type
            case Variable():
                self.types[expr] = Unknown() if expr.annotation is None else expr.annotation
            case NameRef():
                self.types[expr] = expr.type = self.name_type(expr)
            case Bindings():
                tasks.append((self.finish, expr))
                tasks.append((self.visit, expr.result))
                for variable, value in reversed(expr.bindings):
                    tasks.append((self.bind_variable, (variable, value)))
                    tasks.append((self.visit, value))
            case Function():
                self.types[expr] = Unknown()
                self.declare(expr)
                if expr.recursive is not None:
                    type_: Type = self.function_type(expr)
                    known = closed(type_)
                    if expr.type_params and isinstance(known, Attribute):
                        type_ = ForallType(expr.type_params, known)
                    self.types[expr.recursive] = type_
                tasks.append((self.finish_literal, expr))
                tasks.append((self.visit, expr.body))
            case Match():
                tasks.append((self.finish, expr))
                tasks.extend((self.visit, body) for body in reversed(expr.bodies))
                tasks.append((self.open_clauses, expr))
                tasks.append((self.visit, expr.data))
            case _:
                tasks.append((self.finish, expr))
                tasks.extend((self.visit, body) for body in reversed(expr.bodies))
                tasks.extend((self.visit, operand) for operand in reversed(expr.operands))

    def bind_variable(self, binding: tuple[Variable, Expr]) -> None:
        """A `let` variable has the type of its value."""
        variable, value = binding
        if variable.annotation is not None:
            self.unify(variable.annotation, self.types[value], value.position)
        self.types[variable] = self.types[value]

    def finish_literal(self, expr: Function) -> None:
        """The type of a function literal."""
        self.finish_function(expr)
        type_ = self.function_type(expr)
        if expr.type_params:
            known = closed(type_)
            if isinstance(known, Unknown):
                raise self.source.error(
                    expr.position, "a function with type parameters states the types of the others"
                )
            type_ = ForallType(expr.type_params, known)
        unknown = self.types[expr]
        assert isinstance(unknown, Unknown)
        self.bind(unknown, type_, expr.position)
        self.types[expr] = expr.type = type_

    def open_clauses(self, expr: Match) -> None:
        """The variables of patterns have the types that the data have there."""
        for pattern, _ in expr.clauses:
            self.match_pattern(pattern, self.types[expr.data])

    def match_pattern(self, pattern: Pattern, type_: Type) -> None:
        """Unifies the types of patterns with those of the data that they are matched with."""
        pending = [(pattern, type_)]
        while pending:
            pattern, type_ = pending.pop()
            if pattern.variable is not None:
                variable = pattern.variable
                if variable.annotation is not None:
                    self.unify(type_, variable.annotation, pattern.position)
                self.types[variable] = type_
                continue
            if pattern.fields is None:
                continue
            if pattern.name is None:
                fields: list[Type] = [Unknown() for _ in pattern.fields]
                self.unify(type_, compound("tuple", tuple(fields)), pattern.position)
            else:
                self.patterns.constructor(pattern)
                fields, data = self.constructor_type(pattern.name)
                self.unify(type_, data, pattern.position)
            pending.extend(zip(pattern.fields, fields, strict=True))

    def constructor_type(self, name: str) -> tuple[list[Type], Type]:
        """The types of the fields of a constructor and of the data, for one use."""
        constructor = self.module.constructors[name]
        names = self.module.types[constructor.type_name].type_params
        values: dict[str, Type] = {name: Unknown() for name in names}
        fields = [substituted(field, values) for field in constructor.fields]
        return fields, compound("@" + constructor.type_name, tuple(values.values()))

    def name_type(self, expr: NameRef) -> Type:
        """The type of a function of the module or of a constructor, as a value."""
        if expr.is_global:
            return self.global_type(expr)
        if expr.name not in self.module.constructors:
            self.operators.schema(expr)
            raise self.source.error(
                expr.position, f"operator {expr.name} is used as a value, call it"
            )
        fields, data = self.constructor_type(expr.name)
        return compound("fn", (*fields, data)) if fields else data

    def global_type(self, expr: NameRef) -> Type:
        """The type of a function of the module, for one use."""
        function = self.module.functions.get(expr.name)
        if function is None:
            raise self.source.error(expr.position, f"the module has no function @{expr.name}")
        return self.instance(function.type_params, self.function_type(function))

    def finish(self, expr: Expr) -> None:
        """The type of an expression whose parts have theirs."""
        types = self.types
        match expr:
            case Bindings():
                types[expr] = types[expr.result]
            case TupleExpr():
                types[expr] = compound("tuple", tuple(types[field] for field in expr.fields))
            case If():
                if isinstance(resolve(types[expr.condition]), Unknown):
                    self.unify(_BOOL, types[expr.condition], expr.condition.position)
                self.unify(types[expr.then], types[expr.otherwise], expr.otherwise.position)
                types[expr] = types[expr.then]
            case Match():
                result: Type = Unknown()
                for _, body in expr.clauses:
                    self.unify(result, types[body], body.position)
                types[expr] = result
            case Reference():
                types[expr] = self.reference_type(expr)
            case Projection():
                types[expr] = Unknown()
                self.project(expr)
            case Call():
                types[expr] = self.call_type(expr)
            case _:
                raise ValueError(f"no rule for {type(expr).__name__}")

    def reference_type(self, expr: Reference) -> Type:
        """The type of an expression about references."""
        first = self.types[expr.args[0]]
        if expr.name == "ref":
            return compound("ref", (first,))
        value = Unknown() if expr.name == "ref_read" else self.types[expr.args[1]]
        self.unify(compound("ref", (value,)), first, expr.position)
        return value if expr.name == "ref_read" else compound("tuple", ())

    def project(self, expr: Projection) -> None:
        """The type of a field, as soon as that of the tuple is known."""
        type_ = resolve(self.types[expr.value])
        if isinstance(type_, Unknown):
            self.stuck[expr] = None
            type_.waiting.append(lambda: self.project(expr))
            return
        self.stuck.pop(expr, None)
        parts = decompose(type_)
        if parts is None or parts[0] != "tuple" or expr.index >= len(parts[1]):
            raise self.source.error(
                expr.position, f"found field {expr.index} of {written(type_)}, which it lacks"
            )
        self.unify(self.types[expr], parts[1][expr.index], expr.position)

    # -- calls -----------------------------------------------------------------------------------

    def call_type(self, call: Call) -> Type:
        """The type of a call."""
        callee = call.callee
        if isinstance(callee, NameRef) and not callee.is_global:
            if callee.name in self.module.constructors:
                return self.constructor_call(call, callee)
            result = Unknown()
            self.types[call] = result
            self.relate(call)
            return result
        if isinstance(callee, NameRef):
            callee.type = type_ = self.global_type(callee)
        else:
            type_ = resolve(self.types[callee])
        if isinstance(type_, ForallType):
            type_ = self.instance(type_.names, type_.body)
        result = Unknown()
        type_ = resolve(type_)
        parts = None if isinstance(type_, Unknown) else decompose(type_)
        if parts is not None and parts[0] == "fn":
            if len(parts[1]) - 1 != len(call.args):
                raise self.source.error(
                    call.position,
                    f"{len(call.args)} arguments are given, expected {len(parts[1]) - 1}",
                )
            for param, arg in zip(parts[1], call.args, strict=False):
                self.unify(param, self.types[arg], arg.position)
            call.type = parts[1][-1]
            return call.type
        args = [self.types[arg] for arg in call.args]
        self.unify(compound("fn", (*args, result)), type_, callee.position)
        call.type = result
        return result

    def constructor_call(self, call: Call, callee: NameRef) -> Type:
        """The type of a value of a data type."""
        fields, data = self.constructor_type(callee.name)
        if len(fields) != len(call.args):
            raise self.source.error(
                call.position,
                f"constructor {callee.name} has {len(fields)} fields, {len(call.args)} are given",
            )
        for field, arg in zip(fields, call.args, strict=True):
            self.unify(field, self.types[arg], arg.position)
        call.type = data
        return data

    def relate(self, call: Call) -> None:
        """The result type of an operator, as soon as the types of its operands are known."""
        assert isinstance(call.callee, NameRef)
        schema = self.operators.schema(call.callee)
        found = [closed(self.types[arg]) for arg in call.args]
        if any(isinstance(type_, Unknown) for type_ in found):
            known = [type_ if isinstance(type_, Attribute) else None for type_ in found]
            for index, type_ in operand_types(
                schema.name, known, self.operators.properties(call, schema)
            ):
                arg = call.args[index]
                self.unify(self.types[arg], type_, arg.position)
            found = [closed(self.types[arg]) for arg in call.args]
        for type_ in found:
            if isinstance(type_, Unknown):
                self.stuck[call] = None
                type_.waiting.append(lambda: self.relate(call))
                return
        self.stuck.pop(call, None)
        block = Block(arg_types=[type_ for type_ in found if isinstance(type_, Attribute)])
        op = self.operators.build(call, schema, block.args)
        self.unify(self.types[call], op.results[0].type, call.position)
        op.drop_all_references()
