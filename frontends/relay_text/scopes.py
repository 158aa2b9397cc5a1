"""
Where the values of a function are computed.

Relay's expressions form a graph in which one can be used from several scopes: both branches of
an `if`, say. In SSA form it then has to be computed in the innermost scope around all its uses.

A function literal that becomes `relay.fused` or `relay.composite` is not looked into: it uses
nothing from outside.
"""

from collections.abc import Sequence

from xrelay.frontends.relay_text.syntax import Call, Expr, Function, Variable


class Scope:
    """A part of a function with values of its own: its body, a branch, a clause, a closure."""

    __slots__ = ("depth", "parent")

    def __init__(self, parent: "Scope | None"):
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1


def around(one: Scope, other: Scope) -> Scope:
    """The innermost scope around two."""
    while one is not other:
        if one.depth < other.depth:
            one, other = other, one
        assert one.parent is not None
        one = one.parent
    return one


def called_in_place(function: Expr) -> bool:
    """Whether a callee becomes `relay.fused` or `relay.composite`."""
    if not isinstance(function, Function) or function.uses > 1:
        return False
    attrs = function.attrs
    composite = attrs.get("Composite")
    primitive = attrs.get("Primitive")
    return (
        (
            (composite is not None and isinstance(composite.value, str))
            or (primitive is not None and primitive.value == 1)
        )
        and "Compiler" not in attrs
        and not function.captures
        and not function.type_params
        and function.recursive is None
    )


def operands_of(expr: Expr) -> Sequence[Expr]:
    """What `expr` needs in its own scope, in order."""
    if isinstance(expr, Call) and called_in_place(expr.callee):
        return expr.args
    return expr.operands


def post_order(root: Expr) -> list[Expr]:
    """Every expression below `root` once, after what it needs: the order of the original."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    pending: list[tuple[Expr, bool]] = [(root, False)]
    while pending:
        expr, done = pending.pop()
        if done:
            order.append(expr)
        elif expr not in seen:
            seen.add(expr)
            pending.append((expr, True))
            pending.extend((body, False) for body in reversed(expr.bodies))
            pending.extend((operand, False) for operand in reversed(operands_of(expr)))
    return order


class Scopes:
    """The scopes of a function, and the one of each expression in it."""

    def __init__(self, root: Expr):
        self.root = Scope(None)
        self.of: dict[Expr, Scope] = {root: self.root}
        self.bodies: dict[Expr, tuple[Scope, ...]] = {}
        """The scopes of the bodies of an expression."""
        for expr in reversed(post_order(root)):  # users first
            if isinstance(expr, Variable):
                continue
            scope = self.of[expr]
            for operand in operands_of(expr):
                self._use(operand, scope)
            if expr.bodies:
                scopes = self.bodies[expr] = tuple(Scope(scope) for _ in expr.bodies)
                for body, inner in zip(expr.bodies, scopes, strict=True):
                    self._use(body, inner)

    def _use(self, expr: Expr, scope: Scope) -> None:
        if isinstance(expr, Variable):
            return  # bound, not computed
        known = self.of.get(expr)
        self.of[expr] = scope if known is None or known is scope else around(known, scope)
