/* build.c - see the header. */
#include "support/build.h"

#include "base/random.h"
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "support/test.h"

test_builder test_build(int opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    test_builder b = {qdq_model_new(), NULL, 1};

    assert_non_null(b.m);
    b.g = b.m->graph;
    b.m->ir_version = 8;
    assert_ok(qdq_model_set_opset_version(b.m, "", opset, &err));
    return b;
}

static int rank_of(const int64_t *dims)
{
    int rank = 0;

    while (dims[rank] != 0)
        rank++;
    return rank;
}

qdq_value *test_input(test_builder *b, const char *name, const int64_t *dims)
{
    qdq_value *v =
        qdq_graph_add_input(b->g, name, qdq_type_fixed(b->m, QDQ_FLOAT, rank_of(dims), dims));

    assert_non_null(v);
    return v;
}

qdq_value *test_random(test_builder *b, const char *name, const int64_t *dims)
{
    void *data;
    qdq_random random = qdq_random_new(b->seed++, NULL);
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, rank_of(dims), dims, &data);

    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        ((float *)data)[i] = (float)(2 * qdq_random_uniform(&random) - 1);
    qdq_value *v = qdq_graph_add_init(b->g, name, t);
    assert_non_null(v);
    return v;
}

qdq_value *test_ints(test_builder *b, const char *name, size_t n, const int64_t *ints)
{
    int64_t dim = (int64_t)n;
    qdq_value *v = qdq_graph_add_init(b->g, name, qdq_tensor_of_ints(b->m, 1, &dim, ints));

    assert_non_null(v);
    return v;
}

qdq_node *test_node(test_builder *b, const char *op, const char *name, const char *const *in)
{
    uint32_t n_in = 0;

    while (in[n_in] != NULL)
        n_in++;
    qdq_node *n = qdq_graph_add_node(b->g, NULL, "", op, name, n_in, 1, &name);
    assert_non_null(n);
    for (uint32_t i = 0; i < n_in; i++) {
        qdq_value *v = in[i][0] != '\0' ? qdq_graph_find(b->g, in[i]) : NULL;

        if (v == NULL && in[i][0] != '\0')
            fail_msg("node %s reads %s, which is not there yet", name, in[i]);
        qdq_node_set_in(n, i, v);
    }
    return n;
}

qdq_node *test_conv(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                    int64_t k, int64_t group)
{
    char w[64], bias[64];
    const int64_t pads[4] = {k / 2, k / 2, k / 2, k / 2}, kernel[2] = {k, k};

    snprintf(w, sizeof w, "%s.w", name);
    snprintf(bias, sizeof bias, "%s.b", name);
    TEST_RANDOM(b, w, out, in / group, k, k);
    TEST_RANDOM(b, bias, out);
    qdq_node *n = TEST_NODE(b, "Conv", name, x, w, bias);
    assert_true(qdq_node_set_ints(n, "kernel_shape", kernel, 2) &&
                qdq_node_set_ints(n, "pads", pads, 4) && qdq_node_set_int(n, "group", group));
    return n;
}

/* A constant of n equal numbers, or, n being 0, one number of rank 0. */
static const char *constant(test_builder *b, const char *base, const char *suffix, qdq_elem type,
                            int64_t n, double x)
{
    static char name[80];
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, type, n > 0 ? 1 : 0, &n, &data);

    snprintf(name, sizeof name, "%s%s", base, suffix);
    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        assert_true(qdq_elem_is_int(type) ? qdq_elem_put_int(type, data, i, (int64_t)x)
                                          : qdq_elem_put_float(type, data, i, x));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
    return name;
}

void test_q_or_dq(test_builder *b, const char *op, const char *name, const char *data,
                  qdq_elem type, float scale, int32_t zero_point)
{
    char s[80], z[80];

    snprintf(s, sizeof s, "%s", constant(b, name, ".s", QDQ_FLOAT, 0, (double)scale));
    snprintf(z, sizeof z, "%s", constant(b, name, ".z", type, 0, zero_point));
    TEST_NODE(b, op, name, data, s, z);
}

void test_qdq(test_builder *b, const char *x, qdq_elem type, float scale, int32_t zero_point)
{
    char q[80], dq[80];

    snprintf(q, sizeof q, "%s.q", x);
    snprintf(dq, sizeof dq, "%s.dq", x);
    test_q_or_dq(b, "QuantizeLinear", q, x, type, scale, zero_point);
    test_q_or_dq(b, "DequantizeLinear", dq, q, type, scale, zero_point);
}

qdq_node *test_codes(test_builder *b, const char *name, qdq_elem type, const int64_t *dims,
                     int axis, int32_t zero_point)
{
    char dq[80], s[80], z[80];
    int64_t n = axis < 0 ? 0 : dims[axis];
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, type, rank_of(dims), dims, &data);

    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        assert_true(qdq_elem_put_int(type, data, i, i % 7));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
    snprintf(dq, sizeof dq, "%s.dq", name);
    snprintf(s, sizeof s, "%s", constant(b, name, ".s", QDQ_FLOAT, n, 0.5));
    snprintf(z, sizeof z, "%s", constant(b, name, ".z", type, n, zero_point));
    qdq_node *node = TEST_NODE(b, "DequantizeLinear", dq, name, s, z);
    assert_true(axis < 0 || qdq_node_set_int(node, "axis", axis));
    return node;
}

qdq_node *test_conv8(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                     int64_t k)
{
    char w[64], bias[64];
    const int64_t pads[4] = {k / 2, k / 2, k / 2, k / 2}, kernel[2] = {k, k};

    snprintf(w, sizeof w, "%s.w", name);
    snprintf(bias, sizeof bias, "%s.b", name);
    TEST_CODES(b, w, QDQ_INT8, 0, out, in, k, k);
    TEST_CODES(b, bias, QDQ_INT32, 0, out);
    snprintf(w, sizeof w, "%s.w.dq", name);
    snprintf(bias, sizeof bias, "%s.b.dq", name);
    qdq_node *n = TEST_NODE(b, "Conv", name, x, w, bias);
    assert_true(qdq_node_set_ints(n, "kernel_shape", kernel, 2) &&
                qdq_node_set_ints(n, "pads", pads, 4));
    return n;
}

void test_output(test_builder *b, const char *name)
{
    assert_true(qdq_graph_add_output(b->g, qdq_graph_find(b->g, name)));
}

qdq_model *test_built(test_builder *b)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_shape_opts so = {.strict = true};

    assert_ok(qdq_model_infer(b->m, &so, &err));
    assert_ok(qdq_model_verify(b->m, &err));
    return b->m;
}
