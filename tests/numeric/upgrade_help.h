/* upgrade_help.h - what the tests of opset upgrades share: a model and its raised copies run on
 * ONNX Runtime with the same random input and must give the same numbers. Tolerance: 1e-5 of the
 * output's range. */
#ifndef QDQ_TEST_UPGRADE_HELP_H
#define QDQ_TEST_UPGRADE_HELP_H

#include "support/test.h"

#include <math.h>

#include "ir/ir.h"
#include "ir/shape.h"
#include "support/text_case.h"

enum { MAX_OUTPUTS = 8, NEWEST = TEXT_NEWEST };
static const double tolerance = 1e-5;

/* The outputs of one run, copied. */
typedef struct outputs {
    qdq_array at[MAX_OUTPUTS];
    size_t n;
} outputs;

static inline qdq_status keep(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    outputs *out = ctx;

    (void)name;
    (void)err;
    assert_true(out->n < MAX_OUTPUTS);
    qdq_array *copy = &out->at[out->n++];
    *copy = *a;
    copy->data = malloc(a->bytes > 0 ? a->bytes : 1);
    assert_non_null(copy->data);
    memcpy(copy->data, a->data, a->bytes);
    return QDQ_OK;
}

static inline void free_outputs(outputs *out)
{
    for (size_t i = 0; i < out->n; i++)
        free(out->at[i].data);
}

/* Runs without graph optimizations: what is compared is the model, not what the engine makes of
 * it. */
static inline void run(const qdq_model *m, const char *what, outputs *out)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;
    qdq_named_array *in = NULL;
    size_t n;

    opts.level = QDQ_LEVEL_NONE;
    out->n = 0;
    if (qdq_session_open(test_ort(), m, &opts, &s, &err) != QDQ_OK)
        fail_msg("%s: %s", what, err.text);
    assert_ok(qdq_random_inputs(s, 7, &in, &n, &err));
    if (qdq_session_run(s, in, n, keep, out, &err) != QDQ_OK)
        fail_msg("%s: %s", what, err.text);
    qdq_free(in);
    qdq_session_close(s);
}

static inline void assert_same(const outputs *a, const outputs *b, const char *what)
{
    assert_int_equal(a->n, b->n);
    for (size_t k = 0; k < a->n; k++) {
        const qdq_array *x = &a->at[k], *y = &b->at[k];
        int64_t count = qdq_array_count(x);
        double range = 0, worst = 0;

        if (x->elem != y->elem || x->rank != y->rank ||
            memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) != 0)
            fail_msg("%s: output %zu has another type or shape", what, k);
        assert_true(count > 0);
        if (x->elem != QDQ_FLOAT) {
            if (memcmp(x->data, y->data, x->bytes) != 0)
                fail_msg("%s: output %zu differs", what, k);
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            range = fmax(range, fabs((double)((const float *)x->data)[i]));
            worst = fmax(worst, fabs((double)((const float *)x->data)[i] -
                                     (double)((const float *)y->data)[i]));
        }
        if (!(worst <= tolerance * range))
            fail_msg("%s: output %zu is off by %g in a range of %g", what, k, worst, range);
    }
}

/* ONNX Runtime up to 1.31 has no kernels for these since opset 22 touched them. */
static inline bool engine_can_run(const char *what, int opset)
{
    const qdq_engine_info *info = qdq_engine_get_info(test_ort());

    if (info->max_opset > 0 && opset > info->max_opset)
        return false;
    return opset < 22 || (strstr(what, "RoiAlign") == NULL && strstr(what, "GlobalLpPool") == NULL);
}

/* What inference says of the outputs is what the file does. */
static inline void assert_infers(qdq_model *m, const char *what)
{
    qdq_shape_opts strict = {false, true, NULL};
    qdq_error err = QDQ_ERROR_INIT;

    if (qdq_model_infer(m, &strict, &err) != QDQ_OK)
        fail_msg("%s: %s", what, err.text);
}

static inline void assert_keeps_its_numbers(qdq_model *m, const char *what, const int *opsets,
                                            size_t n)
{
    qdq_error err = QDQ_ERROR_INIT;
    outputs before, after;

    run(m, what, &before);
    for (size_t i = 0; i < n; i++) {
        char step[4200];
        qdq_model *raised = NULL;

        snprintf(step, sizeof step, "%s, raised to %d", what, opsets[i]);
        assert_ok(qdq_model_clone(m, &raised, &err));
        assert_ok(qdq_model_set_opset(raised, opsets[i], &err));
        assert_infers(raised, step);
        if (engine_can_run(what, opsets[i])) {
            run(raised, step, &after);
            assert_same(&before, &after, step);
            free_outputs(&after);
        }
        qdq_model_free(raised);
    }
    free_outputs(&before);
}

/* The model of a graph in text form that is written in this opset. */
static inline qdq_model *model_at(int opset, const char *graph)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    char text[1000];

    snprintf(text, sizeof text, "<ir_version: 3, opset_import: [\"\" : %d]>\n%s", opset, graph);
    assert_ok(qdq_model_from_text(text, "test", &m, &err));
    m->ir_version = opset < 9 ? 4 : 8; /* constants that are no inputs */
    return m;
}

/* From one opset to several. */
typedef struct raised {
    const char *graph;
    int from, to[NEWEST];
    size_t n;
} raised;

static inline void raise_all(raised *r)
{
    if (r->n == 0)
        return;
    qdq_model *m = model_at(r->from, r->graph);
    assert_keeps_its_numbers(m, r->graph, r->to, r->n);
    qdq_model_free(m);
    r->n = 0;
}

static inline void add_raise(void *ctx, int from, int to)
{
    raised *r = ctx;

    if (r->from != from)
        raise_all(r);
    r->from = from;
    r->to[r->n++] = to;
}

static inline void raise_case(void *ctx, const text_case *c)
{
    raised r = {.graph = c->before};

    (void)ctx;
    assert_string_equal(c->run, "raise-each");
    text_each_raise(c->arg, add_raise, &r);
    raise_all(&r);
}

/* The graphs of a file of text/raise-each. */
static inline void raise_graphs_of(const char *name)
{
    need_ort();
    text_each(name, raise_case, NULL);
}

#endif /* QDQ_TEST_UPGRADE_HELP_H */
