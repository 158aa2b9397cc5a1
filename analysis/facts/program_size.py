"""How large a module is, and how large it becomes when its functions are inlined."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.call_graph import CallGraph, symbols_in
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.blob import stored_bytes
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.shapes import inner_tuples_first, leaf_count, tuple_depth

MOST_TYPE_PARTS = 1 << 20
"""How many types within tuples in tuples a text may spell."""


class ProgramSize(NamedTuple):
    """What a module takes as it stands."""

    operations: int
    """Its operations, the module among them."""
    constant_bytes: int
    """The bytes that its constants keep; those that share them count once."""


def program_size(module: ModuleOp) -> ProgramSize:
    """The size of a module, in one walk."""
    operations = 0
    values: dict[int, Attribute] = {}
    for op in walk(module):
        operations += 1
        if isinstance(op, ConstantOp):
            values[id(op.value)] = op.value
    return ProgramSize(operations, sum(map(stored_bytes, values.values())))


class ExpandedSize(NamedTuple):
    """What a module becomes once everything that its functions name is copied into them."""

    operations: int
    """Those of the largest function."""
    levels: int
    """How many operations are around another one at most, the module left out."""
    tuples: int
    """How many tuples are within each other at most, in types."""


def expanded_size(module: ModuleOp) -> ExpandedSize:
    """
    How large a module becomes. Each function is counted once, so that a few lines which double each other cost nothing here.
    """
    graph = CallGraph.of_module(module)
    sizes: dict[str, tuple[int, int]] = {}
    """The operations and the levels of functions."""
    for name in graph.callees_first():
        sizes[name] = _expanded(graph.functions[name], sizes)
    others = [_expanded(op, sizes) for op in module.ops if not isinstance(op, func.FuncOp)]
    return ExpandedSize(
        max((operations for operations, _ in sizes.values()), default=0),
        max((levels for _, levels in chain(sizes.values(), others)), default=0),
        tuple_depth(types_of(module)),
    )


def types_of(scope: Operation) -> Iterator[Attribute]:
    """The types of the results within an operation, and of what its functions take and give."""
    for op in walk(scope):
        if isinstance(op, func.FuncOp):
            yield from op.function_type.inputs.data
            yield from op.function_type.outputs.data
        yield from op.result_types


def check_leaves(module: ModuleOp) -> None:
    """
    Raises DiagnosticException for a type of more tensors than a program may have: printed it is as long, and
    of tuples of shared tuples it takes a few lines.
    """
    for type_ in types_of(module):
        leaf_count(type_)


def check_text(module: ModuleOp) -> None:
    """
    Raises DiagnosticException for a program whose text would be far longer than the program: MLIR spells the type of each
    operand and result, of tuples in tuples with all that is in them.
    """
    parts: dict[int, int] = {}
    """How many types are in tuples within a type, by its identity: comparing types recurses as deep."""
    count = 0
    for op in walk(module):
        types = [*op.operand_types, *op.result_types]
        for type_ in inner_tuples_first(types, lambda each: id(each) in parts):
            tuples = [each for each in type_.types.data if isinstance(each, TupleType)]
            parts[id(type_)] = sum(parts[id(each)] + len(each.types.data) for each in tuples)
        count += sum(parts.get(id(each), 0) for each in types)
    if count > MOST_TYPE_PARTS:
        raise DiagnosticException(
            f"the text of the program would spell {count} types in tuples in tuples, the limit is "
            f"{MOST_TYPE_PARTS}"
        )


def _expanded(scope: Operation, sizes: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """The operations and the levels of one at the top, with what it names among functions of known sizes."""
    total, levels = 0, 0
    level_of: dict[Operation | None, int] = {scope.parent_op(): -1}
    """How deep operations are that have others within."""
    for op in walk(scope):
        level = 1 + level_of[op.parent_op()]
        if op.regions:
            level_of[op] = level
        total, levels = total + 1, max(levels, level)
        for symbol in symbols_in((*op.properties.values(), *op.attributes.values())):
            if symbol in sizes:
                operations, inner = sizes[symbol]
                total += operations
                # The body is where its call was.
                levels = max(levels, level - 1 + inner)
    return total, levels
