"""
What passes make of random programs: `passes.txt`, which a change of their rewrites changes.

`make pages` writes it anew: the difference shows which passes a change makes do more, less or something else. That the
programs mean the same is what `test_passes_meaning.py` shows.
"""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from code_records.kernel_sizes import digest
from tests.fuzz.pass_pipelines import parsed
from tests.fuzz.pass_programs import (
    Program,
    prepared,
    programs_for,
    scoped_programs_for,
    small_programs,
)
from tests.fuzz.pass_rows import pass_names, register_compilers, row, specs
from tests.fuzz.single_passes import shared_context
from xrelay.collector import collector_paused
from xrelay.dialects.base import RelayOp

FILE = Path(__file__).parents[2] / "unit" / "transforms" / "records" / "passes.txt"
LARGE, SMALL, SCOPED = 6, 9, 3
"""As many programs of each kind a pass gets; those of small ones are others for each pass."""


def programs(name: str) -> Iterator[Program]:
    """Large ones, small ones, and such with scopes if the pass takes them."""
    first = pass_names().index(name) * SMALL % len(small_programs())
    small = islice(chain(small_programs(), small_programs()), first, first + SMALL)
    scoped = scoped_programs_for(name)[:SCOPED] if row(name).takes_scopes else ()
    return chain(islice(programs_for(name), LARGE), small, scoped)


@collector_paused()
def result(spec: str, name: str, program: Program) -> str:
    """How many operators a program has after a pass and a digest of it, or that it stays as it is."""
    before = prepared(program, row(name).before)
    module = before.clone()
    for step in parsed(spec):
        step.apply(shared_context(), module)
    code = digest(module)
    if code == digest(before):
        return "stays"
    count = sum(isinstance(op, RelayOp) for op in module.walk())
    return f"{count} operators, program {code}"


def lines(name: str) -> Iterator[str]:
    """What a pass makes of its programs, each with other values of options."""
    register_compilers()
    variants = list(specs(name))
    for number, program in enumerate(programs(name)):
        spec = variants[number % len(variants)]
        yield f"{spec} on {program.label}: {result(spec, name, program)}"


def entry(name: str) -> str:
    """What is on record of a pass."""
    return "".join(f"  {line}\n" for line in lines(name))


def text() -> str:
    """All that is on record."""
    return "".join(f"{name}\n{entry(name)}" for name in pass_names())


if __name__ == "__main__":
    FILE.write_text(text())
