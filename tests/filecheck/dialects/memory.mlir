// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

relay.type_def @Storage []
// CHECK:      relay.type_def @Storage []
func.func @memory(%n: tensor<i64>, %shape: tensor<2xi64>) -> tensor<3x2xf32> {
// CHECK-LABEL: func.func @memory(%n: tensor<i64>, %shape: tensor<2xi64>) -> tensor<3x2xf32> {
  %storage = relay.memory.alloc_storage %n, %n {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<i64>, tensor<i64>) -> !relay.adt<@Storage, []>
  // CHECK-NEXT: %storage = relay.memory.alloc_storage %n, %n {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<i64>, tensor<i64>) -> !relay.adt<@Storage, []>
  %tensor = relay.memory.alloc_tensor %storage, %n, %shape {const_shape = dense<[3, 2]> : tensor<2xi64>} : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<3x2xf32>
  // CHECK-NEXT: %tensor = relay.memory.alloc_tensor %storage, %n, %shape {const_shape = dense<[3, 2]> : tensor<2xi64>} : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<3x2xf32>
  %asserted = relay.memory.alloc_tensor %storage, %n, %shape {dtype = i8, assert_shape = array<i64: 4, 5>} : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<4x5xi8>
  // CHECK-NEXT: %asserted = relay.memory.alloc_tensor %storage, %n, %shape {dtype = i8, assert_shape = array<i64: 4, 5>} : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<4x5xi8>
  %unknown = relay.memory.alloc_tensor %storage, %n, %shape : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %unknown = relay.memory.alloc_tensor %storage, %n, %shape : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<?x?xf32>
  %done = relay.memory.kill %storage : (!relay.adt<@Storage, []>) -> tuple<>
  // CHECK-NEXT: %done = relay.memory.kill %storage : (!relay.adt<@Storage, []>) -> tuple<>
  func.return %tensor : tensor<3x2xf32>
  // CHECK-NEXT: func.return %tensor : tensor<3x2xf32>
}
// CHECK-NEXT: }
