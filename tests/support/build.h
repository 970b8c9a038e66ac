/* build.h - graphs for tests, made in code: weights are seeded random numbers, so that no test
 * writes them out. Every node is named after its only output. */
#ifndef QDQ_TEST_BUILD_H
#define QDQ_TEST_BUILD_H

#include "ir/edit.h"

typedef struct test_builder {
    qdq_model *m;
    qdq_graph *g;
    uint64_t seed;
} test_builder;

/* An empty model, IR 8, default domain of this opset. */
test_builder test_build(int opset);

/* A float input; dims end with 0. */
qdq_value *test_input(test_builder *b, const char *name, const int64_t *dims);
#define TEST_INPUT(b, name, ...) test_input((b), (name), (const int64_t[]){__VA_ARGS__, 0})

/* A float initializer of random numbers in -1..1; dims end with 0. */
qdq_value *test_random(test_builder *b, const char *name, const int64_t *dims);
#define TEST_RANDOM(b, name, ...) test_random((b), (name), (const int64_t[]){__VA_ARGS__, 0})

/* An int64 initializer of rank 1. */
qdq_value *test_ints(test_builder *b, const char *name, size_t n, const int64_t *ints);
#define TEST_INTS(b, name, ...)                                                                    \
    test_ints((b), (name), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),               \
              (const int64_t[]){__VA_ARGS__})

/* name = op(in...), values by name ("" leaves one out). */
qdq_node *test_node(test_builder *b, const char *op, const char *name, const char *const *in);
#define TEST_NODE(b, op, name, ...)                                                                \
    test_node((b), (op), (name), (const char *const[]){__VA_ARGS__, NULL})

/* name = Conv(x, name.w [out, in / group, k, k], name.b), padded to keep the plane. */
qdq_node *test_conv(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                    int64_t k, int64_t group);

/* QuantizeLinear <x>.q and DequantizeLinear <x>.dq behind the value x, with one scale. */
void test_qdq(test_builder *b, const char *x, qdq_elem type, float scale, int32_t zero_point);
/* One of the two, named after its output: (data, scale, zero point). */
void test_q_or_dq(test_builder *b, const char *op, const char *name, const char *data,
                  qdq_elem type, float scale, int32_t zero_point);

/* name = Conv(x, w, b) as test_conv makes it, with int8 codes behind <name>.w.dq, a scale per
 * output channel, and int32 codes behind <name>.b.dq. */
qdq_node *test_conv8(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                     int64_t k);

/* Codes of `type` behind DequantizeLinear <name>.dq with n scales along `axis` (-1: one scale).
 * dims end with 0. */
qdq_node *test_codes(test_builder *b, const char *name, qdq_elem type, const int64_t *dims,
                     int axis, int32_t zero_point);
#define TEST_CODES(b, name, type, axis, ...)                                                       \
    test_codes((b), (name), (type), (const int64_t[]){__VA_ARGS__, 0}, (axis), 0)

void test_output(test_builder *b, const char *name);

/* Infers shapes and verifies. */
qdq_model *test_built(test_builder *b);

#endif /* QDQ_TEST_BUILD_H */
