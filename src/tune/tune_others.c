/* tune_others.c - what the rules of the other built-in targets place, in this target's types: another processor's rules may be the
 * better ones here. Each is tried late, and only where profiles do not rule it out. */
#include "tune/tune_state.h"

#include <string.h>

#include "base/fail.h"
#include "quant/place/place.h"
#include "quant/target_fit.h"
#include "target/target.h"

static bool is_known(const qdq_search_problem *p, const qdq_assign *a, size_t n_late)
{
    for (size_t i = 0; i < p->n_starts; i++)
        if (qdq_assign_equal(&p->start[i], a))
            return true;
    for (size_t i = 0; i < n_late; i++)
        if (qdq_assign_equal(&p->late[i], a))
            return true;
    return false;
}

static void keep_to(const qdq_assign *allowed, qdq_assign *a)
{
    for (size_t i = 0; allowed != NULL && i < a->n; i++)
        if (!qdq_assign_get(allowed, i))
            qdq_assign_set(a, i, false);
}

/* Where the rules of a target put Q/DQ, as far as the space has it. */
static qdq_status place(qdq_tuning *t, const qdq_target *other, qdq_assign *out, qdq_error *err)
{
    const qdq_place_opts po = {.exclude = t->quantize.exclude,
                               .include = t->quantize.include,
                               .op_types = t->quantize.op_types,
                               .exclude_op_types = t->quantize.exclude_op_types,
                               .finite = t->space->finite};
    qdq_plan *p = qdq_plan_new();

    qdq_status st = p != NULL ? qdq_place(t->clean, other, &po, p, err) : qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_space_from_plan(t->space, p, out, &t->arena, err);
    qdq_plan_free(p);
    return st;
}

static qdq_status place_by_name(qdq_tuning *t, const char *name, qdq_assign *out, qdq_error *err)
{
    qdq_target *other = NULL, *fitting = NULL;

    QDQ_TRY(qdq_target_load(name, &other, err));
    qdq_status st = qdq_target_fit(t->m, other, t->quantize.cpu, NULL, &fitting, err);
    if (st == QDQ_OK && qdq_format_weight_only(&other->format))
        st = qdq_assign_new(out, t->space->n_groups, &t->arena) ? QDQ_OK : qdq_nomem(err);
    else if (st == QDQ_OK)
        st = place(t, fitting != NULL ? fitting : other, out, err);
    qdq_target_free(fitting);
    qdq_target_free(other);
    return st;
}

qdq_status qdq_tune_find_others(qdq_tuning *t, qdq_error *err)
{
    size_t n_targets = 0, n = 0;
    const char *help, *name;

    while (qdq_target_name(n_targets, &help) != NULL)
        n_targets++;
    qdq_assign *late = qdq_arena_array(&t->arena, n_targets + 1, sizeof *late);
    const char **names = qdq_arena_array(&t->arena, n_targets + 1, sizeof *names);
    if (late == NULL || names == NULL)
        return qdq_nomem(err);
    t->problem.late = late;
    t->problem.late_name = names;
    for (size_t i = 0; (name = qdq_target_name(i, &help)) != NULL; i++) {
        if (strcmp(name, t->target->name) == 0)
            continue;
        QDQ_TRY(place_by_name(t, name, &late[n], err));
        keep_to(t->problem.allowed, &late[n]);
        if (qdq_assign_count(&late[n]) == 0 || is_known(&t->problem, &late[n], n))
            continue;
        names[n] = qdq_arena_printf(&t->arena, "rules of %s", name);
        if (names[n++] == NULL)
            return qdq_nomem(err);
    }
    t->problem.n_late = n;
    return QDQ_OK;
}
