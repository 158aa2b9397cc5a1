// RUN: xdsl-opt -p partition-graph --split-input-file --verify-diagnostics %s | filecheck %s

// A region that is partly in a branch, with an input from there: no single place can compute it.
func.func @branch(%x: tensor<4xf32>, %go: i1) -> (tensor<4xf32>, tensor<4xf32>) {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %0 = scf.if %go -> (tensor<4xf32>) {
    %l = relay.log %x : (tensor<4xf32>) -> tensor<4xf32>
    %c = relay.annotation.compiler_begin %l compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
    %z = relay.add %y, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %f = relay.annotation.compiler_end %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %f : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %e, %0 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: relay.annotation.compiler_begin %c of region 0 of compiler 'a' in @branch takes a value of a branch, outside of which other operations of the region are

// -----

func.func @captured(%x: tensor<4xf32>, %go: i1) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %go compiler "a" : (i1) -> i1
  %c = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %0 = scf.if %b -> (tensor<4xf32>) {
    "test.op"(%x) : (tensor<4xf32>) -> ()
    scf.yield %c : tensor<4xf32>
  } else {
    scf.yield %c : tensor<4xf32>
  }
  %e = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: test.op within scf.if of region 0 of compiler 'a' in @captured uses a parameter from outside, which has to enter by compiler_begin

// -----

func.func @nobody(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "" : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %b compiler "" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: 'compiler' is empty, expected the name of a compiler

// -----

// Branches between blocks: what is computed first need not be written first.
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb2
^bb1:
  %c = relay.annotation.compiler_begin %e compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %z = relay.exp %c : (tensor<4xf32>) -> tensor<4xf32>
  %f = relay.annotation.compiler_end %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %f : tensor<4xf32>
^bb2:
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^bb1
}
// CHECK: function 'blocks' cannot be cut into regions: it is not one block that ends in func.return
