// RUN: xdsl-opt -p canonicalize-matmul %s | filecheck %s
// RUN: xdsl-opt -p canonicalize-matmul,canonicalize-matmul %s | filecheck %s

// CHECK-LABEL: func.func @matrices
// CHECK: [[W:%.*]] = relay.transpose %w {axes = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[R:%.*]] = relay.nn.dense %x, [[W]] : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[R]]
func.func @matrices(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @transposed_weight
// CHECK: relay.nn.dense %x, %w
func.func @transposed_weight(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<4x3xf32>
  %0 = relay.nn.matmul %x, %w {transpose_b = true} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK: [[M:%.*]] = relay.reshape %w {newshape = array<i64: 3, 4>}
// CHECK-NEXT: [[W:%.*]] = relay.transpose [[M]]
// CHECK-NEXT: [[X:%.*]] = relay.reshape %x {newshape = array<i64: 10, 3>}
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[X]], [[W]]
// CHECK-NEXT: relay.reshape [[D]] {newshape = array<i64: 5, 2, 4>}
func.func @batch(%x: tensor<5x2x3xf32>) -> tensor<5x2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<1x3x4xf32>
  %0 = relay.nn.batch_matmul %x, %w : (tensor<5x2x3xf32>, tensor<1x3x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL: func.func @dense_of_higher_rank
// CHECK: [[X:%.*]] = relay.reshape %x {newshape = array<i64: 10, 3>}
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[X]], %w
// CHECK-NEXT: relay.reshape [[D]] {newshape = array<i64: 5, 2, 4>}
func.func @dense_of_higher_rank(%x: tensor<5x2x3xf32>) -> tensor<5x2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<4x3xf32>
  %0 = relay.nn.dense %x, %w : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL: func.func @keep_computed_operand
// CHECK-NEXT: relay.nn.matmul
func.func @keep_computed_operand(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = relay.nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @keep_transposed_left
// CHECK: relay.nn.matmul
func.func @keep_transposed_left(%x: tensor<3x2xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w {transpose_a = true} : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @keep_batch_of_weights
// CHECK: relay.nn.batch_matmul
func.func @keep_batch_of_weights(%x: tensor<5x2x3xf32>) -> tensor<5x2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<5x3x4xf32>
  %0 = relay.nn.batch_matmul %x, %w : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL: func.func @keep_unknown_dimension
// CHECK: relay.nn.matmul
func.func @keep_unknown_dimension(%x: tensor<?x3xf32>) -> tensor<?x4xf32> {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.nn.matmul
func.func @keep_function_of_a_compiler(%x: tensor<2x3xf32>) -> tensor<2x4xf32> attributes {Compiler = "dnnl"} {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
