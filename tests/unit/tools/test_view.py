"""`xrelay view`: what is drawn, where it stands, and what is refused. See also test_view_page.py."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest
from commands.runs import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import parsed

from xrelay.analysis.fusion.plan import FusionNode, FusionOptions, FusionPlan, plan_fusion
from xrelay.compiler import read_model
from xrelay.lowering.program.steps import Step
from xrelay.tools.errors import FAILED, CommandFailed
from xrelay.tools.view.from_plan import graphs
from xrelay.tools.view.graph import Graph, Unit
from xrelay.tools.view.layout import COLUMN_GAP, LONGEST_EDGE, lay_out
from xrelay.tools.view.page import lesson, script_json
from xrelay.tools.view.picture import short_type
from xrelay.tools.view.steps import read_times

FUSE = FusionOptions(2)
EXAMPLE = Path(__file__).parents[1] / "data" / "view.mlir"
T = "tensor<4x4xf32>"

REGIONS = f"""
func.func private @lib_0(%a: {T}, %b: {T}) -> ({T}, {T}) attributes {{Compiler = "lib"}} {{
  %0 = relay.nn.dense %a, %b : ({T}, {T}) -> {T}
  %1 = relay.nn.relu %0 : ({T}) -> {T}
  return %0, %1 : {T}, {T}
}}
func.func @main(%x: {T}, %w: {T}, %p: i1) -> {T} {{
  %0, %1 = func.call @lib_0(%x, %w) : ({T}, {T}) -> ({T}, {T})
  %2 = relay.annotation.compiler_begin %0 compiler "other" : ({T}) -> {T}
  %3 = relay.tanh %2 : ({T}) -> {T}
  %4 = relay.annotation.compiler_end %3 compiler "other" : ({T}) -> {T}
  %5 = relay.composite "lib.chain" %4 : ({T}) -> {T} {{
  ^bb0(%q: {T}):
    %s = relay.exp %q : ({T}) -> {T}
    %t = relay.abs %s : ({T}) -> {T}
    relay.yield %t : {T}
  }}
  %6 = scf.if %p -> ({T}) {{
    %u = relay.negative %1 : ({T}) -> {T}
    scf.yield %u : {T}
  }} else {{
    scf.yield %1 : {T}
  }}
  %7 = relay.fused %5, %6 : ({T}, {T}) -> {T} {{
  ^bb0(%q: {T}, %r: {T}):
    %s = relay.sigmoid %q : ({T}) -> {T}
    %t = relay.add %s, %r : ({T}, {T}) -> {T}
    relay.yield %t : {T}
  }}
  return %7 : {T}
}}
"""


def names(unit: Unit) -> list[str]:
    return [node.name for node in unit.members]


def edge_names(graph: Graph) -> set[tuple[str, str]]:
    return {(edge.source.name, edge.target.name) for edge in graph.edges}


# -- what is drawn ------------------------------------------------------------------------------


def test_example() -> None:
    module, _ = read_model(EXAMPLE)
    (graph,) = graphs(module, FUSE)
    kernels = [unit for unit in graph.units if unit.fused]
    assert list(map(names, kernels)) == [
        ["0.5", "nn.conv2d", "add", "nn.relu", "multiply", "add"],
        ["nn.softmax", "exp"],
    ]
    assert [unit.anchor and unit.anchor.name for unit in kernels] == ["nn.conv2d", "nn.softmax"]
    refused = {
        (edge.source.label, edge.target.label): edge.refusal.rule
        for edge in graph.edges
        if edge.refusal is not None
    }
    assert refused == {("add #5", "nn.softmax #6"): 21, ("exp #7", "return #8"): 3}
    inputs = {node.name for node in graph.nodes if node.role == "input"}
    assert inputs == {"x", "w", "c"}


def test_refusals_are_those_of_the_plan() -> None:
    module, _ = read_model(EXAMPLE)
    (graph,) = graphs(module, FusionOptions(0))
    assert graph.plan is not None
    found = {
        (edge.source.op, edge.target.op): edge.refusal
        for edge in graph.edges
        if edge.refusal is not None and edge.target.role != "output"
    }
    assert found == {(each.producer, each.consumer): each.refusal for each in graph.plan.boundaries}


def test_bodies_are_drawn_in_place() -> None:
    (main, branch) = graphs(parsed(REGIONS), FUSE)
    assert main.title == "func.func main"
    assert branch.title == "scf.if, region 0 in func.func main"
    regions = {region.label: [node.name for node in region.members] for region in main.regions}
    assert regions == {
        "lib_0 for lib": ["nn.dense", "nn.relu"],
        "composite lib.chain": ["exp", "abs"],
        "region for other": ["annotation.compiler_begin", "tanh", "annotation.compiler_end"],
    }
    edges = edge_names(main)
    assert ("w", "nn.dense") in edges
    assert ("nn.dense", "annotation.compiler_begin") in edges
    assert ("nn.relu", "scf.if") in edges  # used inside of it
    assert ("abs", "sigmoid") in edges and ("scf.if", "add") in edges and ("add", "return") in edges
    (library,) = [unit for unit in main.units if unit.compiler]
    assert (library.compiler, names(library), library.fused) == (
        "lib",
        ["nn.dense", "nn.relu"],
        False,
    )
    assert ["sigmoid", "add"] in [names(unit) for unit in main.units if unit.fused]
    assert ["exp", "abs"] in [names(unit) for unit in main.units if unit.fused]


def test_uncalled_and_recursive_functions_of_compilers() -> None:
    text = f"""
    func.func private @f(%a: {T}) -> {T} attributes {{Compiler = "lib"}} {{
      %0 = func.call @f(%a) : ({T}) -> {T}
      %1 = relay.exp %0 : ({T}) -> {T}
      return %1 : {T}
    }}
    func.func private @g(%a: {T}) -> {T} attributes {{Compiler = "lib"}} {{
      %0 = relay.abs %a : ({T}) -> {T}
      return %0 : {T}
    }}
    func.func @main(%a: {T}) -> {T} {{
      %0 = func.call @f(%a) : ({T}) -> {T}
      %1 = relay.tanh %0 : ({T}) -> {T}
      return %1 : {T}
    }}
    """
    found = {
        graph.title: [node.name for node in graph.nodes] for graph in graphs(parsed(text), FUSE)
    }
    assert found == {
        "func.func g": ["a", "abs", "return"],
        "func.func main": ["a", "call f", "exp", "tanh", "return"],
    }


def test_a_function_of_a_compiler_is_one_unit_whatever_is_fused_in_it() -> None:
    text = f"""
    func.func private @f(%a: {T}) -> {T} attributes {{Compiler = "lib"}} {{
      %0 = relay.fused %a : ({T}) -> {T} {{
      ^bb0(%q: {T}):
        %s = relay.sqrt %q : ({T}) -> {T}
        relay.yield %s : {T}
      }}
      %1 = relay.abs %0 : ({T}) -> {T}
      return %1 : {T}
    }}
    func.func @main(%a: {T}) -> {T} {{
      %0 = relay.fused %a : ({T}) -> {T} {{
      ^bb0(%q: {T}):
        %s = relay.exp %q : ({T}) -> {T}
        %t = relay.tanh %s : ({T}) -> {T}
        relay.yield %t : {T}
      }}
      %1 = func.call @f(%0) : ({T}) -> {T}
      return %1 : {T}
    }}
    """
    (main,) = graphs(parsed(text), FUSE)
    units = [(unit.compiler, unit.fused, names(unit)) for unit in main.units]
    assert ("", True, ["exp", "tanh"]) in units
    assert ("lib", False, ["sqrt", "abs"]) in units
    assert sum("sqrt" in found for *_, found in units) == 1


def test_every_node_has_one_unit() -> None:
    for graph in graphs(parsed(REGIONS), FUSE):
        members = [node for unit in graph.units for node in unit.members]
        assert sorted(node.number for node in members) == list(range(len(graph.nodes)))
        assert all(node in graph.unit_of[node].members for node in graph.nodes)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("tensor<1x64x56x?xf32>", "1×64×56×? f32"),
        ("tensor<f32>", "f32"),
        ("tuple<tensor<2xi8>, tensor<?xbf16>>", "tuple<2 i8, ? bf16>"),
        ("!relay.ref<tensor<4xf32>>", "!relay.ref<4 f32>"),
        ("index", "index"),
    ],
)
def test_short_type(text: str, short: str) -> None:
    assert short_type(text) == short


# -- the steps of the algorithm -----------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Random programs of operators of several kinds."""
    values = ["%x"]
    lines: list[str] = []
    for number in range(draw(st.integers(1, 14))):
        recent = st.sampled_from(values[-5:])
        a, b, name = draw(recent), draw(recent), f"%v{number}"
        lines.append(
            draw(
                st.sampled_from(
                    [
                        f"{name} = relay.exp {a} : ({T}) -> {T}",
                        f"{name} = relay.add {a}, {b} : ({T}, {T}) -> {T}",
                        f"{name} = relay.transpose {a} {{axes = array<i64: 1, 0>}} : ({T}) -> {T}",
                        f"{name} = relay.nn.dense {a}, %w : ({T}, {T}) -> {T}",
                        f"{name} = relay.nn.softmax {a} : ({T}) -> {T}",
                    ]
                )
            )
        )
        values.append(name)
    body = "\n".join(lines)
    return f"func.func @main(%x: {T}, %w: {T}) -> {T} {{\n{body}\nreturn {values[-1]} : {T}\n}}"


def merged(plan: FusionPlan) -> set[frozenset[int]]:
    """The groups that come about when all merges of the attempts are made."""
    groups: dict[FusionNode, set[int]] = {node: {node.index} for node in plan.nodes.values()}
    for attempt in plan.attempts:
        if attempt.merged:
            assert attempt.node.dominator is not None
            joined = set[int]()
            for node in (attempt.node, *attempt.between, attempt.node.dominator):
                joined |= groups[node]
            for node in plan.nodes.values():
                if node.index in joined:
                    groups[node] = joined
    return {frozenset(group) for group in groups.values()}


@settings(max_examples=60, deadline=None)
@given(programs())
def test_attempts_lead_to_the_groups(text: str) -> None:
    module = parsed(text)
    (graph,) = graphs(module, FUSE)
    plan = graph.plan
    assert plan is not None
    expected = {frozenset(plan.nodes[op].index for op in group.members) for group in plan.groups}
    assert merged(plan) == expected
    numbers = {op: node.number for op, node in graph.node_of().items()}
    steps = lesson(graph, numbers)
    assert [step["part"] for step in steps] == sorted(str(step["part"]) for step in steps)
    assert sum(bool(step["merges"]) for step in steps) == sum(a.merged for a in plan.attempts)


def test_last_refusal_of_a_node_is_among_its_attempts() -> None:
    module, _ = read_model(EXAMPLE)
    function = next(iter(module.ops))
    plan = plan_fusion(function.regions[0].block, FUSE)
    refused = {attempt.node: attempt.refusal for attempt in plan.attempts if attempt.refusal}
    (add,) = [node for node in plan.nodes.values() if node.index == 5]
    assert refused[add] is add.refusal


# -- places -------------------------------------------------------------------------------------


@st.composite
def layered(draw: st.DrawFn) -> tuple[list[float], list[tuple[int, int]]]:
    count = draw(st.integers(1, 30))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    chosen = draw(st.lists(pairs, max_size=50))
    edges = sorted({(min(pair), max(pair)) for pair in chosen if pair[0] != pair[1]})
    return draw(
        st.lists(st.sampled_from([20.0, 44.0, 90.0]), min_size=count, max_size=count)
    ), edges


@settings(max_examples=80, deadline=None)
@given(layered())
def test_boxes_do_not_overlap(case: tuple[list[float], list[tuple[int, int]]]) -> None:
    heights, edges = case
    layout = lay_out(heights, 100, edges)
    rows: dict[float, list[float]] = {}
    for x, y in layout.tops:
        rows.setdefault(y, []).append(x)
    for row in rows.values():
        row.sort()
        assert all(b - a >= 100 + COLUMN_GAP - 0.3 for a, b in pairwise(row))
    for (_, y), height in zip(layout.tops, layout.heights, strict=True):
        assert y >= 0 and y + height <= layout.height + 1e-6
    for (source, target), route in zip(edges, layout.routes, strict=True):
        ys = [y for _, y in route]
        assert ys == sorted(ys)
        assert route[-1] == layout.tops[target]
        if not layout.references:
            x, y = layout.tops[source]
            assert route[0] == (x, y + heights[source])
    assert all(50 - 0.1 <= x <= layout.width - 50 + 0.1 for x, _ in layout.tops)


def test_long_edges_become_references() -> None:
    count = LONGEST_EDGE + 3
    chain = [(i, i + 1) for i in range(count - 1)]
    layout = lay_out([40.0] * count, 100, [*chain, (0, count - 1)])
    assert layout.references == [(0, count - 1)]
    assert layout.tops[count][1] == layout.tops[count - 2][1]  # just above its target


def test_inputs_stand_above_their_first_user() -> None:
    layout = lay_out([40.0] * 4, 100, [(0, 1), (1, 2), (3, 2)])
    assert layout.tops[3][1] == layout.tops[1][1]


# -- files --------------------------------------------------------------------------------------

HOSTILE = '</script><img src=x onerror="alert(1)">&amp;\'"\\ \u2028'


@pytest.fixture
def hostile(folder: Path, model_of: Callable[..., onnx.ModelProto]) -> Path:
    """A model whose names try to break out of where they are written."""
    nodes = [onnx.helper.make_node("Relu", [HOSTILE], ["y"], HOSTILE)]
    path = folder / "hostile.onnx"
    onnx.save(model_of(nodes, {HOSTILE: ("float32", [4])}, ["y"]), path)
    return path


class Elements(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts.append(data)


def test_names_that_fit_on_a_card(cmd: Command, tmp_path: Path) -> None:
    """An input has no number beside its name, which may be four characters longer for that."""
    fits, long = "a" * 25, "b" * 26
    type_ = "tensor<4xf32>"
    (tmp_path / "names.mlir").write_text(
        f"func.func @main(%{fits}: {type_}, %{long}: {type_}) -> {type_} {{\n"
        f"  %y = relay.add %{fits}, %{long} : ({type_}, {type_}) -> {type_}\n"
        f"  func.return %y : {type_}\n}}\n"
    )
    picture = tmp_path / "names.svg"
    assert cmd("view", tmp_path / "names.mlir", "-o", picture).code == 0
    texts = [each.text for each in ElementTree.parse(picture).getroot().iter() if each.text]
    assert fits in texts and f"{long[:24]}…" in texts


def test_names_stay_text(cmd: Command, hostile: Path) -> None:
    page, picture = hostile.with_suffix(".html"), hostile.with_suffix(".svg")
    assert cmd("view", hostile, "-o", page).code == 0
    elements = Elements(page.read_text())
    assert elements.tags.count("script") == 2 and "img" not in elements.tags
    assert not {name for name in elements.attributes if name.startswith("on")}
    data = json.loads(elements.scripts[0])
    assert data["graphs"][0]["nodes"][0]["name"] == HOSTILE
    assert cmd("view", hostile, "-o", picture).code == 0
    root = ElementTree.parse(picture).getroot()
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("title")]
    assert any(text.startswith(HOSTILE) for text in texts)
    assert cmd("view", hostile, "-o", hostile.with_suffix(".dot")).code == 0


@pytest.mark.slow
@given(st.text())
def test_data_in_scripts(text: str) -> None:
    written = script_json([text])
    assert json.loads(written) == [text]
    assert not set("<>&\u2028\u2029") & set(written)


def test_control_characters_are_no_xml(cmd: Command, folder: Path) -> None:
    text = (folder / "add.mlir").read_text().replace("@main", '@"m\\01\\1Bn"')
    (folder / "odd.mlir").write_text(text)
    assert cmd("view", folder / "odd.mlir", "-o", folder / "odd.svg").code == 0
    ElementTree.parse(folder / "odd.svg")


VIEWS = """\
import sys
from xrelay.tools.cli import main
for suffix in (".html", ".svg", ".dot"):
    assert main(["view", sys.argv[1], "-o", sys.argv[2] + suffix]) == 0
"""


@pytest.mark.slow
def test_same_output_each_time(
    cmd: Command, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    environment = {
        "PYTHONHASHSEED": "7",
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path_factory.mktemp("home")),
    }
    command = [sys.executable, "-c", VIEWS, str(EXAMPLE), str(folder / "second")]
    subprocess.run(command, check=True, env=environment)
    for suffix in (".html", ".svg", ".dot"):
        first = folder / f"first{suffix}"
        assert cmd("view", EXAMPLE, "-o", first).code == 0
        assert first.read_bytes() == (folder / f"second{suffix}").read_bytes()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("arguments", [[], ["--fused"]])
def test_graphviz_reads_dot(cmd: Command, folder: Path, arguments: list[str]) -> None:
    (folder / "regions.mlir").write_text(REGIONS)
    path = folder / "regions.dot"
    assert cmd("view", folder / "regions.mlir", "--no-simplify", "-o", path, *arguments).code == 0
    done = subprocess.run(["dot", "-Tplain", path], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert sum(line.startswith("node ") for line in done.stdout.splitlines()) > 5


def test_picture_of_the_documentation(cmd: Command, folder: Path) -> None:
    path = folder / "view.svg"
    assert cmd("view", EXAMPLE, "--no-simplify", "-o", path).code == 0
    picture = Path(__file__).parents[3] / "docs" / "view.svg"
    command = "xrelay view tests/unit/data/view.mlir --no-simplify -o docs/view.svg"
    assert picture.read_text() == path.read_text(), f"run `{command}`"


def test_relay_text(cmd: Command, folder: Path) -> None:
    (folder / "model.relay").write_text(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(4, 4), float32]) -> Tensor[(4, 4), float32] {\n"
        "  let %a = exp(%x);\n  nn.relu(%a)\n}\n"
    )
    assert cmd("view", folder / "model.relay", "-o", folder / "out.dot").code == 0
    assert "nn.relu" in (folder / "out.dot").read_text()
    (folder / "bad.relay").write_text("def")
    cmd("view", folder / "bad.relay", "-o", folder / "bad.dot").refused("bad.relay")
    assert not (folder / "bad.dot").exists()


# -- strategies and times -----------------------------------------------------------------------


def page_data(path: Path) -> Any:
    return json.loads(Elements(path.read_text()).scripts[0])


def test_times_of_a_profile(cmd: Command, folder: Path) -> None:
    trace, page = folder / "trace.json", folder / "page.html"
    assert cmd("run", EXAMPLE, "--profile", "--trace", trace).code == 0
    assert cmd("view", EXAMPLE, "--profile", trace, "-o", page).code == 0
    events = [each for each in json.loads(trace.read_text())["traceEvents"] if each["ph"] == "X"]
    (graph,) = page_data(page)["graphs"]
    steps = {step["number"]: step for unit in graph["units"] for step in unit["steps"]}
    kernels = {i: event for i, event in enumerate(events) if event["name"] != "copy"}
    assert steps.keys() == kernels.keys()
    for number, event in kernels.items():
        assert steps[number]["name"] == event["name"]
        assert steps[number]["seconds"] == pytest.approx(event["dur"] / 1e6)
        assert steps[number]["implementation"] == event["cat"].replace("kernel", "")
    conv = [unit for unit in graph["units"] if "nn.conv2d" in unit["title"]]
    assert conv[0]["steps"][0]["ways"]


def test_strategies_without_times(cmd: Command, folder: Path) -> None:
    page = folder / "page.html"
    assert cmd("view", EXAMPLE, "--strategies", "-o", page).code == 0
    (graph,) = page_data(page)["graphs"]
    steps = [step for unit in graph["units"] for step in unit["steps"]]
    assert steps and all(step["seconds"] is None for step in steps)


def test_profile_of_another_program(cmd: Command, folder: Path) -> None:
    path, out = folder / "trace.json", folder / "out.html"

    def refused(content: str, *parts: str) -> None:
        path.write_text(content)
        cmd("view", folder / "add.mlir", "--profile", path, "-o", out).refused(
            f"--profile is '{path}': ", *parts
        )
        assert not out.exists()

    event = {"ph": "X", "name": "fused_nothing", "dur": 3.0}
    refused("no json", "it is not a JSON file")
    refused("[]", "expected a trace")
    refused(json.dumps({"traceEvents": [event]}), "step 0 is 'fused_nothing', here it is 'fused_")
    refused(json.dumps({"traceEvents": []}), "it has 0 steps, here there are 1")
    refused(json.dumps({"traceEvents": [{"ph": "X", "name": 3}]}), "without name or duration")


def test_times_are_seconds(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = [{"ph": "M"}, *({"ph": "X", "name": name, "dur": 2.5} for name in ("a", "copy"))]
    path.write_text(json.dumps({"traceEvents": events}))
    steps = [Step("a", (), 0, 0), Step("copy", (), 0, 0)]
    assert read_times(path, steps) == [2.5e-6, 2.5e-6]
    with pytest.raises(CommandFailed, match="it has 2 steps, here there are 1"):
        read_times(path, steps[:1])


# -- refusals -----------------------------------------------------------------------------------


def test_refusals(cmd: Command, inside: Path) -> None:
    cmd("view", "add.mlir", "-o", "a.png").refused("-o is 'a.png'", ".html, .svg, .dot")
    cmd("view", "add.mlir", "-o", "a.html", "--fused").refused("--fused goes with .svg and .dot")
    cmd("view", "absent.mlir", "-o", "a.html").refused("cannot read 'absent.mlir'")
    cmd("view", "add.mlir", "-o", "none/a.html").refused("none/a.html")
    cmd("view", "add.mlir", "-o", "a.html", "--max-depth", 0).refused("'max-depth' is 0")
    cmd("view", "add.mlir", "-o", "a.html", "--profile", "absent").refused("'absent': No such file")
    (inside / "none.mlir").write_text("func.func @main() {\n  return\n}\n")
    cmd("view", "none.mlir", "-o", "a.html").refused("nothing to draw", "none.mlir")
    (inside / "odd.mlir").write_text(REGIONS)
    cmd("view", "odd.mlir", "-o", "a.html", "--no-simplify", "--strategies").refused(
        "func.call", "is for another compiler", code=FAILED
    )
    assert not (inside / "a.html").exists()


def test_missing_igraph(cmd: Command, inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    cmd("view", "add.mlir", "-o", "a.html").refused("igraph", "pip install")
    cmd("view", "missing.onnx", "-o", "a.html").refused("'missing.onnx'")
    assert cmd("view", "add.mlir", "-o", "a.dot").code == 0
