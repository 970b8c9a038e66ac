/* tune_hyperedges.c - tensors between slot groups: who gives, who reads, and what is copied on the
 * way. */
#include "tune/mincut/hyperedges.h"

#include <math.h>

#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/test.h"

static qdq_error err;

typedef struct setting {
    qdq_model *m, *clean;
    qdq_target *target;
    qdq_plan *head;
    qdq_space *space;
    qdq_hyperedge_map hyperedges;
    qdq_arena arena;
} setting;

static setting find(qdq_model *m, const char *target)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    setting s = {.m = m, .head = qdq_plan_new()};

    assert_ok(qdq_target_load(target, &s.target, &err));
    assert_ok(qdq_quantize_begin(s.m, s.target, &opts, s.head, &s.clean, &err));
    assert_ok(qdq_space_new(s.clean, s.target, &opts, &s.space, &err));
    assert_ok(qdq_hyperedges_find(s.space, &s.arena, &s.hyperedges, &err));
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

    for (size_t t = 0; t < s->hyperedges.graph.n_hyperedges; t++) {
        const qdq_hyperedge *hyperedge = &s->hyperedges.graph.hyperedge[t];
        const char *from = hyperedge->from == QDQ_CUT_FLOAT
                               ? "-"
                               : s->space->group[hyperedge->from].node->out[0]->name;
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s>", t > 0 ? " " : "", from);
        for (size_t i = 0; i < hyperedge->n_to; i++)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i > 0 ? "," : "",
                                  hyperedge->to[i] == QDQ_CUT_FLOAT
                                      ? "-"
                                      : s->space->group[hyperedge->to[i]].node->out[0]->name);
        n += (size_t)snprintf(out + n, sizeof out - n, "[");
        for (size_t v = 0, first = 1; v < s->clean->graph->values.n; v++)
            if (s->hyperedges.of[v] == t) {
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

TEST(activations_and_copies_go_with_their_kernel)
{
    setting s = find(residual(), "ort-cpu");

    assert_string_equal(
        text(&s), "->c0[x] c0>c1,a[c0,r0] c1>-,c2[c1,r1] c2>a[c2] a>-[a,r2,p] ->c3[m] c3>-[c3]");
    assert_true(s.hyperedges.graph.n_bits == s.space->n_groups);
    assert_true(s.hyperedges.graph.hyperedge[0].bytes == 4 * 3 * 16 * 16);
    QDQ_FOR_NODES (n, s.clean->graph) {
        const bool goes_along = n->op == QDQ_OP_RELU || n->op == QDQ_OP_MAXPOOL;
        assert_true((s.hyperedges.within[n->id] != QDQ_NO_HYPEREDGE) == goes_along);
    }
    put_away(&s);
}

/* The main branch of a residual Add is inside of its convolution's kernel; the other is a group of
 * its own. */
TEST(a_partition_is_one_kernel)
{
    setting s = find(residual(), "tensorrt");

    assert_string_equal(text(&s),
                        "->c0[x] c0>c1,a[c0,r0] c1>-,c2[c1,r1] c2>c3[c2,a,r2,p,m] c3>-[c3]");
    put_away(&s);
}

TEST(a_bias_behind_a_product_goes_with_it)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 16);
    TEST_RANDOM(&b, "w1", 16, 16);
    TEST_RANDOM(&b, "b1", 16);
    TEST_RANDOM(&b, "w2", 16, 16);
    TEST_NODE(&b, "MatMul", "y1", "x", "w1");
    TEST_NODE(&b, "Add", "z1", "y1", "b1");
    TEST_NODE(&b, "MatMul", "y2", "z1", "w2");
    test_output(&b, "y2");
    setting s = find(test_built(&b), "ort-cpu"); /* whose products give floats */
    assert_string_equal(text(&s), "->y1[x] ->y2[y1,z1] ->-[y2]");
    put_away(&s);
}

/* A body reads what the main graph gives: nobody decides there. */
TEST(bodies_read_floats)
{
    qdq_model *m = test_graph(__func__);
    setting s = find(m, "ort-cpu");

    assert_string_equal(text(&s), "->t[x] ->-[c] t>u,-[t] u>-[u] ->-[y]");
    put_away(&s);
}

/* Some kernels give both: codes if somebody reads them. */
TEST(what_gives_both_gives_codes)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 16);
    TEST_RANDOM(&b, "w", 16, 16);
    TEST_NODE(&b, "MatMul", "y1", "x", "w");
    TEST_NODE(&b, "MatMul", "y2", "y1", "w");
    test_output(&b, "y2");
    setting s = find(test_built(&b), "openvino");
    assert_string_equal(text(&s), "->y1[x] y1>y2[y1] y2>-[y2]");
    put_away(&s);
}

/* --- profiles --------------------------------------------------------------------------------- */

/* Times in which each node took its number in us, and one conversion behind `c1` seven. */
static qdq_tune_times count_up(const setting *s, qdq_arena *arena)
{
    const size_t nodes = (size_t)s->clean->graph->next_node_id + 1,
                 values = s->clean->graph->values.n + 1;
    qdq_tune_times t = {.own = qdq_arena_array(arena, nodes, sizeof *t.own),
                        .rows = qdq_arena_array(arena, nodes, sizeof *t.rows),
                        .converted = qdq_arena_array(arena, values, sizeof *t.converted),
                        .conversions = qdq_arena_array(arena, values, sizeof *t.conversions)};
    double number = 0;

    QDQ_FOR_NODES (n, s->clean->graph) {
        t.own[n->id] = ++number;
        t.rows[n->id] = 1;
        t.sum += number;
        t.n_rows++;
        if (n->out[0] == qdq_graph_find(s->clean->graph, "c1")) {
            t.converted[n->out[0]->id] = 7;
            t.conversions[n->out[0]->id] = 1;
        }
    }
    t.sum += 7;
    t.n_rows++;
    return t;
}

static double sum_of(const qdq_mincut_time *t, size_t n, double *rows)
{
    double us = 0;

    for (size_t i = 0; i < n; i++) {
        us += t[i].us;
        *rows += t[i].rows;
    }
    return us;
}

TEST(each_row_of_a_profile_counts_once)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt", "openvino"};

    for (size_t k = 0; k < QDQ_COUNT(targets); k++) {
        setting s = find(residual(), targets[k]);
        const qdq_tune_times times = count_up(&s, &s.arena);
        qdq_mincut_profile p;
        double rows = 0;
        assert_ok(qdq_mincut_profile_new(&p, &s.hyperedges.graph, &s.arena, &err));
        qdq_tune_sum_costs(s.space, &s.hyperedges, &times, &p);
        const double us = sum_of(p.own, s.hyperedges.graph.n_bits, &rows) +
                          sum_of(p.hyperedge, s.hyperedges.graph.n_hyperedges, &rows) +
                          p.remainder.us;
        rows += p.remainder.rows;
        assert_true(fabs(us - times.sum) < 1e-9 && fabs(rows - times.n_rows) < 1e-9);
        assert_true(p.remainder.us >= 0 && p.remainder.us < times.sum / 2);
        put_away(&s);
    }
}

/* On ort-cpu: nodes 1 c0, 2 r0, 3 c1, 4 r1, 5 c2, 6 a, 7 r2, 8 p, 9 m, 10 c3. */
TEST(rows_go_to_whose_they_are)
{
    setting s = find(residual(), "ort-cpu");
    const qdq_tune_times times = count_up(&s, &s.arena);
    const qdq_value *v = qdq_graph_find(s.clean->graph, "c1");
    qdq_mincut_profile p;

    assert_ok(qdq_mincut_profile_new(&p, &s.hyperedges.graph, &s.arena, &err));
    qdq_tune_sum_costs(s.space, &s.hyperedges, &times, &p);
    assert_true(p.own[s.space->first_group[v->producer->id]].us == 3);
    const qdq_mincut_time *hyperedge = &p.hyperedge[s.hyperedges.of[v->id]];
    /* its Relu, were that a layer, and the conversion */
    assert_true(hyperedge->us == 4 + 7 && hyperedge->rows == 2);
    assert_true(p.remainder.us == 9); /* the Softmax, about which nobody decides */
    put_away(&s);
}
