"""The relay dialect: the operators of TVM's Relay on builtin tensors."""

from xdsl.ir import Dialect

from xrelay.dialects.adt import ADT_ATTRS, ADT_OPS
from xrelay.dialects.annotation import ANNOTATION_OPS
from xrelay.dialects.binary import BINARY_OPS
from xrelay.dialects.conv import CONV_OPS
from xrelay.dialects.core import CORE_ATTRS, CORE_OPS
from xrelay.dialects.creation import CREATION_OPS
from xrelay.dialects.dense import DENSE_OPS
from xrelay.dialects.device import DEVICE_ATTRS, DEVICE_OPS
from xrelay.dialects.dilate import DILATE_OPS
from xrelay.dialects.functional import FUNCTIONAL_ATTRS, FUNCTIONAL_OPS
from xrelay.dialects.layout import LAYOUT_OPS
from xrelay.dialects.memory import MEMORY_OPS
from xrelay.dialects.norm import NORM_OPS
from xrelay.dialects.pool import POOL_OPS
from xrelay.dialects.qnn import QNN_OPS
from xrelay.dialects.reduction import REDUCTION_OPS
from xrelay.dialects.reshape import RESHAPE_OPS
from xrelay.dialects.transform import TRANSFORM_OPS
from xrelay.dialects.unary import UNARY_OPS
from xrelay.dialects.vm import VM_OPS

Relay = Dialect(
    "relay",
    [
        *CORE_OPS,
        *FUNCTIONAL_OPS,
        *ADT_OPS,
        *ANNOTATION_OPS,
        *UNARY_OPS,
        *BINARY_OPS,
        *REDUCTION_OPS,
        *RESHAPE_OPS,
        *TRANSFORM_OPS,
        *CREATION_OPS,
        *CONV_OPS,
        *DENSE_OPS,
        *DEVICE_OPS,
        *MEMORY_OPS,
        *VM_OPS,
        *DILATE_OPS,
        *LAYOUT_OPS,
        *POOL_OPS,
        *NORM_OPS,
        *QNN_OPS,
    ],
    [*CORE_ATTRS, *FUNCTIONAL_ATTRS, *ADT_ATTRS, *DEVICE_ATTRS],
)
