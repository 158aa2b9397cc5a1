"""The tree that is tested: its files, the names of its modules, and what it needs of others."""

import ast
import gc
import sys
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.mutants.source import Source

HEAVY = ("torch", "tvm", "matplotlib", "selenium", "openvino")
"""What few tests need, and takes long to import."""


@dataclass(frozen=True)
class Project:
    """A tree with a pyproject.toml that says which folder is which package."""

    root: Path

    @cached_property
    def folders(self) -> dict[str, str]:
        """The packages, by the folder that each stands for."""
        text = (self.root / "pyproject.toml").read_text()
        setuptools: dict[str, Any] = tomllib.loads(text)["tool"]["setuptools"]
        return {folder: package for package, folder in setuptools["package-dir"].items()}

    @cached_property
    def sources(self) -> list[Source]:
        """All files, in the order of their names."""
        paths = (path for folder in self.folders for path in (self.root / folder).rglob("*.py"))
        return [Source.read(self.root, str(path.relative_to(self.root))) for path in sorted(paths)]

    @cached_property
    def modules(self) -> dict[str, str]:
        """The name of the module that each file holds."""
        return {source.path: self.module(source.path) for source in self.sources}

    def module(self, path: str) -> str:
        """The name of the module that a file holds."""
        folder, *parts = Path(path).with_suffix("").parts
        names = parts[:-1] if parts[-1] == "__init__" else parts
        return ".".join((self.folders[folder], *names))

    def chosen(self, paths: Sequence[str]) -> list[Source]:
        """The files that some names are or that lie below them; raises LookupError for others."""
        for path in paths:
            if not any(Path(source.path).is_relative_to(path) for source in self.sources):
                raise LookupError(f"'{path}' has no files of {', '.join(self.folders)}")
        return [
            source
            for source in self.sources
            if any(Path(source.path).is_relative_to(path) for path in paths)
        ]

    def import_others(self) -> None:
        """Imports what the files import of others: processes that are forked have it then."""
        own = {package.partition(".")[0] for package in self.folders.values()}
        tests = [path.read_bytes() for path in (self.root / "tests").rglob("*.py")]
        trees = [source.tree for source in self.sources] + [ast.parse(data) for data in tests]
        names = {name for tree in trees for name in imports(tree)}
        for name in sorted(names):
            top = name.partition(".")[0]
            if top not in own | set(HEAVY) and not (self.root / top).exists():
                # Extras that are not installed, and files of the tests.
                with suppress(ImportError):
                    import_module(name)
        # Nor do processes search all that for garbage.
        gc.freeze()
        for name in own:
            assert name not in sys.modules, f"{name} is imported before it is changed"


def imports(tree: ast.Module) -> set[str]:
    """The modules that a file imports wherever it is run."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
    return found
