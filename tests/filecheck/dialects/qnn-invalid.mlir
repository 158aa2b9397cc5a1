// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @no_fields(%d: tuple<>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %d, %d, %s, %z) : (tuple<>, tuple<>, tuple<>, tensor<f32>, tensor<i32>) -> tensor<1xi8>
  func.return
}
// CHECK: 'data' is the empty tuple, expected at least one tensor

// -----
func.func @no_quantised_data(%d: tuple<tensor<1xf32>>, %t: tuple<tensor<f32>>, %u: tuple<tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) : (tuple<tensor<1xf32>>, tuple<tensor<f32>>, tuple<tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1xf32>
  func.return
}
// CHECK: field 0 of 'data' is tensor<1xf32>, expected 8-bit integers

// -----
func.func @too_few_scales(%d: tuple<tensor<1xi8>>, %t: tuple<>, %u: tuple<tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) : (tuple<tensor<1xi8>>, tuple<>, tuple<tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1xi8>
  func.return
}
// CHECK: 'input_scales' has 0 fields, 'data' has 1

// -----
func.func @scale_of_another_dtype(%d: tuple<tensor<1xi8>>, %t: tuple<tensor<f64>>, %u: tuple<tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) : (tuple<tensor<1xi8>>, tuple<tensor<f64>>, tuple<tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1xi8>
  func.return
}
// CHECK: field 0 of 'input_scales' is tensor<f64>, expected a scalar tensor of f32

// -----
func.func @fields_differ(%d: tuple<tensor<1x2xi8>, tensor<2x2xi8>>, %t: tuple<tensor<f32>, tensor<f32>>, %u: tuple<tensor<i32>, tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) {axis = 1 : i64} : (tuple<tensor<1x2xi8>, tensor<2x2xi8>>, tuple<tensor<f32>, tensor<f32>>, tuple<tensor<i32>, tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1x4xi8>
  func.return
}
// CHECK: field 1 of 'data' has length 2 in dimension 0, others 1
