// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.conv2d:NHWC"}' %s 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.conv2:NHWC:default"}' %s 2>&1 | filecheck %s --check-prefix NAME
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.conv2d:NHWD:default"}' %s 2>&1 | filecheck %s --check-prefix AXES
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.conv2d:default:OIHW"}' %s 2>&1 | filecheck %s --check-prefix IMAGES
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.conv2d:NHCW:default"}' %s 2>&1 | filecheck %s --check-prefix WEIGHTS
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="vision.roi_pool:NHWC:NC"}' %s 2>&1 | filecheck %s --check-prefix REGIONS
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.conv2d:NHWC:default" skip=-1}' %s 2>&1 | filecheck %s --check-prefix SKIP
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.max_pool2d:NCHW2h"}' %s 2>&1 | filecheck %s --check-prefix SPLIT
// RUN: not xrelay-opt -p 'convert-layout{desired-layouts="nn.max_pool2d:NHWC","relay.nn.max_pool2d:NCHW"}' %s 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not xrelay-opt -p 'alter-op-layout{target=cuda}' %s 2>&1 | filecheck %s --check-prefix TARGET
// RUN: not xrelay-opt -p 'alter-op-layout{target=llvm lanes=0}' %s 2>&1 | filecheck %s --check-prefix LANES

// COUNT: 'desired-layouts' has 'nn.conv2d:NHWC', expected 2 of its layouts, as in 'nn.conv2d:NCHW:default'
// NAME: 'desired-layouts' has 'nn.conv2:NHWC:default', expected one of nn.avg_pool2d, {{.*}}, vision.roi_pool and its layouts
// AXES: 'desired-layouts' has 'nn.conv2d:NHWD:default', expected the axes of NCHW in the place of 'NHWD'
// IMAGES: 'desired-layouts' has 'nn.conv2d:default:OIHW', where 'layout' is "default", expected axes in upper case
// WEIGHTS: 'desired-layouts' has 'nn.conv2d:NHCW:default', 'default' is known for images in NCHW, NHWC, HWNC; state the layout of weights
// REGIONS: 'desired-layouts' has 'vision.roi_pool:NHWC:NC', expected 'default' in the place of 'NC'
// SKIP: 'skip' is -1, expected at least 0
// SPLIT: pass 'convert-layout': relay.nn.max_pool2d cannot become relay.nn.max_pool2d with 'layout' is "NCHW2h", which splits H; only C may be split
// TWICE: 'desired-layouts' has 'relay.nn.max_pool2d:NCHW', expected one entry for nn.max_pool2d, whose layouts are stated before
// TARGET: 'target' is 'cuda', known are cpu, llvm
// LANES: 'lanes' is 0, expected at least 1
func.func @main(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x5x5xf32> {
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x5x5xf32>
  return %0 : tensor<1x4x5x5xf32>
}
