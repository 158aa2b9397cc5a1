// RUN: xdsl-opt -p 'fuse-ops{opt-level=0}' %s | filecheck %s

// At level 0 every operator is a function of its own, scalar constants are parameters, and tuples
// and projections stay outside.

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
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[POOLED]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x4x4xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.upsampling %p0
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V1:\w+]] = relay.tuple %[[F0]], %[[X]] :
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[V1]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]], %[[ONE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x32x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F2]] :
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
// CHECK-NEXT:   %[[PARTS:\w+]] = relay.fused %[[DENSE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x30xf32>):
// CHECK-NEXT:     %[[PARTS_2:\w+]] = relay.split %p0
// CHECK-NEXT:     relay.yield %[[PARTS_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V0:\w+]] = relay.tuple_get_item %[[PARTS]][0] :
// CHECK-NEXT:   %[[V1:\w+]] = relay.tuple_get_item %[[PARTS]][1] :
// CHECK-NEXT:   %[[V2:\w+]] = relay.tuple_get_item %[[PARTS]][2] :
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[V0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.sigmoid %p0 :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[V1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>):
// CHECK-NEXT:     %[[V4:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[V2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>):
// CHECK-NEXT:     %[[V5:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V5]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[F1]], %[[F2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>, %p1: tensor<1x10xf32>):
// CHECK-NEXT:     %[[V6:\w+]] = relay.multiply %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V6]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F4:\w+]] = relay.fused %[[F0]], %[[F3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>, %p1: tensor<1x10xf32>):
// CHECK-NEXT:     %[[V7:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F4]] :
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
// CHECK-NEXT:   %[[PARTS:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x30xf32>):
// CHECK-NEXT:     %[[PARTS_2:\w+]] = relay.split %p0
// CHECK-NEXT:     relay.yield %[[PARTS_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V0:\w+]] = relay.tuple_get_item %[[PARTS]][0] :
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[V0]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x10xf32>, %p1: tensor<16x10xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.dense %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
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
// CHECK-NEXT:   %[[SHARED:\w+]] = relay.fused %[[X]] attributes {reshape_only} :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[SHARED_2:\w+]] = relay.squeeze %p0 :
// CHECK-NEXT:     relay.yield %[[SHARED_2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[SHARED]], %[[ONE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[SHARED]] attributes {reshape_only} :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x8x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.squeeze %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_2:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]], %[[ONE_2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_3:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[F2]], %[[ONE_3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_4:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F4:\w+]] = relay.fused %[[SHARED]], %[[ONE_4]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V4:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V5:\w+]] = relay.tuple %[[F0]], %[[F3]], %[[F4]] :
// CHECK-NEXT:   %[[F5:\w+]] = relay.fused %[[V5]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>>):
// CHECK-NEXT:     %[[V6:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V6]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F6:\w+]] = relay.fused %[[F5]] attributes {reshape_only} :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x24x8xf32>):
// CHECK-NEXT:     %[[V7:\w+]] = relay.squeeze %p0 :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_5:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F7:\w+]] = relay.fused %[[F6]], %[[ONE_5]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<16x24x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V8:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V8]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F7]] :
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
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[ONE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_2:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]], %[[ONE_2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_3:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[X]], %[[ONE_3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V3:\w+]] = relay.tuple %[[F0]], %[[F1]], %[[F2]] :
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[V3]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>):
// CHECK-NEXT:     %[[V4:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_4:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F4:\w+]] = relay.fused %[[F3]], %[[ONE_4]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x48x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V5:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V5]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_5:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F5:\w+]] = relay.fused %[[X]], %[[ONE_5]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V6:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V6]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_6:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F6:\w+]] = relay.fused %[[X]], %[[ONE_6]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V7:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_7:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F7:\w+]] = relay.fused %[[X]], %[[ONE_7]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V8:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V8]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V9:\w+]] = relay.tuple %[[F5]], %[[F6]], %[[F7]] :
// CHECK-NEXT:   %[[F8:\w+]] = relay.fused %[[V9]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>):
// CHECK-NEXT:     %[[V10:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V10]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_8:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F9:\w+]] = relay.fused %[[F8]], %[[ONE_8]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x48x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V11:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V11]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_9:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F10:\w+]] = relay.fused %[[X]], %[[ONE_9]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V12:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V12]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_10:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F11:\w+]] = relay.fused %[[X]], %[[ONE_10]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V13:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V13]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_11:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F12:\w+]] = relay.fused %[[X]], %[[ONE_11]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V14:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V14]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V15:\w+]] = relay.tuple %[[F10]], %[[F11]], %[[F12]] :
// CHECK-NEXT:   %[[F13:\w+]] = relay.fused %[[V15]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>):
// CHECK-NEXT:     %[[V16:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V16]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_12:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F14:\w+]] = relay.fused %[[F13]], %[[ONE_12]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x48x8x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V17:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V17]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V18:\w+]] = relay.tuple %[[F4]], %[[F9]], %[[F14]] :
// CHECK-NEXT:   %[[F15:\w+]] = relay.fused %[[V18]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>, tensor<1x48x8x8xf32>>):
// CHECK-NEXT:     %[[V19:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V19]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F16:\w+]] = relay.fused %[[F15]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x144x8x8xf32>):
// CHECK-NEXT:     %[[V20:\w+]] = relay.nn.max_pool2d %p0
// CHECK-NEXT:     relay.yield %[[V20]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_13:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F17:\w+]] = relay.fused %[[F16]], %[[ONE_13]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x144x4x4xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V21:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V21]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[ONE_14:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F18:\w+]] = relay.fused %[[F17]], %[[ONE_14]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x144x4x4xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V22:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V22]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V23:\w+]] = relay.tuple %[[F17]], %[[F18]] :
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
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.relu %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[X]], %[[W1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>, %p1: tensor<16x16x3x3xf32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[F2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.nn.relu %p0 :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V4:\w+]] = relay.tuple %[[F1]], %[[F3]] :
// CHECK-NEXT:   %[[F4:\w+]] = relay.fused %[[V4]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>):
// CHECK-NEXT:     %[[V5:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V5]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F5:\w+]] = relay.fused %[[F4]], %[[W2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x32x8x8xf32>, %p1: tensor<16x32x3x3xf32>):
// CHECK-NEXT:     %[[V6:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     relay.yield %[[V6]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F6:\w+]] = relay.fused %[[F5]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V7:\w+]] = relay.nn.relu %p0 :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F7:\w+]] = relay.fused %[[F4]], %[[W3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x32x8x8xf32>, %p1: tensor<16x32x3x3xf32>):
// CHECK-NEXT:     %[[V8:\w+]] = relay.nn.conv2d %p0, %p1
// CHECK-NEXT:     relay.yield %[[V8]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F8:\w+]] = relay.fused %[[F7]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x16x8x8xf32>):
// CHECK-NEXT:     %[[V9:\w+]] = relay.nn.relu %p0 :
// CHECK-NEXT:     relay.yield %[[V9]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V10:\w+]] = relay.tuple %[[F6]], %[[F8]] :
// CHECK-NEXT:   %[[F9:\w+]] = relay.fused %[[V10]] :
// CHECK-NEXT:   ^bb0(%p0: tuple<tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>>):
// CHECK-NEXT:     %[[V11:\w+]] = relay.concatenate %p0
// CHECK-NEXT:     relay.yield %[[V11]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F9]] :
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
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[ONE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xi32>, %p1: tensor<i32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] attributes {reshape_only} :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xi32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.squeeze %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xi32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.transpose %p0
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F3:\w+]] = relay.fused %[[F1]], %[[F2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x20xi32>, %p1: tensor<10x20xi32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.left_shift %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F3]] :
// CHECK-NEXT: }
