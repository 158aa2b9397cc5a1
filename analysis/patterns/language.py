"""
A language of patterns over values: what computes a value, down to named leaves.

    x, w = wildcard(), is_constant()
    pattern = is_op("nn.conv2d")(x, w).optional(is_op("nn.relu"))
    found = match(pattern, value)      ──►  found[x] is the convolution's input, found.ops its operations

1. A pattern *node* stands for one value: used twice, it has to be the same value twice (equal
   constants count as the same). Two nodes may stand for the same value.
2. All ways to match are tried, in the order in which they are written: of `a | b` first `a`, the operands of
   `add` and `multiply` as they are before they are swapped, a quotient of a product as
   the product of a quotient last. Results depend on the pattern and the program only.
3. Types are those that the program states.
4. Nothing changes when a match fails; `why_not` tells the part that came furthest and what it found.

Source: Relay's dataflow pattern language. Additions: `where`, `is_number`, `through`, classes of operations
in `is_op`, and that all alternatives are tried.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

OpKind: TypeAlias = str | type[Operation] | tuple[type[Operation], ...]
"""An operator, by its name with or without `relay.`, or by its class."""


class Pattern:
    """
    Describes values. Two patterns are the same only when they are one object.

    A part that is not a pattern raises DiagnosticException.
    """

    def __post_init__(self) -> None:
        for part in cast(Sequence[object], self.parts()):
            if not isinstance(part, Pattern):
                raise DiagnosticException(f"{part!r} is no pattern, in a {type(self).__name__}")

    def parts(self) -> Sequence["Pattern"]:
        """The patterns that it is made of, in order."""
        return ()

    def __call__(self, *args: "Pattern") -> "CallPattern":
        """A call of what the pattern describes, with operands as described."""
        return CallPattern(self, args)

    def any_call(self) -> "CallPattern":
        """A call of what the pattern describes, with any operands."""
        return CallPattern(self, None)

    def __or__(self, other: "Pattern") -> "AltPattern":
        return AltPattern(self, other)

    def __add__(self, other: "Pattern") -> "CallPattern":
        return is_op("add")(self, other)

    def __sub__(self, other: "Pattern") -> "CallPattern":
        return is_op("subtract")(self, other)

    def __mul__(self, other: "Pattern") -> "CallPattern":
        return is_op("multiply")(self, other)

    def __truediv__(self, other: "Pattern") -> "CallPattern":
        return is_op("divide")(self, other)

    def __getitem__(self, index: int) -> "TupleGetItemPattern":
        """A field of the tuple that the pattern describes."""
        return TupleGetItemPattern(self, index)

    def has_attr(self, attrs: Mapping[str, object]) -> "AttrPattern":
        """
        With attributes: of an operator its kind (`TOpPattern`), of a call its properties, of a function
        literal its attributes.
        """
        return AttrPattern(self, attrs)

    def has_type(self, type_: Attribute) -> "TypePattern":
        """Of a type."""
        return TypePattern(self, type_)

    def has_dtype(self, dtype: str) -> "DtypePattern":
        """A tensor with elements of a type, named as in Relay: "float32"."""
        return DtypePattern(self, dtype)

    def has_shape(self, shape: Sequence[int | None]) -> "ShapePattern":
        """A tensor of a shape; None stands for any dimension."""
        return ShapePattern(self, tuple(shape))

    def optional(self, option: Callable[["Pattern"], "Pattern"]) -> "AltPattern":
        """What the pattern describes, or what `option` makes of it, which is preferred."""
        return AltPattern(option(self), self)

    def dominates(self, parent: "Pattern", path: "Pattern | None" = None) -> "DominatorPattern":
        """
        With `parent` above it, and on all ways between the two what `path` describes: any number of
        it, and nothing else uses any of it.
        """
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def where(self, condition: Callable[[Any], bool], reason: str = "") -> "WherePattern":
        """Computed by an operation with a property, which `reason` says in words."""
        name = getattr(condition, "__name__", "the condition").strip("_")
        return WherePattern(self, condition, reason or name)


@dataclass(eq=False, frozen=True)
class WildcardPattern(Pattern):
    """Any value."""

    def __str__(self) -> str:
        return "*"


@dataclass(eq=False, frozen=True)
class VarPattern(Pattern):
    """A parameter, or a variable that `relay.let` binds; of a name when one is given."""

    name: str = ""

    def __str__(self) -> str:
        return f"is_var({self.name!r})" if self.name else "is_var()"


@dataclass(eq=False, frozen=True)
class ConstantPattern(Pattern):
    """A constant."""

    def __str__(self) -> str:
        return "is_constant()"


@dataclass(eq=False, frozen=True)
class NumberPattern(Pattern):
    """A constant whose elements are all one number; which one, up to rounding in its type."""

    value: float | None = None

    def __str__(self) -> str:
        return f"is_number({'' if self.value is None else self.value})"


@dataclass(eq=False, frozen=True)
class ExprPattern(Pattern):
    """A value that is computed as another one is, from the same parameters."""

    value: SSAValue

    def __str__(self) -> str:
        return f"is_expr(%{self.value.name_hint or '?'})"


@dataclass(eq=False, frozen=True)
class OpPattern(Pattern):
    """An operator, as what is called. A kind that is neither name nor class raises DiagnosticException."""

    kind: OpKind

    def __post_init__(self) -> None:
        kind: object = self.kind
        kinds = cast(tuple[object, ...], kind) if isinstance(kind, tuple) else (kind,)
        classes = all(isinstance(each, type) and issubclass(each, Operation) for each in kinds)
        if not isinstance(kind, str) and not classes:
            raise DiagnosticException(
                f"the operator is {kind!r}, expected its name, its class or a tuple of classes"
            )

    def __str__(self) -> str:
        if isinstance(self.kind, str):
            return self.kind.removeprefix("relay.")
        kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
        return " or ".join(kind.__name__ for kind in kinds)


@dataclass(eq=False, frozen=True)
class CallPattern(Pattern):
    """The result of an operator or of a function literal; `args` is None for any operands."""

    callee: Pattern
    args: tuple[Pattern, ...] | None

    def parts(self) -> Sequence[Pattern]:
        return (self.callee, *(self.args or ()))

    def __str__(self) -> str:
        args = "…" if self.args is None else ", ".join(map(str, self.args))
        return f"{self.callee}({args})"


@dataclass(eq=False, frozen=True)
class TuplePattern(Pattern):
    """A tuple that is made of fields; `fields` is None for any."""

    fields: tuple[Pattern, ...] | None

    def parts(self) -> Sequence[Pattern]:
        return self.fields or ()

    def __str__(self) -> str:
        return f"({'…' if self.fields is None else ', '.join(map(str, self.fields))})"


@dataclass(eq=False, frozen=True)
class TupleGetItemPattern(Pattern):
    """A field of a tuple; `index` is None for any."""

    tuple_value: Pattern
    index: int | None = None

    def parts(self) -> Sequence[Pattern]:
        return (self.tuple_value,)

    def __str__(self) -> str:
        return f"{self.tuple_value}[{'…' if self.index is None else self.index}]"


@dataclass(eq=False, frozen=True)
class IfPattern(Pattern):
    """A result of `scf.if`."""

    condition: Pattern
    true_branch: Pattern
    false_branch: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (self.condition, self.true_branch, self.false_branch)

    def __str__(self) -> str:
        return f"is_if({self.condition}, {self.true_branch}, {self.false_branch})"


@dataclass(eq=False, frozen=True)
class LetPattern(Pattern):
    """A value, `body`, in which a variable occurs that `relay.let` binds to `value`."""

    var: Pattern
    value: Pattern
    body: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (self.var, self.value, self.body)

    def __str__(self) -> str:
        return f"is_let({self.var}, {self.value}, {self.body})"


@dataclass(eq=False, frozen=True)
class FunctionPattern(Pattern):
    """A function literal, called in place or not; `params` is None for any parameters."""

    params: tuple[Pattern, ...] | None
    body: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (*(self.params or ()), self.body)

    def __str__(self) -> str:
        params = "…" if self.params is None else ", ".join(map(str, self.params))
        return f"fn({params}) {{{self.body}}}"


@dataclass(eq=False, frozen=True)
class AltPattern(Pattern):
    """What one of two patterns describes."""

    left: Pattern
    right: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"({self.left} | {self.right})"


@dataclass(eq=False, frozen=True)
class ThroughPattern(Pattern):
    """What some operators of one operand, any number of them, make of a value as described."""

    types: tuple[type[Operation], ...]
    pattern: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (self.pattern,)

    def __str__(self) -> str:
        return f"through({self.pattern})"


@dataclass(eq=False, frozen=True)
class DominatorPattern(Pattern):
    """`child` with `parent` above it; see `Pattern.dominates`."""

    parent: Pattern
    path: Pattern
    child: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (self.child, self.parent, self.path)

    def __str__(self) -> str:
        return f"{self.child}.dominates({self.parent}, {self.path})"


@dataclass(eq=False, frozen=True)
class RestrictedPattern(Pattern):
    """What another pattern describes, with a property."""

    pattern: Pattern

    def parts(self) -> Sequence[Pattern]:
        return (self.pattern,)


@dataclass(eq=False, frozen=True)
class AttrPattern(RestrictedPattern):
    """With attributes; see `Pattern.has_attr`."""

    attrs: Mapping[str, object]

    def __str__(self) -> str:
        return f"{self.pattern}.has_attr({dict(self.attrs)})"


@dataclass(eq=False, frozen=True)
class TypePattern(RestrictedPattern):
    """Of a type."""

    type: Attribute

    def __str__(self) -> str:
        return f"{self.pattern}.has_type({self.type})"


@dataclass(eq=False, frozen=True)
class DtypePattern(RestrictedPattern):
    """A tensor with elements of a type."""

    dtype: str

    def __str__(self) -> str:
        return f"{self.pattern}.has_dtype({self.dtype!r})"


@dataclass(eq=False, frozen=True)
class ShapePattern(RestrictedPattern):
    """A tensor of a shape."""

    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.pattern}.has_shape({self.shape})"


@dataclass(eq=False, frozen=True)
class WherePattern(RestrictedPattern):
    """Computed by an operation with a property."""

    condition: Callable[[Any], bool]
    reason: str

    def __str__(self) -> str:
        return f"{self.pattern}.where({self.reason})"


def wildcard() -> WildcardPattern:
    """Any value."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A parameter or a variable, of a name when one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_number(value: float | None = None) -> NumberPattern:
    """A constant whose elements are all one number."""
    return NumberPattern(value)


def is_expr(value: SSAValue) -> ExprPattern:
    """A value that is computed as `value` is, from the same parameters."""
    return ExprPattern(value)


def is_op(kind: OpKind) -> OpPattern:
    """An operator: `is_op("add")(a, b)` is its result."""
    return OpPattern(kind)


def is_tuple(fields: Sequence[Pattern] | None) -> TuplePattern:
    """A tuple of fields as described, of any when None."""
    return TuplePattern(None if fields is None else tuple(fields))


def is_tuple_get_item(tuple_value: Pattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(condition: Pattern, true_branch: Pattern, false_branch: Pattern) -> IfPattern:
    """A choice."""
    return IfPattern(condition, true_branch, false_branch)


def is_let(var: Pattern, value: Pattern, body: Pattern) -> LetPattern:
    """`body` with a variable that is bound to `value`."""
    return LetPattern(var, value, body)


def is_function(params: Sequence[Pattern] | None, body: Pattern) -> FunctionPattern:
    """A function literal."""
    return FunctionPattern(None if params is None else tuple(params), body)


def one_of(*patterns: Pattern) -> Pattern:
    """What one of several patterns describes, the first preferred."""
    found = patterns[-1]
    for pattern in reversed(patterns[:-1]):
        found = pattern | found
    return found


def through(types: Sequence[type[Operation]], pattern: Pattern) -> ThroughPattern:
    """What some operators of one operand, any number of them, make of what is described."""
    return ThroughPattern(tuple(types), pattern)
