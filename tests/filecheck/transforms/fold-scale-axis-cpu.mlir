// RUN: xdsl-opt -p 'fold-scale-axis{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'fold-scale-axis{rules=cpu},fold-scale-axis{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'fold-scale-axis{rules=cpu constant-weights=true}' %s | filecheck %s --check-prefix=CONSTANT

// CHECK-LABEL: func.func @backward
// CHECK: [[V:%.*]] = relay.squeeze {{.*}} : (tensor<2x1x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[S:%.*]] = relay.expand_dims [[V]] {{.*}} -> tensor<2x1x1x1xf32>
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[S]]
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d %x, [[W]]
// CHECK-NEXT: [[B:%.*]] = relay.multiply %b, [[V]]
// CHECK-NEXT: [[A:%.*]] = relay.nn.bias_add [[C]], [[B]]
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[A]]
// CHECK-NEXT: func.return [[R]]
// CONSTANT-LABEL: func.func @backward
// CONSTANT: relay.nn.conv2d %x, %w
// CONSTANT: relay.multiply
func.func @backward(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>, %b: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %s = relay.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.relu %1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.multiply %2, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %3 : tensor<1x2x4x4xf32>
}

// The shift after the scale stays, as an addition.
// CHECK-LABEL: func.func @shift_stays
// CHECK: relay.multiply %w
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d
// CHECK-NEXT: relay.add [[C]], %t
func.func @shift_stays(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %s = relay.constant dense<[[[-2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %t = relay.constant dense<[[[1.0]], [[0.0]]]> : tensor<2x1x1xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.multiply %0, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.add %1, %t : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @backward_into_both_summands
// CHECK: relay.multiply %u
// CHECK-NEXT: relay.nn.conv2d
// CHECK: relay.multiply %v
// CHECK-NEXT: relay.nn.conv2d
// CHECK-NEXT: [[R:%.*]] = relay.add
// CHECK-NEXT: func.return [[R]]
func.func @backward_into_both_summands(%x: tensor<1x3x4x4xf32>, %u: tensor<2x3x1x1xf32>, %v: tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %s = relay.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = relay.nn.conv2d %x, %u : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.conv2d %x, %v : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.add %0, %1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.multiply %2, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %3 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @dense
// CHECK: [[S:%.*]] = relay.expand_dims {{.*}} -> tensor<2x1xf32>
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[S]]
// CHECK-NEXT: [[R:%.*]] = relay.nn.dense %x, [[W]]
// CHECK-NEXT: func.return [[R]]
func.func @dense(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// A single number passes reshapes, transposes and products.
// CHECK-LABEL: func.func @number
// CHECK: relay.multiply %w
// CHECK-NEXT: relay.nn.dense
// CHECK-NEXT: relay.reshape
// CHECK-NEXT: relay.transpose
// CHECK-NEXT: [[R:%.*]] = relay.nn.batch_matmul
// CHECK-NEXT: func.return [[R]]
func.func @number(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x4x5xf32>) -> tensor<2x1x5xf32> {
  %s = relay.constant dense<0.125> : tensor<f32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 1, 4, 2>} : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
  %2 = relay.transpose %1 {axes = array<i64: 2, 0, 1>} : (tensor<1x4x2xf32>) -> tensor<2x1x4xf32>
  %3 = relay.nn.batch_matmul %2, %y : (tensor<2x1x4xf32>, tensor<2x4x5xf32>) -> tensor<2x1x5xf32>
  %4 = relay.multiply %3, %s : (tensor<2x1x5xf32>, tensor<f32>) -> tensor<2x1x5xf32>
  return %4 : tensor<2x1x5xf32>
}

// CHECK-LABEL: func.func @forward
// CHECK: relay.divide %t
// CHECK-NEXT: [[A:%.*]] = relay.add %x
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[A]]
// CHECK-NEXT: [[S:%.*]] = relay.expand_dims {{.*}} -> tensor<2x1x1xf32>
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[S]]
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d [[R]], [[W]]
// CHECK-NEXT: func.return [[C]]
func.func @forward(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32> {
  %s = relay.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %t = relay.constant dense<[[[1.0]], [[8.0]]]> : tensor<2x1x1xf32>
  %0 = relay.multiply %x, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.add %0, %t : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.relu %1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.nn.conv2d %2, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return %3 : tensor<1x3x4x4xf32>
}

// Each of the two kernels of a channel has its factor.
// CHECK-LABEL: func.func @forward_groups
// CHECK: relay.reshape %w {newshape = array<i64: 2, 2, 1, 1, 1>}
// CHECK: relay.nn.conv2d %x
func.func @forward_groups(%x: tensor<1x2x4x4xf32>, %w: tensor<4x1x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %s = relay.constant dense<[[[2.0]], [[-4.0]]]> : tensor<2x1x1xf32>
  %0 = relay.multiply %x, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.conv2d %0, %w {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// CHECK-LABEL: func.func @keep_negative_scale_after_relu
// CHECK: relay.nn.relu
// CHECK-NEXT: relay.multiply
func.func @keep_negative_scale_after_relu(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[2.0, -3.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = relay.multiply %1, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_other_axis
// CHECK: relay.nn.dense
// CHECK-NEXT: relay.multiply
func.func @keep_other_axis(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[[2.0], [3.0], [4.0], [5.0]]> : tensor<4x1xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_result_with_other_user
// CHECK: relay.nn.dense
// CHECK-NEXT: relay.multiply
func.func @keep_result_with_other_user(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1, %0 : tensor<4x2xf32>, tensor<4x2xf32>
}

// tanh stands between.
// CHECK-LABEL: func.func @keep_nonlinear
// CHECK: relay.tanh
// CHECK-NEXT: relay.multiply
func.func @keep_nonlinear(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.tanh %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = relay.multiply %1, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// One of the two users does not take the scale.
// CHECK-LABEL: func.func @keep_forward_dual_use
// CHECK: relay.multiply %x
func.func @keep_forward_dual_use(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
  %s = relay.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.nn.dense %0, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %2 = relay.tanh %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %1, %2 : tensor<4x2xf32>, tensor<4x3xf32>
}

// The constant would be divided by 0.
// CHECK-LABEL: func.func @keep_zero_before_sum
// CHECK: relay.multiply %x
func.func @keep_zero_before_sum(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[2.0, 0.0, 4.0]> : tensor<3xf32>
  %t = relay.constant dense<[2.0, 1.0, 4.0]> : tensor<3xf32>
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.add %0, %t : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %2 = relay.nn.dense %1, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_fused
// CHECK: relay.multiply %p, %s
func.func @keep_fused(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %0 = relay.fused %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32> {
  ^bb0(%p: tensor<4x3xf32>, %q: tensor<2x3xf32>):
    %s = relay.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
    %1 = relay.multiply %p, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %2 = relay.nn.dense %1, %q : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
    relay.yield %2 : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}

// A scale for each channel moves into factors of both summands, and with them into the weight and the bias.
// CHECK-LABEL: func.func @into_single_numbers
// CHECK: [[V:%.*]] = relay.squeeze {{.*}} : (tensor<1x8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[S:%.*]] = relay.multiply %half, [[V]] : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[E:%.*]] = relay.expand_dims [[S]] {{.*}} -> tensor<8x1xf32>
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[E]]
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense %x, [[W]]
// CHECK-NEXT: [[T:%.*]] = relay.multiply %two, [[V]] : (tensor<1x1xf32>, tensor<8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: [[C:%.*]] = relay.multiply %c, [[T]]
// CHECK-NEXT: [[R:%.*]] = relay.add [[D]], [[C]]
// CHECK-NEXT: func.return [[R]]
func.func @into_single_numbers(%x: tensor<2x5xf32>, %w: tensor<8x5xf32>, %c: tensor<1x8xf32>) -> tensor<2x8xf32> {
  %half = relay.constant dense<0.5> : tensor<f32>
  %two = relay.constant dense<2.0> : tensor<1x1xf32>
  %v = relay.constant dense<[[1.0, 2.0, 3.0, 4.0, -1.0, 5.0, 6.0, 7.0]]> : tensor<1x8xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x5xf32>, tensor<8x5xf32>) -> tensor<2x8xf32>
  %1 = relay.multiply %0, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = relay.multiply %c, %two : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %3 = relay.add %1, %2 : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %4 = relay.multiply %3, %v : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// Both factors together would make the weight infinite: one stays.
// CHECK-LABEL: func.func @keep_product_of_large_factors
// CHECK: relay.nn.dense
// CHECK-NEXT: [[R:%.*]] = relay.multiply {{.*}}, %b
// CHECK-NEXT: func.return [[R]]
func.func @keep_product_of_large_factors(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %w = relay.constant dense<[[1.0e10], [0.5]]> : tensor<2x1xf32>
  %a = relay.constant dense<[1.0e20, 1.0]> : tensor<2xf32>
  %b = relay.constant dense<[1.0e10, 1.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %1 = relay.multiply %0, %a : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %2 = relay.multiply %1, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @keep_large_factors_on_both_sides
// CHECK: relay.multiply %x, %b
// CHECK: [[R:%.*]] = relay.nn.dense
// CHECK-NEXT: func.return [[R]]
func.func @keep_large_factors_on_both_sides(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %w = relay.constant dense<[[1.0e10], [0.5]]> : tensor<2x1xf32>
  %a = relay.constant dense<[1.0e20, 1.0]> : tensor<2xf32>
  %b = relay.constant dense<[1.0e10]> : tensor<1xf32>
  %0 = relay.multiply %x, %b : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  %1 = relay.nn.dense %0, %w : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %2 = relay.multiply %1, %a : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
