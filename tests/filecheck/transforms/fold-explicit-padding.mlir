// RUN: xdsl-opt -p fold-explicit-padding %s | filecheck %s
// RUN: xdsl-opt -p fold-explicit-padding,fold-explicit-padding %s | filecheck %s

// CHECK-LABEL: func.func @convolution
// CHECK-NEXT: relay.nn.conv2d %x, %w {padding = array<i64: 2, 4, 3, 5>, strides = array<i64: 2, 2>}
func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x8xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 3, 4>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x11x15xf32>
  %1 = relay.nn.conv2d %0, %w {padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x3x11x15xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x8xf32>
  return %1 : tensor<1x4x6x8xf32>
}

// CHECK-LABEL: func.func @max_pool
// CHECK-NEXT: relay.nn.max_pool2d %x {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>}
func.func @max_pool(%x: tensor<1x3x8x8xi8>) -> tensor<1x3x8x8xi8> {
  %low = relay.constant dense<-128> : tensor<i8>
  %0 = relay.nn.pad %x, %low {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xi8>, tensor<i8>) -> tensor<1x3x10x10xi8>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 3, 3>} : (tensor<1x3x10x10xi8>) -> tensor<1x3x8x8xi8>
  return %1 : tensor<1x3x8x8xi8>
}

// CHECK-LABEL: func.func @average_pool
// CHECK-NEXT: relay.nn.avg_pool2d %x
// CHECK-SAME: count_include_pad = true
func.func @average_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 3, 3>} : (tensor<1x3x10x10xf32>) -> tensor<1x3x8x8xf32>
  return %1 : tensor<1x3x8x8xf32>
}

// CHECK-LABEL: func.func @volume
// CHECK-NEXT: relay.nn.conv3d %x, %w {padding = array<i64: 1, 3, 5, 2, 4, 6>}
func.func @volume(%x: tensor<1x3x8x8x8xf32>, %w: tensor<4x3x3x3x3xf32>) -> tensor<1x4x9x13x17xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 3, 4>, array<i64: 5, 6>]} : (tensor<1x3x8x8x8xf32>, tensor<f32>) -> tensor<1x3x11x15x19xf32>
  %1 = relay.nn.conv3d %0, %w : (tensor<1x3x11x15x19xf32>, tensor<4x3x3x3x3xf32>) -> tensor<1x4x9x13x17xf32>
  return %1 : tensor<1x4x9x13x17xf32>
}

// CHECK-LABEL: func.func @line
// CHECK-NEXT: relay.nn.conv1d %x, %w {data_layout = "NWC", padding = array<i64: 1, 2>}
func.func @line(%x: tensor<1x8x3xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x9x4xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 0, 0>]} : (tensor<1x8x3xf32>, tensor<f32>) -> tensor<1x11x3xf32>
  %1 = relay.nn.conv1d %0, %w {data_layout = "NWC"} : (tensor<1x11x3xf32>, tensor<4x3x3xf32>) -> tensor<1x9x4xf32>
  return %1 : tensor<1x9x4xf32>
}

// Padding of a quantised image is its zero point.
// CHECK-LABEL: func.func @quantized
// CHECK: relay.qnn.conv2d %x, %w
// CHECK-SAME: padding = array<i64: 1, 1, 1, 1>
// CHECK-NEXT: relay.nn.pad
func.func @quantized(%x: tensor<1x3x8x8xi8>, %w: tensor<4x3x3x3xi8>) -> (tensor<1x4x8x8xi32>, tensor<1x4x8x8xi32>) {
  %pad = relay.constant dense<10> : tensor<i8>
  %zero = relay.constant dense<10> : tensor<i32>
  %other = relay.constant dense<9> : tensor<i32>
  %scale = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.nn.pad %x, %pad {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xi8>, tensor<i8>) -> tensor<1x3x10x10xi8>
  %1 = relay.qnn.conv2d %0, %w, %zero, %zero, %scale, %scale : (tensor<1x3x10x10xi8>, tensor<4x3x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x4x8x8xi32>
  %2 = relay.nn.pad %x, %pad {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xi8>, tensor<i8>) -> tensor<1x3x10x10xi8>
  %3 = relay.qnn.conv2d %2, %w, %other, %zero, %scale, %scale : (tensor<1x3x10x10xi8>, tensor<4x3x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x4x8x8xi32>
  return %1, %3 : tensor<1x4x8x8xi32>, tensor<1x4x8x8xi32>
}

// The pad stays for its other user.
// CHECK-LABEL: func.func @pad_of_two_users
// CHECK: [[P:%.*]] = relay.nn.pad
// CHECK-NEXT: relay.nn.conv2d %x, %w
// CHECK: func.return {{%.*}}, [[P]]
func.func @pad_of_two_users(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x3x10x10xf32>) {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %1, %0 : tensor<1x4x8x8xf32>, tensor<1x3x10x10xf32>
}

// The value of the pad counts as the dtype of the images has it.
// CHECK-LABEL: func.func @value_of_another_type
// CHECK-NEXT: relay.nn.max_pool2d %x {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>}
func.func @value_of_another_type(%x: tensor<1x3x8x8xi8>) -> tensor<1x3x8x8xi8> {
  %low = relay.constant dense<-1.0e9> : tensor<f32>
  %0 = relay.nn.pad %x, %low {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xi8>, tensor<f32>) -> tensor<1x3x10x10xi8>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 3, 3>} : (tensor<1x3x10x10xi8>) -> tensor<1x3x8x8xi8>
  return %1 : tensor<1x3x8x8xi8>
}

// CHECK-LABEL: func.func @keep_negative_width
// CHECK: relay.nn.pad
func.func @keep_negative_width(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x5x8xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: -2, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x7x10xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x7x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x5x8xf32>
  return %1 : tensor<1x4x5x8xf32>
}

// A window whose elements are all negative has the largest element 0.
// CHECK-LABEL: func.func @keep_zeros_before_max_pool
// CHECK: relay.nn.pad
func.func @keep_zeros_before_max_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 3, 3>} : (tensor<1x3x10x10xf32>) -> tensor<1x3x8x8xf32>
  return %1 : tensor<1x3x8x8xf32>
}

// CHECK-LABEL: func.func @keep_other_value
// CHECK: relay.nn.pad
func.func @keep_other_value(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.nn.pad %x, %one {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: func.func @keep_edge_mode
// CHECK: relay.nn.pad
func.func @keep_edge_mode(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_mode = "edge", pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: func.func @keep_padded_channels
// CHECK: relay.nn.pad
func.func @keep_padded_channels(%x: tensor<1x2x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 1>, array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x3x8x8xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %1 : tensor<1x4x6x6xf32>
}

// The pool's own padding does not count, the pad does.
// CHECK-LABEL: func.func @keep_padding_that_does_not_count
// CHECK: relay.nn.pad
func.func @keep_padding_that_does_not_count(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x10x10xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1>} : (tensor<1x3x10x10xf32>) -> tensor<1x3x10x10xf32>
  return %1 : tensor<1x3x10x10xf32>
}

// CHECK-LABEL: func.func @keep_ceil_mode
// CHECK: relay.nn.pad
func.func @keep_ceil_mode(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x5x5xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>, ceil_mode = true} : (tensor<1x3x10x10xf32>) -> tensor<1x3x5x5xf32>
  return %1 : tensor<1x3x5x5xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.nn.pad
func.func @keep_function_of_a_compiler(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> attributes {Compiler = "dnnl"} {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}
