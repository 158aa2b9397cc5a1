"""What operators on values of any type take: cells, tuples, functions, names for compilers and devices."""

import numpy as np

from bounds.operator import Bound, Says, Subject, subject
from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.interpreters.constants import constant_op

VALUES = Bound(("f32", "0xi1", "?x4xf16", "(f32,2xi8)", "ref<f32>", "fn<2xf32>"))
"""Types of all kinds."""
CELLS = Bound(("ref<f32>", "ref<(f32,2xi8)>", "ref<ref<4xi8>>"), ("f32", "(f32)"))
DEVICES = {"src_virtual_device": VirtualDeviceAttr(), "dst_virtual_device": VirtualDeviceAttr()}
NUMBER = constant_op(np.float32(1))
assert isinstance(NUMBER, ConstantOp)

CORE_SUBJECTS: tuple[Subject, ...] = (
    *(
        subject(
            f"annotation.compiler_{end}", "4xf32", data=VALUES, compiler=Bound(("dnnl", "é"), ("",))
        )
        for end in ("begin", "end")
    ),
    subject("constant", "", value=NUMBER.value),
    subject("device_copy", "4xf32", data=VALUES, **DEVICES),
    subject("let", "4xf32", value=VALUES),
    subject("tuple", "4xf32", fields=VALUES),
    subject("memory.kill", "4xf32"),
    subject("ref_create", "4xf32", value=VALUES),
    subject("ref_read", "ref<4xf32>", ref=CELLS),
    subject(
        "ref_write",
        "ref<4xf32> 4xf32",
        ref=Bound(("ref<?xf32>",), ("4xf32", Says("ref<3xf32>", "the cell holds"))),
        value=Bound(("4xf32",), ("5xf32", "f32", "(4xf32)", "4xf64")),
    ),
    subject(
        "vm.invoke_tvm_op",
        "fn<4xf32> (4xf32) (4xf32)",
        op=Bound(("fn<?xf32>",), ("4xf32", Says("fn<3xf32>", "'ins' is"))),
        ins=Bound(
            ("(?xf32)",),
            ("4xf32", *(Says(each, "'ins' is") for each in ("(5xf32)", "(4xf64)", "()"))),
        ),
        outs=Bound(
            ("(?xf32)",),
            ("4xf32", *(Says(each, "'outs' is") for each in ("(5xf32)", "(f32)", "(4xf32,4xf32)"))),
        ),
    ),
    subject(
        "apply",
        "fn<4xf32> 4xf32",
        function=Bound(("fn<?xf32>",), ("4xf32", Says("fn<3xf32>", "argument 0"))),
        args=Bound(
            ("4xf32",), tuple(Says(each, "argument 0") for each in ("5xf32", "4xf64", "f32"))
        ),
    ),
)
