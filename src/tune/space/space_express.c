/* space_express.c - any placement, from wherever, in the space's words. Groups
 * and halves first; then edges are turned where the plan of those differs. */
#include "base/fail.h"
#include "tune/space/space_cover.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_formats.h"
#include "tune/space/space_partial.h"

static bool is_covered(const qdq_cover *c, const qdq_node *n, uint32_t input)
{
    return qdq_cover_input(c, n, input) == QDQ_COVERED_BY_PLAN;
}

/* To the letter: an activation alone does not mean its weight, too. */
static void set_parts(const qdq_space *s, const qdq_cover *want, const qdq_assign *groups,
                      qdq_assign *a)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        const qdq_node *n = s->group[i].node;
        const qdq_target_op *op = qdq_target_find(s->target, n->type);
        const bool halves = qdq_space_has_partial(s, i),
                   weight = halves && is_covered(want, n, op->weight),
                   data = halves && is_covered(want, n, op->data),
                   whole = halves ? weight && data : qdq_assign_get(groups, i);

        qdq_space_set_part(s, a, i,
                           whole    ? QDQ_PART_FULL
                           : weight ? QDQ_PART_WEIGHT
                           : data   ? QDQ_PART_ACTIVATION
                                    : QDQ_PART_NONE);
    }
}

static bool is_of_form(const qdq_plan_weight *w, const qdq_format *f)
{
    return w->store == f->weight_store &&
           (qdq_format_dynamic(f) ||
            (w->type == f->weight.type && w->block == f->weight_block &&
             w->asymmetric == !f->weight.symmetric && w->accuracy_level == f->accuracy_level));
}

/* Operators in other formats than the target's. */
static void set_forms(const qdq_space *s, const qdq_plan *want, const qdq_cover *c, qdq_assign *a)
{
    for (size_t i = 0; i < s->n_formed; i++) {
        const qdq_node *n = s->formed[i].node;
        const size_t at = qdq_cover_weight(c, n, qdq_target_find(s->target, n->type)->weight);
        if (at > 0 && is_of_form(&want->weights.at[at - 1], &s->forms.at[s->formed[i].form].format))
            qdq_space_set_form(s, a, i);
    }
}

/* A group whose activation and weight have codes, where placement cannot put the group: its weight,
 * and an edge. Returns whether there was one. */
static bool keep_weights(const qdq_space *s, const qdq_cover *want, const qdq_cover *have,
                         qdq_assign *a)
{
    bool any = false;

    for (size_t i = 0; i < s->n_groups; i++) {
        const qdq_node *n = s->group[i].node;
        const qdq_target_op *op = qdq_target_find(s->target, n->type);
        if (qdq_space_get_part(s, a, i) == QDQ_PART_FULL && qdq_space_has_partial(s, i) &&
            is_covered(want, n, op->weight) && !is_covered(have, n, op->weight)) {
            qdq_space_set_part(s, a, i, QDQ_PART_WEIGHT);
            any = true;
        }
    }
    return any;
}

static bool is_output_covered(const qdq_cover *c, const qdq_space_edge *e)
{
    return qdq_cover_tensor(c, e->value->name, NULL, 0) > 0;
}

/* Turns edges on which the two plans differ, where they can be; outputs are the last ones. */
static void turn_what_differs(const qdq_space *s, const qdq_cover *want, const qdq_cover *have,
                              qdq_assign *a)
{
    QDQ_FOR_NODES (n, s->clean->graph)
        for (uint32_t i = 0; i < n->n_in && i < 32; i++) {
            const size_t edge = qdq_space_edge_of(s, n, i);
            if (is_covered(want, n, i) != is_covered(have, n, i) && edge != QDQ_NO_EDGE)
                qdq_space_flip(s, a, edge);
        }
    for (size_t i = s->n_edges; i > 0 && s->edge[i - 1].node == NULL; i--)
        if (is_output_covered(want, &s->edge[i - 1]) != is_output_covered(have, &s->edge[i - 1]))
            qdq_space_flip(s, a, i - 1);
}

/* *again: groups were taken out; else the edges are turned. */
static qdq_status come_nearer(const qdq_space *s, const qdq_cover *want,
                              const qdq_space_scaling *from, qdq_assign *a, bool *again,
                              qdq_error *err)
{
    qdq_plan *p;
    qdq_cover have;

    QDQ_TRY(qdq_space_plan(s, a, from, &p, err));
    qdq_status st = qdq_cover_open(&have, s, p, err);
    *again = st == QDQ_OK && keep_weights(s, want, &have, a);
    if (st == QDQ_OK && !*again)
        turn_what_differs(s, want, &have, a);
    qdq_cover_free(&have);
    qdq_plan_free(p);
    return st;
}

qdq_status qdq_space_express(const qdq_space *s, const qdq_plan *want,
                             const qdq_space_scaling *from, qdq_arena *arena, qdq_assign *a,
                             qdq_error *err)
{
    qdq_assign groups;
    qdq_cover c;
    bool again = true;

    QDQ_TRY(qdq_space_from_plan(s, want, &groups, arena, err));
    QDQ_NEED(qdq_assign_new(a, qdq_space_edge_bits(s), arena), err);
    qdq_status st = qdq_cover_open(&c, s, want, err);
    if (st == QDQ_OK) {
        set_parts(s, &c, &groups, a);
        set_forms(s, want, &c, a);
        qdq_space_use_formats(s, a, want, true);
    }
    while (again && st == QDQ_OK) /* each time fewer groups are on */
        st = come_nearer(s, &c, from, a, &again, err);
    qdq_cover_free(&c);
    return st;
}
