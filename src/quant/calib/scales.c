/* scales.c - see the header. */
#include "quant/calib/scales.h"

#include <string.h>

#include "base/fail.h"

/* Names may hold any byte but zero: lengths keep two keys apart. NULL: out of memory. */
static const char *key_of(const qdq_plan_tensor *t, qdq_arena *arena)
{
    const char *like = t->like != NULL ? t->like : "", *group = t->group != NULL ? t->group : "";

    return qdq_arena_printf(arena, "%d %zu %zu %s%s%s", (int)t->qparam.type, strlen(t->tensor), strlen(like),
                            t->tensor, like, group);
}

/* The groups of which a member is missing. */
static qdq_status find_broken(const qdq_scales *s, const qdq_plan *plan, qdq_arena *scratch, qdq_map *broken,
                              qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++) {
        const qdq_plan_tensor *t = &plan->tensors.at[i];

        if (t->group == NULL || t->known)
            continue;
        const char *key = key_of(t, scratch);
        if (key == NULL ||
            (qdq_map_get(&s->by_use, key) == NULL && qdq_map_put(broken, t->group, NULL) == NULL))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

static qdq_status give(const qdq_scales *s, qdq_plan *plan, qdq_arena *scratch, const qdq_map *broken,
                       qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++) {
        qdq_plan_tensor *t = &plan->tensors.at[i];

        if (t->known || (t->group != NULL && qdq_map_get(broken, t->group) != NULL))
            continue;
        const char *key = key_of(t, scratch);
        if (key == NULL)
            return qdq_nomem(err);
        const qdq_map_value *v = qdq_map_get(&s->by_use, key);
        if (v == NULL)
            continue;
        t->qparam = *(const qdq_qparam *)v->ptr;
        t->known = true;
        t->given = true;
    }
    return QDQ_OK;
}

qdq_status qdq_scales_give(const qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map broken = QDQ_MAP_INIT;
    qdq_status st = find_broken(s, plan, &scratch, &broken, err);

    if (st == QDQ_OK)
        st = give(s, plan, &scratch, &broken, err);
    qdq_map_free(&broken);
    qdq_arena_free(&scratch);
    return st;
}

qdq_status qdq_scales_keep(qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++) {
        qdq_plan_tensor *t = &plan->tensors.at[i];

        if (t->given)
            t->known = t->given = false;
        else if (!t->known) {
            const char *key = key_of(t, &s->arena);
            qdq_qparam *kept = qdq_arena_alloc(&s->arena, sizeof *kept);
            qdq_map_value *v = key != NULL ? qdq_map_put(&s->by_use, key, NULL) : NULL;

            if (kept == NULL || v == NULL)
                return qdq_nomem(err);
            *kept = t->qparam;
            v->ptr = kept;
        }
    }
    return QDQ_OK;
}

void qdq_scales_free(qdq_scales *s)
{
    qdq_map_free(&s->by_use);
    qdq_arena_free(&s->arena);
}
