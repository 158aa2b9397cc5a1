"""What tables, pictures and charts of commands say, to the last number."""

import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp, TensorType, f32

from xrelay.coverage import Blocker, Coverage, RegionCoverage
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.program.program import PlacedBuffer, PlacedTensor, Program, Step
from xrelay.lowering.program.steps import CALL
from xrelay.placement.confirmation import Verdict
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.placement.search.problem import Outcome, Plan
from xrelay.tools import place, tables
from xrelay.tools.explain.memory import Usage, draw_memory, live_bytes, picture, print_memory
from xrelay.tools.explain.types import TypeUse, print_types
from xrelay.tools.partition import show_coverage

Show = Callable[[Callable[[Console], None]], list[str]]


def shown(print_to: Callable[[Console], None]) -> list[str]:
    """The lines that go to a console, without frames: cells with `|` between them."""
    console = Console(record=True, width=160, file=StringIO(), highlight=False)
    print_to(console)
    return plain(console.export_text())


def plain(text: str) -> list[str]:
    found: list[str] = []
    for line in text.splitlines():
        if not line.strip(" ━─┏┓└┘├┤┡┩╇┳┴┼╋"):
            continue
        whole = line.strip().replace("┃", "│").removeprefix("│").removesuffix("│")
        found.append(" | ".join(cell.strip() for cell in whole.split("│")).strip(" "))
    return found


def test_numbers_have_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal either: what is coloured there is what a command says is."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console = tables.table_console()
    assert console.is_terminal
    with console.capture() as text:
        console.print("3 of 'names' at 0x10 [bold]are[/] None")
    assert text.get() == "3 of 'names' at 0x10 \x1b[1mare\x1b[0m None\n"


# -- partition --------------------------------------------------------------------------------------

FIRST = RegionCoverage(
    "one", "fast", ("nn.conv2d", "a", "b", "c", "d", "e"), 2_345_678, 3072, 1.5e-3
)
SECOND = RegionCoverage("two", "fast", ("exp",), 100_000, 512)
REST = RegionCoverage("main", "default", ("tanh",), 2_554_322, 0)
TANH = Blocker("tanh", "fast", "it has [no] tanh", 3, 2_554_322)
EXP = Blocker("exp", "fast", "it is too large", 1, 5000)

HEADER = "region | backend | operators | MFLOP | in and out"
CONV = "one | fast | 6: nn.conv2d, a, b, c, d, … | 2.35 | 3.0 KiB"
SUMS = (
    "2 regions with 87.5 % of the operators and 48.9 % of the operations; "
    "1 operator and 2.6 MFLOP stay on the host"
)
ONE_STAYS = "1 operator and 2.6 MFLOP stay on the host"
NOTHING_STAYS = "0 operators and 0.0 MFLOP stay on the host"
BLOCKED = [
    "What stays on the host",
    "operator | count | MFLOP | backend | reason",
    "tanh | 3 | 2.55 | fast | it has [no] tanh",
]
WHOLE = Coverage((FIRST, SECOND), REST, (TANH, EXP))
PLAIN = Coverage((replace(FIRST, seconds=None), SECOND), REST, (TANH, EXP))


@pytest.mark.parametrize(
    ("report", "limit", "lines"),
    [
        (
            WHOLE,
            None,
            [
                "Regions",
                f"{HEADER} | estimated",
                f"{CONV} | 1.500 ms",
                "two | fast | 1: exp | 0.10 | 0.5 KiB |",
                SUMS,
                "the regions of simulated backends would take 1.500 ms",
                *BLOCKED,
                "exp | 1 | 0.01 | fast | it is too large",
            ],
        ),
        (
            PLAIN,
            1,
            ["Regions", HEADER, CONV, "1 more", SUMS, *BLOCKED, "1 more"],
        ),
        (
            PLAIN,
            2,
            [
                *("Regions", HEADER, CONV, "two | fast | 1: exp | 0.10 | 0.5 KiB", SUMS, *BLOCKED),
                "exp | 1 | 0.01 | fast | it is too large",
            ],
        ),
        (
            Coverage((replace(SECOND, operators=("a", "b", "c", "d", "e")),), REST, ()),
            None,
            [
                *("Regions", HEADER, "two | fast | 5: a, b, c, d, e | 0.10 | 0.5 KiB"),
                f"1 region with 83.3 % of the operators and 3.8 % of the operations; {ONE_STAYS}",
            ],
        ),
        (
            Coverage((), replace(REST, operators=(), flops=0), ()),
            0,
            [
                *("Regions", HEADER),
                f"0 regions with 0.0 % of the operators and 0.0 % of the operations; {NOTHING_STAYS}",
            ],
        ),
    ],
    ids=["simulated", "one row", "as many rows as there are", "one region", "nothing"],
)
def test_coverage(report: Coverage, limit: int | None, lines: list[str]) -> None:
    """Regions, sums, and what stays on the host: no more rows than asked for, and how many are left."""
    assert shown(lambda console: show_coverage(report, console, limit)) == lines


# -- place ------------------------------------------------------------------------------------------


def region(engine: str, seconds: float, *names: str, source: str = "measured") -> dict[str, Any]:
    nodes = [{"op": name} for name in names]
    return {"engine": engine, "seconds": seconds, "source": source, "nodes": nodes}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables go into a pipe."""
    monkeypatch.setattr(tables, "WIDTH", 160)


def placed(**changes: Any) -> Any:
    """A plan with regions of own code that stand together, and of another engine that do as well."""
    regions = [
        region(HOST, 0.0, "tuple"),
        region(OWN, 2e-6, "exp", "constant", source="model"),
        region(OWN, 1.5e-6, "a", "b", "c", "d", source="function"),
        region("fast[1]", 4e-6, "nn.dense"),
        region("fast[1]", 5e-6, "nn.dense", "a", "b", "c", "d", "e"),
        region(OWN, 1e-6, "tanh"),
    ]
    plan = {"regions": regions, "seconds": 0.0123456, "bound": 0.012}
    return SimpleNamespace(
        **{"plan": plan, "verdict": None, "excluded": {}, "measured": 7, **changes}
    )


ROWS = [
    "Regions",
    "engine | operators | µs | source",
    f"{OWN} | 5: exp, a, b, c, d | 3.5 | model",
    "fast[1] | 1: nn.dense | 4.0 | measured",
    "fast[1] | 6: nn.dense, a, b, c, d, … | 5.0 | measured",
    f"{OWN} | 1: tanh | 1.0 | measured",
    "expected 12.346 ms, of which borders 12.332 ms; no plan under 12.000 ms; 7 measurements",
]


def test_placements(capsys: pytest.CaptureFixture[str], wide: None) -> None:
    """Regions of own code that stand together are one row, those of other engines are not."""
    place.show(placed())
    assert plain(capsys.readouterr().out) == ROWS


def test_placements_that_ran(capsys: pytest.CaptureFixture[str], wide: None) -> None:
    """The fastest plan comes first, the one that ships is marked, and limits are of mixed plans alone."""
    seconds = {"plan 1": 2.5e-3, "only [fast]": 1.25e-3, "plan 2": 3e-3}
    verdict = Verdict("plan 1", "only [fast]", seconds, {"plan 1": 0.98765, "plan 2": 1.5})
    place.show(placed(verdict=verdict, excluded={"only [slow]": "it cannot run 'exp'"}))
    assert plain(capsys.readouterr().out) == [
        *ROWS,
        "Whole runs",
        "plan | ms | ratio at most",
        "only [fast] | 1.250 |",
        "plan 1 (ships) | 2.500 | 0.988",
        "plan 2 | 3.000 | 1.500",
        "only [slow] is left out: it cannot run 'exp'",
    ]


@pytest.mark.parametrize(
    ("is_complete", "title"),
    [(True, "Time and memory"), (False, "Time and memory, as far as it was searched")],
)
def test_fronts(
    capsys: pytest.CaptureFixture[str], wide: None, is_complete: bool, title: str
) -> None:
    """A row for each plan, and whether there may be others."""
    plans = (Plan((0,), 1.5e-3, 4096), Plan((1,), 2.25e-3, 0))
    place.show_front(Outcome(plans, 1.5e-3, is_complete))
    lines = plain(capsys.readouterr().out)
    assert " ".join(lines[:-3]) == title
    assert lines[-3:] == ["ms | bytes", "1.500 | 4096", "2.250 | 0"]


# -- types ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "count", "last"),
    [(None, 2, []), (2, 2, []), (1, 1, ["… 1 more rows"]), (0, 0, ["… 2 more rows"])],
)
def test_types(limit: int | None, count: int, last: list[str]) -> None:
    """No more rows than asked for, and how many are left."""
    uses = [
        TypeUse("nn.conv2d", "f32 × bf16 → f32", "always: weights are rounded", 3, ("[a]", "b")),
        TypeUse("exp", "f32 → f32", "never: computed in the type of the model", 1, ()),
    ]
    rows = [
        "nn.conv2d | f32 × bf16 → f32 | always: weights are rounded | 3 | [a], b",
        "exp | f32 → f32 | never: computed in the type of the model | 1 |",
    ]
    header = "operator | types | why | calls | nodes"
    found = shown(lambda console: print_types(console, uses, limit))
    assert found == [header, *rows[:count], *last]


# -- memory -----------------------------------------------------------------------------------------

MIB = 2**20


def tensor(relation: str, step: int, offset: int = 0) -> PlacedTensor:
    return PlacedTensor(TensorType(f32, [4, 4]), row_major((4, 4)), offset, step, relation)


def step(name: str) -> Step:
    return Step(name, (), 0, 0)


BUFFERS = (
    PlacedBuffer(0, 6 * MIB, 0, 1, (tensor("own", 0),)),
    PlacedBuffer(6 * MIB, 2 * MIB, 1, 3, (tensor("own", 1), tensor("in place", 2))),
    PlacedBuffer(2 * MIB, 4 * MIB, 2, 2, ()),
    PlacedBuffer(8 * MIB, 0, 0, 3, (tensor("part", 3, 64),)),
    PlacedBuffer(0, 2 * MIB, 3, 3, (tensor("part", 3, 64),)),
)
STEPS = ("fused_exp", "fused_add", CALL, "copy")


def program(buffers: tuple[PlacedBuffer, ...] = BUFFERS, names: tuple[str, ...] = STEPS) -> Program:
    return Program("m", ModuleOp([]), (), (), (), 40, 8 * MIB, tuple(map(step, names)), buffers)


def test_use_of_memory() -> None:
    """What is in use at each step, at most, and without sharing."""
    assert [live_bytes(program(), each) for each in range(4)] == [
        6 * MIB,
        8 * MIB,
        6 * MIB,
        4 * MIB,
    ]
    assert Usage.of(program()) == Usage(8 * MIB, 8 * MIB, 14 * MIB, 40, 0, 0)
    assert Usage.of(program((), ())) == Usage(8 * MIB, 0, 0, 40, 0, 0)


def test_pictures_of_memory() -> None:
    """A column for each step, 24 lines for 8 MiB: buffers without bytes are not seen."""
    lines = picture(program())
    assert lines == ["│██ ▓│"] * 6 + ["│██░ │"] * 12 + ["│ ▒▒▒│"] * 6
    assert picture(program((), STEPS)) == [] == picture(program(BUFFERS, ()))


def test_small_buffers_are_seen() -> None:
    """One of a few bytes has a line, and one of one step of many has a column, of 96."""
    small = PlacedBuffer(4 * MIB, 64, 96, 96, (tensor("own", 0),))
    names = ("fused_exp",) * 192
    lines = picture(program((small,), names))
    empty = "│" + " " * 96 + "│"
    assert lines == [empty] * 12 + ["│" + " " * 48 + "█" + " " * 47 + "│"] + [empty] * 11


def rows_of_buffers(limit: int | None) -> list[str]:
    found = shown(lambda console: print_memory(console, program(), limit))
    start = found.index("workspace") + 2
    return found[start : found.index("steps from left to right, addresses from top to bottom")]


def test_tables_of_memory() -> None:
    """Buffers in the order of their first steps, then of their places, and the tensors that each holds."""
    found = shown(lambda console: print_memory(console, program(), None))
    assert found[:8] == [
        "bytes",
        "memory | bytes |",
        "workspace | 8,388,608 | 8.00 MiB",
        "in use at once, at most | 8,388,608 | 8.00 MiB",
        "if no buffers shared memory | 14,680,064 | 14.00 MiB",
        "constants | 40 | 0.00 MiB",
        "inputs | 0 | 0.00 MiB",
        "outputs | 0 | 0.00 MiB",
    ]
    assert found[8:10] == [
        "workspace",
        "steps | offset | size | holds | format | how | written by",
    ]
    rows = [
        "0 – 1 | 0 | 6,291,456 | tensor<4x4xf32> | row-major | own | 0 fused_exp",
        "0 – 3 | 8,388,608 | 0 | tensor<4x4xf32> | row-major | part, 64 bytes in | 3 copy",
        "1 – 3 | 6,291,456 | 2,097,152 | tensor<4x4xf32> | row-major | own | 1 fused_add",
        "|  |  | tensor<4x4xf32> | row-major | in place | 2 call",
        "2 – 2 | 2,097,152 | 4,194,304 | frames of calls |  |  | 2 call",
        "3 – 3 | 0 | 2,097,152 | tensor<4x4xf32> | row-major | part, 64 bytes in | 3 copy",
    ]
    assert [row.lstrip("| ") for row in rows_of_buffers(None)] == [r.lstrip("| ") for r in rows]
    assert rows_of_buffers(5) == rows_of_buffers(None)
    assert rows_of_buffers(2) == [*rows[:2], "… 3 more buffers"]
    assert rows_of_buffers(0) == ["… 5 more buffers"]


def test_scratch_memory_is_named() -> None:
    """A buffer without tensors is that of a kernel, or the frames of a call."""
    buffers = (PlacedBuffer(64, 128, 0, 0, ()),)
    found = shown(lambda console: print_memory(console, program(buffers), None))
    assert "0 – 0 | 64 | 128 | scratch memory |  |  | 0 fused_exp" in found


class Recorder:
    """Notes how its methods are called, and those of what they return."""

    def __init__(self, calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]], name: str = ""):
        self.calls, self.name = calls, name

    def __getattr__(self, name: str) -> "Recorder":
        return Recorder(self.calls, f"{self.name}.{name}".lstrip("."))

    def __getitem__(self, key: Any) -> "Recorder":
        return Recorder(self.calls, f"{self.name}[{', '.join(key)}]")

    def __call__(self, *args: Any, **options: Any) -> "Recorder":
        listed = tuple(list(each) if isinstance(each, range) else each for each in args)
        if self.name.endswith("savefig"):
            Path(args[0]).write_bytes(b"chart")
            listed = ()
        self.calls.append((self.name, listed, options))
        return Recorder(self.calls, self.name.rpartition(".")[2])


def bars(
    first: list[int],
    size: list[float],
    count: list[int],
    offset: list[float],
    colour: str,
    label: str,
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    look = {"align": "edge", "edgecolor": "white", "linewidth": 0.4}
    return "subplots.bar", (first, size, count, offset), {**look, "color": colour, "label": label}


@pytest.mark.parametrize(
    ("name", "format_", "metadata"), [("a.svg", "svg", {"Date": None}), ("a.png", "png", None)]
)
def test_charts_of_memory(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    format_: str,
    metadata: dict[str, None] | None,
) -> None:
    """What is drawn: a bar for each buffer in MiB, by kind, and what is in use at each step, the last one whole."""
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    package = SimpleNamespace(rcParams={})
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", Recorder(calls))
    draw_memory(program(BUFFERS[:3]), tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"chart"
    assert package.rcParams == {"svg.hashsalt": "xrelay"}
    line = {"where": "post", "color": "black", "linewidth": 0.8, "label": "in use"}
    assert calls == [
        ("Figure", (), {"figsize": (6.24, 6), "layout": "constrained"}),
        ("Figure.subplots", (), {}),
        bars([0], [6.0], [2], [0.0], "#0072b2", "own"),
        bars([1], [2.0], [3], [6.0], "#e69f00", "in place"),
        bars([2], [4.0], [1], [2.0], "#999999", "scratch"),
        ("subplots.step", ([0, 1, 2, 3, 4], [6.0, 8.0, 6.0, 2.0, 2.0]), line),
        ("subplots.set_xlim", (0, 4), {}),
        ("subplots.set_xlabel", ("step",), {}),
        ("subplots.set_ylabel", ("workspace, MiB",), {}),
        ("subplots.legend", (), {"loc": "upper right", "fontsize": 8}),
        ("subplots.spines[top, right].set_visible", (False,), {}),
        ("Figure.savefig", (), {"format": format_, "dpi": 150, "metadata": metadata}),
    ]


def test_charts_are_no_wider_than_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However many steps there are."""
    for count, width in ((299, 23.94), (300, 24.0), (301, 24.0)):
        calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        monkeypatch.setitem(sys.modules, "matplotlib", SimpleNamespace(rcParams={}))
        monkeypatch.setitem(sys.modules, "matplotlib.figure", Recorder(calls))
        draw_memory(program(BUFFERS[:1], ("fused_exp",) * count), tmp_path / "a.png")
        assert calls[0][2]["figsize"] == (pytest.approx(width), 6)
