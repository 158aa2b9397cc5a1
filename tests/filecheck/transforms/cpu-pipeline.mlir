// RUN: xdsl-opt -p cpu-pipeline %s | filecheck %s
// RUN: xdsl-opt -p cpu-pipeline,cpu-pipeline %s | filecheck %s
// RUN: xdsl-opt -p cpu-pipeline{lanes=4} %s | filecheck %s --check-prefix=LANES

// The scale of the batch normalisation disappears, its shift joins the bias.
// CHECK-LABEL: func.func @convolution
// CHECK-NEXT: [[W:%.*]] = relay.constant
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d %x, [[W]] {padding = array<i64: 1, 1, 1, 1>}
// CHECK-NEXT: [[T:%.*]] = relay.constant
// CHECK-NEXT: [[A:%.*]] = relay.add [[C]], [[T]]
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[A]]
// CHECK-NEXT: func.return [[R]]
func.func @convolution(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = relay.constant dense<1.0> : tensor<2x2x3x3xf32>
  %b = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = relay.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 1, 1>]} : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x6x6xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x2x6x6xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.bias_add %1, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.nn.batch_norm %2, %c, %c, %b, %c : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>>
  %4 = relay.tuple_get_item %3[0] : (tuple<tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<1x2x4x4xf32>
  %5 = relay.nn.relu %4 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %5 : tensor<1x2x4x4xf32>
}

// One product for three projections; nothing stands between it and the bias. What follows is attention.
// CHECK-LABEL: func.func @projections
// CHECK: [[D:%.*]] = relay.nn.dense {{.*}} -> tensor<6x12xf32>
// CHECK-NEXT: relay.constant {{.*}} tensor<12xf32>
// CHECK-NEXT: relay.add {{.*}}[[D]]
// CHECK-NOT: relay.nn.dense
// CHECK: [[A:%.*]] = relay.composite "attention"
// CHECK: relay.nn.batch_matmul
// CHECK-NEXT: [[S:%.*]] = relay.nn.softmax
// CHECK: relay.nn.batch_matmul [[S]]
// CHECK: func.return [[A]]
func.func @projections(%x: tensor<1x6x4xf32>) -> tensor<1x6x4xf32> {
  %w = relay.constant dense<1.0> : tensor<4x4xf32>
  %b = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %u = relay.constant dense<3.0> : tensor<4x4xf32>
  %two = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.reshape %x {newshape = array<i64: 6, 4>} : (tensor<1x6x4xf32>) -> tensor<6x4xf32>
  %1 = relay.nn.matmul %0, %w : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 1, 6, 4>} : (tensor<6x4xf32>) -> tensor<1x6x4xf32>
  %3 = relay.add %2, %b : (tensor<1x6x4xf32>, tensor<4xf32>) -> tensor<1x6x4xf32>
  %4 = relay.reshape %x {newshape = array<i64: 6, 4>} : (tensor<1x6x4xf32>) -> tensor<6x4xf32>
  %5 = relay.nn.matmul %4, %w {transpose_b = true} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %6 = relay.reshape %5 {newshape = array<i64: 1, 6, 4>} : (tensor<6x4xf32>) -> tensor<1x6x4xf32>
  %7 = relay.add %6, %b : (tensor<1x6x4xf32>, tensor<4xf32>) -> tensor<1x6x4xf32>
  %8 = relay.nn.dense %x, %u : (tensor<1x6x4xf32>, tensor<4x4xf32>) -> tensor<1x6x4xf32>
  %9 = relay.add %8, %b : (tensor<1x6x4xf32>, tensor<4xf32>) -> tensor<1x6x4xf32>
  %10 = relay.nn.batch_matmul %3, %7 {transpose_b = true} : (tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x6xf32>
  %11 = relay.divide %10, %two : (tensor<1x6x6xf32>, tensor<f32>) -> tensor<1x6x6xf32>
  %12 = relay.nn.softmax %11 : (tensor<1x6x6xf32>) -> tensor<1x6x6xf32>
  %13 = relay.nn.batch_matmul %12, %9 : (tensor<1x6x6xf32>, tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  return %13 : tensor<1x6x4xf32>
}

// What has kernels of its own and nothing to fold stays.
// CHECK-LABEL: func.func @keep_what_has_kernels
// CHECK-NEXT: [[N:%.*]] = relay.nn.layer_norm %x, %gamma, %beta
// CHECK-NEXT: [[S:%.*]] = relay.argsort [[N]]
// CHECK-NEXT: func.return [[S]]
func.func @keep_what_has_kernels(%x: tensor<2x3xf32>, %gamma: tensor<3xf32>, %beta: tensor<3xf32>) -> tensor<2x3xi32> {
  %0 = relay.nn.layer_norm %x, %gamma, %beta : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = relay.argsort %0 : (tensor<2x3xf32>) -> tensor<2x3xi32>
  return %1 : tensor<2x3xi32>
}

// Blocks of as many channels as a vector has lanes.
// LANES-LABEL: func.func @lanes
// LANES: relay.nn.conv2d {{.*}}data_layout = "NCHW4c"
func.func @lanes(%x: tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32> {
  %w = relay.constant dense<1.0> : tensor<16x16x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x16x14x14xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x14x14xf32>
  return %0 : tensor<1x16x14x14xf32>
}

// CHECK-LABEL: func.func @no_division_by_what_is_computed
// CHECK-NEXT: relay.divide %x, %y
func.func @no_division_by_what_is_computed(%x: tensor<2x3xf32>, %y: tensor<f32>) -> tensor<2x3xf32> {
  %0 = relay.divide %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK-NEXT: [[ONE:%.*]] = relay.constant
// CHECK-NEXT: [[TWO:%.*]] = relay.add [[ONE]], [[ONE]]
// CHECK-NEXT: relay.divide %x, [[TWO]]
func.func @keep_function_of_a_compiler(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {Compiler = "a"} {
  %one = relay.constant dense<1.0> : tensor<1xf32>
  %two = relay.add %one, %one : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %0 = relay.divide %x, %two : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
