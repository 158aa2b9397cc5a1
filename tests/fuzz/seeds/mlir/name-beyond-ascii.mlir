// pass: simplify-inference
func.func @keep_function_of_a_compiler(%x: tensor<8xf32>) -> tensor<8xf32> attributes {éCompiler = "dnnl"} {
  %0 = relay.composite "attention" %x : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = relay.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    relay.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
