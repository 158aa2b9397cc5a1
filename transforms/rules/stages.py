"""
The two programs of a cut (`cutting.py`): the first hands what it computes to the second, which may be cut again.

    main(%x, %y) -> (%r, %s)      first(%x, %y) -> (%r, %handed0, %count0)      second(%y, %handed0) -> (%s)

A loop that runs round by round is the first of two, and a program of its own: that of a round.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    StringAttr,
    TupleType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from xrelay.analysis.facts.call_graph import CallGraph, symbols_used
from xrelay.analysis.facts.ports import input_names, ports
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.model_names import ONNX_NAME
from xrelay.dialects.shapes import is_tensor_type, tensor_type
from xrelay.interpreters.arrays import dtype_of
from xrelay.runtime.signature import OpenTensor, UnknownDimensions
from xrelay.runtime.staged import Part, Rounds, Stages
from xrelay.transforms.rules.cutting import SHARED, Cut, PartOp, used_by
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.rounds import packed_number, round_of, uncast
from xrelay.transforms.rules.tuples import fields_of

Leaf: TypeAlias = tuple[SSAValue, tuple[int, ...]]
"""A tensor in a value: what it is a field of, and of which fields."""


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
        self.cut = cut
        self.block = cut.function.body.block
        self.inputs = dict(zip(self.block.args, input_names(cut.function), strict=True))
        self.outputs = [port.name for port in ports(cut.function)[1]]
        self.handed: dict[SSAValue, str] = {}
        """What the first gives and the second takes, by name."""

    def both(self) -> Stages[ModuleOp] | None:
        """The programs, and the parts of results of the first that are used."""
        late: dict[str, Leaf] = {}
        bounded: set[SSAValue] = {op.result for op in self.cut.bounded}
        kept: dict[str, Leaf] = {}
        for name, (value, path) in self._given():
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

    def _given(self) -> list[tuple[str, Leaf]]:
        """The tensors that the function returns, by name."""
        end = self.block.last_op
        assert isinstance(end, func.ReturnOp)
        leaves = (leaf for value in end.operands for leaf in _leaves(value))
        return list(zip(self.outputs, leaves, strict=True))

    def _handed_as_tensors(self, values: Iterable[SSAValue]) -> bool:
        """Makes tensors of integers and tuples among values that one program hands to the other. Returns whether there were any."""
        found = [
            value for value in values if isinstance(value.type, IntegerType | IndexType | TupleType)
        ]
        for value in found:
            op = value.owner
            assert isinstance(op, Operation)
            uses, emit = tuple(value.uses), Emitter()
            if isinstance(value.type, TupleType):
                # A tuple of its fields is made on both sides.
                packed = emit(TupleOp(fields_of(value, emit)))
            else:
                packed = packed_number(value, emit)
            self.block.insert_ops_after(emit.ops, op)
            for use in uses:
                use.operation.operands[use.index] = packed
        return bool(found)

    def rounds(self, loop: scf.WhileOp) -> Stages[ModuleOp] | None:
        """A loop that needs nothing that is computed, and the program of all else."""
        names = _Names({*self.inputs.values(), *self.outputs})
        results: dict[SSAValue, str] = {value: names.new("result") for value in loop.results}
        own = {*self.inputs.values()}
        given = self._given()
        for name, (value, path) in given:
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
            for name, (value, path) in given
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
        used = (*(each for op in ops for each in used_by(op)), *values)
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
                stack += used_by(value.op)
        return [op for op in behind if op in found]

    def _shared(self, needed: Sequence[Operation]) -> list[Operation]:
        """Of what operations use, that which both sides have: `SHARED`."""
        found: set[Operation] = set()
        stack = [used for op in needed for used in used_by(op)]
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
        kept: Mapping[str, Leaf],
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
        late: Mapping[str, Leaf],
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


def _leaves(value: SSAValue) -> Iterator[Leaf]:
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
