"""
`xrelay passes`: what each pass does, its options, and how far it agrees with TVM's.

What is said of a pass is the doc string of its file, and of an option that of its field. How it agrees is in
`parity.toml`, which a test compares with the records; nothing is run.
"""

import argparse
import ast
import inspect
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from importlib.resources import files
from typing import Any, TypedDict, cast

from xdsl.passes import ModulePass

from xrelay.tools.tables import markdown_table, named_rows, print_rows
from xrelay.tools.universe import XRELAY_UNIVERSE
from xrelay.transforms.rules.pass_sequence import PassSequence

HEADER = ("pass", "what it does", "TVM's", "records", "changed", "exceptions")

PAGE = """\
# Passes

The passes of `xrelay-opt` and `xdsl-opt`, as `xrelay passes --markdown` prints them. A test keeps this page up to date.

- TVM's: the pass of TVM 0.10 whose results were recorded (`tests/conformance/data`).
- records: of how many programs the pass makes what TVM's makes, up to names, and how many there are.
- changed: the same, of those programs alone that TVM's pass does not leave as they are.
- exceptions: where TVM's is wrong, or its result cannot be told from the text; `tests/conformance/exceptions.toml` has
  the reasons. They count as records that do not agree.

"""


class Agreement(TypedDict):
    """What is counted of the records of one of TVM's passes."""

    passes: list[str]
    """The passes here that do what it does, as a command line names them."""
    records: tuple[int, int]
    """How many agree, and how many there are."""
    changed: tuple[int, int]
    """The same of those that TVM's pass changes."""
    exceptions: int


Parity = dict[str, Agreement]
"""By the name of TVM's pass."""


@dataclass(frozen=True)
class OptionRow:
    """An option of a pass."""

    name: str
    default: str | None
    """None where it has to be given."""
    meaning: str

    @property
    def text(self) -> str:
        """In the notation of a command line."""
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class PassRow:
    """What there is to say of one pass."""

    name: str
    summary: str
    """A sentence."""
    description: str
    """The paragraphs behind it: programs before and after, what stays, the source."""
    steps: tuple[str, ...]
    """The passes that it runs one after the other, if it is a list of others."""
    options: tuple[OptionRow, ...]
    parity: Parity

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of the header."""
        agreements = self.parity.values()
        return (
            self.name,
            self.summary,
            ", ".join(self.parity),
            ", ".join(_share(each["records"]) for each in agreements),
            ", ".join(_share(each["changed"]) for each in agreements),
            ", ".join(str(each["exceptions"]) for each in agreements),
        )


def show_passes(args: argparse.Namespace) -> int:
    """Runs the command."""
    rows = named_rows(pass_rows(), args.names, "pass")
    if args.markdown:
        print(markdown(rows), end="")
        return 0
    if args.names:
        print("\n".join(entry(row) for row in rows), end="")
        return 0
    remark = f"{len(rows)} passes; `xrelay passes NAME` says more"
    print_rows(HEADER, [row.cells for row in rows], remark)
    return 0


# -- rows -----------------------------------------------------------------------------------------


def pass_rows() -> list[PassRow]:
    """All passes in alphabetical order."""
    parity = recorded_parity()
    return [
        _row(factory(), {tvm: each for tvm, each in parity.items() if each["passes"][0] == name})
        for name, factory in sorted(XRELAY_UNIVERSE.all_passes.items())
    ]


def recorded_parity() -> Parity:
    """How the passes agree with records of TVM's, as the tests have found."""
    text = files("xrelay.tools").joinpath("parity.toml").read_text(encoding="utf-8")
    return cast(Parity, tomllib.loads(text))


def _row(cls: type[ModulePass], parity: Parity) -> PassRow:
    documentation = inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "")
    title, _, description = documentation.partition("\n\n")
    summary, stop, rest = title.removeprefix(f"`{cls.name}`: ").replace("\n", " ").partition(". ")
    if stop:
        description = f"{rest}\n\n{description}"
    options = tuple(_option(cls, field) for field in fields(cls) if field.name != "name")
    return PassRow(cls.name, summary.removesuffix("."), description, _steps(cls), options, parity)


def _steps(cls: type[ModulePass]) -> tuple[str, ...]:
    if not issubclass(cls, PassSequence):
        return ()
    return tuple(str(step.pipeline_pass_spec()) for step in cls().steps())


def _option(cls: type[ModulePass], field: Field[Any]) -> OptionRow:
    owner = next(base for base in cls.__mro__ if field.name in inspect.get_annotations(base))
    meaning = dict(_documented_fields(owner))[field.name]
    return OptionRow(field.name.replace("_", "-"), _default(field.default), meaning)


def _documented_fields(cls: type) -> Iterator[tuple[str, str]]:
    """The fields of a class and the strings below them, which Python itself forgets."""
    (definition,) = ast.parse(inspect.cleandoc(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    for one, other in zip(definition.body, definition.body[1:], strict=False):
        match one, other:
            case (
                ast.AnnAssign(target=ast.Name(name)),
                ast.Expr(ast.Constant(str() as meaning)),
            ):
                yield name, " ".join(meaning.split())
            case _:
                pass


def _default(value: object) -> str | None:
    """A default in the notation of a command line; None where there is none."""
    if value is MISSING:
        return None
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(map(str, cast(tuple[object, ...], value)))
        case _:
            return str(value)


# -- texts ----------------------------------------------------------------------------------------


def entry(row: PassRow) -> str:
    """All of a pass, in Markdown that people read as it is."""
    parts = [f"## {row.name}", f"{row.summary[:1].upper()}{row.summary[1:]}.", row.description]
    if row.steps:
        parts.append("Runs " + ", ".join(f"`{step}`" for step in row.steps) + ".")
    if row.options:
        parts.append("\n".join(f"- `{each.text}`: {each.meaning}" for each in row.options))
    parts.extend(_sentence(tvm, each) for tvm, each in row.parity.items())
    return "\n\n".join(part for part in parts if part) + "\n"


def _sentence(tvm: str, parity: Agreement) -> str:
    """How a pass agrees with one of TVM's."""
    others = ", ".join(f"`{each}`" for each in parity["passes"][1:])
    with_others = f", with {others} behind it," if others else ""
    exceptions = parity["exceptions"]
    are = "is an exception" if exceptions == 1 else "are exceptions"
    return (
        f"Parity{with_others} with TVM's {tvm}: {_share(parity['records'])} records agree, "
        f"{_share(parity['changed'])} of those that it changes"
        + (f"; {exceptions} {are}." if exceptions else ".")
    )


def markdown(rows: Sequence[PassRow]) -> str:
    """The page of the documentation."""
    table = markdown_table(HEADER, map(_linked, rows))
    return PAGE + table + "".join(f"\n{entry(row)}" for row in rows)


def _linked(row: PassRow) -> tuple[str, ...]:
    name, *others = row.cells
    return f"[`{name}`](#{name})", *others


def _share(counts: Sequence[int]) -> str:
    some, all_of_them = counts
    return f"{some} of {all_of_them}"
