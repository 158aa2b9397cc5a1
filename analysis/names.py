"""Names for functions that passes add to a module."""

import re
from collections.abc import Container

from xdsl.dialects.builtin import ModuleOp, StringAttr


def sanitized(name: str) -> str:
    """A name of letters, digits and underscores, which does not begin with a digit."""
    name = re.sub(r"[^0-9A-Za-z_]", "_", name)
    return f"_{name}" if name[:1].isdigit() else name


def unused_name(name: str, used: Container[str]) -> str:
    """A name, with a number behind it when it is used already."""
    chosen, count = name, 0
    while chosen in used:
        count += 1
        chosen = f"{name}_{count}"
    return chosen


def module_symbols(module: ModuleOp) -> set[str]:
    """The names that the operations of a module define."""
    found = (op.properties.get("sym_name") for op in module.walk())
    return {name.data for name in found if isinstance(name, StringAttr)}
