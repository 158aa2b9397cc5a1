"""
The syntax tree of Relay text: what the parser makes and what type inference and the importer read.

Expressions are compared by identity: a graph binding (`%1 = …`) that is used twice is one object
with two users, as in Relay. `operands` of an expression are what it needs in its own scope, in
order; `bodies` are scopes of their own, from which values outside can be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute

from xrelay.frontends.relay_text.types import Type

MOST_NESTED = 64
"""How deep lists in attributes, patterns, and objects of the metadata section may nest."""


@dataclass(eq=False, repr=False, slots=True)
class Expr:
    """An expression; `position` is where it begins in the text."""

    position: int
    type: Type | None = field(default=None, init=False)
    """What type inference found, where the importer needs it."""
    stated: Attribute | None = field(default=None, init=False)
    """The type in the comment behind the expression, when the reader was asked to check it."""

    @property
    def operands(self) -> Sequence["Expr"]:
        """What is evaluated in the scope of this expression, in order."""
        return ()

    @property
    def bodies(self) -> Sequence["Expr"]:
        """What is evaluated in scopes of its own."""
        return ()


@dataclass(frozen=True)
class MetaRef:
    """`meta[key][index]`, an entry of the metadata section."""

    key: str
    index: int
    position: int


AttrValue: TypeAlias = "None | bool | int | float | str | MetaRef | Attribute | list[AttrValue]"
"""The value of an attribute in the text."""


@dataclass(frozen=True)
class AttrText:
    """An attribute `name=value`, and where it stands."""

    value: AttrValue
    position: int


Attrs: TypeAlias = dict[str, AttrText]


@dataclass(eq=False, repr=False, slots=True)
class Variable(Expr):
    """A parameter, a variable bound by `let`, `free_var` or a pattern."""

    name: str
    annotation: Type | None
    depth: int
    """How many functions it is inside of."""
    attrs: Attrs = field(default_factory=dict[str, AttrText])
    pending: bool = False
    """Whether its value is being read."""
    used_within: int | None = None
    """Where a function that is bound to this variable uses it, if one does."""


@dataclass(eq=False, repr=False, slots=True)
class Constant(Expr):
    """A literal, or an entry `relay.Constant` of the metadata section."""

    value: Attribute
    result_type: Attribute


@dataclass(eq=False, repr=False, slots=True)
class NameRef(Expr):
    """A global function (`@f`), or an operator or constructor, as a value."""

    name: str
    is_global: bool


@dataclass(eq=False, repr=False, slots=True)
class Call(Expr):
    """A call of an operator, a constructor, a global function or a function value."""

    callee: Expr
    args: list[Expr]
    attrs: Attrs
    meta_attrs: MetaRef | None = None
    """The entry of the metadata section that holds all attributes."""

    @property
    def operands(self) -> Sequence[Expr]:
        if isinstance(self.callee, NameRef):
            return self.args
        return (self.callee, *self.args)


@dataclass(eq=False, repr=False, slots=True)
class TupleExpr(Expr):
    """A tuple."""

    fields: list[Expr]

    @property
    def operands(self) -> Sequence[Expr]:
        return self.fields


@dataclass(eq=False, repr=False, slots=True)
class Projection(Expr):
    """A field of a tuple."""

    value: Expr
    index: int

    @property
    def operands(self) -> Sequence[Expr]:
        return (self.value,)


@dataclass(eq=False, repr=False, slots=True)
class If(Expr):
    """A conditional."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def operands(self) -> Sequence[Expr]:
        return (self.condition,)

    @property
    def bodies(self) -> Sequence[Expr]:
        return (self.then, self.otherwise)


@dataclass(eq=False, repr=False, slots=True)
class Function(Expr):
    """A function literal, or the function of a definition."""

    type_params: tuple[str, ...]
    params: list[Variable] = field(default_factory=list[Variable])
    attrs: Attrs = field(default_factory=dict[str, AttrText])
    result: Type | None = None
    body: Expr = field(init=False)
    captures: bool = False
    """Whether it uses values from outside."""
    uses: int = 0
    """How often graph bindings are used whose value it is."""
    recursive: Variable | None = None
    """The variable that names it within its own body."""

    @property
    def bodies(self) -> Sequence[Expr]:
        return (self.body,)


@dataclass(eq=False, repr=False, slots=True)
class Bindings(Expr):
    """`let` bindings one after the other, and the expression that may use them."""

    bindings: list[tuple[Variable, Expr]]
    result: Expr

    @property
    def operands(self) -> Sequence[Expr]:
        return (*(value for _, value in self.bindings), self.result)


@dataclass(frozen=True)
class Pattern:
    """
    A pattern of a clause: a wildcard, a variable, or a constructor (`name`) or tuple (no name)
    with patterns within.
    """

    position: int
    variable: Variable | None = None
    name: str | None = None
    fields: "tuple[Pattern, ...] | None" = None


@dataclass(eq=False, repr=False, slots=True)
class Match(Expr):
    """A case distinction by patterns."""

    data: Expr
    clauses: list[tuple[Pattern, Expr]]
    complete: bool

    @property
    def operands(self) -> Sequence[Expr]:
        return (self.data,)

    @property
    def bodies(self) -> Sequence[Expr]:
        return [body for _, body in self.clauses]


@dataclass(eq=False, repr=False, slots=True)
class Reference(Expr):
    """`ref(v)`, `ref_read(r)` or `ref_write(r, v)`."""

    name: str
    args: list[Expr]

    @property
    def operands(self) -> Sequence[Expr]:
        return self.args


@dataclass
class Constructor:
    """A constructor of an algebraic data type."""

    name: str
    fields: list[Type]
    type_name: str
    position: int


@dataclass
class TypeDefinition:
    """`type Name[A] { Constructor(types), … }`, or `extern type Name[A]`."""

    position: int
    name: str
    type_params: tuple[str, ...]
    constructors: list[Constructor] | None
    """None for types that are defined elsewhere."""


@dataclass
class Module:
    """The definitions of a text, in order."""

    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    types: dict[str, TypeDefinition] = field(default_factory=dict[str, TypeDefinition])
    constructors: dict[str, Constructor] = field(default_factory=dict[str, Constructor])
    referenced: dict[str, int] = field(default_factory=dict[str, int])
    """The functions that the text names, and where first."""
    untyped: bool = False
    """Whether a type of a parameter is missing, or types have parameters."""
