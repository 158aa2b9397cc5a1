// RUN: xrelay explain %s --strategies --target x86-64-v4 | filecheck %s --check-prefix CHOICE
// RUN: xrelay explain %s --strategies --target x86-64-v4 --no-winograd | filecheck %s --check-prefix EXCLUDED
// RUN: xrelay explain %s --memory --target x86-64-v4 --json %t.json | filecheck %s --check-prefix MEMORY
// RUN: filecheck %s --check-prefix JSON < %t.json
// RUN: xrelay explain %s --operators --no-simplify --json %t.json | filecheck %s --check-prefix OPERATORS
// RUN: filecheck %s --check-prefix COUNTS < %t.json
// RUN: not xrelay explain %s --json %t.json 2>&1 | filecheck %s --check-prefix REFUSED

func.func @main(%x: tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32> {
  %w = relay.constant dense<0.125> : tensor<16x16x3x3xf32>
  %v = relay.constant dense<0.125> : tensor<16x32x1x1xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x16x16xf32>
  %1 = relay.nn.max_pool2d %x {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %2 = relay.tuple %0, %1 : (tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>) -> tuple<tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>>
  %3 = relay.concatenate %2 {axis = 1 : i64} : (tuple<tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>>) -> tensor<1x32x16x16xf32>
  %4 = relay.nn.conv2d %3, %v : (tensor<1x32x16x16xf32>, tensor<16x32x1x1xf32>) -> tensor<1x16x16x16xf32>
  func.return %4 : tensor<1x16x16x16xf32>
}

// The estimates of a level decide, and every other way has its reason.
// CHOICE:      kernel{{.*}}uses{{.*}}operator{{.*}}implementation{{.*}}level{{.*}}estimated µs{{.*}}measured µs{{.*}}why
// CHOICE:      nn.conv2d
// CHOICE-SAME: → winograd-{{[24]}}{{.*}}lowest estimate
// CHOICE:        blocked {{.*}} × the estimate
// CHOICE:        direct {{.*}}cannot: images in blocks
// CHOICE:        depthwise {{.*}}cannot: not depthwise
// CHOICE:      nn.max_pool2d
// CHOICE-SAME: → windows {{.*}}the only one that can
// CHOICE:      {{[0-9]+}} steps: {{[0-9]+}} kernels with implementations to choose from

// EXCLUDED: → blocked {{.*}}the only one that can
// EXCLUDED:   winograd-2 {{.*}}cannot: excluded by an option

// Both fields are computed where the concatenation has them: there is no such step.
// MEMORY:     workspace
// MEMORY:     in use at once, at most
// MEMORY:     constants
// MEMORY-NOT: concatenate
// MEMORY:     tensor<1x2x16x16x16xf32>{{.*}}own
// MEMORY-NOT: concatenate
// MEMORY:     tensor<1x1x16x16x16xf32>{{.*}}part, {{[0-9,]+}} bytes in
// MEMORY:     tensor<1x1x16x16x16xf32>{{.*}}part, {{[0-9,]+}} bytes in
// MEMORY-NOT: concatenate
// MEMORY:     steps from left to right

// JSON: "workspace": {{[0-9]+}}
// JSON: "relation": "part"

// REFUSED: xrelay explain: error: --json goes with --strategies, --memory, --operators or --types

// OPERATORS:      operator{{.*}}calls{{.*}}multiply-adds{{.*}}share
// OPERATORS:      nn.conv2d {{.*}}2{{.*}}720,896{{.*}}100.0 %
// OPERATORS-NEXT: nn.max_pool2d {{.*}}1{{.*}}0
// OPERATORS-NEXT: concatenate {{.*}}1{{.*}}0
// OPERATORS:      3 operators in 4 calls, 720,896 multiply-adds

// COUNTS:      "multiply_adds": 720896
// COUNTS:      "operator": "nn.conv2d"
// COUNTS-NEXT: "calls": 2
// COUNTS-NEXT: "fake_quantized": 0
