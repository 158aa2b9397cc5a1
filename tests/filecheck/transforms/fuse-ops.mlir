// RUN: xdsl-opt -p fuse-ops %s | filecheck %s

// What fuses: the scenarios of Relay's tests for FuseOps, by their numbers, and the example of
// the documentation. Parameters are p0, p1, … in the order of first need.

// One convolution feeds both branches of an add: one function of five operators.
// The scalar is inside, the other constant is a parameter.
func.func @seed(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %bias = relay.constant dense<1.000000e+00> : tensor<16x1x1xf32>
  %half = relay.constant dense<5.000000e-01> : tensor<f32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %0 = relay.add %conv, %bias : (tensor<1x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.nn.relu %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %2 = relay.multiply %conv, %half : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %3 = relay.add %1, %2 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  func.return %3 : tensor<1x16x8x8xf32>
}

// CHECK-LABEL: func.func @seed(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>, %[[W:\w+]]: tensor<16x16x3x3xf32>)
// CHECK-NEXT:   %[[BIAS:\w+]] = relay.constant dense<1.000000e+00> : tensor<16x1x1xf32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W]], %[[BIAS]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x3x3xf32>, %p2: tensor<16x1x1xf32>):
// CHECK-NEXT:     %[[HALF:\w+]] = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT:     %[[CONV:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %[[CONV]], %p2 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.relu %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.multiply %[[CONV]], %[[HALF]] :
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %[[V1]], %[[V2]] :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 1: the constant is inside.
func.func @simple(%x: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %0 = relay.add %x, %one : (tensor<10x20xf32>, tensor<f32>) -> tensor<10x20xf32>
  %1 = relay.exp %0 : (tensor<10x20xf32>) -> tensor<10x20xf32>
  %2 = relay.squeeze %1 : (tensor<10x20xf32>) -> tensor<10x20xf32>
  func.return %2 : tensor<10x20xf32>
}

// CHECK-LABEL: func.func @simple(
// CHECK-SAME:  %[[X:\w+]]: tensor<10x20xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xf32>):
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %[[ONE]] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.squeeze %[[V1]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 2: an elementwise operator does not go into the convolution after it; the first
// convolution takes both adds; of two convolutions only one takes the add.
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
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %[[ONE]] :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]], %[[W1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x3x3xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     %[[ONE_2:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %[[ONE_2]], %[[V1]] :
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %[[V1]], %[[V2]] :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]], %[[W3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x3x3xf32>):
// CHECK-NEXT:     %[[V4:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[F1]], %[[W2]], %[[F2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x1x1xf32>, %p2: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V5:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     %[[V6:\w+]] = relay.add %[[V5]], %p2 :
// CHECK-NEXT:     relay.yield %[[V6]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F3]] :
// CHECK-NEXT: }

// Scenario 3: the tuple is inside, after a pooling in a function of its own.
func.func @concatenate(%x: tensor<1x16x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %pooled = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %0 = relay.nn.upsampling %pooled {scale_h = 2.000000e+00 : f64, scale_w = 2.000000e+00 : f64} : (tensor<1x16x4x4xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.tuple %0, %x : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  %2 = relay.concatenate %1 {axis = 1 : i64} : (tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>) -> tensor<1x32x8x8xf32>
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %3 = relay.add %2, %one : (tensor<1x32x8x8xf32>, tensor<f32>) -> tensor<1x32x8x8xf32>
  func.return %3 : tensor<1x32x8x8xf32>
}

// CHECK-LABEL: func.func @concatenate(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>)
// CHECK-NEXT:   %[[POOLED:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[POOLED_2:\w+]] = relay.nn.max_pool2d %p0
// CHECK-NEXT:     relay.yield %[[POOLED_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[POOLED]], %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x4x4xf32>, %p1: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.upsampling %p0
// CHECK-NEXT:     %[[V1:\w+]] = relay.tuple %[[V0]], %p1 :
// CHECK-NEXT:     %[[V2:\w+]] = relay.concatenate %[[V1]]
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %[[V2]], %[[ONE]] :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 4: a tuple that ends a group stays outside.
func.func @tuple_root(%x: tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>> {
  %pooled = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %0 = relay.nn.upsampling %pooled {scale_h = 2.000000e+00 : f64, scale_w = 2.000000e+00 : f64} : (tensor<1x16x4x4xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.tuple %0, %x : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  func.return %1 : tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
}

// CHECK-LABEL: func.func @tuple_root(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>)
// CHECK-NEXT:   %[[POOLED:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[POOLED_2:\w+]] = relay.nn.max_pool2d %p0
// CHECK-NEXT:     relay.yield %[[POOLED_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[POOLED]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x4x4xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.upsampling %p0
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V1:\w+]] = relay.tuple %[[F0]], %[[X]] :
// CHECK-NEXT:   func.return %[[V1]] :
// CHECK-NEXT: }

// Scenario 5: no function crosses stop_fusion, which disappears.
func.func @stop_fusion(%x: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %0 = relay.add %x, %one : (tensor<10x20xf32>, tensor<f32>) -> tensor<10x20xf32>
  %1 = relay.annotation.stop_fusion %0 : (tensor<10x20xf32>) -> tensor<10x20xf32>
  %2 = relay.exp %1 : (tensor<10x20xf32>) -> tensor<10x20xf32>
  func.return %2 : tensor<10x20xf32>
}

// CHECK-LABEL: func.func @stop_fusion(
// CHECK-SAME:  %[[X:\w+]]: tensor<10x20xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xf32>):
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %[[ONE]] :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Scenario 7: a split, its projections and what joins them.
func.func @projections(%x: tensor<1x10xf32>, %w: tensor<30x10xf32>) -> tensor<1x10xf32> {
  %dense = relay.nn.dense %x, %w : (tensor<1x10xf32>, tensor<30x10xf32>) -> tensor<1x30xf32>
  %parts = relay.split %dense {indices_or_sections = 3 : i64, axis = 1 : i64} : (tensor<1x30xf32>) -> tuple<tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>>
  %0 = relay.tuple_get_item %parts[0] : (tuple<tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>>) -> tensor<1x10xf32>
  %1 = relay.tuple_get_item %parts[1] : (tuple<tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>>) -> tensor<1x10xf32>
  %2 = relay.tuple_get_item %parts[2] : (tuple<tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>>) -> tensor<1x10xf32>
  %3 = relay.sigmoid %0 : (tensor<1x10xf32>) -> tensor<1x10xf32>
  %4 = relay.tanh %1 : (tensor<1x10xf32>) -> tensor<1x10xf32>
  %5 = relay.exp %2 : (tensor<1x10xf32>) -> tensor<1x10xf32>
  %6 = relay.multiply %4, %5 : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32>
  %7 = relay.add %3, %6 : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32>
  func.return %7 : tensor<1x10xf32>
}

// CHECK-LABEL: func.func @projections(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x10xf32>, %[[W:\w+]]: tensor<30x10xf32>)
// CHECK-NEXT:   %[[DENSE:\w+]] = relay.fused %[[X]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>, %p1: tensor<30x10xf32>):
// CHECK-NEXT:     %[[DENSE_2:\w+]] = relay.nn.dense %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[DENSE_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[DENSE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x30xf32>):
// CHECK-NEXT:     %[[PARTS:\w+]] = relay.split %p0
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple_get_item %[[PARTS]][0] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.tuple_get_item %[[PARTS]][1] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.tuple_get_item %[[PARTS]][2] :
// CHECK-NEXT:     %[[V3:\w+]] = relay.sigmoid %[[V0]] :
// CHECK-NEXT:     %[[V4:\w+]] = relay.tanh %[[V1]] :
// CHECK-NEXT:     %[[V5:\w+]] = relay.exp %[[V2]] :
// CHECK-NEXT:     %[[V6:\w+]] = relay.multiply %[[V4]], %[[V5]] :
// CHECK-NEXT:     %[[V7:\w+]] = relay.add %[[V3]], %[[V6]] :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 8: a projection ends the group of its tuple.
func.func @projection_root(%x: tensor<1x30xf32>, %w: tensor<16x10xf32>) -> tensor<1x16xf32> {
  %parts = relay.split %x {indices_or_sections = 3 : i64, axis = 1 : i64} : (tensor<1x30xf32>) -> tuple<tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>>
  %0 = relay.tuple_get_item %parts[0] : (tuple<tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>>) -> tensor<1x10xf32>
  %1 = relay.nn.dense %0, %w : (tensor<1x10xf32>, tensor<16x10xf32>) -> tensor<1x16xf32>
  func.return %1 : tensor<1x16xf32>
}

// CHECK-LABEL: func.func @projection_root(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x30xf32>, %[[W:\w+]]: tensor<16x10xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x30xf32>):
// CHECK-NEXT:     %[[PARTS:\w+]] = relay.split %p0
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple_get_item %[[PARTS]][0] :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>, %p1: tensor<16x10xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.dense %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Scenario 9: what feeds an interior tuple follows in sweep 2.
func.func @tuple_intermediate(%x: tensor<1x16x8x8xf32>) -> tensor<16x24x8xf32> {
  %shared = relay.squeeze %x : (tensor<1x16x8x8xf32>) -> tensor<16x8x8xf32>
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %0 = relay.add %shared, %one : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8x8xf32>
  %1 = relay.squeeze %shared : (tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
  %one_1 = relay.constant dense<1.000000e+00> : tensor<f32>
  %2 = relay.add %1, %one_1 : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8x8xf32>
  %one_2 = relay.constant dense<1.000000e+00> : tensor<f32>
  %3 = relay.add %2, %one_2 : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8x8xf32>
  %one_3 = relay.constant dense<1.000000e+00> : tensor<f32>
  %4 = relay.add %shared, %one_3 : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8x8xf32>
  %5 = relay.tuple %0, %3, %4 : (tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tuple<tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>>
  %6 = relay.concatenate %5 {axis = 1 : i64} : (tuple<tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>>) -> tensor<16x24x8xf32>
  %7 = relay.squeeze %6 : (tensor<16x24x8xf32>) -> tensor<16x24x8xf32>
  %one_4 = relay.constant dense<1.000000e+00> : tensor<f32>
  %8 = relay.add %7, %one_4 : (tensor<16x24x8xf32>, tensor<f32>) -> tensor<16x24x8xf32>
  func.return %8 : tensor<16x24x8xf32>
}

// CHECK-LABEL: func.func @tuple_intermediate(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[SHARED:\w+]] = relay.squeeze %p0 :
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %[[SHARED]], %[[ONE]] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.squeeze %[[SHARED]] :
// CHECK-NEXT:     %[[ONE_2:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %[[V1]], %[[ONE_2]] :
// CHECK-NEXT:     %[[ONE_3:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %[[V2]], %[[ONE_3]] :
// CHECK-NEXT:     %[[ONE_4:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V4:\w+]] = relay.add %[[SHARED]], %[[ONE_4]] :
// CHECK-NEXT:     %[[V5:\w+]] = relay.tuple %[[V0]], %[[V3]], %[[V4]] :
// CHECK-NEXT:     %[[V6:\w+]] = relay.concatenate %[[V5]]
// CHECK-NEXT:     %[[V7:\w+]] = relay.squeeze %[[V6]] :
// CHECK-NEXT:     %[[ONE_5:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V8:\w+]] = relay.add %[[V7]], %[[ONE_5]] :
// CHECK-NEXT:     relay.yield %[[V8]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 10: concatenations of concatenations, a pooling, and a tuple of two results.
func.func @tuple_consecutive(%x: tensor<1x16x8x8xf32>) -> tuple<tensor<1x144x4x4xf32>, tensor<1x144x4x4xf32>> {
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %0 = relay.add %x, %one : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %one_1 = relay.constant dense<1.000000e+00> : tensor<f32>
  %1 = relay.add %x, %one_1 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %one_2 = relay.constant dense<1.000000e+00> : tensor<f32>
  %2 = relay.add %x, %one_2 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %3 = relay.tuple %0, %1, %2 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  %4 = relay.concatenate %3 {axis = 1 : i64} : (tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>) -> tensor<1x48x8x8xf32>
  %one_3 = relay.constant dense<1.000000e+00> : tensor<f32>
  %5 = relay.add %4, %one_3 : (tensor<1x48x8x8xf32>, tensor<f32>) -> tensor<1x48x8x8xf32>
  %one_4 = relay.constant dense<1.000000e+00> : tensor<f32>
  %6 = relay.add %x, %one_4 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %one_5 = relay.constant dense<1.000000e+00> : tensor<f32>
  %7 = relay.add %x, %one_5 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %one_6 = relay.constant dense<1.000000e+00> : tensor<f32>
  %8 = relay.add %x, %one_6 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %9 = relay.tuple %6, %7, %8 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  %10 = relay.concatenate %9 {axis = 1 : i64} : (tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>) -> tensor<1x48x8x8xf32>
  %one_7 = relay.constant dense<1.000000e+00> : tensor<f32>
  %11 = relay.add %10, %one_7 : (tensor<1x48x8x8xf32>, tensor<f32>) -> tensor<1x48x8x8xf32>
  %one_8 = relay.constant dense<1.000000e+00> : tensor<f32>
  %12 = relay.add %x, %one_8 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %one_9 = relay.constant dense<1.000000e+00> : tensor<f32>
  %13 = relay.add %x, %one_9 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %one_10 = relay.constant dense<1.000000e+00> : tensor<f32>
  %14 = relay.add %x, %one_10 : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %15 = relay.tuple %12, %13, %14 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>
  %16 = relay.concatenate %15 {axis = 1 : i64} : (tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>) -> tensor<1x48x8x8xf32>
  %one_11 = relay.constant dense<1.000000e+00> : tensor<f32>
  %17 = relay.add %16, %one_11 : (tensor<1x48x8x8xf32>, tensor<f32>) -> tensor<1x48x8x8xf32>
  %18 = relay.tuple %5, %11, %17 : (tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>) -> tuple<tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>>
  %19 = relay.concatenate %18 {axis = 1 : i64} : (tuple<tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>>) -> tensor<1x144x8x8xf32>
  %20 = relay.nn.max_pool2d %19 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x144x8x8xf32>) -> tensor<1x144x4x4xf32>
  %one_12 = relay.constant dense<1.000000e+00> : tensor<f32>
  %21 = relay.add %20, %one_12 : (tensor<1x144x4x4xf32>, tensor<f32>) -> tensor<1x144x4x4xf32>
  %one_13 = relay.constant dense<1.000000e+00> : tensor<f32>
  %22 = relay.add %21, %one_13 : (tensor<1x144x4x4xf32>, tensor<f32>) -> tensor<1x144x4x4xf32>
  %23 = relay.tuple %21, %22 : (tensor<1x144x4x4xf32>, tensor<1x144x4x4xf32>) -> tuple<tensor<1x144x4x4xf32>, tensor<1x144x4x4xf32>>
  func.return %23 : tuple<tensor<1x144x4x4xf32>, tensor<1x144x4x4xf32>>
}

// CHECK-LABEL: func.func @tuple_consecutive(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x16x8x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %[[ONE]] :
// CHECK-NEXT:     %[[ONE_2:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V1:\w+]] = relay.add %p0, %[[ONE_2]] :
// CHECK-NEXT:     %[[ONE_3:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %p0, %[[ONE_3]] :
// CHECK-NEXT:     %[[V3:\w+]] = relay.tuple %[[V0]], %[[V1]], %[[V2]] :
// CHECK-NEXT:     %[[V4:\w+]] = relay.concatenate %[[V3]]
// CHECK-NEXT:     %[[ONE_4:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V5:\w+]] = relay.add %[[V4]], %[[ONE_4]] :
// CHECK-NEXT:     %[[ONE_5:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V6:\w+]] = relay.add %p0, %[[ONE_5]] :
// CHECK-NEXT:     %[[ONE_6:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V7:\w+]] = relay.add %p0, %[[ONE_6]] :
// CHECK-NEXT:     %[[ONE_7:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V8:\w+]] = relay.add %p0, %[[ONE_7]] :
// CHECK-NEXT:     %[[V9:\w+]] = relay.tuple %[[V6]], %[[V7]], %[[V8]] :
// CHECK-NEXT:     %[[V10:\w+]] = relay.concatenate %[[V9]]
// CHECK-NEXT:     %[[ONE_8:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V11:\w+]] = relay.add %[[V10]], %[[ONE_8]] :
// CHECK-NEXT:     %[[ONE_9:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V12:\w+]] = relay.add %p0, %[[ONE_9]] :
// CHECK-NEXT:     %[[ONE_10:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V13:\w+]] = relay.add %p0, %[[ONE_10]] :
// CHECK-NEXT:     %[[ONE_11:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V14:\w+]] = relay.add %p0, %[[ONE_11]] :
// CHECK-NEXT:     %[[V15:\w+]] = relay.tuple %[[V12]], %[[V13]], %[[V14]] :
// CHECK-NEXT:     %[[V16:\w+]] = relay.concatenate %[[V15]]
// CHECK-NEXT:     %[[ONE_12:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V17:\w+]] = relay.add %[[V16]], %[[ONE_12]] :
// CHECK-NEXT:     %[[V18:\w+]] = relay.tuple %[[V5]], %[[V11]], %[[V17]] :
// CHECK-NEXT:     %[[V19:\w+]] = relay.concatenate %[[V18]]
// CHECK-NEXT:     relay.yield %[[V19]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x144x8x8xf32>):
// CHECK-NEXT:     %[[V20:\w+]] = relay.nn.max_pool2d %p0
// CHECK-NEXT:     %[[ONE_13:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V21:\w+]] = relay.add %[[V20]], %[[ONE_13]] :
// CHECK-NEXT:     relay.yield %[[V21]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x144x4x4xf32>):
// CHECK-NEXT:     %[[ONE_14:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V22:\w+]] = relay.add %p0, %[[ONE_14]] :
// CHECK-NEXT:     relay.yield %[[V22]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V23:\w+]] = relay.tuple %[[F1]], %[[F2]] :
// CHECK-NEXT:   func.return %[[V23]] :
// CHECK-NEXT: }

// Scenario 11: concatenations do not go into the convolutions before or after them.
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
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x3x3xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.relu %[[V0]] :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]], %[[W1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x3x3xf32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     %[[V3:\w+]] = relay.nn.relu %[[V2]] :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F0]], %[[F1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V4:\w+]] = relay.tuple %p0, %p1 :
// CHECK-NEXT:     %[[V5:\w+]] = relay.concatenate %[[V4]]
// CHECK-NEXT:     relay.yield %[[V5]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[F2]], %[[W2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x32x8x8xf32>, %p1: tensor<16x32x3x3xf32>):
// CHECK-NEXT:     %[[V6:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     %[[V7:\w+]] = relay.nn.relu %[[V6]] :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F4:\w+]] = relay.fused %[[F2]], %[[W3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x32x8x8xf32>, %p1: tensor<16x32x3x3xf32>):
// CHECK-NEXT:     %[[V8:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     %[[V9:\w+]] = relay.nn.relu %[[V8]] :
// CHECK-NEXT:     relay.yield %[[V9]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F5:\w+]] = relay.fused %[[F3]], %[[F4]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V10:\w+]] = relay.tuple %p0, %p1 :
// CHECK-NEXT:     %[[V11:\w+]] = relay.concatenate %[[V10]]
// CHECK-NEXT:     relay.yield %[[V11]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F5]] :
// CHECK-NEXT: }

// Scenario 12: injective operators side by side.
func.func @parallel_injective(%x: tensor<10x20xi32>) -> tensor<10x20xi32> {
  %one = relay.constant dense<1> : tensor<i32>
  %0 = relay.add %x, %one : (tensor<10x20xi32>, tensor<i32>) -> tensor<10x20xi32>
  %1 = relay.squeeze %0 : (tensor<10x20xi32>) -> tensor<10x20xi32>
  %2 = relay.transpose %0 {axes = array<i64: 0, 1>} : (tensor<10x20xi32>) -> tensor<10x20xi32>
  %3 = relay.left_shift %1, %2 : (tensor<10x20xi32>, tensor<10x20xi32>) -> tensor<10x20xi32>
  func.return %3 : tensor<10x20xi32>
}

// CHECK-LABEL: func.func @parallel_injective(
// CHECK-SAME:  %[[X:\w+]]: tensor<10x20xi32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xi32>):
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %[[ONE]] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.squeeze %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.transpose %[[V0]]
// CHECK-NEXT:     %[[V3:\w+]] = relay.left_shift %[[V1]], %[[V2]] :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 14: a cell is not dataflow, what is read from it is a parameter.
func.func @split_and_cell(%x: tensor<6x9xf32>) -> tensor<2x9xf32> {
  %parts = relay.split %x {indices_or_sections = 3 : i64} : (tensor<6x9xf32>) -> tuple<tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>>
  %0 = relay.tuple_get_item %parts[0] : (tuple<tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>>) -> tensor<2x9xf32>
  %1 = relay.tuple_get_item %parts[1] : (tuple<tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>>) -> tensor<2x9xf32>
  %2 = relay.tuple_get_item %parts[2] : (tuple<tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>>) -> tensor<2x9xf32>
  %3 = relay.add %0, %1 : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
  %cell = relay.ref_create %3 : (tensor<2x9xf32>) -> !relay.ref<tensor<2x9xf32>>
  %read = relay.ref_read %cell : (!relay.ref<tensor<2x9xf32>>) -> tensor<2x9xf32>
  %4 = relay.exp %2 : (tensor<2x9xf32>) -> tensor<2x9xf32>
  %5 = relay.add %read, %4 : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
  func.return %5 : tensor<2x9xf32>
}

// CHECK-LABEL: func.func @split_and_cell(
// CHECK-SAME:  %[[X:\w+]]: tensor<6x9xf32>)
// CHECK-NEXT:   %[[PARTS:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<6x9xf32>):
// CHECK-NEXT:     %[[PARTS_2:\w+]] = relay.split %p0
// CHECK-NEXT:     relay.yield %[[PARTS_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[PARTS]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple_get_item %p0[0] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.tuple_get_item %p0[1] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %[[V0]], %[[V1]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[CELL:\w+]] = relay.ref_create %[[F0]] :
// CHECK-NEXT:   %[[READ:\w+]] = relay.ref_read %[[CELL]] :
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[PARTS]], %[[READ]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>>, %p1: tensor<2x9xf32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.tuple_get_item %p0[2] :
// CHECK-NEXT:     %[[V4:\w+]] = relay.exp %[[V3]] :
// CHECK-NEXT:     %[[V5:\w+]] = relay.add %p1, %[[V4]] :
// CHECK-NEXT:     relay.yield %[[V5]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Scenario 16: the same value twice is one parameter; indices are a parameter unless linked.
func.func @take(%x: tensor<10x1xf32>) -> tensor<1x1xf32> {
  %indices = relay.constant dense<0> : tensor<1xi64>
  %0 = relay.tuple %x, %x : (tensor<10x1xf32>, tensor<10x1xf32>) -> tuple<tensor<10x1xf32>, tensor<10x1xf32>>
  %1 = relay.concatenate %0 : (tuple<tensor<10x1xf32>, tensor<10x1xf32>>) -> tensor<20x1xf32>
  %2 = relay.take %1, %indices {axis = 0 : i64} : (tensor<20x1xf32>, tensor<1xi64>) -> tensor<1x1xf32>
  func.return %2 : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @take(
// CHECK-SAME:  %[[X:\w+]]: tensor<10x1xf32>)
// CHECK-NEXT:   %[[INDICES:\w+]] = relay.constant dense<0> : tensor<1xi64>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[INDICES]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x1xf32>, %p1: tensor<1xi64>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple %p0, %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.concatenate %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.take %[[V1]], %p1
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 17.
func.func @gather_nd(%x: tensor<2x2xf32>) -> tensor<1xf32> {
  %indices = relay.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %0 = relay.tuple %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tuple<tensor<2x2xf32>, tensor<2x2xf32>>
  %1 = relay.concatenate %0 : (tuple<tensor<2x2xf32>, tensor<2x2xf32>>) -> tensor<4x2xf32>
  %2 = relay.gather_nd %1, %indices : (tensor<4x2xf32>, tensor<2x1xi64>) -> tensor<1xf32>
  func.return %2 : tensor<1xf32>
}

// CHECK-LABEL: func.func @gather_nd(
// CHECK-SAME:  %[[X:\w+]]: tensor<2x2xf32>)
// CHECK-NEXT:   %[[INDICES:\w+]] = relay.constant dense<[[0], [1]]> : tensor<2x1xi64>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[INDICES]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<2x2xf32>, %p1: tensor<2x1xi64>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple %p0, %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.concatenate %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.gather_nd %[[V1]], %p1 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 18: equal shapes make the edge elementwise, also when the dtype changes.
func.func @rank0(%x: tensor<i32>) -> tensor<i1> {
  %ten = relay.constant dense<10> : tensor<i32>
  %0 = relay.less %x, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %1 = relay.min %0 : (tensor<i1>) -> tensor<i1>
  func.return %1 : tensor<i1>
}

// CHECK-LABEL: func.func @rank0(
// CHECK-SAME:  %[[X:\w+]]: tensor<i32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<i32>):
// CHECK-NEXT:     %[[TEN:\w+]] = relay.constant dense<10> : tensor<i32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.less %p0, %[[TEN]] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.min %[[V0]] :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 20: unknown dimensions are no obstacle, and equal when both are unknown.
func.func @dynamic(%x: tensor<1x?xf32>) -> tensor<?xf32> {
  %0 = relay.squeeze %x {axis = array<i64: 0>} : (tensor<1x?xf32>) -> tensor<?xf32>
  %one = relay.constant dense<1.000000e+00> : tensor<f32>
  %1 = relay.add %0, %one : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %2 = relay.multiply %1, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %2 : tensor<?xf32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x?xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x?xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.squeeze %p0
// CHECK-NEXT:     %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V1:\w+]] = relay.add %[[V0]], %[[ONE]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.multiply %[[V1]], %[[V0]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 21: an elementwise operator follows a complex one.
func.func @softmax(%x: tensor<16x10xf32>) -> tensor<16x10xf16> {
  %0 = relay.nn.softmax %x : (tensor<16x10xf32>) -> tensor<16x10xf32>
  %1 = relay.cast %0 {dtype = f16} : (tensor<16x10xf32>) -> tensor<16x10xf16>
  func.return %1 : tensor<16x10xf16>
}

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME:  %[[X:\w+]]: tensor<16x10xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x10xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.softmax %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.cast %[[V0]]
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }
