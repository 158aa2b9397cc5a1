"""What names mean at a place of Relay text, and what the functions around it use from outside."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from xrelay.frontends.relay_text.cursor import Cursor
from xrelay.frontends.relay_text.syntax import Call, Constant, Expr, Function, Variable

V = TypeVar("V")


class Scope(Generic[V]):
    """Names that a nested part of the text may use again for something else, and what they mean."""

    def __init__(self) -> None:
        self.values: dict[str, V] = {}
        self.hidden: list[tuple[str, V | None]] = []

    def define(self, name: str, value: V) -> None:
        """Lets `name` mean `value` until the scope that is open ends."""
        self.hidden.append((name, self.values.get(name)))
        self.values[name] = value

    def close(self, mark: int, *, keep_new: bool = False) -> None:
        """
        Lets names mean what they did when `hidden` had `mark` entries. With `keep_new`, names
        that meant nothing then stay.
        """
        while len(self.hidden) > mark:
            name, value = self.hidden.pop()
            if value is not None:
                self.values[name] = value
            elif not keep_new:
                del self.values[name]


class Names:
    """The names at the place that a cursor reads."""

    def __init__(self, cursor: Cursor):
        self.cursor = cursor
        self.locals: Scope[Variable] = Scope()
        self.graph: Scope[tuple[Expr, int]] = Scope()
        """Graph bindings, and within how many function literals they were made."""
        self.functions: list[Function] = []
        """The functions around this place, outermost first."""
        self._shallowest: list[int] = []
        """For each of `functions`, the least depth of what it uses."""
        self._pending: list[Variable] = []
        """Variables of `let` whose values are being read."""

    @property
    def depth(self) -> int:
        """How many functions are around this place."""
        return len(self.functions)

    # -- functions -------------------------------------------------------------------------------

    def enter(self, function: Function) -> None:
        """Begins the body of a function."""
        self.functions.append(function)
        self._shallowest.append(self.depth)

    def leave(self) -> None:
        """Ends it, and notes whether it uses what is outside."""
        depth, function = self.depth, self.functions.pop()
        least = self._shallowest.pop()
        function.captures = least < depth
        if self._shallowest:
            self._use(least)

    def define_parameters(self, params: Iterable[Variable]) -> None:
        """Raises the cursor's error for a name that two of them have."""
        seen: set[str] = set()
        for param in params:
            if param.name in seen:
                raise self.cursor.error(f"parameter %{param.name} is named twice", param.position)
            seen.add(param.name)
            self.locals.define(param.name, param)

    # -- `let` -----------------------------------------------------------------------------------

    def begin_value(self, variable: Variable) -> None:
        """Begins the value of a variable, in which only functions may use it."""
        variable.pending = True
        self._pending.append(variable)

    def end_value(self, variable: Variable, value: Expr) -> bool:
        """Ends it: a function that uses the variable that it is bound to is recursive. Whether it is one."""
        self._pending.pop()
        variable.pending = False
        if variable.used_within is None:
            return False
        while isinstance(value, Call) and len(value.args) == 1:  # on_device(fn …)
            value = value.args[0]
        if not isinstance(value, Function):
            raise self.cursor.error(
                f"%{variable.name} is used in its own value, which is no function",
                variable.used_within,
            )
        value.recursive = variable
        return True

    def define_pending(self) -> None:
        """`let %f = fn …` may use %f within the function, which begins here."""
        for variable in reversed(self._pending):
            if variable.depth != self.depth:
                break
            self.locals.define(variable.name, variable)

    # -- uses ------------------------------------------------------------------------------------

    def variable(self, name: str, position: int) -> Variable:
        """The variable that is used at a position as `%name`."""
        variable = self.locals.values.get(name)
        if variable is None:
            raise self.cursor.error(f"variable %{name} is not defined here", position)
        if variable.pending and variable.used_within is None:
            variable.used_within = position
        self._use(variable.depth)
        return variable

    def binding(self, text: str, position: int) -> Expr:
        """What is used at a position as `%1`."""
        found = self.graph.values.get(text)
        if found is None:
            raise self.cursor.error(f"{text} is not bound before this place", position)
        value, depth = found
        if isinstance(value, Function):
            value.uses += 1
        if not isinstance(value, Constant):
            self._use(depth)
        return value

    def _use(self, depth: int) -> None:
        """Notes a use of something within `depth` functions."""
        if self._shallowest and depth < self._shallowest[-1]:
            self._shallowest[-1] = depth
