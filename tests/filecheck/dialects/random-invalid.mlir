// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @short_key(%a: tensor<9xui64>) {
  %0 = "relay.random.threefry_split"(%a) : (tensor<9xui64>) -> tuple<tensor<10xui64>, tensor<10xui64>>
  func.return
}
// CHECK: 'key' is tensor<9xui64>, expected tensor<10xui64>

// -----
func.func @signed_key(%a: tensor<10xi64>) {
  %0 = "relay.random.threefry_generate"(%a) {out_shape = array<i64: 1>} : (tensor<10xi64>) -> tuple<tensor<10xui64>, tensor<1xui64>>
  func.return
}
// CHECK: 'key' is tensor<10xi64>, expected tensor<10xui64>

// -----
func.func @negative_shape(%a: tensor<10xui64>) {
  %0 = "relay.random.threefry_generate"(%a) {out_shape = array<i64: 2, -1>} : (tensor<10xui64>) -> tuple<tensor<10xui64>, tensor<1xui64>>
  func.return
}
// CHECK: 'out_shape' is [2, -1], expected no negative number

// -----
func.func @half_numbers(%a: tensor<10xui64>, %b: tensor<f16>, %c: tensor<f16>) {
  %0 = "relay.random.uniform"(%a, %b, %c) {out_shape = array<i64: 1>} : (tensor<10xui64>, tensor<f16>, tensor<f16>) -> tuple<tensor<10xui64>, tensor<1xf16>>
  func.return
}
// CHECK: the dtype of 'low' is f16, accepted are f32 and f64

// -----
func.func @whole_numbers(%a: tensor<10xui64>, %b: tensor<f32>, %c: tensor<f32>) {
  %0 = "relay.random.normal"(%a, %b, %c) {out_shape = array<i64: 1>, out_dtype = i32} : (tensor<10xui64>, tensor<f32>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<1xi32>>
  func.return
}
// CHECK: 'out_dtype' is i32, accepted are f32 and f64

// -----
func.func @another_scale(%a: tensor<10xui64>, %b: tensor<f32>, %c: tensor<1xf32>) {
  %0 = "relay.random.normal"(%a, %b, %c) {out_shape = array<i64: 1>} : (tensor<10xui64>, tensor<f32>, tensor<1xf32>) -> tuple<tensor<10xui64>, tensor<1xf32>>
  func.return
}
// CHECK: 'scale' is tensor<1xf32>, expected a scalar tensor of f32

// -----
func.func @another_dtype(%a: tensor<10xui64>, %b: tensor<f32>, %c: tensor<f32>) {
  %0 = "relay.random.uniform"(%a, %b, %c) {out_shape = array<i64: 1>, out_dtype = f64} : (tensor<10xui64>, tensor<f32>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<1xf64>>
  func.return
}
// CHECK: 'low' is tensor<f32>, expected a scalar tensor of f64

// -----
func.func @one_probability(%a: tensor<10xui64>, %b: tensor<f32>) {
  %0 = "relay.random.multinomial"(%a, %b) : (tensor<10xui64>, tensor<f32>) -> tuple<tensor<10xui64>, tensor<1xi32>>
  func.return
}
// CHECK: 'probs' is tensor<f32>, expected floating-point elements and at least rank 1

// -----
func.func @whole_probabilities(%a: tensor<10xui64>, %b: tensor<3xi32>) {
  %0 = "relay.random.multinomial"(%a, %b) : (tensor<10xui64>, tensor<3xi32>) -> tuple<tensor<10xui64>, tensor<1xi32>>
  func.return
}
// CHECK: 'probs' is tensor<3xi32>, expected floating-point elements and at least rank 1

// -----
func.func @negative_samples(%a: tensor<10xui64>, %b: tensor<3xf32>) {
  %0 = "relay.random.multinomial"(%a, %b) {num_samples = -1 : i64} : (tensor<10xui64>, tensor<3xf32>) -> tuple<tensor<10xui64>, tensor<1xi32>>
  func.return
}
// CHECK: 'num_samples' is -1, expected no negative number
