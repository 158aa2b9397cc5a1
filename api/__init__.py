"""
xrelay: neural networks through xDSL, from ONNX to running machine code.

    import xrelay
    model = xrelay.compile("resnet50.onnx")
    outputs = model.run({"x": image})

Importing the package is light: what is heavy is loaded on first use.
"""

from importlib import import_module

# As `typing` has it, which takes ten times as long to load as all else that a command does before it minds Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from xrelay.compile_model import compile_model as compile
    from xrelay.errors import CompileError
    from xrelay.frontends.onnx import OnnxImportError
    from xrelay.interpret_model import interpret_model as interpret
    from xrelay.runtime.dimensions.loading import load
    from xrelay.runtime.dynamic import DynamicModel
    from xrelay.runtime.errors import ModelError
    from xrelay.runtime.model import Model
    from xrelay.runtime.signature import InputValue
    from xrelay.runtime.staged import StagedModel

    __version__: str

__all__ = [
    "CompileError",
    "DynamicModel",
    "InputValue",
    "Model",
    "ModelError",
    "OnnxImportError",
    "StagedModel",
    "__version__",
    "compile",
    "interpret",
    "load",
]

_HOMES = {
    "CompileError": ("xrelay.errors", "CompileError"),
    "DynamicModel": ("xrelay.runtime.dynamic", "DynamicModel"),
    "InputValue": ("xrelay.runtime.signature", "InputValue"),
    "Model": ("xrelay.runtime.model", "Model"),
    "ModelError": ("xrelay.runtime.errors", "ModelError"),
    "OnnxImportError": ("xrelay.frontends.onnx", "OnnxImportError"),
    "StagedModel": ("xrelay.runtime.staged", "StagedModel"),
    "compile": ("xrelay.compile_model", "compile_model"),
    "interpret": ("xrelay.interpret_model", "interpret_model"),
    "load": ("xrelay.runtime.dimensions.loading", "load"),
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        # The installed package states it. To ask for that takes longer than to import this module.
        from importlib.metadata import version

        return version("xrelay")
    if name not in _HOMES:
        raise AttributeError(f"module 'xrelay' has no attribute '{name}'")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
