// RUN: not xrelay-opt -p 'fake-quantization-to-integer{hard-fail=true}' %s 2>&1 | filecheck %s
// RUN: not xrelay-opt -p 'fake-quantization-to-integer{optional-qnn-ops="nn.softmax"}' %s 2>&1 | filecheck %s --check-prefix NAME

// CHECK: pass 'fake-quantization-to-integer': relay.qnn.quantize %end stays: there is no rule for relay.cos
// NAME: pass 'fake-quantization-to-integer': 'optional-qnn-ops' has 'nn.softmax', expected some of
func.func @main(%x: tensor<2xi8>, %y: tensor<2xf32>) -> (tensor<2xi8>, tensor<2xi8>) {
  %half = relay.constant dense<0.5> : tensor<f32>
  %zero = relay.constant dense<0> : tensor<i32>
  // What does not begin with dequantized values is no region.
  %keep = relay.qnn.quantize %y, %half, %zero {out_dtype = i8} : (tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<2xi8>
  %0 = relay.qnn.dequantize %x, %half, %zero : (tensor<2xi8>, tensor<f32>, tensor<i32>) -> tensor<2xf32>
  %1 = relay.cos %0 : (tensor<2xf32>) -> tensor<2xf32>
  %end = relay.qnn.quantize %1, %half, %zero {out_dtype = i8} : (tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<2xi8>
  return %keep, %end : tensor<2xi8>, tensor<2xi8>
}
