// RUN: not xrelay-opt -p annotate-memory-scope %s 2>&1 | filecheck %s

// CHECK: @main, func.func{{.*}}: 'virtual_device' is "opencl", expected a device as #relay.virtual_device<1 : i64, 0 : i64, "", unit>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {virtual_device = "opencl"} {
  return %x : tensor<2xf32>
}
