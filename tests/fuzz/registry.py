"""The fuzzers, each imported when it is asked for."""

from importlib import import_module

from tests.fuzz.fuzzer import Fuzzer

FUZZERS = {
    "processes": "processes:ProcessesFuzzer",
    "files": "files:FilesFuzzer",
    "lengths": "onnx.lengths:LengthsFuzzer",
    "onnx-bytes": "onnx.bytes:OnnxBytesFuzzer",
    "onnx-fields": "onnx.fields:OnnxFieldsFuzzer",
    "onnx-schemas": "onnx.schemas:OnnxSchemasFuzzer",
    "mlir": "mlir:MlirFuzzer",
    "onnx-graphs": "onnx.graphs:OnnxGraphFuzzer",
    "pass-pipelines": "pass_pipelines:PassPipelineFuzzer",
    "relay-grammar": "relay_programs:RelayGrammarFuzzer",
    "relay-text": "relay_text:RelayTextFuzzer",
    "single-passes": "single_passes:SinglePassFuzzer",
}
"""Module and class by name."""


def fuzzer(name: str) -> Fuzzer:
    """The fuzzer of a name."""
    module, _, attribute = FUZZERS[name].partition(":")
    return getattr(import_module(f"tests.fuzz.{module}"), attribute)()
