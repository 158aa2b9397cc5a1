"""
The types that loops carry: those that they start with, as long as rounds give the same.

    %y = scf.for … iter_args(%a = %x) -> (tensor<?xf32>) {        %x : tensor<4xf32>
      %b = relay.exp %a                                   ──►     it carries tensor<4xf32>
      scf.yield %b                                                (a concatenation of %a and %x: tensor<?xf32>)
    }

The types of the start are assumed, and what a round gives for these is joined with them, until they hold.
"""

import typing
from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.shapes import is_dynamic, is_tensor_type
from xrelay.dialects.type_relations import joined, refined, tells
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.tuples import fields_of

Loop: TypeAlias = scf.ForOp | scf.WhileOp
LOOPS = (scf.ForOp, scf.WhileOp)
MOST_ROUNDS = 4
"""How often types are joined: each time a dimension less is known."""
Refine: TypeAlias = Callable[[SSAValue, Attribute, Operation, str], None]
"""Gives a value a type that an operation tells, with casts for users that cannot take it."""


def precise(value: SSAValue) -> SSAValue:
    """What a value is before casts that make a secret of its dimensions."""
    while isinstance(value.owner, tensor.CastOp):
        source = value.owner.source
        if not tells(source.type, value.type):
            break
        value = source
    return value


def precise_type(value: SSAValue) -> Attribute:
    """The type of what a value is before such casts, also of fields of a tuple that is made here."""
    source = precise(value)
    if not isinstance(source.owner, TupleOp):
        return source.type
    fields = tuple(precise_type(field) for field in source.owner.fields)
    return TupleType(typing.cast(tuple[TypeAttribute, ...], fields))


def casted(value: SSAValue, type_: Attribute, emit: Emitter) -> SSAValue | None:
    """A value in a type that says more or less of its dimensions; None where the types are no tensors, and no tuples of these."""
    source = precise(value)
    if source.type == type_:
        return source
    if isinstance(type_, TupleType) and isinstance(source.type, TupleType):
        fields: list[SSAValue] = []
        for field, wanted in zip(fields_of(source, emit), type_.types.data, strict=True):
            made = casted(field, wanted, emit)
            if made is None:
                return None
            fields.append(made)
        return emit(TupleOp(fields))
    if not is_tensor_type(type_) or not is_tensor_type(source.type):
        return None
    return emit(tensor.CastOp(source, type_))


def carries_open(op: Loop) -> bool:
    """Whether a loop carries, or gives, something of unknown dimensions."""
    carried = (arg.type for block in _blocks(op) for arg in block.args)
    return any(map(is_dynamic, (*carried, *op.result_types)))


def start_types(op: Loop) -> list[Attribute]:
    """The most precise types of what a loop starts with."""
    return [precise_type(value) for value in _start(op)]


def precise_loop(
    op: Loop, types: Sequence[Attribute], infer: Callable[[Block], None], refine: Refine
) -> Loop | None:
    """
    Puts a loop that carries the most precise types in the place of one that starts with some; None where it states them
    itself. `infer` infers the types in a block.
    """
    stated = [arg.type for arg in _carried(op)]
    found = [refined(one, other) for one, other in zip(stated, types, strict=True)]
    for _ in range(MOST_ROUNDS):
        carried = [type_ for type_ in found if type_ is not None]
        if len(carried) < len(found):
            return None  # Verifying says so.
        if carried == stated and _tests_only(op):
            return None
        copy = op.clone()
        Rewriter.insert_op(copy, InsertPoint.before(op))
        given = _given(copy, carried, infer, refine)
        found = [joined(*pair) for pair in zip(carried, given, strict=True)] if given else []
        if found == carried and _knows_more(copy, op):
            _replace(op, copy, carried, refine)
            return copy
        Rewriter.erase_op(copy)
        if not given or found == carried:
            return None
    return None


def _start(op: Loop) -> Sequence[SSAValue]:
    return op.iter_args if isinstance(op, scf.ForOp) else op.arguments


def _blocks(op: Loop) -> list[Block]:
    """The blocks of a round, in the order in which it runs them."""
    return [region.block for region in op.regions]


def _carried(op: Loop) -> Sequence[SSAValue]:
    """What a round takes; of a counted loop, without its number."""
    args = op.regions[0].block.args
    return args[1:] if isinstance(op, scf.ForOp) else args


def _tests_only(op: Loop) -> bool:
    """Whether what decides about another round hands on what it is given."""
    test, *others = _blocks(op)
    return not others or tuple(_handed_on(test)) == test.args


def _handed_on(block: Block) -> Sequence[SSAValue]:
    """What a block of a round gives, without a condition."""
    end = block.last_op
    assert end is not None
    return end.operands[1:] if isinstance(end, scf.ConditionOp) else end.operands


def _given(
    op: Loop, types: Sequence[Attribute], infer: Callable[[Block], None], refine: Refine
) -> list[Attribute] | None:
    """The types that a round of a loop gives when it takes some; None where these contradict what the loop states."""
    try:
        for arg, type_ in zip(_carried(op), types, strict=True):
            refine(arg, type_, op, "the start gives")
        first, *others = _blocks(op)
        infer(first)
        for block in others:
            for arg, value in zip(block.args, _handed_on(first), strict=True):
                refine(arg, precise_type(value), op, "the condition gives")
            infer(block)
    except PassFailedException:
        return None  # What holds in the first round need not hold in others.
    return [precise_type(value) for value in _handed_on(_blocks(op)[-1])]


def _knows_more(copy: Loop, op: Loop) -> bool:
    """Whether the blocks of a copy state more precise types than those of a loop."""
    pairs = zip(_blocks(copy), _blocks(op), strict=True)
    return any(list(one.arg_types) != list(other.arg_types) for one, other in pairs)


def _replace(op: Loop, copy: Loop, carried: Sequence[Attribute], refine: Refine) -> None:
    """Takes a loop out of the program, in which the copy with more precise types stands already."""
    first, *others = _blocks(copy)
    tested = [list(block.arg_types) for block in others]
    for block, expected in zip((first, *others), (*tested, carried), strict=True):
        end = block.last_op
        assert end is not None
        _cast(end, end.operands[len(end.operands) - len(expected) :], expected)
    start = _start(copy)
    _cast(copy, start, carried)
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)
    for result, type_ in zip(copy.results, tested[0] if tested else carried, strict=True):
        refine(result, type_, copy, "the rounds give")


def _cast(user: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> None:
    """Gives an operation its last operands in some types."""
    first = len(user.operands) - len(types)
    for number, (value, type_) in enumerate(zip(operands, types, strict=True)):
        emit = Emitter()
        source = casted(value, type_, emit)
        assert source is not None, "what has no shape has one type"
        Rewriter.insert_op(emit.ops, InsertPoint.before(user))
        user.operands[first + number] = source
