"""Walks over the nodes of a pattern, which may be parts of several others."""

from xrelay.analysis.patterns.language import Pattern


def nodes(pattern: Pattern) -> list[Pattern]:
    """The nodes of a pattern, each once, after its parts."""
    order: list[Pattern] = []
    seen = {pattern}
    path = [(pattern, iter(pattern.parts()))]
    while path:
        node, parts = path[-1]
        part = next((part for part in parts if part not in seen), None)
        if part is None:
            path.pop()
            order.append(node)
        else:
            seen.add(part)
            path.append((part, iter(part.parts())))
    return order


def self_contained(pattern: Pattern) -> frozenset[Pattern]:
    """
    The nodes below `pattern` that have parts, all of which are parts of other nodes only through them.
    """
    # Numbers the uses of nodes in the order of a walk: the parts of a node lie within a run of numbers.
    first: dict[Pattern, int] = {}
    last: dict[Pattern, int] = {}
    ends: dict[Pattern, int] = {}
    order: list[Pattern] = []
    uses = 0
    pending = [(pattern, False)]
    while pending:
        node, is_done = pending.pop()
        if is_done:
            ends[node] = uses
            order.append(node)
            continue
        uses += 1
        last[node] = uses
        if node in first:
            continue
        first[node] = uses
        pending.append((node, True))
        pending.extend((part, False) for part in reversed(node.parts()))
    found: set[Pattern] = set()
    runs: dict[Pattern, tuple[int, int]] = {}
    for node in order:
        low, high = first[node], ends[node]
        for part in node.parts():
            part_low, part_high = runs[part]
            low = min(low, first[part], part_low)
            high = max(high, last[part], part_high)
        runs[node] = low, high
        if node is not pattern and node.parts() and (low, high) == (first[node], ends[node]):
            found.add(node)
    return frozenset(found)
