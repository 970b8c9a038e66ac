/* folded.c - see the header. */
#include "support/folded.h"

#include "ir/edit.h"
#include "support/build.h"

qdq_model *test_folded(const char *text, qdq_optimize_opts opts, qdq_optimize_report **report)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    if (opts.passes == NULL)
        opts.passes = TEST_FOLD_PASSES;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, report, &err));
    return m;
}

void test_folds_to_with(const char *text, const char *expected, qdq_optimize_opts opts)
{
    qdq_model *m = test_folded(text, opts, NULL);
    qdq_error err = QDQ_ERROR_INIT;

    test_assert_text(m, expected);
    opts.passes = TEST_FOLD_PASSES;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    test_assert_text(m, expected);
    qdq_model_free(m);
}

void test_folds_to(const char *text, const char *expected)
{
    test_folds_to_with(text, expected, (qdq_optimize_opts)QDQ_OPTIMIZE_OPTS_INIT);
}

size_t test_count_op(const qdq_model *m, qdq_op op)
{
    size_t n = 0;

    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (node, g)
            n += node->op == op;
    return n;
}

void test_fold_refused(const char *text, qdq_optimize_opts opts, const char *reason)
{
    qdq_optimize_report *r;
    qdq_model *m = test_folded(text, opts, &r);
    const qdq_pass_report *p = NULL;

    for (size_t i = 0; i < r->n_passes; i++)
        if (strcmp(r->passes[i].pass, "fold-constants") == 0)
            p = &r->passes[i];
    assert_non_null(p);
    assert_int_equal(p->n_refusals, 1);
    if (strstr(p->refusals[0].reason, reason) == NULL)
        fail_msg("refused for '%s', expected '%s'", p->refusals[0].reason, reason);
    assert_true(p->refusals[0].n_examples > 0 && p->refusals[0].examples[0][0] != '\0');
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}
