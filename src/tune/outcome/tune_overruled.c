/* tune_overruled.c - rules of the target that the written plan contradicts, because of a
 * measurement. A rule is named where the plan of the rules and the written plan decide differently
 * about a node; nodes that only follow their neighbours name none. */
#include <string.h>

#include "base/fail.h"
#include "quant/place/place.h"
#include "target/target.h"
#include "tune/candidate/tune_files.h"
#include "tune/outcome/outcome.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"

/* Node label -> why the plan leaves it float. What a plan quantizes is not in its file. */
static qdq_status map_floats(const qdq_plan *p, qdq_map *nodes, qdq_error *err)
{
    bool ok = true;

    for (size_t i = 0; i < p->left_float.n && ok; i++)
        ok = qdq_map_set_ptr(nodes, p->left_float.at[i].node, p->left_float.at[i].reason);
    return qdq_allocated(ok, err);
}

/* One node more. `rule` is text of the target, or NULL: no rule speaks of it. */
static bool add_overruled(qdq_tune_state *t, const char *rule, const char *op, bool quantized)
{
    size_t i = 0;

    if (rule == NULL)
        return true;
    for (; i < t->outcome.overruled.n; i++) {
        qdq_tune_overruled *o = &t->outcome.overruled.at[i];
        if (strcmp(o->rule, rule) == 0 && strcmp(o->op, op) == 0 && o->quantized == quantized) {
            o->nodes++;
            return true;
        }
    }
    const qdq_tune_overruled o = {
        .rule = rule, .op = qdq_arena_strdup(&t->arena, op), .quantized = quantized, .nodes = 1};
    return o.op != NULL && QDQ_PUSH(&t->arena, &t->outcome.overruled, o);
}

/* Did a measurement put it there, and not a neighbour? */
static bool is_decided(const char *reason)
{
    return strcmp(reason, QDQ_PLACE_UNCHOSEN) == 0 || strcmp(reason, QDQ_SPACE_MOVES_FLOATS) == 0 ||
           strcmp(reason, QDQ_SPACE_GETS_FLOATS) == 0 || strcmp(reason, QDQ_SPACE_ONLY_WEIGHT) == 0;
}

/* The rule against codes at the inputs of an operator: its own, one that is off, or the key of the
 * target's list of operators without a kernel. NULL: no rule speaks of it. */
static const char *rule_against_codes(const qdq_target *t, const char *op)
{
    const qdq_target_op *rule = qdq_target_find(t, op);

    if (rule == NULL)
        rule = qdq_target_find_off(t, op);
    for (size_t i = 0; rule == NULL && i < t->none.n; i++)
        if (strcmp(t->none.at[i].op, op) == 0)
            return "no_kernel";
    return rule != NULL ? rule->rule : NULL;
}

static bool compare_plans(qdq_tune_state *t, const qdq_map *by_rules, const qdq_map *written,
                          const qdq_plan *p)
{
    bool ok = true;

    for (size_t i = 0; i < t->task.rules->left_float.n; i++) {
        const qdq_plan_float *f = &t->task.rules->left_float.at[i];
        if (qdq_map_get(written, f->node) == NULL)
            ok &= add_overruled(t, qdq_place_rule_against(t->task.target, f->op, f->reason), f->op,
                                true);
    }
    for (size_t i = 0; i < p->left_float.n; i++) {
        const qdq_plan_float *f = &p->left_float.at[i];
        const qdq_target_op *op = qdq_target_find(t->task.target, f->op);
        if (op != NULL && qdq_map_get(by_rules, f->node) == NULL && is_decided(f->reason))
            ok &= add_overruled(t, op->rule, f->op, false);
        if (strcmp(f->reason, QDQ_SPACE_GETS_CODES) == 0)
            ok &= add_overruled(t, rule_against_codes(t->task.target, f->op), f->op, true);
    }
    return ok;
}

qdq_status qdq_tune_find_overruled(qdq_tune_state *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "plan.json");
    qdq_map by_rules = QDQ_MAP_INIT, written = QDQ_MAP_INIT;
    qdq_plan *p = NULL;

    t->out->n_overruled = t->outcome.overruled.n = 0;
    if (t->out->verdict != QDQ_TUNED)
        return QDQ_OK;
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_plan_load(path, &p, err));
    qdq_status st = map_floats(t->task.rules, &by_rules, err);
    if (st == QDQ_OK)
        st = map_floats(p, &written, err);
    if (st == QDQ_OK && !compare_plans(t, &by_rules, &written, p))
        st = qdq_nomem(err);
    t->out->overruled = t->outcome.overruled.at;
    t->out->n_overruled = t->outcome.overruled.n;
    qdq_map_free(&by_rules);
    qdq_map_free(&written);
    qdq_plan_free(p);
    return st;
}
