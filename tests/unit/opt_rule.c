/* opt_rule.c - the driver of rewrite rules: that it ends, and what it costs. When and how rules
 * change a graph is in text/rules. */
#include "ir/graph_check.h"
#include "support/ruled.h"

static int n_checked;

static const char *never(const qdq_match *m)
{
    (void)m;
    n_checked++;
    return "never";
}

static const char *count(const qdq_match *m)
{
    (void)m;
    n_checked++;
    return NULL;
}

static qdq_status to_abs(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Abs", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

static qdq_status to_neg(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Neg", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

TEST(two_rules_that_undo_each_other_end)
{
    static const qdq_pat neg_pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};
    static const qdq_rule neg = RULE_OF(neg_pat, NULL, to_abs),
                          abs = RULE_OF(abs_pat, NULL, to_neg);
    static const qdq_rule *const rules[] = {&neg, &abs};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { y = Neg(x) }");
    test_ruled r;

    test_run_rules(m, rules, 2, 0, &r);
    assert_true(r.state.changes > 1 && r.state.changes <= 40);
    test_free_ruled(&r);
    qdq_model_free(m);
}

/* --- cost ------------------------------------------------------------------------------------- */

/* n nodes that all read x: y_i = Neg(x), and z_i = Neg(y_i). */
static qdq_model *wide_model(int n)
{
    qdq_error err = QDQ_ERROR_INIT;
    size_t size = (size_t)n * 90 + 200, used;
    char *text = malloc(size);
    qdq_model *m = NULL;

    assert_non_null(text);
    used = (size_t)snprintf(text, size, "g (float[1] i) => (float[1] z0) {\n  x = Relu(i)\n");
    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(text + used, size - used,
                             "  y%d = Neg(x)\n  z%d = Neg(y%d)\n  a%d = Abs(z%d)\n", i, i, i, i, i);
    snprintf(text + used, size - used, "}\n");
    assert_ok(qdq_model_from_text(text, "wide", &m, &err));
    free(text);
    return m;
}

TEST(a_value_with_many_readers_costs_each_of_them_once)
{
    qdq_rule counted = test_two_negs;
    static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};
    static const qdq_rule abs = RULE_OF(abs_pat, never, test_become_x);
    const qdq_rule *const rules[] = {&counted, &abs};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = wide_model(20000);
    test_ruled r;

    for (qdq_node *n = m->graph->end.next; n != &m->graph->end; n = n->next)
        if (n->op == QDQ_OP_ABS) /* so that they are read */
            assert_true(qdq_graph_add_output(m->graph, n->out[0]));
    n_checked = 0;
    counted.check = count;
    test_run_rules(m, rules, 2, 0, &r);
    assert_int_equal(r.state.changes, 20000);
    assert_in_range(n_checked, 40000, 20000 * 6);
    test_free_ruled(&r);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

TEST(long_chains_are_no_trap)
{
    enum { N = 5000 };
    static const qdq_rule *const rules[] = {&test_two_negs};
    char *text = malloc(N * 30 + 200);
    size_t used;
    test_ruled r;

    assert_non_null(text);
    used = (size_t)sprintf(text, "g (float[1] x) => (float[1] y) {\n  t0 = Neg(x)\n");
    for (int i = 1; i < N; i++)
        used += (size_t)sprintf(text + used, "  t%d = Neg(t%d)\n", i, i - 1);
    sprintf(text + used, "  y = Exp(t%d)\n}\n", N - 1);
    qdq_model *m = test_model(text);
    free(text);
    test_run_rules(m, rules, 1, 0, &r);
    assert_int_equal(m->graph->n_node, 1);
    test_free_ruled(&r);
    qdq_model_free(m);
}
