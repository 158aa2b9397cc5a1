"""Names: those of functions that passes add to a module, and those of operations in messages."""

import re
from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b
from itertools import count

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import CompositeOp, ConstantOp
from xrelay.dialects.model_names import model_name

MAX_NAME_LENGTH = 80
"""Longer names of kernels are cut and end with `_<hash>_`, as in Relay."""


def sanitized(name: str) -> str:
    """A name of letters, digits and underscores, which does not begin with a digit."""
    name = re.sub(r"[^0-9A-Za-z_]", "_", name)
    return f"_{name}" if name[:1].isdigit() else name


def unused_name(name: str, used: Container[str]) -> str:
    """A name, with a number behind it when it is used already."""
    chosen, number = name, 0
    while chosen in used:
        number += 1
        chosen = f"{name}_{number}"
    return chosen


def short_name(op: Operation) -> str:
    """What people know an operator by."""
    return op.composite.data if isinstance(op, CompositeOp) else op.name.removeprefix("relay.")


def fused_name(ops: Iterable[Operation]) -> str:
    """`fused_` and the names of operators, constants left out, as Relay names kernels."""
    names = [short_name(op) for op in ops if not isinstance(op, ConstantOp)]
    text = re.sub(r"\W", "_", "_".join(["fused", *names]))
    if len(text) <= MAX_NAME_LENGTH:
        return text
    digest = blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{text[:MAX_NAME_LENGTH]}_{digest}_"


def module_symbols(module: ModuleOp) -> set[str]:
    """The names that the operations of a module define."""
    found = (op.properties.get("sym_name") for op in walk(module))
    return {name.data for name in found if isinstance(name, StringAttr)}


def fresh_names(prefix: str, module: ModuleOp) -> Iterator[str]:
    """Names for what is added to a module: the prefix, and numbers from 0 on."""
    used = module_symbols(module)
    return (name for number in count() if (name := f"{prefix}{number}") not in used)


def operation_text(op: Operation) -> str:
    """An operation in messages: its name, that of its result, and the place that it comes from."""
    hint = next((result.name_hint for result in op.results if result.name_hint), None)
    node = model_name(op)
    if node is not None:
        place = f" of node '{node}'"
    else:
        place = "" if isinstance(op.location, UnknownLoc) else f" at {op.location}"
    return f"{op.name}{f' %{hint}' if hint else ''}{place}"
