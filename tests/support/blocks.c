/* blocks.c - see the header. */
#include "support/blocks.h"

#include "support/test.h"

test_builder test_build_planes(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 64, 8, 8);
    return b;
}

qdq_node *test_conv3(test_builder *b, const char *name, const char *x)
{
    static const int64_t three[2] = {3, 3}, ones[4] = {1, 1, 1, 1};

    if (qdq_graph_find(b->g, "w") == NULL)
        TEST_RANDOM(b, "w", 64, 64, 3, 3);
    qdq_node *n = TEST_NODE(b, "Conv", name, x, "w");
    assert_true(qdq_node_set_ints(n, "kernel_shape", three, 2) &&
                qdq_node_set_ints(n, "pads", ones, 4));
    return n;
}

void test_residual_blocks(test_builder *b, unsigned swapped)
{
    char from[16] = "s";

    test_conv3(b, "stem", "x");
    TEST_NODE(b, "Relu", "s", "stem");
    for (int i = 1; i <= TEST_RESIDUAL_BLOCKS; i++) {
        const bool swap = (swapped >> i & 1) != 0;
        char n[5][16];

        for (int k = 0; k < 5; k++)
            snprintf(n[k], sizeof n[k], "%c%d", 'a' + k, i);
        test_conv3(b, n[0], from);
        TEST_NODE(b, "Relu", n[1], n[0]);
        test_conv3(b, n[2], n[1]);
        TEST_NODE(b, "Add", n[3], swap ? from : n[2], swap ? n[2] : from);
        TEST_NODE(b, "Relu", n[4], n[3]);
        memcpy(from, n[4], sizeof from);
    }
}
