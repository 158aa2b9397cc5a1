// RUN: xdsl-opt -p merge-tail-calls %s | filecheck %s
// RUN: xdsl-opt -p merge-tail-calls,recursion-to-loops %s | filecheck %s --check-prefix LOOP
// RUN: xrelay-opt -p merge-tail-calls,recursion-to-loops --verify-semantics %s 2>&1 | filecheck %s --check-prefix MEANING

// MEANING: the results of @main stay the same in 2 passes

// CHECK-LABEL: func.func @main(
// CHECK:      [[W:%.*]] = relay.constant dense<0> : tensor<i32>
// CHECK-NEXT: [[E:%.*]] = tensor.empty() : tensor<i32>
// CHECK:      func.call @even_odd([[W]], %n, %x, [[E]], {{%.*}})
// LOOP-LABEL: func.func @main(
// LOOP-LABEL: func.func private @even_odd(
// LOOP:       scf.while
// LOOP-NOT:   func.call @even_odd
func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r = func.call @even(%n, %x) : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  %s = func.call @odd(%n, %r) : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}

// CHECK-LABEL: func.func private @goes_on(
// CHECK:      func.call @other(
// CHECK-LABEL: func.func private @other(

// @third is called at one place, and becomes a part of @odd.
// CHECK-LABEL: func.func private @even_odd(
// CHECK-SAME: %which: tensor<i32>
// CHECK:      [[T:%.*]] = relay.less %which, {{%.*}}
// CHECK-NEXT: [[C:%.*]] = tensor.extract [[T]][]
// CHECK-NEXT: [[R:%.*]] = scf.if [[C]] -> (tensor<2xf32>) {
// CHECK:        [[Y:%.*]] = relay.exp %x
// CHECK:        func.call @even_odd({{%.*}}, %n, %x, {{%.*}}, [[Y]])
// CHECK:      } else {
// CHECK:        relay.sigmoid [[X:%.*]] :
// CHECK:        [[Y:%.*]] = relay.negative
// CHECK:        func.call @even_odd({{%.*}}, {{%.*}}, [[Y]], {{%.*}}, [[X]])
// CHECK:      return [[R]]
func.func private @even(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1> : tensor<i32>
  %less = relay.less %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %c = tensor.extract %less[] : tensor<i1>
  %r = scf.if %c -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    %m = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %y = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    %o = func.call @odd(%m, %y) : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %o : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

func.func private @odd(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relay.sigmoid %x : (tensor<2xf32>) -> tensor<2xf32>
  %o = func.call @third(%n, %y) : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  return %o : tensor<2xf32>
}

func.func private @third(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1> : tensor<i32>
  %y = relay.negative %x : (tensor<2xf32>) -> tensor<2xf32>
  %m = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %o = func.call @even(%m, %y) : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  return %o : tensor<2xf32>
}

// What goes on after a call is left alone, as the checks below @main say.
func.func private @goes_on(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @other(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.exp %0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

func.func private @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @goes_on(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
