// RUN: xdsl-opt -p recognize-bias-add %s | filecheck %s
// RUN: xdsl-opt -p recognize-bias-add,recognize-bias-add %s | filecheck %s
// RUN: xdsl-opt -p recognize-bias-add,canonicalize-ops,recognize-bias-add %s | filecheck %s

// CHECK-LABEL: func.func @expanded
// CHECK-NEXT: [[P:%.*]] = relay.nn.conv2d %x, %w
// CHECK-NEXT: [[S:%.*]] = relay.nn.bias_add [[P]], %b :
// CHECK-NEXT: func.return [[S]]
func.func @expanded(%x: tensor<1x3x4x4xf32>, %w: tensor<5x3x1x1xf32>, %b: tensor<5xf32>) -> tensor<1x5x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<5x3x1x1xf32>) -> tensor<1x5x4x4xf32>
  %1 = relay.expand_dims %b {axis = 1 : i64, num_newaxis = 2 : i64} : (tensor<5xf32>) -> tensor<5x1x1xf32>
  %2 = relay.add %1, %0 : (tensor<5x1x1xf32>, tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32>
  return %2 : tensor<1x5x4x4xf32>
}

// CHECK-LABEL: func.func @constant
// CHECK: [[B:%.*]] = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: relay.nn.bias_add {{%.*}}, [[B]] :
func.func @constant(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = relay.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %1 = relay.add %0, %b : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @dense
// CHECK: relay.nn.bias_add {{%.*}}, %b :
func.func @dense(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Two axes are long: no vector.
// CHECK-LABEL: func.func @keep_matrix
// CHECK: relay.add
func.func @keep_matrix(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// The sum has more elements than the product.
// CHECK-LABEL: func.func @keep_wider_result
// CHECK: relay.add
func.func @keep_wider_result(%x: tensor<1x4xf32>, %w: tensor<3x4xf32>, %b: tensor<2x1xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<1x3xf32>
  %1 = relay.add %0, %b : (tensor<1x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// One number for all channels.
// CHECK-LABEL: func.func @keep_one_number
// CHECK: relay.add
func.func @keep_one_number(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<1xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @keep_sum_of_no_product
// CHECK: relay.add
func.func @keep_sum_of_no_product(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// A parameter that has the axes already is no vector.
// CHECK-LABEL: func.func @keep_parameter
// CHECK: relay.add
func.func @keep_parameter(%x: tensor<1x3x4x4xf32>, %w: tensor<5x3x1x1xf32>, %b: tensor<5x1x1xf32>) -> tensor<1x5x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<5x3x1x1xf32>) -> tensor<1x5x4x4xf32>
  %1 = relay.add %0, %b : (tensor<1x5x4x4xf32>, tensor<5x1x1xf32>) -> tensor<1x5x4x4xf32>
  return %1 : tensor<1x5x4x4xf32>
}

// CHECK-LABEL: func.func @keep_unknown_length
// CHECK: relay.add
func.func @keep_unknown_length(%x: tensor<?x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  %1 = relay.add %0, %b : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  return %1 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @keep_composite
// CHECK: relay.nn.dense
// CHECK-NEXT: relay.add
func.func @keep_composite(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.composite "a.b" %x, %w, %b : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x4xf32>, %q: tensor<3x4xf32>, %r: tensor<3xf32>):
    %1 = relay.nn.dense %p, %q : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    %2 = relay.add %1, %r : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    relay.yield %2 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}
