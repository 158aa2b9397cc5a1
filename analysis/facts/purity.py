"""
Which operations nobody notices when they do not run, calls of functions and of function values included.

An operation is pure when it neither reads nor writes state (making some is no write); a function when a call of it does not. Purity of
function values is known from where they come from:

- a `relay.closure`, a function of the module, a constructor: by what their bodies hold;
- a name of one (`relay.let`), one of some branches, the result of a call: as good as what it is made of;
- parameters, and what comes out of tuples, cells and data types: never known to be pure.

Functions are taken to be pure until something in them is not, so that those which call themselves or each other
are pure when the rest of them is. They may not end: who drops a call of them drops that, too.

Source: Relay's DeadCodeElimination.
"""

from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, RecursiveMemoryEffect, only_has_effect

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import blocks_in, walk, within
from xrelay.dialects.core.adt import ConstructorOp, MatchOp
from xrelay.dialects.core.device import OnDeviceOp
from xrelay.dialects.core.functional import (
    ApplyOp,
    ClosureOp,
    FnType,
    ForallType,
    GlobalVarOp,
    InstantiateOp,
    LetOp,
)

NAMES_VALUE = (InstantiateOp, LetOp, OnDeviceOp)
"""Operations whose result is the function that their operand is."""


@dataclass
class Purity:
    """What is pure in a module, for as long as no operation is added."""

    module: ModuleOp
    impure: set[Operation] = field(default_factory=set[Operation])
    """The operations that are not pure."""
    impure_expressions: set[Operation] = field(default_factory=set[Operation])
    """The operations that are not pure or use results of such ones, up to names that `relay.let` gives."""
    impure_calls: set[Operation] = field(default_factory=set[Operation])
    """The functions and closures of which calls are not pure."""
    called: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    """The function values that operations give, and whether calls of them are pure."""
    symbols: Symbols = field(default_factory=Symbols)

    def __post_init__(self) -> None:
        graph = CallGraph.of_module(self.module)
        top = [graph.functions[name] for name in graph.callees_first()]
        top += [op for op in self.module.ops if not isinstance(op, func.FuncOp)]
        known = -1
        while known != len(self.impure_calls):
            known = len(self.impure_calls)
            for op in top:
                for each in walk(op, region_first=True):
                    self._visit(each)

    def is_pure(self, op: Operation) -> bool:
        """Whether nobody notices that `op` does not run, when its results are not used."""
        return op not in self.impure

    def is_pure_expression(self, value: SSAValue) -> bool:
        """Whether all of what a value is computed by, up to names that `relay.let` gives, is pure."""
        return isinstance(value, BlockArgument) or value.owner not in self.impure_expressions

    def _visit(self, op: Operation) -> None:
        """Notes what is known of an operation, when it is known of those before and within it."""
        if isinstance(op, func.FuncOp | ClosureOp):
            if not self._has_pure_body(op):
                self.impure_calls.add(op)
        elif not self._is_pure(op):
            self.impure.add(op)
        from_impure = op in self.impure or not all(map(self.is_pure_expression, op.operands))
        if from_impure and not isinstance(op, LetOp):
            self.impure_expressions.add(op)
        for result in op.results:
            if _is_function(result.type):
                self.called[result] = self._gives_pure_function(op)

    def _is_pure(self, op: Operation) -> bool:
        match op:
            case func.CallOp():
                return self._is_pure_function(op, op.callee.string_value())
            case ApplyOp():
                return self._is_pure_call(op.function)
            case _ if op.has_trait(RecursiveMemoryEffect):
                return not any(inner in self.impure for inner in within(op))
            case _:
                # That there is a cell, or storage, only those notice that use it.
                return op.has_trait(IsTerminator) or only_has_effect(op, MemoryEffectKind.ALLOC)

    def _has_pure_body(self, op: func.FuncOp | ClosureOp) -> bool:
        return bool(op.body.blocks) and all(
            inner not in self.impure
            and (not inner.has_trait(IsTerminator) or all(map(self._gives_pure, inner.operands)))
            for inner in within(op)
        )

    def _gives_pure(self, value: SSAValue) -> bool:
        """Whether calls of a value that leaves a region are pure, if it is a function."""
        return not _is_function(value.type) or self._is_pure_call(value)

    def _is_pure_function(self, user: Operation, name: str) -> bool:
        function = self.symbols.lookup(user, name)
        return isinstance(function, func.FuncOp) and function not in self.impure_calls

    def _is_pure_call(self, function: SSAValue) -> bool:
        """Whether a call of a function value is pure."""
        if not isinstance(function, BlockArgument):
            return self.called.get(function, False)
        closure = function.block.parent_op()
        itself = isinstance(closure, ClosureOp) and closure.recursive and function.index == 0
        return bool(itself) and closure not in self.impure_calls

    def _gives_pure_function(self, op: Operation) -> bool:
        """Whether calls of the function that an operation gives are pure."""
        match op:
            case ClosureOp():
                return op not in self.impure_calls
            case GlobalVarOp():
                return self._is_pure_function(op, op.function.string_value())
            case func.CallOp():
                return self._is_pure_function(op, op.callee.string_value())
            case ApplyOp():
                return self._is_pure_call(op.function)
            case ConstructorOp():
                return True
            case scf.IfOp() | MatchOp():
                ends = (block.last_op for block in blocks_in(op))
                return all(all(map(self._gives_pure, end.operands)) for end in ends if end)
            case _ if isinstance(op, NAMES_VALUE):
                return self._is_pure_call(op.operands[0])
            case _:
                return False


def _is_function(type_: Attribute) -> bool:
    return isinstance(type_, FnType | ForallType)
