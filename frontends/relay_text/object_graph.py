"""The graph of objects in TVM's `SaveJSON` format, checked."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, cast

Node: TypeAlias = dict[str, Any]
"""An object: its class `type_key`, and what of `_FIELDS` it has."""


@dataclass(frozen=True)
class ObjectGraph:
    """The objects of a section, the arrays beside them, and which object is the root."""

    nodes: list[Node]
    arrays: list[str]
    root: Node


def read_graph(text: str) -> ObjectGraph:
    """
    The graph in a text.

    Raises JSONDecodeError, RecursionError, and ValueError that says what was found where another
    thing is expected.
    """
    content: object = json.loads(text)
    fields = cast(Node, content) if isinstance(content, dict) else {}
    for name, (what, accepts) in _SECTION.items():
        if name not in fields:
            raise ValueError(f"found no '{name}', expected {what}")
        if not accepts(fields[name]):
            raise ValueError(f"'{name}' is {_brief(fields[name])}, expected {what}")
    nodes = cast(list[Node], fields["nodes"])
    for index, node in enumerate(nodes):
        for name, (what, accepts) in _FIELDS.items():
            if name in node and not accepts(node[name]):
                raise ValueError(
                    f"'{name}' of object {index} is {_brief(node[name])}, expected {what}"
                )
    root = cast(int, fields["root"])
    if root >= len(nodes):
        raise ValueError(f"'root' is {root}, expected the index of one of {len(nodes)} objects")
    return ObjectGraph(nodes, fields["b64ndarrays"], nodes[root])


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_index(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _are(accepts: Callable[[object], bool]) -> Callable[[object], bool]:
    """Whether a value is a list of what `accepts` is true of."""
    return lambda value: isinstance(value, list) and all(map(accepts, cast(list[object], value)))


def _are_texts_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, cast(dict[str, object], value).values()))


Check: TypeAlias = tuple[str, Callable[[object], bool]]
"""What is expected, in words, and whether a value is that."""

_SECTION: dict[str, Check] = {
    "nodes": ("a list of objects", _are(_is_object)),
    "b64ndarrays": ("a list of strings", _are(_is_text)),
    "root": ("the index of an object", _is_index),
}
_FIELDS: dict[str, Check] = {
    "type_key": ("a string", _is_text),
    "repr_str": ("a string", _is_text),
    "attrs": ("strings by name", _are_texts_by_name),
    "keys": ("a list of strings", _are(_is_text)),
    "data": ("a list of indices of objects", _are(_is_index)),
}
