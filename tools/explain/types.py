"""`xrelay explain --types`: in which element types a model is computed, and which list says so."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.model_names import model_name
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.dialects.shapes import is_float, is_tensor_type, types_within
from xrelay.options import CompileOptions
from xrelay.precision import FULL, INTEGERS
from xrelay.tools.tables import shown_names
from xrelay.transforms.quantize.narrow_weights import NARROW_WEIGHTS
from xrelay.transforms.rules.quantize.cpu_precision import CPU_LISTS, MOVES
from xrelay.transforms.rules.quantize.mixed_precision import Category, category_table


@dataclass(frozen=True)
class TypeUse:
    """Calls of an operator on the same types, for the same reason."""

    operator: str
    types: str
    """Of the operands and of the result."""
    reason: str
    calls: int
    nodes: tuple[str, ...]
    """Those of the model."""


def type_uses(module: ModuleOp, options: CompileOptions) -> list[TypeUse]:
    """The operators on floating-point numbers in a program that is prepared, in the order of first calls."""
    rules = options.precision_rules.lists()
    categories = category_table({each: rules[each.value] for each in Category}, CPU_LISTS)
    stated = "as the model states it"
    short = module.attributes.get(NARROW_WEIGHTS)
    if isa(short, ArrayAttr[Attribute]):
        stated += f", with f32 for {' and '.join(map(str, short))}"
    nodes: dict[tuple[str, str, str], list[str]] = {}
    calls: dict[tuple[str, str, str], int] = {}
    for op in _operators(module):
        name = op.name.removeprefix("relay.")
        if isinstance(op, CompositeOp):
            name = f"{name} {op.composite.data}"
        operands = [_dtypes(type_) for type_ in op.operand_types]
        shown = " × ".join(each for each in operands if each) or "–"
        types = f"{shown} → {_dtypes(op.results[0].type)}"
        key = name, types, _reason(op, name, operands, categories, options) or stated
        calls[key] = calls.get(key, 0) + 1
        node = model_name(op)
        nodes.setdefault(key, []).extend([] if node is None else [node])
    return [TypeUse(*key, count, tuple(dict.fromkeys(nodes[key]))) for key, count in calls.items()]


def _operators(module: ModuleOp) -> Iterator[Operation]:
    """Operators, and what has a kernel as a whole."""
    is_within = Within(keeps_body)
    for op in walk(module):
        if isinstance(op, CompositeOp) or (_computes(op) and not is_within(op)):
            yield op


def _computes(op: Operation) -> bool:
    if not isinstance(op, RelayOp) or isinstance(op, ConstantOp | TupleOp | TupleGetItemOp):
        return False
    types = (*op.operand_types, *op.result_types)
    return len(op.results) == 1 and any(
        is_tensor_type(part) and is_float(part.element_type)
        for type_ in types
        for part in types_within(type_)
    )


def _dtypes(type_: Attribute) -> str:
    """The element types in a type."""
    parts = [str(part.element_type) for part in types_within(type_) if is_tensor_type(part)]
    return ", ".join(dict.fromkeys(parts))


def _reason(
    op: Operation,
    name: str,
    operands: Sequence[str],
    categories: dict[str, Category],
    options: CompileOptions,
) -> str | None:
    """Which list says so, and why an operator of a list computes in f32 all the same. None where no list is asked."""
    if isinstance(op, QnnDenseBlocksOp) and op.rounds_data:
        return "data are rounded to 8 bits in blocks"
    if options.precision in (FULL, INTEGERS):
        return None
    if name == "cast":
        return "between both"
    if isinstance(op, CompositeOp):
        return "as the operators in it"
    category = categories.get(name, Category.FOLLOW if name in MOVES else Category.NEVER)
    narrow = any(options.precision in each for each in operands)
    match category:
        case Category.NEVER:
            return "never: computed in the type of the model"
        case Category.FOLLOW:
            return (
                "follow: its operand is rounded" if narrow else "follow: its operand is not rounded"
            )
        case Category.ALWAYS if narrow:
            whole = all(options.precision in each for each in operands)
            return "always: operands are rounded" if whole else "always: weights are rounded"
        case Category.ALWAYS:
            return f"always, but {_obstacle(op, operands)}"


def _obstacle(op: Operation, operands: Sequence[str]) -> str:
    """Why a product of the first list takes no operands with fewer bits."""
    if any(each != FULL for each in operands):
        return "its operands are not f32"
    constant = any(isinstance(each.owner, ConstantOp) for each in op.operands)
    return "its weights are too large for the type" if constant else "it has no constant weights"


def print_types(console: Console, uses: Sequence[TypeUse], limit: int | None) -> None:
    """One table row for each operator, its types and the reason."""
    table = Table("operator", "types", "why")
    table.add_column("calls", justify="right")
    table.add_column("nodes")
    for use in uses[:limit]:
        nodes = Text(shown_names(use.nodes))
        table.add_row(Text(use.operator), use.types, use.reason, str(use.calls), nodes)
    console.print(table)
    if limit is not None and len(uses) > limit:
        console.print(f"… {len(uses) - limit} more rows")


def types_json(uses: Sequence[TypeUse]) -> dict[str, object]:
    """The same as data."""
    return {"types": [asdict(use) for use in uses]}
