"""The relay dialect: the operators of TVM's Relay on builtin tensors."""

from xdsl.ir import Dialect

from xrelay.dialects.conv.conv import CONV_OPS
from xrelay.dialects.conv.gradient import CONV_GRADIENT_OPS
from xrelay.dialects.conv.packed import CONV_PACKED_OPS
from xrelay.dialects.conv.transpose import CONV_TRANSPOSE_OPS
from xrelay.dialects.conv.winograd import WINOGRAD_OPS
from xrelay.dialects.core.adt import ADT_ATTRS, ADT_OPS
from xrelay.dialects.core.annotation import ANNOTATION_OPS
from xrelay.dialects.core.device import DEVICE_ATTRS, DEVICE_OPS
from xrelay.dialects.core.failure import FAILURE_OPS
from xrelay.dialects.core.functional import FUNCTIONAL_ATTRS, FUNCTIONAL_OPS
from xrelay.dialects.core.memory import MEMORY_OPS
from xrelay.dialects.core.references import REFERENCE_OPS, RefType
from xrelay.dialects.core.values import CORE_ATTRS, CORE_OPS
from xrelay.dialects.core.vm import VM_OPS
from xrelay.dialects.dyn.image import DYN_IMAGE_OPS
from xrelay.dialects.dyn.select import DYN_SELECT_OPS
from xrelay.dialects.dyn.tensor import DYN_OPS
from xrelay.dialects.image.resize import IMAGE_OPS
from xrelay.dialects.image.sampling import SAMPLING_OPS
from xrelay.dialects.nn.bitserial import BITSERIAL_OPS
from xrelay.dialects.nn.correlation import CORRELATION_OPS
from xrelay.dialects.nn.dense import DENSE_OPS
from xrelay.dialects.nn.dilate import DILATE_OPS
from xrelay.dialects.nn.loss import LOSS_OPS
from xrelay.dialects.nn.norm import NORM_OPS
from xrelay.dialects.nn.space import SPACE_OPS
from xrelay.dialects.nn.upsampling import UPSAMPLING_OPS
from xrelay.dialects.pool.adaptive import ADAPTIVE_POOL_OPS
from xrelay.dialects.pool.gradient import POOL_GRADIENT_OPS
from xrelay.dialects.pool.pool import POOL_OPS
from xrelay.dialects.qnn.arithmetic import QNN_ARITHMETIC_OPS
from xrelay.dialects.qnn.blocks import QNN_BLOCKS_OPS
from xrelay.dialects.qnn.conversion import QNN_OPS
from xrelay.dialects.qnn.products import QNN_PRODUCT_OPS
from xrelay.dialects.qnn.simulate import QUANTIZE_OPS
from xrelay.dialects.sparse.coordinates import SPARSE_COORDINATE_OPS
from xrelay.dialects.sparse.products import SPARSE_OPS
from xrelay.dialects.tensor.binary import BINARY_OPS
from xrelay.dialects.tensor.bits import BIT_OPS
from xrelay.dialects.tensor.creation import CREATION_OPS
from xrelay.dialects.tensor.einsum import EINSUM_OPS
from xrelay.dialects.tensor.indexing import INDEXING_OPS
from xrelay.dialects.tensor.layout import LAYOUT_OPS
from xrelay.dialects.tensor.like import LIKE_OPS
from xrelay.dialects.tensor.random import RANDOM_OPS
from xrelay.dialects.tensor.reduce import REDUCTION_OPS
from xrelay.dialects.tensor.reorder import REORDER_OPS
from xrelay.dialects.tensor.reshape import RESHAPE_OPS
from xrelay.dialects.tensor.sort import SORT_OPS
from xrelay.dialects.tensor.stft import STFT_OPS
from xrelay.dialects.tensor.transcendental import TRANSCENDENTAL_OPS
from xrelay.dialects.tensor.transform import TRANSFORM_OPS
from xrelay.dialects.tensor.unary import UNARY_OPS
from xrelay.dialects.vision.nms import VISION_OPS
from xrelay.dialects.vision.regions import REGION_OPS

Relay = Dialect(
    "relay",
    [
        *CORE_OPS,
        *FAILURE_OPS,
        *REFERENCE_OPS,
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
        *CONV_TRANSPOSE_OPS,
        *DENSE_OPS,
        *DEVICE_OPS,
        *MEMORY_OPS,
        *VM_OPS,
        *DILATE_OPS,
        *LAYOUT_OPS,
        *POOL_OPS,
        *NORM_OPS,
        *SPACE_OPS,
        *SPARSE_OPS,
        *WINOGRAD_OPS,
        *LOSS_OPS,
        *CONV_PACKED_OPS,
        *BITSERIAL_OPS,
        *UPSAMPLING_OPS,
        *POOL_GRADIENT_OPS,
        *CORRELATION_OPS,
        *CONV_GRADIENT_OPS,
        *ADAPTIVE_POOL_OPS,
        *QNN_OPS,
        *QNN_ARITHMETIC_OPS,
        *QNN_BLOCKS_OPS,
        *QNN_PRODUCT_OPS,
        *RANDOM_OPS,
        *IMAGE_OPS,
        *SAMPLING_OPS,
        *VISION_OPS,
        *REGION_OPS,
        *TRANSCENDENTAL_OPS,
        *BIT_OPS,
        *LIKE_OPS,
        *REORDER_OPS,
        *INDEXING_OPS,
        *SORT_OPS,
        *EINSUM_OPS,
        *DYN_OPS,
        *DYN_IMAGE_OPS,
        *DYN_SELECT_OPS,
        *QUANTIZE_OPS,
        *SPARSE_COORDINATE_OPS,
        *STFT_OPS,
    ],
    [*CORE_ATTRS, RefType, *FUNCTIONAL_ATTRS, *ADT_ATTRS, *DEVICE_ATTRS],
)
