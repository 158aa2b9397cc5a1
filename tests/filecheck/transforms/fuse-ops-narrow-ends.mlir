// RUN: xrelay-opt -p 'fuse-ops{rules=cpu}' %s | filecheck %s
// RUN: xrelay-opt -p 'fuse-ops{rules=relay}' %s | filecheck %s --check-prefix RELAY
// RUN: xrelay-opt -p 'fuse-ops{rules=cpu max-depth=5}' %s | filecheck %s --check-prefix LIMIT

// Rule 44: of two convolutions that meet, the kernel of the second one ends with what is smallest in memory. By Relay's
// rules it ends where they meet.
// CHECK-LABEL: func.func @quantized
// CHECK: [[B:%.*]] = relay.fused
// CHECK-SAME: -> tensor<1x8x5x5xi8> {
// CHECK: relay.nn.conv2d
// CHECK: relay.cast {{.*}} {dtype = i8}
// CHECK-NEXT: relay.yield
// CHECK: relay.fused
// CHECK: relay.nn.conv2d
// CHECK: relay.cast {{.*}} {dtype = f32} : (tensor<1x8x5x5xi8>)
// CHECK-NEXT: relay.multiply
// CHECK-NEXT: relay.add
// CHECK-NEXT: relay.nn.relu
// CHECK-NEXT: relay.yield
// RELAY-LABEL: func.func @quantized
// RELAY: relay.fused
// RELAY-SAME: -> tensor<1x8x5x5xf32> {
// RELAY: relay.cast {{.*}} {dtype = f32} : (tensor<1x8x5x5xi8>)
// RELAY-NEXT: relay.multiply
// RELAY-NEXT: relay.yield
// Where no more may join the other group, nothing ends earlier.
// LIMIT-LABEL: func.func @quantized
// LIMIT-NOT: relay.yield {{.*}} : tensor<1x8x5x5xi8>
// LIMIT: return
func.func @quantized(%x: tensor<1x8x5x5xf32>, %v: tensor<8x8x1x1xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32> {
  %s = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.nn.conv2d %x, %v : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %x, %w : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %2 = relay.cast %1 {dtype = i8} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xi8>
  %3 = relay.cast %2 {dtype = f32} : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xf32>
  %4 = relay.multiply %3, %s : (tensor<1x8x5x5xf32>, tensor<f32>) -> tensor<1x8x5x5xf32>
  %5 = relay.add %0, %4 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %6 = relay.nn.relu %5 : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %6 : tensor<1x8x5x5xf32>
}

// Nothing ends earlier where another tensor is read on the way.
// CHECK-LABEL: func.func @others
// CHECK: relay.fused
// CHECK: relay.cast {{.*}} {dtype = f32} : (tensor<1x8x5x5xi8>)
// CHECK-NEXT: relay.multiply {{.*}} : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>)
// CHECK-NEXT: relay.yield
// CHECK: relay.fused
// CHECK: relay.add
// CHECK-NEXT: relay.yield
func.func @others(%x: tensor<1x8x5x5xf32>, %v: tensor<8x8x1x1xf32>, %w: tensor<8x8x1x1xf32>, %s: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %0 = relay.nn.conv2d %x, %v : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %x, %w : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %2 = relay.cast %1 {dtype = i8} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xi8>
  %3 = relay.cast %2 {dtype = f32} : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xf32>
  %4 = relay.multiply %3, %s : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %5 = relay.add %0, %4 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %5 : tensor<1x8x5x5xf32>
}
