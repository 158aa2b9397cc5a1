"""The engines of a placement: backends, and own code, as measurements and rules need to know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.analysis.partition.compilers import Support, Yes
from xrelay.backends.base import Backend, CompiledRegion, RegionOptions
from xrelay.compiler import compile_code
from xrelay.options import CompileOptions
from xrelay.partitioned import as_program, find_backends
from xrelay.placement.costs.job import ByName
from xrelay.placement.costs.key import engine_version
from xrelay.placement.costs.measured import Engine
from xrelay.placement.plan_file import EngineFacts
from xrelay.placement.rules.candidate import OWN
from xrelay.placement.rules.defaults import rule_of
from xrelay.placement.rules.rule import Rule
from xrelay.runtime.model import Model


class OwnCode(Backend):
    """This project's own code generator, as workers measure it."""

    name = OWN

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes()

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        settings = CompileOptions(options.threads)
        return Model.from_code(compile_code(as_program(function), "region", settings)).run_unchecked


def own_code() -> Backend:
    """The engine that own code is, for workers."""
    return OwnCode()


@dataclass(frozen=True)
class Kept:
    """Makes an engine that was given as an object, which has to pickle for workers."""

    backend: Backend

    def __call__(self) -> Backend:
        return self.backend


@dataclass
class Engines:
    """The engines of a placement, own code last."""

    backends: Sequence[Backend]
    """The checked ones."""
    given: Sequence[str | Backend]

    @classmethod
    def of(cls, backends: Sequence[str | Backend]) -> Engines:
        """The engines of backends, by name or as they are. Raises BackendError as `find_backends`."""
        return cls(find_backends(backends), backends)

    def described(self) -> dict[str, Engine]:
        """What measurements need to know, by name."""
        found: dict[str, Engine] = {}
        for backend, text in zip(self.backends, self.given, strict=True):
            maker = ByName(text) if isinstance(text, str) else Kept(text)
            version = engine_version(backend)
            found[backend.name] = Engine(
                backend.name, version, maker, backend.bind_constants, backend.takes_onnx
            )
        return {**found, OWN: Engine(OWN, engine_version(OwnCode()), own_code)}

    def facts(self) -> dict[str, EngineFacts]:
        """What plans say of them."""
        return {
            name: EngineFacts(each.version, each.bind_constants)
            for name, each in self.described().items()
        }

    def rules(self, own: Rule) -> dict[str, Rule]:
        """The rule of each, by name; `own` is that of own code."""
        return {**{each.name: rule_of(each) for each in self.backends}, OWN: own}
