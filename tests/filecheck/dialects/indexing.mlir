// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @indexing(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>, %n: tensor<2xi64>, %v: tensor<1x2xf32>, %t: tuple<tensor<3x4xf32>, tensor<2xi64>>, %s: tensor<f32>, %w: tensor<2xf32>) {
// CHECK-LABEL: func.func @indexing(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>, %n: tensor<2xi64>, %v: tensor<1x2xf32>, %t: tuple<tensor<3x4xf32>, tensor<2xi64>>, %s: tensor<f32>, %w: tensor<2xf32>) {
  %gather = relay.gather %x, %i : (tensor<3x4xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  // CHECK-NEXT: %gather = relay.gather %x, %i : (tensor<3x4xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  %taken = relay.adv_index %t : (tuple<tensor<3x4xf32>, tensor<2xi64>>) -> tensor<2x4xf32>
  // CHECK-NEXT: %taken = relay.adv_index %t : (tuple<tensor<3x4xf32>, tensor<2xi64>>) -> tensor<2x4xf32>
  %scatter = relay.scatter %x, %i, %u : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %scatter = relay.scatter %x, %i, %u : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %added = relay.scatter_add %x, %i, %u {axis = -2 : i64} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %added = relay.scatter_add %x, %i, %u {axis = -2 : i64} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %placed = relay.scatter_nd %x, %n, %s {mode = "max"} : (tensor<3x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %placed = relay.scatter_nd %x, %n, %s {mode = "max"} : (tensor<3x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<3x4xf32>
  %set = relay.strided_set %x, %v, %n, %n, %n : (tensor<3x4xf32>, tensor<1x2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %set = relay.strided_set %x, %v, %n, %n, %n : (tensor<3x4xf32>, tensor<1x2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x4xf32>
  %dense = relay.sparse_to_dense %n, %w, %s {output_shape = array<i64: 5>} : (tensor<2xi64>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  // CHECK-NEXT: %dense = relay.sparse_to_dense %n, %w, %s {output_shape = array<i64: 5>} : (tensor<2xi64>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @taking(%x: tensor<2x3x4xf32>, %i: tensor<2x5xi64>) {
// CHECK-NEXT: func.func @taking(%x: tensor<2x3x4xf32>, %i: tensor<2x5xi64>) {
  %take_flat = relay.take %x, %i : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  // CHECK-NEXT: %take_flat = relay.take %x, %i : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  %take = relay.take %x, %i {axis = 1 : i64, mode = "wrap"} : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x2x5x4xf32>
  // CHECK-NEXT: %take = relay.take %x, %i {axis = 1 : i64, mode = "wrap"} : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x2x5x4xf32>
  %take_batch = relay.take %x, %i {batch_dims = 1 : i64, axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: %take_batch = relay.take %x, %i {batch_dims = 1 : i64, axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x3x5xf32>
  %gather = relay.gather_nd %x, %i : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<5x4xf32>
  // CHECK-NEXT: %gather = relay.gather_nd %x, %i : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<5x4xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
