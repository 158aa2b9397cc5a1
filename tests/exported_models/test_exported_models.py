"""
Architectures that torch exports by tracing and by torch.export, with lengths that are fixed and with lengths that are
open, agree with onnxruntime at three sizes each. A dynamic model is compiled once; static ones are exported at two
sizes by tracing, and at the third by torch.export.

Weights and inputs are random, and nothing is downloaded. torch and transformers are the extra `models`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import ModuleType

import onnx
import onnxruntime
import pytest
from _pytest.mark import ParameterSet
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from tests.exported_models import network_table, transformer_table
from tests.exported_models.architectures import Architecture, Arrays, Sizes
from tests.exported_models.known import EXPORTED_AT_TIMES, NOT_EXPORTED, REFUSED, Case
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model
from xrelay.tools.verify import largest_difference

ROWS = (*transformer_table.ROWS, *network_table.ROWS)
EXPORTERS = ("script", "dynamo")
KINDS = ("static", "dynamic")
IN_EACH_TEST: tuple[Case, ...] = (
    ("Bert", "dynamo", "dynamic"),
    ("Llama", "script", "dynamic"),
    ("residual", "script", "static"),
)
"""What is part of `make test`; the others are part of `make conformance`."""
BOUND = 1e-4
"""Of the largest element of a result: onnxruntime computes in another order."""


def cases() -> Iterator[ParameterSet]:
    """All architectures with both exporters, static and dynamic."""
    for row in ROWS:
        for exporter in EXPORTERS:
            for kind in KINDS:
                case = row.name, exporter, kind
                mark = pytest.mark.slow if case in IN_EACH_TEST else pytest.mark.extensive
                yield pytest.param(row, exporter, kind, marks=mark, id="-".join(case))


@pytest.fixture
def exporting() -> ModuleType:
    """The module that exports. Its test is skipped where torch or transformers are not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What torch and transformers say of one another.
        for name in ("torch", "onnxscript", "transformers"):
            pytest.importorskip(name, reason=f"{name} is not installed (the extra 'models')")
        import tests.exported_models.exporting

        return tests.exported_models.exporting


def test_the_table_has_all_families() -> None:
    families = {
        "encoder", "decoder", "encoder-decoder", "experts", "convolutional", "detection", "segmentation", "speech",
        "recurrent",
    }  # fmt: skip
    assert len(ROWS) >= 25 and len({row.name for row in ROWS}) == len(ROWS)
    assert families <= {row.family for row in ROWS}
    assert len({row.sizes[n]["batch"] for row in ROWS for n in range(3)}) > 2


def test_what_is_known_is_in_the_table() -> None:
    all_cases = {
        (row.name, exporter, kind) for row in ROWS for exporter in EXPORTERS for kind in KINDS
    }
    assert {*NOT_EXPORTED, *EXPORTED_AT_TIMES, *REFUSED, *IN_EACH_TEST} <= all_cases
    assert not NOT_EXPORTED.keys() & {*EXPORTED_AT_TIMES, *REFUSED}


@pytest.mark.parametrize(("row", "exporter", "kind"), [*cases()])
def test_exported_architectures_agree_with_onnxruntime(
    row: Architecture, exporter: str, kind: str, exporting: ModuleType
) -> None:
    case = row.name, exporter, kind
    exported_at = row.sizes[:1]
    if kind == "static":
        exported_at = row.sizes[:2] if exporter == "script" else row.sizes[2:]
    for sizes in exported_at:
        if case in NOT_EXPORTED:
            with pytest.raises(exporting.EXPORT_ERRORS, match=NOT_EXPORTED[case]):
                exporting.exported(row, exporter, sizes, dynamic=kind == "dynamic")
            continue
        try:
            data = exporting.exported(row, exporter, sizes, dynamic=kind == "dynamic")
        except exporting.EXPORT_ERRORS as error:
            if case in EXPORTED_AT_TIMES and EXPORTED_AT_TIMES[case] in str(error):
                pytest.skip("torch has exported it with fixed lengths before")
            raise
        run_at = row.sizes if kind == "dynamic" else (sizes,)
        if case in REFUSED:
            with pytest.raises(DiagnosticException, match=REFUSED[case]):
                require_agreement(row, data, run_at)
            continue
        model = require_agreement(row, data, run_at)
        if kind == "dynamic":
            assert programs(model) == 1


def require_agreement(
    row: Architecture, data: bytes, run_at: tuple[Sizes, ...]
) -> Model | DynamicModel:
    """A compiled model, which gives what onnxruntime gives at all sizes."""
    oracle = session(data)
    taken = [each.name for each in oracle.get_inputs()]
    model = xrelay.compile(onnx.load_from_string(data), cache=False)
    for sizes in run_at:
        inputs = {name: array for name, array in row.arrays(sizes).items() if name in taken}
        wanted = oracle.run(None, inputs)
        names = [each.name for each in oracle.get_outputs()]
        require_close(model.run(inputs), dict(zip(names, wanted, strict=True)))
    return model


def session(data: bytes) -> onnxruntime.InferenceSession:
    """onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def require_close(found: Arrays, wanted: Arrays) -> None:
    """Fails where results have other names, shapes or types, or differ by more than roundings."""
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype), name
        assert largest_difference(found[name], array) <= BOUND, name


def programs(model: Model | DynamicModel) -> int:
    """How many programs a dynamic model has compiled."""
    assert isinstance(model, DynamicModel)
    conditions = [each.conditions for each in model.specialisations]
    return conditions.count(None) + len({each for each in conditions if each is not None})
