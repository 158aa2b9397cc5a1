"""
What is known of the compilers to which a program can be handed over in part: which operators each
supports, the patterns that it knows as one operator, and what it makes of its functions.

A compiler is known by its name, the one in `relay.annotation.compiler_begin` and in the attribute
`Compiler` of functions. Whoever has one registers it; nothing is registered by an import.

Source: Relay's operator attribute `target.<name>`, `register_pattern_table` and the hook
`relay.ext.<name>.optimize`.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.relay import Relay

DEFAULT = "default"
"""The compiler of what no other one takes: this project."""


@dataclass(frozen=True)
class Yes:
    """An operator is supported."""


@dataclass(frozen=True)
class No:
    """An operator is not supported."""

    reason: str
    """Why, for people."""


Support: TypeAlias = Yes | No
Supports: TypeAlias = Callable[[Operation, Sequence[Attribute]], Support]
"""Whether a compiler supports an operation with operands of certain types."""


def supports_nothing(op: Operation, types: Sequence[Attribute]) -> Support:
    """The answer of compilers that take composites only."""
    return No(f"{op.name} is not among the operators of the compiler")


@dataclass(frozen=True)
class Compiler:
    """One compiler."""

    name: str
    supports: Supports = supports_nothing
    patterns: tuple[CompositePattern, ...] = ()
    """What it knows as one operator, the preferred ones first."""
    optimize: Callable[[ModuleOp], None] | None = None
    """What it does to a module that holds one of its functions, as soon as that exists."""
    lower: Callable[[ModuleOp], bool] | None = None
    """What it does to a module that holds one of its functions, for this project to compile it; whether it did."""
    bind_constants: bool = True
    """Whether constants may be in its functions; they are parameters otherwise."""


@dataclass(frozen=True)
class SupportedOperators:
    """A rule that supports some operators with operands of any type."""

    operators: frozenset[str]
    """The names, without `relay.`."""

    def __call__(self, op: Operation, types: Sequence[Attribute]) -> Support:
        if op.name.removeprefix("relay.") in self.operators:
            return Yes()
        return supports_nothing(op, types)


_IN_USE: ContextVar[Mapping[str, Compiler]] = ContextVar("compilers", default=MappingProxyType({}))
"""Compilers that are known for a while only."""


@dataclass
class CompilerRegistry:
    """The compilers that are known, by name."""

    compilers: dict[str, Compiler] = field(default_factory=dict[str, Compiler])

    def register(self, compiler: Compiler) -> None:
        """Adds a compiler, in the place of one of the same name."""
        if compiler.name in ("", DEFAULT):
            raise ValueError(f"{compiler.name!r} is no name for a compiler")
        self.compilers[compiler.name] = compiler

    def get(self, name: str) -> Compiler:
        """The compiler of a name; one without rules when none is registered."""
        return _IN_USE.get().get(name) or self.compilers.get(name) or Compiler(name)

    @contextmanager
    def using(self, compilers: Sequence[Compiler]) -> Generator[None]:
        """Knows some more compilers for a while, in this thread."""
        before = _IN_USE.set({**_IN_USE.get(), **{each.name: each for each in compilers}})
        try:
            yield
        finally:
            _IN_USE.reset(before)


REGISTRY = CompilerRegistry()
"""The compilers of this process."""


def parse_operators(entries: Sequence[str], targets: Sequence[str]) -> Mapping[str, Supports]:
    """
    The rules of compilers from entries `compiler:operator`, for the compilers that have entries.

    Raises PassOptionError for an entry of another form, of a compiler that is no target or with an
    unknown operator.
    """
    known = {func.CallOp.name, *(op.name.removeprefix("relay.") for op in Relay.operations)}
    found: dict[str, set[str]] = {}
    for entry in entries:
        compiler, colon, operator = entry.partition(":")
        if not colon or not operator or compiler not in targets:
            raise PassOptionError(
                f"'operators' has {entry!r}, expected compiler:operator, where the compiler is "
                f"one of {', '.join(targets)}"
            )
        name = operator.removeprefix("relay.")
        if name not in known:
            raise PassOptionError(f"'operators' has {entry!r}: there is no operator {name}")
        found.setdefault(compiler, set()).add(name)
    return {name: SupportedOperators(frozenset(names)) for name, names in found.items()}


@dataclass(frozen=True)
class Targets:
    """The compilers of an annotation, the preferred one first."""

    compilers: Mapping[str, Supports]

    @classmethod
    def of(cls, names: Sequence[str], operators: Sequence[str] = ()) -> "Targets":
        """The rules of `operators` (see `parse_operators`), else those that are registered."""
        stated = parse_operators(operators, names)
        return cls({name: stated.get(name) or REGISTRY.get(name).supports for name in names})

    def target_of(self, op: Operation) -> str:
        """
        The first compiler that supports an operation, `default` when none does. A composite is for
        the compiler that its name begins with.
        """
        if isinstance(op, CompositeOp):
            compiler, dot, _ = op.composite.data.partition(".")
            return compiler if dot and compiler in self.compilers else DEFAULT
        types = op.operand_types
        for name, supports in self.compilers.items():
            if isinstance(supports(op, types), Yes):
                return name
        return DEFAULT
