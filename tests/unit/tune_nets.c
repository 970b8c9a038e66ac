/* tune_nets.c - tensors between slot groups: who gives, who reads, and what is copied on the way. */
#include "tune/space/nets.h"

#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/test.h"

static qdq_error err;

typedef struct setting {
    qdq_model *m, *clean;
    qdq_target *target;
    qdq_plan *head;
    qdq_space *space;
    qdq_nets nets;
    qdq_arena arena;
} setting;

static setting find(qdq_model *m, const char *target)
{
    const qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    setting s = {.m = m, .head = qdq_plan_new()};

    assert_ok(qdq_target_load(target, &s.target, &err));
    assert_ok(qdq_quantize_begin(s.m, s.target, &opts, s.head, &s.clean, &err));
    assert_ok(qdq_space_new(s.clean, s.target, &opts, &s.space, &err));
    assert_ok(qdq_nets_find(s.space, &s.arena, &s.nets, &err));
    return s;
}

static void put_away(setting *s)
{
    qdq_space_free(s->space);
    qdq_plan_free(s->head);
    qdq_arena_free(&s->arena);
    qdq_model_free(s->clean);
    qdq_target_free(s->target);
    qdq_model_free(s->m);
}

/* Producer>readers of each tensor by the names of nodes, values in brackets; "-" is float. */
static const char *text(const setting *s)
{
    static char out[2000];
    size_t n = 0;

    for (size_t t = 0; t < s->nets.graph.n_nets; t++) {
        const qdq_cut_net *net = &s->nets.graph.net[t];
        const char *from = net->from == QDQ_CUT_FLOAT ? "-" : s->space->group[net->from].node->out[0]->name;
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s>", t > 0 ? " " : "", from);
        for (size_t i = 0; i < net->n_to; i++)
            n += (size_t)snprintf(
                out + n, sizeof out - n, "%s%s", i > 0 ? "," : "",
                net->to[i] == QDQ_CUT_FLOAT ? "-" : s->space->group[net->to[i]].node->out[0]->name);
        n += (size_t)snprintf(out + n, sizeof out - n, "[");
        for (size_t v = 0, first = 1; v < s->clean->graph->values.n; v++)
            if (s->nets.of[v] == t) {
                n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", first ? "" : ",",
                                      s->clean->graph->values.at[v]->name);
                first = 0;
            }
        n += (size_t)snprintf(out + n, sizeof out - n, "]");
    }
    return out;
}

/* A residual block whose first activation is an output, too; a softmax, which stays float. */
static qdq_model *residual(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 16, 16);
    test_conv(&b, "c0", "x", 16, 3, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "r0");
    TEST_NODE(&b, "Relu", "r2", "a");
    qdq_node *pool = TEST_NODE(&b, "MaxPool", "p", "r2");
    assert_true(qdq_node_set_ints(pool, "kernel_shape", (const int64_t[]){2, 2}, 2) &&
                qdq_node_set_ints(pool, "strides", (const int64_t[]){2, 2}, 2));
    TEST_NODE(&b, "Softmax", "m", "p");
    test_conv(&b, "c3", "m", 32, 16, 1, 1);
    test_output(&b, "c3");
    test_output(&b, "r1");
    return test_built(&b);
}

static void activations_and_copies_go_with_their_kernel(void **state)
{
    setting s = find(residual(), "ort-cpu");

    (void)state;
    assert_string_equal(text(&s),
                        "->c0[x] c0>c1,a[c0,r0] c1>-,c2[c1,r1] c2>a[c2] a>-[a,r2,p] ->c3[m] c3>-[c3]");
    assert_true(s.nets.graph.n_bits == s.space->n_groups);
    assert_true(s.nets.graph.net[0].bytes == 4 * 3 * 16 * 16);
    QDQ_FOR_NODES (n, s.clean->graph) {
        const bool goes_along = n->op == QDQ_OP_RELU || n->op == QDQ_OP_MAXPOOL;
        assert_true((s.nets.within[n->id] != QDQ_NO_NET) == goes_along);
    }
    put_away(&s);
}

/* The main branch of a residual Add is inside of its convolution's kernel; the other is a group of its own. */
static void a_partition_is_one_kernel(void **state)
{
    setting s = find(residual(), "tensorrt");

    (void)state;
    assert_string_equal(text(&s), "->c0[x] c0>c1,a[c0,r0] c1>-,c2[c1,r1] c2>c3[c2,a,r2,p,m] c3>-[c3]");
    put_away(&s);
}

static void a_bias_behind_a_product_goes_with_it(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 2, 4, 16);
    TEST_RANDOM(&b, "w1", 16, 16);
    TEST_RANDOM(&b, "b1", 16);
    TEST_RANDOM(&b, "w2", 16, 16);
    TEST_NODE(&b, "MatMul", "y1", "x", "w1");
    TEST_NODE(&b, "Add", "z1", "y1", "b1");
    TEST_NODE(&b, "MatMul", "y2", "z1", "w2");
    test_output(&b, "y2");
    setting s = find(test_built(&b), "ort-cpu");
    assert_string_equal(text(&s), "->y1[x] y1>y2[y1,z1] y2>-[y2]");
    put_away(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_and_copies_go_with_their_kernel),
        cmocka_unit_test(a_partition_is_one_kernel),
        cmocka_unit_test(a_bias_behind_a_product_goes_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
