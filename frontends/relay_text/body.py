"""
Bodies of functions: from expressions to operations, in the order of the original.

Operations are emitted in post-DFS order: from a function's result through the operands in order,
each when it is first needed, `let` bindings in their order. That is how the original numbers
expressions, and program order then decides ties in fusion as it does there.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import IntegerType, StringAttr, TensorType, TupleType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, MatchOp, constructor_ref
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    FnType,
    ForallType,
    GlobalVarOp,
    Instance,
    InstantiateOp,
    LetOp,
)
from xrelay.dialects.core.values import (
    CompositeOp,
    ConstantOp,
    FusedOp,
    RefCreateOp,
    RefReadOp,
    RefType,
    RefWriteOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
    is_dense,
)
from xrelay.dialects.shapes import compatible, is_tensor_type
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.type_relations import joined, tells
from xrelay.frontends.relay_text import literals
from xrelay.frontends.relay_text.errors import RelayTextError
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.operators import OperatorBuilder
from xrelay.frontends.relay_text.patterns import Patterns
from xrelay.frontends.relay_text.scopes import Scopes, called_in_place
from xrelay.frontends.relay_text.syntax import (
    Attrs,
    Bindings,
    Call,
    Constant,
    Expr,
    Function,
    If,
    Match,
    Module,
    NameRef,
    Projection,
    Reference,
    TupleExpr,
    Variable,
)
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.types import Type, closed


@dataclass
class Signature:
    """The type of a function of the module."""

    type_params: tuple[str, ...]
    params: list[Attribute]
    result: Attribute | None
    """None when the text does not state it and nothing in the text refers to the function."""


class Unit:
    """A body that uses nothing from outside: a function of the module, or one called in place."""

    def __init__(self, root: Expr, block: Block):
        self.scopes = Scopes(root)
        self.block = block
        self.blocks = {self.scopes.root: block}
        self.values: dict[Expr, SSAValue] = {}
        """The values of expressions and variables."""


class BodyImporter:
    """
    Imports bodies of functions. What is to be done is a stack of tasks, each a method and an
    expression, so that nesting in the text does not become recursion of Python.
    """

    def __init__(
        self,
        module: Module,
        metadata: Metadata,
        attributes: Callable[[Attrs], dict[str, Attribute]],
    ):
        self.module = module
        self.source = metadata.source
        self.operators = OperatorBuilder(self.source, metadata)
        self.patterns = Patterns(module, self.source)
        self.attributes = attributes
        """Makes the attributes of functions."""
        self.signatures: dict[str, Signature] = {}
        self.tasks: list[tuple[Callable[[Any], None], Any]] = []
        self.units: list[Unit] = []
        """The bodies that are being imported, outermost first."""
        self.regions: dict[Expr, Region] = {}
        """The finished bodies of functions called in place."""
        self._finish: dict[type[Expr], Callable[[Any], None]] = {
            Bindings: self._finish_bindings,
            Call: self._finish_call,
            Function: self._finish_closure,
            If: self._finish_if,
            Match: self._finish_match,
            Projection: self._finish_projection,
            Reference: self._finish_reference,
            TupleExpr: self._finish_tuple,
        }

    def error(self, position: int, message: str) -> RelayTextError:
        """A diagnostic about a place in the text."""
        return self.source.error(position, message)

    def known(self, type_: Type | None, position: int, what: str) -> Attribute:
        """A type that has to be known by now."""
        found = stated_type(type_)
        if found is None:
            raise self.error(position, f"the type of {what} is not known, state it")
        return found

    def param_types(self, function: Function) -> list[Attribute]:
        """The types of the parameters of a function."""
        return [
            self.known(param.annotation, param.position, f"parameter %{param.name}")
            for param in function.params
        ]

    def body(self, function: Function) -> tuple[Block, SSAValue]:
        """The block of a function of the module, without a terminator, and its result."""
        self._open_unit(function)
        tasks = self.tasks
        tasks.append((self._visit, function.body))
        while tasks:
            task, subject = tasks.pop()
            task(subject)
        unit = self.units.pop()
        return unit.block, unit.values[function.body]

    # -- the state of the innermost unit ---------------------------------------------------------

    def _open_unit(self, function: Function) -> None:
        block = Block(arg_types=self.param_types(function))
        unit = Unit(function.body, block)
        self.units.append(unit)
        self._bind(function.params, block.args)

    def _bind(self, variables: Sequence[Variable], values: Sequence[SSAValue]) -> None:
        """Lets variables have values, and the values their names."""
        known = self.units[-1].values
        for variable, value in zip(variables, values, strict=True):
            known[variable] = value
            value.name_hint = hint_of(variable.name)

    def _values(self, exprs: Sequence[Expr]) -> list[SSAValue]:
        known = self.units[-1].values
        return [known[expr] for expr in exprs]

    def _emit(self, expr: Expr, op: Operation) -> SSAValue:
        """Adds an operation where `expr` is computed; its result is the value of `expr`."""
        unit = self.units[-1]
        unit.blocks[unit.scopes.of[expr]].add_op(op)
        value = unit.values[expr] = op.results[0]
        if expr.stated is not None and not tells(value.type, expr.stated):
            raise self.error(
                expr.position,
                f"the comment states type {written(expr.stated)}, found {written(value.type)}",
            )
        return value

    # -- the order -------------------------------------------------------------------------------

    def _visit(self, expr: Expr) -> None:
        """Computes an expression, unless it is already."""
        unit = self.units[-1]
        if expr in unit.values:
            return
        match expr:
            case Constant():
                op = ConstantOp.create(
                    properties={"value": expr.value}, result_types=[expr.result_type]
                )
                self._emit(expr, op)
                return
            case Variable():
                raise self.error(
                    expr.position, f"variable %{expr.name} is used outside of its scope"
                )
            case NameRef():
                self._name(expr)
                return
            case _:
                pass
        tasks = self.tasks
        tasks.append((self._finish[type(expr)], expr))
        if expr.bodies:
            for index in range(len(expr.bodies) - 1, -1, -1):
                tasks.append((self._open_body, (expr, index)))
        elif isinstance(expr, Call) and called_in_place(expr.callee):
            tasks.append((self._open_call, expr))
            tasks.extend((self._visit, arg) for arg in reversed(expr.args))
            return
        elif isinstance(expr, Bindings):
            tasks.append((self._visit, expr.result))
            for variable, value in reversed(expr.bindings):
                tasks.append((self._let, (expr, variable, value)))
                tasks.append((self._visit, value))
            return
        tasks.extend((self._visit, operand) for operand in reversed(expr.operands))

    def _let(self, binding: tuple[Bindings, Variable, Expr]) -> None:
        bindings, variable, value = binding
        unit = self.units[-1]
        bound = unit.values[value]
        op = LetOp.create(operands=[bound], result_types=[bound.type])
        unit.blocks[unit.scopes.of[bindings]].add_op(op)
        if isinstance(variable.annotation, Attribute) and not Instance().match(
            op.result.type, variable.annotation
        ):
            raise self.error(
                variable.position,
                f"%{variable.name} is stated as {written(variable.annotation)}, its value is "
                f"{written(op.result.type)}",
            )
        self._bind([variable], op.results)

    def _open_body(self, place: tuple[Expr, int]) -> None:
        """Begins the block of a body, and visits what is in it."""
        expr, index = place
        unit = self.units[-1]
        block = Block()
        match expr:
            case Function():
                if expr.recursive is not None:
                    self_type = self.known(expr.type, expr.position, f"%{expr.recursive.name}")
                    self._bind([expr.recursive], [block.insert_arg(self_type, 0)])
                for param, type_ in zip(expr.params, self.param_types(expr), strict=True):
                    self._bind([param], [block.insert_arg(type_, len(block.args))])
            case Match():
                pattern, _ = expr.clauses[index]
                bound = self.patterns.variables(pattern, unit.values[expr.data].type)
                for variable, type_ in bound:
                    self._bind([variable], [block.insert_arg(type_, len(block.args))])
            case _:
                pass
        unit.blocks[unit.scopes.bodies[expr][index]] = block
        self.tasks.append((self._visit, expr.bodies[index]))

    def _closed(self, expr: Expr, end: Callable[[SSAValue], Operation]) -> list[Region]:
        """The regions of the bodies of an expression, ended with what they give."""
        unit = self.units[-1]
        regions: list[Region] = []
        for body, scope in zip(expr.bodies, unit.scopes.bodies[expr], strict=True):
            block = unit.blocks.pop(scope)
            block.add_op(end(unit.values[body]))
            regions.append(Region(block))
        return regions

    # -- calls -----------------------------------------------------------------------------------

    def _open_call(self, call: Call) -> None:
        """Begins the body of a function called in place."""
        function = cast(Function, call.callee)
        self._open_unit(function)
        self.tasks.append((self._close_call, function))
        self.tasks.append((self._visit, function.body))

    def _close_call(self, function: Function) -> None:
        unit = self.units.pop()
        unit.block.add_op(YieldOp(unit.values[function.body]))
        self.regions[function] = Region(unit.block)

    def _finish_call(self, call: Call) -> None:
        callee = call.callee
        if isinstance(callee, NameRef):
            if callee.is_global:
                self._call_global(call, callee)
            elif callee.name in self.module.constructors:
                self._emit(call, self._construct(call, callee, self._values(call.args)))
            else:
                schema = self.operators.schema(callee)
                operands = self._values(call.args)
                index = SCALARS.get(schema.name)
                if index is not None and index < len(operands):
                    operands[index] = self._scalar_like(call, operands[index], operands[0].type)
                self._emit(call, self.operators.build(call, schema, operands))
        elif called_in_place(callee):
            self._emit(call, self._in_place(call, cast(Function, callee)))
        else:
            value = self.units[-1].values[callee]
            self._emit(call, self._apply(call, value))

    def _scalar_like(self, call: Call, scalar: SSAValue, data: Attribute) -> SSAValue:
        """A scalar operand with the element type of the data, which Relay does not ask for."""
        type_ = scalar.type
        if (
            not is_tensor_type(data)
            or not is_tensor_type(type_)
            or type_.element_type == data.element_type
        ):
            return scalar
        unit = self.units[-1]
        found, owner = None, scalar.owner
        if isinstance(owner, ConstantOp) and is_dense(owner.value) and not type_.get_shape():
            found = literals.converted(owner.value, data.element_type)
        if found is not None:
            op: Operation = ConstantOp(found)
        else:
            op = CastOp(scalar, cast(TypeAttribute, data.element_type))
        unit.blocks[unit.scopes.of[call]].add_op(op)
        return op.results[0]

    def _in_place(self, call: Call, function: Function) -> Operation:
        """`relay.fused` or `relay.composite`."""
        args, region = self._values(call.args), self.regions.pop(function)
        if len(args) != len(function.params):
            raise self._wrong_count(call, len(function.params))
        for param, arg, stated in zip(function.params, args, region.block.args, strict=True):
            if not compatible(stated.type, arg.type):
                raise self.error(
                    call.position,
                    f"parameter %{param.name} is stated as {written(stated.type)}, its argument is "
                    f"{written(arg.type)}",
                )
        attributes = self.attributes(function.attrs)
        result = cast(YieldOp, region.block.last_op).value.type
        self._check_result(function, result)
        composite = attributes.pop("Composite", None)
        if isinstance(composite, StringAttr):
            pattern = attributes.pop("PartitionedFromPattern", None)
            op = CompositeOp(
                composite.data,
                args,
                region,
                result,
                partitioned_from_pattern=pattern.data if isinstance(pattern, StringAttr) else None,
            )
        else:
            del attributes["Primitive"]
            reshape = attributes.pop("relay.reshape_only", None)
            op = FusedOp(args, region, result, reshape_only=reshape is not None)
        op.attributes.update(attributes)
        return op

    def _check_result(self, function: Function, found: Attribute) -> None:
        """The result of a function is of the type that the text states."""
        stated = stated_type(function.result)
        if stated is not None and not Instance().match(stated, found):
            raise self.error(
                function.position,
                f"the function states result type {written(stated)}, found {written(found)}",
            )

    def _wrong_count(self, call: Call, expected: int) -> RelayTextError:
        return self.error(
            call.position, f"{len(call.args)} arguments are given, expected {expected}"
        )

    def _call_global(self, call: Call, callee: NameRef) -> None:
        """`func.call` where the types are those of the function, else through its value."""
        signature = self._signature(callee)
        args = self._values(call.args)
        if len(args) != len(signature.params):
            raise self._wrong_count(call, len(signature.params))
        types = [arg.type for arg in args]
        if not signature.type_params and types == signature.params:
            result = self.known(signature.result, callee.position, f"the result of @{callee.name}")
            self._emit(call, func.CallOp(callee.name, args, [result]))
            return
        function = self._global_value(callee)
        unit = self.units[-1]
        unit.blocks[unit.scopes.of[call]].add_op(function)
        self._emit(call, self._apply(call, function.result))

    def _signature(self, callee: NameRef) -> Signature:
        signature = self.signatures.get(callee.name)
        if signature is None:
            raise self.error(callee.position, f"the module has no function @{callee.name}")
        return signature

    def _apply(self, call: Call, function: SSAValue) -> ApplyOp:
        args = self._values(call.args)
        if isinstance(function.type, FnType):
            params = zip(args, function.type.inputs, strict=False)
            needed = [self._instantiated(call, arg, type_) for arg, type_ in params]
            args = [*needed, *args[len(needed) :]]
        try:
            op = ApplyOp(function, args, stated_type(call.type))
            op.verify_()
        except VerifyException as error:
            raise self.error(call.position, str(error)) from error
        return op

    def _instantiated(self, user: Expr, value: SSAValue, type_: Attribute) -> SSAValue:
        """A function value with type parameters, for a use that needs certain types."""
        if not isinstance(value.type, ForallType) or isinstance(type_, ForallType):
            return value
        unit = self.units[-1]
        op = InstantiateOp(value, type_)
        unit.blocks[unit.scopes.of[user]].add_op(op)
        return op.result

    def _construct(self, expr: Expr, callee: NameRef, fields: list[SSAValue]) -> ConstructOp:
        constructor = self.module.constructors[callee.name]
        type_ = self.known(expr.type, expr.position, f"this {constructor.type_name}")
        ref = constructor_ref(constructor.type_name, callee.name)
        return ConstructOp(ref, fields, cast(AdtType, type_))

    # -- names as values -------------------------------------------------------------------------

    def _name(self, expr: NameRef) -> None:
        if expr.is_global:
            self._emit(expr, self._global_value(expr))
            return
        constructor = self.module.constructors.get(expr.name)
        if constructor is None:
            self.operators.schema(expr)
            raise self.error(expr.position, f"operator {expr.name} is used as a value, call it")
        if not constructor.fields:
            self._emit(expr, self._construct(expr, expr, []))
            return
        type_ = self.known(expr.type, expr.position, f"constructor {expr.name}")
        ref = constructor_ref(constructor.type_name, expr.name)
        self._emit(expr, ConstructorOp(ref, cast(FnType, type_)))

    def _global_value(self, expr: NameRef) -> GlobalVarOp:
        signature = self._signature(expr)
        type_ = stated_type(expr.type)
        if type_ is None:
            result = self.known(signature.result, expr.position, f"the result of @{expr.name}")
            type_ = FnType(signature.params, result)
        return GlobalVarOp(expr.name, type_)

    # -- the other expressions -------------------------------------------------------------------

    def _finish_bindings(self, expr: Bindings) -> None:
        values = self.units[-1].values
        values[expr] = values[expr.result]

    def _finish_closure(self, expr: Function) -> None:
        (region,) = self._closed(expr, YieldOp)
        yielded = cast(YieldOp, region.block.last_op).value.type
        self._check_result(expr, yielded)
        op = ClosureOp(region, type_params=expr.type_params, recursive=expr.recursive is not None)
        op.attributes.update(self.attributes(expr.attrs))
        if expr.recursive is not None:
            try:
                op.verify_()
            except VerifyException as error:
                raise self.error(expr.position, str(error)) from error
        self._emit(expr, op)

    def _finish_if(self, expr: If) -> None:
        unit = self.units[-1]
        condition = unit.values[expr.condition]
        type_ = condition.type
        if (
            not is_tensor_type(type_)
            or type_.get_shape()
            or not isinstance(type_.element_type, IntegerType)
        ):
            raise self.error(expr.position, f"the condition is {written(type_)}, expected bool")
        if type_ != _BOOL:  # Recorded programs have integers, too.
            truth = CastOp(condition, i1)
            unit.blocks[unit.scopes.of[expr]].add_op(truth)
            condition = truth.result
        regions = self._closed(expr, scf.YieldOp)
        types = [cast(scf.YieldOp, region.block.last_op).operands[0].type for region in regions]
        result = joined(*types)
        if result is None:
            raise self.error(
                expr.position,
                f"the branches have types {written(types[0])} and {written(types[1])}",
            )
        taken = tensor.ExtractOp(condition, [], i1)
        unit.blocks[unit.scopes.of[expr]].add_op(taken)
        self._emit(expr, scf.IfOp(taken, [result], regions[0], regions[1]))

    def _finish_match(self, expr: Match) -> None:
        data = self.units[-1].values[expr.data]
        regions = self._closed(expr, YieldOp)
        result: Attribute | None = None
        for (pattern, _), region in zip(expr.clauses, regions, strict=True):
            found = cast(YieldOp, region.block.last_op).value.type
            before = found if result is None else result
            result = joined(before, found)
            if result is None:
                raise self.error(
                    pattern.position,
                    f"this clause has type {written(found)}, those before {written(before)}",
                )
        assert result is not None, "the parser wants a clause"
        patterns = [self.patterns.attribute(pattern) for pattern, _ in expr.clauses]
        if expr.complete:
            unmatched = self.patterns.unmatched(patterns)
            if unmatched is not None:
                raise self.error(
                    expr.position,
                    f"found a match without a clause for {unmatched}, expected one for every "
                    "value: 'match?' does without",
                )
        self._emit(expr, MatchOp(data, patterns, regions, result, complete=expr.complete))

    def _finish_tuple(self, expr: TupleExpr) -> None:
        self._emit(expr, TupleOp(self._values(expr.fields)))

    def _finish_projection(self, expr: Projection) -> None:
        value = self.units[-1].values[expr.value]
        if not isinstance(value.type, TupleType):
            raise self.error(
                expr.position, f"found a field of {written(value.type)}, expected a tuple"
            )
        try:
            self._emit(expr, TupleGetItemOp(value, expr.index))
        except VerifyException as error:
            raise self.error(expr.position, str(error)) from error

    def _finish_reference(self, expr: Reference) -> None:
        value, *rest = self._values(expr.args)
        if expr.name != "ref" and not isinstance(value.type, RefType):
            raise self.error(
                expr.position, f"{expr.name} of {written(value.type)}, expected a reference"
            )
        try:
            match expr.name:
                case "ref":
                    op: Operation = RefCreateOp(value)
                case "ref_read":
                    op = RefReadOp(value)
                case _:
                    op = RefWriteOp(value, rest[0])
        except VerifyException as error:
            raise self.error(expr.position, str(error)) from error
        self._emit(expr, op)


_BOOL = TensorType(i1, [])

SCALARS = {"nn.pad": 1, "dyn.nn.pad": 2}
"""Operators with a scalar operand that has the element type of the first operand: its index."""


def stated_type(type_: Type | None) -> Attribute | None:
    """A type that the text states or inference found, if all of it is known."""
    known = None if type_ is None else closed(type_)
    return known if isinstance(known, Attribute) else None


def hint_of(name: str) -> str | None:
    """The name hint of a value that the text calls `name`."""
    hint = re.sub(r"[^\w$.-]", "_", name, flags=re.ASCII)
    return hint if SSAValue.is_valid_name(hint) and hint else None
