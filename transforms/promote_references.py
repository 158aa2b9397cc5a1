"""
`promote-references`: cells that one block makes and nobody else sees become the values that they hold.

    %r = relay.ref_create %x
    %0 = relay.ref_read %r
    %1 = relay.exp %0              ──►    %1 = relay.exp %x
    %u = relay.ref_write %r, %1           %3 = relay.add %x, %1
    %2 = relay.ref_read %r
    %3 = relay.add %0, %2

1. Values that are references, or tuples with some in them, form classes: what is stored in a cell, read from
   it, packed into a tuple or projected out of one belongs together.
2. A class stays as it is when another operation sees one of its values (a call, a terminator, an operation of
   another block, …) or makes one.
3. In all others every read is of a known cell with a known content. A walk in program order finds it.

Takes time in proportion to the operands. `to-graph-normal-form` and `inline{calls}` before it remove what
would see references otherwise. The bodies of `relay.fused` and `relay.composite` and functions for other compilers
stay as they are.

Source: LLVM's mem2reg, for one block. Relay keeps references until they run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.nesting import block_of
from xrelay.analysis.facts.scopes import UNFUSED_FUNCTIONS, has_flag, in_evaluation_order
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import tuple_type
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefType, RefWriteOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import inner_tuples_first
from xrelay.transforms.rules.operands import exchange_operands, insert_before

_HOLDS = "xrelay.holds_references"
"""What is kept with a tuple type, as tuples of shared tuples have very many parts."""


def holds_references(type_: Attribute) -> bool:
    """Whether values of a type are references or tuples with references in them."""
    for each in inner_tuples_first((type_,), lambda each: _HOLDS in vars(each)):
        vars(each)[_HOLDS] = any(map(_is_known_to_hold, each.types.data))
    return _is_known_to_hold(type_)


def _is_known_to_hold(type_: Attribute) -> bool:
    return vars(type_)[_HOLDS] if isinstance(type_, TupleType) else isinstance(type_, RefType)


def _is_followed(op: Operation) -> bool:
    """
    Whether references can be followed through an operation: it is about cells or tuples, and what goes in
    or comes out has the type that the cell or tuple states. It may know more dimensions.
    """
    match op:
        case RefCreateOp():
            return op.result.type == RefType(op.value.type)
        case RefReadOp():
            return op.ref.type == RefType(op.result.type)
        case RefWriteOp():
            return op.ref.type == RefType(op.value.type)
        case TupleOp():
            return op.result.type == tuple_type([value.type for value in op.fields])
        case TupleGetItemOp():
            return op.tuple_value.type.types.data[op.index.value.data] == op.results[0].type
        case _:
            return False


@dataclass
class _Classes:
    """The values with references in a function, by what belongs together."""

    parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    seen: set[SSAValue] = field(default_factory=set[SSAValue])
    """The values that others see or make."""

    @classmethod
    def of_function(cls, function: func.FuncOp) -> "_Classes":
        found = cls()
        for op in in_evaluation_order(function):
            values = [v for v in (*op.operands, *op.results) if holds_references(v.type)]
            is_followed = _is_followed(op)
            for value in values:
                is_local = block_of(value) is op.parent and not isinstance(value, BlockArgument)
                if not (is_followed and is_local):
                    found.seen.add(value)
            for value in values[1:]:
                if (one := found.root(value)) is not (other := found.root(values[0])):
                    found.parents[one] = other
        found.seen = {found.root(value) for value in found.seen}
        return found

    def root(self, value: SSAValue) -> SSAValue:
        """The value that stands for a class."""
        while (parent := self.parents.get(value)) is not None:
            above = self.parents.get(parent)
            if above is not None:
                self.parents[value] = above
            value = parent
        return value

    def is_local(self, op: Operation) -> bool:
        """Whether an operation is about references that nobody else sees."""
        values = (v for v in (*op.operands, *op.results) if holds_references(v.type))
        value = next(values, None)
        return value is not None and self.root(value) not in self.seen


def promote_references(function: func.FuncOp) -> None:
    """Replaces the local references of a function by values, in place."""
    classes = _Classes.of_function(function)
    contents: dict[SSAValue, SSAValue] = {}
    """What each cell holds."""
    known: dict[SSAValue, SSAValue] = {}
    """What reads and projections give."""
    removed: list[Operation] = []
    for op in list(in_evaluation_order(function)):
        if not classes.is_local(op):
            continue
        removed.append(op)
        match op:
            case RefCreateOp():
                contents[op.result] = known.get(op.value, op.value)
            case RefReadOp():
                known[op.result] = contents[known.get(op.ref, op.ref)]
            case RefWriteOp():
                contents[known.get(op.ref, op.ref)] = known.get(op.value, op.value)
                if op.result.uses:
                    known[op.result] = insert_before(op, TupleOp([]))
            case TupleGetItemOp():
                fields = known.get(op.tuple_value, op.tuple_value).owner
                assert isinstance(fields, TupleOp)
                value = fields.fields[op.index.value.data]
                known[op.result] = known.get(value, value)
            case _:
                pass  # A tuple, which its projections look into.
    for value, source in known.items():
        if source.name_hint is None:
            source.name_hint = value.name_hint
    exchange_operands(walk(function), known)
    for op in reversed(removed):
        Rewriter.erase_op(op)


def references(root: Operation) -> Iterator[Operation]:
    """The operations in another one that make, read and write cells."""
    for op in walk(root):
        if isinstance(op, RefCreateOp | RefReadOp | RefWriteOp):
            yield op


@dataclass(frozen=True)
class PromoteReferencesPass(RelayPass):
    """Replaces references by values."""

    name = "promote-references"

    def rewrite(self, op: ModuleOp) -> None:
        for function in walk(op):
            if isinstance(function, func.FuncOp) and not has_flag(function, UNFUSED_FUNCTIONS):
                promote_references(function)
