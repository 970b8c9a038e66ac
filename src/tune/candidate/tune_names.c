/* tune_names.c - candidates and their names: a plan's name follows from its text, so that a run
 * that is resumed finds its samples. */
#include "tune/candidate/tune_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "tune/candidate/tune_plans.h"

qdq_status qdq_tune_candidate_named(qdq_tune_state *t, const char *name, qdq_tune_candidate **out,
                                    qdq_error *err)
{
    qdq_map_value *known = qdq_map_get(&t->run.by_name, name);

    if (known != NULL) {
        *out = known->ptr;
        return QDQ_OK;
    }
    qdq_tune_candidate *c = qdq_arena_alloc(&t->arena, sizeof *c);
    QDQ_NEED(c != NULL, err);
    *c = (qdq_tune_candidate){.handle = -1, .sqnr_db = NAN};
    snprintf(c->name, sizeof c->name, "%s", name);
    qdq_map_value *place = qdq_map_put(&t->run.by_name, c->name, NULL);
    QDQ_NEED(place != NULL && QDQ_PUSH(&t->arena, &t->run.candidates, c), err);
    place->ptr = c;
    *out = c;
    return QDQ_OK;
}

/* A plan without Q/DQ is the baseline, whatever the assignment wanted. */
static qdq_status name_candidate(const qdq_tune_state *t, const qdq_plan *p, char name[33],
                                 qdq_error *err)
{
    if (p->tensors.n + p->weights.n > 0)
        return qdq_tune_name_plan(p, name, err);
    memcpy(name, t->task.nothing_name, 33);
    return QDQ_OK;
}

qdq_status qdq_tune_candidate_of(qdq_tune_state *t, const qdq_assign *a, qdq_tune_candidate **out,
                                 qdq_error *err)
{
    const qdq_assign_hash h = qdq_assign_get_hash(a);
    const uint64_t key = qdq_assign_hash_key(h);
    const qdq_map_value *known = qdq_map_get_int(&t->run.by_assign, key);
    qdq_plan *p;
    char name[33];

    if (known != NULL) {
        *out = known->ptr;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_tune_plan_of(t, a, &p, err));
    qdq_status st = name_candidate(t, p, name, err);
    qdq_plan_free(p);
    QDQ_TRY(st);
    QDQ_TRY(qdq_tune_candidate_named(t, name, out, err));
    if ((*out)->assign.word == NULL && !qdq_assign_copy(&(*out)->assign, a, &t->arena))
        return qdq_nomem(err);
    qdq_map_value *place = qdq_map_put_int(&t->run.by_assign, key, NULL);
    QDQ_NEED(place != NULL, err);
    place->ptr = *out;
    return QDQ_OK;
}
