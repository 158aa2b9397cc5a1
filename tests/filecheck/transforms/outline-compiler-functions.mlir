// RUN: xdsl-opt -p 'outline-compiler-functions{compiler=a}' %s | filecheck %s
// RUN: xdsl-opt -p 'outline-compiler-functions{compiler=a},outline-compiler-functions{compiler=a}' %s | filecheck %s

func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f = relay.closure attributes {Compiler = "a", global_symbol = "g"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    %e = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %e : tensor<4xf32>
  }
  %h = relay.closure attributes {Compiler = "b"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    relay.yield %p : tensor<4xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.apply %h(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Without a name the function gets one.
func.func @unnamed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relay.closure attributes {Compiler = "a"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    %e = relay.log %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %e : tensor<4xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// What is for others, or for nobody, stays.
func.func @keep_other_compiler(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relay.closure attributes {Compiler = "b", global_symbol = "h"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    %e = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %e : tensor<4xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func @keep_own_literal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relay.closure : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    %e = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %e : tensor<4xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:     %h = relay.closure attributes {Compiler = "b"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
// CHECK-NEXT:     ^bb0(%p: tensor<4xf32>):
// CHECK-NEXT:       relay.yield %p : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.apply %h(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @unnamed(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %0 = func.call @tvmgen_a_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_other_compiler(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %f = relay.closure attributes {Compiler = "b", global_symbol = "h"}
// CHECK:          relay.apply %f(%x)
// CHECK:        func.func @keep_own_literal(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %f = relay.closure :
// CHECK:          relay.apply %f(%x)
// CHECK:        func.func private @g(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a", global_symbol = "g"} {
// CHECK-NEXT:     %e = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %e : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_a_0(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a", global_symbol = "tvmgen_a_0"} {
// CHECK-NEXT:     %e = relay.log %p : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %e : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
