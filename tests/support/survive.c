/* survive.c - see the header. */
#include "support/survive.h"

#include "support/signature.h"
#include "support/test.h"

qdq_optimize_report *test_optimize_twice(qdq_model *m, const char *name, const char *passes,
                                         const qdq_target *t)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *first = NULL, *second = NULL;
    qdq_error err = QDQ_ERROR_INIT;

    opts.passes = passes;
    opts.target = t;
    opts.verify_each = true;
    if (qdq_model_optimize(m, &opts, &first, &err) != QDQ_OK)
        fail_msg("%s, %s: %s", name, passes, err.text);
    assert_true(first->settled);
    assert_ok(qdq_model_optimize(m, &opts, &second, &err));
    for (size_t i = 0; i < second->n_passes; i++)
        if (second->passes[i].changes > 0)
            fail_msg("%s, %s: a second run changes something: %s", name, passes,
                     second->passes[i].pass);
    qdq_optimize_report_free(second);
    return first;
}

void test_survives(const qdq_model *m, const char *name, const char *passes, const qdq_target *t)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *copy;
    char *before = test_signature(m), *after;

    assert_ok(qdq_model_clone(m, &copy, &err));
    qdq_optimize_report_free(test_optimize_twice(copy, name, passes, t));
    after = test_signature(copy);
    if (strcmp(passes, "freeze-inputs") != 0 && !test_same_signature(before, after))
        fail_msg("%s, %s: found\n%sexpected\n%s", name, passes, after, before);
    qdq_free(before);
    qdq_free(after);
    qdq_model_free(copy);
}

void test_survives_all(const qdq_model *m, const char *name)
{
    const char *pass;

    test_survives(m, name, "default", NULL);
    for (size_t i = 0; qdq_target_name(i, NULL) != NULL; i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_target *t;

        assert_ok(qdq_target_load(qdq_target_name(i, NULL), &t, &err));
        test_survives(m, name, "default", t);
        test_survives(m, name, "quantize", t);
        qdq_target_free(t);
    }
    for (size_t i = 0; (pass = qdq_pass_name(i, NULL)) != NULL; i++)
        test_survives(m, name, pass, NULL);
}
