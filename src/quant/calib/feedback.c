/* feedback.c - passes outputs of one step as states to the next step. */
#include "quant/calib/feedback.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

qdq_status qdq_feedback_begin(qdq_feedback *f, const qdq_data *d, qdq_error *err)
{
    *f = (qdq_feedback){.turn = 0};
    f->states = qdq_data_states(d, &f->n);
    if (f->n == 0)
        return QDQ_OK;
    f->held = calloc(2 * f->n, sizeof *f->held);
    f->is_hidden = calloc(f->n, sizeof *f->is_hidden);
    if (f->held != NULL && f->is_hidden != NULL)
        return QDQ_OK;
    qdq_feedback_free(f);
    return qdq_nomem(err);
}

void qdq_feedback_free(qdq_feedback *f)
{
    for (size_t i = 0; f->held != NULL && i < 2 * f->n; i++)
        qdq_held_free(&f->held[i]);
    free(f->held);
    free(f->is_hidden);
    *f = (qdq_feedback){.turn = 0};
}

static bool is_among(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

qdq_status qdq_feedback_expose(qdq_feedback *f, const char *const *names, qdq_arena *memory,
                               const char *const **out, qdq_error *err)
{
    size_t n = 0;

    *out = names;
    if (f->n == 0)
        return QDQ_OK;
    while (names[n] != NULL)
        n++;
    const char **all = qdq_arena_array(memory, n + f->n + 1, sizeof *all);
    QDQ_NEED(all != NULL, err);
    if (n > 0)
        memcpy(all, names, n * sizeof *all);
    for (size_t i = 0; i < f->n; i++) {
        f->is_hidden[i] = !is_among(names, f->states[i].output);
        all[n] = NULL;
        if (!is_among(all, f->states[i].output)) /* two inputs may have one output */
            all[n++] = f->states[i].output;
    }
    all[n] = NULL;
    *out = all;
    return QDQ_OK;
}

static qdq_held *held_at(const qdq_feedback *f, size_t state, size_t turn)
{
    return &f->held[2 * state + turn];
}

static qdq_status put_state(const qdq_feedback *f, size_t state, qdq_named_array *in, size_t n,
                            qdq_error *err)
{
    const qdq_state *s = &f->states[state];
    const qdq_held *h = held_at(f, state, f->turn);

    if (!h->is_held)
        return qdq_fail(err, QDQ_E_FORMAT, "found no output '%s', expected the state of input '%s'",
                        s->output, s->input);
    for (size_t k = 0; k < n; k++)
        if (strcmp(in[k].name, s->input) == 0)
            in[k].array = h->array;
    return QDQ_OK;
}

qdq_status qdq_feedback_put(qdq_feedback *f, size_t step, const qdq_named_array **in, size_t n,
                            qdq_arena *memory, qdq_error *err)
{
    if (f->n == 0)
        return QDQ_OK;
    if (step > 0) {
        qdq_named_array *own = qdq_arena_array(memory, n + 1, sizeof *own);

        QDQ_NEED(own != NULL, err);
        memcpy(own, *in, n * sizeof *own);
        for (size_t i = 0; i < f->n; i++)
            QDQ_TRY(put_state(f, i, own, n, err));
        *in = own;
    }
    f->turn = 1 - f->turn; /* an output may be the memory of an input */
    for (size_t i = 0; i < f->n; i++)
        held_at(f, i, f->turn)->is_held = false;
    return QDQ_OK;
}

qdq_status qdq_feedback_take(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const qdq_feedback *f = ctx;
    bool is_hidden = false;

    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->states[i].output, name) != 0)
            continue;
        is_hidden = f->is_hidden[i];
        QDQ_TRY(qdq_hold(held_at(f, i, f->turn), a, err));
    }
    return is_hidden || f->fn == NULL ? QDQ_OK : f->fn(f->ctx, name, a, err);
}
