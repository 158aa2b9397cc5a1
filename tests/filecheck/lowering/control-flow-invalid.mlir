// RUN: xdsl-opt --split-input-file --verify-diagnostics -p "convert-relay-to-kernels{target=x86-64-v4}" %s | filecheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %r = scf.for %i = %c0 to %c0 step %c0 iter_args(%s = %x) -> (tensor<4xf32>) {
    scf.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// CHECK: function 'main': scf.for %r has no code: its step is 0, expected 1 or more

// -----

func.func @main(%c: tensor<2xi1>, %i: tensor<index>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c2 = arith.constant 2 : index
  %b = tensor.extract %c[%c2] : tensor<2xi1>
  func.return %x : tensor<4xf32>
}

// CHECK: function 'main': tensor.extract %b has no code: index 0 is 2, expected 0 to 1

// -----

func.func @main(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %b = tensor.extract %c[] : tensor<f32>
  func.return %x : tensor<4xf32>
}

// CHECK: function 'main': tensor.extract %b has no code: the tensor is tensor<f32>, expected one of integers

// -----

func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.while (%s = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    scf.condition(%b) %s : tensor<4xf32>
  } do {
  ^bb0(%s: tensor<4xf32>):
    %t = relay.tuple %s, %s : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
    %0 = relay.concatenate %t {axis = 0 : i64} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  }
  func.return %r : tensor<4xf32>
}

// CHECK: function 'main': scf.while %r has no code: value 0 that a round gives is tensor<8xf32>, expected tensor<4xf32>

// -----

func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %k = tensor.extract %n[] : tensor<i64>
  %e = arith.index_cast %k : i64 to index
  %0 = scf.index_switch %e -> tensor<4xf32>
  default {
    scf.yield %x : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// CHECK: function 'main': scf.index_switch has no code: the code generator takes no other control flow than scf.if, scf.for and scf.while
