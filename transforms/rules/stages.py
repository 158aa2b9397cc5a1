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

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    TupleType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.call_graph import CallGraph, symbols_used
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.ports import entry_function, input_names, ports
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.core.functional import values_from_outside
from xrelay.dialects.core.references import RefWriteOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.model_names import ONNX_NAME
from xrelay.dialects.shapes import HasNoCode, is_dynamic, is_tensor_type, tensor_type
from xrelay.dialects.sparse.coordinates import SparseFillEmptyRowsOp
from xrelay.dialects.tensor.binary import EqualOp, LessOp
from xrelay.dialects.tensor.creation import ArangeOp, OnesLikeOp
from xrelay.dialects.tensor.indexing import ScatterAddOp, TakeOp
from xrelay.dialects.tensor.like import NdarraySizeOp, ShapeOfOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.sort import ArgsortOp, ArgwhereOp, BoundedArgwhereOp
from xrelay.dialects.tensor.transform import BroadcastToOp, ConcatenateOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import constant_op
from xrelay.runtime.signature import OpenTensor, UnknownDimensions
from xrelay.runtime.staged import Part, Rounds, Stages
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.functional.expand_functions import ExpandFunctionsPass
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.promote_references import PromoteReferencesPass
from xrelay.transforms.rules.copying import copied
from xrelay.transforms.rules.parameters import take_tuples_apart
from xrelay.transforms.rules.rounds import (
    LOOPS,
    handed_over,
    is_ready,
    packed_number,
    rotated,
    round_of,
    tensor_of,
    uncast,
)

SHARED = (
    *(ConstantOp, TupleOp),
    *(tensor.CastOp, tensor.ExtractOp),
    *(arith.ConstantOp, arith.IndexCastOp),
)
"""What is no tensor, or takes nothing to compute: where both sides of a cut use some, both have it."""


class UnknownSizes(UnknownDimensions):
    """Sizes in a program depend on data. It becomes two: `stages`."""

    def __init__(
        self,
        inputs: tuple[OpenTensor, ...],
        outputs: tuple[OpenTensor, ...],
        stages: Stages[ModuleOp],
    ):
        super().__init__(
            "sizes depend on data, which xrelay.compile and `xrelay run` find out in stages, and xrelay.interpret and "
            "--interpret allow",
            inputs,
            outputs,
            many=True,
            fixed=True,
        )
        self.stages = stages


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


def find_cut(module: ModuleOp, *, all_shapes: bool = False) -> Cut | None:
    """
    Where a program is cut, of which calls are expanded; None where nothing depends on data. What inputs leave open waits for
    their shapes, unless it is known to depend on data, and the program is cut for `all_shapes`.
    """
    if not any(map(_may_depend, walk(module))):
        return None
    module = copied(module)
    take_tuples_apart(entry_function(module))  # Where others call it, it keeps them.
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
    deciding: set[Operation] = set()
    for op in tuple(function.body.block.ops):
        if isinstance(op, scf.IfOp) and _decides(op, is_open):
            deciding.add(op)
            if tensor_of(op.cond) is None:
                ops = handed_over(op.cond)
                Rewriter.insert_op(ops, InsertPoint.before(op))
                op.operands[0] = ops[-1].results[0]
        elif isinstance(op, LOOPS) and _decides(op, is_open):
            loop = rotated(op)
            if loop is None:
                raise HasNoCode(
                    f"function '{name}': {operation_text(op)} has sizes that depend on data, and runs round by round, which "
                    "carries tensors and integers, and tuples of these, nothing else (xrelay.interpret and --interpret run it)"
                )
            deciding.add(loop)
            if all(is_ready(each, SHARED) for each in _used(loop)):
                cut.loop = loop
                cut.late.update(loop.results)
                return cut
    if any(isinstance(op, scf.WhileOp) for op in deciding):
        InferTypePass().rewrite(module)
    for op in tuple(function.body.block.ops):
        _place(op, cut, deciding)
    return cut if cut.late else None


def _may_depend(op: Operation) -> bool:
    """Whether an operator is of those that decide, at a quick glance, which does not look into regions."""
    if isinstance(op, (scf.IfOp, func.CallOp, *LOOPS)):
        return any(map(is_dynamic, op.result_types))
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


def _decides(op: Operation, is_open: bool) -> bool:
    """
    Whether branches, or rounds, have sizes that depend on data, or on which branch is taken. With `is_open` some are
    known with the shapes of inputs.
    """

    def decides(inner: Operation) -> bool:
        if isinstance(inner, (scf.IfOp, func.CallOp, *LOOPS)):
            return not is_open
        if isinstance(inner, ArgwhereOp | SparseFillEmptyRowsOp):
            return True
        return any(map(_depends_on_data, _deciding(inner)))

    return any(_may_depend(each) and decides(each) for each in walk(op))


def _conditions(op: Operation) -> list[SSAValue]:
    """The tensor that is the condition of branches which decide."""
    kept = tensor_of(op.cond) if isinstance(op, scf.IfOp) else None
    return [] if kept is None else [kept]


def _place(op: Operation, cut: Cut, deciding_ops: Collection[Operation]) -> None:
    """Enters an operation on its side; of those with regions, some decide."""
    if isinstance(op, func.ReturnOp):
        return
    if not cut.late.isdisjoint(_used(op)):
        cut.behind.append(op)
        cut.late.update(op.results)
    elif isinstance(op, ArgwhereOp):
        _bound(op, bounded_argwhere(op), cut)
    elif isinstance(op, scf.WhileOp) and op in deciding_ops:
        cut.behind.append(op)
        cut.late.update(op.results)
        cut.computes = True
    elif deciding := [
        each
        for each in (_conditions(op) if op in deciding_ops else _deciding(op))
        if _depends_on_data(each)
    ]:
        cut.behind.append(op)
        cut.late.update(op.results)
        given = [each for each in deciding if isinstance(each, BlockArgument)]
        cut.values.update(dict.fromkeys(given))
        cut.computes |= len(given) < len(deciding)
    elif isinstance(op, SparseFillEmptyRowsOp):
        numbers = constant_numbers(op.dense_shape)
        if numbers:
            _bound(op, filled_rows(op, int(numbers[0])), cut)


def _bound(op: RelayOp, ops: Sequence[Operation], cut: Cut) -> None:
    """Puts operations, the last of which has its result, in the place of an operator."""
    block = op.parent_block()
    assert block is not None
    block.insert_ops_before(ops, op)
    op.results[0].replace_all_uses_with(ops[-1].results[0])
    op.detach()
    op.erase()
    for each in ops:
        if isinstance(each, PartOp):
            cut.bounded.append(each)
            cut.late.update(each.results)
        elif not cut.late.isdisjoint(each.operands):
            cut.behind.append(each)
            cut.late.update(each.results)


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
    ops: list[Operation] = []

    def made(each: RelayOp) -> SSAValue:
        ops.append(each)
        return each.results[0]

    def constant(array: Array) -> SSAValue:
        return made(constant_op(array))

    indices, values, default = (
        made(CastOp(each, i64)) for each in (op.sparse_indices, op.sparse_values, op.default_value)
    )
    own = made(TakeOp(indices, constant(np.array(0, np.int64)), axis=1))
    counted = made(
        ScatterAddOp(constant(np.zeros(rows, np.int64)), own, made(OnesLikeOp(own)), axis=0)
    )
    zero = constant(np.array(0, np.int64))
    empty = made(EqualOp(counted, zero))
    numbers, end = constant(np.arange(rows)), constant(np.array(rows))
    keys = made(ConcatenateOp(made(TupleOp([own, made(WhereOp(empty, numbers, end))])), axis=0))
    order = made(ArgsortOp(keys, dtype=i32))
    rank = op.sparse_indices.type.get_shape()[1]
    first = np.zeros((rows, rank), np.int64)
    first[:, :1] = np.arange(rows)[:, None]
    new = constant(first), made(BroadcastToOp(default, [rows]))
    found = [
        made(TakeOp(made(ConcatenateOp(made(TupleOp(pair)), axis=0)), order, axis=0))
        for pair in zip((indices, values), new, strict=True)
    ]
    used = made(CastOp(made(LessOp(keys, end)), i64))
    count = made(SumOp(used, [0], keepdims=True))
    parts = [PartOp(each, count) for each in found]
    ops += parts
    flags = made(CastOp(empty, i64))
    made(TupleOp([*(part.result for part in parts), flags]))
    return ops


def _used(op: Operation) -> tuple[SSAValue, ...]:
    return (*op.operands, *values_from_outside(op)) if op.regions else tuple(op.operands)


def _depends_on_data(value: SSAValue) -> bool:
    """Whether elements depend on more than constants and shapes."""
    seen, stack = {value}, [value]
    while stack:
        each = stack.pop()
        if not isinstance(each, OpResult):
            return True
        if isinstance(each.op, ConstantOp | ShapeOfOp | NdarraySizeOp):
            continue
        new = [used for used in _used(each.op) if used not in seen]
        seen.update(new)
        stack += new
    return False


def stages(cut: Cut) -> Stages[ModuleOp] | None:
    """Both programs; None where the first would have nothing to compute, or hand over what is no tensor."""
    if cut.loop is not None:
        return _Stages(cut).rounds(cut.loop)
    if not cut.bounded and not cut.computes:
        return None
    return _Stages(cut).both()


class _Stages:
    """The two functions of a cut."""

    def __init__(self, cut: Cut):
        self.cut, self.function = cut, cut.function
        self.block = cut.function.body.block
        self.inputs = dict(zip(self.block.args, input_names(cut.function), strict=True))
        self.outputs = [port.name for port in ports(cut.function)[1]]
        self.results: dict[str, SSAValue] = {}
        """What the first gives, by name."""
        self.handed: dict[SSAValue, str] = {}
        """What of that the second takes."""

    def both(self) -> Stages[ModuleOp] | None:
        """The programs, and the parts of results of the first that are used."""
        end = self.block.last_op
        assert isinstance(end, func.ReturnOp)
        leaves = [leaf for value in end.operands for leaf in _leaves(value)]
        late: dict[str, tuple[SSAValue, tuple[int, ...]]] = {}
        bounded: set[SSAValue] = {op.result for op in self.cut.bounded}
        kept: dict[str, tuple[SSAValue, tuple[int, ...]]] = {}
        for name, (value, path) in zip(self.outputs, leaves, strict=True):
            is_late = value in self.cut.late and value not in bounded
            (late if is_late else kept)[name] = value, path
        needed = self._needed(value for value, _ in late.values())
        shared = self._shared(needed)
        taken = self._taken([*shared, *needed], ())
        if self._handed_as_tensors(value for value in taken if value not in self.inputs):
            return self.both()
        handed = [value for value in taken if value not in self.inputs]
        if not all(is_tensor_type(value.type) for value in handed):
            return None
        names = _Names({*self.inputs.values(), *self.outputs})
        own = {*self.inputs.values()}
        results = {
            value: name for name, (value, path) in kept.items() if not path and name not in own
        }
        self.handed = {value: results.get(value) or names.new("handed") for value in handed}
        counts: dict[SSAValue, str] = {op.result: names.new("count") for op in self.cut.bounded}
        parts = {
            name: Part(counts[value])
            for value, name in [
                *self.handed.items(),
                *((value, name) for name, (value, _) in kept.items()),
            ]
            if value in bounded
        }
        first = self._first(kept, counts)
        if not late:
            return Stages(first, None, parts)
        return Stages(first, self._second(late, [*shared, *needed], taken), parts)

    def _handed_as_tensors(self, values: Iterable[SSAValue]) -> bool:
        """Makes tensors of integers among values that one program hands to the other. Returns whether there were any."""
        found = [value for value in values if isinstance(value.type, IntegerType | IndexType)]
        for value in found:
            op = value.owner
            assert isinstance(op, Operation)
            uses = tuple(value.uses)
            packed, ops = packed_number(value)
            self.block.insert_ops_after(ops, op)
            for use in uses:
                use.operation.operands[use.index] = packed
        return bool(found)

    def rounds(self, loop: scf.WhileOp) -> Stages[ModuleOp] | None:
        """A loop that needs nothing that is computed, and the program of all else."""
        names = _Names({*self.inputs.values(), *self.outputs})
        end = self.block.last_op
        assert isinstance(end, func.ReturnOp)
        leaves = [leaf for value in end.operands for leaf in _leaves(value)]
        results: dict[SSAValue, str] = {value: names.new("result") for value in loop.results}
        own = {*self.inputs.values()}
        for name, (value, path) in zip(self.outputs, leaves, strict=True):
            root = uncast(value)
            # An output may have the name of an input.
            if root in results and not path and name not in own:
                own.add(results[root])
                results[root] = name
        one = round_of(loop, self.inputs, list(results.values()), names.new, SHARED)
        if one is None:
            return None
        stated = {name: value for value, name in self.inputs.items()}
        body = self._program(one.block, one.inputs, one.results)
        operands = tuple(_open_tensor(name, stated[name]) for name in one.operands)
        first = Rounds(one.loop, body, operands, one.constants)
        rest = {
            name: (value, path)
            for name, (value, path) in zip(self.outputs, leaves, strict=True)
            if path or results.get(uncast(value)) != name
        }
        if not rest:
            return Stages(first, None, {})
        self.handed = results
        self.cut.behind = [
            op for op in self.block.ops if op is not loop and not isinstance(op, func.ReturnOp)
        ]
        needed = self._needed(value for value, _ in rest.values())
        taken = self._taken(needed, (value for value, _ in rest.values()))
        return Stages(first, self._second(rest, needed, taken), {})

    def _taken(self, ops: Sequence[Operation], values: Iterable[SSAValue]) -> dict[SSAValue, None]:
        """What operations use, and which values there are, that is computed elsewhere."""
        inside = set(ops)
        used = (*(each for op in ops for each in _used(op)), *values)
        return dict.fromkeys(
            each
            for each in used
            if not (isinstance(each, OpResult) and each.op in inside) and not self._is_inside(each)
        )

    def _is_inside(self, value: SSAValue) -> bool:
        """Whether a value is of a region in an operation of the function."""
        block = value.block if isinstance(value, BlockArgument) else value.owner.parent_block()
        return block is not self.block

    def _needed(self, values: Iterator[SSAValue]) -> list[Operation]:
        """Of what is behind the cut, what some values need, in order."""
        behind = dict.fromkeys(self.cut.behind)
        found: set[Operation] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if isinstance(value, OpResult) and value.op in behind and value.op not in found:
                found.add(value.op)
                stack += _used(value.op)
        return [op for op in behind if op in found]

    def _shared(self, needed: Sequence[Operation]) -> list[Operation]:
        """Of what operations use, that which both sides have: `SHARED`."""
        found: set[Operation] = set()
        stack = [used for op in needed for used in _used(op)]
        while stack:
            value = stack.pop()
            if (
                isinstance(value, OpResult)
                and isinstance(value.op, SHARED)
                and value not in self.cut.late
            ):
                found.add(value.op)
                stack += value.op.operands
        return [op for op in self.block.ops if op in found]

    def _first(
        self,
        kept: Mapping[str, tuple[SSAValue, tuple[int, ...]]],
        counts: Mapping[SSAValue, str],
    ) -> ModuleOp:
        """The program before the cut, with all parameters."""
        block = Block(arg_types=self.block.arg_types)
        values: dict[SSAValue, SSAValue] = dict(zip(self.block.args, block.args, strict=True))
        numbers: dict[SSAValue, SSAValue] = {}
        behind = set(self.cut.behind)
        for op in self.block.ops:
            if op in behind or isinstance(op, func.ReturnOp):
                continue
            if isinstance(op, PartOp):
                values[op.result], numbers[op.result] = values[op.rows], values[op.count]
            else:
                block.add_op(op.clone(values))
        results = {name: _field(block, values[value], path) for name, (value, path) in kept.items()}
        results.update((name, values[value]) for value, name in self.handed.items())
        results.update((name, numbers[value]) for value, name in counts.items())
        return self._program(block, list(self.inputs.values()), results)

    def _second(
        self,
        late: Mapping[str, tuple[SSAValue, tuple[int, ...]]],
        ops: Sequence[Operation],
        taken: Mapping[SSAValue, None],
    ) -> ModuleOp:
        """The program behind the cut."""
        names = {**self.inputs, **self.handed}
        block = Block(arg_types=[value.type for value in taken])
        values: dict[SSAValue, SSAValue] = dict(zip(taken, block.args, strict=True))
        for op in ops:
            block.add_op(op.clone(values))
        results = {name: _field(block, values[value], path) for name, (value, path) in late.items()}
        return self._program(block, [names[value] for value in taken], results)

    def _program(
        self, block: Block, inputs: Sequence[str], results: Mapping[str, SSAValue]
    ) -> ModuleOp:
        """The program of a block, with names of what it takes and returns, and the functions that it calls."""
        block.add_op(func.ReturnOp(*results.values()))
        function = func.FuncOp(
            "main",
            (list(block.arg_types), [value.type for value in results.values()]),
            Region(block),
            arg_attrs=_named(inputs),
            res_attrs=_named(list(results)),
        )
        module = self.cut.function.parent_op()
        assert isinstance(module, ModuleOp)
        graph = CallGraph.of_module(module)
        called = graph.reachable(symbols_used(function))
        return ModuleOp(
            [function, *(each.clone() for name, each in graph.functions.items() if name in called)]
        )


class _Names:
    """Names that are not in use."""

    def __init__(self, known: set[str]):
        self.known = known

    def new(self, beginning: str) -> str:
        """A name with a number."""
        name = next(
            name
            for number in range(len(self.known) + 1)
            if (name := f"{beginning}{number}") not in self.known
        )
        self.known.add(name)
        return name


def _open_tensor(name: str, value: SSAValue) -> OpenTensor:
    """A parameter as an input of a model."""
    type_ = tensor_type(value, f"'{name}'")
    dims = tuple(dim if dim >= 0 else "" for dim in type_.get_shape())
    return OpenTensor(name, dims, dtype_of(type_.element_type))


def _leaves(value: SSAValue) -> Iterator[tuple[SSAValue, tuple[int, ...]]]:
    """The tensors of a value: what they are fields of, and of which fields; those of a tuple that is made here themselves."""
    if isinstance(value.owner, TupleOp):
        for each in value.owner.fields:
            yield from _leaves(each)
        return
    yield from ((value, path) for path in _paths(value.type))


def _paths(type_: Attribute) -> Iterator[tuple[int, ...]]:
    """The places of the tensors in a type."""
    if is_tensor_type(type_):
        yield ()
        return
    assert isinstance(type_, TupleType)
    for number, each in enumerate(type_.types.data):
        yield from ((number, *path) for path in _paths(each))


def _field(block: Block, value: SSAValue, path: Sequence[int]) -> SSAValue:
    """A tensor in nested tuples."""
    for number in path:
        op = TupleGetItemOp(value, number)
        block.add_op(op)
        value = op.result
    return value


def _named(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({ONNX_NAME: StringAttr(name)}) for name in names])
