"""
The functions of a library that takes dimensions, as LLVM IR. Each takes them in the order of the interface:

    int32 <name>_run(dimensions…, inputs, outputs, constants, workspace)          0, or 1 for lengths without a program
    int32 <name>_run_on(team, dimensions…, inputs, outputs, constants, workspace)
    int64 <name>_workspace_bytes(dimensions…)                                     -1 for lengths without a program
    int64 <name>_output_bytes(number, dimensions…)

A program `p` is tried by `<name>.serves.p(dimensions…, table)`, which computes its atoms, conditions and table without a
branch, and its workspace; sums and products that overflow 64 bits make it one that does not serve. What runs is

    <name>_programs_run(place, outputs, constants, workspace)        place: inputs, table, entry of the program
      └► <name>_programs_step_all, in every thread ──► <name>_program_p_step_all

so that all programs have one run-time support, with one team of threads.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xrelay.runtime.dimensions.interface import OpenDimension, OpenInterface, lengths_of
from xrelay.runtime.dimensions.operations import MOST_NUMBER, Scaling, scaling_of
from xrelay.runtime.lengths import OpenLengths, Polynomial
from xrelay.runtime.signature import Signature
from xrelay.runtime.support import TEAM_FUNCTIONS


def programs_name(name: str) -> str:
    """What the functions that take a place instead of dimensions begin with."""
    return f"{name}_programs"


def program_name(name: str, number: int) -> str:
    """What the entry function of a program begins with."""
    return f"{name}_program_{number}"


def entry_name(name: str, number: int) -> str:
    """The entry function of a program."""
    return f"{program_name(name, number)}_step_all"


def exported_names(interface: OpenInterface) -> list[str]:
    """What a library offers, for C programs and for `xrelay.load`."""
    name, programs = interface.name, programs_name(interface.name)
    has_team = interface.programs[0].has_team
    return [
        *(f"{name}_{each}" for each in ("run", "workspace_bytes", "output_bytes")),
        *(f"{name}_{each}" for each in TEAM_FUNCTIONS[:3] if has_team),
        f"{programs}_run",
        *(f"{programs}_{each}" for each in TEAM_FUNCTIONS if has_team),
        *(entry_name(name, number) for number in range(len(interface.programs))),
    ]


def functions_ir(interface: OpenInterface, triple: str) -> str:
    """The module with these functions, to link with the programs and the run-time support."""
    name, dimensions = interface.name, interface.dimensions
    numbers = range(len(interface.programs))
    parts = [f'target triple = "{triple}"', _DECLARATIONS]
    parts += [f"declare void @{entry_name(name, i)}({_ENTRY_TYPES})" for i in numbers]
    parts += [
        _serves(f"{name}.serves.{i}", program, dimensions)
        for i, program in enumerate(interface.programs)
    ]
    parts += [_find(interface), _sizes(interface), _prepare(interface), _dispatch(interface)]
    parts.append(_run(interface, "run", ""))
    if interface.programs[0].has_team:
        parts += [_run(interface, "run_on", "ptr %team, "), _teams(interface)]
    return "\n".join(parts)


_ENTRY_TYPES = "ptr, ptr, ptr, ptr, i64, i64, ptr"
_CHECKED = {"add": "sadd", "mul": "smul"}
_DECLARATIONS = "\n".join(
    f"declare {{ i64, i1 }} @llvm.{each}.with.overflow.i64(i64, i64)" for each in _CHECKED.values()
)
_RELATIONS = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}


@dataclass(eq=False)
class _Arithmetic:
    """Straight-line code on 64-bit numbers. A value is the name of a register, or a number as text."""

    lines: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    """Bits of which each says that the program does not serve."""
    atoms: list[str] = field(default_factory=list[str])
    known: dict[object, str] = field(default_factory=dict[object, str])
    count: int = 0

    def emit(self, text: str) -> str:
        """A register with the value of an instruction."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def once(self, key: object, made: Callable[[], str]) -> str:
        """A value that is computed once."""
        if key not in self.known:
            self.known[key] = made()
        return self.known[key]

    def checked(self, operation: str, left: str, right: str) -> str:
        """A sum or a product, which must fit into 64 bits."""
        code = _CHECKED[operation]
        pair = self.emit(
            f"call {{ i64, i1 }} @llvm.{code}.with.overflow.i64(i64 {left}, i64 {right})"
        )
        self.wrong.append(self.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"))
        return self.emit(f"extractvalue {{ i64, i1 }} {pair}, 0")

    def product(self, factors: Iterable[str]) -> str:
        """What some numbers give when they are multiplied."""
        found = "1"
        for each in factors:
            if each != "1":
                found = each if found == "1" else self.checked("mul", found, each)
        return found

    def value(self, polynomial: Polynomial) -> str:
        """A sum of products of atoms."""
        return self.once(polynomial, lambda: self._sum(polynomial))

    def _sum(self, polynomial: Polynomial) -> str:
        found = "0"
        for atoms, factor in polynomial:
            monomial = self.once(("product", atoms), lambda atoms=atoms: self._product(atoms))
            term = str(factor) if monomial == "1" else self.product((monomial, str(factor)))
            found = term if found == "0" else self.checked("add", found, term)
        return found

    def _product(self, atoms: Sequence[int]) -> str:
        return self.product(self.atoms[each] for each in atoms)

    def require(self, relation: str, left: str, right: str) -> None:
        """What the program relies on."""
        met = self.emit(f"icmp {_RELATIONS[relation]} i64 {left}, {right}")
        self.wrong.append(self.emit(f"xor i1 {met}, true"))

    def require_number(self, value: str) -> None:
        """That a number is one that the code may be given."""
        self.require(">", value, str(-MOST_NUMBER))
        self.require("<", value, str(MOST_NUMBER))

    def atom(self, operation: str, left: str, right: str) -> str:
        """A quotient, rounded down, 0 for a divisor of 0, a minimum or maximum, or what a scaling makes of a length."""
        scaling = scaling_of(operation)
        if scaling is not None:
            return self.scaled(scaling, left)
        if operation != "div":
            is_left = self.emit(
                f"icmp {'slt' if operation == 'min' else 'sgt'} i64 {left}, {right}"
            )
            return self.emit(f"select i1 {is_left}, i64 {left}, i64 {right}")
        positive = self.emit(f"icmp sgt i64 {right}, 0")
        divisor = self.emit(f"select i1 {positive}, i64 {right}, i64 1")
        quotient = self.emit(f"sdiv i64 {left}, {divisor}")
        rest = self.emit(f"srem i64 {left}, {divisor}")
        negative = self.emit(f"icmp slt i64 {rest}, 0")
        down = self.emit(f"add i64 {quotient}, {self.emit(f'sext i1 {negative} to i64')}")
        return self.emit(f"select i1 {positive}, i64 {down}, i64 0")

    def scaled(self, scaling: Scaling, length: str) -> str:
        """A length times a number with a fraction, at most MOST_NUMBER."""
        kind = "float" if scaling.dtype == "float32" else "double"
        # Numbers of both types are written as those of 64 bits are.
        number, most = (
            f"0x{struct.pack('>d', each).hex()}" for each in (scaling.number, MOST_NUMBER)
        )
        real = self.emit(f"sitofp i64 {length} to {kind}")
        real = self.emit(f"{'fdiv' if scaling.divides else 'fmul'} {kind} {real}, {number}")
        fits = self.emit(f"fcmp olt {kind} {real}, {most}")
        real = self.emit(f"select i1 {fits}, {kind} {real}, {kind} {most}")
        whole = self.emit(f"fptosi {kind} {real} to i64")
        if not scaling.upwards:
            return whole
        less = self.emit(f"fcmp olt {kind} {self.emit(f'sitofp i64 {whole} to {kind}')}, {real}")
        return self.emit(f"add i64 {whole}, {self.emit(f'zext i1 {less} to i64')}")


def _serves(name: str, program: Signature, dimensions: Sequence[OpenDimension]) -> str:
    """
    The function that finds out whether a program serves some lengths: the bytes of its workspace, or -1. It writes the
    table, and behind it the bytes of the outputs, which are right where it serves.
    """
    lengths, code = lengths_of(program), _Arithmetic()
    _find_atoms(code, lengths, dimensions)
    for guard, relation in lengths.guards:
        code.require(relation, code.value(guard), "0")
    for number, dimension in enumerate(dimensions):
        for i, axis in dimension.places:
            code.require("==", code.value(lengths.inputs[i][axis]), f"%d{number}")
    values = [code.value(each) for each in lengths.table]
    for spec, shape in zip(program.outputs, lengths.outputs, strict=True):
        values.append(code.product((*map(code.value, shape), str(spec.dtype.itemsize))))
    size = code.value(lengths.workspace_bytes)
    for each in dict.fromkeys((*values, size)):
        code.require_number(each)
    code.require(">=", size, "0")
    for place, each in enumerate(values):
        slot = code.emit(f"getelementptr i64, ptr %table, i64 {place}")
        code.lines.append(f"  store i64 {each}, ptr {slot}")
    wrong = "false"
    for each in code.wrong:
        wrong = code.emit(f"or i1 {wrong}, {each}")
    result = code.emit(f"select i1 {wrong}, i64 -1, i64 {size}")
    parameters = f"{_parameters(dimensions)}ptr %table"
    lines = "\n".join(code.lines)
    return (
        f"define internal i64 @{name}({parameters}) nounwind {{\n{lines}\n  ret i64 {result}\n}}\n"
    )


def _find_atoms(
    code: _Arithmetic, lengths: OpenLengths, dimensions: Sequence[OpenDimension]
) -> None:
    """The lengths that are symbols, and what is computed from them."""
    places = {place: number for number, each in enumerate(dimensions) for place in each.places}
    for source, (least, most) in zip(lengths.sources, lengths.bounds, strict=True):
        value = f"%d{places[source]}"
        code.atoms.append(value)
        code.require(">=", value, str(least))
        code.require("<=", value, str(most))
    for operation, left, right in lengths.atoms:
        code.atoms.append(code.atom(operation, code.value(left), code.value(right)))


def _parameters(dimensions: Sequence[OpenDimension]) -> str:
    return "".join(f"i64 %d{number}, " for number in range(len(dimensions)))


def _table_size(interface: OpenInterface) -> int:
    """The most numbers that a program has in its table, with the sizes of the outputs."""
    return max(len(lengths_of(each).table) + len(each.outputs) for each in interface.programs)


def _find(interface: OpenInterface) -> str:
    """The function that tries the programs: the bytes of the workspace, or -1; it writes the number of the program."""
    name, parameters = interface.name, _parameters(interface.dimensions)
    body = "\n".join(
        f"try.{number}:\n"
        f"  %size.{number} = call i64 @{name}.serves.{number}({parameters}ptr %table)\n"
        f"  %serves.{number} = icmp sge i64 %size.{number}, 0\n"
        f"  br i1 %serves.{number}, label %found.{number}, label %try.{number + 1}\n"
        f"found.{number}:\n"
        f"  store i64 {number}, ptr %found\n"
        f"  ret i64 %size.{number}"
        for number in range(len(interface.programs))
    )
    return (
        f"define internal i64 @{name}.find({parameters}ptr %table, ptr %found) nounwind {{\n"
        f"  br label %try.0\n{body}\ntry.{len(interface.programs)}:\n  ret i64 -1\n}}\n"
    )


def _sizes(interface: OpenInterface) -> str:
    """The functions for the sizes of the workspace and of outputs."""
    name, parameters = interface.name, _parameters(interface.dimensions)
    starts = [len(lengths_of(each).table) for each in interface.programs]
    listed = ", ".join(f"i64 {each}" for each in starts)
    room = (
        f"  %table = alloca [{_table_size(interface)} x i64]\n"
        "  %found = alloca i64\n"
        f"  %size = call i64 @{name}.find({parameters}ptr %table, ptr %found)\n"
    )
    count = len(starts)
    return f"""
@{name}.starts = internal constant [{count} x i64] [{listed}]

define i64 @{name}_workspace_bytes({parameters.removesuffix(", ")}) nounwind {{
{room}  ret i64 %size
}}

define i64 @{name}_output_bytes(i64 %number{"".join(f", i64 %d{i}" for i in range(len(interface.dimensions)))}) nounwind {{
{room}  %serves = icmp sge i64 %size, 0
  %is.output = icmp ult i64 %number, {len(interface.outputs)}
  %both = and i1 %serves, %is.output
  br i1 %both, label %read, label %none
read:
  %program = load i64, ptr %found
  %start.at = getelementptr [{count} x i64], ptr @{name}.starts, i64 0, i64 %program
  %start = load i64, ptr %start.at
  %place = add i64 %start, %number
  %bytes.at = getelementptr i64, ptr %table, i64 %place
  %bytes = load i64, ptr %bytes.at
  ret i64 %bytes
none:
  ret i64 -1
}}
"""


def _prepare(interface: OpenInterface) -> str:
    """The function that fills a place for lengths: whether a program serves them."""
    name, inputs = interface.name, len(interface.taken)
    parameters = _parameters(interface.dimensions)
    lines: list[str] = []
    for number in range(inputs):
        lines += [
            f"  %from.{number} = getelementptr ptr, ptr %inputs, i64 {number}",
            f"  %input.{number} = load ptr, ptr %from.{number}",
            f"  %to.{number} = getelementptr ptr, ptr %place, i64 {number}",
            f"  store ptr %input.{number}, ptr %to.{number}",
        ]
    entry = f"@{entry_name(name, 0)}"
    for number in range(1, len(interface.programs)):
        lines += [
            f"  %is.{number} = icmp eq i64 %program, {number}",
            f"  %entry.{number} = select i1 %is.{number}, ptr @{entry_name(name, number)}, ptr {entry}",
        ]
        entry = f"%entry.{number}"
    body = "\n".join(lines)
    return f"""
define internal i1 @{name}.prepare({parameters}ptr %inputs, ptr %place, ptr %table) nounwind {{
  %found = alloca i64
  %size = call i64 @{name}.find({parameters}ptr %table, ptr %found)
  %serves = icmp sge i64 %size, 0
  br i1 %serves, label %fill, label %none
fill:
  %program = load i64, ptr %found
{body}
  %table.to = getelementptr ptr, ptr %place, i64 {inputs}
  store ptr %table, ptr %table.to
  %entry.to = getelementptr ptr, ptr %place, i64 {inputs + 1}
  store ptr {entry}, ptr %entry.to
  ret i1 true
none:
  ret i1 false
}}
"""


def _dispatch(interface: OpenInterface) -> str:
    """What every thread of a team runs: the entry function that stands in the place."""
    return f"""
define void @{programs_name(interface.name)}_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace,
    i64 %thread, i64 %threads, ptr %team) nounwind {{
  %slot = getelementptr ptr, ptr %inputs, i64 {len(interface.taken) + 1}
  %entry = load ptr, ptr %slot
  call void %entry(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 %thread, i64 %threads, ptr %team)
  ret void
}}
"""


def _run(interface: OpenInterface, function: str, team: str) -> str:
    """`run`, or `run_on` for a team."""
    name, parameters = interface.name, _parameters(interface.dimensions)
    programs = programs_name(name)
    return f"""
declare void @{programs}_{function}({"ptr, " if team else ""}ptr, ptr, ptr, ptr)

define i32 @{name}_{function}({team}{parameters}ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace) nounwind {{
  %place = alloca [{len(interface.taken) + 2} x ptr]
  %table = alloca [{_table_size(interface)} x i64]
  %serves = call i1 @{name}.prepare({parameters}ptr %inputs, ptr %place, ptr %table)
  br i1 %serves, label %go, label %none
go:
  call void @{programs}_{function}({team}ptr %place, ptr %outputs, ptr %constants, ptr %workspace)
  ret i32 0
none:
  ret i32 1
}}
"""


def _teams(interface: OpenInterface) -> str:
    """Teams of the caller's own."""
    name, programs = interface.name, programs_name(interface.name)
    return f"""
declare ptr @{programs}_team_create(i64)
declare void @{programs}_team_destroy(ptr)

define ptr @{name}_team_create(i64 %threads) nounwind {{
  %team = call ptr @{programs}_team_create(i64 %threads)
  ret ptr %team
}}

define void @{name}_team_destroy(ptr %team) nounwind {{
  call void @{programs}_team_destroy(ptr %team)
  ret void
}}
"""
