/* ruled.c - one walk of rewrite rules over a model. */
#include "support/ruled.h"

#include "ir/graph_check.h"

qdq_status test_become_x(qdq_match *m, qdq_error *err)
{
    return qdq_match_become(m, qdq_match_value(m, "x"), err);
}

qdq_status test_mark(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Identity", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

static const qdq_pat two_negs_pat[] = {
    {"y", QDQ_OP_NEG, {"t"}, 0},
    {"t", QDQ_OP_NEG, {"x"}, 0},
};
const qdq_rule test_two_negs = RULE_OF(two_negs_pat, NULL, test_become_x);

static const qdq_pat only_relu_pat[] = {
    {"y", QDQ_OP_RELU, {"t"}, 0},
    {"t", QDQ_OP_ABS, {"x"}, QDQ_PAT_ONLY},
};
const qdq_rule test_only_relu = RULE_OF(only_relu_pat, NULL, test_become_x);

static void record_line(void *ctx, uint64_t number, const char *pass, const char *where)
{
    test_ruled *c = ctx;

    assert_int_equal(number, c->n + 1);
    c->n = number;
    snprintf(c->where + strlen(c->where), sizeof c->where - strlen(c->where), "%s %s;", pass,
             where);
}

void test_run_rules(qdq_model *m, const qdq_rule *const *rules, size_t n, uint64_t limit,
                    test_ruled *out)
{
    static const qdq_pass_info names[TEST_RULES] = {
        {.name = "first"}, {.name = "second"}, {.name = "third"}, {.name = "fourth"}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_opt o = {.opts = &opts, .model = m, .arg = "", .state = &out->state};

    memset(out, 0, sizeof *out);
    opts.max_applications = limit;
    opts.on_change = record_line;
    opts.ctx = out;
    for (size_t i = 0; i < n; i++)
        out->state.pipeline.step[out->state.pipeline.n++] = (qdq_step){&names[i], ""};
    assert_ok(qdq_opt_begin(&o, &err));
    qdq_opt_enter(&o, 0);
    QDQ_FOR_GRAPHS (g, m)
        assert_ok(qdq_rules_run(&o, rules, n, g, &err));
    assert_int_equal(out->state.current, 0);
    qdq_opt_close_facts(&o);
    qdq_arena_free(&o.scratch);
    assert_ok(qdq_model_verify(m, &err));
}

void test_free_ruled(test_ruled *r)
{
    qdq_arena_free(&r->state.memory);
}
