/* scales.c - stores scales of tensors for the next plan of the same model. */
#include "quant/calib/scales.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"

/* --- activations ------------------------------------------------------------------------------ */

/* Keys of the entries of one plan. */
typedef struct keys {
    qdq_arena scratch;
    /* group -> hash over the names of its members, in the order of the plan */
    qdq_map groups;
} keys;

static qdq_status add_member(keys *k, const qdq_plan_tensor *t, qdq_error *err)
{
    qdq_map_value *v = qdq_map_put(&k->groups, t->group, NULL);

    QDQ_NEED(v != NULL, err);
    v->num = XXH3_64bits_withSeed(t->tensor, strlen(t->tensor) + 1, v->num + 1);
    return QDQ_OK;
}

static qdq_status start_keys(keys *k, const qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++)
        if (plan->tensors.at[i].group != NULL && plan->tensors.at[i].like == NULL)
            QDQ_TRY(add_member(k, &plan->tensors.at[i], err));
    return QDQ_OK;
}

static void end_keys(keys *k)
{
    qdq_map_free(&k->groups);
    qdq_arena_free(&k->scratch);
}

/* NULL: out of memory. */
static const char *key_of(const keys *k, const qdq_plan_tensor *t, qdq_arena *arena)
{
    const char *decides = t->like != NULL ? t->like : t->tensor;
    const qdq_map_value *group = t->group != NULL ? qdq_map_get(&k->groups, t->group) : NULL;
    const uint64_t without =
        t->n_without > 0 ? XXH3_64bits(t->without, t->n_without * sizeof *t->without) : 0;
    char form[QDQ_ACTIVATION_NAME] = "";

    if (t->form != NULL)
        qdq_format_describe_activation(t->form, form, sizeof form);
    return qdq_arena_printf(arena, "%d %s %" PRIx64 " %" PRIx64 " %s", (int)qdq_plan_asked(t), form,
                            group != NULL ? group->num : 0, without, decides);
}

typedef struct scale {
    qdq_qparam qparam;
    /* as in qdq_plan_tensor */
    qdq_qparam *fold;
} scale;

/* Folds are copied: their numbers change places while a plan is evaluated. */
static qdq_status take_scale(const qdq_scales *s, const scale *from, qdq_plan *plan,
                             qdq_plan_tensor *t, qdq_error *err)
{
    t->qparam = from->qparam;
    t->fold = NULL;
    plan->n_folds = s->n_folds;
    if (from->fold == NULL)
        return QDQ_OK;
    t->fold = qdq_arena_copy(&plan->arena, from->fold, s->n_folds, sizeof *t->fold);
    return qdq_allocated(t->fold != NULL, err);
}

static qdq_status give_scales(const qdq_scales *s, keys *k, qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++) {
        qdq_plan_tensor *t = &plan->tensors.at[i];

        if (t->known)
            continue;
        const char *key = key_of(k, t, &k->scratch);
        QDQ_NEED(key != NULL, err);
        const scale *kept = qdq_map_get_ptr(&s->by_use, key);
        if (kept == NULL)
            continue;
        t->asked = qdq_plan_asked(t); /* of a part that is taken back it counts again */
        QDQ_TRY(take_scale(s, kept, plan, t, err));
        t->from_plan = true;
    }
    return QDQ_OK;
}

/* Of tensors with one range, all or none: else those that are missing would be calibrated without
 * the others. */
static qdq_status take_back_parts(const qdq_plan *plan, qdq_error *err)
{
    qdq_map broken = QDQ_MAP_INIT;
    bool ok = true;

    for (size_t i = 0; i < plan->tensors.n && ok; i++) {
        const qdq_plan_tensor *t = &plan->tensors.at[i];

        if (t->group != NULL && !t->known && !t->from_plan)
            ok = qdq_map_put(&broken, t->group, NULL) != NULL;
    }
    for (size_t i = 0; i < plan->tensors.n && ok; i++) {
        qdq_plan_tensor *t = &plan->tensors.at[i];

        if (t->from_plan && t->group != NULL && qdq_map_get(&broken, t->group) != NULL)
            t->from_plan = false;
        t->known |= t->from_plan;
    }
    qdq_map_free(&broken);
    return qdq_allocated(ok, err);
}

qdq_status qdq_scales_give(const qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    keys k = {.scratch = QDQ_ARENA_INIT, .groups = QDQ_MAP_INIT};
    qdq_status st = start_keys(&k, plan, err);

    if (st == QDQ_OK)
        st = give_scales(s, &k, plan, err);
    if (st == QDQ_OK)
        st = take_back_parts(plan, err);
    end_keys(&k);
    return st;
}

/* --- means ------------------------------------------------------------------------------------ */

static const char *key_of_mean(const qdq_plan_mean *m, qdq_arena *arena)
{
    return qdq_arena_printf(arena, "%d %zu %zu %s", m->axis, m->n, m->rows, m->tensor);
}

qdq_status qdq_scales_give_means(const qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < plan->means.n && st == QDQ_OK; i++) {
        qdq_plan_mean *m = &plan->means.at[i];
        const char *key = key_of_mean(m, &scratch);
        const qdq_plan_mean *kept = key != NULL ? qdq_map_get_ptr(&s->means, key) : NULL;

        st = qdq_allocated(key != NULL, err);
        if (kept == NULL)
            continue;
        memcpy(m->sum, kept->sum, m->rows * m->n * sizeof *m->sum);
        memcpy(m->count, kept->count, m->rows * m->n * sizeof *m->count);
        memcpy(m->most, kept->most, m->rows * m->n * sizeof *m->most);
        m->known = true;
    }
    qdq_arena_free(&scratch);
    return st;
}

static qdq_status keep_mean(qdq_scales *s, const qdq_plan_mean *m, qdq_error *err)
{
    const char *key = key_of_mean(m, &s->arena);
    const size_t n = m->rows * m->n;
    qdq_plan_mean *kept = qdq_arena_copy(&s->arena, m, 1, sizeof *m);

    QDQ_NEED(kept != NULL, err);
    kept->sum = qdq_arena_copy(&s->arena, m->sum, n, sizeof *m->sum);
    kept->count = qdq_arena_copy(&s->arena, m->count, n, sizeof *m->count);
    kept->most = qdq_arena_copy(&s->arena, m->most, n, sizeof *m->most);
    return qdq_allocated(kept->sum != NULL && kept->count != NULL && kept->most != NULL &&
                             qdq_map_set_ptr(&s->means, key, kept),
                         err);
}

static qdq_status keep_means(qdq_scales *s, const qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->means.n; i++)
        if (!plan->means.at[i].known)
            QDQ_TRY(keep_mean(s, &plan->means.at[i], err));
    return QDQ_OK;
}

/* --- joins ------------------------------------------------------------------------------------ */

void qdq_scales_give_joins(const qdq_scales *s, qdq_plan *plan)
{
    for (size_t i = 0; i < plan->joins.n; i++) {
        qdq_plan_join *j = &plan->joins.at[i];
        const qdq_plan_join *kept = qdq_map_get_ptr(&s->joins, j->result);

        if (kept == NULL)
            continue;
        j->factor = kept->factor;
        j->wide = kept->wide;
        j->narrow = kept->narrow;
        j->known = true;
    }
}

static qdq_status keep_join(qdq_scales *s, const qdq_plan_join *j, qdq_error *err)
{
    qdq_plan_join join = {.factor = j->factor};

    join.wide = qdq_arena_strdup(&s->arena, j->wide != NULL ? j->wide : "");
    join.narrow = qdq_arena_strdup(&s->arena, j->narrow != NULL ? j->narrow : "");
    const qdq_plan_join *kept = qdq_arena_copy(&s->arena, &join, 1, sizeof join);
    return qdq_allocated(
        join.wide != NULL && join.narrow != NULL && kept != NULL &&
            qdq_map_set_ptr(&s->joins, qdq_arena_strdup(&s->arena, j->result), kept),
        err);
}

qdq_status qdq_scales_keep_joins(qdq_scales *s, const qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->joins.n; i++)
        if (!plan->joins.at[i].known)
            QDQ_TRY(keep_join(s, &plan->joins.at[i], err));
    return QDQ_OK;
}

/* --- after calibration ------------------------------------------------------------------------ */

static qdq_status keep_scale(qdq_scales *s, const keys *k, qdq_plan_tensor *t, qdq_error *err)
{
    if (t->from_plan) {
        t->known = t->from_plan = false;
        return QDQ_OK;
    }
    if (t->known)
        return QDQ_OK;
    scale *kept = qdq_arena_alloc(&s->arena, sizeof *kept);
    QDQ_NEED(kept != NULL && qdq_map_set_ptr(&s->by_use, key_of(k, t, &s->arena), kept), err);
    kept->qparam = t->qparam;
    if (t->fold != NULL)
        kept->fold = qdq_arena_copy(&s->arena, t->fold, s->n_folds, sizeof *kept->fold);
    return qdq_allocated(t->fold == NULL || kept->fold != NULL, err);
}

qdq_status qdq_scales_keep(qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    keys k = {.scratch = QDQ_ARENA_INIT, .groups = QDQ_MAP_INIT};
    qdq_status st = start_keys(&k, plan, err);

    if (plan->n_folds > 0)
        s->n_folds = plan->n_folds;
    for (size_t i = 0; i < plan->tensors.n && st == QDQ_OK; i++)
        st = keep_scale(s, &k, &plan->tensors.at[i], err);
    end_keys(&k);
    return st == QDQ_OK ? keep_means(s, plan, err) : st;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* All that the search depends on beside the numbers of the weight. NULL: out of memory. */
static const char *weight_key(const qdq_plan_weight *w, qdq_arena *arena)
{
    return qdq_arena_printf(arena, "%d %d %lld %d%d%d %s", (int)w->type, w->axis,
                            (long long)w->block, w->asymmetric, w->reduced, w->pairs, w->tensor);
}

static bool is_searched(const qdq_plan_weight *w)
{
    return qdq_weight_method_is_mse(w->method) && w->scales == NULL;
}

typedef struct clip {
    const char *letters;
    size_t n;
    double step;
} clip;

qdq_status qdq_scales_give_clips(const qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->weights.n; i++) {
        qdq_plan_weight *w = &plan->weights.at[i];

        if (!is_searched(w) || w->clip != NULL)
            continue;
        const char *key = weight_key(w, &plan->arena);
        QDQ_NEED(key != NULL, err);
        const clip *c = qdq_map_get_ptr(&s->weights.clips, key);
        if (c == NULL)
            continue;
        w->clip = qdq_arena_strndup(&plan->arena, c->letters, c->n);
        QDQ_NEED(w->clip != NULL, err);
        w->n_scales = c->n;
        w->clip_step = c->step;
    }
    return QDQ_OK;
}

static qdq_status keep_clip(qdq_scales *s, const qdq_plan_weight *w, qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&s->arena);
    const char *key = weight_key(w, &s->arena);

    if (key != NULL && qdq_map_get(&s->weights.clips, key) != NULL) {
        qdq_arena_reset(&s->arena, mark);
        return QDQ_OK;
    }
    const clip entry = {qdq_arena_strndup(&s->arena, w->clip, w->n_scales), w->n_scales,
                        w->clip_step};
    const clip *c = qdq_arena_copy(&s->arena, &entry, 1, sizeof entry);
    return qdq_allocated(
        entry.letters != NULL && c != NULL && qdq_map_set_ptr(&s->weights.clips, key, c), err);
}

qdq_status qdq_scales_keep_clips(qdq_scales *s, const qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->weights.n; i++)
        if (is_searched(&plan->weights.at[i]) && plan->weights.at[i].clip != NULL)
            QDQ_TRY(keep_clip(s, &plan->weights.at[i], err));
    return QDQ_OK;
}

/* What GPTQ made of a weight. */
typedef struct rounded {
    /* scales NULL: nothing */
    qdq_plan_weight entry;
    qdq_plan_rounding said;
} rounded;

static const qdq_plan_rounding *find_said(const qdq_plan *plan, const char *weight)
{
    for (size_t i = 0; i < plan->rounded.n; i++)
        if (strcmp(plan->rounded.at[i].weight, weight) == 0)
            return &plan->rounded.at[i];
    return NULL;
}

qdq_status qdq_scales_give_codes(const qdq_scales *s, qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->weights.n; i++) {
        qdq_plan_weight *w = &plan->weights.at[i];

        if (!qdq_weight_method_is_gptq(w->method) || w->scales != NULL)
            continue;
        const char *key = weight_key(w, &plan->arena);
        QDQ_NEED(key != NULL, err);
        const rounded *r = qdq_map_get_ptr(&s->weights.rounded, key);
        if (r == NULL)
            continue;
        w->is_rounded = true;
        w->numbers = r->entry.numbers;
        w->scales = r->entry.scales;
        w->zero_points = r->entry.zero_points;
        w->n_scales = r->entry.n_scales;
        w->codes = r->entry.codes;
        w->codes_size = r->entry.codes_size;
        QDQ_NEED(qdq_plan_own_weight(plan, w) && QDQ_PUSH(&plan->arena, &plan->rounded, r->said),
                 err);
        plan->rounded.at[plan->rounded.n - 1].weight = w->tensor;
    }
    return QDQ_OK;
}

static qdq_status keep_codes(qdq_scales *s, const qdq_plan_weight *w, const qdq_plan_rounding *said,
                             qdq_error *err)
{
    const char *key = weight_key(w, &s->arena);
    rounded *r = qdq_arena_alloc(&s->arena, sizeof *r);

    QDQ_NEED(key != NULL && r != NULL, err);
    r->said = *said;
    r->entry = *w;
    r->entry.tensor = r->said.weight = "";
    if (w->numbers != NULL) {
        QDQ_NEED(QDQ_PUSH(&s->arena, &s->weights.numbers, w->numbers), err);
        qdq_mapping_ref(w->numbers);
    }
    return qdq_allocated(qdq_map_set_ptr(&s->weights.rounded, key, r), err);
}

qdq_status qdq_scales_keep_codes(qdq_scales *s, const qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->weights.n; i++) {
        const qdq_plan_weight *w = &plan->weights.at[i];
        const qdq_plan_rounding *said = find_said(plan, w->tensor);

        if (qdq_weight_method_is_gptq(w->method) && !w->is_rounded && said != NULL)
            QDQ_TRY(keep_codes(s, w, said, err));
    }
    return QDQ_OK;
}

void qdq_weight_finds_free(qdq_weight_finds *s)
{
    for (size_t i = 0; i < s->numbers.n; i++)
        qdq_mapping_unref(s->numbers.at[i]);
    s->numbers.n = 0;
    qdq_map_free(&s->clips);
    qdq_map_free(&s->rounded);
}

void qdq_scales_free(qdq_scales *s)
{
    qdq_weight_finds_free(&s->weights);
    qdq_map_free(&s->by_use);
    qdq_map_free(&s->means);
    qdq_map_free(&s->joins);
    qdq_arena_free(&s->arena);
}
