// RUN: xdsl-opt -p to-a-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-a-normal-form,to-a-normal-form %s | filecheck %s

// What gives several results has a name for each that is used, in their order.
// CHECK-LABEL: func.func @results
// CHECK: [[B:%[^,]*]], [[C:%[^,]*]], [[D:%[^,]*]] = scf.if
// CHECK: relay.exp
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: [[E:%.*]] = relay.let [[B]] :
// CHECK-NEXT: [[F:%.*]] = relay.let [[D]] :
// CHECK-NEXT: func.return [[E]], [[F]], [[E]]
func.func @results(%c: i1, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0, %1, %2 = scf.if %c -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    scf.yield %x, %x, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  } else {
    %3 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %x, %3, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  return %0, %2, %0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
