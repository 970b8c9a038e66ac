/* rules_alloc.c - every allocation of every rule fails once: no crash, no leak, a message, and a
 * model that is sound where the rule could do without the memory. */
#include "support/alloc_fail.h"
#include "support/text_case.h"

static qdq_status optimize(void *ctx, qdq_error *err)
{
    const text_case *c = ctx;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(c->before, "t", &m, err);

    opts.passes = c->arg;
    opts.verify_each = true;
    if (st == QDQ_OK)
        st = qdq_model_optimize(m, &opts, NULL, err);
    qdq_model_free(m);
    return st;
}

static void fail_every_alloc(void *ctx, const text_case *c)
{
    text_case copy = *c;

    (void)ctx;
    assert_true(test_every_alloc_fails(optimize, &copy) > 1);
}

TEST(every_rule_survives_every_failure)
{
    text_each("numbers_stay_on_onnx_runtime.txt", fail_every_alloc, NULL);
}
