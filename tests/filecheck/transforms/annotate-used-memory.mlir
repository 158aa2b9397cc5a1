// RUN: xdsl-opt -p annotate-used-memory %s | filecheck %s
// RUN: xdsl-opt -p annotate-used-memory,annotate-used-memory %s | filecheck %s
// RUN: not xrelay-opt -p 'annotate-used-memory{functions="no_unknown"}' %s 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not xrelay-opt -p 'annotate-used-memory{functions="no_branch"}' %s 2>&1 | filecheck %s --check-prefix BRANCH
// RUN: not xrelay-opt -p 'annotate-used-memory{functions="none"}' %s 2>&1 | filecheck %s --check-prefix NONE
// RUN: not xrelay-opt -p 'annotate-used-memory{functions="no_blocks"}' %s 2>&1 | filecheck %s --check-prefix BLOCKS

// UNKNOWN: pass 'annotate-used-memory': @no_unknown has type tensor<?xf32>, expected known dimensions
// BRANCH: pass 'annotate-used-memory': @no_branch calls a primitive function within another operation, expected calls one after the other
// NONE: pass 'annotate-used-memory': the module has no function @none with a body, it has @main, @no_unknown, @no_branch, @no_blocks, @keep_what_is_not_named
// BLOCKS: pass 'annotate-used-memory': @no_blocks has 2 blocks, expected one

// 16 bytes of %x and of each result; the second call is the last that needs %x, and %0 lives on.
// CHECK-LABEL: func.func @main
// CHECK-SAME: attributes {io_used_memory = 36 : i32}
// CHECK: relay.fused %x attributes {used_memory = [32 : i32]}
// CHECK: relay.fused %x attributes {used_memory = [48 : i32]}
// CHECK: relay.closure attributes {Primitive = 1 : i32, used_memory = [48 : i32, 36 : i32]}
func.func @main(%x: tensor<4xf32>, %unused: tensor<i32>) -> tensor<4xf32> {
  %0 = relay.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %1 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %1 : tensor<4xf32>
  }
  %2 = relay.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%q: tensor<4xf32>):
    %3 = relay.log %q : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %3 : tensor<4xf32>
  }
  %f = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%r: tensor<4xf32>, %s: tensor<4xf32>):
    %4 = relay.add %r, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relay.yield %4 : tensor<4xf32>
  }
  %g = relay.let %f : (!relay.fn<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>>) -> !relay.fn<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>>
  %5 = relay.apply %g(%0, %2) : (!relay.fn<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = relay.constant dense<1.0> : tensor<f32>
  %7 = relay.add %5, %6 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = relay.constant dense<1> : tensor<i32>
  %9 = relay.apply %g(%7, %7) : (!relay.fn<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = relay.cast %8 {dtype = f32} : (tensor<i32>) -> tensor<f32>
  %11 = relay.add %9, %10 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %11 : tensor<4xf32>
}

func.func @no_unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

func.func @no_branch(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = scf.if %c -> (tensor<4xf32>) {
    %1 = relay.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%p: tensor<4xf32>):
      %2 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
      relay.yield %2 : tensor<4xf32>
    }
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

func.func @no_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// Those that are not named say nothing.
// CHECK-LABEL: func.func @keep_what_is_not_named(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: relay.fused %x :
func.func @keep_what_is_not_named(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %1 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
