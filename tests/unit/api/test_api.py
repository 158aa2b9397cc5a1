"""The public face: `import xrelay` is light, what `compile` takes, makes and refuses, and the universe."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, get_origin

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from oracles import expected_of, random_x
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.compiler import kernel_options, read_model, relay_passes
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.operators.conv.winograd import WINOGRAD_NAMES
from xrelay.options import CompileOptions
from xrelay.tools.universe import XRELAY_UNIVERSE


def fresh_python(code: str, *arguments: object, **environment: str) -> str:
    """What a program prints in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


# -- what is loaded when ------------------------------------------------------------------------

HEAVY = ("numpy", "onnx", "llvmlite", "rich", "onnxruntime")


LIGHT = (
    "import xrelay; dir(xrelay)",
    "import xrelay.tools.universe",
    "from xdsl.xdsl_opt_main import xDSLOptMain; xDSLOptMain(args=[])",
    "from xdsl.xdsl_opt_main import xDSLOptMain; xDSLOptMain(args=['-p', 'fuse-ops'])",
    "from xdsl.xdsl_opt_main import xDSLOptMain; xDSLOptMain(args=['-p', 'defuse-ops'])",
    "from xdsl.universe import Universe; Universe.get_multiverse().all_dialects['relay']()",
)
"""One after the other, in one Python."""


def test_start_up_is_light() -> None:
    found = fresh_python(
        f"import json, sys\nfound = {{}}\nfor code in {LIGHT}:\n    exec(code)\n"
        f"    found[code] = [m for m in {HEAVY} if m in sys.modules]\nprint(json.dumps(found))"
    )
    assert json.loads(found) == {code: [] for code in LIGHT}


def test_import_of_the_package_loads_nothing_else() -> None:
    found = fresh_python(
        "import sys\nbefore = set(sys.modules)\nimport xrelay\n"
        "import json\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    modules = {name.partition(".")[0] for name in json.loads(found)} - sys.stdlib_module_names
    assert modules == {"xrelay"}


def test_public_names() -> None:
    assert dir(xrelay) == sorted(xrelay.__all__)
    for name in xrelay.__all__:
        assert getattr(xrelay, name).__doc__
    with pytest.raises(AttributeError, match="module 'xrelay' has no attribute 'frobnicate'"):
        _ = xrelay.frobnicate


# -- compile ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["str", "Path", "ModelProto", "ModuleOp", "mlir"])
def test_compile_takes_all_kinds_of_models(folder: Path, kind: str) -> None:
    path = folder / "conv.onnx"
    module, name = read_model(path)
    assert name == "conv"
    models: dict[str, Any] = {
        "str": str(path),
        "Path": path,
        "ModelProto": onnx.load(path),
        "ModuleOp": module,
    }
    if kind == "mlir":
        shutil.copy(folder / "add.mlir", folder / "model.mlir")
        model = xrelay.compile(folder / "model.mlir")
        x = random_x(2, 4)
        found = model.run({"x": x, "y": x})["output0"]
        np.testing.assert_array_equal(found, np.maximum(x + x, 0))
        return
    x = random_x(1, 3, 8, 8)
    outputs = xrelay.compile(models[kind]).run({"x": x})
    assert list(outputs) == ["y"]
    assert outputs["y"].dtype == np.float32
    np.testing.assert_allclose(outputs["y"], expected_of(folder, x), rtol=1e-5, atol=1e-5)


def test_compile_leaves_its_argument_unchanged(folder: Path) -> None:
    module, _ = read_model(folder / "conv.onnx")
    proto = onnx.load(folder / "conv.onnx")
    before = str(module), proto.SerializeToString()
    xrelay.compile(module)
    xrelay.compile(proto)
    assert (str(module), proto.SerializeToString()) == before
    module.verify()


def test_shapes_fix_unknown_dimensions(folder: Path) -> None:
    model = xrelay.compile(folder / "symbolic.onnx", shapes={"x": [2, 3, 5, 5]})
    assert [str(spec) for spec in model.signature.inputs] == ["'x' float32[2, 3, 5, 5]"]
    x = random_x(2, 3, 5, 5)
    np.testing.assert_allclose(
        model.run({"x": x})["y"], expected_of(folder, x), rtol=1e-5, atol=1e-5
    )


def test_unknown_dimensions_without_shapes(folder: Path) -> None:
    with pytest.raises(OnnxImportError, match=r"input 'x' has the unknown dimension 0 \('batch'\)"):
        import_model(folder / "symbolic.onnx")
    model = xrelay.compile(folder / "symbolic.onnx")
    assert isinstance(model, xrelay.DynamicModel)
    assert str(model.signature.inputs[0]) == "'x' float32[batch, 3, side, side]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z80"}, "unknown target 'z80', known targets are native, x86-64"),
        ({"threads": 257}, "threads is 257, expected 1 to 256"),
        ({"threads": 0}, "threads is 0"),
        ({"shapes": {"z": [1]}}, "shapes= names 'z', which is neither an input nor an unknown"),
    ],
)
def test_bad_options(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticException, match=message):
        xrelay.compile(folder / "conv.onnx", **options)


def test_winograd_can_be_refused() -> None:
    assert kernel_options(CompileOptions()).excluded == frozenset()
    assert kernel_options(CompileOptions(winograd=False)).excluded == WINOGRAD_NAMES


def test_shapes_are_for_models_that_leave_them_open(folder: Path) -> None:
    with pytest.raises(xrelay.CompileError, match=r"program states tensor<2x4xf32>"):
        xrelay.compile(folder / "add.mlir", shapes={"x": [2, 5]})


def test_progress_names_the_stages(folder: Path) -> None:
    stages: list[str] = []
    xrelay.compile(folder / "conv.onnx", progress=stages.append)
    passes = [each.name for each in relay_passes(CompileOptions())]
    assert len(passes) > 2
    generation = ["generate kernels", "convert to LLVM", "generate machine code"]
    assert stages == ["read the model", *passes, *generation]


COMPILE = """\
import sys, xrelay
for model in sys.argv[1:]:
    print(xrelay.compile(model, target="x86-64-v3").llvm_ir)
"""


@pytest.mark.slow
def test_code_is_the_same_on_every_run(folder: Path, model_of: Callable[..., ModelProto]) -> None:
    nodes = [
        *(helper.make_node(op, ["x"], [op]) for op in ("Exp", "Tanh", "Neg", "Sqrt", "Abs")),
        helper.make_node("Concat", ["Exp", "Tanh", "Neg"], ["c"], axis=1),
        helper.make_node("Add", ["Sqrt", "Abs"], ["d"]),
        helper.make_node("Softmax", ["c"], ["e"], axis=1),
    ]
    onnx.save(model_of(nodes, {"x": (np.float32, [3, 5])}, ["e", "d"]), folder / "many.onnx")
    models = [folder / "conv.onnx", folder / "many.onnx"]
    texts = [fresh_python(COMPILE, *models, PYTHONHASHSEED=seed) for seed in ("1", "77")]
    here = [xrelay.compile(model, target="x86-64-v3").llvm_ir + "\n" for model in models]
    assert all("_run" in text for text in here)
    assert texts == ["".join(here)] * 2


def test_a_named_target_never_looks_at_the_host(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llvmlite import binding

    def refuse() -> None:
        raise AssertionError("the host was asked for")

    monkeypatch.setattr(binding, "get_host_cpu_features", refuse)
    monkeypatch.setattr(binding, "get_host_cpu_name", refuse)
    monkeypatch.setattr(binding, "get_default_triple", refuse)
    for name in TARGETS:
        model = xrelay.compile(folder / "conv.onnx", target=name)
        assert model.signature.target == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 2.5}, "threads is 2.5, expected a whole number"),
        ({"threads": "2"}, "threads is '2', expected a whole number"),
        ({"threads": True}, "threads is True, expected a whole number"),
        ({"target": "armv8"}, "unknown target 'armv8', known targets are native, x86-64"),
        ({"shapes": [1, 3]}, "shapes is a list, expected a mapping"),
        ({"shapes": {"x": {1, 3}}}, "shapes= gives input 'x' {1, 3}, expected a list of whole"),
        ({"shapes": {"x": 5}}, "shapes= gives input 'x' 5, expected a list of whole numbers"),
        ({"target": 5}, "target is 5, expected one of native, x86-64"),
        ({"cache": "no"}, "cache is 'no', expected True or False"),
        ({"fallback": 1}, "fallback is 1, expected True or False"),
        ({"profile": None}, "profile is None, expected True or False"),
        ({"winograd": np.zeros(3)}, "winograd is array([0., 0., 0.]), expected True or False"),
        ({"tuning": 5}, "tuning is 5, expected the path of a file"),
        ({"tuning": None}, "tuning is None, expected the path of a file"),
        ({"tuning": "a\0b"}, "tuning is 'a\\x00b', which no file can be called"),
        ({"tuning": "\ud800"}, "which no file can be called"),
        ({"tuning": "x" * 5000}, "File name too long"),
        ({"tuning": "/dev/zero"}, "cannot read '/dev/zero': it is a device"),
        ({"progress": None}, "progress is None, expected a function"),
        ({"backends": 5}, "the backends are 5, expected a list"),
        ({"backends": None}, "the backends are None, expected a list"),
        ({"backends": np.zeros(2)}, "expected a list of names and of Backend objects"),
    ],
)
def test_arguments_of_other_types(folder: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticException, match=re.escape(message)):
        xrelay.compile(folder / "conv.onnx", **arguments)


def test_numbers_of_numpy_are_numbers(folder: Path) -> None:
    threads: Any = np.int64(2)
    model = xrelay.compile(folder / "conv.onnx", threads=threads)
    model.save(folder / "conv.o")
    assert model.signature.threads == 2


@pytest.mark.parametrize(
    "model", [5, None, b"bytes", "", "a\0b", "\ud800", "x" * 5000, [], np.zeros(2)]
)
@pytest.mark.parametrize("cache", [False, True])
def test_models_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Any, cache: bool
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    with pytest.raises(
        DiagnosticException, match="the model is a|cannot read model|is no file|called"
    ):
        xrelay.compile(model, cache=cache)


def test_what_export_does_not_take(folder: Path) -> None:
    from xrelay.frontends.onnx import OnnxExportError, export_model

    module, _ = read_model(folder / "conv.onnx")
    cases: list[tuple[Any, Any, Any, str]] = [
        (5, "name", None, "the program is 5, expected a FuncOp or a ModuleOp"),
        (module, None, None, "the name is None, expected a str"),
        (module, "\ud800", None, "which is no text"),
        (module, "name", "file", "external is 'file', expected ExternalWeights"),
    ]
    for program, name, external, message in cases:
        with pytest.raises(OnnxExportError, match=message):
            export_model(program, name, external=external)


# -- the universe -------------------------------------------------------------------------------


def test_multiverse_loads() -> None:
    """A clash of names or an import error here would break every call of xdsl-opt."""
    multiverse = Universe.get_multiverse()
    for name, factory in XRELAY_UNIVERSE.all_dialects.items():
        assert multiverse.all_dialects[name]().name == factory().name == name
    for name, factory in XRELAY_UNIVERSE.all_passes.items():
        assert multiverse.all_passes[name]() is factory()


PASSES = sorted(XRELAY_UNIVERSE.all_passes.items())


@pytest.mark.parametrize(("name", "factory"), PASSES, ids=[name for name, _ in PASSES])
class Test_Passes:
    def test_names_agree(self, name: str, factory: Callable[[], type[ModulePass]]) -> None:
        """File fuse_ops.py, class FuseOpsPass, pass fuse-ops."""
        cls = factory()
        assert cls.name == name
        assert cls.__module__.rpartition(".")[2] == name.replace("-", "_")
        assert cls.__name__.removesuffix("Pass").lower() == name.replace("-", "")
        assert cls.__name__.endswith("Pass")

    def test_options_are_fields(self, name: str, factory: Callable[[], type[ModulePass]]) -> None:
        """xDSL silently ignores annotations that are no dataclass fields."""
        cls = factory()
        annotated = {
            option
            for base in cls.__mro__
            for option, annotation in inspect.get_annotations(base).items()
            if base is not ModulePass
            and not option.startswith("_")
            and get_origin(annotation) is not ClassVar
        }
        options = fields(cls)
        assert annotated - {"name"} == {option.name for option in options} - {"name"}
        for option in options:
            assert hasattr(cls, option.name), f"the option {option.name} has no default"

    def test_docstrings(self, name: str, factory: Callable[[], type[ModulePass]]) -> None:
        cls = factory()
        assert cls.__doc__
        assert not cls.__doc__.startswith(f"{cls.__name__}("), "the doc string is a dataclass's own"
        for option in fields(cls):
            owner = next(
                base for base in cls.__mro__ if option.name in inspect.get_annotations(base)
            )
            lines = inspect.getsource(owner).splitlines()
            place = next(
                i for i, line in enumerate(lines) if line.startswith(f"    {option.name}: ")
            )
            assert lines[place + 1].strip().startswith('"""'), f"{option.name} is not documented"


def test_modules_survive_the_pipeline(folder: Path) -> None:
    """Every relay-to-relay pass leaves a module that verifies."""
    from xrelay.compiler import context, relay_passes

    module, _ = read_model(folder / "conv.onnx")
    for each in relay_passes(CompileOptions()):
        each.apply(context(), module)
        module.verify()
    assert isinstance(module, ModuleOp)
