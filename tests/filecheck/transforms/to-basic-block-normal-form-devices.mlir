// RUN: xdsl-opt -p to-basic-block-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-basic-block-normal-form,to-basic-block-normal-form %s | filecheck %s

#cpu = #relay.virtual_device<1 : i64, -1 : i64, "", unit>
#gpu = #relay.virtual_device<2 : i64, 0 : i64, "", unit>

// What branches share is on the device of the first of them that uses it.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT: [[V2:%.*]] = relay.exp %x :
// CHECK-NEXT: [[V3:%.*]] = relay.on_device [[V2]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V4:%.*]] = relay.let [[V3]] :
// CHECK-NEXT: [[V5:%.*]] = scf.if %c -> (tensor<2xf32>) {
// CHECK-NEXT: [[V6:%.*]] = relay.on_device [[V4]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: scf.yield [[V6]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V7:%.*]] = relay.negative [[V4]] :
// CHECK-NEXT: [[V8:%.*]] = relay.on_device [[V7]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: scf.yield [[V8]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: [[V9:%.*]] = relay.on_device [[V5]] {virtual_device = #relay.virtual_device<1 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: func.return [[V9]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @shared(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %c -> (tensor<2xf32>) {
    %2 = relay.on_device %0 {virtual_device = #gpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    %3 = relay.negative %0 : (tensor<2xf32>) -> tensor<2xf32>
    %4 = relay.on_device %3 {virtual_device = #gpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  }
  %5 = relay.on_device %1 {virtual_device = #cpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
  return %5 : tensor<2xf32>
}

// on_device that is shared has a name of its own.
// CHECK-LABEL: func.func @shared_on_device
// CHECK-NEXT: [[V2:%.*]] = relay.exp %x :
// CHECK-NEXT: [[V3:%.*]] = relay.on_device [[V2]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V4:%.*]] = relay.let [[V3]] :
// CHECK-NEXT: [[V5:%.*]] = scf.if %c -> (tensor<2xf32>) {
// CHECK-NEXT: scf.yield [[V4]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V6:%.*]] = relay.negative [[V4]] :
// CHECK-NEXT: scf.yield [[V6]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return [[V5]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @shared_on_device(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> attributes {virtual_device = #cpu} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.on_device %0 {virtual_device = #gpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = scf.if %c -> (tensor<2xf32>) {
    scf.yield %1 : tensor<2xf32>
  } else {
    %3 = relay.negative %1 : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %3 : tensor<2xf32>
  }
  return %2 : tensor<2xf32>
}
