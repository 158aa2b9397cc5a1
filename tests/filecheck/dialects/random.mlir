// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: func.func @random
func.func @random(%key: tensor<10xui64>, %x: tensor<f32>, %y: tensor<f64>, %p: tensor<?x5xf32>) {
  // CHECK-NEXT: %0 = relay.random.threefry_generate %key {out_shape = array<i64: 2, 3>} : (tensor<10xui64>) -> tuple<tensor<10xui64>, tensor<2x3xui64>>
  %0 = relay.random.threefry_generate %key {out_shape = array<i64: 2, 3>} : (tensor<10xui64>) -> tuple<tensor<10xui64>, tensor<2x3xui64>>
  // CHECK-NEXT: %1 = relay.random.threefry_split %key : (tensor<10xui64>) -> tuple<tensor<10xui64>, tensor<10xui64>>
  %1 = relay.random.threefry_split %key : (tensor<10xui64>) -> tuple<tensor<10xui64>, tensor<10xui64>>
  // CHECK-NEXT: %2 = relay.random.uniform %key, %x, %x {out_shape = array<i64: 4>} : (tensor<10xui64>, tensor<f32>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<4xf32>>
  %2 = relay.random.uniform %key, %x, %x {out_shape = array<i64: 4>} : (tensor<10xui64>, tensor<f32>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<4xf32>>
  // CHECK-NEXT: %3 = relay.random.uniform %key, %y, %y {out_shape = array<i64>, out_dtype = f64} : (tensor<10xui64>, tensor<f64>, tensor<f64>) -> tuple<tensor<10xui64>, tensor<f64>>
  %3 = relay.random.uniform %key, %y, %y {out_shape = array<i64>, out_dtype = f64} : (tensor<10xui64>, tensor<f64>, tensor<f64>) -> tuple<tensor<10xui64>, tensor<f64>>
  // CHECK-NEXT: %4 = relay.random.normal %key, %x, %x {out_shape = array<i64: 4>, out_dtype = f32} : (tensor<10xui64>, tensor<f32>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<4xf32>>
  %4 = relay.random.normal %key, %x, %x {out_shape = array<i64: 4>, out_dtype = f32} : (tensor<10xui64>, tensor<f32>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<4xf32>>
  // CHECK-NEXT: %5 = relay.random.multinomial %key, %p : (tensor<10xui64>, tensor<?x5xf32>) -> tuple<tensor<10xui64>, tensor<?x1xi32>>
  %5 = relay.random.multinomial %key, %p : (tensor<10xui64>, tensor<?x5xf32>) -> tuple<tensor<10xui64>, tensor<?x1xi32>>
  // CHECK-NEXT: %6 = relay.random.multinomial %key, %p {num_samples = 3 : i64} : (tensor<10xui64>, tensor<?x5xf32>) -> tuple<tensor<10xui64>, tensor<?x3xi32>>
  %6 = relay.random.multinomial %key, %p {num_samples = 3 : i64} : (tensor<10xui64>, tensor<?x5xf32>) -> tuple<tensor<10xui64>, tensor<?x3xi32>>
  func.return
}
