/* ort_help.h - what the tests against ONNX Runtime share: one run on random inputs, with all that
 * comes out. */
#ifndef QDQ_TEST_ORT_HELP_H
#define QDQ_TEST_ORT_HELP_H

#include <math.h>

#include "support/test.h"

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17]>\n"

/* All outputs of one run: names, and bytes one after another. */
typedef struct kept {
    char names[4000];
    unsigned char bytes[1 << 18];
    size_t size;
    /* without data */
    qdq_array last;
} kept;

static inline qdq_status keep(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    kept *k = ctx;

    if (strlen(k->names) + strlen(name) + 2 > sizeof k->names ||
        k->size + a->bytes > sizeof k->bytes)
        return qdq_fail(e, QDQ_E_BUG, "the test keeps too little");
    size_t used = strlen(k->names);
    snprintf(k->names + used, sizeof k->names - used, "%s;", name);
    if (a->bytes > 0)
        memcpy(k->bytes + k->size, a->data, a->bytes);
    k->size += a->bytes;
    k->last = *a;
    k->last.data = NULL;
    return QDQ_OK;
}

static inline float kept_float(const kept *k, size_t i)
{
    float x;

    assert_true((i + 1) * sizeof x <= k->size);
    memcpy(&x, k->bytes + i * sizeof x, sizeof x);
    return x;
}

/* Squares of the floats that are wanted and of what others differ by, added up. */
typedef struct difference {
    double signal, noise;
} difference;

static inline difference difference_of(const kept *want, const kept *have)
{
    difference sum = {0, 0};

    assert_int_equal(want->size, have->size);
    for (size_t i = 0; i < want->size / sizeof(float); i++) {
        double x = (double)kept_float(want, i), d = x - (double)kept_float(have, i);

        assert_true(isfinite(d));
        sum.noise += d * d;
        sum.signal += x * x;
    }
    return sum;
}

/* Error relative to what is wanted. */
static inline double error_of(const kept *want, const kept *have)
{
    const difference d = difference_of(want, have);

    return d.signal > 0 ? sqrt(d.noise / d.signal) : d.noise;
}

static inline void expect_near(const char *what, const kept *want, const kept *have, double within)
{
    const double error = error_of(want, have);

    assert_true(difference_of(want, have).signal > 0);
    if (!(error <= within))
        fail_msg("%s: relative error %g, want at most %g", what, error, within);
}

static inline unsigned ort_minor(const qdq_engine *e)
{
    unsigned minor = 0;

    assert_int_equal(sscanf(qdq_engine_get_info(e)->version, "1.%u", &minor), 1);
    return minor;
}

/* The spec of another engine of the same library. */
static inline const char *ort_spec(const qdq_engine *e)
{
    static char spec[4200];

    snprintf(spec, sizeof spec, "ort:%s", qdq_engine_get_info(e)->library);
    return spec;
}

static inline qdq_model *need_model(const char *relative)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    assert_ok(qdq_model_load(test_corpus("%s", relative), NULL, &m, &err));
    return m;
}

/* Opens, runs once on random inputs, closes. */
static inline void run_model(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                             kept *k)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_named_array *in;
    qdq_session *s;
    size_t n;

    memset(k, 0, sizeof *k);
    assert_ok(qdq_session_open(e, m, opts, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &in, &n, &err));
    assert_ok(qdq_session_run(s, in, n, keep, k, &err));
    qdq_free(in);
    qdq_session_close(s);
}

/* The same on this input. */
static inline void run_on_one(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                              const qdq_named_array *in, kept *k)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session *s;

    memset(k, 0, sizeof *k);
    assert_ok(qdq_session_open(e, m, opts, &s, &err));
    assert_ok(qdq_session_run(s, in, 1, keep, k, &err));
    qdq_session_close(s);
}

/* How often `op` ran in one execution of the model. */
static inline size_t count_kernels(qdq_engine *e, const qdq_model *m, const char *op)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;
    qdq_named_array *in = NULL;
    qdq_layer *layers = NULL;
    size_t n_in, n, count = 0;

    so.profile = true;
    assert_ok(qdq_session_open(e, m, &so, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(s, in, n_in, 1, &layers, &n, &err));
    for (size_t i = 0; i < n; i++)
        count += strcmp(layers[i].op, op) == 0;
    qdq_free(layers);
    qdq_free(in);
    qdq_session_close(s);
    return count;
}

#endif /* QDQ_TEST_ORT_HELP_H */
