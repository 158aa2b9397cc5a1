"""
`xrelay ops`: the operators of the dialect, and what xrelay can do with each.

A terminal gets a table; files and pipes get a header and a line for each operator, whose cells are
separated by tabs.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, OpDef, OptOperandDef, OptPropertyDef, VarOperandDef

from xrelay.dialects.relay import Relay
from xrelay.dialects.traits import HasPatternKind
from xrelay.frontends.onnx.importer.coverage import onnx_sources
from xrelay.interpreters.relay import interpreted_operators
from xrelay.lowering.program.registry import how_lowered
from xrelay.tools.tables import markdown_table, named_rows, print_rows

HEADER = ("operator", "kind", "operands", "attributes", "interpreter", "code", "ONNX")

PAGE = """\
# Operators

The operators of the `relay` dialect, as `xrelay ops --markdown` prints them. A test keeps this page up to date.

- kind: Relay's pattern kind, which fusion goes by.
- operands: `?` marks those that may be absent, `*` those that may be several.
- attributes: with their default; `?` marks those that may be absent; others must be given.
- interpreter: whether NumPy can run it (`xrelay run --verify`, tests, constant folding).
- code: how the code generator computes it: *on demand* where something needs an element, in *loops* of its own (the
  implementations to choose from are named), as part of the *structure* of a program, or not, and why.
- ONNX: the operators whose import makes it, alone or with others.

"""


@dataclass(frozen=True)
class OperatorRow:
    """What there is to say of one operator."""

    name: str
    kind: str
    operands: str
    attributes: str
    interpreter: str
    code: str
    onnx: str
    has_code: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of the header."""
        return (
            *(self.name, self.kind, self.operands, self.attributes),
            *(self.interpreter, self.code, self.onnx),
        )


def show_operators(args: argparse.Namespace) -> int:
    """Runs the command."""
    rows = named_rows(
        operator_rows(), [name.removeprefix("relay.") for name in args.names], "operator"
    )
    if args.unsupported:
        rows = [row for row in rows if not row.has_code]
    if args.markdown:
        print(markdown(rows), end="")
        return 0
    with_code = sum(row.has_code for row in rows)
    remark = f"{len(rows)} operators, {with_code} of them with code"
    print_rows(HEADER, [row.cells for row in rows], remark)
    return 0


def markdown(rows: Sequence[OperatorRow]) -> str:
    """The page of the documentation."""
    return PAGE + markdown_table(HEADER, [row.cells for row in rows])


def operator_rows() -> list[OperatorRow]:
    """All operators in alphabetical order."""
    interpreted, sources = interpreted_operators(), onnx_sources()
    rows: list[OperatorRow] = []
    for op in sorted(_operators(), key=lambda op: op.name):
        definition = op.get_irdl_definition()
        lowered = how_lowered(op)
        rows.append(
            OperatorRow(
                op.name.removeprefix("relay."),
                _kind(definition),
                ", ".join(_operand_names(definition)),
                ", ".join(_attributes(definition)),
                "yes" if op in interpreted else "no",
                lowered.text,
                ", ".join(sources.get(op, ())),
                lowered.has_code,
            )
        )
    return rows


def _operators() -> Iterator[type[IRDLOperation]]:
    for op in Relay.operations:
        if issubclass(op, IRDLOperation):
            yield op


def _kind(definition: OpDef) -> str:
    (kind,) = [trait.kind for trait in definition.traits if isinstance(trait, HasPatternKind)]
    return kind.name.lower()


def _operand_names(definition: OpDef) -> Iterator[str]:
    for name, operand in definition.operands:
        mark = "*" if isinstance(operand, VarOperandDef) else ""
        yield f"{name}{'?' if isinstance(operand, OptOperandDef) else mark}"


def _attributes(definition: OpDef) -> Iterator[str]:
    for name, attribute in definition.properties.items():
        if isinstance(attribute, OptPropertyDef):
            yield f"{name}?"
        elif attribute.default_value is not None:
            yield f"{name} = {_short(attribute.default_value)}"
        else:
            yield name


def _short(value: Attribute) -> str:
    """An attribute without its type."""
    if isinstance(value, StringAttr):
        return f'"{value.data}"'
    return str(value)
