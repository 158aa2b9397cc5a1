"""
Compiled models in the cache: where a model belongs, and whether it is there. A load from the cache imports neither
xDSL's IR nor onnx.

What the name of an entry depends on: the bytes of the model, its name and the shapes it is given;
the options and the description of the processor; the sources of this compiler and the versions of
the libraries that it computes with.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as memoized
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.utils.exceptions import DiagnosticException

from xrelay.lowering.emit.target import named_target
from xrelay.options import CompileOptions, Progress, silent
from xrelay.runtime.cache import ObjectCache, object_cache
from xrelay.runtime.model import Model
from xrelay.runtime.reading import (
    MAX_SOURCE_BYTES,
    LocationError,
    digest_of,
    open_beside,
    open_regular,
    size_of,
)
from xrelay.runtime.signature import InputSequence, InputValue, Shapes
from xrelay.runtime.weights import weights_path

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

    from xrelay.runtime.code import ModelCode

logger = logging.getLogger("xrelay.cache")

_PACKAGES = (
    *("analysis", "backends", "dialects", "frontends"),
    *("interpreters", "lowering", "runtime", "transforms"),
)
"""The packages whose sources decide what machine code a model becomes, beside `xrelay` itself."""
_LIBRARIES = ("xdsl", "llvmlite", "numpy", "onnx", "ml_dtypes")


def load_or_compile(
    place: CachePlace | None, compiled: Callable[[], ModelCode], progress: Progress
) -> Model:
    """The model from its place in the cache; else what `compiled` makes, which is kept there."""
    code = None if place is None else place.load(progress)
    if code is not None:
        return Model.from_code(code)
    before = None if place is None else place.dependencies()
    code = compiled()
    progress("generate machine code")
    model = Model.from_code(code)
    if place is not None:
        place.store(code, before)
    return model


@dataclass(frozen=True)
class CachePlace:
    """The place in the cache of one model, compiled with some options."""

    cache: ObjectCache
    key: str
    path: Path | None
    """The file of the model."""
    changed: int | None
    """When the file was changed last, from before its digest was taken."""

    def load(self, progress: Progress = silent) -> ModelCode | None:
        """The compiled model, if it is there."""
        progress("look into the cache")
        return self.cache.load(self.key, self.digest)

    def digest(self, name: str) -> str | None:
        """The digest of a file beside the model; None when the compiler would not read it either."""
        if self.path is None:
            return None
        try:
            if self.path.suffix == ".mlir":  # Its weights, where the reader of programs looks.
                file = open_regular(self.path.parent / name)
            else:
                file = open_beside(self.path.parent, name)
            with file:
                return digest_of(file, size_of(file))
        except (OSError, LocationError):
            return None

    def dependencies(self) -> dict[str, str | None] | None:
        """The digests of the files beside the model, by name; None when it cannot be read."""
        if self.path is None:
            return {}
        try:
            names = _side_files(self.path)
        except DiagnosticException as error:
            logger.info("%s", error)
            return None
        return {name: self.digest(name) for name in sorted(names)}

    def store(self, code: ModelCode, before: dict[str, str | None] | None) -> None:
        """Keeps the compiled model, unless its files have changed since `before`."""
        if before is None:
            return
        now = {name: self.digest(name) for name in before}
        if now != before or _changed(self.path) != self.changed:
            logger.info("%s has changed meanwhile, nothing is stored", self.path)
            return
        self.cache.store(self.key, code, before)


def cache_place(
    model: str | Path | ModelProto | ModuleOp, shapes: Shapes | None, options: CompileOptions
) -> CachePlace | None:
    """
    Where the compiled model belongs. None when the cache is switched off, and for what is no
    model that can be read: the compiler says why.

    Raises ModelError when the environment asks for a cache of no size.
    """
    cache = object_cache()
    if cache is None:
        return None
    path = Path(model) if isinstance(model, str | Path) else None
    changed = _changed(path)
    if path is not None:
        digest, name = _model_digest(path), path.name
    elif type(model).__name__ == "ModelProto":
        proto = cast("ModelProto", model)
        digest = hashlib.sha256(proto.SerializeToString(deterministic=True)).hexdigest()
        name = proto.graph.name
    elif type(model).__name__ == "ModuleOp":
        from xrelay.analysis.facts.program_size import check_leaves

        check_leaves(cast("ModuleOp", model))
        digest, name = hashlib.sha256(str(model).encode()).hexdigest(), "module"
    else:
        digest, name = None, ""
    if digest is None:
        return None
    # The text of elements names the first ones.
    given = sorted(
        (str(key), repr(shape) if isinstance(shape, InputValue | InputSequence) else str(shape))
        for key, shape in dict(shapes or {}).items()
    )
    facts = (
        *(digest, name, given),
        *(options.threads, options.profile, options.winograd, options.tuning.digest),
        *(options.precision, options.precision_rules, options.limits, str(options.layouts)),
        *(named_target(options.target), _compiler_digest()),
    )
    return CachePlace(cache, hashlib.sha256(repr(facts).encode()).hexdigest(), path, changed)


def _model_digest(path: Path) -> str | None:
    """The digest of a model's file; None for anything else, which the compiler refuses later."""
    try:
        with open_regular(path) as file:
            size = size_of(file)
            return digest_of(file, size) if size <= MAX_SOURCE_BYTES else None
    except OSError:
        return None


def _changed(path: Path | None) -> int | None:
    """When a file was changed last, in nanoseconds; None for no file."""
    try:
        return None if path is None else path.stat().st_mtime_ns
    except (OSError, ValueError):  # ValueError for a name that no file can have.
        return None


def _side_files(path: Path) -> set[str]:
    """
    The names of files that a model is read from beside its own: weights of a program, external
    data of an ONNX model.

    Raises OnnxImportError for a file that is no ONNX model.
    """
    if path.suffix == ".relay":
        return set()
    if path.suffix == ".mlir":
        return {weights_path(path).name}
    # Only where nothing is in the cache yet, so that the importer is needed anyway.
    from xrelay.frontends.onnx import load_model
    from xrelay.frontends.onnx.messages import external_locations

    return external_locations(load_model(path))


@memoized
def _compiler_digest() -> str:
    """The digest of the sources of this package and of the versions of what it computes with."""
    digest = hashlib.sha256(repr([(name, version(name)) for name in _LIBRARIES]).encode())
    files: dict[str, Path] = {}
    for package in ("xrelay", *(f"xrelay.{name}" for name in _PACKAGES)):
        spec = find_spec(package)
        assert spec is not None and spec.submodule_search_locations
        for folder in spec.submodule_search_locations:
            for file in Path(folder).rglob("*.py"):
                files[f"{package}/{file.relative_to(folder)}"] = file
    for name in sorted(files):
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256(files[name].read_bytes()).digest())
    return digest.hexdigest()
