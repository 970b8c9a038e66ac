/* place_speed.c - time to place Q/DQ in large graphs, on every kind of target: linear in nodes,
 * whatever the shape of the graph. What is promised, 0.3 s for 100,000 nodes, is measured here; the
 * limits leave room for a slow, shared machine and fall when something is no longer linear. */

#include "quant/place/place.h"
#include "ir/shape.h"
#include "support/build.h"
#include "support/test.h"

static qdq_error err;

/* --- graphs, grown node by node --------------------------------------------------------------- */

typedef struct grower {
    test_builder b;
    long nodes;
} grower;

static qdq_value *add(grower *g, const char *op, qdq_value *x, const char *second, qdq_value *y)
{
    const int64_t side[2] = {1, 1}, axes[4] = {0, 1, 2, 3}, pads[4] = {1, 1, 1, 1},
                  three[2] = {3, 3};
    char name[32];
    const char *out = name;

    snprintf(name, sizeof name, "n%ld", g->nodes++);
    uint32_t n_in = y != NULL || second != NULL ? 2 : 1;
    qdq_node *n = qdq_graph_add_node(g->b.g, NULL, "", op, name, n_in, 1, &out);
    assert_non_null(n);
    qdq_node_set_in(n, 0, x);
    if (n_in == 2)
        qdq_node_set_in(n, 1, y != NULL ? y : qdq_graph_find(g->b.g, second));
    if (strcmp(op, "Conv") == 0)
        assert_true(qdq_node_set_ints(n, "pads", pads, 4));
    if (strcmp(op, "MaxPool") == 0)
        assert_true(qdq_node_set_ints(n, "kernel_shape", three, 2) &&
                    qdq_node_set_ints(n, "pads", pads, 4) &&
                    qdq_node_set_ints(n, "strides", side, 2));
    if (strcmp(op, "Transpose") == 0)
        assert_true(qdq_node_set_ints(n, "perm", axes, 4));
    if (strcmp(op, "Concat") == 0)
        assert_true(qdq_node_set_int(n, "axis", 2));
    return n->out[0];
}

static qdq_value *block(grower *g, qdq_value *x, int kind)
{
    static const char *const ops[] = {"Relu", "Sigmoid", "Transpose", "MaxPool", "Tanh"};
    qdq_value *y = add(g, "Conv", x, "w", NULL);

    switch (kind) {
    case 0: /* residual */
        y = add(g, "Conv", add(g, "Relu", y, NULL, NULL), "w", NULL);
        return add(g, "Relu", add(g, "Add", y, NULL, x), NULL, NULL);
    case 1: /* a gate */
        return add(g, "Mul", y, NULL, add(g, "Sigmoid", y, NULL, NULL));
    case 2: /* an attention and what is around it */
        y = add(g, "MatMul", y, NULL, x);
        y = add(g, "MatMul", add(g, "Softmax", add(g, "Div", y, "s", NULL), NULL, NULL), NULL, x);
        return add(g, "Add", y, NULL, x);
    default:
        return add(g, ops[g->nodes % 5], y, NULL, NULL);
    }
}

/* Copies alone, then kernels: what is traced through them is as long as the graph. */
static qdq_value *copies(grower *g, qdq_value *x, long nodes)
{
    x = add(g, "Conv", x, "w", NULL);
    while (g->nodes < nodes)
        x = add(g, "Transpose", x, NULL, NULL);
    return x;
}

/* Adds that go back ever further: regions of residual branches lie inside of one another. */
static qdq_value *nested(grower *g, qdq_value *x, long nodes)
{
    qdq_value **stack = calloc((size_t)nodes, sizeof(qdq_value *));
    long n = 0;

    assert_non_null(stack);
    while (g->nodes < nodes / 2) {
        x = add(g, "Relu", add(g, "Conv", x, "w", NULL), NULL, NULL);
        stack[n++] = x;
    }
    while (n > 0)
        x = add(g, "Add", add(g, "Conv", x, "w", NULL), NULL, stack[--n]);
    free(stack);
    return x;
}

/* One value with as many readers as there are nodes, and one node that reads them all. */
static qdq_value *star(grower *g, qdq_value *x, long nodes)
{
    qdq_node *last = NULL;
    const char *out = "all";
    long n = nodes - 1;

    x = add(g, "Conv", x, "w", NULL);
    last = qdq_graph_add_node(g->b.g, NULL, "", "Concat", "all", (uint32_t)n, 1, &out);
    assert_non_null(last);
    assert_true(qdq_node_set_int(last, "axis", 1));
    for (long i = 0; i < n; i++)
        qdq_node_set_in(last, (uint32_t)i,
                        add(g, i % 3 == 0 ? "Conv" : "Relu", x, i % 3 == 0 ? "w" : NULL, NULL));
    return last->out[0];
}

static qdq_model *build(const char *kind, long nodes)
{
    grower g = {test_build(17), 0};

    qdq_value *x = TEST_INPUT(&g.b, "x", 1, 16, 16, 16);
    TEST_RANDOM(&g.b, "w", 16, 16, 3, 3);
    TEST_RANDOM(&g.b, "s", 1);
    if (strcmp(kind, "copies") == 0)
        x = copies(&g, x, nodes);
    else if (strcmp(kind, "nested") == 0)
        x = nested(&g, x, nodes);
    else if (strcmp(kind, "star") == 0)
        x = star(&g, x, nodes);
    else
        for (int i = 0; g.nodes < nodes; i++)
            x = block(&g, x, strcmp(kind, "residual") == 0 ? 0 : i % 4);
    qdq_value_set_type(x, NULL);
    assert_true(qdq_graph_add_output(g.b.g, x));
    assert_ok(qdq_model_infer(g.b.m, NULL, &err));
    return g.b.m;
}

static double place_time(const char *kind, const char *target, long nodes)
{
    qdq_model *m = build(kind, nodes);
    qdq_plan *plan = qdq_plan_new();
    qdq_target *t = NULL;

    assert_ok(qdq_target_load(target, &t, &err));
    double start = test_cpu_seconds();
    assert_ok(qdq_place(m, t, NULL, plan, &err));
    double seconds = test_cpu_seconds() - start;
    printf("%-8s %-8s %7ld nodes: %.3f s, %zu tensors\n", target, kind, nodes, seconds,
           plan->tensors.n);
    qdq_target_free(t);
    qdq_plan_free(plan);
    qdq_model_free(m);
    return seconds;
}

static void placement_is_linear(const char *target)
{
    static const char *const kinds[] = {"mixed", "residual", "nested", "copies", "star"};
    const bool is_bench = getenv("QDQ_BENCH") != NULL; /* `make bench` sets it */

    for (size_t i = 0; i < QDQ_COUNT(kinds); i++) {
        const double all = place_time(kinds[i], target, 100000);

        assert_true(all < 1.5);
        if (all <= 0.2 && !is_bench) /* fast enough, whatever half of it takes */
            continue;
        const double half = place_time(kinds[i], target, 50000);
        if (all > 0.2 && all > 5 * half)
            fail_msg("%s, %s: %.3f s for twice the nodes of %.3f s", target, kinds[i], all, half);
    }
}

TEST(on_tensorrt)
{
    placement_is_linear("tensorrt");
}

TEST(on_ort_cpu)
{
    placement_is_linear("ort-cpu");
}
