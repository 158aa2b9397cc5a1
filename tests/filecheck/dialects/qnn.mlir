// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: func.func @qnn
func.func @qnn(%data: tuple<tensor<1x2xi8>, tensor<1x3xi8>>, %scales: tuple<tensor<f32>, tensor<f32>>, %zeros: tuple<tensor<i32>, tensor<i32>>, %scale: tensor<f32>, %zero: tensor<i32>) {
  // CHECK-NEXT: %0 = relay.qnn.concatenate %data, %scales, %zeros, %scale, %zero {axis = 1 : i64} : (tuple<tensor<1x2xi8>, tensor<1x3xi8>>, tuple<tensor<f32>, tensor<f32>>, tuple<tensor<i32>, tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1x5xi8>
  %0 = relay.qnn.concatenate %data, %scales, %zeros, %scale, %zero {axis = 1 : i64} : (tuple<tensor<1x2xi8>, tensor<1x3xi8>>, tuple<tensor<f32>, tensor<f32>>, tuple<tensor<i32>, tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1x5xi8>
  func.return
}
