/* layers.h - layers of an engine as tests write them: one line each, "+" between nodes, then what
 * is said of them. */
#ifndef QDQ_TEST_LAYERS_H
#define QDQ_TEST_LAYERS_H

#include "tune/group/fusions.h"

enum { TEST_MAX_LAYERS = 64 };

typedef struct test_layers {
    qdq_layer at[TEST_MAX_LAYERS];
    size_t n;
    qdq_arena arena;
} test_layers;

/* "Conv a+b 12", "Conv a+b", "Slice c slice 3", "Reorder a conversion 1", "Myelin - 5": kernel,
 * labels of nodes, how they were found, microseconds. The layer is called after its first node. */
test_layers test_layers_of(const char *const *lines);
#define TEST_LAYERS(...) test_layers_of((const char *const[]){__VA_ARGS__, NULL})
void test_layers_free(test_layers *l);

/* "a b | c d e": groups by the labels of their nodes; static storage. */
const char *test_fusions_text(const qdq_fusions *f);

/* Is this node of a group, or next to it, in the model that was cut out for the group? */
bool test_is_in_part(const qdq_fusions *f, const qdq_model *part, const qdq_node *n);

/* Every node in one group, all groups convex (by brute force), boundaries of numbers right. */
void test_fusions_sound(const qdq_fusions *f);

#endif /* QDQ_TEST_LAYERS_H */
