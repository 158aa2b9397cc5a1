"""
Bodies of functions: from expressions to operations, in the order of the original.

Operations are emitted in post-DFS order: from a function's result through the operands in order,
each when it is first needed, `let` bindings in their order. That is how the original numbers
expressions, and program order then decides ties in fusion as it does there.
"""

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import IntegerType, TensorType, TupleType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.core.adt import MatchOp
from xrelay.dialects.core.functional import ClosureOp, Instance, LetOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefType, RefWriteOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.type_relations import joined
from xrelay.frontends.relay_text.calls import Calls
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.patterns import Patterns
from xrelay.frontends.relay_text.scopes import called_in_place
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
    Projection,
    Reference,
    TupleExpr,
    Variable,
)
from xrelay.frontends.relay_text.type_printer import written


class BodyImporter(Calls):
    """
    Imports bodies of functions. What is to be done is a stack of tasks, each a method and an
    expression, so that nesting in the text does not become recursion of Python.
    """

    def __init__(self, module: Module, metadata: Metadata):
        super().__init__(module, metadata)
        self.patterns = Patterns(module, self.source)
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
        bound = self.units[-1].values[value]
        op = LetOp.create(operands=[bound], result_types=[bound.type])
        self._add(bindings, op)
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
        condition = self.units[-1].values[expr.condition]
        type_ = condition.type
        if (
            not is_tensor_type(type_)
            or type_.get_shape()
            or not isinstance(type_.element_type, IntegerType)
        ):
            raise self.error(expr.position, f"the condition is {written(type_)}, expected bool")
        if type_ != _BOOL:  # Recorded programs have integers, too.
            condition = self._add(expr, CastOp(condition, i1))
        regions = self._closed(expr, scf.YieldOp)
        types = [cast(scf.YieldOp, region.block.last_op).operands[0].type for region in regions]
        result = joined(*types)
        if result is None:
            raise self.error(
                expr.position,
                f"the branches have types {written(types[0])} and {written(types[1])}",
            )
        taken = self._add(expr, tensor.ExtractOp(condition, [], i1))
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
