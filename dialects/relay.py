"""The relay dialect: the operators of TVM's Relay on builtin tensors."""

from xdsl.ir import Dialect

from xrelay.dialects.annotation import ANNOTATION_OPS
from xrelay.dialects.binary import BINARY_OPS
from xrelay.dialects.conv import CONV_OPS
from xrelay.dialects.core import CORE_ATTRS, CORE_OPS
from xrelay.dialects.creation import CREATION_OPS
from xrelay.dialects.dense import DENSE_OPS
from xrelay.dialects.dilate import DILATE_OPS
from xrelay.dialects.image import IMAGE_OPS
from xrelay.dialects.layout import LAYOUT_OPS
from xrelay.dialects.norm import NORM_OPS
from xrelay.dialects.pool import POOL_OPS
from xrelay.dialects.qnn import QNN_OPS
from xrelay.dialects.qnn_arithmetic import QNN_ARITHMETIC_OPS
from xrelay.dialects.qnn_products import QNN_PRODUCT_OPS
from xrelay.dialects.random import RANDOM_OPS
from xrelay.dialects.reduction import REDUCTION_OPS
from xrelay.dialects.regions import REGION_OPS
from xrelay.dialects.reshape import RESHAPE_OPS
from xrelay.dialects.sampling import SAMPLING_OPS
from xrelay.dialects.transform import TRANSFORM_OPS
from xrelay.dialects.unary import UNARY_OPS
from xrelay.dialects.vision import VISION_OPS

Relay = Dialect(
    "relay",
    [
        *CORE_OPS,
        *ANNOTATION_OPS,
        *UNARY_OPS,
        *BINARY_OPS,
        *REDUCTION_OPS,
        *RESHAPE_OPS,
        *TRANSFORM_OPS,
        *CREATION_OPS,
        *CONV_OPS,
        *DENSE_OPS,
        *DILATE_OPS,
        *LAYOUT_OPS,
        *POOL_OPS,
        *NORM_OPS,
        *QNN_OPS,
        *QNN_ARITHMETIC_OPS,
        *QNN_PRODUCT_OPS,
        *RANDOM_OPS,
        *IMAGE_OPS,
        *SAMPLING_OPS,
        *VISION_OPS,
        *REGION_OPS,
    ],
    [*CORE_ATTRS],
)
