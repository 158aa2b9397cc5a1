"""In what products of f32 are computed: `precision` and `precision_rules` of `xrelay.compile`."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from reprlib import repr as shown
from typing import Any, cast

from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.errors import OptionError
from xrelay.lowering.emit.target import Target
from xrelay.runtime.arguments import path_argument
from xrelay.runtime.reading import read_source

FULL = "f32"
BFLOAT = "bf16"
INTEGERS = "int8"
"""The data of products with weights of few bits in blocks; other products are those of f32."""
PRECISIONS = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", INTEGERS: "int8"}
"""What may be asked for, and what Relay calls the type."""
LISTS = ("always", "follow", "never")
"""What rules may say of an operator."""


class PrecisionWarning(UserWarning):
    """A model is compiled for a CPU that does not compute in the type that was asked for."""


@dataclass(frozen=True)
class PrecisionRules:
    """
    Operators, by Relay's names (`nn.conv2d`), that are treated otherwise than the lists of `reduce-precision` say.
    """

    always: tuple[str, ...] = ()
    """They take operands with fewer bits."""
    follow: tuple[str, ...] = ()
    """They do where their operands have fewer bits anyway."""
    never: tuple[str, ...] = ()
    """They never do."""
    source: str = field(default="precision_rules", compare=False, repr=False)
    """What messages call them."""

    def lists(self) -> dict[str, tuple[str, ...]]:
        """The lists by name."""
        return {name: getattr(self, name) for name in LISTS}


NO_RULES = PrecisionRules()

GivenRules = PrecisionRules | Mapping[str, Sequence[str]] | str | Path


def checked_precision(value: object) -> str:
    """A name of a precision. Raises OptionError for anything else."""
    if not isinstance(value, str):
        raise OptionError(f"precision is {shown(value)}, expected one of {', '.join(PRECISIONS)}")
    if value not in PRECISIONS:
        raise OptionError(
            f"unknown precision '{value}', expected one of {', '.join(PRECISIONS)}"
            f"{_suggestion(value)}"
        )
    return value


def _suggestion(value: str) -> str:
    """Other engines write "bfloat16", "fp16" and the like."""
    spellings = {
        spelling: name
        for name, long in PRECISIONS.items()
        for spelling in (name, long, name.replace("f", "fp"))
    }
    exact = spellings.get(value.lower().replace("_", ""))
    return f"; did you mean '{exact}'?" if exact else did_you_mean(value, PRECISIONS)


def precision_rules(given: object) -> PrecisionRules:
    """
    Rules from a mapping of "always", "follow" and "never" to names of operators, or from the TOML or JSON file that
    holds one.

    Raises OptionError.
    """
    if isinstance(given, PrecisionRules):
        return given
    if isinstance(given, Mapping):
        return _rules(cast(Mapping[Any, Any], given), "precision_rules")
    path = path_argument("precision_rules", given, OptionError)
    try:
        text = read_source(path).decode()
        data: object = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise OptionError(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"'{path}' holds no rules of precision: {error}") from error
    if not isinstance(data, dict):
        raise OptionError(f"'{path}' holds no rules of precision: expected a JSON object")
    return _rules(cast(dict[Any, Any], data), f"'{path}'")


def _rules(data: Mapping[Any, Any], where: str) -> PrecisionRules:
    lists: dict[str, tuple[str, ...]] = {}
    for key, names in data.items():
        if key not in LISTS:
            suggestion = did_you_mean(key, LISTS) if isinstance(key, str) else ""
            raise OptionError(
                f"{where} has the list {shown(key)}, expected {', '.join(LISTS)}{suggestion}"
            )
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise OptionError(f"{where}: '{key}' is {shown(names)}, expected names of operators")
        every = cast(Sequence[object], names)
        for name in every:
            if not isinstance(name, str):
                raise OptionError(f"{where}: '{key}' has {shown(name)}, expected a name")
        lists[key] = tuple(str(name).removeprefix("relay.") for name in every)
    for name, count in Counter(chain.from_iterable(lists.values())).items():
        if count > 1:
            raise OptionError(f"{where}: '{name}' is named {count} times, expected once")
    return PrecisionRules(**lists, source=where)


def known_operators(rules: PrecisionRules) -> dict[str, tuple[str, ...]]:
    """The lists of rules by name. Raises OptionError, which says where they come from, for names of no operators."""
    # A model from the cache runs without the dialect.
    from xrelay.transforms.rules.operator_names import require_operators

    lists = rules.lists()
    try:
        for option, names in lists.items():
            require_operators(option, names)
    except PassFailedException as error:
        raise OptionError(f"{rules.source}: {error}") from error
    return lists


def multiplies(precision: str, target: Target) -> bool:
    """Whether a CPU has instructions for products of numbers of a type."""
    return precision == BFLOAT and target.bf16_dot


def widened(target: Target) -> tuple[str, ...]:
    """The types of 16 bits that a CPU does not multiply, as Relay calls them: programs of these compute in f32."""
    return tuple(PRECISIONS[name] for name in ("f16", BFLOAT) if not multiplies(name, target))


def note(precision: str, target: Target) -> str | None:
    """What a user should know who asks for a precision that a CPU does not compute in."""
    if precision != BFLOAT or multiplies(precision, target):
        return None
    return (
        f"{target.title} has no instructions for products of bf16 (AVX-512 BF16): weights are kept in "
        "bf16, and all is computed in f32"
    )
