"""A backend whose mistakes are reported: what it raises or returns by mistake names it and its method."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.analysis.patterns.language import OpPattern, Pattern
from xrelay.analysis.patterns.nodes import nodes
from xrelay.backends.base import (
    Backend,
    BackendError,
    CompiledRegion,
    CompositePattern,
    FusionStyle,
    No,
    ObjectFile,
    PartitionRule,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.dialects.relay import Relay
from xrelay.runtime.arguments import kind_of

_ResultT = TypeVar("_ResultT")


class CheckedBackend(Backend):
    """Another backend, with checks of what its methods do. `compile` is not checked here."""

    def __init__(self, inner: Backend):
        """Raises BackendError for a name that no backend may have."""
        super().__init__()
        name: object = getattr(inner, "name", None)
        if not isinstance(name, str) or name == DEFAULT or not re.fullmatch(r"[\w-]+", name):
            raise BackendError(f"a backend calls itself {name!r}, which is no name for one")
        self.inner = inner
        self.name = name
        self.bind_constants = inner.bind_constants
        self.special_numbers = inner.special_numbers
        self.takes_onnx = inner.takes_onnx
        self.fusion_style = self._style(inner.fusion_style)
        self.table = self._table()

    def __getattr__(self, name: str) -> Any:
        # What only some backends have, the estimates of simulated ones for example.
        return getattr(self.inner, name)

    def patterns(self) -> Sequence[CompositePattern]:
        return self.table

    def partition_rule(self) -> PartitionRule | None:
        found = self._call("partition_rule()", self.inner.partition_rule)
        if found is not None and not isinstance(cast(object, found), PartitionRule):
            raise BackendError(
                f"backend '{self.name}': partition_rule() returns {kind_of(found)}, expected None or a "
                "rule of xrelay.placement.rules"
            )
        return found

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        found = self._call(f"supports({op.name})", lambda: self.inner.supports(op, types))
        if not isinstance(cast(object, found), Yes | No):
            raise BackendError(
                f"backend '{self.name}': supports({op.name}) returns {found!r}, "
                "expected Yes() or No(reason)"
            )
        return found

    def optimize(self, module: ModuleOp) -> None:
        returned: object = self._call("optimize", lambda: self.inner.optimize(module))
        if returned is not None:
            raise BackendError(
                f"backend '{self.name}': optimize returns {kind_of(returned)}, expected None: "
                "it rewrites the module that it is given"
            )

    def lower(self, module: ModuleOp) -> bool:
        returned = self._call("lower", lambda: self.inner.lower(module))
        if not isinstance(cast(object, returned), bool):
            raise BackendError(
                f"backend '{self.name}': lower returns {kind_of(returned)}, expected True or False: "
                "whether it has rewritten the module that it is given"
            )
        return returned

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion | ObjectFile:
        return self.inner.compile(function, options)

    def _call(self, what: str, method: Callable[[], _ResultT]) -> _ResultT:
        try:
            return method()
        except BackendError:
            raise
        except (Exception, SystemExit) as error:
            raise BackendError(
                f"backend '{self.name}': {what} raises {type(error).__name__}: {error}"
            ) from error

    def _style(self, found: object) -> FusionStyle:
        if not isinstance(found, FusionStyle):
            known = ", ".join(f"FusionStyle.{style.name}" for style in FusionStyle)
            raise BackendError(
                f"backend '{self.name}': fusion_style is {found!r}, expected one of {known}"
            )
        return found

    def _table(self) -> tuple[CompositePattern, ...]:
        """The patterns, each of which must have the right form."""
        table: list[CompositePattern] = []
        known = {op.name for op in Relay.operations}
        for entry in self._call("patterns()", lambda: list[object](self.inner.patterns())):
            if not isinstance(entry, CompositePattern):
                raise BackendError(
                    f"backend '{self.name}': patterns() has {entry!r}, expected a CompositePattern"
                )
            name, pattern = cast(object, entry.name), cast(object, entry.pattern)
            prefix = f"{self.name}."
            if not isinstance(name, str) or not name.startswith(prefix) or name == prefix:
                raise BackendError(
                    f"backend '{self.name}' has a pattern {name!r}, "
                    f"expected a name that begins with '{prefix}'"
                )
            if not isinstance(pattern, Pattern):
                raise BackendError(
                    f"backend '{self.name}': pattern '{name}' is {pattern!r}, expected a Pattern"
                )
            if isinstance(pattern, OpPattern):
                raise BackendError(
                    f"backend '{self.name}': pattern '{name}' is the operator {pattern}, expected "
                    f'its result: is_op("{pattern}")(…)'
                )
            for node in nodes(entry.pattern):
                kind = node.kind if isinstance(node, OpPattern) else None
                if isinstance(kind, str) and f"relay.{kind.removeprefix('relay.')}" not in known:
                    raise BackendError(
                        f"backend '{self.name}': pattern '{entry.name}' names '{kind}', "
                        "which is no operator"
                    )
            table.append(CompositePattern(entry.name, entry.pattern, self._checked(entry)))
        return tuple(table)

    def _checked(self, entry: CompositePattern) -> Callable[[Any], bool]:
        def check(found: Any) -> bool:
            return self._call(f"the check of pattern '{entry.name}'", lambda: entry.check(found))

        return check
