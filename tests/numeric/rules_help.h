/* rules_help.h - what the tests of rewrite rules against ONNX Runtime share: what a rule makes of a
 * model gives the numbers that the model gave. Both run with the same random input, without the
 * engine's own optimizations. Tolerance: 1e-5 of the output's range, 2e-3 in half precision; exact
 * for integers. */
#ifndef QDQ_TEST_RULES_HELP_H
#define QDQ_TEST_RULES_HELP_H

#include <math.h>

#include "ir/ir.h"
#include "numeric/ort_help.h"
#include "support/text_case.h"

/* Elements as numbers, where the type has some that are compared with a tolerance. */
static inline double element(const qdq_array *a, const unsigned char *data, int64_t i)
{
    return (double)qdq_elem_float(a->elem, data, i);
}

static inline void assert_same_numbers(const text_case *c, const kept *a, const kept *b)
{
    const qdq_array *last = &a->last;
    double range = 0, worst = 0, tolerance = last->elem == QDQ_FLOAT16 ? 2e-3 : 1e-5;

    assert_string_equal(a->names, b->names);
    assert_int_equal(a->size, b->size);
    assert_int_equal(last->elem, b->last.elem);
    assert_int_equal(last->rank, b->last.rank);
    assert_memory_equal(last->dim, b->last.dim, (size_t)last->rank * sizeof *last->dim);
    if (memcmp(a->bytes, b->bytes, a->size) == 0)
        return;
    if (!qdq_elem_is_float(last->elem))
        fail_msg("%s on %s: another result", c->arg, c->before);
    /* all outputs of such a model have one type */
    for (int64_t i = 0; i < (int64_t)(a->size * 8 / qdq_elem_bits(last->elem)); i++) {
        range = fmax(range, fabs(element(last, a->bytes, i)));
        worst = fmax(worst, fabs(element(last, a->bytes, i) - element(last, b->bytes, i)));
    }
    if (!(worst <= tolerance * range))
        fail_msg("%s on %s: off by %g in a range of %g", c->arg, c->before, worst, range);
}

/* The rule must change the model. */
static inline void assert_rewrite_keeps_numbers(void *ctx, const text_case *c)
{
    qdq_engine *e = ctx;
    static kept before, after;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts run = QDQ_SESSION_OPTS_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r = NULL;
    qdq_model *m = test_model(c->before);

    run.level = QDQ_LEVEL_NONE;
    run_model(e, m, &run, &before);
    opts.passes = c->arg;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    if (r->changes == 0)
        fail_msg("%s changes nothing in %s", c->arg, c->before);
    run_model(e, m, &run, &after);
    assert_same_numbers(c, &before, &after);
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

#endif /* QDQ_TEST_RULES_HELP_H */
