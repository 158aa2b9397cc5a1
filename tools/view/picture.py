"""
The graphs of `xrelay view` as SVG, the same for pictures and for the page.

Each operator is a card; the stripe on its left shows its kind. The hull behind the cards of a
unit is the union of thick lines along its inner edges, so that it never covers a card of another
unit on purpose. A disc below a card has the number of the rule that keeps it out of the group of
its post-dominator.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from xml.sax.saxutils import escape

from xrelay.dialects.traits import OpPatternKind
from xrelay.tools.view.graph import Edge, Graph, Node, Unit
from xrelay.tools.view.layout import Layout, Point, lay_out, path_data
from xrelay.tools.view.steps import Work

CARD_WIDTH, CARD_HEIGHT = 190, 44
LINE, HEADER, FOOTER = 18, 14, 26
"""Heights in the card of a unit: a member, what is above them, what is below."""
MOST_LINES = 8
NAME_CHARACTERS, TYPE_CHARACTERS = 21, 25
MARGIN = 40
HULL_PAD, REGION_PAD = 9, 14
HULLS = 8
"""Colours of hulls. Those of units that follow each other differ."""

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#f7f8fa", "#13161b"),
    "card": ("#ffffff", "#22272f"),
    "ink": ("#17202c", "#e8ebf0"),
    "soft": ("#566172", "#a0abbb"),
    "line": ("#8792a2", "#66728a"),
    "border": ("#c5ccd6", "#414b59"),
    "accent": ("#0b5fc4", "#72b6ff"),
    "refusal": ("#a8322a", "#ff9d92"),
    "elemwise": ("#2a9d62", "#4fc88b"),
    "broadcast": ("#1c87b0", "#52b9e0"),
    "injective": ("#7563cc", "#a597f5"),
    "comm_reduce": ("#c77f0a", "#efb045"),
    "out_ewise_fusable": ("#cc3f55", "#ff7d8f"),
    "tuple": ("#8a8f98", "#8a93a0"),
    "opaque": ("#3d4450", "#c3cad4"),
    "hull-0": ("#e69f00", "#e69f00"),
    "hull-1": ("#56b4e9", "#56b4e9"),
    "hull-2": ("#009e73", "#00b584"),
    "hull-3": ("#cc79a7", "#d98ab5"),
    "hull-4": ("#d55e00", "#ee7420"),
    "hull-5": ("#0072b2", "#3d9ad6"),
    "hull-6": ("#b3a300", "#d6c733"),
    "hull-7": ("#7f5fc9", "#9f83e6"),
}
"""In light and on dark. The hulls are Okabe and Ito's palette, with two more."""

KINDS = tuple(kind.label for kind in OpPatternKind)


@dataclass(frozen=True)
class View:
    """A picture of a graph, to be put on a page or into a file."""

    width: float
    height: float
    body: str
    """SVG elements."""
    centres: list[Point]
    """The middle of each node or unit."""


def asset(name: str) -> str:
    """A file that comes with this package."""
    return files("xrelay.tools.view").joinpath(name).read_text(encoding="utf-8")


def clean(text: str) -> str:
    """Text for XML, without the characters that XML cannot have."""
    return escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "�", text))


def short_type(text: str) -> str:
    """A type as cards show it: `1×64×56×56 f32` for tensor<1x64x56x56xf32>."""

    def tensor(match: re.Match[str]) -> str:
        shape = match.group(1).rstrip("x").replace("x", "×")
        return f"{shape} {match.group(2)}".strip()

    return re.sub(r"tensor<((?:[\d?]+x)*)([^<>]*)>", tensor, text)


def short_name(text: str, characters: int) -> str:
    """The name of an operator, without its family when it does not fit otherwise."""
    return shortened(text if len(text) <= characters else text.rpartition(".")[2], characters)


def shortened(text: str, characters: int) -> str:
    """Text that fits; what is left out of it is marked."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def _text(x: float, y: float, style: str, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{clean(text)}</text>'


def _rectangle(style: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    return (
        f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{radius:g}"/>'
    )


def _open(style: str, data: str, x: float, y: float) -> str:
    """The start of a group of elements at a place."""
    return f'<g class="{style}" {data} transform="translate({x:g},{y:g})">'


# -- operators --------------------------------------------------------------------------------------


def operator_view(graph: Graph) -> View:
    """Every node as a card, units as hulls."""
    edges = [(edge.source.number, edge.target.number) for edge in graph.edges]
    layout = lay_out([CARD_HEIGHT] * len(graph.nodes), CARD_WIDTH, edges)
    regions, names = _regions(graph, layout)
    parts = ['<g class="hulls">', *regions, *_hulls(graph, layout), '</g><g class="edges">']
    for number, (edge, route) in enumerate(zip(graph.edges, layout.routes, strict=True)):
        inner = graph.unit_of[edge.source] is graph.unit_of[edge.target]
        parts.append(
            f'<path class="edge {"inner" if inner else "outer"}" data-e="{number}" '
            f'd="{path_data(route)}"/>'
        )
    parts.append('</g><g class="cards">')
    for node in graph.nodes:
        parts.append(_card(node, layout.tops[node.number]))
    parts.extend(_references(layout, len(graph.nodes), lambda i: graph.nodes[i].label, "n"))
    parts.extend([*names, "</g>"])
    return View(layout.width, layout.height, "".join(parts), _centres(layout, len(graph.nodes)))


def _centres(layout: Layout, count: int) -> list[Point]:
    return [(layout.tops[i][0], layout.tops[i][1] + layout.heights[i] / 2) for i in range(count)]


def _hulls(graph: Graph, layout: Layout) -> Iterator[str]:
    between: dict[Unit, list[tuple[Edge, str]]] = {}
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        unit = graph.unit_of[edge.source]
        if unit is graph.unit_of[edge.target]:
            between.setdefault(unit, []).append((edge, path_data(route)))
    for unit in graph.units:
        if not unit.fused and len(unit.members) < 2:
            continue
        yield f'<g class="hull hull-{unit.number % HULLS}" data-u="{unit.number}">'
        for node in unit.members:
            yield _backdrop(layout.tops[node.number], HULL_PAD, f' data-n="{node.number}"')
        for edge, route in between.get(unit, []):
            ends = f'data-a="{edge.source.number}" data-b="{edge.target.number}"'
            yield f'<path {ends} d="{route}"/>'
        yield "</g>"


def _regions(graph: Graph, layout: Layout) -> tuple[list[str], list[str]]:
    """
    The outlines of the regions for other compilers, outer ones first: a wide line, and one of paper
    on it. Then their names.
    """
    regions = sorted(graph.regions, key=lambda region: -len(region.members))
    shapes = [
        [_backdrop(layout.tops[node.number], REGION_PAD) for node in region.members]
        for region in regions
    ]
    regions_of: dict[Node, list[int]] = {}
    for number, region in enumerate(regions):
        for node in region.members:
            regions_of.setdefault(node, []).append(number)
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        targets = regions_of.get(edge.target, ())
        for number in regions_of.get(edge.source, ()):
            if number in targets:
                shapes[number].append(f'<path d="{path_data(route)}"/>')
    outlines: list[str] = []
    names: list[str] = []
    for region, pieces in zip(regions, shapes, strict=True):
        shape = "".join(pieces)
        outlines.append(
            f'<g class="region"><g class="rim">{shape}</g><g class="fill">{shape}</g></g>'
        )
        tops = [layout.tops[node.number] for node in region.members]
        x, y = min(tops, key=lambda top: top[1])
        left = x - CARD_WIDTH / 2 - REGION_PAD
        names.append(_text(left, y - REGION_PAD - 6, "region-name", region.label))
    return outlines, names


def _backdrop(top: Point, pad: float, data: str = "") -> str:
    x, y = top[0] - CARD_WIDTH / 2 - pad, top[1] - pad
    width, height = CARD_WIDTH + 2 * pad, CARD_HEIGHT + 2 * pad
    return (
        f'<rect{data} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{pad + 5:g}"/>'
    )


def _engine(node: Node) -> str:
    """Where a plan has an operator, for its title."""
    return "" if node.placed is None else f"; on {node.placed.engine}"


def _card(node: Node, top: Point) -> str:
    x, y = top[0] - CARD_WIDTH / 2, top[1]
    kind = "" if node.kind is None or node.role == "input" else f" {node.kind.label}"
    index = "" if node.fact is None else f"#{node.fact.index}"
    types = ", ".join(map(short_type, node.types))
    name = short_name(node.name, NAME_CHARACTERS if index else NAME_CHARACTERS + 4)
    radius = 7 if node.role == "operator" else CARD_HEIGHT / 2
    parts = [
        _open(f"card {node.role}{kind}", f'data-n="{node.number}"', x, y),
        f"<title>{clean(f'{node.label}: {types}{_engine(node)}')}</title>",
        _rectangle("box", 0, 0, CARD_WIDTH, CARD_HEIGHT, radius),
    ]
    if node.placed is not None:
        colour = f"tint hull-{node.placed.colour % HULLS}"
        parts.append(_rectangle(colour, 0, 0, CARD_WIDTH, CARD_HEIGHT, radius))
    if node.role == "operator":
        parts.append(_rectangle("stripe", 0, 7, 5, CARD_HEIGHT - 14, 2.5))
    parts.append(_text(14, 18, "name", name))
    if index:
        parts.append(_text(CARD_WIDTH - 10, 18, "index", index))
    parts.append(_text(14, 35, "type", shortened(types, TYPE_CHARACTERS)))
    refusal = None if node.fact is None else node.fact.refusal
    if refusal is not None and node.role != "output" and node.fact and node.fact.edges:
        parts.append(
            f'<g class="rule" transform="translate({CARD_WIDTH / 2:g},{CARD_HEIGHT + 13})">'
            f"<title>{clean(str(refusal))}</title>"
            f'<circle r="9"/>{_text(0, 3.5, "number", str(refusal.rule))}</g>'
        )
    return "".join([*parts, "</g>"])


def _references(
    layout: Layout, count: int, label: Callable[[int], str], data: str
) -> Iterator[str]:
    """The boxes that stand for sources far above."""
    for number, (source, _) in enumerate(layout.references, count):
        x, y = layout.tops[number][0] - CARD_WIDTH / 2, layout.tops[number][1]
        height, reference = layout.heights[number], f'data-{data}="{source}"'
        yield (
            f"{_open('card reference', reference, x, y)}"
            f"{_rectangle('box', 0, 0, CARD_WIDTH, height, height / 2)}"
            f"{_text(14, 15, 'type', shortened(f'from {label(source)}', TYPE_CHARACTERS))}</g>"
        )


# -- units ------------------------------------------------------------------------------------------


def unit_view(graph: Graph, works: Mapping[Unit, Sequence[Work]]) -> View:
    """Every unit as a card that lists its operators."""
    heights = [_unit_height(unit) for unit in graph.units]
    pairs = list(graph.unit_edges())
    edges = [(source.number, target.number) for source, target in pairs]
    layout = lay_out(heights, CARD_WIDTH, edges)
    parts = ['<g class="edges">']
    for number, route in enumerate(layout.routes):
        parts.append(f'<path class="edge outer" data-e="{number}" d="{path_data(route)}"/>')
    parts.append('</g><g class="cards">')
    seconds = {
        unit: sum(work.seconds for work in found if work.seconds is not None)
        for unit, found in works.items()
    }
    longest = max(seconds.values(), default=0.0)
    for unit, height in zip(graph.units, heights, strict=True):
        parts.append(_unit_card(unit, layout.tops[unit.number], height))
        if longest and unit in seconds:
            parts.append(_time(height, seconds[unit], longest))
        parts.append("</g>")
    parts.extend(_references(layout, len(graph.units), lambda i: graph.units[i].title, "u"))
    parts.append("</g>")
    return View(layout.width, layout.height, "".join(parts), _centres(layout, len(graph.units)))


def _listed(unit: Unit) -> list[Node]:
    operators = [node for node in unit.members if node.role != "constant"]
    return operators or unit.members


def _unit_height(unit: Unit) -> float:
    lines = len(_listed(unit))
    if lines == 1:
        return CARD_HEIGHT
    return HEADER + LINE * (min(lines, MOST_LINES) + (lines > MOST_LINES)) + FOOTER


def _time(height: float, seconds: float, longest: float) -> str:
    """The time of a unit in its card, and a bar that compares it with the longest."""
    bar = _rectangle("time", 8, height - 5, (CARD_WIDTH - 16) * seconds / longest, 3, 1.5)
    return f"{_text(CARD_WIDTH - 8, 18, 'index', f'{1e3 * seconds:.3g} ms')}{bar}"


def _unit_card(unit: Unit, top: Point, height: float) -> str:
    """The card, not closed yet."""
    x, y = top[0] - CARD_WIDTH / 2, top[1]
    nodes = _listed(unit)
    types = ", ".join(map(short_type, unit.root.types))
    if unit.compiler:
        types = f"{unit.compiler}: {types}"
    role = unit.root.role if len(nodes) == 1 else "operator"
    kind = "" if unit.kind is None or role == "input" else f" {unit.kind.label}"
    fused = f" fused hull-{unit.number % HULLS}" if unit.fused or unit.compiler else ""
    parts = [
        _open(f"card unit {role}{kind}{fused}", f'data-u="{unit.number}"', x, y),
        f"<title>{clean(f'{unit.title}: {types}')}</title>",
        _rectangle("box", 0, 0, CARD_WIDTH, height, 7 if role == "operator" else height / 2),
    ]
    if unit.fused or unit.compiler:
        parts.append(_rectangle("tint", 0, 0, CARD_WIDTH, height, 7))
    for line, node in enumerate(nodes[:MOST_LINES]):
        middle = HEADER + LINE * line
        mark = "" if node.kind is None else f" {node.kind.label}"
        if role == "operator":
            parts.append(f'<circle class="dot{mark}" cx="14" cy="{middle}" r="4"/>')
        style = "name anchor" if node is unit.anchor or len(nodes) == 1 else "name"
        left = 26 if role == "operator" else 14
        parts.append(_text(left, middle + 4, style, short_name(node.name, NAME_CHARACTERS)))
    if len(nodes) > MOST_LINES:
        rest = f"… {len(nodes) - MOST_LINES} more"
        parts.append(_text(26, HEADER + LINE * MOST_LINES + 4, "type", rest))
    left = 26 if role == "operator" else 14
    parts.append(_text(left, height - 9, "type", shortened(types, TYPE_CHARACTERS - 2)))
    return "".join(parts)


# -- files ------------------------------------------------------------------------------------------


def standalone(graph: Graph, view: View, *, hulls: bool) -> str:
    """A file of its own with a legend; light or dark as the reader's screen is."""
    present = {node.kind.label for node in graph.nodes if node.kind is not None}
    kinds = [kind for kind in KINDS if kind in present]
    legend: list[str] = []
    for number, kind in enumerate(kinds):
        legend.append(
            f'<g transform="translate({(number % 4) * 160:g},{number // 4 * 20:g})">'
            f'<circle class="dot {kind}" cx="5" cy="-4" r="5"/>{_text(16, 0, "type", kind)}</g>'
        )
    rows = -(-len(kinds) // 4)
    if hulls:
        legend.append(_text(0, 20 * rows, "type", "hull: one kernel · disc: the rule that ends it"))
        rows += 1
    top = 20 * rows + 24
    width = max(view.width, 160 * min(4, len(kinds)), 330) + 2 * MARGIN
    height = view.height + top + 2 * MARGIN
    style = f"{filled(asset('picture.css'), 0)}@media(prefers-color-scheme:dark){{"
    style = f"{style}{filled(asset('picture.css'), 1)}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" class="picture">'
        f"<title>{clean(graph.title)}</title><style>{style}</style>"
        f'<rect class="paper" width="100%" height="100%"/>'
        f'<g transform="translate({MARGIN},{MARGIN})">{"".join(legend)}</g>'
        f'<g transform="translate({(width - view.width) / 2:g},{MARGIN + top})">{view.body}</g>'
        "</svg>\n"
    )


def filled(style: str, scheme: int) -> str:
    """A style sheet with the colours themselves, for what knows no variables."""
    return re.sub(r"var\(--([\w-]+)\)", lambda match: COLOURS[match.group(1)][scheme], style)


def variables() -> str:
    """The colours as variables of a page that changes between light and dark."""
    rules = "".join(
        f"--{name}:light-dark({light},{dark});" for name, (light, dark) in COLOURS.items()
    )
    return f":root{{{rules}}}"
