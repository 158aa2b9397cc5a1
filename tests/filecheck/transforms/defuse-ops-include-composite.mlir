// RUN: xdsl-opt -p 'defuse-ops{include-composite=true}' %s | filecheck %s

// With `include-composite` what compilers have claimed is inlined too.

// Both literals are inlined.
func.func @composite(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
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

// CHECK-LABEL: func.func @composite(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   func.return %[[V0]] :
// CHECK-NEXT: }

// A function of a compiler is entered.
func.func @compiler(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p0: tensor<4x8xf32>):
    %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %1 : tensor<4x8xf32>
  }
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @compiler(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-SAME:  attributes {Compiler = "dnnl"}
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   func.return %[[V0]] :
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
