"""
The expressions of a function as Relay has them, numbered, with the post-dominator of each.

Numbers are given in post-order: what an expression is made of comes before it, from left to right, what is called
before its arguments. Expressions are

- the results of operations, parameters, the variables of patterns; a `relay.let` is two, its variable after what
  it binds, and itself after all that follows in its block;
- function literals: those of `relay.closure`, the one that a `relay.fused` or `relay.composite` calls, and the function
  of the module itself, which is the last;
- operators, constructors and functions of the module, once each, where they are first called or used.

`relay.instantiate` and `tensor.extract` are their operand. What a function literal calls itself by is none, and neither
is what the result does not depend on.

The post-dominator of an expression is the first one after it that all ways from it to the function's end go through.

Source: Relay's IndexedGraph.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func, scf, tensor
from xdsl.ir import Block, Operation, OpResult, SSAValue

from xrelay.analysis.facts.ancestors import AncestorTree
from xrelay.analysis.facts.steps import Step, run
from xrelay.analysis.facts.walking import blocks_in
from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, MatchOp
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, GlobalVarOp, InstantiateOp, LetOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CalledBodyOp, ConstantOp, TupleGetItemOp, TupleOp

Key: TypeAlias = SSAValue | Operation | tuple[str, Operation | str]
"""
What an expression is known by: a value; the function of the module; ("let", operation), ("function", operation) for what an
operation is beside its value; ("name", …) for what is called.
"""


@dataclass
class IndexedGraph:
    """The expressions of a function."""

    numbers: dict[Key, int] = field(default_factory=dict[Key, int])
    users: list[list[int]] = field(default_factory=list[list[int]])
    """The expressions that each one is an immediate part of."""
    dominators: list[int | None] = field(default_factory=list[int | None])

    @classmethod
    def of_function(cls, function: func.FuncOp) -> "IndexedGraph":
        """The graph of a function with a body of one block."""
        found = cls()
        block = function.body.block
        for param in block.args:
            found._add(param, ())
        ends = run(found._block(block))
        found._add(function, ends)
        found._find_dominators()
        return found

    def span(self, key: Key) -> tuple[int, int] | None:
        """The number of an expression, and of its post-dominator, -1 without one; None for what is no expression."""
        number = self.numbers.get(key)
        if number is None:
            return None
        dominator = self.dominators[number]
        return number, -1 if dominator is None else dominator

    def _add(self, key: Key, parts: Iterable[int | None]) -> int:
        number = len(self.users)
        self.numbers[key] = number
        self.users.append([])
        for part in parts:
            if part is not None:
                self.users[part].append(number)
        return number

    def _name(self, name: Operation | str) -> int:
        """What is called: it is visited before what the call is made of besides."""
        key = "name", name
        return self.numbers[key] if key in self.numbers else self._add(key, ())

    def _block(self, block: Block) -> Step[list[int | None]]:
        """Visits what a block gives, after its `let`s. Returns the expressions that its end has."""
        lets = [op for op in block.ops if isinstance(op, LetOp)]
        for let in lets:
            value = yield self._value(let.value)
            self._add(let.result, (value,))
        end = block.last_op
        assert end is not None
        numbers: list[int | None] = yield self._values(end.operands)
        for let in reversed(lets):
            numbers = [self._add(("let", let), numbers)]
        return numbers

    def _value(self, value: SSAValue) -> Step[int | None]:
        """Visits the expression of a value, and returns its number; None for a function that calls itself by it."""
        while isinstance(value.owner, InstantiateOp | tensor.ExtractOp):
            value = value.owner.operands[0]
        if value not in self.numbers and isinstance(value, OpResult):
            op = value.op
            if isinstance(op, GlobalVarOp | ConstructorOp):
                number = self._name(_called_name(op))
            else:
                parts = yield self._parts(op)
                number = self._add(value, parts)
            self.numbers.update(dict.fromkeys(op.results, number))
        return self.numbers.get(value)

    def _values(self, values: Iterable[SSAValue]) -> Step[list[int | None]]:
        numbers: list[int | None] = []
        for value in values:
            numbers.append((yield self._value(value)))
        return numbers

    def _parts(self, op: Operation) -> Step[list[int | None]]:
        """Visits what an operation is made of, and returns its immediate parts."""
        match op:
            case ClosureOp():
                return (yield self._function(op, op.params))
            case CalledBodyOp():
                body = yield self._function(op, op.block.args)
                function = self._add(("function", op), body)
                args = yield self._values(op.args)
                return [function, *args]
            case scf.IfOp() | MatchOp():
                return (yield self._branches(op))
            case ApplyOp() | ConstantOp() | TupleOp() | TupleGetItemOp():
                called = []
            case RefCreateOp() | RefReadOp() | RefWriteOp():
                called = []
            case _:
                called = [self._name(_called_name(op))]
        operands = yield self._values(op.operands)
        return [*called, *operands]

    def _function(
        self, op: ClosureOp | CalledBodyOp, params: Sequence[SSAValue]
    ) -> Step[list[int | None]]:
        for param in params:
            self._add(param, ())
        return (yield self._block(op.block))

    def _branches(self, op: scf.IfOp | MatchOp) -> Step[list[int | None]]:
        (data,) = yield self._values(op.operands)
        parts = [data] if isinstance(op, scf.IfOp) else []
        for block in blocks_in(op):
            for variable in block.args:
                self._add(variable, (data,))
            parts += yield self._block(block)
        return parts

    def _find_dominators(self) -> None:
        """The dominator of an expression is the lowest common ancestor of its users, in the tree of dominators."""
        tree = AncestorTree(len(self.users))
        self.dominators = [None] * len(self.users)
        for number in reversed(range(len(self.users))):
            users = self.users[number]
            parent = users[0] if users else tree.root
            for user in users[1:]:
                parent, _ = tree.common_ancestor(parent, user)
            tree.add(number, parent, 0)
            self.dominators[number] = None if parent == tree.root else parent


def _called_name(op: Operation) -> str:
    """What names that which an operation is a call of, or a use."""
    match op:
        case func.CallOp():
            return f"@{op.callee.string_value()}"
        case GlobalVarOp():
            return f"@{op.function.string_value()}"
        case ConstructOp() | ConstructorOp():
            return str(op.constructor)
        case _:
            return op.name
