// RUN: xdsl-opt -p 'inline-compiler-functions{functions=f}' %s | filecheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @keep_unnamed(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @f(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a"} {
  %0 = relay.composite "a.exp" %p : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%q: tensor<4xf32>):
    %1 = relay.exp %q : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %1 : tensor<4xf32>
  }
  %2 = relay.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
func.func private @keep_unnamed(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a"} {
  %0 = relay.log %p : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = func.call @keep_unnamed(%1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %2 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @keep_unnamed(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a"} {
// CHECK-NEXT:     %0 = relay.log %p : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
