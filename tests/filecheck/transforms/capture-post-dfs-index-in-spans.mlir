// RUN: xdsl-opt -p capture-post-dfs-index-in-spans %s | filecheck %s
// RUN: xdsl-opt -p capture-post-dfs-index-in-spans,capture-post-dfs-index-in-spans %s | filecheck %s

// The program of the original's test, with the numbers of the spans that it expects.
// CHECK-LABEL: func.func @main(%x0: {{.*}} {relay.span = array<i64: 0, 5>}, %x3: {{.*}} {relay.span = array<i64: 1, 18>}) -> {{.*}} attributes {relay.span = array<i64: 20, -1>} {
// CHECK-NEXT: relay.constant {relay.span = array<i64: 4, 5>}
// CHECK-NEXT: relay.nn.dense {{.*}} {relay.span = array<i64: 5, 7>, units
// CHECK-NEXT: relay.constant {relay.span = array<i64: 6, 7>}
// CHECK-NEXT: relay.add {{.*}} {relay.span = array<i64: 7, 19>}
// CHECK-NEXT: relay.closure {{.*}}relay.span = array<i64: 16, 18>, relay.param_spans = [array<i64: 8, 15>, array<i64: 9, 15>]}
// CHECK: relay.composite {{.*}}relay.span = array<i64: 15, 16>, relay.function_span = array<i64: 14, 15>, relay.param_spans = [array<i64: 10, 13>, array<i64: 11, 13>]}
// CHECK: relay.nn.batch_matmul {{.*}}{relay.span = array<i64: 13, 14>
// CHECK: relay.constant {relay.span = array<i64: 17, 18>}
// CHECK-NEXT: relay.apply {{.*}} {relay.span = array<i64: 18, 19>}
// CHECK-NEXT: relay.tuple {{.*}} {relay.span = array<i64: 19, 20>}
func.func @main(%x0: tensor<1600x768xf16>, %x3: tensor<600x32x64xf16>) -> tuple<tensor<1600x2304xf16>, tensor<600x32x32xf16>> {
  %c0 = relay.constant dense<1.0> : tensor<2304x768xf16>
  %0 = relay.nn.dense %x0, %c0 {units = 2304} : (tensor<1600x768xf16>, tensor<2304x768xf16>) -> tensor<1600x2304xf16>
  %c1 = relay.constant dense<1.0> : tensor<2304xf16>
  %1 = relay.add %0, %c1 : (tensor<1600x2304xf16>, tensor<2304xf16>) -> tensor<1600x2304xf16>
  %f = relay.closure attributes {Compiler = "cublas", Primitive = 1 : i32} : !relay.fn<(tensor<600x32x64xf16>, tensor<600x32x64xf16>) -> tensor<600x32x32xf16>> {
  ^bb0(%y0: tensor<600x32x64xf16>, %y1: tensor<600x32x64xf16>):
    %2 = relay.composite "cublas.batch_matmul" %y0, %y1 : (tensor<600x32x64xf16>, tensor<600x32x64xf16>) -> tensor<600x32x32xf16> {
    ^bb1(%p0: tensor<600x32x64xf16>, %p1: tensor<600x32x64xf16>):
      %3 = relay.nn.batch_matmul %p0, %p1 {transpose_b = true} : (tensor<600x32x64xf16>, tensor<600x32x64xf16>) -> tensor<600x32x32xf16>
      relay.yield %3 : tensor<600x32x32xf16>
    }
    relay.yield %2 : tensor<600x32x32xf16>
  }
  %c2 = relay.constant dense<1.0> : tensor<600x32x64xf16>
  %4 = relay.apply %f(%x3, %c2) : (!relay.fn<(tensor<600x32x64xf16>, tensor<600x32x64xf16>) -> tensor<600x32x32xf16>>, tensor<600x32x64xf16>, tensor<600x32x64xf16>) -> tensor<600x32x32xf16>
  %5 = relay.tuple %1, %4 : (tensor<1600x2304xf16>, tensor<600x32x32xf16>) -> tuple<tensor<1600x2304xf16>, tensor<600x32x32xf16>>
  return %5 : tuple<tensor<1600x2304xf16>, tensor<600x32x32xf16>>
}

// The operators exp, cos and sin are 2, 5 and 7. The name of the first result is used by both branches, which meet in the
// `scf.if`; the `let` itself comes after what follows it. What the result does not depend on has no number.
// CHECK-LABEL: func.func @branches(%x: {{.*}} {relay.span = array<i64: 0, 3>}, %c: {{.*}} {relay.span = array<i64: 1, 9>})
// CHECK-NEXT: relay.exp %x {relay.span = array<i64: 3, 4>}
// CHECK-NEXT: relay.let {{.*}} {relay.span = array<i64: 4, 9>, relay.let_span = array<i64: 10, 11>}
// CHECK-NEXT: tensor.extract
// CHECK-NEXT: scf.if
// CHECK-NEXT: relay.cos {{.*}} {relay.span = array<i64: 6, 9>}
// CHECK: relay.sin {{.*}} {relay.span = array<i64: 8, 9>}
// CHECK: {relay.span = array<i64: 9, 10>}
// CHECK-NEXT: relay.tanh %x : (tensor<f32>)
func.func @branches(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %e = relay.let %0 : (tensor<f32>) -> tensor<f32>
  %p = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %p -> (tensor<f32>) {
    %2 = relay.cos %e : (tensor<f32>) -> tensor<f32>
    scf.yield %2 : tensor<f32>
  } else {
    %3 = relay.sin %e : (tensor<f32>) -> tensor<f32>
    scf.yield %3 : tensor<f32>
  }
  %dead = relay.tanh %x : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}


func.func @increment(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// Operators and functions have one number however often they are used: exp is 2, and its second use leads elsewhere.
// CHECK-LABEL: func.func @shared(%x: {{.*}} {relay.span = array<i64: 0, 3>})
// CHECK-NEXT: relay.exp %x {relay.span = array<i64: 3, 7>}
// CHECK-NEXT: relay.exp {{.*}} {relay.span = array<i64: 4, 7>}
// CHECK-NEXT: func.call @increment({{.*}}) {relay.span = array<i64: 6, 7>}
// CHECK-NEXT: relay.add {{.*}} {relay.span = array<i64: 7, 8>}
func.func @shared(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %1 = relay.exp %0 : (tensor<f32>) -> tensor<f32>
  %2 = func.call @increment(%0) : (tensor<f32>) -> tensor<f32>
  %3 = relay.add %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// A function literal that calls itself: by what it does so is no expression, so that the graph has no circle.
// CHECK-LABEL: func.func @recursion(%x: {{.*}} {relay.span = array<i64: 0, 5>})
// CHECK-NEXT: relay.closure attributes {relay.span = array<i64: 3, 4>, relay.param_spans = [array<i64: 1, 2>], recursive}
// CHECK: relay.apply {{.*}} {relay.span = array<i64: 2, 3>}
// CHECK: relay.let {{.*}} {relay.span = array<i64: 4, 5>, relay.let_span = array<i64: 6, 7>}
// CHECK-NEXT: relay.apply {{.*}} {relay.span = array<i64: 5, 6>}
func.func @recursion(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.closure attributes {recursive} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%f: !relay.fn<(tensor<f32>) -> tensor<f32>>, %y: tensor<f32>):
    %1 = relay.apply %f(%y) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
    relay.yield %1 : tensor<f32>
  }
  %g = relay.let %0 : (!relay.fn<(tensor<f32>) -> tensor<f32>>) -> !relay.fn<(tensor<f32>) -> tensor<f32>>
  %2 = relay.apply %g(%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_compiler
// CHECK-NEXT: relay.exp %x :
func.func @keep_compiler(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "c"} {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// The original has no loops: one is an expression, and what is in it none.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NEXT: relay.exp %a :
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {relay.span = array<i64: 7, 8>}
func.func @loop(%n: index, %x: tensor<f32>) -> tensor<f32> {
  %from = arith.constant 0 : index
  %step = arith.constant 1 : index
  %r = scf.for %i = %from to %n step %step iter_args(%a = %x) -> (tensor<f32>) {
    %e = relay.exp %a : (tensor<f32>) -> tensor<f32>
    scf.yield %e : tensor<f32>
  }
  %t = relay.tanh %r : (tensor<f32>) -> tensor<f32>
  return %t : tensor<f32>
}


func.func private @one(tensor<f32>) -> tensor<f32>
func.func private @two(tensor<f32>) -> tensor<f32>

// Functions that are used as values are an expression each, which a second use of one shares.
// CHECK-LABEL: func.func @functions()
// CHECK-SAME: {relay.span = array<i64: 3, -1>}
// CHECK-NEXT: relay.global_var @one {relay.span = array<i64: 0, 2>}
// CHECK-NEXT: relay.global_var @two {relay.span = array<i64: 1, 2>}
// CHECK-NEXT: relay.global_var @one {relay.span = array<i64: 0, 2>}
// CHECK-NEXT: relay.tuple {{.*}} {relay.span = array<i64: 2, 3>}
func.func @functions() -> tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>> {
  %0 = relay.global_var @one : !relay.fn<(tensor<f32>) -> tensor<f32>>
  %1 = relay.global_var @two : !relay.fn<(tensor<f32>) -> tensor<f32>>
  %2 = relay.global_var @one : !relay.fn<(tensor<f32>) -> tensor<f32>>
  %3 = relay.tuple %0, %1, %2 : (!relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>) -> tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>>
  return %3 : tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>>
}
