/* blocks.h - convolutions and residual blocks: what tests of regions and of patterns look at. Nodes
 * are named after their only output. */
#ifndef QDQ_TEST_BLOCKS_H
#define QDQ_TEST_BLOCKS_H

#include "support/build.h"

/* Opset 17, the input x of 64 planes of 8x8. */
test_builder test_build_planes(void);

/* name = Conv(x, w), 3x3, padded; they share w. */
qdq_node *test_conv3(test_builder *b, const char *name, const char *x);

enum { TEST_RESIDUAL_BLOCKS = 3 };

/* stem and s, a Conv and its Relu; then blocks i = 1, 2, 3 of ai: Conv, bi: Relu, ci: Conv, di: Add
 * of ci and of what ai reads, ei: Relu. Those with bit i of `swapped` add the other way round. */
void test_residual_blocks(test_builder *b, unsigned swapped);

#endif /* QDQ_TEST_BLOCKS_H */
