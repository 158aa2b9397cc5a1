// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:exp"},merge-compiler-regions,partition-graph' %s | filecheck %s

// What a function is computed from needs no border: nothing leaves the region of no compiler there.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[F:%.*]] = func.call @chosen(%x)
// CHECK-NEXT: [[Y:%.*]] = relay.apply [[F]](%x)
// CHECK-NEXT: [[R:%.*]] = func.call @tvmgen_default_a_main_{{[0-9]*}}([[Y]])
// CHECK-NEXT: func.return [[R]]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = func.call @chosen(%x) : (tensor<2xf32>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.exp %0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @chosen(%x: tensor<2xf32>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  %f = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%y: tensor<2xf32>):
    %0 = relay.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %0 : tensor<2xf32>
  }
  return %f : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
}
