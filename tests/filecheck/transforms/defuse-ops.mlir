// RUN: xdsl-opt -p defuse-ops %s | filecheck %s
// RUN: xdsl-opt -p defuse-ops,defuse-ops %s | filecheck %s

// The bodies of relay.fused are put back in place.

// Scenario 1, and back.
func.func @simple(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p0: tensor<4x8xf32>):
    %one = relay.constant dense<1.000000e+00> : tensor<f32>
    %1 = relay.add %p0, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %2 = relay.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = relay.squeeze %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %y : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @simple(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[V0:\w+]] = relay.add %[[X]], %[[ONE]] :
// CHECK-NEXT:   %[[V1:\w+]] = relay.exp %[[V0]] :
// CHECK-NEXT:   %[[Y:\w+]] = relay.squeeze %[[V1]] :
// CHECK-NEXT:   func.return %[[Y]] :
// CHECK-NEXT: }

// Scenario 3: convolutions with batch norm, pooling and additions that share constants.
func.func @shared_constants(%x: tensor<1x8x8x8xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x8x8xf32> {
  %s = relay.constant dense<1.000000e+00> : tensor<8xf32>
  %0 = relay.fused %x, %w, %s : (tensor<1x8x8x8xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32> {
  ^bb0(%p0: tensor<1x8x8x8xf32>, %p1: tensor<8x8x3x3xf32>, %p2: tensor<8xf32>):
    %1 = relay.nn.conv2d %p0, %p1 {padding = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x8x8xf32>
    %2 = relay.nn.batch_norm %1, %p2, %p2, %p2, %p2 : (tensor<1x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<1x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>>
    %3 = relay.tuple_get_item %2[0] : (tuple<tensor<1x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>>) -> tensor<1x8x8x8xf32>
    relay.yield %3 : tensor<1x8x8x8xf32>
  }
  %4 = relay.fused %0 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  ^bb0(%p0: tensor<1x8x8x8xf32>):
    %5 = relay.nn.max_pool2d %p0 {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    relay.yield %5 : tensor<1x8x8x8xf32>
  }
  %6 = relay.fused %4, %w, %s : (tensor<1x8x8x8xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32> {
  ^bb0(%p0: tensor<1x8x8x8xf32>, %p1: tensor<8x8x3x3xf32>, %p2: tensor<8xf32>):
    %7 = relay.nn.conv2d %p0, %p1 {padding = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x8x8xf32>
    %8 = relay.nn.bias_add %7, %p2 : (tensor<1x8x8x8xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
    %9 = relay.nn.relu %8 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    relay.yield %9 : tensor<1x8x8x8xf32>
  }
  %10 = relay.fused %6, %0 : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  ^bb0(%p0: tensor<1x8x8x8xf32>, %p1: tensor<1x8x8x8xf32>):
    %11 = relay.add %p0, %p1 : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    %12 = relay.nn.relu %11 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    relay.yield %12 : tensor<1x8x8x8xf32>
  }
  func.return %10 : tensor<1x8x8x8xf32>
}

// CHECK-LABEL: func.func @shared_constants(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x8x8xf32>, %[[W:\w+]]: tensor<8x8x3x3xf32>)
// CHECK-NEXT:   %[[S:\w+]] = relay.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:   %[[V0:\w+]] = relay.nn.conv2d %[[X]], %[[W]]
// CHECK-NEXT:   %[[V1:\w+]] = relay.nn.batch_norm %[[V0]], %[[S]], %[[S]], %[[S]], %[[S]] :
// CHECK-NEXT:   %[[V2:\w+]] = relay.tuple_get_item %[[V1]][0] :
// CHECK-NEXT:   %[[V3:\w+]] = relay.nn.max_pool2d %[[V2]]
// CHECK-NEXT:   %[[V4:\w+]] = relay.nn.conv2d %[[V3]], %[[W]]
// CHECK-NEXT:   %[[V5:\w+]] = relay.nn.bias_add %[[V4]], %[[S]] :
// CHECK-NEXT:   %[[V6:\w+]] = relay.nn.relu %[[V5]] :
// CHECK-NEXT:   %[[V7:\w+]] = relay.add %[[V6]], %[[V2]] :
// CHECK-NEXT:   %[[V8:\w+]] = relay.nn.relu %[[V7]] :
// CHECK-NEXT:   func.return %[[V8]] :
// CHECK-NEXT: }

// A body that only hands on its parameter.
func.func @identity(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.fused %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<4x8xf32>):
    relay.yield %p1 : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @identity(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>, %[[Y:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   func.return %[[Y]] :
// CHECK-NEXT: }

// Nested regions are entered.
func.func @branches(%x: tensor<4x8xf32>, %c: i1) -> tensor<4x8xf32> {
  %0 = scf.if %c -> (tensor<4x8xf32>) {
    %1 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p0: tensor<4x8xf32>):
      %2 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
      relay.yield %2 : tensor<4x8xf32>
    }
    scf.yield %1 : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @branches(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>, %[[C:\w+]]: i1)
// CHECK-NEXT:   %[[V0:\w+]] = scf.if %[[C]] -> (tensor<4x8xf32>) {
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:     scf.yield %[[V1]] :
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %[[X]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// `relay.composite` stays; the `relay.fused` in it does not.
func.func @keep_composite(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.composite "dnnl.exp" %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = relay.fused %a : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p0: tensor<4x8xf32>):
      %2 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
      relay.yield %2 : tensor<4x8xf32>
    }
    relay.yield %1 : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_composite(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[V0:\w+]] = relay.composite "dnnl.exp" %[[X]] :
// CHECK-NEXT:   ^bb0(%[[A:\w+]]: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %[[A]] :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// `Compiler` keeps a function as it is.
func.func @keep_compiler(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p0: tensor<4x8xf32>):
    %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %1 : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_compiler(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Compiler = "dnnl"}
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// `Extern` keeps a function as it is.
func.func @keep_extern(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Extern = 1 : i32} {
  %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p0: tensor<4x8xf32>):
    %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %1 : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_extern(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Extern = 1 : i32}
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// `SkipOptimization` keeps a function as it is.
func.func @keep_skipoptimization(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {SkipOptimization = 1 : i32} {
  %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p0: tensor<4x8xf32>):
    %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %1 : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_skipoptimization(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {SkipOptimization = 1 : i32}
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }
