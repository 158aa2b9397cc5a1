"""Functions behind commands on their own: inputs that are made up, lists of passes, why something is not used, pictures."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, StringAttr, f32
from xdsl.parser import Parser

from xrelay.compiler import context
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.traits import OpPatternKind
from xrelay.interpreters.constants import constant_op
from xrelay.lowering.emit.strategy import Basis
from xrelay.options import CompileOptions
from xrelay.runtime.signature import OpenTensor, TensorSpec
from xrelay.tools import passes, reduction, tables
from xrelay.tools.errors import CommandFailed
from xrelay.tools.explain.strategies import why_not
from xrelay.tools.explain.types import type_uses
from xrelay.tools.passes import PassRow, show_passes
from xrelay.tools.run_model import at_lengths, complete_inputs, random_array
from xrelay.tools.semantics import is_same
from xrelay.tools.view import layout, picture
from xrelay.tools.view.from_plan import LONGEST_TEXT, attribute_text
from xrelay.tools.view.graph import Node, Unit
from xrelay.tools.view.page import lesson

F32 = np.dtype(np.float32)


# -- inputs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("bool", {0, 1}),
        ("int8", set(range(8))),
        ("uint16", set(range(8))),
        ("int32", {0, 1}),
        ("int64", {0, 1}),
    ],
)
def test_random_integers(dtype: str, values: set[int]) -> None:
    """Small ones of the dtype and the shape; those that may be indices or flags are the least."""
    array = random_array(TensorSpec("x", (30, 40), np.dtype(dtype)), 3)
    assert array.shape == (30, 40) and array.dtype == np.dtype(dtype)
    assert {int(each) for each in array.ravel()} == values


def test_random_floats() -> None:
    """Normal ones, which depend on the seed and on the name of the input."""
    spec = TensorSpec("x", (30, 40), F32)
    array = random_array(spec, 3)
    assert array.shape == (30, 40) and array.dtype == F32
    assert 0.95 < array.std() < 1.05 and abs(array.mean()) < 0.1
    assert np.array_equal(array, random_array(spec, 3))
    assert not np.array_equal(array, random_array(spec, 4))
    assert not np.array_equal(array, random_array(TensorSpec("y", (30, 40), F32), 3))
    known = OpenTensor("x", (30, 40), F32)
    assert np.array_equal(array, random_array(known, 3))
    for spec in (
        OpenTensor("x", ("n", 40), F32),
        OpenTensor("x", None, F32),
        OpenTensor("x", (3,), None),
    ):
        with pytest.raises(CommandFailed) as caught:
            random_array(spec, 3)
        assert str(caught.value) == f"input {spec} has unknown dimensions: use --input or --shape"


OPEN = OpenTensor("x", ("n", 3, "m", ""), F32)


@pytest.mark.parametrize(
    ("shapes", "dims"),
    [
        ({}, ("n", 3, "m", "")),
        ({"n": (5,)}, (5, 3, "m", "")),
        ({"n": [5], "m": [7], "k": [9]}, (5, 3, 7, "")),
        ({"n": (5, 6)}, ("n", 3, "m", "")),
        ({"x": (1, 3, 2, 4)}, (1, 3, 2, 4)),
        ({"x": [1, 3, 2, 4], "n": (9,)}, (1, 3, 2, 4)),
        ({"y": (1, 2)}, ("n", 3, "m", "")),
    ],
)
def test_lengths_of_inputs(shapes: dict[str, Any], dims: tuple[int | str, ...]) -> None:
    """Whole shapes by the name of the input, else lengths by that of the dimension."""
    assert at_lengths(OPEN, shapes) == OpenTensor("x", dims, F32)


def test_inputs_that_are_missing() -> None:
    """They are made up at the lengths that are stated; those that are given stay."""
    signature: Any = SimpleNamespace(
        inputs=(OpenTensor("x", ("n", 3), F32), TensorSpec("y", (2,), F32))
    )
    y = np.zeros(2, np.float32)
    found = complete_inputs(signature, {"y": y}, 3, {"n": (4,)})
    assert list(found) == ["y", "x"] and found["y"] is y and found["x"].shape == (4, 3)
    assert complete_inputs(signature, {"x": y}, 3)["x"] is y
    with pytest.raises(CommandFailed) as caught:
        complete_inputs(signature, {"y": y}, 3, {"m": (4,)})
    assert str(caught.value) == (
        "--shape names 'm', which is neither an input nor an open dimension of 'x' float32[n, 3], 'y' float32[2]"
    )


# -- passes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        ((1, 2), "1,2"),
        ((), ""),
        ("all", "all"),
        (3, "3"),
    ],
)
def test_defaults_of_options(value: object, shown: str) -> None:
    """In the notation of a command line."""
    assert vars(passes)["_default"](value) == shown


def test_options_without_default() -> None:
    """They have to be given."""
    assert vars(passes)["_default"](vars(passes)["MISSING"]) is None
    option = passes.OptionRow("n", None, "a number")
    assert option.text == "n" and passes.OptionRow("n", "", "a number").text == "n="


class Terminal(Console):
    """A console that is a terminal, and keeps what is printed."""

    def __init__(self) -> None:
        super().__init__(
            width=140, file=StringIO(), force_terminal=True, color_system=None, record=True
        )


def test_passes_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of all, and how to see more."""
    terminal = Terminal()
    parity: Any = {
        "Fuse[Ops]": {"passes": ["a"], "records": (3, 4), "changed": (1, 2), "exceptions": 5}
    }
    rows = [
        PassRow("a", "does [this]", "", (), (), parity),
        PassRow("b", "does that", "", (), (), {}),
    ]
    monkeypatch.setattr(passes, "pass_rows", lambda: rows)
    monkeypatch.setattr(tables, "table_console", lambda: terminal)
    args: Any = SimpleNamespace(names=[], markdown=False)
    assert show_passes(args) == 0
    lines = terminal.export_text().splitlines()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]
    assert cells == [
        ["a", "does [this]", "Fuse[Ops]", "3 of 4", "1 of 2", "5"],
        ["b", "does that", "", "", "", ""],
    ]
    header = next(line for line in lines if "┃" in line)
    assert tuple(cell.strip() for cell in header.split("┃")[1:-1]) == passes.HEADER
    assert lines[-1] == "2 passes; `xrelay passes NAME` says more"


def test_passes_as_a_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table with links, and what there is to say of each."""
    option = passes.OptionRow("most", "3", "how many")
    rows = [PassRow("a", "does | this", "More.", ("b", "c"), (option,), {})]
    monkeypatch.setattr(passes, "pass_rows", lambda: rows)
    args: Any = SimpleNamespace(names=[], markdown=True)
    assert show_passes(args) == 0
    lines = capsys.readouterr().out.removeprefix(passes.PAGE).splitlines()
    assert lines == [
        "| pass | what it does | TVM's | records | changed | exceptions |",
        "| --- | --- | --- | --- | --- | --- |",
        "| [`a`](#a) | does \\| this |  |  |  |  |",
        *("", "## a", "", "Does | this.", "", "More.", "", "Runs `b`, `c`.", ""),
        "- `most=3`: how many",
    ]


def test_partitioned_programs_are_written(cmd: Callable[..., Any], tmp_path: Path) -> None:
    """With a function for each region."""
    path, made = tmp_path / "p.mlir", tmp_path / "made.mlir"
    path.write_text(WHAT_IF)
    done = cmd("partition", path, "--backend", "numpy", "-o", made)
    assert done.code == 0, done.err
    text = made.read_text()
    assert text.count("func.func") == 2 and 'Compiler = "numpy"' in text


# -- comparing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        (np.zeros(3, np.float32), np.zeros(3, np.float32), True),
        (np.zeros(3, np.float32), np.zeros((3, 1), np.float32), False),
        (np.zeros(3, np.float32), np.zeros(3, np.float64), False),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.array([1.0, 1 + 1e-15]), np.ones(2), True),
        (np.array([1.0, 1.1]), np.ones(2), False),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), True),
        (np.array([np.nan, 1.0]), np.ones(2), False),
    ],
)
def test_same_values(found: Any, expected: Any, same: bool) -> None:
    """Of one shape and dtype, up to roundings."""
    assert is_same(found, expected) is same


def test_reductions_that_are_over() -> None:
    """After so many trials nothing else is tried."""
    program: Any = ModuleOp([])
    step: Any = None
    shown: list[str] = []
    reducer = reduction.Reducer(program, step, Context(), program, shown.append)
    reducer.trials = reduction.MOST_TRIALS - 1
    assert not reducer.is_over
    reducer.trials = reduction.MOST_TRIALS
    part = reduction.Part((), ())
    assert reducer.is_over and not reducer.fails(part) and shown == []
    change: Any = SimpleNamespace(function="none", operand=0)
    assert reduction.reduced_program(program, step, Context(), change) is program


# -- why --------------------------------------------------------------------------------------------


def way(level: int, cost: float | None, measured: float | None = None) -> Any:
    return SimpleNamespace(
        implementation=SimpleNamespace(plevel=level), cost=cost, measured=measured
    )


@pytest.mark.parametrize(
    ("basis", "best", "other", "reason"),
    [
        (Basis.RECORD, way(10, 1.0, 2.0), way(10, 1.0, 3.0), "1.50 × the time"),
        (Basis.RECORD, way(10, 1.0, 2.0), way(10, 1.0), "no tuning record"),
        (Basis.RECORD, way(10, 1.0), way(10, 1.0, 2.0), "no tuning record"),
        (Basis.COST, way(10, 2.0), way(9, 1.0), "lower level"),
        (Basis.COST, way(10, 2.0), way(10, 5.0), "2.50 × the estimate"),
        (Basis.COST, way(10, 2.0), way(11, 5.0), "2.50 × the estimate"),
        (Basis.COST, way(10, 2.0), way(10, None), "listed later"),
        (Basis.COST, way(10, None), way(10, 2.0), "listed later"),
        (Basis.COST, way(10, 0.0), way(10, 2.0), "listed later"),
    ],
)
def test_why_an_implementation_is_not_used(
    basis: Basis, best: Any, other: Any, reason: str
) -> None:
    """Records decide before levels, and levels before estimates."""
    selection: Any = SimpleNamespace(basis=basis, candidates=(best, other))
    assert why_not(selection, other) == reason


def uses(text: str, precision: str = "bf16") -> list[tuple[str, str, str]]:
    module = Parser(context(), text).parse_module()
    module.verify()
    options = CompileOptions(precision=precision)
    return [(each.operator, each.types, each.reason) for each in type_uses(module, options)]


WIDE, NARROW = "tensor<4x4xf32>", "tensor<4x4xbf16>"
TYPES = f"""
func.func @main(%x: {WIDE}, %y: {NARROW}, %w: {WIDE}) -> {WIDE} {{
  %c = relay.constant dense<1.5> : {WIDE}
  %0 = relay.cast %x {{dtype = bf16}} : ({WIDE}) -> {NARROW}
  %1 = relay.nn.dense %0, %y : ({NARROW}, {NARROW}) -> {NARROW}
  %2 = relay.nn.dense %x, %w : ({WIDE}, {WIDE}) -> {WIDE}
  %3 = relay.nn.dense %x, %c : ({WIDE}, {WIDE}) -> {WIDE}
  %4 = relay.exp %x : ({WIDE}) -> {WIDE}
  %5 = relay.copy %x : ({WIDE}) -> {WIDE}
  %6 = relay.copy %0 : ({NARROW}) -> {NARROW}
  %7 = relay.composite "some.kernel" %x : ({WIDE}) -> {WIDE} {{
  ^bb0(%p: {WIDE}):
    %e = relay.exp %p : ({WIDE}) -> {WIDE}
    relay.yield %e : {WIDE}
  }}
  %8 = relay.exp %5 : ({WIDE}) -> {WIDE}
  func.return %2 : {WIDE}
}}
"""


def test_types_and_their_reasons() -> None:
    """The list that says so, and what keeps a product from taking fewer bits."""
    found = uses(TYPES)
    assert found == [
        ("cast", "f32 → bf16", "between both"),
        ("nn.dense", "bf16 × bf16 → bf16", "always: operands are rounded"),
        ("nn.dense", "f32 × f32 → f32", "always, but it has no constant weights"),
        ("nn.dense", "f32 × f32 → f32", "always, but its weights are too large for the type"),
        ("exp", "f32 → f32", "never: computed in the type of the model"),
        ("copy", "f32 → f32", "follow: its operand is not rounded"),
        ("copy", "bf16 → bf16", "follow: its operand is rounded"),
        ("composite some.kernel", "f32 → f32", "as the operators in it"),
    ]
    stated = {reason for _, _, reason in uses(TYPES, "f32")}
    assert stated == {"as the model states it"}


def test_products_of_other_types() -> None:
    """Rounded weights alone, and operands that are not f32."""
    text = """
    func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xbf16>, %z: tensor<4x4xf64>) -> tensor<4x4xf64> {
      %1 = relay.nn.dense %z, %z : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
      func.return %1 : tensor<4x4xf64>
    }
    """
    assert uses(text) == [("nn.dense", "f64 × f64 → f64", "always, but its operands are not f32")]


# -- pictures ---------------------------------------------------------------------------------------


def test_attributes_as_text() -> None:
    """Long ones are cut, and those of many elements have their number alone."""
    short = ArrayAttr([StringAttr("a" * (LONGEST_TEXT - 4))])
    assert len(str(short)) == LONGEST_TEXT and attribute_text(short) == str(short)
    long = ArrayAttr([StringAttr("a" * (LONGEST_TEXT - 3))])
    assert attribute_text(long) == str(long)[:LONGEST_TEXT] + "…"
    assert attribute_text(IntAttr(5)) == str(IntAttr(5)) and attribute_text(f32) == "f32"

    def constant(*shape: int) -> str:
        rng = np.random.default_rng(0)
        op = constant_op(rng.standard_normal(shape).astype(np.float32))
        assert isinstance(op, ConstantOp)
        return attribute_text(op.value)

    assert constant(40, 50) in ("elements in a file", "dense<2000 elements>")
    assert constant(2).startswith("dense<[")


@pytest.mark.parametrize(
    ("points", "gap", "moved"),
    [
        ([(0.0, 0.0), (5.0, 0.0)], 4.0, [0.0, 5.0]),
        ([(0.0, 0.0), (2.0, 0.0)], 4.0, [-1.0, 3.0]),
        ([(2.0, 0.0), (0.0, 0.0)], 4.0, [3.0, -1.0]),
        ([(0.0, 0.0), (2.0, 1.0)], 4.0, [0.0, 2.0]),
        ([(0.0, 0.0), (0.0, 0.1), (0.0, -0.2)], 4.0, [-4.0, 0.0, 4.0]),
        ([(0.0, 0.0), (1.0, 0.0), (20.0, 0.0), (21.0, 0.0)], 4.0, [-1.5, 2.5, 18.5, 22.5]),
        ([(0.0, 0.0), (5.0, 0.0), (5.0, 0.0), (5.0, 0.0)], 4.0, [-2.25, 1.75, 5.75, 9.75]),
        ([(0.0, 0.0), (8.0, 0.0), (9.0, 0.0)], 4.0, [0.0, 6.5, 10.5]),
    ],
)
def test_points_of_a_layer_keep_apart(
    points: Sequence[tuple[float, float]], gap: float, moved: list[float]
) -> None:
    """They move as little as possible in sum of squares, and stay in their order; other layers do not matter."""
    given = [list(each) for each in points]
    vars(layout)["_separate"](given, gap)
    assert [x for x, _ in given] == [round(each, 1) for each in moved]
    assert [y for _, y in given] == [y for _, y in points]


def test_lessons_need_a_plan() -> None:
    """A graph that nobody fused has no steps."""
    graph: Any = SimpleNamespace(plan=None)
    assert lesson(graph, {}) == []


def unit(number: int, count: int, role: Any = "operator", **options: Any) -> Unit:
    """A unit of operators of two kinds in turn."""
    kinds = (OpPatternKind.BROADCAST, OpPatternKind.ELEMWISE)
    types = ("tensor<1x64x2xf32>", "tensor<i8>")
    members = [Node(i, role, f"op{i}", types, kinds[i % 2]) for i in range(count)]
    return Unit(number, members, **options)


def card(given: Unit, height: float = 100.0) -> list[str]:
    """What is in the card of a unit at (200, 50)."""
    text = vars(picture)["_unit_card"](given, (200.0, 50.0), height)
    return text.replace("><", ">\n<").splitlines()


def lines(count: int) -> list[str]:
    """The operators in a card."""
    found: list[str] = []
    for i in range(count):
        mark = ("broadcast", "elemwise")[i % 2]
        found.append(f'<circle class="dot {mark}" cx="14" cy="{14 + 18 * i}" r="4"/>')
        found.append(f'<text x="26" y="{18 + 18 * i}" class="name">op{i}</text>')
    return found


@pytest.mark.parametrize(("count", "more"), [(2, 0), (8, 0), (9, 1), (11, 3)])
def test_cards_of_units(count: int, more: int) -> None:
    """Eight operators at most, and how many more there are."""
    title = " + ".join(f"op{i}" for i in range(count))
    found = card(unit(9, count, fused=True, kind=OpPatternKind.ELEMWISE))
    rest = [f'<text x="26" y="162" class="type">… {more} more</text>'] if more else []
    assert found == [
        '<g class="card unit operator elemwise fused hull-1" data-u="9" transform="translate(105,50)">',
        f"<title>{title}: 1×64×2 f32, i8</title>",
        '<rect class="box" x="0" y="0" width="190" height="100" rx="7"/>',
        '<rect class="tint" x="0" y="0" width="190" height="100" rx="7"/>',
        *lines(min(count, 8)),
        *rest,
        '<text x="26" y="91" class="type">1×64×2 f32, i8</text>',
    ]


def test_cards_of_other_units() -> None:
    """Those of one operator, of an input, and of what another compiler has."""
    assert card(unit(3, 1, fused=False), 44.0) == [
        '<g class="card unit operator" data-u="3" transform="translate(105,50)">',
        "<title>op0: 1×64×2 f32, i8</title>",
        '<rect class="box" x="0" y="0" width="190" height="44" rx="7"/>',
        '<circle class="dot broadcast" cx="14" cy="14" r="4"/>',
        '<text x="26" y="18" class="name anchor">op0</text>',
        '<text x="26" y="35" class="type">1×64×2 f32, i8</text>',
    ]
    assert card(unit(3, 1, "input", fused=False, kind=OpPatternKind.OPAQUE), 44.0) == [
        '<g class="card unit input" data-u="3" transform="translate(105,50)">',
        "<title>op0: 1×64×2 f32, i8</title>",
        '<rect class="box" x="0" y="0" width="190" height="44" rx="22"/>',
        '<text x="14" y="18" class="name anchor">op0</text>',
        '<text x="14" y="35" class="type">1×64×2 f32, i8</text>',
    ]
    found = card(unit(8, 2, fused=False, compiler="another one"))
    assert found[0] == (
        '<g class="card unit operator fused hull-0" data-u="8" transform="translate(105,50)">'
    )
    assert found[1] == "<title>op0 + op1: another one: 1×64×2 f32, i8</title>"
    assert found[3].startswith('<rect class="tint"')
    assert found[-1] == '<text x="26" y="91" class="type">another one: 1×64×2 f3…</text>'


@pytest.mark.parametrize(("count", "height"), [(1, 44), (2, 76), (8, 184), (9, 202), (30, 202)])
def test_heights_of_units(count: int, height: float) -> None:
    """A line for each operator that is shown, and one that says how many are not."""
    assert vars(picture)["_unit_height"](unit(0, count, fused=True)) == height


def test_times_in_cards() -> None:
    """A number, and a bar that is as wide as the card for the longest."""
    assert vars(picture)["_time"](44, 0.0125, 0.05) == (
        '<text x="182" y="18" class="index">12.5 ms</text>'
        '<rect class="time" x="8" y="39" width="43.5" height="3" rx="1.5"/>'
    )


# -- what if ----------------------------------------------------------------------------------------

WHAT_IF = """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = relay.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = relay.nn.softmax %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = relay.tanh %s : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %b : tensor<4x4xf32>
}
"""
EDGE, OTHER_EDGE = "exp #0 -> nn.softmax #1", "nn.softmax #1 -> tanh #2"
SOFTMAX = "rule 22: the path to relay.nn.softmax is out_ewise_fusable"


@pytest.mark.parametrize(
    ("kinds", "lines"),
    [
        (
            ["nn.softmax=elemwise"],
            ["main: 2 fused functions become 1", f"  + {EDGE} fuse (before: {SOFTMAX})"],
        ),
        (
            ["relay.nn.softmax=opaque"],
            [
                "main: 2 fused functions become 3",
                f"  - {OTHER_EDGE} do not fuse: rule 6: relay.nn.softmax is taken as opaque",
            ],
        ),
        (
            ["exp=opaque"],
            [
                "main: 2 fused functions become 2",
                f"  ~ {EDGE}: rule 6: relay.exp is taken as opaque (before: {SOFTMAX})",
            ],
        ),
        (
            ["tanh=opaque", "nn.softmax=elemwise"],
            [
                "main: 2 fused functions become 2",
                f"  + {EDGE} fuse (before: {SOFTMAX})",
                f"  - {OTHER_EDGE} do not fuse: rule 22: the path to relay.tanh is opaque",
            ],
        ),
        (["tanh=broadcast"], ["main: 2 fused functions become 2"]),
    ],
)
def test_other_kinds(
    cmd: Callable[..., Any], tmp_path: Path, kinds: list[str], lines: list[str]
) -> None:
    """The borders that go and come."""
    path = tmp_path / "p.mlir"
    path.write_text(WHAT_IF)
    options = [word for kind in kinds for word in ("--what-if", kind)]
    done = cmd("explain", path, "--no-simplify", *options)
    assert done.code == 0 and done.out.splitlines() == lines


def test_options_of_targets(opt_cmd: Callable[..., Any], tmp_path: Path) -> None:
    """They are checked before anything is read."""
    opt_cmd(tmp_path / "none.mlir", "-t", "arm-asm{a=1}").refused(
        "-t is 'arm-asm{a=1}': ", 'arguments ["a"] not found'
    )
    path = tmp_path / "p.mlir"
    path.write_text(WHAT_IF)
    done = opt_cmd(path, "-t", "mlir")
    assert done.code == 0 and done.out.startswith("builtin.module {\n  func.func @main(%x: ")
