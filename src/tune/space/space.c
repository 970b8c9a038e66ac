/* space.c - what there is to decide. Slot groups are what a placement without taste puts into 8
 * bits: the target's rules with their conditions on speed left out. With fewer nodes in 8 bits no
 * other one can get there, so that nothing is missed, but where a float node is in the way of the
 * one behind it (key "requantizes"): that is looked at without. */
#include "tune/space/space.h"

#include <stdlib.h>

#include "base/fail.h"
#include "quant/goal/node_cost.h"
#include "quant/place/place.h"
#include "tune/space/space_cover.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_types.h"

/* --- the target ------------------------------------------------------------------------------- */

/* What its engine cannot do or computes wrongly stays; what its author found slow goes. */
static qdq_status leave_out_taste(qdq_target *t, qdq_error *err)
{
    qdq_partitions *parts;

    if (t->partitions == NULL)
        return QDQ_OK;
    parts = qdq_arena_alloc(&t->arena, sizeof *parts);
    QDQ_NEED(parts != NULL, err);
    *parts = *t->partitions;
    parts->conv.rule = parts->gemm.rule = NULL;
    parts->attention.length_max = parts->attention.head_min = parts->attention.head_max = 0;
    parts->mask_add.n = 0;
    t->partitions = parts;
    t->disable_mha_qdq = false;
    if (t->layernorm_input == QDQ_LAYERNORM_CONV)
        t->layernorm_input = QDQ_LAYERNORM_ANY;
    return QDQ_OK;
}

/* An operator whose rule is off, or for other processors, runs all the same. One that copies has no
 * group: edges decide about it. */
static qdq_status switch_ops_on(qdq_target *t, qdq_error *err)
{
    for (size_t i = 0; i < t->off.n; i++) {
        const qdq_target_op *op = &t->off.at[i];
        if (op->kind != QDQ_KIND_PASS && qdq_target_find(t, op->op) == NULL &&
            !QDQ_PUSH(&t->arena, &t->ops, *op))
            return qdq_nomem(err);
    }
    for (size_t i = 0; i < t->ops.n; i++)
        t->ops.at[i].only_between = false;
    return QDQ_OK;
}

static qdq_status copy_target(qdq_space *s, qdq_error *err)
{
    QDQ_TRY(qdq_target_with(s->requested, "stay_float", "[]", &s->target, err));
    QDQ_TRY(switch_ops_on(s->target, err));
    for (size_t i = 0; i < s->requested->stay.n; i++)
        if (s->requested->stay.at[i].engine != NULL &&
            !QDQ_PUSH(&s->target->arena, &s->target->stay, s->requested->stay.at[i]))
            return qdq_nomem(err);
    return leave_out_taste(s->target, err);
}

/* --- groups ----------------------------------------------------------------------------------- */

typedef QDQ_VEC(qdq_decision) groups;

/* The inputs that the plan gives codes, not those that had some before. */
static uint32_t covered_inputs(const qdq_cover *c, const qdq_node *n)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < n->n_in && i < 32; i++)
        if (qdq_cover_input(c, n, i) == QDQ_COVERED_BY_PLAN)
            mask |= (uint32_t)1 << i;
    return mask;
}

static qdq_status add_group(qdq_space *s, groups *all, const qdq_node *n, uint32_t inputs,
                            bool linear, qdq_error *err)
{
    const qdq_decision g = {n, inputs, linear, qdq_node_time(n, false)};

    if (s->first_group[n->id] == QDQ_NO_GROUP)
        s->first_group[n->id] = (uint32_t)all->n;
    return QDQ_PUSH(&s->arena, all, g) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status add_groups(qdq_space *s, groups *all, const qdq_cover *full, const qdq_node *n,
                             qdq_error *err)
{
    const qdq_target_op *op = qdq_target_find(s->target, n->type);

    if (op == NULL || op->kind == QDQ_KIND_PASS || !qdq_cover_is_fresh(full, n))
        return QDQ_OK;
    bool linear = op->kind != QDQ_KIND_JOINT;
    uint32_t inputs = covered_inputs(full, n);

    if (linear)
        inputs &= (uint32_t)1 << op->data | qdq_target_weights(op);
    if (inputs == 0)
        return QDQ_OK;
    if (linear || s->target->partitions == NULL)
        return add_group(s, all, n, inputs, linear, err);
    for (uint32_t i = 0; i < 32; i++)
        if ((inputs >> i & 1) != 0)
            QDQ_TRY(add_group(s, all, n, (uint32_t)1 << i, false, err));
    return QDQ_OK;
}

/* --- from a plan ------------------------------------------------------------------------------ */

/* The weight of an imported plan may be float: whoever has codes for the activation alone has them
 * for nothing, and meant both. */
static bool is_left_out(const qdq_cover *c, const qdq_decision *g, uint32_t input)
{
    const qdq_target_op *op = qdq_target_find(c->target, g->node->type);
    bool weight = g->linear && op != NULL && input == (uint32_t)op->weight &&
                  g->inputs != (uint32_t)1 << input && qdq_node_const(g->node, input) != NULL;

    return qdq_cover_input(c, g->node, input) == QDQ_COVERED_NOT && !weight;
}

static bool is_on(const qdq_cover *c, const qdq_decision *g)
{
    for (uint32_t i = 0; i < 32 && i < g->node->n_in; i++)
        if ((g->inputs >> i & 1) != 0 && is_left_out(c, g, i))
            return false;
    return qdq_cover_runs(c, g->node);
}

qdq_status qdq_space_from_plan(const qdq_space *s, const qdq_plan *p, qdq_assign *out,
                               qdq_arena *arena, qdq_error *err)
{
    qdq_cover c;
    qdq_status st = qdq_cover_open(&c, s, p, err);

    if (st == QDQ_OK && !qdq_assign_new(out, s->n_groups, arena))
        st = qdq_nomem(err);
    for (size_t i = 0; i < s->n_groups && st == QDQ_OK; i++)
        qdq_assign_set(out, i, is_on(&c, &s->group[i]));
    qdq_cover_free(&c);
    return st;
}

/* --- all -------------------------------------------------------------------------------------- */

static qdq_status place_target(const qdq_space *s, const qdq_target *t,
                               const qdq_quantize_opts *opts, qdq_plan *p, qdq_error *err)
{
    const qdq_place_opts po = {.exclude = opts->exclude,
                               .include = opts->include,
                               .op_types = opts->op_types,
                               .exclude_op_types = opts->exclude_op_types,
                               .finite = s->finite};

    return qdq_place(s->clean, t, &po, p, err);
}

qdq_status qdq_space_place_all(const qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                               qdq_error *err)
{
    qdq_target t = *s->target;

    t.requantizes = NULL;
    return place_target(s, &t, opts, p, err);
}

static qdq_status find_groups(qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                              qdq_error *err)
{
    groups all = {0};
    qdq_cover full;

    s->first_group = qdq_arena_array(&s->arena, (size_t)s->clean->graph->next_node_id + 1,
                                     sizeof *s->first_group);
    QDQ_NEED(s->first_group != NULL, err);
    for (uint32_t i = 0; i <= s->clean->graph->next_node_id; i++)
        s->first_group[i] = QDQ_NO_GROUP;
    QDQ_TRY(qdq_space_place_all(s, opts, p, err));
    qdq_status st = qdq_cover_open(&full, s, p, err);
    QDQ_FOR_NODES (n, s->clean->graph)
        if (st == QDQ_OK)
            st = add_groups(s, &all, &full, n, err);
    qdq_cover_free(&full);
    s->group = all.at;
    s->n_groups = all.n;
    return st;
}

static qdq_status find_rules(qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                             qdq_error *err)
{
    qdq_plan_clear(p);
    QDQ_TRY(place_target(s, s->requested, opts, p, err));
    return qdq_space_from_plan(s, p, &s->rules, &s->arena, err);
}

static qdq_status fill_space(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err)
{
    qdq_plan *p = qdq_plan_new();
    bool ok = p != NULL && qdq_graph_map_labels(s->clean->graph, &s->arena, &s->labels);
    qdq_status st = ok ? copy_target(s, err) : qdq_nomem(err);

    if (st == QDQ_OK)
        st = find_groups(s, opts, p, err);
    if (st == QDQ_OK)
        st = qdq_space_find_edges(s, opts, err);
    if (st == QDQ_OK)
        st = qdq_space_find_typed(s, err);
    if (st == QDQ_OK)
        st = qdq_space_find_forms(s, opts, err);
    if (st == QDQ_OK)
        st = find_rules(s, opts, p, err);
    qdq_plan_free(p);
    return st;
}

qdq_status qdq_space_new(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_space **out, qdq_error *err)
{
    qdq_space *s = calloc(1, sizeof *s);
    qdq_status st = QDQ_OK;

    *out = NULL;
    QDQ_NEED(s != NULL, err);
    s->clean = clean;
    s->requested = t;
    s->finite = calloc(1, sizeof *s->finite);
    st = s->finite != NULL ? fill_space(s, opts, err) : qdq_nomem(err);
    return QDQ_HAND_OVER(s, st, out, qdq_space_free);
}

void qdq_space_free(qdq_space *s)
{
    if (s == NULL)
        return;
    qdq_target_free(s->target);
    if (s->finite != NULL)
        qdq_map_free(s->finite);
    free(s->finite);
    qdq_map_free(&s->labels);
    qdq_arena_free(&s->arena);
    free(s);
}

const qdq_node *qdq_space_node(const qdq_space *s, const char *label)
{
    return qdq_map_get_ptr(&s->labels, label);
}

uint32_t qdq_space_group_of(const qdq_space *s, const qdq_node *n, uint32_t input)
{
    uint32_t i = s->first_group[n->id];

    for (; i < s->n_groups && s->group[i].node == n; i++)
        if (input < 32 ? (s->group[i].inputs >> input & 1) != 0 : !s->group[i].linear)
            return i;
    return QDQ_NO_GROUP;
}

size_t qdq_space_groups_beside(const qdq_space *s, size_t group)
{
    const qdq_node *n = s->group[group].node;
    const size_t first = s->first_group[n->id];
    size_t end = first;

    while (end < s->n_groups && s->group[end].node == n)
        end++;
    return end - first;
}
