// RUN: not xrelay-opt -p extract-fused-functions %s 2>&1 | filecheck %s

// CHECK: no function 'main'; the module has a, b
func.func @a(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

func.func @b(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
