"""
Where the boxes of a picture stand: Sugiyama's layered layout, by igraph.

Layers follow the longest path, and what has no operands stands next to its first user. An edge
over more than LONGEST_EDGE layers ends in a *reference*, a small box above its target that names
the source: it would cross the whole picture, and cost a dummy node for every layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from xrelay.tools.errors import BAD_INPUT, CommandFailed

LONGEST_EDGE = 24
ITERATIONS = 60
"""Rounds that reduce crossings."""
COLUMN_GAP = 28
LAYER_GAP = 52
REFERENCE_HEIGHT = 22

Point: TypeAlias = tuple[float, float]
_Place: TypeAlias = tuple[float, int]
"""A coordinate to the right, and a layer."""


@dataclass(frozen=True)
class Layout:
    """Places in pixels; x grows to the right, y downwards."""

    width: float
    height: float
    tops: list[Point]
    """The middle of the upper side of each box, then of each reference."""
    heights: list[float]
    """Of the boxes and references."""
    routes: list[list[Point]]
    """The points of each edge, from box to box, or from a reference to its target."""
    references: list[tuple[int, int]]
    """The edges that end in references."""


def require_igraph() -> Any:
    """igraph. Raises CommandFailed where it is missing."""
    try:
        return import_module("igraph")
    except ImportError as error:
        raise CommandFailed(
            "the layout needs igraph: pip install 'xrelay[view]', or python-igraph", BAD_INPUT
        ) from error


def lay_out(heights: Sequence[float], width: float, edges: Sequence[tuple[int, int]]) -> Layout:
    """
    Places boxes of one width. Edges lead from lower to higher numbers in some order of the boxes
    that need not be known; there are no cycles.
    """
    layers = _layers(len(heights), edges)
    references = [edge for edge in edges if layers[edge[1]] - layers[edge[0]] > LONGEST_EDGE]
    drawn: list[tuple[int, int]] = []
    replaced = {edge: len(heights) + i for i, edge in enumerate(references)}
    for edge in edges:
        drawn.append((replaced.get(edge, edge[0]), edge[1]))
    layers.extend(layers[target] - 1 for _, target in references)
    all_heights = [*heights, *[REFERENCE_HEIGHT] * len(references)]

    points, bends = _sugiyama(layers, drawn, width + COLUMN_GAP)
    tallest = [0.0] * (max(layers, default=0) + 1)
    for layer, height in zip(layers, all_heights, strict=True):
        tallest[layer] = max(tallest[layer], height)
    starts = [0.0, *accumulate(height + LAYER_GAP for height in tallest)]
    tops = [(x + width / 2, starts[layer]) for x, layer in points]
    routes: list[list[Point]] = []
    for (source, target), between in zip(drawn, bends, strict=True):
        x, top = tops[source]
        route = [(x, top + all_heights[source])]
        if all_heights[source] < tallest[layers[source]]:
            route.append((x, top + tallest[layers[source]]))
        for x, layer in between:
            # An edge passes the whole height of a layer, beside the boxes.
            x, top = x + width / 2, starts[layer]
            route.extend([(x, top), (x, top + tallest[layer])])
        routes.append([*route, tops[target]])
    extent = width / 2 + max(x for place in (tops, *routes) for x, _ in place)
    return Layout(extent, starts[-1] - LAYER_GAP, tops, all_heights, routes, references)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: below all its sources; without sources, just above its first target."""
    targets: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, target in edges:
        targets[source].append(target)
        waiting[target] += 1
    roots = [box for box in range(count) if not waiting[box]]
    layers, order = [0] * count, list(roots)
    for box in order:
        for target in targets[box]:
            layers[target] = max(layers[target], layers[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    assert len(order) == count, "the graph has no cycles"
    for box in roots:
        if targets[box]:
            layers[box] = min(layers[target] for target in targets[box]) - 1
    return layers


def _sugiyama(
    layers: Sequence[int], edges: Sequence[tuple[int, int]], gap: float
) -> tuple[list[_Place], list[list[_Place]]]:
    """
    The places of boxes, and those where each edge crosses layers. Parts of the graph that do not
    hang together stand side by side: igraph 1.0 writes outside of its memory when it is given
    several at once.
    """
    igraph = require_igraph()
    whole = igraph.Graph(n=len(layers), edges=edges, directed=True)
    parts: list[list[int]] = list(whole.connected_components(mode="weak"))
    part_of = {box: (part, i) for part, boxes in enumerate(parts) for i, box in enumerate(boxes)}
    edges_of: list[list[int]] = [[] for _ in parts]
    for number, (source, _) in enumerate(edges):
        edges_of[part_of[source][0]].append(number)
    points: list[_Place] = [(0.0, layer) for layer in layers]
    bends: list[list[_Place]] = [[] for _ in edges]
    start = 0.0
    for boxes, inner in zip(parts, edges_of, strict=True):
        first = min(layers[box] for box in boxes)
        graph = igraph.Graph(
            n=len(boxes),
            edges=[(part_of[edges[i][0]][1], part_of[edges[i][1]][1]) for i in inner],
            directed=True,
        )
        placed = graph.layout_sugiyama(
            layers=[layers[box] - first for box in boxes], hgap=gap, vgap=1, maxiter=ITERATIONS
        )
        found: list[list[float]] = placed.coords
        routing: list[list[list[float]]] = placed.edge_routing
        everything = [*found, *(bend for route in routing for bend in route)]
        _separate(everything, gap)
        left = min(x for x, _ in everything)
        for box, (x, _) in zip(boxes, found, strict=True):
            points[box] = (start + x - left, layers[box])
        for i, route in zip(inner, routing, strict=True):
            bends[i] = [(start + x - left, round(layer) + first) for x, layer in route]
        start += max(x for x, _ in everything) - left + gap
    return points, bends


def _separate(points: Sequence[list[float]], gap: float) -> None:
    """
    Moves points (x, layer) as little as possible such that those of a layer keep `gap` between
    them: igraph averages several placements, and what comes out may be closer.

    Source: isotonic regression by the pool-adjacent-violators algorithm.
    """
    rows: dict[int, list[list[float]]] = {}
    for point in points:
        rows.setdefault(round(point[1]), []).append(point)
    for row in rows.values():
        row.sort(key=lambda point: point[0])
        pools: list[tuple[float, int]] = []  # The sum of what is pooled, and how much that is.
        for place, point in enumerate(row):
            total, count = point[0] - place * gap, 1
            while pools and pools[-1][0] / pools[-1][1] > total / count:
                before, size = pools.pop()
                total, count = total + before, count + size
            pools.append((total, count))
        starts = (total / count for total, count in pools for _ in range(count))
        for place, (point, start) in enumerate(zip(row, starts, strict=True)):
            point[0] = round(start + place * gap, 1)


def path_data(route: Sequence[Point]) -> str:
    """An edge as SVG path data: vertical within layers, S-shaped between them."""
    (x, y), *_ = route
    parts = [f"M{x:g},{y:g}"]
    for (x0, y0), (x1, y1) in pairwise(route):
        if x0 == x1:
            parts.append(f"V{y1:g}")
        else:
            middle = (y0 + y1) / 2
            parts.append(f"C{x0:g},{middle:g} {x1:g},{middle:g} {x1:g},{y1:g}")
    return "".join(parts)
