// RUN: xdsl-opt -p fuse-ops,defuse-ops %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-ops{rules=extended},defuse-ops' %s | filecheck %s --check-prefix OUTPUTS

// What fuse-ops makes, defuse-ops undoes.

func.func @simple(%x: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %0 = relay.add %x, %one : (tensor<10x20xf32>, tensor<f32>) -> tensor<10x20xf32>
  %1 = relay.exp %0 : (tensor<10x20xf32>) -> tensor<10x20xf32>
  %2 = relay.squeeze %1 : (tensor<10x20xf32>) -> tensor<10x20xf32>
  func.return %2 : tensor<10x20xf32>
}

// CHECK-LABEL: func.func @simple(
// CHECK-SAME:  %[[X:\w+]]: tensor<10x20xf32>)
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[V0:\w+]] = relay.add %[[X]], %[[ONE]] :
// CHECK-NEXT:   %[[V1:\w+]] = relay.exp %[[V0]] :
// CHECK-NEXT:   %[[V2:\w+]] = relay.squeeze %[[V1]] :
// CHECK-NEXT:   func.return %[[V2]] :
// CHECK-NEXT: }

func.func @conv2d(%x: tensor<1x16x8x8xf32>, %w1: tensor<16x16x3x3xf32>, %w2: tensor<16x16x1x1xf32>, %w3: tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %0 = relay.add %x, %one : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %1 = relay.nn.conv2d %0, %w1 {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %one_1 = relay.constant dense<1.000000e+00> : tensor<f32>
  %2 = relay.add %one_1, %1 : (tensor<f32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %3 = relay.add %1, %2 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %4 = relay.nn.conv2d %3, %w2 : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %5 = relay.nn.conv2d %3, %w3 {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %6 = relay.add %4, %5 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  func.return %6 : tensor<1x16x8x8xf32>
}

// CHECK-LABEL: func.func @conv2d(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>, %[[W1:\w+]]: tensor<16x16x3x3xf32>, %[[W2:\w+]]: tensor<16x16x1x1xf32>, %[[W3:\w+]]: tensor<16x16x3x3xf32>)
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[V0:\w+]] = relay.add %[[X]], %[[ONE]] :
// CHECK-NEXT:   %[[V1:\w+]] = relay.nn.conv2d %[[V0]], %[[W1]]
// CHECK-NEXT:   %[[ONE_2:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[V2:\w+]] = relay.add %[[ONE_2]], %[[V1]] :
// CHECK-NEXT:   %[[V3:\w+]] = relay.add %[[V1]], %[[V2]] :
// CHECK-NEXT:   %[[V4:\w+]] = relay.nn.conv2d %[[V3]], %[[W3]]
// CHECK-NEXT:   %[[V5:\w+]] = relay.nn.conv2d %[[V3]], %[[W2]] :
// CHECK-NEXT:   %[[V6:\w+]] = relay.add %[[V5]], %[[V4]] :
// CHECK-NEXT:   func.return %[[V6]] :
// CHECK-NEXT: }

func.func @inception(%x: tensor<1x16x8x8xf32>, %w0: tensor<16x16x3x3xf32>, %w1: tensor<16x16x3x3xf32>, %w2: tensor<16x32x3x3xf32>, %w3: tensor<16x32x3x3xf32>) -> tensor<1x32x8x8xf32> {
  %0 = relay.nn.conv2d %x, %w0 {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.nn.relu %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %2 = relay.nn.conv2d %x, %w1 {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %3 = relay.nn.relu %2 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %4 = relay.tuple %1, %3 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  %5 = relay.concatenate %4 {axis = 1 : i64} : (tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>) -> tensor<1x32x8x8xf32>
  %6 = relay.nn.conv2d %5, %w2 {padding = array<i64: 1, 1>} : (tensor<1x32x8x8xf32>, tensor<16x32x3x3xf32>) -> tensor<1x16x8x8xf32>
  %7 = relay.nn.relu %6 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %8 = relay.nn.conv2d %5, %w3 {padding = array<i64: 1, 1>} : (tensor<1x32x8x8xf32>, tensor<16x32x3x3xf32>) -> tensor<1x16x8x8xf32>
  %9 = relay.nn.relu %8 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %10 = relay.tuple %7, %9 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  %11 = relay.concatenate %10 {axis = 1 : i64} : (tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>) -> tensor<1x32x8x8xf32>
  func.return %11 : tensor<1x32x8x8xf32>
}

// CHECK-LABEL: func.func @inception(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>, %[[W0:\w+]]: tensor<16x16x3x3xf32>, %[[W1:\w+]]: tensor<16x16x3x3xf32>, %[[W2:\w+]]: tensor<16x32x3x3xf32>, %[[W3:\w+]]: tensor<16x32x3x3xf32>)
// CHECK-NEXT:   %[[V0:\w+]] = relay.nn.conv2d %[[X]], %[[W0]]
// CHECK-NEXT:   %[[V1:\w+]] = relay.nn.relu %[[V0]] :
// CHECK-NEXT:   %[[V2:\w+]] = relay.nn.conv2d %[[X]], %[[W1]]
// CHECK-NEXT:   %[[V3:\w+]] = relay.nn.relu %[[V2]] :
// CHECK-NEXT:   %[[V4:\w+]] = relay.tuple %[[V1]], %[[V3]] :
// CHECK-NEXT:   %[[V5:\w+]] = relay.concatenate %[[V4]]
// CHECK-NEXT:   %[[V6:\w+]] = relay.nn.conv2d %[[V5]], %[[W2]]
// CHECK-NEXT:   %[[V7:\w+]] = relay.nn.relu %[[V6]] :
// CHECK-NEXT:   %[[V8:\w+]] = relay.nn.conv2d %[[V5]], %[[W3]]
// CHECK-NEXT:   %[[V9:\w+]] = relay.nn.relu %[[V8]] :
// CHECK-NEXT:   %[[V10:\w+]] = relay.tuple %[[V7]], %[[V9]] :
// CHECK-NEXT:   %[[V11:\w+]] = relay.concatenate %[[V10]]
// CHECK-NEXT:   func.return %[[V11]] :
// CHECK-NEXT: }

// So it is with several outputs: no tuple remains.
func.func @outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// OUTPUTS-LABEL: func.func @outputs(
// OUTPUTS-SAME:  %[[X:\w+]]: tensor<4xf32>)
// OUTPUTS-NEXT:   %[[E:\w+]] = relay.exp %[[X]] :
// OUTPUTS-NEXT:   %[[T:\w+]] = relay.tanh %[[E]] :
// OUTPUTS-NEXT:   func.return %[[E]], %[[T]] :
