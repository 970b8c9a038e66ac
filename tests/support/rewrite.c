/* rewrite.c - see the header. */
#include "support/rewrite.h"

static qdq_optimize_report *run(qdq_model *m, const char *pipeline)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;

    opts.passes = pipeline;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &report, &err));
    return report;
}

static char *text_of(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_model_to_text(m, &text, &err));
    return text;
}

static void assert_refusal(const qdq_optimize_report *r, const char *reason)
{
    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; k < r->passes[i].n_refusals; k++)
            if (strstr(r->passes[i].refusals[k].reason, reason) != NULL) {
                assert_true(r->passes[i].refusals[k].n > 0 &&
                            r->passes[i].refusals[k].n_examples > 0);
                return;
            }
    fail_msg("nothing was refused because '%s'", reason);
}

void assert_becomes(const char *pipeline, const char *before, const char *after)
{
    qdq_model *m = test_model(before), *want = test_model(after);
    /* the canonical text: expectations do not depend on the printer's spelling */
    char *text = text_of(want);

    for (int i = 0; i < 2; i++) {
        qdq_optimize_report *r = run(m, pipeline);

        test_assert_text(m, text);
        assert_true(r->settled && (i == 0 || r->changes == 0));
        qdq_optimize_report_free(r);
    }
    qdq_free(text);
    qdq_model_free(m);
    qdq_model_free(want);
}

void assert_kept(const char *pipeline, const char *text)
{
    assert_becomes(pipeline, text, text);
}

void assert_refused(const char *pipeline, const char *text, const char *reason)
{
    qdq_model *m = test_model(text);
    char *want = text_of(m);
    qdq_optimize_report *r = run(m, pipeline);

    test_assert_text(m, want);
    assert_int_equal(r->changes, 0);
    assert_refusal(r, reason);
    qdq_optimize_report_free(r);
    qdq_free(want);
    qdq_model_free(m);
}
