// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Neural network operators.
// CHECK: 'layout' is "NHW", expected the axes of "NCW" in any order
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "max_pool1d_1"
func.func @max_pool1d_1(%x0: tensor<1x2x5xf32>) {
  %0 = relay.nn.max_pool1d %x0 {pool_size = array<i64: 2>, layout = "NHW"} : (tensor<1x2x5xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// CHECK: 'layout' is "NCW4w", which splits W; only C may be split
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "max_pool1d_2"
func.func @max_pool1d_2(%x0: tensor<1x2x5x4xf32>) {
  %0 = relay.nn.max_pool1d %x0 {pool_size = array<i64: 2>, layout = "NCW4w"} : (tensor<1x2x5x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// -----

// CHECK: 'data' in the layout NCW8c is tensor<1x2x5x4xf32>, expected blocks of 8 along C
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "max_pool1d_3"
func.func @max_pool1d_3(%x0: tensor<1x2x5x4xf32>) {
  %0 = relay.nn.max_pool1d %x0 {pool_size = array<i64: 2>, layout = "NCW8c"} : (tensor<1x2x5x4xf32>) -> tensor<1x2x4x8xf32>
  func.return
}

// -----

// CHECK: 'pool_size' is [2, 2], expected three positive numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "max_pool3d_1"
func.func @max_pool3d_1(%x0: tensor<1x2x5x5x5xf32>) {
  %0 = relay.nn.max_pool3d %x0 {pool_size = array<i64: 2, 2>} : (tensor<1x2x5x5x5xf32>) -> tensor<1x2x4x4x4xf32>
  func.return
}

// -----

// CHECK: 'padding' is [1, 1], expected 1, 3 or 6 numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "avg_pool3d_1"
func.func @avg_pool3d_1(%x0: tensor<1x2x5x5x5xf32>) {
  %0 = relay.nn.avg_pool3d %x0 {pool_size = array<i64: 2, 2, 2>, padding = array<i64: 1, 1>} : (tensor<1x2x5x5x5xf32>) -> tensor<1x2x4x4x4xf32>
  func.return
}

// -----

// CHECK: the window covers 2 elements, the padded depth is only 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "avg_pool3d_2"
func.func @avg_pool3d_2(%x0: tensor<1x2x1x5x5xf32>) {
  %0 = relay.nn.avg_pool3d %x0 {pool_size = array<i64: 2, 2, 2>} : (tensor<1x2x1x5x5xf32>) -> tensor<1x2x0x4x4xf32>
  func.return
}

// -----

// CHECK: 'out_layout' is "NWC", accepted is "NCW" or ""
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "avg_pool1d_1"
func.func @avg_pool1d_1(%x0: tensor<1x2x5xf32>) {
  %0 = relay.nn.avg_pool1d %x0 {pool_size = array<i64: 2>, out_layout = "NWC"} : (tensor<1x2x5xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// CHECK: 'out_layout' is "NCDHW4w", which splits W; only NC may be split
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv3d_1"
func.func @conv3d_1(%x0: tensor<1x4x5x5x5xf32>, %x1: tensor<6x4x2x2x2xf32>) {
  %0 = relay.nn.conv3d %x0, %x1 {out_layout = "NCDHW4w"} : (tensor<1x4x5x5x5xf32>, tensor<6x4x2x2x2xf32>) -> tensor<1x2x4x4x4x4xf32>
  func.return
}

// -----

// CHECK: 'data' has 4 channels, 'weight' takes 3 in each of 1 groups
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv3d_2"
func.func @conv3d_2(%x0: tensor<1x4x5x5x5xf32>, %x1: tensor<6x3x2x2x2xf32>) {
  %0 = relay.nn.conv3d %x0, %x1 : (tensor<1x4x5x5x5xf32>, tensor<6x3x2x2x2xf32>) -> tensor<1x6x4x4x4xf32>
  func.return
}

// -----

// CHECK: 'output_padding' is [0, 0], expected one number that is not negative
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv1d_transpose_1"
func.func @conv1d_transpose_1(%x0: tensor<1x4x5xf32>, %x1: tensor<4x6x2xf32>) {
  %0 = relay.nn.conv1d_transpose %x0, %x1 {output_padding = array<i64: 0, 0>} : (tensor<1x4x5xf32>, tensor<4x6x2xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

// CHECK: 'output_size' is [2], expected two positive numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "adaptive_1"
func.func @adaptive_1(%x0: tensor<1x4x5x5xf32>) {
  %0 = relay.nn.adaptive_avg_pool2d %x0 {output_size = array<i64: 2>} : (tensor<1x4x5x5xf32>) -> tensor<1x4x2x2xf32>
  func.return
}

// -----

// CHECK: 'data' is tensor<1x4x5x5xf32>, expected rank 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "adaptive_2"
func.func @adaptive_2(%x0: tensor<1x4x5x5xf32>) {
  %0 = relay.nn.adaptive_max_pool1d %x0 : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  func.return
}

// -----

// CHECK: 'grad' is [1, 3, 4, 5] in the layout NCHW, pooling 'data' gives [1, 3, 4, 4]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "grad_1"
func.func @grad_1(%x0: tensor<1x3x4x5xf32>, %x1: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.max_pool2d_grad %x0, %x1 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x4x5xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type f32, 'grad' of f16
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "grad_2"
func.func @grad_2(%x0: tensor<1x3x4x4xf16>, %x1: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.avg_pool2d_grad %x0, %x1 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf16>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'kernel_size' is absent, expected two positive numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "weight_grad_1"
func.func @weight_grad_1(%x0: tensor<1x6x3x3xf32>, %x1: tensor<1x4x5x5xf32>) {
  %0 = relay.nn.conv2d_backward_weight %x0, %x1 : (tensor<1x6x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<6x4x3x3xf32>
  func.return
}

// -----

// CHECK: 'grad' is for [1, 3, 3] images, rows and columns, the convolution of 'data' has [1, 4, 4]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "weight_grad_2"
func.func @weight_grad_2(%x0: tensor<1x6x3x3xf32>, %x1: tensor<1x4x5x5xf32>) {
  %0 = relay.nn.conv2d_backward_weight %x0, %x1 {kernel_size = array<i64: 2, 2>} : (tensor<1x6x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<6x4x2x2xf32>
  func.return
}

// -----

// CHECK: 'groups' is 3, expected a divisor of the 4 channels of 'data'
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "weight_grad_3"
func.func @weight_grad_3(%x0: tensor<1x6x3x3xf32>, %x1: tensor<1x4x5x5xf32>) {
  %0 = relay.nn.conv2d_backward_weight %x0, %x1 {kernel_size = array<i64: 3, 3>, groups = 3 : i64} : (tensor<1x6x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<6x4x3x3xf32>
  func.return
}

// -----

// CHECK: 'kernel_size' is 2, expected an odd number
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "correlation_1"
func.func @correlation_1(%x0: tensor<1x4x9x9xf32>, %x1: tensor<1x4x9x9xf32>) {
  %0 = relay.nn.correlation %x0, %x1 {kernel_size = 2 : i64} : (tensor<1x4x9x9xf32>, tensor<1x4x9x9xf32>) -> tensor<1x9x6x6xf32>
  func.return
}

// -----

// CHECK: 'data1' is tensor<1x4x9x9xf32>, 'data2' is tensor<1x4x9x8xf32>, expected the same
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "correlation_2"
func.func @correlation_2(%x0: tensor<1x4x9x9xf32>, %x1: tensor<1x4x9x8xf32>) {
  %0 = relay.nn.correlation %x0, %x1 : (tensor<1x4x9x9xf32>, tensor<1x4x9x8xf32>) -> tensor<1x9x6x6xf32>
  func.return
}

// -----

// CHECK: 'data1' has elements of type i8, expected floating point
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "correlation_3"
func.func @correlation_3(%x0: tensor<1x4x9x9xi8>, %x1: tensor<1x4x9x9xi8>) {
  %0 = relay.nn.correlation %x0, %x1 : (tensor<1x4x9x9xi8>, tensor<1x4x9x9xi8>) -> tensor<1x9x7x7xi8>
  func.return
}

// -----

// CHECK: 'offset' is [1, 9, 3, 3] in the layout NCHW, expected [1, 18, 3, 3]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "deformable_1"
func.func @deformable_1(%x0: tensor<1x4x5x5xf32>, %x1: tensor<1x9x3x3xf32>, %x2: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.deformable_conv2d %x0, %x1, %x2 : (tensor<1x4x5x5xf32>, tensor<1x9x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  func.return
}

// -----

// CHECK: 'deformable_groups' is 3, expected a divisor of the 4 channels of 'data'
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "deformable_2"
func.func @deformable_2(%x0: tensor<1x4x5x5xf32>, %x1: tensor<1x18x3x3xf32>, %x2: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.deformable_conv2d %x0, %x1, %x2 {deformable_groups = 3 : i64} : (tensor<1x4x5x5xf32>, tensor<1x18x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  func.return
}

// -----

// CHECK: 'scale_d', 'scale_h' and 'scale_w' are (1.0, 1.0, 0.0), expected positive finite numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "upsampling3d_1"
func.func @upsampling3d_1(%x0: tensor<1x4x2x2x2xf32>) {
  %0 = relay.nn.upsampling3d %x0 {scale_d = 1.0 : f64, scale_h = 1.0 : f64, scale_w = 0.0 : f64} : (tensor<1x4x2x2x2xf32>) -> tensor<1x4x2x2x2xf32>
  func.return
}

// -----

// CHECK: 'method' is "cubic", accepted is "nearest_neighbor" or "trilinear"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "upsampling3d_2"
func.func @upsampling3d_2(%x0: tensor<1x4x2x2x2xf32>) {
  %0 = relay.nn.upsampling3d %x0 {scale_d = 1.0 : f64, scale_h = 1.0 : f64, scale_w = 1.0 : f64, method = "cubic"} : (tensor<1x4x2x2x2xf32>) -> tensor<1x4x2x2x2xf32>
  func.return
}

// -----

// CHECK: 'tile_size' is 9, accepted range is [2, 8]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "winograd_1"
func.func @winograd_1(%x0: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.contrib_conv2d_winograd_weight_transform %x0 {tile_size = 9 : i64} : (tensor<6x4x3x3xf32>) -> tensor<11x11x6x4xf32>
  func.return
}

// -----

// CHECK: 'weight' has [3, 2] taps, expected as many along each axis, from 3 to 7
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "winograd_2"
func.func @winograd_2(%x0: tensor<6x4x3x2xf32>) {
  %0 = relay.nn.contrib_conv2d_winograd_weight_transform %x0 {tile_size = 4 : i64} : (tensor<6x4x3x2xf32>) -> tensor<6x6x6x4xf32>
  func.return
}

// -----

// CHECK: 'strides' is [2, 2], expected [1, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "winograd_3"
func.func @winograd_3(%x0: tensor<1x4x9x9xf32>, %x1: tensor<6x6x4x6xf32>) {
  %0 = relay.nn.contrib_conv2d_winograd_without_weight_transform %x0, %x1 {tile_size = 4 : i64, strides = array<i64: 2, 2>} : (tensor<1x4x9x9xf32>, tensor<6x6x4x6xf32>) -> tensor<1x6x4x4xf32>
  func.return
}

// -----

// CHECK: 'weight' has 6 numbers along the rows, which with 'tile_size' 6 are 1 taps, expected 3 to 7
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "winograd_4"
func.func @winograd_4(%x0: tensor<1x4x9x9xf32>, %x1: tensor<6x6x4x6xf32>) {
  %0 = relay.nn.contrib_conv2d_winograd_without_weight_transform %x0, %x1 {tile_size = 6 : i64} : (tensor<1x4x9x9xf32>, tensor<6x6x4x6xf32>) -> tensor<1x6x7x7xf32>
  func.return
}

// -----

// CHECK: 'data' has 5 channels, 'weight' takes 4
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "winograd_5"
func.func @winograd_5(%x0: tensor<1x5x5x6x7xf32>, %x1: tensor<4x4x2x6x4xf32>) {
  %0 = relay.nn.contrib_conv3d_winograd_without_weight_transform %x0, %x1 {tile_size = 2 : i64} : (tensor<1x5x5x6x7xf32>, tensor<4x4x2x6x4xf32>) -> tensor<1x6x4x4x5xf32>
  func.return
}

// -----

// CHECK: 'pad_width' [3, 0] is too wide for mode "REFLECT" on an axis of length 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "mirror_pad_1"
func.func @mirror_pad_1(%x0: tensor<3xf32>) {
  %0 = relay.nn.mirror_pad %x0 {mode = "REFLECT", pad_width = [array<i64: 3, 0>]} : (tensor<3xf32>) -> tensor<6xf32>
  func.return
}

// -----

// CHECK: 'mode' is "EDGE", accepted is "SYMMETRIC" or "REFLECT"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "mirror_pad_2"
func.func @mirror_pad_2(%x0: tensor<3xf32>) {
  %0 = relay.nn.mirror_pad %x0 {mode = "EDGE", pad_width = [array<i64: 1, 0>]} : (tensor<3xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: result type is tensor<1x6x4x4xf32>, but the operands give tensor<1x1x4x4xf32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "depth_to_space_1"
func.func @depth_to_space_1(%x0: tensor<1x6x2x2xf32>) {
  %0 = relay.nn.depth_to_space %x0 {block_size = 2 : i64} : (tensor<1x6x2x2xf32>) -> tensor<1x6x4x4xf32>
  func.return
}

// -----

// CHECK: the height of 'data' is 3, not a multiple of 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "space_to_depth_1"
func.func @space_to_depth_1(%x0: tensor<1x6x3x2xf32>) {
  %0 = relay.nn.space_to_depth %x0 {block_size = 2 : i64} : (tensor<1x6x3x2xf32>) -> tensor<1x24x1x1xf32>
  func.return
}

// -----

// CHECK: result type is tensor<3x4xf32>, but the operands give tensor<1x4xf32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_to_space_1"
func.func @batch_to_space_1(%x0: tensor<3x2xf32>) {
  %0 = relay.nn.batch_to_space_nd %x0 {block_shape = array<i64: 2>, crops = [array<i64: 0, 0>]} : (tensor<3x2xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: 'crops' [3, 2] are more than the 4 elements of axis 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_to_space_2"
func.func @batch_to_space_2(%x0: tensor<4x2xf32>) {
  %0 = relay.nn.batch_to_space_nd %x0 {block_shape = array<i64: 2>, crops = [array<i64: 3, 2>]} : (tensor<4x2xf32>) -> tensor<2x0xf32>
  func.return
}

// -----

// CHECK: the padded length of axis 1 is 3, not a multiple of 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "space_to_batch_1"
func.func @space_to_batch_1(%x0: tensor<4x3xf32>) {
  %0 = relay.nn.space_to_batch_nd %x0 {block_shape = array<i64: 2>, paddings = [array<i64: 0, 0>]} : (tensor<4x3xf32>) -> tensor<8x1xf32>
  func.return
}

// -----

// CHECK: 'block_shape' [2] is for 1 axes after the first one, 'data' is tensor<4xf32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "space_to_batch_2"
func.func @space_to_batch_2(%x0: tensor<4xf32>) {
  %0 = relay.nn.space_to_batch_nd %x0 {block_shape = array<i64: 2>, paddings = [array<i64: 0, 0>]} : (tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: 'block_shape' [] is for 0 axes after the first one, 'data' is tensor<f32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "space_to_batch_3"
func.func @space_to_batch_3(%x0: tensor<f32>) {
  %0 = relay.nn.space_to_batch_nd %x0 {block_shape = array<i64>, paddings = []} : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 'block_shape' [2] is for 1 axes after the first one, 'data' is tensor<f32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_to_space_of_scalar"
func.func @batch_to_space_of_scalar(%x0: tensor<f32>) {
  %0 = relay.nn.batch_to_space_nd %x0 {block_shape = array<i64: 2>, crops = [array<i64: 0, 0>]} : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 'data' [2, 3] and 'buffer' [5, 4] differ in more than axis 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "fifo_buffer_1"
func.func @fifo_buffer_1(%x0: tensor<2x3xf32>, %x1: tensor<5x4xf32>) {
  %0 = relay.nn.fifo_buffer %x0, %x1 : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  func.return
}

// -----

// CHECK: 'alpha' has 2 elements, axis 1 of 'data' 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "prelu_1"
func.func @prelu_1(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>) {
  %0 = relay.nn.prelu %x0, %x1 : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'axis' is 2, accepted range is [-2, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "l2_normalize_1"
func.func @l2_normalize_1(%x0: tensor<2x3xf32>) {
  %0 = relay.nn.l2_normalize %x0 {eps = 1.0e-6 : f64, axis = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type i8, expected floating point
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "l2_normalize_2"
func.func @l2_normalize_2(%x0: tensor<2x3xi8>) {
  %0 = relay.nn.l2_normalize %x0 {eps = 1.0e-6 : f64, axis = array<i64: 1>} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return
}

// -----

// CHECK: 'x' is tensor<2x3xf32>, 'y' is tensor<3x3xf32>, expected the same
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "cross_entropy_1"
func.func @cross_entropy_1(%x0: tensor<2x3xf32>, %x1: tensor<3x3xf32>) {
  %0 = relay.nn.cross_entropy %x0, %x1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 'targets' is tensor<2xf32>, expected integers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "nll_loss_1"
func.func @nll_loss_1(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>, %x2: tensor<3xf32>) {
  %0 = relay.nn.nll_loss %x0, %x1, %x2 {ignore_index = 0 : i64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 'weights' has 4 elements, axis 1 of 'predictions' 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "nll_loss_2"
func.func @nll_loss_2(%x0: tensor<2x3xf32>, %x1: tensor<2xi32>, %x2: tensor<4xf32>) {
  %0 = relay.nn.nll_loss %x0, %x1, %x2 {ignore_index = 0 : i64} : (tensor<2x3xf32>, tensor<2xi32>, tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 'targets' is [2, 5], expected the axes of 'predictions' [2, 3, 4] without axis 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "nll_loss_3"
func.func @nll_loss_3(%x0: tensor<2x3x4xf32>, %x1: tensor<2x5xi32>, %x2: tensor<3xf32>) {
  %0 = relay.nn.nll_loss %x0, %x1, %x2 {ignore_index = 0 : i64} : (tensor<2x3x4xf32>, tensor<2x5xi32>, tensor<3xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 'reduction' is "max", accepted is "mean" or "sum" or "none"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "nll_loss_4"
func.func @nll_loss_4(%x0: tensor<2x3xf32>, %x1: tensor<2xi32>, %x2: tensor<3xf32>) {
  %0 = relay.nn.nll_loss %x0, %x1, %x2 {ignore_index = 0 : i64, reduction = "max"} : (tensor<2x3xf32>, tensor<2xi32>, tensor<3xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: the length of axis 1 of 'data' is 12, not a multiple of 8 bits
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bitpack_1"
func.func @bitpack_1(%x0: tensor<2x12xi8>) {
  %0 = relay.nn.bitpack %x0 {pack_type = ui8} : (tensor<2x12xi8>) -> tensor<2x1x1xui8>
  func.return
}

// -----

// CHECK: 'pack_type' is i8, expected an unsigned integer type
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bitpack_2"
func.func @bitpack_2(%x0: tensor<2x8xi8>) {
  %0 = relay.nn.bitpack %x0 {pack_type = i8} : (tensor<2x8xi8>) -> tensor<2x1x1xi8>
  func.return
}

// -----

// CHECK: 'data_bits' is 9, accepted range is [1, 8]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bitserial_dense_1"
func.func @bitserial_dense_1(%x0: tensor<2x32xi8>, %x1: tensor<4x32xi8>) {
  %0 = relay.nn.bitserial_dense %x0, %x1 {units = 4 : i64, data_bits = 9 : i64} : (tensor<2x32xi8>, tensor<4x32xi8>) -> tensor<2x4xi8>
  func.return
}

// -----

// CHECK: 'weight' is tensor<4x2x1xui32>, expected tensor<4x1x1xui32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bitserial_dense_2"
func.func @bitserial_dense_2(%x0: tensor<2x32xi8>, %x1: tensor<4x2x1xui32>) {
  %0 = relay.nn.bitserial_dense %x0, %x1 {units = 4 : i64} : (tensor<2x32xi8>, tensor<4x2x1xui32>) -> tensor<2x4xi8>
  func.return
}

// -----

// CHECK: 'kernel_layout' is "HWIO", accepted is "OIHW" or "OIHWi"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bitserial_conv2d_1"
func.func @bitserial_conv2d_1(%x0: tensor<1x8x5x5xi8>, %x1: tensor<4x8x3x3xi8>) {
  %0 = relay.nn.bitserial_conv2d %x0, %x1 {pack_dtype = ui8, kernel_layout = "HWIO"} : (tensor<1x8x5x5xi8>, tensor<4x8x3x3xi8>) -> tensor<1x4x3x3xi16>
  func.return
}

// -----

// CHECK: 'units' is 10, 'weight' has 12 rows
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "dense_pack_1"
func.func @dense_pack_1(%x0: tensor<2x7xf32>, %x1: tensor<3x7x4xf32>) {
  %0 = relay.nn.contrib_dense_pack %x0, %x1 {units = 10 : i64} : (tensor<2x7xf32>, tensor<3x7x4xf32>) -> tensor<2x10xf32>
  func.return
}

// -----

// CHECK: 'sparse_data' is tensor<5x2xf32>, expected rank 1 or 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sparse_dense_1"
func.func @sparse_dense_1(%x0: tensor<2x6xf32>, %x1: tensor<5x2xf32>, %x2: tensor<5xi32>, %x3: tensor<4xi32>) {
  %0 = relay.nn.sparse_dense %x0, %x1, %x2, %x3 : (tensor<2x6xf32>, tensor<5x2xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'sparse_indices' has 4 elements, 'sparse_data' 5 along axis 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sparse_dense_2"
func.func @sparse_dense_2(%x0: tensor<2x6xf32>, %x1: tensor<5xf32>, %x2: tensor<4xi32>, %x3: tensor<4xi32>) {
  %0 = relay.nn.sparse_dense %x0, %x1, %x2, %x3 : (tensor<2x6xf32>, tensor<5xf32>, tensor<4xi32>, tensor<4xi32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: the length of axis 1 of 'dense_data' is 5, not a multiple of blocks of 2 columns
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sparse_dense_3"
func.func @sparse_dense_3(%x0: tensor<2x5xf32>, %x1: tensor<5x2x2xf32>, %x2: tensor<5xi32>, %x3: tensor<4xi32>) {
  %0 = relay.nn.sparse_dense %x0, %x1, %x2, %x3 : (tensor<2x5xf32>, tensor<5x2x2xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<2x6xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type f32, 'weight_data' of f16
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sparse_padded_1"
func.func @sparse_padded_1(%x0: tensor<2x6xf32>, %x1: tensor<5xf16>, %x2: tensor<5xi32>, %x3: tensor<4xi32>) {
  %0 = relay.nn.internal.sparse_dense_padded %x0, %x1, %x2, %x3 : (tensor<2x6xf32>, tensor<5xf16>, tensor<5xi32>, tensor<4xi32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'kernel_size' is [3, 3], expected [1, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sparse_conv2d_1"
func.func @sparse_conv2d_1(%x0: tensor<1x5x5x6xf32>, %x1: tensor<5x2xf32>, %x2: tensor<5xi32>, %x3: tensor<4xi32>) {
  %0 = relay.nn.sparse_conv2d %x0, %x1, %x2, %x3 {kernel_size = array<i64: 3, 3>} : (tensor<1x5x5x6xf32>, tensor<5x2xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<1x5x5x6xf32>
  func.return
}

// -----

// CHECK: 'sparse_indptr' is for 3 rows, 'dense_data' has 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sparse_add_1"
func.func @sparse_add_1(%x0: tensor<2x6xf32>, %x1: tensor<5xf32>, %x2: tensor<5xi32>, %x3: tensor<4xi32>) {
  %0 = relay.nn.sparse_add %x0, %x1, %x2, %x3 : (tensor<2x6xf32>, tensor<5xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<2x6xf32>
  func.return
}
