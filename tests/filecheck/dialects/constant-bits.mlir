// RUN: xdsl-opt %s | xdsl-opt | filecheck %s

// xDSL prints the bits of infinities and of NaN, and reads them as whole numbers.
// CHECK-LABEL: func.func @bits
func.func @bits() {
  // CHECK-NEXT: relay.constant dense<"0x000080FF"> : tensor<f32>
  %0 = relay.constant dense<0xFF800000> : tensor<f32>
  // CHECK-NEXT: relay.constant dense<"0x0000807F0000803F"> : tensor<2xf32>
  %1 = relay.constant dense<[0x7F800000, 1.0]> : tensor<2xf32>
  // CHECK-NEXT: relay.constant dense<"0x007E"> : tensor<2x2xf16>
  %2 = relay.constant dense<0x7E00> : tensor<2x2xf16>
  // CHECK-NEXT: relay.constant dense<1.000000e+00> : tensor<f32>
  %3 = relay.constant dense<0x3f800000> : tensor<f32>
  // CHECK-NEXT: relay.constant dense<255> : tensor<2xi32>
  %4 = relay.constant dense<0xFF> : tensor<2xi32>
  // Comments are no elements.
  // CHECK-NEXT: relay.constant dense<"0x0000807F0000404000000040"> : tensor<3xf32>
  %5 = relay.constant dense<[0x7F800000, // not 0x40A00000
    3.0, 2.0]> : tensor<3xf32>
  func.return
}
