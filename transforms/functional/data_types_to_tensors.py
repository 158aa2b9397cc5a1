"""
`data-types-to-tensors`: values of data types become tensors, and `relay.match` branches.

    %l = relay.construct @List::@Nil()                     %l = relay.tuple [0, 0], zeros(2x2)         // rows: Nil is 0, a blank one
    %m = relay.construct @List::@Cons(%x, %l)              %a = relay.concatenate [1], %l.0             // Cons is 1
    %y = relay.match %m [@Cons(%h, %t), @Nil()] {          %b = relay.concatenate expand_dims(%x), %l.1
    ^bb0(%h, %t):                                   ──►    %c = relay.less take(%a, 0), 1              // Nil
      … %h … %t …                                          %y = scf.if %c {
    } {                                                      …
      …                                                    } else {
    }                                                        … take(%b, 0) … strided_slice(%b, 1 to the end) …
                                                           }

- A type that does not hold itself becomes the number of the constructor and the fields of all constructors, of which those that
  a value lacks are 0. Lists, trees and the like are rows, a row for each constructor of the value: buffers that grow
  (`transforms/rules/functional/data_layouts.py`).
- Function values are data before that (`defunctionalization`), and functions with type parameters copies for their types. Functions that call
  themselves and go on hand over what follows (`to-tail-calls`), which is data as well: rows that are a stack; what is left is a loop
  (`merge-tail-calls`).
- Patterns are compared in order. A `relay.match` without a clause for a value ends in `relay.fail`.

Only what the entries need is rewritten, and the rest is removed. Refused: entries that take or give data, data with tensors of unknown dimensions
in rows, and what defunctionalization refuses.

Source: this project. Rows are the pre-order of a tree in an array (D. Knuth, The Art of Computer Programming, 2.3.3); Relay leaves data to its
virtual machine, as objects on the heap.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.exhaustiveness import unmatched_value
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import (
    ConstructOp,
    ConstructorPatternAttr,
    MatchOp,
    TuplePatternAttr,
    TypeDefOp,
    VarPatternAttr,
    constructor_name,
)
from xrelay.dialects.core.functional import AdtType, types_inside
from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.binary import EqualOp, LogicalAndOp
from xrelay.transforms.functional.defunctionalization import DefunctionalizationPass
from xrelay.transforms.functional.merge_tail_calls import MergeTailCallsPass
from xrelay.transforms.functional.to_tail_calls import ToTailCallsPass
from xrelay.transforms.remove_unused_functions import RemoveUnusedFunctionsPass
from xrelay.transforms.rules.functional.bodies import taken_out
from xrelay.transforms.rules.functional.choosing import Case, chosen
from xrelay.transforms.rules.functional.data_layouts import DataLayouts
from xrelay.transforms.rules.functional.data_values import Parts, constructed, kind_of
from xrelay.transforms.rules.functional.specializing import retype
from xrelay.transforms.rules.placeholders import failure
from xrelay.transforms.rules.rewriting import Emitter

Part: TypeAlias = tuple[Attribute, Attribute, Callable[[], SSAValue]]
"""A pattern, and of the part of a value that it is for the type and what takes it out of the value."""


@dataclass(frozen=True)
class DataTypesToTensorsPass(RelayPass):
    """Puts tensors in the place of data."""

    name = "data-types-to-tensors"

    entry_functions: tuple[str, ...] = ("main",)
    """The functions that are called from outside."""

    def rewrite(self, op: ModuleOp) -> None:
        # Functions that are handed over are data, too.
        self._defunctionalize(op)
        ToTailCallsPass(self.entry_functions).rewrite(op)
        self._defunctionalize(op)
        functions = CallGraph.of_module(op).functions
        for name in self.entry_functions:
            _require_tensors(functions[name])
        definitions = {each.sym_name.data: each for each in op.ops if isinstance(each, TypeDefOp)}
        DataToTensors(op, definitions).run()
        for each in definitions.values():
            Rewriter.erase_op(each)
        MergeTailCallsPass(self.entry_functions).rewrite(op)

    def _defunctionalize(self, op: ModuleOp) -> None:
        DefunctionalizationPass(self.entry_functions).rewrite(op)
        RemoveUnusedFunctionsPass(self.entry_functions).rewrite(op)


def _require_tensors(entry: func.FuncOp) -> None:
    for type_ in types_inside((*entry.function_type.inputs, *entry.function_type.outputs)):
        if isinstance(type_, AdtType):
            raise PassFailedException(
                f"entry @{entry.sym_name.data} takes or gives {type_}, expected tensors"
            )


def _types(module: ModuleOp) -> Iterator[Attribute]:
    """The types of all values."""
    for op in walk(module):
        yield from op.result_types
        for block in blocks_in(op):
            yield from block.arg_types


class DataToTensors:
    """The rewrite of functions without type parameters and function values."""

    def __init__(self, module: ModuleOp, definitions: dict[str, TypeDefOp]):
        self.module = module
        _drop_unreachable(module, definitions)
        self.layouts = DataLayouts(definitions, _types(module))
        symbols = Symbols()
        self.data: dict[Operation, Attribute] = {}
        """The types of what is made and looked into."""
        self.unmatched: dict[Operation, str | None] = {}
        """Values that a match has no clause for."""
        for op in walk(module):
            if isinstance(op, ConstructOp):
                self.data[op] = op.result.type
            elif isinstance(op, MatchOp):
                self.data[op] = op.data.type
                self.unmatched[op] = unmatched_value(op, symbols)

    def run(self) -> None:
        """Rewrites everything."""
        retype(self.module, self.layouts.convert)
        for op, type_ in self.data.items():
            emit = Emitter()
            if isinstance(op, ConstructOp):
                assert isinstance(type_, AdtType)
                made = self.layouts.constructor(type_, constructor_name(op.constructor))
                new = constructed(self.layouts.layouts[type_], made, op.fields, emit)
            else:
                assert isinstance(op, MatchOp)
                new = self._matched(op, type_, emit)
            if new.name_hint is None:
                new.name_hint = op.results[0].name_hint
            Rewriter.insert_op(emit.located(op), InsertPoint.before(op))
            op.results[0].replace_all_uses_with(new)
            Rewriter.erase_op(op)

    # -- values that are looked into --------------------------------------------------------------

    def _matched(self, op: MatchOp, type_: Attribute, emit: Emitter) -> SSAValue:
        """What the first clause gives that a value has a pattern of."""
        result, end = op.result.type, self.unmatched[op]
        if isinstance(type_, AdtType) and len(names := _constructors(op)) == len(op.patterns):
            return self._chosen(op, type_, names, emit)
        rest = Emitter()
        given: SSAValue | None = None
        if end is not None:
            given = failure(_no_clause(end), result, rest)
        for pattern, region in reversed(list(zip(op.patterns.data, op.clauses, strict=True))):
            part = pattern, type_, lambda: op.data
            clause, here = Emitter(), Emitter()
            value = self._clause(part, region.block, clause)
            test = self._test(part, here)
            if test is None or given is None:
                # All values that come so far have the pattern.
                for each in reversed(here.ops):
                    each.drop_all_references()
                rest, given = clause, value
            else:
                given = here(_branches(test, clause, value, rest, given, here))
                rest = here
        assert given is not None
        emit.ops += rest.ops
        return given

    def _chosen(self, op: MatchOp, type_: AdtType, names: Sequence[str], emit: Emitter) -> SSAValue:
        """What the clause gives that there is for the constructor of a value, where each has one of its own."""
        cases: list[Case] = []
        for name, pattern, region in zip(names, op.patterns, op.clauses, strict=True):
            clause = Emitter()
            value = self._clause((pattern, type_, lambda: op.data), region.block, clause)
            kind = self.layouts.constructor(type_, name).kind
            cases.append(Case(kind, clause.ops, [value]))
        for name in self.layouts.fields[type_]:
            if name not in names:
                nothing = Emitter()
                value = failure(_no_clause(name), op.result.type, nothing)
                kind = self.layouts.constructor(type_, name).kind
                cases.append(Case(kind, nothing.ops, [value]))
        (given,) = chosen(
            kind_of(op.data, self.layouts.layouts[type_], emit), cases, [op.result.type], emit
        )
        return given

    def _clause(self, part: Part, block: Block, emit: Emitter) -> SSAValue:
        """What a clause gives: its operations, for the parts of a value that the pattern names."""
        arguments = iter(list(block.args))
        pending = [part]
        while pending:
            part = pending.pop()
            if isinstance(part[0], VarPatternAttr):
                argument = next(arguments)
                if argument.uses:
                    argument.replace_all_uses_with(part[2]())
            else:
                pending += self._inner(part, emit)[::-1]
        ops, (given,) = taken_out(block)
        emit.ops += ops
        return given

    def _inner(self, part: Part, emit: Emitter) -> list[Part]:
        """What a pattern says of the parts of a value."""
        pattern, type_, value = part
        match pattern:
            case TuplePatternAttr():
                assert isinstance(type_, TupleType)
                parts = [partial(_field, value, i, emit) for i in range(len(pattern.fields))]
                return list(zip(pattern.fields, type_.types, parts, strict=True))
            case ConstructorPatternAttr():
                assert isinstance(type_, AdtType)
                name = constructor_name(pattern.constructor)
                made = self.layouts.constructor(type_, name)
                take = Parts(value, self.layouts.layouts[type_], made, emit)
                parts = [partial(take, place) for place in made.places]
                fields = self.layouts.fields[type_][name]
                return list(zip(pattern.fields, fields, parts, strict=True))
            case _:
                return []

    def _test(self, part: Part, emit: Emitter) -> SSAValue | None:
        """Whether a value has a pattern: a bool tensor; None where all have it."""
        pattern, type_, value = part
        if (
            not isinstance(pattern, ConstructorPatternAttr)
            or not isinstance(type_, AdtType)
            or len(self.layouts.fields[type_]) == 1
        ):
            return self._all(self._inner(part, emit), emit)
        made = self.layouts.constructor(type_, constructor_name(pattern.constructor))
        kind = kind_of(value(), self.layouts.layouts[type_], emit)
        own = emit(EqualOp(kind, emit.constant(np.array(made.kind, np.int32))))
        inside, otherwise = Emitter(), Emitter()
        inner = self._all(self._inner(part, inside), inside)
        if inner is None:
            return own
        # Values of other constructors have no such parts.
        no = otherwise.constant(np.array(False))
        return emit(_branches(own, inside, inner, otherwise, no, emit))

    def _all(self, parts: Sequence[Part], emit: Emitter) -> SSAValue | None:
        """Whether values have all of some patterns."""
        result: SSAValue | None = None
        for part in parts:
            test = self._test(part, emit)
            if test is not None:
                result = test if result is None else emit(LogicalAndOp(result, test))
        return result


def _drop_unreachable(module: ModuleOp, definitions: dict[str, TypeDefOp]) -> None:
    """
    Removes clauses behind one that has a pattern for all values.

    Raises PassFailedException for a match without clauses.
    """

    def has_all(pattern: Attribute) -> bool:
        match pattern:
            case TuplePatternAttr():
                return all(map(has_all, pattern.fields))
            case ConstructorPatternAttr():
                definition = definitions[pattern.constructor.root_reference.data]
                return len(definition.by_name) == 1 and all(map(has_all, pattern.fields))
            case _:
                return True

    # Those within others first: what is removed has been looked at.
    for op in list(walk(module, region_first=True)):
        if not isinstance(op, MatchOp):
            continue
        if not op.patterns.data:
            raise PassFailedException(f"{operation_text(op)} has no clauses")
        patterns = op.patterns.data
        count = next((i for i, each in enumerate(patterns, 1) if has_all(each)), len(patterns))
        op.patterns = ArrayAttr(patterns[:count])
        for region in op.clauses[count:]:
            op.detach_region(region).erase()


def _constructors(op: MatchOp) -> list[str]:
    """The constructors that a match tells apart, as long as it looks at nothing else."""
    names: dict[str, None] = {}
    for pattern in op.patterns:
        if not isinstance(pattern, ConstructorPatternAttr) or any(
            isinstance(each, ConstructorPatternAttr | TuplePatternAttr) for each in pattern.fields
        ):
            break
        names[constructor_name(pattern.constructor)] = None
    return list(names)


def _no_clause(value: str) -> str:
    return f"no clause of a relay.match has a pattern for {value}"


def _field(value: Callable[[], SSAValue], number: int, emit: Emitter) -> SSAValue:
    return emit(TupleGetItemOp(value(), number))


def _branches(
    test: SSAValue,
    then: Emitter,
    given: SSAValue,
    otherwise: Emitter,
    other: SSAValue,
    emit: Emitter,
) -> scf.IfOp:
    """One of two values, by a bool tensor; each is made by operations of its own."""
    assert is_tensor_type(test.type)
    condition = emit(tensor.ExtractOp(test, [], test.type.element_type))
    first, second = (
        Region(Block([*each.ops, scf.YieldOp(value)]))
        for each, value in ((then, given), (otherwise, other))
    )
    return scf.IfOp(condition, [given.type], first, second)
