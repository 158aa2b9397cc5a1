// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @reorder(%x: tensor<3x4xf32>, %n: tensor<3xi64>, %k: tensor<i64>, %d: tensor<3xf32>, %t: tuple<tensor<2xf32>, tensor<3xf32>>, %on: tensor<f32>) {
// CHECK-LABEL: func.func @reorder(%x: tensor<3x4xf32>, %n: tensor<3xi64>, %k: tensor<i64>, %d: tensor<3xf32>, %t: tuple<tensor<2xf32>, tensor<3xf32>>, %on: tensor<f32>) {
  %reverse = relay.reverse %x {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %reverse = relay.reverse %x {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %sequence = relay.reverse_sequence %x, %n : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %sequence = relay.reverse_sequence %x, %n : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %mask = relay.sequence_mask %x, %n {axis = 1 : i64, mask_value = -1.000000e+00 : f64} : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %mask = relay.sequence_mask %x, %n {axis = 1 : i64, mask_value = -1.000000e+00 : f64} : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %grid = relay.meshgrid %t : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  // CHECK-NEXT: %grid = relay.meshgrid %t : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  %windows = relay.sliding_window %x {axis = 0 : i64, window_shape = array<i64: 2, 2>, strides = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x2x2x2xf32>
  // CHECK-NEXT: %windows = relay.sliding_window %x {axis = 0 : i64, window_shape = array<i64: 2, 2>, strides = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x2x2x2xf32>
  %trilu = relay.trilu %x, %k {upper = false} : (tensor<3x4xf32>, tensor<i64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %trilu = relay.trilu %x, %k {upper = false} : (tensor<3x4xf32>, tensor<i64>) -> tensor<3x4xf32>
  %diag = relay.matrix_set_diag %x, %d : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %diag = relay.matrix_set_diag %x, %d : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  %unravel = relay.unravel_index %k, %n : (tensor<i64>, tensor<3xi64>) -> tensor<3xi64>
  // CHECK-NEXT: %unravel = relay.unravel_index %k, %n : (tensor<i64>, tensor<3xi64>) -> tensor<3xi64>
  %inverse = relay.invert_permutation %n : (tensor<3xi64>) -> tensor<3xi64>
  // CHECK-NEXT: %inverse = relay.invert_permutation %n : (tensor<3xi64>) -> tensor<3xi64>
  %range = relay.arange %on, %on, %on {dtype = f32} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<7xf32>
  // CHECK-NEXT: %range = relay.arange %on, %on, %on {dtype = f32} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<7xf32>
  %open = relay.arange %k, %k, %k {dtype = i32} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi32>
  // CHECK-NEXT: %open = relay.arange %k, %k, %k {dtype = i32} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi32>
  %hot = relay.one_hot %n, %on, %on {depth = 5 : i64, axis = 0 : i64} : (tensor<3xi64>, tensor<f32>, tensor<f32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %hot = relay.one_hot %n, %on, %on {depth = 5 : i64, axis = 0 : i64} : (tensor<3xi64>, tensor<f32>, tensor<f32>) -> tensor<5x3xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
