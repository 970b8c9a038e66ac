/* products_setting.h - two products of the same data, "n", quantized for ONNX Runtime from samples
 * "x": for tests of what is done about channels that differ. */
#ifndef QDQ_PRODUCTS_SETTING_H
#define QDQ_PRODUCTS_SETTING_H

#include <math.h>

#include "base/random.h"
#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "qdq/goal.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/goals.h"
#include "support/npy_file.h"

enum { SAMPLES = 8, ROWS = 16, IN = 64, OUT = 48, VALUES = SAMPLES * ROWS * IN };

static qdq_error err;

/* `add_data` makes n of x. A Relu consumes it, too, if asked for. */
static test_goal set_up_products(const float x[VALUES], void (*add_data)(test_builder *b),
                                 bool other_reader)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 1, ROWS, IN);
    TEST_RANDOM(&b, "w", IN, OUT);
    TEST_RANDOM(&b, "v", IN, OUT);
    TEST_RANDOM(&b, "b", OUT);
    add_data(&b);
    TEST_NODE(&b, "MatMul", "p", "n", "w");
    TEST_NODE(&b, "Add", "y", "p", "b");
    TEST_NODE(&b, "MatMul", "z", "n", "v");
    if (other_reader) {
        TEST_NODE(&b, "Relu", "r", "n");
        test_output(&b, "r");
    }
    test_output(&b, "y");
    test_output(&b, "z");
    test_goal s = test_goal_begin_ort(
        test_built(&b), "ort-cpu",
        test_npy_file("x.npy", TEST_HEADER("<f4", "(8, 16, 64)"), x, VALUES * sizeof *x));
    assert_ok(qdq_target_set(s.target, "stay_float", "[]", &err));
    s.opts.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    return s;
}

/* Of the worst output, with the options as they are. */
static double quantized_db(test_goal *s)
{
    qdq_compare_result *r = NULL;

    assert_ok(qdq_quantize(s->m, s->target, s->engine, s->data, &s->opts, &s->plan, &s->out, &err));
    assert_ok(qdq_compare(s->engine, s->m, s->out, s->data, NULL, &r, &err));
    const double db = fmin(r->outputs[0].sqnr_db, r->outputs[1].sqnr_db);
    qdq_free(r);
    return db;
}

#endif /* QDQ_PRODUCTS_SETTING_H */
