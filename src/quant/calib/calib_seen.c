/* calib_seen.c - keeps observers from plan to plan. */
#include "quant/calib/calib_seen.h"

#include "base/fail.h"
#include "quant/calib/calib_folds.h"

/* A histogram has 64 KiB, and method auto two. */
enum { MOST_OBSERVERS = 1024 };

/* Of one tensor. */
typedef struct kept {
    qdq_method method;
    /* in order of the folds, then that of all samples */
    qdq_observer **observer;
    unsigned n_folds;
} kept;

void qdq_seen_free(qdq_seen *s)
{
    for (size_t i = 0; i < s->by_tensor.n_entry; i++) {
        const kept *e = s->by_tensor.entry[i].value.ptr;

        for (unsigned k = 0; k <= e->n_folds; k++)
            qdq_observer_free(e->observer[k]);
    }
    qdq_map_free(&s->by_tensor);
    qdq_arena_free(&s->arena);
}

/* Only what adds up can be copied: of other statistics the order counts. */
static qdq_seen *seen_of(const qdq_calibration *c)
{
    return c->q->statistics == NULL && qdq_calib_adds_up(c) ? c->q->basis.seen : NULL;
}

/* --- taking ----------------------------------------------------------------------------------- */

qdq_status qdq_calib_take_seen(const qdq_calibration *c, qdq_calib_slot *s, qdq_error *err)
{
    const qdq_seen *from = seen_of(c);
    const kept *e = from != NULL ? qdq_map_get_ptr(&from->by_tensor, s->name) : NULL;

    if (e == NULL || e->n_folds != c->n_folds || e->method != s->method || s->n_without > 0)
        return QDQ_OK;
    for (unsigned k = 0; k < e->n_folds; k++)
        QDQ_NEED(qdq_observer_pool(s->fold[k], e->observer[k]), err);
    QDQ_NEED(qdq_observer_pool(s->observer, e->observer[e->n_folds]), err);
    s->seen = true;
    return QDQ_OK;
}

/* --- keeping ---------------------------------------------------------------------------------- */

/* Also where it fails, e->observer has what is to be freed. */
static bool copy_observers(const qdq_calibration *c, const qdq_calib_slot *s, kept *e)
{
    for (unsigned k = 0; k <= c->n_folds; k++) {
        e->observer[k] = qdq_observer_new(s->method, c->percentile);
        if (e->observer[k] == NULL ||
            !qdq_observer_pool(e->observer[k], k < c->n_folds ? s->fold[k] : s->observer))
            return false;
    }
    return true;
}

/* Constants need no run, and have no folds. */
static qdq_status keep_slot(const qdq_calibration *c, const qdq_calib_slot *s, qdq_seen *to,
                            qdq_error *err)
{
    if (s->observer == NULL || s->seen || (s->fold == NULL && c->n_folds > 0) || s->n_without > 0 ||
        qdq_map_get(&to->by_tensor, s->name) != NULL ||
        to->n_observers + c->n_folds >= MOST_OBSERVERS)
        return QDQ_OK;
    to->n_observers += c->n_folds + 1;
    const char *name = qdq_arena_strdup(&to->arena, s->name);
    kept *e = qdq_arena_alloc(&to->arena, sizeof *e);
    qdq_observer **observer =
        qdq_arena_array(&to->arena, c->n_folds + (size_t)1, sizeof(qdq_observer *));
    QDQ_NEED(name != NULL && e != NULL && observer != NULL, err);
    *e = (kept){s->method, observer, c->n_folds};
    QDQ_NEED(qdq_map_set_ptr(&to->by_tensor, name, e) && copy_observers(c, s, e), err);
    return QDQ_OK;
}

qdq_status qdq_calib_keep_seen(const qdq_calibration *c, qdq_error *err)
{
    qdq_seen *to = seen_of(c);

    for (size_t i = 0; to != NULL && i < c->slots.n; i++) {
        const qdq_calib_slot *s = &c->slots.at[i];

        if (s->leader == i)
            continue;
        QDQ_TRY(keep_slot(c, s, to, err));
        QDQ_TRY(keep_slot(c, &c->slots.at[s->leader], to, err));
    }
    return QDQ_OK;
}
