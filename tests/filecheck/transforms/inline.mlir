// RUN: xdsl-opt -p inline %s | filecheck %s
// RUN: xdsl-opt -p inline,inline %s | filecheck %s

// Leaves first, along chains of functions; those that are not marked stay.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @chain(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @keep_unmarked(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @keep_user_of_unmarked(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @foreign(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
func.func @chain(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
  %0 = func.call @leaf(%p) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @leaf(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
  %0 = relay.abs %p : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @keep_unmarked(%p: tensor<4xf32>) -> tensor<4xf32> {
  func.return %p : tensor<4xf32>
}
func.func @keep_user_of_unmarked(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
  %0 = func.call @keep_unmarked(%p) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @keep_recursive(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
  %0 = func.call @keep_recursive(%p) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @keep_entry(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
  func.return %p : tensor<4xf32>
}
// A function for a compiler stays together.
func.func private @foreign(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a", Inline = 1 : i32} {
  %0 = relay.log %p : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @keep_declaration(%p: tensor<4xf32>) -> tensor<4xf32>
// Neither is a function for a compiler with two results inlined, but what it calls is.
func.func @user_of_pair(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = func.call @keep_pair(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @keep_pair(%p: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {Compiler = "a", Inline = 1 : i32} {
  %0 = func.call @leaf(%p) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %p : tensor<4xf32>, tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %0 = relay.abs %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = func.call @keep_unmarked(%1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %3 = func.call @keep_user_of_unmarked(%2) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %4 = relay.closure attributes {Compiler = "a", Inline = 1 : i32} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
// CHECK-NEXT:     ^bb0(%p: tensor<4xf32>):
// CHECK-NEXT:       %5 = relay.log %p : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       relay.yield %5 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %6 = relay.apply %4(%3) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %6 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_unmarked(%p: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     func.return %p : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_user_of_unmarked(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
// CHECK-NEXT:     %0 = func.call @keep_unmarked(%p) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_recursive(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
// CHECK-NEXT:     %0 = func.call @keep_recursive(%p) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_entry(%p: tensor<4xf32>) -> tensor<4xf32> attributes {Inline = 1 : i32} {
// CHECK-NEXT:     func.return %p : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @keep_declaration(tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.func @user_of_pair(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:     %0, %1 = func.call @keep_pair(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:     func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @keep_pair(%p: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {Compiler = "a", Inline = 1 : i32} {
// CHECK-NEXT:     %0 = relay.abs %p : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0, %p : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
