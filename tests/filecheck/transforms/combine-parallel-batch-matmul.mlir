// RUN: xdsl-opt -p 'combine-parallel-batch-matmul{min-num-branches=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-batch-matmul{min-num-branches=2},combine-parallel-batch-matmul{min-num-branches=2}' %s | filecheck %s

// RUN: xdsl-opt -p 'combine-parallel-batch-matmul{min-num-branches=2 rules=cpu}' %s | filecheck %s --check-prefix=CPU
// RUN: xdsl-opt -p combine-parallel-batch-matmul %s | filecheck %s --check-prefix=THREE
// RUN: not xrelay-opt -p 'combine-parallel-batch-matmul{rules=gpu}' %s 2>&1 | filecheck %s --check-prefix=RULES

// RULES: 'rules' is 'gpu', expected one of relay, cpu
// THREE-NOT: relay.concatenate

// Slices name the one axis that they cut.
// CPU-LABEL: func.func @batches
// CPU: relay.nn.batch_matmul %x
// CPU-NEXT: relay.strided_slice {{.*}} {begin = array<i64: 0>, end = array<i64: 5>, axes = array<i64: 2>}
// CHECK-LABEL: func.func @batches
// CHECK: relay.concatenate {{.*}} {axis = 1 : i64} : (tuple<tensor<2x5x3xf32>, tensor<2x6x3xf32>>) -> tensor<2x11x3xf32>
// CHECK-NEXT: relay.nn.batch_matmul %x
// CHECK-NEXT: relay.strided_slice {{.*}} {begin = array<i64: 0, 0, 0>, end = array<i64: -1, -1, 5>, strides = array<i64: 1, 1, 1>, slice_mode = "size"}
// CHECK-NEXT: relay.strided_slice {{.*}} {begin = array<i64: 0, 0, 5>, end = array<i64: -1, -1, 6>, strides = array<i64: 1, 1, 1>, slice_mode = "size"}
func.func @batches(%x: tensor<2x4x3xf32>, %u: tensor<2x5x3xf32>, %v: tensor<2x6x3xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x6xf32>) {
  %0 = relay.nn.batch_matmul %x, %u {transpose_b = true} : (tensor<2x4x3xf32>, tensor<2x5x3xf32>) -> tensor<2x4x5xf32>
  %1 = relay.nn.batch_matmul %x, %v {transpose_b = true} : (tensor<2x4x3xf32>, tensor<2x6x3xf32>) -> tensor<2x4x6xf32>
  return %0, %1 : tensor<2x4x5xf32>, tensor<2x4x6xf32>
}

// CHECK-LABEL: func.func @keep_rows
// CHECK-NOT: relay.concatenate
// CHECK: func.return
func.func @keep_rows(%x: tensor<2x4x3xf32>, %u: tensor<2x3x5xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xf32>) {
  %0 = relay.nn.batch_matmul %x, %u : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  %1 = relay.nn.batch_matmul %x, %u : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  return %0, %1 : tensor<2x4x5xf32>, tensor<2x4x5xf32>
}
