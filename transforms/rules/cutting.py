"""
Cuts a program behind the operators whose results have sizes that depend on data.

    %r = relay.nn.relu %x                         first:   %r, relay.bounded_argwhere %r
    %p = relay.argwhere %r          ──►                      │ the rows that there are
    %y = relay.gather_nd … %r, %p                 second:  %y of %r and %p, of any number of rows

`relay.argwhere` and `relay.sparse_fill_empty_rows` have forms with a bound, which end the first program. An operator of which an operand decides
about the shape (`relay.dyn.*`, `relay.arange`) begins the second one, where that operand is an input, unless it depends on
constants and on shapes alone. Of the rest the first computes what depends on none of these, the second what does.

A `scf.if` whose branches have such operators, or give tensors of different shapes, is one of which the condition decides: once it is known, the
branch that is taken is what the program does. A loop whose rounds have such operators, or carry tensors of sizes that only these find out, is a program of
its own, which runs round by round (`rounds.py`); so are functions that call themselves last, which `recursion-to-loops` makes loops of.

Leaves alone: programs without such operators, those with some in functions that call themselves and go on, and those
that write to references which `promote-references` leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, i32, i64
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.call_graph import CallGraph, symbols_used
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.core.adt import ConstructOp, MatchOp
from xrelay.dialects.core.functional import values_from_outside
from xrelay.dialects.core.references import RefWriteOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.shapes import HasNoCode, is_dynamic, tensor_type
from xrelay.dialects.sparse.coordinates import SparseFillEmptyRowsOp
from xrelay.dialects.tensor.binary import EqualOp, LessOp
from xrelay.dialects.tensor.creation import ArangeOp, OnesLikeOp
from xrelay.dialects.tensor.indexing import ScatterAddOp, TakeOp
from xrelay.dialects.tensor.like import NdarraySizeOp, ShapeOfOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.sort import ArgsortOp, ArgwhereOp, BoundedArgwhereOp
from xrelay.dialects.tensor.transform import BroadcastToOp, ConcatenateOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.functional.expand_functions import ExpandFunctionsPass
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.promote_references import PromoteReferencesPass
from xrelay.transforms.rules.copying import copied
from xrelay.transforms.rules.evaluating import known_scalar
from xrelay.transforms.rules.loop_types import LOOPS, carries_open
from xrelay.transforms.rules.parameters import take_tuples_apart
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.rounds import handed_over, is_ready, rotated, tensor_of

SHARED = (
    *(ConstantOp, TupleOp),
    *(tensor.CastOp, tensor.ExtractOp),
    *(arith.ConstantOp, arith.IndexCastOp),
)
"""What is no tensor, or takes nothing to compute: where both sides of a cut use some, both have it."""


@irdl_op_definition
class PartOp(IRDLOperation):
    """The first `count` rows of a tensor, on the border between both programs."""

    name = "xrelay.part"

    rows = operand_def(TensorType)
    count = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, rows: SSAValue, count: SSAValue):
        type_ = tensor_type(rows, "rows")
        shape = [DYNAMIC_INDEX, *type_.get_shape()[1:]]
        super().__init__(
            operands=[rows, count], result_types=[TensorType(type_.element_type, shape)]
        )


@dataclass
class Cut:
    """Where a function is cut."""

    function: func.FuncOp
    behind: list[Operation] = field(default_factory=list[Operation])
    """What the second function computes."""
    bounded: list[PartOp] = field(default_factory=list[PartOp])
    """The parts of tensors with a bound, which the first computes."""
    late: set[SSAValue] = field(default_factory=set[SSAValue])
    """What these compute."""
    values: dict[BlockArgument, None] = field(default_factory=dict[BlockArgument, None])
    """The parameters whose elements decide about shapes."""
    computes: bool = False
    """Whether something that is computed decides about shapes."""
    loop: scf.WhileOp | None = None
    """A loop that runs round by round, and takes parameters and constants alone."""
    deciding: set[Operation] = field(default_factory=set[Operation])
    """The branches and loops that have sizes which depend on data."""
    steady: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that are known to depend on constants and shapes alone."""

    def put_behind(self, op: Operation) -> None:
        """Has the second function compute an operation."""
        self.behind.append(op)
        self.late.update(op.results)


def find_cut(module: ModuleOp, *, all_shapes: bool = False, is_stage: bool = False) -> Cut | None:
    """
    Where a program is cut, of which calls are expanded; None where nothing depends on data. What inputs leave open waits for
    their shapes, unless it is known to depend on data, and the program is cut for `all_shapes`. A program that `is_stage`
    comes from a cut, and no more is known of it: there is nothing to expand or to find out.
    """
    if not any(map(_may_depend, walk(module))):
        return None
    module = copied(module)
    take_tuples_apart(entry_function(module))  # Where others call it, it keeps them.
    if not is_stage:
        for each in (
            ToGraphNormalFormPass(),
            ExpandFunctionsPass(),
            DynamicToStaticPass(),
            PromoteReferencesPass(),
        ):
            each.rewrite(module)
    function = entry_function(module)
    graph, name = CallGraph.of_module(module), function.sym_name.data
    called = [graph.functions[each] for each in graph.reachable(symbols_used(function))]
    if any(isinstance(op, RefWriteOp) for each in (function, *called) for op in walk(each)):
        return None  # What is written on one side may be read on the other.
    if len(function.body.blocks) != 1 or name in graph.reachable(graph.uses[name]):
        return None
    is_open = not all_shapes and any(map(is_dynamic, function.function_type.inputs))
    cut = Cut(function)
    for op in tuple(function.body.block.ops):
        if isinstance(op, scf.IfOp) and _decides(op, cut, is_open):
            cut.deciding.add(op)
            if tensor_of(op.cond) is None:
                emit = Emitter()
                op.operands[0] = handed_over(op.cond, emit)
                Rewriter.insert_op(emit.ops, InsertPoint.before(op))
        elif isinstance(op, LOOPS) and _decides(op, cut, is_open):
            _require_step(op, name)
            loop = rotated(op)
            if loop is None:
                raise HasNoCode(
                    f"function '{name}': {operation_text(op)} has sizes that depend on data, and runs round by round, which "
                    "carries tensors and integers, and tuples of these, nothing else (xrelay.interpret and --interpret run it)"
                )
            cut.deciding.add(loop)
            if all(is_ready(each, SHARED) for each in used_by(loop)):
                cut.loop = loop
                cut.late.update(loop.results)
                return cut
    if any(isinstance(op, scf.WhileOp) for op in cut.deciding):
        InferTypePass().rewrite(module)
    for op in tuple(function.body.block.ops):
        _place(op, cut)
    return cut if cut.late else None


def _require_step(op: scf.ForOp | scf.WhileOp, name: str) -> None:
    """Raises HasNoCode for a counted loop that may not come to its end."""
    step = known_scalar(op.step) if isinstance(op, scf.ForOp) else 1
    if step is None or step < 1:
        raise HasNoCode(
            f"function '{name}': {operation_text(op)} has no code: its step is {'not a constant' if step is None else step}, "
            "expected 1 or more"
        )


def _may_depend(op: Operation) -> bool:
    """Whether an operator is of those that decide, at a quick glance, which does not look into regions."""
    if isinstance(op, LOOPS):
        return carries_open(op)
    if isinstance(op, scf.IfOp | func.CallOp):
        return any(map(is_dynamic, op.result_types))
    if isinstance(op, ConstructOp | MatchOp):
        return True  # Until the data are tensors: values may be rows.
    return isinstance(op, ArgwhereOp | SparseFillEmptyRowsOp) or any(
        not isinstance(each.owner, ConstantOp) for each in _deciding(op)
    )


def _deciding(op: Operation) -> tuple[SSAValue, ...]:
    """The values whose elements decide about the shape of a result."""
    if isinstance(op, DynamicOp):
        return op.deciding
    if isinstance(op, SparseFillEmptyRowsOp):
        return (op.dense_shape,)
    return tuple(op.operands) if isinstance(op, ArangeOp) else ()


def _decides(op: Operation, cut: Cut, is_open: bool) -> bool:
    """
    Whether branches, or rounds, have sizes that depend on data, or on which branch is taken. With `is_open` some are
    known with the shapes of inputs.
    """

    def decides(inner: Operation) -> bool:
        if isinstance(inner, (scf.IfOp, func.CallOp, *LOOPS)):
            return not is_open
        if isinstance(inner, ArgwhereOp | SparseFillEmptyRowsOp):
            return True
        return any(_depends_on_data(each, cut) for each in _deciding(inner))

    return any(_may_depend(each) and decides(each) for each in walk(op))


def _conditions(op: Operation) -> list[SSAValue]:
    """The tensor that is the condition of branches which decide."""
    kept = tensor_of(op.cond) if isinstance(op, scf.IfOp) else None
    return [] if kept is None else [kept]


def _place(op: Operation, cut: Cut) -> None:
    """Enters an operation on its side."""
    if isinstance(op, func.ReturnOp):
        return
    if not cut.late.isdisjoint(used_by(op)):
        cut.put_behind(op)
    elif isinstance(op, ArgwhereOp):
        _bound(op, bounded_argwhere(op), cut)
    elif isinstance(op, scf.WhileOp) and op in cut.deciding:
        cut.put_behind(op)
        cut.computes = True
    elif deciding := [
        each
        for each in (_conditions(op) if op in cut.deciding else _deciding(op))
        if _depends_on_data(each, cut)
    ]:
        cut.put_behind(op)
        given = [each for each in deciding if isinstance(each, BlockArgument)]
        cut.values.update(dict.fromkeys(given))
        cut.computes |= len(given) < len(deciding)
    elif isinstance(op, SparseFillEmptyRowsOp):
        numbers = constant_numbers(op.dense_shape)
        if numbers:
            _bound(op, filled_rows(op, int(numbers[0])), cut)


def _bound(op: RelayOp, ops: Sequence[Operation], cut: Cut) -> None:
    """Puts operations, the last of which has its result, in the place of an operator."""
    Rewriter.insert_op(ops, InsertPoint.before(op))
    op.results[0].replace_all_uses_with(ops[-1].results[0])
    Rewriter.erase_op(op)
    for each in ops:
        if isinstance(each, PartOp):
            cut.bounded.append(each)
            cut.late.update(each.results)
        elif not cut.late.isdisjoint(each.operands):
            cut.put_behind(each)


def bounded_argwhere(op: ArgwhereOp) -> list[Operation]:
    """What finds the elements that are not 0, and takes the part of the rows that there are."""
    both = BoundedArgwhereOp(op.condition)
    rows, count = (TupleGetItemOp(both.result, part) for part in range(2))
    return [both, rows, count, PartOp(rows.result, count.result)]


def filled_rows(op: SparseFillEmptyRowsOp, rows: int) -> list[Operation]:
    """
    The elements of a sparse tensor of so many rows, and behind them one for each row: sorted by rows, of which one that is not
    empty counts as behind all for its own element.
    """
    emit = Emitter()
    indices, values, default = (
        emit(CastOp(each, i64)) for each in (op.sparse_indices, op.sparse_values, op.default_value)
    )
    own = emit(TakeOp(indices, emit.constant(np.array(0, np.int64)), axis=1))
    none = emit.constant(np.zeros(rows, np.int64))
    counted = emit(ScatterAddOp(none, own, emit(OnesLikeOp(own)), axis=0))
    empty = emit(EqualOp(counted, emit.constant(np.array(0, np.int64))))
    numbers, end = emit.constant(np.arange(rows)), emit.constant(np.array(rows))
    keys = emit(ConcatenateOp(emit(TupleOp([own, emit(WhereOp(empty, numbers, end))])), axis=0))
    order = emit(ArgsortOp(keys, dtype=i32))
    rank = op.sparse_indices.type.get_shape()[1]
    first = np.zeros((rows, rank), np.int64)
    first[:, :1] = np.arange(rows)[:, None]
    new = emit.constant(first), emit(BroadcastToOp(default, [rows]))
    found = [
        emit(TakeOp(emit(ConcatenateOp(emit(TupleOp(pair)), axis=0)), order, axis=0))
        for pair in zip((indices, values), new, strict=True)
    ]
    used = emit(CastOp(emit(LessOp(keys, end)), i64))
    count = emit(SumOp(used, [0], keepdims=True))
    parts = [emit(PartOp(each, count)) for each in found]
    emit(TupleOp([*parts, emit(CastOp(empty, i64))]))
    return emit.ops


def used_by(op: Operation) -> tuple[SSAValue, ...]:
    return (*op.operands, *values_from_outside(op)) if op.regions else tuple(op.operands)


def _depends_on_data(value: SSAValue, cut: Cut) -> bool:
    """Whether elements depend on more than constants and shapes."""
    seen, stack = {value}, [value]
    while stack:
        each = stack.pop()
        if not isinstance(each, OpResult):
            return True
        if isinstance(each.op, ConstantOp | ShapeOfOp | NdarraySizeOp):
            continue
        new = [used for used in used_by(each.op) if used not in seen and used not in cut.steady]
        seen.update(new)
        stack += new
    cut.steady |= seen
    return False
