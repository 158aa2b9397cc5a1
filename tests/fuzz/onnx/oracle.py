"""Single ONNX nodes in outside engines: onnxruntime, and onnx's reference where that has no kernel."""

import logging
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_shapes
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from tests.fuzz.onnx.values import Array

IR_VERSION = 10
NO_KERNEL = (errors.NotImplemented, errors.InvalidGraph)
"""What onnxruntime raises for operators, dtypes and operator sets that it does not know."""
REFUSED = (errors.Fail, errors.InvalidArgument, errors.RuntimeException)


class NoOracle(Exception):
    """No engine computes a node."""


def run_node(
    node: NodeProto, feeds: Mapping[str, Array], opset: int, constants: Collection[str]
) -> list[Array]:
    """
    The results of a node for the values of its inputs, some of which are constants.

    Raises NoOracle when no engine computes it, or the results are no tensors.
    """
    model = node_model(node, feeds, opset, constants)
    try:
        results = by_onnxruntime(model, feeds)
    except NO_KERNEL as error:
        if node.op_type in OF_MATRICES and opset < 13:
            raise NoOracle("the reference knows its newer meaning only") from error
        return by_reference(model, feeds, constants)
    except REFUSED as error:
        raise NoOracle(str(error)) from error
    if not all(isinstance(each, np.ndarray) for each in results):
        raise NoOracle("a result is no tensor")
    return results


OF_MATRICES = frozenset({"Hardmax", "Softmax", "LogSoftmax"})
"""Operators that before operator set 13 took their operand as a matrix."""


def node_model(
    node: NodeProto, feeds: Mapping[str, Array], opset: int, constants: Collection[str]
) -> ModelProto:
    """A model of one node. Inputs of the graph that its inner graphs use are inputs, too."""
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feeds.items()
        if name not in constants
    ]
    weights = [numpy_helper.from_array(feeds[name], name) for name in feeds if name in constants]
    outputs = [ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "graph", inputs, outputs, weights)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )


def session_options() -> onnxruntime.SessionOptions:
    """One thread, kernels as they are: no optimisation stands between a node and its meaning."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def by_onnxruntime(model: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes. Raises its errors."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), session_options(), ["CPUExecutionProvider"]
    )
    wanted = {value.name for value in session.get_inputs()}
    return session.run(None, {name: array for name, array in feeds.items() if name in wanted})


def by_reference(
    model: ModelProto, feeds: Mapping[str, Array], constants: Collection[str]
) -> list[Array]:
    """
    What onnx's evaluator computes, in the types that ONNX infers.

    Raises NoOracle for whatever it raises.
    """
    given = {name: array for name, array in feeds.items() if name not in constants}
    logging.disable(logging.CRITICAL)
    try:
        with np.errstate(all="ignore"):
            results: list[Any] = ReferenceEvaluator(model).run(None, given)
        outputs = infer_shapes(model).graph.output
    except Exception as error:
        # It is written for legal nodes, and fails in many ways for others.
        raise NoOracle(f"{type(error).__name__}: {error}") from error
    finally:
        logging.disable(logging.NOTSET)
    # NumPy's sums of small integers are larger ones.
    types = [value.type.tensor_type.elem_type for value in outputs]
    return [
        np.asarray(each, helper.tensor_dtype_to_np_dtype(type_) if type_ else None)
        for each, type_ in zip(results, types, strict=True)
    ]
