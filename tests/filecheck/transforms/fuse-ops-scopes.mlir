// RUN: xdsl-opt -p fuse-ops %s | filecheck %s

// Fusion in programs that hold more than relay operators: regions are scopes, what is unknown is
// opaque, and nothing is dropped.

// The branches are graphs of their own. What they take from outside is a parameter, and a value that
// the `scf.if` or its branches use does not fuse forward. A scalar constant outside stays there.
func.func @branches(%x: tensor<4x8xf32>, %c: i1) -> tensor<4x8xf32> {
  %two = relay.constant dense<2.000000e+00> : tensor<f32>
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = scf.if %c -> (tensor<4x8xf32>) {
    %3 = relay.multiply %1, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %4 = relay.sigmoid %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %4 : tensor<4x8xf32>
  } else {
    %5 = relay.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %5 : tensor<4x8xf32>
  }
  %6 = relay.exp %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = relay.add %6, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %7 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @branches(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>, %[[C:\w+]]: i1)
// CHECK-NEXT:   %[[TWO:\w+]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V2:\w+]] = scf.if %[[C]] -> (tensor<4x8xf32>) {
// CHECK-NEXT:     %[[F2:\w+]] = relay.fused %[[F1]], %[[TWO]] :
// CHECK-NEXT:     ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:       %[[V3:\w+]] = relay.multiply %p0, %p1 :
// CHECK-NEXT:       %[[V4:\w+]] = relay.sigmoid %[[V3]] :
// CHECK-NEXT:       relay.yield %[[V4]] :
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %[[F2]] :
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %[[F3:\w+]] = relay.fused %[[F0]], %[[X]] :
// CHECK-NEXT:     ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<4x8xf32>):
// CHECK-NEXT:       %[[V5:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:       relay.yield %[[V5]] :
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %[[F3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F4:\w+]] = relay.fused %[[V2]], %[[F1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V6:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     %[[V7:\w+]] = relay.add %[[V6]], %p1 :
// CHECK-NEXT:     relay.yield %[[V7]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F4]] :
// CHECK-NEXT: }

// Scenario 6, as far as it needs no closures: the condition fuses, and nothing fuses into the `scf.if`.
func.func @condition(%x: tensor<i32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %ten = relay.constant dense<10> : tensor<i32>
  %0 = relay.less %x, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %1 = relay.logical_not %0 : (tensor<i1>) -> tensor<i1>
  %2 = "test.op"(%1) : (tensor<i1>) -> i1
  %3 = scf.if %2 -> (tensor<4xf32>) {
    %4 = relay.exp %y : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %4 : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  func.return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @condition(
// CHECK-SAME:  %[[X:\w+]]: tensor<i32>, %[[Y:\w+]]: tensor<4xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<i32>):
// CHECK-NEXT:     %[[TEN:\w+]] = relay.constant dense<10> : tensor<i32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.less %p0, %[[TEN]] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.logical_not %[[V0]] :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V2:\w+]] = "test.op"(%[[F0]]) :
// CHECK-NEXT:   %[[V3:\w+]] = scf.if %[[V2]] -> (tensor<4xf32>) {
// CHECK-NEXT:     %[[F1:\w+]] = relay.fused %[[Y]] :
// CHECK-NEXT:     ^bb0(%p0: tensor<4xf32>):
// CHECK-NEXT:       %[[V4:\w+]] = relay.exp %p0 :
// CHECK-NEXT:       relay.yield %[[V4]] :
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %[[F1]] :
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %[[Y]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[V3]] :
// CHECK-NEXT: }

// Operations of other dialects are opaque and stay, with all their results.
func.func @keep_foreign(%x: tensor<4x8xf32>, %i: index) -> (tensor<4x8xf32>, index) {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1, %2 = "test.op"(%0) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %3 = relay.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = relay.add %3, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = arith.addi %i, %i : index
  "test.op"() : () -> ()
  func.return %4, %5 : tensor<4x8xf32>, index
}

// CHECK-LABEL: func.func @keep_foreign(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>, %[[I:\w+]]: index)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V1:\w+]], %[[V2:\w+]] = "test.op"(%[[F0]]) :
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[V1]], %[[V2]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     %[[V4:\w+]] = relay.add %[[V3]], %p1 :
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V5:\w+]] = arith.addi %[[I]], %[[I]] :
// CHECK-NEXT:   "test.op"() :
// CHECK-NEXT:   func.return %[[F1]], %[[V5]] :
// CHECK-NEXT: }

// So are calls.
func.func @keep_call(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = func.call @keep_primitive(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_call(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V1:\w+]] = func.call @keep_primitive(%[[F0]]) :
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[V1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Values that another block uses do not fuse forward; each block fuses on its own.
func.func @blocks(%x: tensor<4x8xf32>, %c: i1) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  cf.cond_br %c, ^bb1(%1 : tensor<4x8xf32>), ^bb2
^bb1(%2: tensor<4x8xf32>):
  func.return %2 : tensor<4x8xf32>
^bb2:
  %3 = relay.sigmoid %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = relay.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @blocks(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>, %[[C:\w+]]: i1)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   cf.cond_br %[[C]], ^bb1(%[[F1]] :
// CHECK-NEXT: ^bb1(%[[V2:\w+]]: tensor<4x8xf32>):
// CHECK-NEXT:   func.return %[[V2]] :
// CHECK-NEXT: ^bb2:
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.sigmoid %p0 :
// CHECK-NEXT:     %[[V4:\w+]] = relay.exp %[[V3]] :
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F2]] :
// CHECK-NEXT: }

// The body of `relay.composite` is a graph; that of `relay.fused` is done.
func.func @literals(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.composite "dnnl.exp_tanh" %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = relay.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = relay.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %2 : tensor<4x8xf32>
  }
  %3 = relay.fused %0 : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%b: tensor<4x8xf32>):
    %4 = relay.exp %b : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = relay.transpose %4 {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %5 : tensor<4x8xf32>
  }
  %6 = relay.tanh %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %6 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @literals(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[V0:\w+]] = relay.composite "dnnl.exp_tanh" %[[X]] :
// CHECK-NEXT:   ^bb0(%[[A:\w+]]: tensor<4x8xf32>):
// CHECK-NEXT:     %[[F0:\w+]] = relay.fused %[[A]] :
// CHECK-NEXT:     ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:       %[[V1:\w+]] = relay.exp %p0 :
// CHECK-NEXT:       %[[V2:\w+]] = relay.tanh %[[V1]] :
// CHECK-NEXT:       relay.yield %[[V2]] :
// CHECK-NEXT:     }
// CHECK-NEXT:     relay.yield %[[F0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[V0]] :
// CHECK-NEXT:   ^bb0(%[[B:\w+]]: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V3:\w+]] = relay.exp %[[B]] :
// CHECK-NEXT:     %[[V4:\w+]] = relay.transpose %[[V3]]
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V5:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V5]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F2]] :
// CHECK-NEXT: }

// `Compiler` keeps a function as it is.
func.func @keep_compiler(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_compiler(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Compiler = "dnnl"}
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// `Extern` keeps a function as it is.
func.func @keep_extern(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Extern = 1 : i32} {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_extern(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Extern = 1 : i32}
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// `SkipOptimization` keeps a function as it is.
func.func @keep_skipoptimization(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {SkipOptimization = 1 : i32} {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_skipoptimization(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {SkipOptimization = 1 : i32}
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// `Primitive` keeps a function as it is.
func.func @keep_primitive(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Primitive = 1 : i32} {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_primitive(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Primitive = 1 : i32}
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// A flag that is 0 is not set.
func.func @primitive_zero(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Primitive = 0 : i32} {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @primitive_zero(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Primitive = 0 : i32}
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }
