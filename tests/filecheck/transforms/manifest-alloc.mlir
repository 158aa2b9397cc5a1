// RUN: xrelay-opt -p manifest-alloc %s | filecheck %s
// RUN: xrelay-opt -p 'manifest-alloc{reuse=true}' %s | filecheck %s --check-prefix REUSE
// RUN: xrelay-opt -p 'manifest-alloc{reuse=true},manifest-alloc{reuse=true}' %s | filecheck %s --check-prefix REUSE

// The first and the third tensor share their place; the last is the result, and has a storage of its own. A reshape is a view.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: [[F:%.*]] = relay.closure attributes {Primitive = 1 : i32}
// CHECK: [[N:%.*]] = relay.constant dense<32> : tensor<i64>
// CHECK-NEXT: [[A:%.*]] = relay.constant dense<64> : tensor<i64>
// CHECK-NEXT: [[S:%.*]] = relay.memory.alloc_storage [[N]], [[A]] {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>}
// CHECK-NEXT: %storage = relay.let [[S]]
// CHECK-NEXT: [[O:%.*]] = relay.constant dense<0> : tensor<i64>
// CHECK-NEXT: [[D:%.*]] = relay.constant dense<8> : tensor<1xi64>
// CHECK-NEXT: [[T:%.*]] = relay.memory.alloc_tensor %storage, [[O]], [[D]] {assert_shape = array<i64: 8>}
// CHECK-NEXT: %tensor = relay.let [[T]]
// CHECK-NEXT: [[I:%.*]] = relay.tuple %x :
// CHECK-NEXT: [[U:%.*]] = relay.tuple %tensor :
// CHECK-NEXT: [[R:%.*]] = relay.vm.invoke_tvm_op [[F]], [[I]], [[U]]
// CHECK-NEXT: %done = relay.let [[R]]
// CHECK: [[V:%.*]] = relay.vm.reshape_tensor %tensor, {{.*}} {newshape = array<i64: 2, 4>}
// CHECK: relay.tuple [[V]] :
// CHECK-COUNT-2: relay.memory.alloc_storage
// CHECK-NOT: relay.fused

// REUSE-LABEL: func.func @chain
// REUSE: relay.constant dense<128> : tensor<i64>
// REUSE: [[S:%.*]] = relay.memory.alloc_storage {{.*}}, dtype = i8}
// REUSE: [[N:%.*]] = relay.let [[S]]
// REUSE: [[O:%.*]] = relay.constant dense<0> : tensor<i64>
// REUSE: relay.memory.alloc_tensor [[N]], [[O]]
// REUSE: [[P:%.*]] = relay.constant dense<64> : tensor<i64>
// REUSE: relay.memory.alloc_tensor [[N]], [[P]]
// REUSE: [[Q:%.*]] = relay.constant dense<0> : tensor<i64>
// REUSE: relay.memory.alloc_tensor [[N]], [[Q]]
// REUSE: relay.memory.alloc_storage
// REUSE: relay.memory.alloc_tensor
// REUSE-NOT: relay.memory.alloc_storage
// REUSE: func.return
func.func @chain(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %0 = relay.fused %x : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%p: tensor<8xf32>):
    %1 = relay.exp %p : (tensor<8xf32>) -> tensor<8xf32>
    relay.yield %1 : tensor<8xf32>
  }
  %2 = relay.fused %0 attributes {reshape_only} : (tensor<8xf32>) -> tensor<2x4xf32> {
  ^bb0(%q: tensor<8xf32>):
    %3 = relay.reshape %q {newshape = array<i64: 2, 4>} : (tensor<8xf32>) -> tensor<2x4xf32>
    relay.yield %3 : tensor<2x4xf32>
  }
  %4 = relay.fused %2 : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%r: tensor<2x4xf32>):
    %5 = relay.tanh %r : (tensor<2x4xf32>) -> tensor<2x4xf32>
    relay.yield %5 : tensor<2x4xf32>
  }
  %6 = relay.fused %4 : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%s: tensor<2x4xf32>):
    %7 = relay.exp %s : (tensor<2x4xf32>) -> tensor<2x4xf32>
    relay.yield %7 : tensor<2x4xf32>
  }
  %8 = relay.fused %6 : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%t: tensor<2x4xf32>):
    %9 = relay.tanh %t : (tensor<2x4xf32>) -> tensor<2x4xf32>
    relay.yield %9 : tensor<2x4xf32>
  }
  return %8 : tensor<2x4xf32>
}

// A function with a name that is called twice, in a branch too; a result with two tensors. What other operations use, and
// what a branch gives, shares nothing.
// CHECK-LABEL: func.func @functions
// CHECK: scf.if
// CHECK: relay.memory.alloc_storage
// CHECK: relay.vm.invoke_tvm_op %f
// CHECK: scf.yield %tensor
// CHECK-COUNT-2: relay.memory.alloc_storage
// CHECK: [[U:%.*]] = relay.tuple [[A:%.*]], [[B:%.*]] :
// CHECK: relay.vm.invoke_tvm_op {{.*}}, [[U]]
// CHECK: relay.tuple [[A]], [[B]] :
// REUSE-LABEL: func.func @functions
// REUSE-COUNT-3: relay.memory.alloc_storage
// REUSE-NOT: relay.memory.alloc_storage
// REUSE: func.return
func.func @functions(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    %1 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %1 : tensor<4xf32>
  }
  %f = relay.let %0 : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>) -> !relay.fn<(tensor<4xf32>) -> tensor<4xf32>>
  %t = tensor.extract %c[] : tensor<i1>
  %2 = scf.if %t -> (tensor<4xf32>) {
    %3 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %4 = relay.fused %2 : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
  ^bb0(%q: tensor<4xf32>):
    %5 = relay.exp %q : (tensor<4xf32>) -> tensor<4xf32>
    %6 = relay.tuple %5, %q : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
    relay.yield %6 : tuple<tensor<4xf32>, tensor<4xf32>>
  }
  %7 = relay.tuple_get_item %4[0] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %8 = relay.tuple_get_item %4[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %9 = relay.add %7, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
}

// Unknown dimensions stay.
// CHECK-LABEL: func.func @keep_unknown
// CHECK: relay.fused
// CHECK-NOT: relay.memory
func.func @keep_unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.fused %x : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%p: tensor<?xf32>):
    %1 = relay.exp %p : (tensor<?xf32>) -> tensor<?xf32>
    relay.yield %1 : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}
