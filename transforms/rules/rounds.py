"""
Loops whose rounds have sizes that depend on data: a round is a program, and a model around it runs it as often as it says.

    %y = scf.while (%n = %m, %a = %x) {              round:  %n, %a
      %c = … %n                                        %d = … %n, %b = … %a
      scf.condition(%c) %n, %a                ──►      %e = … %d        the condition of the next round
    } do {                                             return %e, %d, %b
      %d = … %n
      %b = … %a                                      before the first one:  %c = … %m
      scf.yield %d, %b
    }

`rotated` brings a loop into the form in which its condition is computed with what the round before gives, and carries tensors alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    TupleType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.dialects.core.functional import values_from_outside
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import constant_value
from xrelay.runtime.staged import Carried, Loop
from xrelay.transforms.rules.evaluating import known_scalar
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.tuples import fields_of, take_fields


def rotated(op: scf.WhileOp | scf.ForOp) -> scf.WhileOp | None:
    """
    A loop in the place of one, that carries the condition of the next round and tensors: numbers are tensors of one element, and
    tuples their tensors. None where it carries something else. Types in front of it wait to be inferred.
    """
    if isinstance(op, scf.WhileOp) and _is_rotated(op):
        return op
    counted = isinstance(op, scf.ForOp)
    loop = _while_of(op) if counted else op
    test, round_ = loop.before_region.block, loop.after_region.block
    if not all(map(_is_carried, round_.arg_types)):
        if counted:
            loop.erase()
        return None
    first = Emitter()
    condition, begin = _tested(test, [uncast(value) for value in loop.operands], first)
    going = _handed(condition, first)
    types = [each for type_ in round_.arg_types for each in _carried_types(type_)]
    given = _packed(begin, types, first)
    after, emit = Block(arg_types=types), Emitter()
    tensors: Iterator[SSAValue] = iter(after.args)
    values: dict[SSAValue, SSAValue] = {
        arg: _unpacked(arg.type, tensors, emit) for arg in round_.args
    }
    *body, end = round_.ops
    emit.ops += [each.clone(values) for each in body]
    again, following = _tested(test, [values.get(v, v) for v in end.operands], emit)
    yielded = _packed(following, types, emit)
    after.add_ops(emit.ops)
    after.add_op(scf.YieldOp(again, *yielded))
    before = Block(arg_types=[i1, *types])
    before.add_op(scf.ConditionOp(*before.args))
    made = scf.WhileOp([going, *given], types, Region(before), Region(after))
    made.location = op.location
    results = Emitter()
    tensors = iter(made.results)
    new = [_unpacked(result.type, tensors, results) for result in loop.results][counted:]
    Rewriter.insert_op([*first.ops, made, *results.ops], InsertPoint.before(op))
    for old, value in zip(op.results, new, strict=True):
        value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    Rewriter.erase_op(op)
    if counted:
        loop.erase()
    for each in reversed((*emit.ops, *results.ops)):  # Tuples before those that are their fields.
        if isinstance(each, TupleOp):
            take_fields(each)
    return made


def _is_rotated(op: scf.WhileOp) -> bool:
    """Whether a loop has the form that `rotated` gives."""
    test = op.before_region.block
    end = test.last_op
    assert end is not None
    return (
        end is test.first_op
        and tuple(end.operands) == tuple(test.args)
        and (_is_constant(op.operands[0]) or tensor_of(op.operands[0]) is not None)
        and all(map(is_tensor_type, op.result_types))
    )


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.ConstantOp)


def _while_of(op: scf.ForOp) -> scf.WhileOp:
    """A counted loop as one with a condition, whose first result is the number. It stands nowhere."""
    block = op.body.block
    types = [op.lb.type, *(value.type for value in op.iter_args)]
    test, round_ = Block(arg_types=types), Block(arg_types=types)
    goes = arith.CmpiOp(test.args[0], op.ub, "slt")
    test.add_ops([goes, scf.ConditionOp(goes.result, *test.args)])
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, round_.args, strict=True))
    *body, end = block.ops
    for each in body:
        round_.add_op(each.clone(values))
    following = arith.AddiOp(round_.args[0], op.step)
    round_.add_op(following)
    round_.add_op(scf.YieldOp(following.result, *(values.get(v, v) for v in end.operands)))
    return scf.WhileOp([op.lb, *op.iter_args], types, Region(test), Region(round_))


def _is_carried(type_: Attribute) -> bool:
    """Whether a loop may carry values of a type."""
    if isinstance(type_, TupleType):
        return all(map(_is_carried, type_.types.data))
    return is_tensor_type(type_) or isinstance(type_, IntegerType | IndexType)


def _tested(
    test: Block, given: Sequence[SSAValue], emit: Emitter
) -> tuple[SSAValue, list[SSAValue]]:
    """The condition of a round, and what it takes, for some values that a loop carries."""
    values: dict[SSAValue, SSAValue] = dict(zip(test.args, given, strict=True))
    *body, end = test.ops
    emit.ops += [each.clone(values) for each in body]
    condition, *taken = (values.get(value, value) for value in end.operands)
    return condition, taken


def _handed(condition: SSAValue, emit: Emitter) -> SSAValue:
    """A condition as a constant, or as the element of a tensor, which one program can hand to another."""
    known = known_scalar(condition)
    if known is None:
        return handed_over(condition, emit)
    return emit(arith.ConstantOp(IntegerAttr(int(bool(known)), i1)))


def _carried_types(type_: Attribute) -> list[Attribute]:
    """The types of the tensors that a value of a type is carried as."""
    if isinstance(type_, TupleType):
        return [each for field in type_.types.data for each in _carried_types(field)]
    if is_tensor_type(type_):
        return [type_]
    return [TensorType(i64 if isinstance(type_, IndexType) else type_, [])]


def _packed(
    values: Sequence[SSAValue], types: Sequence[Attribute], emit: Emitter
) -> list[SSAValue]:
    """The tensors, of some types, that values are carried as; what is known of others than these state is left to shapes."""
    found: list[SSAValue] = []
    tensors = (each for value in values for each in _tensors(value, emit))
    for value, type_ in zip(tensors, types, strict=True):
        if value.type != type_:
            assert is_tensor_type(type_)
            value = emit(tensor.CastOp(value, type_))
        found.append(value)
    return found


def _tensors(value: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The tensors that a value is carried as."""
    if isinstance(value.type, TupleType):
        return [each for part in fields_of(value, emit) for each in _tensors(part, emit)]
    if is_tensor_type(value.type):
        return [value]
    if isinstance(value.type, IndexType):
        value = emit(arith.IndexCastOp(value, i64))
    return [emit(tensor.FromElementsOp(value, result_type=TensorType(value.type, [])))]


def _unpacked(type_: Attribute, tensors: Iterator[SSAValue], emit: Emitter) -> SSAValue:
    """The value of a type that the next tensors are."""
    if isinstance(type_, TupleType):
        return emit(TupleOp([_unpacked(each, tensors, emit) for each in type_.types.data]))
    value = next(tensors)
    if is_tensor_type(type_):
        return value
    if not isinstance(type_, IndexType):
        return emit(tensor.ExtractOp(value, [], type_))
    return emit(arith.IndexCastOp(emit(tensor.ExtractOp(value, [], i64)), type_))


@dataclass(frozen=True)
class Round:
    """A round of a rotated loop that takes parameters of its function and constants alone."""

    loop: Loop
    block: Block
    """What a round does, with parameters for what it takes."""
    inputs: tuple[str, ...]
    """Their names, and those of `results`."""
    results: Mapping[str, SSAValue]
    operands: tuple[str, ...]
    """The parameters of the function that the loop and its rounds take."""
    constants: Mapping[str, Array]


def round_of(
    op: scf.WhileOp,
    names: Mapping[BlockArgument, str],
    results: Sequence[str],
    new_name: Callable[[str], str],
    shared: type[Operation] | tuple[type[Operation], ...],
) -> Round | None:
    """
    A round of a rotated loop, with the `names` of the parameters around it, and those of the `results` of the loop; None where it
    takes what is computed otherwise than by operations of kinds that are `shared`, which rounds have of their own.
    """
    going, *given = op.operands
    constants: dict[str, Array] = {}

    def named(known: Array) -> str:
        """What a new constant is called."""
        name = new_name("constant")
        constants[name] = known
        return name

    def given_name(value: SSAValue) -> str | None:
        """What a value is called around the loop."""
        root = uncast(value)
        if isinstance(root, BlockArgument):
            return names.get(root)
        known = constant_value(root)
        return None if known is None else named(known)

    goes, kept = known_scalar(going), tensor_of(going)
    if goes is not None:
        condition = named(np.array(bool(goes)))
    else:
        condition = None if kept is None else given_name(kept)
    begin = [given_name(value) for value in given]
    captured = values_from_outside(op)
    if condition is None or None in begin or not all(is_ready(v, shared) for v in captured):
        return None
    after = op.after_region.block
    ops, taken = _origins(captured)
    block = Block(arg_types=[*after.arg_types, *(value.type for value in taken)])
    count = len(after.args)
    values: dict[SSAValue, SSAValue] = dict(zip((*after.args, *taken), block.args, strict=True))
    for each in (*ops, *list(after.ops)[:-1]):
        block.add_op(each.clone(values))
    end = after.last_op
    assert end is not None
    again, *following = (values.get(value, value) for value in end.operands)
    block.add_op(held := tensor.FromElementsOp(again, result_type=TensorType(i1, [])))
    before = [new_name("carried") for _ in range(count)]
    next_ = [new_name("next") for _ in range(count)]
    goes_on = new_name("goes")
    carried = tuple(
        Carried(name, *each)
        for name, *each in zip(map(str, begin), before, next_, results, strict=True)
    )
    around = [condition, *map(str, begin), *(names[value] for value in taken)]
    return Round(
        Loop("", condition, "", "", goes_on, carried, (), ()),
        block,
        (*before, *(names[value] for value in taken)),
        {goes_on: held.result, **dict(zip(next_, following, strict=True))},
        tuple(name for name in dict.fromkeys(around) if name not in constants),
        constants,
    )


def packed_number(value: SSAValue, emit: Emitter) -> SSAValue:
    """An integer as it is read from a tensor of one element, which it is put into."""
    return _unpacked(value.type, iter(_tensors(value, emit)), emit)


def tensor_of(condition: SSAValue) -> SSAValue | None:
    """The tensor whose only element a condition is, if it is one."""
    owner = condition.owner
    if isinstance(owner, tensor.ExtractOp) and not owner.indices:
        return owner.tensor
    return None


def handed_over(condition: SSAValue, emit: Emitter) -> SSAValue:
    """A condition that is read from a tensor, which one program can hand to another."""
    kept = emit(tensor.FromElementsOp(condition, result_type=TensorType(i1, [])))
    return emit(tensor.ExtractOp(kept, [], i1))


def uncast(value: SSAValue) -> SSAValue:
    """What a value is that casts give a type of which dimensions are unknown."""
    while isinstance(value.owner, tensor.CastOp):
        value = value.owner.source
    return value


def is_ready(value: SSAValue, shared: type[Operation] | tuple[type[Operation], ...]) -> bool:
    """Whether operations of some kinds make a value of parameters of the function."""
    seen, stack = set[SSAValue](), [value]
    while stack:
        each = stack.pop()
        if isinstance(each.owner, Operation) and each not in seen:
            if not isinstance(each.owner, shared):
                return False
            seen.add(each)
            stack += each.owner.operands
    return True


def _origins(values: Sequence[SSAValue]) -> tuple[list[Operation], list[BlockArgument]]:
    """The operations that make values, each behind its operands, and the parameters that they take."""
    ops: dict[Operation, None] = {}
    taken: dict[BlockArgument, None] = {}
    stack = [(value, False) for value in values]
    while stack:
        value, is_done = stack.pop()
        if isinstance(value, BlockArgument):
            taken[value] = None
            continue
        assert isinstance(value, OpResult)
        if is_done:
            ops[value.op] = None
        elif value.op not in ops:
            stack.append((value, True))
            stack += [(operand, False) for operand in value.op.operands]
    return list(ops), list(taken)
