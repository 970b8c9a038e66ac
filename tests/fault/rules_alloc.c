/* rules_alloc.c - every allocation of every rule fails once: no crash, no leak, a message, and a
 * model that is sound where the rule could do without the memory. */
#include "support/alloc_fail.h"
#include "support/rule_cases.h"

static qdq_status optimize(void *ctx, qdq_error *err)
{
    const rule_case *c = ctx;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = NULL;
    char text[2000];

    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : %d]>\n%s", c->opset,
             c->graph);
    qdq_status st = qdq_model_from_text(text, "t", &m, err);

    opts.passes = c->rule;
    opts.verify_each = true;
    if (st == QDQ_OK)
        st = qdq_model_optimize(m, &opts, NULL, err);
    qdq_model_free(m);
    return st;
}

static void every_rule_survives_every_failure(void **state)
{
    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(rule_cases); i++) {
        rule_case c = rule_cases[i];

        assert_true(test_every_alloc_fails(optimize, &c) > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_survives_every_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
