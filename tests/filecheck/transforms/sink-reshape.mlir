// RUN: xdsl-opt -p sink-reshape %s | filecheck %s
// RUN: xdsl-opt -p sink-reshape,sink-reshape %s | filecheck %s

// CHECK-LABEL: func.func @bias_and_activation
// CHECK: [[D:%.*]] = relay.nn.dense %x, %w
// CHECK-NEXT: [[S:%.*]] = relay.add %b, [[D]] : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: [[T:%.*]] = relay.tanh [[S]]
// CHECK-NEXT: [[R:%.*]] = relay.reshape [[T]] {newshape = array<i64: 2, 3, 4>}
// CHECK-NEXT: func.return [[R]]
func.func @bias_and_activation(%x: tensor<6x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<6x3xf32>, tensor<4x3xf32>) -> tensor<6x4xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = relay.add %b, %1 : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %3 = relay.tanh %2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// The other summand is reshaped: only one of them comes from a dense.
// CHECK-LABEL: func.func @residual
// CHECK: [[D:%.*]] = relay.nn.dense
// CHECK-NEXT: [[Y:%.*]] = relay.reshape %y {newshape = array<i64: 6, 4>}
// CHECK-NEXT: [[S:%.*]] = relay.add [[Y]], [[D]]
// CHECK-NEXT: relay.reshape [[S]]
func.func @residual(%x: tensor<6x3xf32>, %w: tensor<4x3xf32>, %y: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<6x3xf32>, tensor<4x3xf32>) -> tensor<6x4xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = relay.add %y, %1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @mask_and_softmax
// CHECK-NEXT: [[M:%.*]] = relay.reshape %m {newshape = array<i64: 5>}
// CHECK-NEXT: [[S:%.*]] = relay.add %x, [[M]] : (tensor<6x4x5xf32>, tensor<5xf32>) -> tensor<6x4x5xf32>
// CHECK-NEXT: [[P:%.*]] = relay.nn.softmax [[S]] : (tensor<6x4x5xf32>)
// CHECK-NEXT: relay.reshape [[P]] {newshape = array<i64: 2, 3, 4, 5>}
func.func @mask_and_softmax(%x: tensor<6x4x5xf32>, %m: tensor<1x1x1x5xf32>) -> tensor<2x3x4x5xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 2, 3, 4, 5>} : (tensor<6x4x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = relay.add %0, %m : (tensor<2x3x4x5xf32>, tensor<1x1x1x5xf32>) -> tensor<2x3x4x5xf32>
  %2 = relay.nn.softmax %1 : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %2 : tensor<2x3x4x5xf32>
}

// CHECK-LABEL: func.func @split
// CHECK-NEXT: [[S:%.*]] = relay.split %x {indices_or_sections = 2 : i64, axis = 1 : i64}
// CHECK-NEXT: [[A:%.*]] = relay.tuple_get_item [[S]][1]
// CHECK-NEXT: relay.reshape [[A]] {newshape = array<i64: 2, 3, 2>}
func.func @split(%x: tensor<6x4xf32>) -> tensor<2x3x2xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %1 = relay.split %0 {indices_or_sections = 2 : i64, axis = 2 : i64} : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x2xf32>, tensor<2x3x2xf32>>
  %2 = relay.tuple_get_item %1[1] : (tuple<tensor<2x3x2xf32>, tensor<2x3x2xf32>>) -> tensor<2x3x2xf32>
  return %2 : tensor<2x3x2xf32>
}

// The mask is repeated along one of the two axes that the reshape splits.
// CHECK-LABEL: func.func @keep_partly_repeated_operand
// CHECK-NEXT: relay.reshape
// CHECK-NEXT: relay.add
func.func @keep_partly_repeated_operand(%x: tensor<6x4xf32>, %m: tensor<2x1x4xf32>) -> tensor<2x3x4xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %1 = relay.add %0, %m : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// Nothing is gained: neither summand comes from a complex operator.
// CHECK-LABEL: func.func @keep_plain_summands
// CHECK-NEXT: relay.reshape
// CHECK-NEXT: relay.add
func.func @keep_plain_summands(%x: tensor<6x4xf32>, %y: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %1 = relay.add %0, %y : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// The reshape splits the axis of the softmax.
// CHECK-LABEL: func.func @keep_split_axis
// CHECK-NEXT: relay.reshape
// CHECK-NEXT: relay.nn.softmax
func.func @keep_split_axis(%x: tensor<6x4xf32>) -> tensor<6x2x2xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 6, 2, 2>} : (tensor<6x4xf32>) -> tensor<6x2x2xf32>
  %1 = relay.nn.softmax %0 : (tensor<6x2x2xf32>) -> tensor<6x2x2xf32>
  return %1 : tensor<6x2x2xf32>
}

// CHECK-LABEL: func.func @keep_unknown_dimension
// CHECK-NEXT: relay.reshape
// CHECK-NEXT: relay.tanh
func.func @keep_unknown_dimension(%x: tensor<?x4xf32>) -> tensor<?x2x2xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 0, 2, 2>} : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %1 = relay.tanh %0 : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  return %1 : tensor<?x2x2xf32>
}

// CHECK-LABEL: func.func @keep_composite
// CHECK: relay.composite
// CHECK: relay.reshape
// CHECK-NEXT: relay.tanh
func.func @keep_composite(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = relay.composite "dnnl.tanh" %x : (tensor<4xf32>) -> tensor<2x2xf32> {
  ^bb0(%p: tensor<4xf32>):
    %1 = relay.reshape %p {newshape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
    %2 = relay.tanh %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
    relay.yield %2 : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}
