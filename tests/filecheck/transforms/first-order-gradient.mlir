// RUN: xdsl-opt -p first-order-gradient %s | filecheck %s

// CHECK-LABEL: func.func @multiply(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tuple<tensor<2x3xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>> {
// CHECK-NEXT: [[Z:%.*]] = relay.multiply %x, %y
// CHECK-NEXT: [[G:%.*]] = relay.ones_like [[Z]]
// CHECK-NEXT: [[X:%.*]] = relay.multiply [[G]], %y
// CHECK-NEXT: [[P:%.*]] = relay.multiply [[G]], %x
// CHECK-NEXT: [[Y:%.*]] = relay.collapse_sum_like [[P]], %y
// CHECK-NEXT: [[GRADS:%.*]] = relay.tuple [[X]], [[Y]]
// CHECK-NEXT: [[ALL:%.*]] = relay.tuple [[Z]], [[GRADS]]
// CHECK-NEXT: func.return [[ALL]]
func.func @multiply(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.multiply %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// What is used twice gets the sum. Rank 0.
// CHECK-LABEL: func.func @twice(%x: tensor<f32>)
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: [[S:%.*]] = relay.add [[E]], %x
// CHECK-NEXT: [[G:%.*]] = relay.ones_like [[S]]
// CHECK-NEXT: [[M:%.*]] = relay.multiply [[G]], [[E]]
// CHECK-NEXT: relay.add [[G]], [[M]]
func.func @twice(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %1 = relay.add %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// What nothing uses, and what is no floating point, has zeros. Ones and zeros are values of the program.
// CHECK-LABEL: func.func @zeros(%x: tensor<2xf32>, %i: tensor<2xi32>, %t: tuple<tensor<f32>, tensor<2xi1>>)
// CHECK-NEXT: [[I:%.*]] = relay.add %i, %i
// CHECK-NEXT: [[O:%.*]] = relay.ones
// CHECK-NOT:  relay.ones_like
// CHECK:      [[X:%.*]] = relay.zeros_like %x
// CHECK-NEXT: [[D:%.*]] = relay.zeros_like %i
// CHECK-NEXT: [[F:%.*]] = relay.tuple_get_item %t[0]
// CHECK-NEXT: [[F0:%.*]] = relay.zeros_like [[F]]
// CHECK-NEXT: [[B:%.*]] = relay.tuple_get_item %t[1]
// CHECK-NEXT: [[B0:%.*]] = relay.zeros_like [[B]]
// CHECK-NEXT: [[T:%.*]] = relay.tuple [[F0]], [[B0]]
// CHECK-NEXT: relay.tuple [[X]], [[D]], [[T]]
func.func @zeros(%x: tensor<2xf32>, %i: tensor<2xi32>, %t: tuple<tensor<f32>, tensor<2xi1>>) -> tensor<2xi32> {
  %0 = relay.add %i, %i : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = relay.ones {shape = array<i64: 2>, dtype = f32} : tensor<2xf32>
  return %0 : tensor<2xi32>
}

// Several results are a tuple, and of tuples all fields count.
// CHECK-LABEL: func.func @results(%x: tensor<2xf32>) -> tuple<tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<2xi1>>>, tuple<tensor<2xf32>>> {
// CHECK:      [[T:%.*]] = relay.tuple [[E:%.*]], [[L:%.*]] :
// CHECK-NEXT: [[X1:%.*]] = relay.ones_like %x
// CHECK-NEXT: [[F:%.*]] = relay.tuple_get_item [[T]][0]
// CHECK-NEXT: [[E1:%.*]] = relay.ones_like [[F]]
// CHECK:      [[M:%.*]] = relay.multiply [[E1]], [[E]]
// CHECK-NEXT: [[G:%.*]] = relay.add [[X1]], [[M]]
// CHECK-NEXT: [[V:%.*]] = relay.tuple %x, [[T]]
// CHECK-NEXT: [[GRADS:%.*]] = relay.tuple [[G]]
// CHECK-NEXT: relay.tuple [[V]], [[GRADS]]
func.func @results(%x: tensor<2xf32>) -> (tensor<2xf32>, tuple<tensor<2xf32>, tensor<2xi1>>) {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.less %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %2 = relay.tuple %0, %1 : (tensor<2xf32>, tensor<2xi1>) -> tuple<tensor<2xf32>, tensor<2xi1>>
  return %x, %2 : tensor<2xf32>, tuple<tensor<2xf32>, tensor<2xi1>>
}

// Bodies that are called, and names.
// CHECK-LABEL: func.func @bodies
// CHECK:      relay.closure
// CHECK:      }
// CHECK-NEXT: [[A:%.*]] = relay.tanh %x
// CHECK-NEXT: [[B:%.*]] = relay.negative [[A]]
// CHECK-NEXT: [[C:%.*]] = relay.exp [[B]]
// CHECK-NEXT: [[G:%.*]] = relay.ones_like [[C]]
// CHECK-NEXT: [[GB:%.*]] = relay.multiply [[G]], [[C]]
// CHECK-NEXT: [[GA:%.*]] = relay.negative [[GB]]
func.func @bodies(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%p: tensor<2xf32>):
    %0 = relay.exp %p : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %0 : tensor<2xf32>
  }
  %1 = relay.fused %x : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %2 = relay.tanh %p : (tensor<2xf32>) -> tensor<2xf32>
    %3 = relay.composite "own" %2 : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%q: tensor<2xf32>):
      %4 = relay.negative %q : (tensor<2xf32>) -> tensor<2xf32>
      relay.yield %4 : tensor<2xf32>
    }
    relay.yield %3 : tensor<2xf32>
  }
  %5 = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
  %6 = relay.apply %f(%5) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  return %6 : tensor<2xf32>
}

// What has no rule and does not depend on parameters stays.
// CHECK-LABEL: func.func @of_a_constant
// CHECK: [[R:%.*]] = relay.rsqrt
// CHECK: relay.multiply {{%.*}}, [[R]]
func.func @of_a_constant(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.constant dense<4.0> : tensor<f32>
  %1 = relay.rsqrt %0 : (tensor<f32>) -> tensor<f32>
  %2 = relay.multiply %x, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_what_another_compiler_takes(%x: tensor<2xf32>) -> tensor<2xf32>
func.func @keep_what_another_compiler_takes(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "other"} {
  %0 = relay.rsqrt %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Calls are inlined first. What calls itself keeps its signature, and nobody asks for its gradient here.
// CHECK-LABEL: func.func @calls(%x: tensor<f32>) -> tuple<tensor<f32>, tuple<tensor<f32>>> {
// CHECK-NOT: func.call @once
// CHECK: relay.exp
// CHECK-NOT: func.call @once
// CHECK-NOT: func.func private @once
// CHECK: func.func private @again(%{{.*}}: tensor<i32>) -> tensor<i32> {
func.func @calls(%x: tensor<f32>) -> tensor<f32> {
  %c = relay.constant dense<1> : tensor<i32>
  %n = func.call @again(%c) : (tensor<i32>) -> tensor<i32>
  %0 = func.call @once(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @once(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @again(%x: tensor<i32>) -> tensor<i32> {
  %0 = func.call @again(%x) : (tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}
