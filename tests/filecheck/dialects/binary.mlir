// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %n: tensor<2x3xi32>, %c: tensor<2x3xi1>, %d: tensor<?x1xf32>) {
// CHECK-LABEL: func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %n: tensor<2x3xi32>, %c: tensor<2x3xi1>, %d: tensor<?x1xf32>) {
  %add = relay.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %add = relay.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %subtract = relay.subtract %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %subtract = relay.subtract %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %multiply = relay.multiply %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %multiply = relay.multiply %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %divide = relay.divide %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %divide = relay.divide %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %floor_divide = relay.floor_divide %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %floor_divide = relay.floor_divide %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %floor_mod = relay.floor_mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %floor_mod = relay.floor_mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %mod = relay.mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %mod = relay.mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %power = relay.power %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %power = relay.power %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %maximum = relay.maximum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %maximum = relay.maximum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %minimum = relay.minimum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %minimum = relay.minimum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %left_shift = relay.left_shift %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %left_shift = relay.left_shift %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %right_shift = relay.right_shift %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %right_shift = relay.right_shift %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %bitwise_and = relay.bitwise_and %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %bitwise_and = relay.bitwise_and %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %bitwise_or = relay.bitwise_or %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %bitwise_or = relay.bitwise_or %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %bitwise_xor = relay.bitwise_xor %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %bitwise_xor = relay.bitwise_xor %n, %n : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %logical_and = relay.logical_and %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %logical_and = relay.logical_and %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %logical_or = relay.logical_or %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %logical_or = relay.logical_or %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %logical_xor = relay.logical_xor %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %logical_xor = relay.logical_xor %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %equal = relay.equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %equal = relay.equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %not_equal = relay.not_equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %not_equal = relay.not_equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %less = relay.less %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %less = relay.less %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %less_equal = relay.less_equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %less_equal = relay.less_equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %greater = relay.greater %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %greater = relay.greater %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %greater_equal = relay.greater_equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %greater_equal = relay.greater_equal %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %unknown = relay.add %d, %x : (tensor<?x1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %unknown = relay.add %d, %x : (tensor<?x1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %stays = relay.add %d, %y : (tensor<?x1xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  // CHECK-NEXT: %stays = relay.add %d, %y : (tensor<?x1xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
