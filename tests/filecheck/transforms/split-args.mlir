// RUN: xdsl-opt -p 'split-args{max-function-args=3}' %s | filecheck %s
// RUN: xdsl-opt -p 'split-args{max-function-args=3},split-args{max-function-args=3}' %s | filecheck %s
// RUN: xdsl-opt -p 'split-args{max-function-args=6}' %s | filecheck %s --check-prefix KEEP
// RUN: xdsl-opt -p split-args %s | filecheck %s --check-prefix KEEP
// RUN: not xrelay-opt -p 'split-args{max-function-args=2}' %s 2>&1 | filecheck %s --check-prefix FEW

// Two at a time, on three levels.
// CHECK-LABEL: func.func @levels
// CHECK-NEXT: [[T0:%.*]] = relay.tuple %a, %b :
// CHECK-NEXT: [[C0:%.*]] = relay.concatenate [[T0]] {axis = -1 : i64} : {{.*}} -> tensor<2x3xf32>
// CHECK-NEXT: [[S0:%.*]] = relay.annotation.stop_fusion [[C0]]
// CHECK-NEXT: [[T1:%.*]] = relay.tuple %c, %a :
// CHECK-NEXT: [[C1:%.*]] = relay.concatenate [[T1]]
// CHECK-NEXT: [[S1:%.*]] = relay.annotation.stop_fusion [[C1]]
// CHECK-NEXT: [[T2:%.*]] = relay.tuple %b :
// CHECK-NEXT: [[C2:%.*]] = relay.concatenate [[T2]]
// CHECK-NEXT: [[S2:%.*]] = relay.annotation.stop_fusion [[C2]]
// CHECK-NEXT: [[T3:%.*]] = relay.tuple [[S0]], [[S1]] :
// CHECK-NEXT: [[C3:%.*]] = relay.concatenate [[T3]]
// CHECK-NEXT: [[S3:%.*]] = relay.annotation.stop_fusion [[C3]]
// CHECK-NEXT: [[T4:%.*]] = relay.tuple [[S2]] :
// CHECK-NEXT: [[C4:%.*]] = relay.concatenate [[T4]]
// CHECK-NEXT: [[S4:%.*]] = relay.annotation.stop_fusion [[C4]]
// CHECK-NEXT: [[T5:%.*]] = relay.tuple [[S3]], [[S4]] :
// CHECK-NEXT: [[C5:%.*]] = relay.concatenate [[T5]] {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: func.return [[C5]]
// KEEP-LABEL: func.func @levels
// KEEP-NEXT: relay.tuple %a, %b, %c, %a, %b :
// KEEP-NEXT: relay.concatenate
// KEEP-NEXT: func.return
// FEW: pass 'split-args': 'max-function-args' is 2, expected at least 3
func.func @levels(%a: tensor<2x1xf32>, %b: tensor<2x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x8xf32> {
  %0 = relay.tuple %a, %b, %c, %a, %b : (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tuple<tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>>
  %1 = relay.concatenate %0 {axis = -1 : i64} : (tuple<tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @keep_unknown_fields
// CHECK-NEXT: relay.concatenate %t
func.func @keep_unknown_fields(%t: tuple<tensor<1xf32>, tensor<1xf32>, tensor<1xf32>>) -> tensor<3xf32> {
  %0 = relay.concatenate %t : (tuple<tensor<1xf32>, tensor<1xf32>, tensor<1xf32>>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
