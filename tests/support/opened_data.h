/* opened_data.h - sources of samples for small models, and what they say. */
#ifndef QDQ_TEST_OPENED_DATA_H
#define QDQ_TEST_OPENED_DATA_H

#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "support/npy_file.h"

static qdq_error err;

static inline const char *two_inputs(void)
{
    return test_graph_text("two_inputs");
}

static const char one_input[] = "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }";
static const char batch_of_2[] = "g (float[2,2] x) => (float[2,2] y) { y = Relu(x) }";

static const float ramp[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

/* --- what a source says ----------------------------------------------------------------------- */

static char recorded_lines[4000];

static inline void record_line(void *ctx, qdq_log_level level, const char *text)
{
    size_t n = strlen(recorded_lines);

    (void)ctx;
    snprintf(recorded_lines + n, sizeof recorded_lines - n, "%d: %s\n", (int)level, text);
}

static const qdq_job listening = {.size = sizeof(qdq_job), .log = record_line};

static inline qdq_data_opts listen(void)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    recorded_lines[0] = '\0';
    opts.job = &listening;
    return opts;
}

/* --- opening ---------------------------------------------------------------------------------- */

static inline qdq_status try_open(const char *model, const char *spec, const qdq_data_opts *opts,
                                  qdq_data **d)
{
    qdq_model *m = test_model(model);
    qdq_status st = qdq_data_open(spec, m, opts, d, &err);

    qdq_model_free(m); /* data must not need it any more */
    if (st != QDQ_OK)
        assert_null(*d);
    return st;
}

static inline qdq_status try_arrays(const char *model, const qdq_named_array *a, size_t n,
                                    const qdq_data_opts *opts, qdq_data **d)
{
    qdq_model *m = test_model(model);
    qdq_status st = qdq_data_from_arrays(a, n, m, opts, d, &err);

    qdq_model_free(m);
    if (st != QDQ_OK)
        assert_null(*d);
    return st;
}

/* A sound array over elements of the caller. */
static inline qdq_named_array named(const char *name, qdq_elem elem, const void *data, int rank,
                                    int64_t a, int64_t b)
{
    qdq_named_array n = {
        name, {.elem = elem, .rank = rank, .dim = {a, b}, .data = (void *)(uintptr_t)data}};

    assert_true(qdq_elem_bytes(elem, qdq_array_count(&n.array), &n.array.bytes));
    return n;
}

static inline qdq_data *opened(const char *model, const char *spec, const qdq_data_opts *opts)
{
    qdq_data *d = NULL;

    assert_ok(try_open(model, spec, opts, &d));
    return d;
}

static inline void refused(const char *model, const char *spec, const qdq_data_opts *opts,
                           qdq_status code, const char *message)
{
    qdq_data *d = NULL;

    assert_fails(code, message, try_open(model, spec, opts, &d));
}

static inline const qdq_array *sample(qdq_data *d, size_t i, size_t k)
{
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_data_get(d, i, &in, &n, &err));
    assert_true(k < n);
    return &in[k].array;
}

#endif /* QDQ_TEST_OPENED_DATA_H */
