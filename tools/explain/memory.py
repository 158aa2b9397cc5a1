"""`xrelay explain --memory`: how much memory a program needs, and what lies where, and when."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from xrelay.analysis.facts.ports import Port
from xrelay.dialects.lengths import certainly, hint, is_open
from xrelay.lowering.emit.format import NO_HALO, Format, row_major
from xrelay.lowering.program.program import PlacedBuffer, Program
from xrelay.lowering.program.steps import CALL, Step
from xrelay.lowering.program.storage import byte_size
from xrelay.runtime.files import whole_file
from xrelay.tools.errors import BAD_INPUT, CommandFailed
from xrelay.tools.explain.lengths import number_json, number_text, type_text

CHART_SUFFIXES = (".svg", ".png")
PICTURE_SIZE = 24, 96
"""Lines and columns of the picture."""
COLOURS = {"own": "#0072b2", "part": "#009e73", "in place": "#e69f00", "scratch": "#999999"}
"""Of a palette that people with colour blindness can tell apart (Okabe and Ito, 2008)."""


@dataclass(frozen=True)
class Usage:
    """Bytes that a program needs."""

    workspace: int
    needed: int
    """The most that is in use at any step: no plan can do with less."""
    separate: int
    """What the workspace would need if nothing shared memory."""
    constants: int
    inputs: int
    outputs: int

    @staticmethod
    def of(program: Program) -> "Usage":
        """The needs of a program."""

        def ports(listed: Sequence[Port]) -> int:
            return sum(byte_size(port.type) for port in listed)

        steps = range(len(program.steps))
        return Usage(
            program.workspace_bytes,
            max((live_bytes(program, step) for step in steps), key=hint, default=0),
            sum(buffer.size for buffer in program.buffers),
            program.constant_bytes,
            ports(program.inputs),
            ports(program.outputs),
        )


def live_bytes(program: Program, step: int) -> int:
    """Bytes of the workspace that are in use at a step."""
    return sum(each.size for each in program.buffers if each.first <= step <= each.last)


def kind(buffer: PlacedBuffer) -> str:
    """What a buffer holds: scratch memory, the parts of a concatenation, or its own tensors."""
    relations = [tensor.relation for tensor in buffer.tensors]
    if not relations:
        return "scratch"
    return next((each for each in ("part", "in place") if each in relations), "own")


def format_text(format: Format) -> str:
    """The spaces between the elements of a tensor."""
    if format.halo != NO_HALO:
        return f"halo {', '.join(map(str, format.halo))}"
    others = zip(format.strides, row_major(format.shape).strides, strict=True)
    if all(certainly(one, other) for one, other in others):
        return "row-major"
    return f"rows of {format.strides[-2]}"


def print_memory(console: Console, program: Program, limit: int | None) -> None:
    """The needs, the buffers in the order of their first steps, and a picture of them."""
    usage = Usage.of(program)
    table = Table("memory", title="bytes")
    table.add_column("bytes", justify="right")
    table.add_column("", justify="right")
    has_lengths = any(map(is_open, astuple(usage)))
    if has_lengths:
        table.add_column("at other lengths", overflow="fold")
    for name, size in (
        ("workspace", usage.workspace),
        ("  in use at once, at most", usage.needed),
        ("  if no buffers shared memory", usage.separate),
        ("constants", usage.constants),
        ("inputs", usage.inputs),
        ("outputs", usage.outputs),
    ):
        cells = [f"{hint(size):,}", f"{hint(size) / 2**20:.2f} MiB"]
        table.add_row(name, *cells, *([str(size) if is_open(size) else ""] * has_lengths))
    console.print(table)
    _print_buffers(console, program, limit)
    console.print("steps from left to right, addresses from top to bottom")
    console.print("█ tensors  ▓ parts of concatenations  ▒ in place  ░ scratch memory")
    for line in picture(program):
        console.print(line)


def _print_buffers(console: Console, program: Program, limit: int | None) -> None:
    buffers = sorted(program.buffers, key=lambda each: (each.first, hint(each.offset)))
    table = Table("steps", title="workspace")
    for heading in ("offset", "size"):
        table.add_column(heading, justify="right", overflow="fold")
    for heading in ("holds", "format", "how", "written by"):
        table.add_column(heading, overflow="fold")
    for buffer in buffers[:limit]:
        places = number_text(buffer.offset), number_text(buffer.size)
        labels = [f"{buffer.first} – {buffer.last}", *places]
        if not buffer.tensors:
            is_call = program.steps[buffer.first].name == CALL
            what = "frames of calls" if is_call else "scratch memory"
            table.add_row(*labels, what, "", "", _step(program.steps, buffer.first))
        for tensor in buffer.tensors:
            how = tensor.relation
            if how == "part":
                how = f"part, {number_text(tensor.offset)} bytes in"
            written = _step(program.steps, tensor.step)
            table.add_row(
                *labels, Text(type_text(tensor.type)), format_text(tensor.format), how, written
            )
            labels = ["", "", ""]
    console.print(table)
    if limit is not None and len(buffers) > limit:
        console.print(f"… {len(buffers) - limit} more buffers")


def _step(steps: Sequence[Step], number: int) -> str:
    return f"{number} {steps[number].name}"


def picture(program: Program) -> list[str]:
    """The workspace as text: a column for one step or a few, a line for a range of addresses."""
    lines, columns = PICTURE_SIZE
    steps = len(program.steps)
    if not program.buffers or not steps or not hint(program.workspace_bytes):
        return []
    columns = min(columns, steps)
    canvas = [[" "] * columns for _ in range(lines)]
    shades = {"own": "█", "part": "▓", "in place": "▒", "scratch": "░"}
    for buffer in program.buffers:
        start, whole = hint(buffer.offset), hint(program.workspace_bytes)
        rows = _cells(start, start + hint(buffer.size), whole, lines)
        for x in _cells(buffer.first, buffer.last + 1, steps, columns):
            for y in rows:
                canvas[y][x] = shades[kind(buffer)]
    return [f"│{''.join(row)}│" for row in canvas]


def _cells(start: int, stop: int, whole: int, count: int) -> range:
    """Which of `count` equal parts of a range the piece from `start` to `stop` lies in."""
    first = start * count // whole
    return range(first, max(first + 1, -(-stop * count // whole)) if stop > start else first)


def memory_json(program: Program) -> dict[str, object]:
    """The same as data: sizes and offsets in bytes, steps by number."""
    usage = Usage.of(program)
    return {
        **number_json("workspace", usage.workspace),
        **number_json("in_use_at_most", usage.needed),
        **number_json("if_nothing_were_shared", usage.separate),
        "constants": usage.constants,
        **_ports_json("inputs", program.inputs),
        **_ports_json("outputs", program.outputs),
        "steps": [
            {"name": step.name, **number_json("in_use", live_bytes(program, number))}
            for number, step in enumerate(program.steps)
        ],
        "buffers": [
            {
                **number_json("offset", buffer.offset),
                **number_json("size", buffer.size),
                "first": buffer.first,
                "last": buffer.last,
                "tensors": [
                    {
                        "type": type_text(tensor.type),
                        **number_json("offset", tensor.offset),
                        "strides": list(map(hint, tensor.format.strides)),
                        "halo": list(map(hint, tensor.format.halo)),
                        "step": tensor.step,
                        "relation": tensor.relation,
                    }
                    for tensor in buffer.tensors
                ],
            }
            for buffer in program.buffers
        ],
    }


def _ports_json(side: str, listed: Sequence[Port]) -> dict[str, object]:
    """The sizes of inputs or outputs, and the expressions of those that depend on lengths."""
    sizes = {port.name: byte_size(port.type) for port in listed}
    found: dict[str, object] = {side: {name: hint(size) for name, size in sizes.items()}}
    if any(map(is_open, sizes.values())):
        found[f"{side}_expressions"] = {name: str(size) for name, size in sizes.items()}
    return found


def check_chart(path: Path) -> None:
    """
    Refuses, before any work is done, a chart that cannot be drawn.

    Raises CommandFailed for another kind of file, and where matplotlib is missing.
    """
    if path.suffix not in CHART_SUFFIXES:
        raise CommandFailed(
            f"--chart is '{path}', expected a name that ends with {', '.join(CHART_SUFFIXES)}",
            BAD_INPUT,
        )
    try:
        import_module("matplotlib")
    except ImportError as error:
        raise CommandFailed(
            "--chart needs matplotlib: pip install matplotlib", BAD_INPUT
        ) from error


def draw_memory(program: Program, path: Path) -> None:
    """Writes an SVG or PNG: a rectangle for each buffer, steps to the right, addresses upward."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.rcParams["svg.hashsalt"] = "xrelay"  # The same bytes for the same program.
    steps = len(program.steps)
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(min(24.0, 6 + 0.06 * steps), 6), layout="constrained"
    )
    axes: Any = figure.subplots()
    for name, colour in COLOURS.items():
        chosen = [buffer for buffer in program.buffers if kind(buffer) == name]
        if not chosen:
            continue
        axes.bar(
            [buffer.first for buffer in chosen],
            [hint(buffer.size) / 2**20 for buffer in chosen],
            [buffer.last + 1 - buffer.first for buffer in chosen],
            [hint(buffer.offset) / 2**20 for buffer in chosen],
            align="edge",
            color=colour,
            edgecolor="white",
            linewidth=0.4,
            label=name,
        )
    axes.step(
        range(steps + 1),
        [hint(live_bytes(program, min(step, steps - 1))) / 2**20 for step in range(steps + 1)],
        where="post",
        color="black",
        linewidth=0.8,
        label="in use",
    )
    axes.set_xlim(0, steps)
    axes.set_xlabel("step")
    axes.set_ylabel("workspace, MiB")
    axes.legend(loc="upper right", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    with whole_file(path) as place:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(place, format=path.suffix.removeprefix("."), dpi=150, metadata=metadata)
