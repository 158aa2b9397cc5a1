// RUN: xdsl-opt -p 'combine-parallel-dense{to-batch=false rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-dense{to-batch=false rules=cpu},combine-parallel-dense{to-batch=false rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-dense{min-num-branches=2 to-batch=false rules=cpu}' %s | filecheck %s --check-prefix=TWO

// CHECK-LABEL: func.func @projections
// CHECK: [[T:%.*]] = relay.tuple %u, %v, %w
// CHECK-NEXT: [[W:%.*]] = relay.concatenate [[T]]
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense %x, [[W]] : (tensor<4x3xf32>, tensor<7x3xf32>) -> tensor<4x7xf32>
// CHECK-NEXT: [[S:%.*]] = relay.tuple %a, %b, %c
// CHECK-NEXT: [[B:%.*]] = relay.concatenate [[S]]
// CHECK-NEXT: [[A:%.*]] = relay.add [[B]], [[D]] : (tensor<7xf32>, tensor<4x7xf32>) -> tensor<4x7xf32>
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[A]]
// CHECK-NEXT: [[Q:%.*]] = relay.strided_slice [[R]] {begin = array<i64: 0>, end = array<i64: 2>, axes = array<i64: 1>}
// CHECK-NEXT: [[K:%.*]] = relay.strided_slice [[R]] {begin = array<i64: 2>, end = array<i64: 4>, axes = array<i64: 1>}
// CHECK-NEXT: [[V:%.*]] = relay.strided_slice [[R]] {begin = array<i64: 4>, end = array<i64: 7>, axes = array<i64: 1>}
// CHECK-NEXT: func.return [[Q]], [[K]], [[V]]
func.func @projections(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>, %v: tensor<2x3xf32>, %w: tensor<3x3xf32>, %a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x3xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.add %a, %0 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = relay.nn.relu %1 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = relay.nn.dense %x, %v : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %4 = relay.add %b, %3 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = relay.nn.relu %4 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %7 = relay.add %c, %6 : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %8 = relay.nn.relu %7 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %2, %5, %8 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x3xf32>
}

// Constants that are defined later are repeated in front.
// CHECK-LABEL: func.func @late_constants
// CHECK: relay.concatenate
// CHECK-NEXT: relay.nn.dense
// CHECK-NOT: relay.nn.dense
// CHECK: func.return
func.func @late_constants(%x: tensor<4x3xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
  %u = relay.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x1xf32>
  %v = relay.constant dense<[[4.0, 5.0, 6.0]]> : tensor<1x3xf32>
  %1 = relay.nn.dense %x, %v : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x1xf32>
  %w = relay.constant dense<[[7.0, 8.0, 9.0]]> : tensor<1x3xf32>
  %2 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x1xf32>
  return %0, %1, %2 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}

// Different operators follow: the slices come before them.
// CHECK-LABEL: func.func @other_followers
// CHECK: relay.nn.dense
// CHECK: relay.strided_slice
// CHECK: relay.nn.relu
// CHECK: relay.tanh
func.func @other_followers(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %3 = relay.tanh %2 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %5 = relay.exp %4 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1, %3, %5 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_two
// CHECK-NEXT: relay.nn.dense
// CHECK-NEXT: relay.nn.dense
// TWO-LABEL: func.func @keep_two
// TWO: relay.concatenate
func.func @keep_two(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>, %v: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.dense %x, %v : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}

// The second weight needs the first product.
// TWO-LABEL: func.func @keep_weight_of_branch
// TWO-NOT: relay.concatenate
// TWO: func.return
func.func @keep_weight_of_branch(%x: tensor<3x3xf32>, %u: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = relay.nn.dense %x, %u : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %v = relay.tanh %0 : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = relay.nn.dense %x, %v : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return %1 : tensor<3x3xf32>
}

// TWO-LABEL: func.func @keep_function_of_a_compiler
// TWO-NOT: relay.concatenate
// TWO: func.return
func.func @keep_function_of_a_compiler(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) attributes {Compiler = "dnnl"} {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}
