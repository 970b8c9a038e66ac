/* rules_alloc.c - every allocation of every rule fails once: no crash, no leak, a message, and a
 * model that is sound, and changed as ever, where the rule could do without the memory. */
#include "support/alloc_fail.h"
#include "support/text_case.h"

typedef struct attempt {
    const text_case *c;
    /* what the first attempt makes, which has all memory */
    char *wanted;
} attempt;

static qdq_status optimize(void *ctx, qdq_error *err)
{
    attempt *a = ctx;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(a->c->before, "t", &m, err);

    opts.passes = a->c->arg;
    opts.verify_each = true;
    if (st == QDQ_OK)
        st = qdq_model_optimize(m, &opts, NULL, err);
    if (st == QDQ_OK) {
        char *text;

        test_let_allocs_be(true);
        assert_int_equal(qdq_model_to_text(m, &text, err), QDQ_OK);
        if (a->wanted == NULL)
            a->wanted = text;
        else {
            assert_string_equal(text, a->wanted);
            qdq_free(text);
        }
        test_let_allocs_be(false);
    }
    qdq_model_free(m);
    return st;
}

static void fail_every_alloc(void *ctx, const text_case *c)
{
    attempt a = {.c = c};

    (void)ctx;
    assert_true(test_every_alloc_fails(optimize, &a) > 1);
    qdq_free(a.wanted);
}

TEST(every_rule_survives_every_failure)
{
    text_each("numbers_stay_on_onnx_runtime.txt", fail_every_alloc, NULL);
}

/* It must not say instead that there is nothing to do. */
TEST(a_rule_that_lacks_memory_to_read_scales_fails)
{
    text_each("two_pairs_with_the_same_parameters_become_one.txt", fail_every_alloc, NULL);
    text_each("a_clip_goes_where_codes_end_at_its_bounds.txt", fail_every_alloc, NULL);
}
