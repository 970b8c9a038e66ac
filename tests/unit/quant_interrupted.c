/* quant_interrupted.c - calls over the weights of a model end at every look at the cancel flag, and
 * leave nothing behind. */
#include <stdatomic.h>

#include "quant/plan/fingerprint.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/test.h"

/* --- a flag that is set after so many looks at it --------------------------------------------- */

static atomic_int looks_left;

bool __wrap_qdq_cancel_is_set(const qdq_cancel *c);

bool __wrap_qdq_cancel_is_set(const qdq_cancel *c)
{
    return c != NULL && atomic_fetch_sub(&looks_left, 1) <= 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

typedef struct setting {
    qdq_model *m, *quantized;
    qdq_plan *plan;
    qdq_cancel *cancel;
    qdq_job job;
} setting;

#define WEIGHT(name, node, format)                                                                 \
    "{\"tensor\": \"" name "\", \"consumers\": [[\"" node "\", 1]], \"axis\": 1, " format "}"

static setting open_setting(void)
{
    static const char text[] =
        "{\"qdq_plan\": 1, \"clean\": \"share-initializers\", \"tensors\": [], \"weights\": "
        "[" WEIGHT("v", "z", "\"type\": \"int4\"") ", " WEIGHT("w", "y", "\"type\": \"int8\"") "]}";
    setting s = {.cancel = qdq_cancel_new(), .job = QDQ_JOB_INIT};
    test_builder b = test_build(21);
    qdq_error err = QDQ_ERROR_INIT;

    TEST_INPUT(&b, "x", 4, 70);
    TEST_RANDOM(&b, "w", 70, 6);
    TEST_RANDOM(&b, "v", 6, 300);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    TEST_NODE(&b, "MatMul", "z", "y", "v");
    test_output(&b, "z");
    s.m = test_built(&b);
    s.job.cancel = s.cancel;
    assert_non_null(s.cancel);
    assert_ok(qdq_plan_parse(text, sizeof text - 1, "plan", &s.plan, &err));
    assert_ok(qdq_plan_apply(s.plan, s.m, true, NULL, &s.quantized, &err));
    return s;
}

static void close_setting(setting *s)
{
    qdq_model_free(s->m);
    qdq_model_free(s->quantized);
    qdq_plan_free(s->plan);
    qdq_cancel_free(s->cancel);
}

static qdq_status apply(setting *s, qdq_error *err)
{
    qdq_model *out = s->m;
    qdq_status st = qdq_plan_apply(s->plan, s->m, true, &s->job, &out, err);

    assert_int_equal(out == NULL, st != QDQ_OK);
    qdq_model_free(out);
    return st;
}

static qdq_status strip(setting *s, qdq_error *err)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_model *out = s->m;
    size_t n_left = 9;

    opts.job = &s->job;
    qdq_status st = qdq_model_strip(s->quantized, &opts, &out, &n_left, err);
    assert_int_equal(out == NULL, st != QDQ_OK);
    assert_int_equal(n_left, 0);
    qdq_model_free(out);
    return st;
}

static qdq_status import(setting *s, qdq_error *err)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_plan *out = s->plan;

    opts.job = &s->job;
    qdq_status st = qdq_plan_import(s->quantized, &opts, &out, NULL, err);
    assert_int_equal(out == NULL, st != QDQ_OK);
    qdq_plan_free(out);
    return st;
}

static qdq_status to_bytes(setting *s, qdq_error *err)
{
    void *data = s;
    size_t size = 9;
    qdq_status st = qdq_model_to_bytes(s->m, &s->job, &data, &size, err);

    assert_int_equal(data == NULL, st != QDQ_OK);
    assert_int_equal(size == 0, st != QDQ_OK);
    qdq_free(data);
    return st;
}

static qdq_status fingerprint(setting *s, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    const char *out;
    qdq_status st = qdq_model_fingerprint(s->m, &s->job, &arena, &out, err);

    assert_int_equal(out == NULL, st != QDQ_OK);
    qdq_arena_free(&arena);
    return st;
}

/* Sets the flag at the first look, at the second, ... until the call ends before. Returns how many
 * looks it takes. */
static int count_looks(qdq_status (*call)(setting *, qdq_error *))
{
    setting s = open_setting();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_status st = QDQ_E_INTERRUPTED;
    int n = 0;

    for (; n < 100000 && st != QDQ_OK; n++) {
        atomic_store(&looks_left, n);
        st = call(&s, &err);
        if (st != QDQ_OK) {
            assert_int_equal(st, QDQ_E_INTERRUPTED);
            assert_non_null(strstr(err.text, "interrupted"));
        }
    }
    assert_int_equal(st, QDQ_OK);
    close_setting(&s);
    return n - 1;
}

TEST(every_call_ends_wherever_it_is_interrupted)
{
    assert_true(count_looks(apply) >= 20);
    assert_true(count_looks(strip) >= 4);
    assert_true(count_looks(import) >= 4);
    assert_true(count_looks(to_bytes) >= 3);
    assert_true(count_looks(fingerprint) >= 2);
}

/* The numbers of looks do not grow with the sizes that the test above has; these do. */
TEST(a_large_weight_is_left_in_the_middle)
{
    setting s = {.cancel = qdq_cancel_new(), .job = QDQ_JOB_INIT};
    test_builder b = test_build(21);
    qdq_error err = QDQ_ERROR_INIT;
    void *data;
    size_t size;

    TEST_RANDOM(&b, "w", 1 << 13, 1 << 10);
    TEST_RANDOM(&b, "x", 1, 1 << 13);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    s.m = test_built(&b);
    s.job.cancel = s.cancel;
    atomic_store(&looks_left, 3);
    assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                 qdq_model_to_bytes(s.m, &s.job, &data, &size, &err));
    atomic_store(&looks_left, 1000);
    assert_ok(qdq_model_to_bytes(s.m, &s.job, &data, &size, &err));
    qdq_free(data);
    close_setting(&s);
}
