"""The evaluation of programs with values of which a part is known: `partial-eval` says what it does."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.dependencies import Dependencies
from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.facts.steps import Step, run
from xrelay.analysis.facts.symbols import Symbols
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, MatchOp, constructor_name
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.device import DeviceOp
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    GlobalVarOp,
    LetOp,
    replace_type_vars,
    values_from_outside,
)
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.constants import constant_op, known_array
from xrelay.transforms.rules.called_bodies import keeps_function
from xrelay.transforms.rules.evaluating import Evaluator
from xrelay.transforms.rules.functional.atoms import ATOMS, settle_atoms
from xrelay.transforms.rules.functional.partial_values import (
    Cell,
    Circles,
    Clock,
    Constructor,
    Fields,
    Fuel,
    Function,
    Partial,
    Scope,
    Static,
    Store,
    known_value,
    matched,
    type_params,
    types_of_call,
)
from xrelay.transforms.rules.functional.specializing import retype

UNEVALUATED = (AnnotationOp, DeviceOp)
"""Operators that say where or by whom something is computed."""


class PartialEvaluation:
    """The evaluation of a module's functions."""

    def __init__(self, module: ModuleOp, evaluator: Evaluator, max_operations: int):
        self.module = module
        self.evaluator = evaluator
        self.left = max_operations
        """How many names may still be given, and calls expanded, before calls stay."""
        self.make, self.store, self.fuel = Clock(), Store(), Fuel()
        self.symbols = Symbols()
        graph = CallGraph.of_module(module)
        self.circles = Circles([map(graph.functions.__getitem__, each) for each in graph.circles()])
        self.orders: dict[Block, list[Operation]] = {}
        """The operations of each block up to its end, in the order in which they are evaluated."""
        self.functions: dict[func.FuncOp, Function] = {}
        effects = Effects()
        for op in module.ops:
            if (
                isinstance(op, func.FuncOp)
                and len(op.body.blocks) == 1
                and not belongs_to_backend(op)
            ):
                self.functions[op] = Function(op, Scope())
                for inner in Dependencies.of_function(op, effects).visited():
                    assert inner.parent is not None
                    self.orders.setdefault(inner.parent, []).append(inner)

    def run(self) -> None:
        """Evaluates all functions, and puts what they become in their place."""
        bodies = {op: run(self._body(function)) for op, function in self.functions.items()}
        for op, body in bodies.items():
            old = op.detach_region(0)
            op.add_region(body)
            old.drop_all_references()
            settle_atoms(op)

    def _body(self, function: Function) -> Step[Region]:
        """The region that a function becomes, of whose arguments nothing is known."""
        source, scope = function.source, function.scope
        names = type_params(source)
        own = Scope(scope, {name: t for name, t in scope.types.items() if name not in names})
        params = source.body.block.args
        block = Block(arg_types=[replace_type_vars(param.type, own.types) for param in params])
        for new, old in zip(block.args, params, strict=True):
            new.name_hint = old.name_hint
        args = list(map(self.make, block.args))
        inner = Function(source, own)
        if isinstance(source, ClosureOp) and source.recursive:
            inner.itself, args = args[0], args[1:]
            inner.itself.static = inner
        self.store.enter()
        self.store.forget()
        results = yield self._expand(inner, args, block)
        self.store.leave()
        values = _dynamics(results)
        block.add_op(YieldOp(*values) if isinstance(source, ClosureOp) else func.ReturnOp(*values))
        return Region(block)

    def _expand(
        self,
        function: Function,
        args: Sequence[Partial],
        out: Block,
        types: Sequence[Attribute] | None = None,
    ) -> Step[list[Partial] | None]:
        """
        The results of a call, which have these types, written to `out`; None when the call stays. Without types the
        function itself is meant, not a call of it, and is always written.
        """
        source, scope = function.source, function.scope
        forced = types is None
        if not forced and self.left <= 0 or not self.circles.enter(source, args, forced=forced):
            return None
        if not self.fuel.enter(source, args, forced=forced):
            self.circles.leave(source)
            return None
        self.left -= 1
        params = source.params if isinstance(source, ClosureOp) else source.body.block.args
        if types is None:
            scope = Scope(scope, scope.types)
        else:
            given = [*(arg.dynamic.type for arg in args), *types]
            scope = Scope(scope, types_of_call(source, given, scope.types))
        if isinstance(source, ClosureOp) and source.recursive:
            assert function.itself is not None
            scope[source.block.args[0]] = function.itself
        for param, arg in zip(params, args, strict=True):
            scope[param] = arg
        results = yield self._block(source.body.block, scope, out)
        self.fuel.leave(source)
        self.circles.leave(source)
        return results

    def _block(self, block: Block, scope: Scope, out: Block) -> Step[list[Partial]]:
        """Evaluates a block, and returns the operands of its end."""
        for op in self.orders[block]:
            if op is block.last_op:
                break
            steps = self._visit(op, scope, out)
            if steps is not None:
                yield steps
        end = block.last_op
        assert end is not None
        return [scope[value] for value in end.operands]

    def _visit(self, op: Operation, scope: Scope, out: Block) -> Step[None] | None:
        """Notes what an operation gives; returns what is to be run for that."""
        match op:
            case LetOp():
                scope[op.result] = scope[op.value]
            case ClosureOp() if not keeps_function(op) and not belongs_to_backend(op):
                return self._closure(op, scope, out)
            case ApplyOp() | func.CallOp():
                return self._call(op, scope, out)
            case scf.IfOp():
                return self._if(op, scope, out)
            case MatchOp():
                return self._match(op, scope, out)
            case RefReadOp() | RefWriteOp() | RefCreateOp():
                self._cell(op, scope, out)
            case _ if isinstance(op, ATOMS):
                self._atom(op, scope, out)
            case RelayOp() | ConstructOp():
                self._operator(op, scope, out)
            case _:
                self._stays(op, scope, out)
        return None

    def _closure(self, op: ClosureOp, scope: Scope, out: Block) -> Step[None]:
        function = Function(op, scope)
        body = yield self._body(function)
        block = body.block
        recursive = bool(op.recursive) and bool(block.args[0].uses)
        if op.recursive and not recursive:
            block.erase_arg(block.args[0])
        new = ClosureOp(
            body,
            type_params=type_params(op),
            recursive=recursive,
            result_type=replace_type_vars(op.result.type, scope.types),
        )
        new.attributes.update(op.attributes)
        function.itself = self._named(op, new, out, function)
        scope[op.result] = function.itself

    def _call(self, op: ApplyOp | func.CallOp, scope: Scope, out: Block) -> Step[None]:
        if isinstance(op, ApplyOp):
            static, args = scope[op.function].static, [scope[arg] for arg in op.args]
        else:
            static, args = self._function(op, op.callee.string_value()), []
            args = [scope[arg] for arg in op.arguments]
        if isinstance(static, Constructor):
            type_ = replace_type_vars(op.results[0].type, scope.types)
            assert isinstance(type_, AdtType)
            new = ConstructOp(static.constructor, _dynamics(args), type_)
            fields = Fields(args, constructor_name(static.constructor))
            scope[op.results[0]] = self._named(op, new, out, fields)
            return
        results = None
        if isinstance(static, Function):
            types = [replace_type_vars(type_, scope.types) for type_ in op.result_types]
            results = yield self._expand(static, args, out, types)
        if results is None:
            self._stays(op, scope, out)
        else:
            for result, partial in zip(op.results, results, strict=True):
                scope[result] = partial

    def _if(self, op: scf.IfOp, scope: Scope, out: Block) -> Step[None]:
        condition = scope[op.cond]
        if isinstance(condition.static, np.ndarray):
            taken = op.true_region if condition.static.item() else op.false_region
            results: list[Partial] = []
            if taken.blocks:
                results = yield self._block(taken.block, scope, out)
            for result, partial in zip(op.results, results, strict=True):
                scope[result] = partial
            return
        regions = yield self._branches(op.regions, scf.YieldOp, scope)
        types = [replace_type_vars(type_, scope.types) for type_ in op.result_types]
        new = scf.IfOp(condition.dynamic, types, *regions)
        self._place(op, new, scope, out)

    def _match(self, op: MatchOp, scope: Scope, out: Block) -> Step[None]:
        data = scope[op.data]
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            matches, values = matched(pattern, data)
            if matches is None:
                break
            if matches:
                for arg, value in zip(region.block.args, values, strict=True):
                    scope[arg] = value
                (scope[op.result],) = yield self._block(region.block, scope, out)
                return
        regions = yield self._branches(op.clauses, YieldOp, scope)
        type_ = replace_type_vars(op.result.type, scope.types)
        new = MatchOp(data.dynamic, op.patterns.data, regions, type_, complete=bool(op.complete))
        self._place(op, new, scope, out)

    def _branches(
        self, regions: Iterable[Region], end: type[YieldOp | scf.YieldOp], scope: Scope
    ) -> Step[list[Region]]:
        """What regions of which one may run become; afterwards nothing is known of cells."""
        new: list[Region] = []
        for region in regions:
            blocks: list[Block] = []
            for old in region.blocks:
                block = Block(arg_types=[replace_type_vars(t, scope.types) for t in old.arg_types])
                for arg, made in zip(old.args, block.args, strict=True):
                    made.name_hint = arg.name_hint
                    scope[arg] = self.make(made)
                self.store.enter()
                results = yield self._block(old, scope, block)
                self.store.leave()
                block.add_op(end(*_dynamics(results)))
                blocks.append(block)
            new.append(Region(blocks))
        self.store.forget()
        return new

    def _cell(self, op: RefReadOp | RefWriteOp | RefCreateOp, scope: Scope, out: Block) -> None:
        static: Static | None = None
        if isinstance(op, RefCreateOp):
            static = Cell()
            self.store.write(static, scope[op.value])
        else:
            cell = scope[op.ref].static
            if isinstance(op, RefWriteOp):
                static = Fields(())
                if isinstance(cell, Cell):
                    self.store.write(cell, scope[op.value])
                else:
                    self.store.forget()
            elif isinstance(cell, Cell) and (held := self.store.read(cell)) is not None:
                scope[op.result] = held
                return
        scope[op.result] = self._named(op, self._copy(op, scope, out), out, static)

    def _atom(self, op: Operation, scope: Scope, out: Block) -> None:
        match op:
            case GlobalVarOp():
                static = self._function(op, op.function.string_value())
            case ConstructorOp():
                static = Constructor(op.constructor)
            case tensor.ExtractOp() if op.indices:
                static = None
            case _:
                static = scope[op.operands[0]].static
        new = self._copy(op, scope, out)
        out.add_op(new)
        scope[op.results[0]] = self.make(new.results[0], static)

    def _operator(self, op: RelayOp | ConstructOp, scope: Scope, out: Block) -> None:
        fields = [scope[operand] for operand in op.operands]
        result = op.results[0]
        static: Static | None = None
        match op:
            case TupleGetItemOp() if isinstance(known := fields[0].static, Fields):
                scope[result] = known.values[op.index.value.data]
                return
            case TupleOp():
                static = Fields(fields)
            case ConstructOp():
                static = Fields(fields, constructor_name(op.constructor))
            case ConstantOp():
                static = known_array(result)
            case RelayOp() if is_side_effect_free(op) and not isinstance(op, UNEVALUATED):
                found = self._computed(op, fields, scope, out)
                if found is not None:
                    scope[result] = found
                    return
            case _:
                if not is_side_effect_free(op):
                    self.store.forget()
        scope[result] = self._named(op, self._copy(op, scope, out), out, static)

    def _computed(
        self, op: RelayOp, fields: Sequence[Partial], scope: Scope, out: Block
    ) -> Partial | None:
        """What an operator gives for operands that are known, None when they are not."""
        values = [known_value(each) for each in fields]
        if any(value is None for value in values):
            return None
        new = self._copy(op, scope, out)
        assert isinstance(new, RelayOp)
        found = self.evaluator.result(new, values)
        new.drop_all_references()
        return None if found is None else self._constant(op, found, out)

    def _constant(self, op: Operation, value: Any, out: Block) -> Partial:
        """The names of a constant, or of a tuple of constants, that takes the place of an operation."""
        if not isinstance(value, tuple):
            return self._named(op, constant_op(value), out, value)
        parts = cast(tuple[Any, ...], value)
        fields = [self._constant(op, each, out) for each in parts]
        return self._named(op, TupleOp(_dynamics(fields)), out, Fields(fields))

    def _stays(self, op: Operation, scope: Scope, out: Block) -> None:
        """An operation of which nothing is known."""
        if not is_side_effect_free(op):
            self.store.forget()
        self._place(op, self._copy(op, scope, out), scope, out)

    def _place(self, op: Operation, new: Operation, scope: Scope, out: Block) -> None:
        """Writes what takes the place of an operation and gives nothing that is known."""
        if len(op.results) == 1:
            scope[op.results[0]] = self._named(op, new, out)
            return
        new.location = op.location
        lets = list(map(LetOp, new.results))
        out.add_ops([new, *lets])
        for old, let in zip(op.results, lets, strict=True):
            let.result.name_hint = old.name_hint
            scope[old] = self.make(let.result)

    def _named(
        self, op: Operation, new: Operation, out: Block, static: Static | None = None
    ) -> Partial:
        """Writes what takes the place of an operation with one result, and a name for that."""
        new.location = op.location
        let = LetOp(new.results[0])
        following = op.next_op
        known_as = following if isinstance(following, LetOp) else op
        let.result.name_hint = known_as.results[0].name_hint
        out.add_ops([new, let])
        self.left -= 1
        return self.make(let.result, static)

    def _copy(self, op: Operation, scope: Scope, out: Block) -> Operation:
        """An operation on what its operands have become."""
        values = dict.fromkeys((*op.operands, *values_from_outside(op)))
        mapping = {value: self._as_used(op, value, scope, out) for value in values}
        new = op.clone(mapping)
        if scope.types:
            retype(new, lambda type_: replace_type_vars(type_, scope.types))
        return new

    def _as_used(self, op: Operation, value: SSAValue, scope: Scope, out: Block) -> SSAValue:
        """A value of the new program, in the type that an operation which takes no other one states."""
        found, stated = scope[value].dynamic, replace_type_vars(value.type, scope.types)
        takes_any = isinstance(op, RelayOp | ConstructOp | tensor.ExtractOp)
        if takes_any or found.type == stated or not is_tensor_type(stated):
            return found
        cast_op = tensor.CastOp(found, stated)
        out.add_op(cast_op)
        return cast_op.dest

    def _function(self, user: Operation, name: str) -> Function | None:
        found = self.symbols.lookup(user, name)
        return self.functions.get(found) if isinstance(found, func.FuncOp) else None


def _dynamics(partials: Sequence[Partial]) -> list[SSAValue]:
    return [each.dynamic for each in partials]
