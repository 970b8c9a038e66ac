/* group_classes.c - which groups are measured apart, as which model, and with which schemes. */
#include "tune/greedy/group_classes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/isolate/legal_inputs.h"
#include "tune/problem/tune_problem.h"
#include "tune/space/space_partial.h"

typedef struct finding {
    qdq_tune_state *t;
    qdq_shape_range *range;
    QDQ_VEC(qdq_tune_kind) kinds;
} finding;

/* --- kinds ------------------------------------------------------------------------------------ */

/* What the rules want of an instance: one letter for each choice. NULL: no memory. */
static const char *wishes_of(finding *f, uint32_t unit, uint32_t instance)
{
    const qdq_choices *c = &f->t->parts.choices[unit];
    char *text = qdq_arena_alloc(&f->t->arena, c->n + 1);

    for (size_t k = 0; k < c->n && text != NULL; k++) {
        const uint32_t group = c->choice[k].group[instance];
        text[k] = group == QDQ_NO_GROUP                             ? '-'
                  : qdq_assign_get(&f->t->task.space->rules, group) ? '1'
                                                                    : '0';
    }
    return text;
}

/* NULL: no memory. */
static const char *name_instance(finding *f, uint32_t unit, uint32_t instance)
{
    const qdq_fusion_key *key = &f->t->parts.keys->at[unit];
    const uint64_t *around = key->instance[instance].around;
    const char *wishes = wishes_of(f, unit, instance);

    return wishes == NULL ? NULL
                          : qdq_arena_printf(&f->t->arena, "%s %016" PRIx64 "%016" PRIx64 " %s",
                                             key->hash, around[0], around[1], wishes);
}

bool qdq_tune_has_decision(const qdq_tune_state *t, uint32_t unit, uint32_t instance)
{
    for (size_t k = 0; k < t->parts.choices[unit].n; k++)
        if (t->parts.choices[unit].choice[k].group[instance] != QDQ_NO_GROUP)
            return true;
    return false;
}

/* Kinds of one unit stand beside each other from `first` on. */
static qdq_status add_instance(finding *f, uint32_t unit, uint32_t instance, size_t first,
                               qdq_error *err)
{
    const qdq_fusion_key *key = &f->t->parts.keys->at[unit];
    const char *name = name_instance(f, unit, instance);
    size_t i = first;

    QDQ_NEED(name != NULL, err);
    while (i < f->kinds.n && strcmp(f->kinds.at[i].name, name) != 0)
        i++;
    if (i == f->kinds.n) {
        const qdq_tune_kind new = {
            .unit = unit,
            .group = key->instance[instance].group,
            .name = name,
            .at = qdq_arena_array(&f->t->arena, key->n_instances, sizeof *new.at)};
        QDQ_NEED(new.at != NULL &&QDQ_PUSH(&f->t->arena, &f->kinds, new), err);
    }
    qdq_tune_kind *k = &f->kinds.at[i];
    k->at[k->n++] = instance;
    return QDQ_OK;
}

/* --- models and schemes ----------------------------------------------------------------------- */

static qdq_status list_schemes(finding *f, qdq_tune_kind *k, qdq_error *err)
{
    qdq_fusion_schemes *list = qdq_arena_alloc(&f->t->arena, sizeof *list);
    const unsigned most = f->t->details->schemes_per_region;

    QDQ_NEED(list != NULL, err);
    QDQ_TRY(qdq_fusion_list_schemes(f->t->parts.fusions, k->group, f->t->task.space,
                                    f->t->parts.problem.allowed, &f->t->arena, list, err));
    k->scheme = qdq_arena_array(&f->t->arena, list->n, sizeof *k->scheme);
    QDQ_NEED(k->scheme != NULL, err);
    for (size_t i = 0; i < list->n && (most == 0 || i <= most); i++) /* none is always there */
        k->scheme[k->n_schemes++] = (qdq_tune_scheme){
            .what = &list->at[i],
            .saved = {.mean_us = -INFINITY, .se_us = INFINITY, .groups = (double)k->n}};
    return QDQ_OK;
}

void qdq_tune_skip_kind(const qdq_tune_state *t, qdq_tune_kinds *all, qdq_tune_kind *k,
                        const char *why)
{
    k->why = why;
    all->n_skipped++;
    qdq_job_log(t->job, QDQ_LOG_INFO, "group %u: cannot be measured in isolation: %s",
                (unsigned)k->group, why);
}

static qdq_status fill_kind(finding *f, qdq_tune_kind *k, qdq_tune_kinds *all, qdq_error *err)
{
    const qdq_group_model_opts opts = {.halo = true, .range = f->range};
    const char *why;

    QDQ_TRY(list_schemes(f, k, err));
    if (k->n_schemes < 2)
        return QDQ_OK;
    QDQ_TRY(qdq_group_model_make(f->t->parts.fusions, k->group, &opts, &k->model, err));
    why = k->model->why;
    if (k->model->model != NULL)
        QDQ_TRY(qdq_legal_inputs(k->model, &f->t->arena, &why, err));
    if (why[0] != '\0')
        qdq_tune_skip_kind(f->t, all, k, why);
    return QDQ_OK;
}

static qdq_status fill_kinds(finding *f, qdq_tune_kinds *out, qdq_error *err)
{
    const qdq_tune_state *t = f->t;

    for (uint32_t u = 0; u < t->parts.keys->n; u++) {
        const size_t first = f->kinds.n;
        for (uint32_t i = 0; i < t->parts.keys->at[u].n_instances; i++)
            if (t->parts.problem.unit[u].n_choices > 0 &&
                qdq_tune_has_decision(t, u, i)) /* else users filtered it out */
                QDQ_TRY(add_instance(f, u, i, first, err));
    }
    out->at = f->kinds.at;
    out->n = f->kinds.n;
    for (size_t i = 0; i < out->n; i++)
        QDQ_TRY(fill_kind(f, &out->at[i], out, err));
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

qdq_status qdq_tune_find_kinds(qdq_tune_state *t, qdq_tune_kinds *out, qdq_error *err)
{
    finding f = {.t = t};

    *out = (qdq_tune_kinds){0};
    QDQ_TRY(qdq_tune_open_range(t, &f.range, err));
    qdq_status st = fill_kinds(&f, out, err);
    qdq_shape_range_close(f.range);
    return st;
}

void qdq_tune_kinds_free(qdq_tune_kinds *k)
{
    for (size_t i = 0; i < k->n; i++) {
        qdq_group_model_free(k->at[i].model);
        for (size_t s = 0; s < k->at[i].n_schemes; s++)
            qdq_plan_free(k->at[i].scheme[s].plan);
    }
}

void qdq_tune_apply_scheme(const qdq_tune_state *t, const qdq_tune_kind *k, size_t scheme,
                           uint32_t instance, qdq_assign *a)
{
    const qdq_choices *c = &t->parts.choices[k->unit];

    for (size_t i = 0; i < c->n; i++) {
        const uint32_t first = c->choice[i].group[k->at[0]], here = c->choice[i].group[instance];
        if (first != QDQ_NO_GROUP && here != QDQ_NO_GROUP)
            qdq_space_set_part(
                t->task.space, a, here,
                qdq_space_get_part(t->task.space, &k->scheme[scheme].what->bits, first));
    }
}
