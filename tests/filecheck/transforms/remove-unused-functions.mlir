// RUN: xdsl-opt -p 'remove-unused-functions{entry-functions=main,other}' %s | filecheck %s
// RUN: xdsl-opt -p 'remove-unused-functions{entry-functions=main,other},remove-unused-functions{entry-functions=main,other}' %s | filecheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @keep_called(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relay.global_var @keep_value : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>>
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @keep_called(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @keep_value(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @keep_named_elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
"test.op"() {uses = [@keep_named_elsewhere]} : () -> ()
func.func @gone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @gone_too(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @gone_too(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @gone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %0 = func.call @keep_called(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %f = relay.global_var @keep_value : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>>
// CHECK-NEXT:     %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_called(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     func.return %x : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_value(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     func.return %x : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_named_elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     func.return %x : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   "test.op"() {uses = [@keep_named_elsewhere]} : () -> ()
// CHECK-NEXT: }
