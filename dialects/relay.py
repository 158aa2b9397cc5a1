"""The relay dialect: the operators of TVM's Relay on builtin tensors."""

from xdsl.ir import Dialect

from xrelay.dialects.adaptive_pool import ADAPTIVE_POOL_OPS
from xrelay.dialects.adt import ADT_ATTRS, ADT_OPS
from xrelay.dialects.annotation import ANNOTATION_OPS
from xrelay.dialects.binary import BINARY_OPS
from xrelay.dialects.bits import BIT_OPS
from xrelay.dialects.bitserial import BITSERIAL_OPS
from xrelay.dialects.conv import CONV_OPS
from xrelay.dialects.conv_gradient import CONV_GRADIENT_OPS
from xrelay.dialects.conv_packed import CONV_PACKED_OPS
from xrelay.dialects.conv_transpose import CONV_TRANSPOSE_OPS
from xrelay.dialects.core import CORE_ATTRS, CORE_OPS
from xrelay.dialects.correlation import CORRELATION_OPS
from xrelay.dialects.creation import CREATION_OPS
from xrelay.dialects.dense import DENSE_OPS
from xrelay.dialects.device import DEVICE_ATTRS, DEVICE_OPS
from xrelay.dialects.dilate import DILATE_OPS
from xrelay.dialects.dyn import DYN_OPS
from xrelay.dialects.dyn_image import DYN_IMAGE_OPS
from xrelay.dialects.dyn_select import DYN_SELECT_OPS
from xrelay.dialects.einsum import EINSUM_OPS
from xrelay.dialects.functional import FUNCTIONAL_ATTRS, FUNCTIONAL_OPS
from xrelay.dialects.image import IMAGE_OPS
from xrelay.dialects.indexing import INDEXING_OPS
from xrelay.dialects.layout import LAYOUT_OPS
from xrelay.dialects.like import LIKE_OPS
from xrelay.dialects.loss import LOSS_OPS
from xrelay.dialects.memory import MEMORY_OPS
from xrelay.dialects.norm import NORM_OPS
from xrelay.dialects.pool import POOL_OPS
from xrelay.dialects.pool_gradient import POOL_GRADIENT_OPS
from xrelay.dialects.qnn import QNN_OPS
from xrelay.dialects.qnn_arithmetic import QNN_ARITHMETIC_OPS
from xrelay.dialects.qnn_products import QNN_PRODUCT_OPS
from xrelay.dialects.quantize import QUANTIZE_OPS
from xrelay.dialects.random import RANDOM_OPS
from xrelay.dialects.rearrange import REARRANGE_OPS
from xrelay.dialects.reduction import REDUCTION_OPS
from xrelay.dialects.regions import REGION_OPS
from xrelay.dialects.reorder import REORDER_OPS
from xrelay.dialects.reshape import RESHAPE_OPS
from xrelay.dialects.sampling import SAMPLING_OPS
from xrelay.dialects.sort import SORT_OPS
from xrelay.dialects.sparse import SPARSE_OPS
from xrelay.dialects.sparse_coordinates import SPARSE_COORDINATE_OPS
from xrelay.dialects.stft import STFT_OPS
from xrelay.dialects.transcendental import TRANSCENDENTAL_OPS
from xrelay.dialects.transform import TRANSFORM_OPS
from xrelay.dialects.unary import UNARY_OPS
from xrelay.dialects.upsampling import UPSAMPLING_OPS
from xrelay.dialects.vision import VISION_OPS
from xrelay.dialects.vm import VM_OPS
from xrelay.dialects.winograd import WINOGRAD_OPS

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
        *CONV_TRANSPOSE_OPS,
        *DENSE_OPS,
        *DEVICE_OPS,
        *MEMORY_OPS,
        *VM_OPS,
        *DILATE_OPS,
        *LAYOUT_OPS,
        *POOL_OPS,
        *NORM_OPS,
        *REARRANGE_OPS,
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
    [*CORE_ATTRS, *FUNCTIONAL_ATTRS, *ADT_ATTRS, *DEVICE_ATTRS],
)
