// RUN: xdsl-opt -p flatten-atrous-conv %s | filecheck %s
// RUN: xdsl-opt -p flatten-atrous-conv,flatten-atrous-conv %s | filecheck %s

// CHECK-LABEL: func.func @same
// CHECK-NEXT: relay.nn.conv2d %x, %w {
// CHECK-SAME: padding = array<i64: 2, 2, 2, 2>
// CHECK-SAME: dilation = array<i64: 2, 2>
// CHECK-NEXT: func.return
func.func @same(%x: tensor<1x5x5x4xf32>, %w: tensor<3x3x4x1xf32>) -> tensor<1x5x5x4xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 2, 3>, array<i64: 2, 3>]} : (tensor<1x5x5x4xf32>) -> tensor<4x5x5x4xf32>
  %1 = relay.nn.conv2d %0, %w {groups = 4 : i64, data_layout = "NHWC", kernel_layout = "HWOI"} : (tensor<4x5x5x4xf32>, tensor<3x3x4x1xf32>) -> tensor<4x3x3x4xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 0, 1>, array<i64: 0, 1>]} : (tensor<4x3x3x4xf32>) -> tensor<1x5x5x4xf32>
  return %2 : tensor<1x5x5x4xf32>
}

// Blocks, paddings and crops that differ between the axes; padding and dilation of the convolution itself.
// CHECK-LABEL: func.func @unequal
// CHECK-NEXT: relay.nn.conv2d %x, %w {
// CHECK-SAME: padding = array<i64: 3, 3, 4, 6>
// CHECK-SAME: dilation = array<i64: 2, 6>
// CHECK-NEXT: func.return
func.func @unequal(%x: tensor<2x6x9x1xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<2x11x6x1xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 3>, paddings = [array<i64: 2, 2>, array<i64: 0, 3>]} : (tensor<2x6x9x1xf32>) -> tensor<12x5x4x1xf32>
  %1 = relay.nn.conv2d %0, %w {padding = array<i64: 1, 1>, dilation = array<i64: 1, 2>, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<12x5x4x1xf32>, tensor<2x3x1x1xf32>) -> tensor<12x6x2x1xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 3>, crops = [array<i64: 1, 0>, array<i64: 0, 0>]} : (tensor<12x6x2x1xf32>) -> tensor<2x11x6x1xf32>
  return %2 : tensor<2x11x6x1xf32>
}

// Zero points: the image is padded with what the convolution pads with, or it stays.
// CHECK-LABEL: func.func @quantized
// CHECK: relay.qnn.conv2d %x, %w
// CHECK-LABEL: func.func @keep_other_zero_point
// CHECK: relay.nn.space_to_batch_nd
func.func @quantized(%x: tensor<1x4x4x1xi8>, %w: tensor<3x3x1x1xi8>) -> tensor<1x4x4x1xi32> {
  %z = relay.constant dense<3> : tensor<i32>
  %k = relay.constant dense<0> : tensor<i32>
  %s = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 2, 2>, array<i64: 2, 2>], pad_value = 3.0 : f64} : (tensor<1x4x4x1xi8>) -> tensor<4x4x4x1xi8>
  %1 = relay.qnn.conv2d %0, %w, %z, %k, %s, %s {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xi8>, tensor<3x3x1x1xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<4x2x2x1xi32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<4x2x2x1xi32>) -> tensor<1x4x4x1xi32>
  return %2 : tensor<1x4x4x1xi32>
}
func.func @keep_other_zero_point(%x: tensor<1x4x4x1xi8>, %w: tensor<3x3x1x1xi8>) -> tensor<1x4x4x1xi32> {
  %z = relay.constant dense<3> : tensor<i32>
  %k = relay.constant dense<0> : tensor<i32>
  %s = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 2, 2>, array<i64: 2, 2>]} : (tensor<1x4x4x1xi8>) -> tensor<4x4x4x1xi8>
  %1 = relay.qnn.conv2d %0, %w, %z, %k, %s, %s {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xi8>, tensor<3x3x1x1xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<4x2x2x1xi32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<4x2x2x1xi32>) -> tensor<1x4x4x1xi32>
  return %2 : tensor<1x4x4x1xi32>
}

// CHECK-LABEL: func.func @keep_steps
// CHECK: relay.nn.space_to_batch_nd
func.func @keep_steps(%x: tensor<1x8x8x1xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x4x4x1xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x8x1xf32>) -> tensor<4x4x4x1xf32>
  %1 = relay.nn.conv2d %0, %w {strides = array<i64: 2, 2>, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<4x2x2x1xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<4x2x2x1xf32>) -> tensor<1x4x4x1xf32>
  return %2 : tensor<1x4x4x1xf32>
}

// More is cut off in front than is padded there.
// CHECK-LABEL: func.func @keep_crops
// CHECK: relay.nn.space_to_batch_nd
func.func @keep_crops(%x: tensor<1x8x8x1xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x7x8x1xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x8x1xf32>) -> tensor<4x4x4x1xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<4x4x4x1xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 1, 0>, array<i64: 0, 0>]} : (tensor<4x4x4x1xf32>) -> tensor<1x7x8x1xf32>
  return %2 : tensor<1x7x8x1xf32>
}

// CHECK-LABEL: func.func @keep_other_blocks
// CHECK: relay.nn.space_to_batch_nd
func.func @keep_other_blocks(%x: tensor<1x8x8x1xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x4x16x1xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x8x1xf32>) -> tensor<4x4x4x1xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<4x4x4x1xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 1, 4>, crops = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<4x4x4x1xf32>) -> tensor<1x4x16x1xf32>
  return %2 : tensor<1x4x16x1xf32>
}

// CHECK-LABEL: func.func @keep_operator_between
// CHECK: relay.nn.space_to_batch_nd
func.func @keep_operator_between(%x: tensor<1x8x8x1xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x8x8x1xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x8x1xf32>) -> tensor<4x4x4x1xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<4x4x4x1xf32>
  %2 = relay.nn.relu %1 : (tensor<4x4x4x1xf32>) -> tensor<4x4x4x1xf32>
  %3 = relay.nn.batch_to_space_nd %2 {block_shape = array<i64: 2, 2>, crops = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<4x4x4x1xf32>) -> tensor<1x8x8x1xf32>
  return %3 : tensor<1x8x8x1xf32>
}

// CHECK-LABEL: func.func @keep_second_user
// CHECK: relay.nn.space_to_batch_nd
func.func @keep_second_user(%x: tensor<1x8x8x1xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x8x8x1xf32>, tensor<4x4x4x1xf32>) {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x8x1xf32>) -> tensor<4x4x4x1xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<4x4x4x1xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<4x4x4x1xf32>) -> tensor<1x8x8x1xf32>
  return %2, %1 : tensor<1x8x8x1xf32>, tensor<4x4x4x1xf32>
}

// Crops leave nothing of the image, which has no room for the dilated weight.
// CHECK-LABEL: func.func @keep_empty
// CHECK: relay.nn.space_to_batch_nd
func.func @keep_empty(%x: tensor<1x3x4x1xf32>, %w: tensor<4x1x1x1xf32>) -> tensor<1x0x4x1xf32> {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 2, 3>, array<i64: 0, 0>]} : (tensor<1x3x4x1xf32>) -> tensor<4x4x2x1xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x2x1xf32>, tensor<4x1x1x1xf32>) -> tensor<4x1x2x1xf32>
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 2, 0>, array<i64: 0, 0>]} : (tensor<4x1x2x1xf32>) -> tensor<1x0x4x1xf32>
  return %2 : tensor<1x0x4x1xf32>
}
