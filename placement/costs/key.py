"""
What a measurement is of: what is computed, by which engine, on which machine, behind how much other data. Names are not in
it, so that equal parts of models share one where these go through as much.
"""

import json
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version

from xdsl.dialects import func

from xrelay.backends.base import Backend
from xrelay.placement.graph.structure import structure
from xrelay.runtime.host import host, missing_features


@dataclass(frozen=True)
class Machine:
    """Where costs hold."""

    cpu: str
    """The model of the processor."""
    features: str
    """A digest of what it can."""
    threads: int
    project: str
    """The version of this project."""

    @classmethod
    def here(cls, threads: int) -> "Machine":
        """This machine."""
        found = host()
        # What the system does not let this process use, own code does not use either.
        lacking = missing_features(tuple(name for name, has in found.features.items() if has))
        named = ",".join(n for n, has in found.features.items() if has and n not in lacking)
        return cls(found.cpu, digest(named), threads, project_version())

    def is_here(self) -> bool:
        """Whether costs that are measured in this process are those of the machine."""
        return self == Machine.here(self.threads)

    def __str__(self) -> str:
        return f"{self.cpu} ({self.features[:8]}), threads {self.threads}, xrelay {self.project}"


@cache
def project_version() -> str:
    """The version of this project."""
    return version("xrelay")


def digest(text: str) -> str:
    """A short name for a text."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def engine_version(backend: Backend) -> str:
    """The version of an engine, with its options: of the library that runs it, or of its package."""
    inner: object = getattr(backend, "inner", backend)
    library = getattr(inner, "engine", None)
    found = getattr(library, "__version__", None)
    if not isinstance(found, str):
        package = type(inner).__module__.partition(".")[0]
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "unknown"
    wanted = getattr(inner, "wanted", ())
    return f"{found}{':' + ','.join(map(str, wanted)) if wanted else ''}"


@dataclass(frozen=True)
class Key:
    """What a measurement is known by."""

    function: str
    """A digest of what is computed."""
    engine: str
    engine_version: str
    machine: Machine
    layouts: str = "row-major"
    """The layouts of tensors at its borders."""
    rotating: tuple[int, ...] = ()
    """The inputs that are others in each run; the rest are the same ones."""
    behind: int = 0
    """How many bytes of other data are read before each run."""

    @classmethod
    def of(
        cls,
        function: func.FuncOp,
        engine: str,
        engine_version: str,
        machine: Machine,
        form: str = "",
        rotating: tuple[int, ...] = (),
        behind: int = 0,
    ) -> "Key":
        """
        The key of a function. Large constants count by their types only. `form` is what the engine gets instead, when that is
        not the function: what only the function has, as tuples that nothing computes, does not count then.
        """
        return cls(
            digest(form or structure(function, all_constants=False)),
            engine,
            engine_version,
            machine,
            rotating=rotating,
            behind=behind,
        )

    @cached_property
    def details(self) -> str:
        """What it consists of, as JSON."""
        found = asdict(self)
        for usual in ("rotating", "behind"):
            if not found[usual]:
                del found[usual]
        return json.dumps(found, sort_keys=True)

    @cached_property
    def text(self) -> str:
        """The key as a database has it."""
        return digest(self.details)
