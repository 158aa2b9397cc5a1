// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @annotation(%x: tensor<2xf32>, %t: tuple<tensor<2xf32>>) {
// CHECK-LABEL: func.func @annotation(%x: tensor<2xf32>, %t: tuple<tensor<2xf32>>) {
  %stop = relay.annotation.stop_fusion %x : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %stop = relay.annotation.stop_fusion %x : (tensor<2xf32>) -> tensor<2xf32>
  %begin = relay.annotation.compiler_begin %t compiler "dnnl" : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>>
  // CHECK-NEXT: %begin = relay.annotation.compiler_begin %t compiler "dnnl" : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>>
  %end = relay.annotation.compiler_end %stop compiler "dnnl" : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %end = relay.annotation.compiler_end %stop compiler "dnnl" : (tensor<2xf32>) -> tensor<2xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
