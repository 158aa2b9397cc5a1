"""What is installed is what is in the tree: package lists, type links, and a wheel that works."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

import xrelay

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]
"""The folder of each package that is not where its name says."""


def packages() -> dict[str, Path]:
    """Every folder with Python files below those of the project, by its import name."""
    found: dict[str, Path] = {}
    for name, folder in FOLDERS.items():
        for path in (ROOT / folder, *(ROOT / folder).rglob("*/")):
            if any(path.glob("*.py")):
                parts = path.relative_to(ROOT / folder).parts
                found[".".join((name, *parts))] = path
    return found


def test_project_names_every_package() -> None:
    assert sorted(SETUPTOOLS["packages"]) == sorted(packages())


def test_every_package_is_one() -> None:
    for path in packages().values():
        assert (path / "__init__.py").is_file(), f"{path} has no __init__.py"


def test_no_folder_hides_the_package() -> None:
    """Python started at the top of the tree would import it instead."""
    assert not (ROOT / "xrelay").exists()


def test_tools_know_every_folder() -> None:
    folders = set(FOLDERS.values())
    tools = PROJECT["tool"]
    assert set(tools["pyright"]["include"]) == folders
    banned = set(tools["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"])
    assert banned == folders - {"api"}


BELOW: dict[str, tuple[str, ...]] = {
    "dialects": (),
    "interpreters": ("dialects",),
    "analysis": ("dialects", "interpreters"),
    "transforms": ("dialects", "interpreters", "analysis", "runtime"),
    "frontends": ("dialects", "interpreters", "analysis", "runtime"),
    "lowering": ("dialects", "analysis", "runtime"),
    "runtime": (),
    "backends": ("dialects", "interpreters", "analysis", "frontends", "runtime"),
    "placement": ("dialects", "interpreters", "analysis", "backends", "runtime"),
}
"""What each folder may import; `api` and `tools` stand above all."""


ROOMS = ("emit", "math", "loops", "operators", "llvm", "program")
"""The rooms of `lowering`, each of which imports those before it only; `llvm` imports `emit`."""
MOST_FILES = 30
"""In a folder of code, so that one can take it in."""


@cache
def imported_names(path: Path) -> frozenset[str]:
    """The modules, or what they hold, that a file imports from the project."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
    return frozenset(found)


@pytest.mark.parametrize("folder", BELOW)
def test_imports_point_one_way(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        for name in imported_names(path):
            top, _, rest = name.partition(".")
            if top == "xrelay":
                assert rest.split(".")[0] in (folder, *BELOW[folder]), f"{path}: {name}"


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_lowering_import_those_before_them(room: str) -> None:
    below = ("emit",) if room == "llvm" else ROOMS[: ROOMS.index(room)]
    for path in (ROOT / "lowering" / room).rglob("*.py"):
        for name in imported_names(path):
            if name.startswith("xrelay.lowering."):
                assert name.split(".")[2] in (room, *below), f"{path}: {name}"


def test_facts_and_rules_import_nothing_above_them() -> None:
    for folder, above in (
        (
            "analysis/facts",
            ("analysis.fusion", "analysis.layouts", "analysis.patterns", "analysis.partition"),
        ),
        ("analysis/layouts", ("analysis.fusion", "analysis.patterns", "analysis.partition")),
        ("analysis/patterns", ("analysis.fusion", "analysis.partition")),
        ("frontends", ("analysis.fusion", "analysis.patterns", "analysis.partition")),
        ("analysis/fusion", ("analysis.patterns", "analysis.partition")),
        ("dialects/core", tuple(f"dialects.{family}" for family in FAMILIES - {"core"})),
        (
            "dialects/tensor",
            tuple(f"dialects.{family}" for family in FAMILIES - {"core", "tensor"}),
        ),
    ):
        for path in (ROOT / folder).rglob("*.py"):
            for name in imported_names(path):
                assert not name.startswith(tuple(f"xrelay.{each}." for each in above)), path


FAMILIES = {path.name for path in (ROOT / "dialects").iterdir() if (path / "__init__.py").exists()}


@pytest.mark.parametrize(
    "folder",
    [
        "interpreters",
        "lowering/operators",
        "frontends/onnx/importer",
        "frontends/onnx/exporter",
    ],
)
def test_families_are_those_of_the_dialect(folder: str) -> None:
    found = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
    # A composite is no operator of the dialect, and operators of onnxruntime are graphs of ONNX's.
    assert found - {"attention", "microsoft"} <= FAMILIES


def test_no_circle_of_files() -> None:
    files = {
        ".".join((name, *(() if path.stem == "__init__" else (path.stem,)))): path
        for name, folder in packages().items()
        for path in folder.glob("*.py")
    }
    needs = {
        module: {
            name if name in files else name.rpartition(".")[0] for name in imported_names(path)
        }
        & files.keys() - {module}
        for module, path in files.items()
    }
    while ready := {module for module, below in needs.items() if not below}:
        needs = {module: below - ready for module, below in needs.items() if module not in ready}
    assert not needs, f"circles among {sorted(needs)}"


def test_folders_can_be_taken_in() -> None:
    tests = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    for path in (*packages().values(), *tests):
        assert len(list(path.glob("*.py"))) <= MOST_FILES, path


def test_types_are_linked() -> None:
    """pyright finds the packages through typings/xrelay."""
    links = ROOT / "typings" / "xrelay"
    expected = {path.name: path for path in (ROOT / "api").glob("*.py")}
    expected.update({folder: ROOT / folder for folder in FOLDERS.values() if folder != "api"})
    assert {path.name for path in links.iterdir()} == set(expected)
    for name, target in expected.items():
        link = links / name
        assert link.is_symlink()
        assert not Path(os.readlink(link)).is_absolute()
        assert link.resolve() == target.resolve()


def test_version_has_one_source() -> None:
    assert version("xrelay") == xrelay.__version__ == PROJECT["project"]["version"]


# -- what continuous integration installs ---------------------------------------------------------


def test_pins_satisfy_what_the_project_requires() -> None:
    text = (ROOT / "constraints.txt").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"]
    stated = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    for requirement in map(Requirement, [*stated, *extras["test"], *extras["dev"]]):
        pinned = pins[requirement.name.replace("_", "-")]
        assert requirement.specifier.contains(pinned), f"{requirement}: `make constraints`"


def test_pins_are_versions_with_hashes_and_nothing_else() -> None:
    text = re.sub(r"\\\n\s*", "", (ROOT / "constraints.txt").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==[\w.+]+ (--hash=sha256:[0-9a-f]{64} ?)+", line), line


# -- the wheel ----------------------------------------------------------------------------------


def build_isolation() -> list[str]:
    """Without a new enough setuptools beside it, pip fetches one."""
    try:
        major = int(version("setuptools").partition(".")[0])
    except LookupError:
        return []
    return ["--no-build-isolation"] if major >= 77 else []


def pip(*arguments: object) -> None:
    """Runs pip; skips the test where pip needs a network and has none."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("there is no network to fetch setuptools from")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from a copy: building leaves files in the tree."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for folder in set(FOLDERS.values()):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tree / folder, ignore=ignored)
    output = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", *build_isolation(), "--wheel-dir", output, tree)
    (path,) = output.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, and nothing else, installed."""
    folder = tmp_path_factory.mktemp("site")
    pip("install", "--no-compile", "--no-deps", "--no-index", "--target", folder, wheel)
    return folder


@pytest.mark.slow
def test_wheel_holds_the_package_only(wheel: Path) -> None:
    names = [Path(name) for name in ZipFile(wheel).namelist()]
    metadata = f"xrelay-{version('xrelay')}.dist-info"
    assert {name.parts[0] for name in names} == {"xrelay", metadata}
    sources = {
        Path(package.replace(".", "/"), path.name)
        for package, folder in packages().items()
        for path in folder.iterdir()
        if path.suffix in (".py", ".html", ".css", ".js", ".toml")
    }
    found = {name for name in names if name.parts[0] == "xrelay"}
    assert found == sources | {Path("xrelay/py.typed")}
    assert Path(metadata, "licenses", "LICENSE") in names


def run_installed(installed: Path, folder: Path, *command: object) -> str:
    """Runs a command outside of the tree, with the installed wheel before everything else."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ["transforms/defuse-ops.mlir", "transforms/expand-functions.relay"],
        pytest.param(["*/*.mlir", "*/*.relay"], marks=pytest.mark.extensive),
    ],
    ids=["some", "all"],
)
def test_wheel_passes_lit_tests_with_the_stock_tool(
    installed: Path, tmp_path: Path, names: list[str]
) -> None:
    """`xdsl-opt` finds dialect and passes by the entry points of the installed wheel."""
    assert {path.name for path in installed.iterdir()} <= {
        "xrelay",
        f"xrelay-{version('xrelay')}.dist-info",
        "bin",
    }
    show = "import xrelay.tools.universe as u; print(u.__file__)"
    place = run_installed(installed, tmp_path, sys.executable, "-c", show)
    assert Path(place.strip()).is_relative_to(installed)

    suite = tmp_path / "suite"
    source = ROOT / "tests" / "filecheck"
    shutil.copytree(source, suite, ignore=shutil.ignore_patterns("Output"))
    tests = [path for name in names for path in suite.glob(name)]
    lit = Path(sys.executable).with_name("lit")
    report = run_installed(installed, tmp_path, lit, "-v", *tests)
    assert report.count("PASS: ") == len(tests) >= 2


@pytest.mark.slow
def test_installed_commands_work(installed: Path, tmp_path: Path) -> None:
    assert {"xrelay", "xrelay-opt"} <= {path.name for path in (installed / "bin").iterdir()}
    shown = run_installed(installed, tmp_path, installed / "bin" / "xrelay", "--version")
    assert shown == f"xrelay {version('xrelay')}\n"
