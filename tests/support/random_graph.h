/* random_graph.h - seeded random models in the text form: images through convolutions, shape
 * arithmetic, constants to fold, things to merge, Q/DQ sprinkled in. For properties that must hold
 * whatever the graph. */
#ifndef QDQ_TEST_RANDOM_GRAPH_H
#define QDQ_TEST_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_random_opts {
    /* about so many */
    size_t nodes;
    /* with Q/DQ */
    bool quantized;
} test_random_opts;

/* The text; freed with free(). The graph has inputs x (float[N,4,6,6]) and v (float[N,8]), N free,
 * and up to eight outputs. The same seed gives the same graph. */
char *test_random_graph(uint64_t seed, test_random_opts opts);

#endif /* QDQ_TEST_RANDOM_GRAPH_H */
