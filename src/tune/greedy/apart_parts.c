/* apart_parts.c - groups with schemes as parts of a model. */
#include <stdio.h>

#include "base/fail.h"
#include "tune/candidate/tune_plans.h"
#include "tune/greedy/apart.h"
#include "tune/isolate/group_plan.h"
#include "tune/space/space_halves.h"

qdq_status qdq_tune_plan_scheme(qdq_tune_sitting *s, const qdq_tune_kind *k,
                                qdq_tune_scheme *scheme)
{
    const qdq_tuning *t = s->t;
    const qdq_choices *c = &t->choices[k->unit];
    qdq_assign a;

    if (scheme->plan != NULL)
        return QDQ_OK;
    if (!qdq_assign_new(&a, qdq_space_scheme_bits(t->space), &s->t->arena))
        return qdq_nomem(s->err);
    for (size_t i = 0; i < t->space->n_groups; i++)
        qdq_assign_set(&a, i, t->problem.allowed == NULL || qdq_assign_get(t->problem.allowed, i));
    for (size_t i = 0; i < c->n; i++) {
        const uint32_t group = c->choice[i].group[k->at[0]];
        if (group != QDQ_NO_GROUP)
            qdq_space_set_part(t->space, &a, group,
                               qdq_space_get_part(t->space, &scheme->what->bits, group));
    }
    return qdq_tune_plan_of(s->t, &a, &scheme->plan, s->err);
}

qdq_status qdq_tune_add_part(qdq_tune_sitting *s, qdq_tune_part_list *l, const qdq_tune_kind *k,
                             const qdq_plan *plan)
{
    qdq_model *m = NULL;

    QDQ_TRY(qdq_group_plan_apply(s->t->fusions, k->model, plan, qdq_candidates_cache(s->t->files),
                                 &m, s->err));
    if (!QDQ_PUSH(&l->scratch, &l->model, m)) {
        qdq_model_free(m);
        return qdq_nomem(s->err);
    }
    return QDQ_PUSH(&l->scratch, &l->part,
                    ((qdq_part){.group = k->group, .in = k->model, .model = m}))
               ? QDQ_OK
               : qdq_nomem(s->err);
}

qdq_status qdq_tune_join_parts(qdq_tune_sitting *s, qdq_tune_part_list *l, qdq_status st,
                               qdq_parts **out)
{
    if (st == QDQ_OK)
        st = qdq_parts_make(s->t->fusions, l->part.at, l->part.n, out, s->err);
    if (st == QDQ_OK)
        st = qdq_model_set_shapes((*out)->model, (*out)->shape, (*out)->n_shapes, s->err);
    for (size_t i = 0; i < l->model.n; i++)
        qdq_model_free(l->model.at[i]);
    qdq_arena_free(&l->scratch);
    return st;
}

const char *qdq_tune_apart_name(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n)
{
    enum { NAME_MAX_BYTES = 90 }; /* logs are named alike */
    char text[NAME_MAX_BYTES + 60] = "";
    size_t used = 0, i = 0;

    for (; i < n && used < NAME_MAX_BYTES; i++) {
        const size_t number = (size_t)(e[i].scheme - e[i].kind->scheme);
        const bool same = i > 0 && e[i].kind == e[i - 1].kind;
        used += (size_t)(same ? snprintf(text + used, sizeof text - used, "_%zu", number)
                              : snprintf(text + used, sizeof text - used, "%sgroup_%u_scheme_%zu",
                                         i > 0 ? "-" : "", e[i].kind->group, number));
    }
    if (i < n)
        return qdq_arena_printf(&s->t->arena, "%s-and_%zu_more.onnx", text, n - i);
    return qdq_arena_printf(&s->t->arena, "%s.onnx", text);
}

qdq_status qdq_tune_write_parts(qdq_tune_sitting *s, const qdq_parts *p, const char *name,
                                const char **path)
{
    *path = qdq_arena_printf(&s->t->arena, "%s/%s", qdq_tempdir_path(s->t->work), name);
    return *path != NULL ? qdq_candidate_write_part(s->t->files, p->model, name, s->err)
                         : qdq_nomem(s->err);
}
