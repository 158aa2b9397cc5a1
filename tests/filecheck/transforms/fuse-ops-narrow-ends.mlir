// RUN: xrelay-opt -p 'fuse-ops{rules=cpu}' %s | filecheck %s
// RUN: xrelay-opt -p 'fuse-ops{rules=relay}' %s | filecheck %s --check-prefix RELAY
// RUN: xrelay-opt -p 'fuse-ops{rules=cpu max-depth=6}' %s | filecheck %s --check-prefix LIMIT
// RUN: xrelay-opt -p 'fuse-ops{rules=cpu max-depth=7}' %s | filecheck %s --check-prefix ROOM

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
// ROOM-LABEL: func.func @quantized
// ROOM: relay.yield {{.*}} : tensor<1x8x5x5xi8>
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

// A constant on both sides is computed on both sides.
// CHECK-LABEL: func.func @constants
// CHECK: relay.fused
// CHECK-SAME: -> tensor<1x8x5x5xi8> {
// CHECK: relay.constant
// CHECK: relay.divide
// CHECK-NEXT: relay.cast {{.*}} {dtype = i8}
// CHECK-NEXT: relay.yield
// CHECK: relay.fused
// CHECK: relay.multiply
// CHECK-NEXT: relay.add
func.func @constants(%x: tensor<1x8x5x5xf32>, %v: tensor<8x8x1x1xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32> {
  %s = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.nn.conv2d %x, %v : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %x, %w : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %2 = relay.divide %1, %s : (tensor<1x8x5x5xf32>, tensor<f32>) -> tensor<1x8x5x5xf32>
  %3 = relay.cast %2 {dtype = i8} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xi8>
  %4 = relay.cast %3 {dtype = f32} : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xf32>
  %5 = relay.multiply %4, %s : (tensor<1x8x5x5xf32>, tensor<f32>) -> tensor<1x8x5x5xf32>
  %6 = relay.add %0, %5 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %6 : tensor<1x8x5x5xf32>
}

// What is broadcast is not computed for each element that it is broadcast to.
// CHECK-LABEL: func.func @broadcast
// CHECK: relay.fused
// CHECK-SAME: -> tensor<1x8x1x1xf32> {
// CHECK: relay.cast {{.*}} {dtype = f32} : (tensor<1x8x1x1xi8>)
// CHECK-NEXT: relay.tanh
// CHECK-NEXT: relay.yield
func.func @broadcast(%x: tensor<1x8x5x5xf32>, %y: tensor<1x8x1x1xf32>, %v: tensor<8x8x1x1xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32> {
  %0 = relay.nn.conv2d %x, %v : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %y, %w : (tensor<1x8x1x1xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x1x1xf32>
  %2 = relay.cast %1 {dtype = i8} : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xi8>
  %3 = relay.cast %2 {dtype = f32} : (tensor<1x8x1x1xi8>) -> tensor<1x8x1x1xf32>
  %4 = relay.tanh %3 : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32>
  %5 = relay.multiply %0, %4 : (tensor<1x8x5x5xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  return %5 : tensor<1x8x5x5xf32>
}

// A convolution that takes the result of the other needs it in memory anyway: it is no more for what follows to be there.
// CHECK-LABEL: func.func @behind
// CHECK: relay.fused
// CHECK-SAME: -> tensor<1x8x5x5xf32> {
// CHECK: relay.cast {{.*}} {dtype = f32} : (tensor<1x8x5x5xi8>)
// CHECK-NEXT: relay.yield
func.func @behind(%x: tensor<1x8x5x5xf32>, %v: tensor<8x8x1x1xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32> {
  %0 = relay.nn.conv2d %x, %v : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %1 = relay.cast %0 {dtype = i8} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xi8>
  %2 = relay.cast %1 {dtype = f32} : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xf32>
  %3 = relay.nn.conv2d %2, %w : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  return %3 : tensor<1x8x5x5xf32>
}

// Of several that are equally small the last one, and what both groups may hold.
// CHECK-LABEL: func.func @several
// CHECK: relay.fused
// CHECK: relay.cast {{.*}} {dtype = i8}
// CHECK-NEXT: relay.cast {{.*}} {dtype = f32}
// CHECK-NEXT: relay.exp
// CHECK-NEXT: relay.cast {{.*}} {dtype = i8}
// CHECK-NEXT: relay.negative
// CHECK-NEXT: relay.yield {{.*}} : tensor<1x8x5x5xi8>
func.func @several(%x: tensor<1x8x5x5xf32>, %v: tensor<8x8x1x1xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32> {
  %0 = relay.nn.conv2d %x, %v : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %x, %w : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %2 = relay.cast %1 {dtype = i8} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xi8>
  %3 = relay.cast %2 {dtype = f32} : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xf32>
  %4 = relay.exp %3 : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %5 = relay.cast %4 {dtype = i8} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xi8>
  %6 = relay.negative %5 : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xi8>
  %7 = relay.cast %6 {dtype = f32} : (tensor<1x8x5x5xi8>) -> tensor<1x8x5x5xf32>
  %8 = relay.add %0, %7 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %8 : tensor<1x8x5x5xf32>
}
