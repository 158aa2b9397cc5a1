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


class Expr:
    """An expression; `position` is where it begins in the text."""

    __slots__ = ("position", "stated", "type")

    def __init__(self, position: int):
        self.position = position
        self.type: Type | None = None
        """What type inference found, where the importer needs it."""
        self.stated: Attribute | None = None
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


class Variable(Expr):
    """A parameter, a variable bound by `let`, `free_var` or a pattern."""

    __slots__ = ("annotation", "attrs", "depth", "name", "pending", "used_within")

    def __init__(self, position: int, name: str, annotation: Type | None, depth: int):
        super().__init__(position)
        self.name = name
        self.annotation = annotation
        self.depth = depth
        """How many functions it is inside of."""
        self.pending = False
        """Whether its value is being read."""
        self.used_within: int | None = None
        """Where a function that is bound to this variable uses it, if one does."""
        self.attrs: Attrs = {}


class Constant(Expr):
    """A literal, or an entry `relay.Constant` of the metadata section."""

    __slots__ = ("result_type", "value")

    def __init__(self, position: int, value: Attribute, result_type: Attribute):
        super().__init__(position)
        self.value = value
        self.result_type = result_type


class NameRef(Expr):
    """A global function (`@f`), or an operator or constructor, as a value."""

    __slots__ = ("is_global", "name")

    def __init__(self, position: int, name: str, is_global: bool):
        super().__init__(position)
        self.name = name
        self.is_global = is_global


class Call(Expr):
    """A call of an operator, a constructor, a global function or a function value."""

    __slots__ = ("args", "attrs", "callee", "meta_attrs")

    def __init__(self, position: int, callee: Expr, args: list[Expr], attrs: Attrs):
        super().__init__(position)
        self.callee = callee
        self.args = args
        self.attrs = attrs
        self.meta_attrs: MetaRef | None = None
        """The entry of the metadata section that holds all attributes."""

    @property
    def operands(self) -> Sequence[Expr]:
        if isinstance(self.callee, NameRef):
            return self.args
        return (self.callee, *self.args)


class TupleExpr(Expr):
    """A tuple."""

    __slots__ = ("fields",)

    def __init__(self, position: int, fields: list[Expr]):
        super().__init__(position)
        self.fields = fields

    @property
    def operands(self) -> Sequence[Expr]:
        return self.fields


class Projection(Expr):
    """A field of a tuple."""

    __slots__ = ("index", "value")

    def __init__(self, position: int, value: Expr, index: int):
        super().__init__(position)
        self.value = value
        self.index = index

    @property
    def operands(self) -> Sequence[Expr]:
        return (self.value,)


class If(Expr):
    """A conditional."""

    __slots__ = ("condition", "otherwise", "then")

    def __init__(self, position: int, condition: Expr, then: Expr, otherwise: Expr):
        super().__init__(position)
        self.condition = condition
        self.then = then
        self.otherwise = otherwise

    @property
    def operands(self) -> Sequence[Expr]:
        return (self.condition,)

    @property
    def bodies(self) -> Sequence[Expr]:
        return (self.then, self.otherwise)


class Function(Expr):
    """A function literal, or the function of a definition."""

    __slots__ = (
        "attrs",
        "body",
        "captures",
        "params",
        "recursive",
        "result",
        "type_params",
        "uses",
    )

    def __init__(self, position: int, type_params: tuple[str, ...], params: list[Variable]):
        super().__init__(position)
        self.type_params = type_params
        self.params = params
        self.attrs: Attrs = {}
        self.result: Type | None = None
        self.body: Expr = self
        self.captures = False
        """Whether it uses values from outside."""
        self.uses = 0
        """How often graph bindings are used whose value it is."""
        self.recursive: Variable | None = None
        """The variable that names it within its own body."""

    @property
    def bodies(self) -> Sequence[Expr]:
        return (self.body,)


class Bindings(Expr):
    """`let` bindings one after the other, and the expression that may use them."""

    __slots__ = ("bindings", "result")

    def __init__(self, position: int, bindings: "list[tuple[Variable, Expr]]", result: Expr):
        super().__init__(position)
        self.bindings = bindings
        self.result = result

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


class Match(Expr):
    """A case distinction by patterns."""

    __slots__ = ("clauses", "complete", "data")

    def __init__(
        self, position: int, data: Expr, clauses: list[tuple[Pattern, Expr]], complete: bool
    ):
        super().__init__(position)
        self.data = data
        self.clauses = clauses
        self.complete = complete

    @property
    def operands(self) -> Sequence[Expr]:
        return (self.data,)

    @property
    def bodies(self) -> Sequence[Expr]:
        return [body for _, body in self.clauses]


class Reference(Expr):
    """`ref(v)`, `ref_read(r)` or `ref_write(r, v)`."""

    __slots__ = ("args", "name")

    def __init__(self, position: int, name: str, args: list[Expr]):
        super().__init__(position)
        self.name = name
        self.args = args

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
