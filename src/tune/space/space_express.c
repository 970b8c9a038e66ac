/* space_express.c - see space_edges.h: any placement, from wherever, in the space's words. Groups
 * and halves first; then edges are turned where the plan of those differs. */
#include "base/fail.h"
#include "tune/space/space_cover.h"
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
        const bool halves = qdq_space_has_halves(s, i),
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

/* A group whose activation and weight have codes, where placement cannot put the group: its weight,
 * and an edge. *any: there was one. */
static qdq_status keep_weights(const qdq_space *s, const qdq_plan *want, const qdq_plan *have,
                               qdq_assign *a, bool *any, qdq_error *err)
{
    qdq_cover there = {0}, here = {0};
    qdq_status st = qdq_cover_open(&there, s->clean, &s->labels, s->target, want, err);

    *any = false;
    if (st == QDQ_OK)
        st = qdq_cover_open(&here, s->clean, &s->labels, s->target, have, err);
    for (size_t i = 0; i < s->n_groups && st == QDQ_OK; i++) {
        const qdq_node *n = s->group[i].node;
        const qdq_target_op *op = qdq_target_find(s->target, n->type);
        if (qdq_space_get_part(s, a, i) == QDQ_PART_FULL && qdq_space_has_halves(s, i) &&
            is_covered(&there, n, op->weight) && !is_covered(&here, n, op->weight)) {
            qdq_space_set_part(s, a, i, QDQ_PART_WEIGHT);
            *any = true;
        }
    }
    qdq_cover_free(&there);
    qdq_cover_free(&here);
    return st;
}

/* Edges on which the two plans differ: turned, where they can be; else counted. */
static qdq_status turn_what_differs(const qdq_space *s, const qdq_plan *want, const qdq_plan *have,
                                    qdq_assign *a, size_t *missed, qdq_error *err)
{
    qdq_cover there = {0}, here = {0};
    qdq_status st = qdq_cover_open(&there, s->clean, &s->labels, s->target, want, err);

    if (st == QDQ_OK)
        st = qdq_cover_open(&here, s->clean, &s->labels, s->target, have, err);
    QDQ_FOR_NODES (n, s->clean->graph)
        for (uint32_t i = 0; i < n->n_in && i < 32 && st == QDQ_OK; i++) {
            const size_t edge = qdq_space_edge_of(s, n, i);
            if (is_covered(&there, n, i) == is_covered(&here, n, i))
                continue;
            if (edge != QDQ_NO_EDGE)
                qdq_space_flip(s, a, edge);
            else
                ++*missed;
        }
    qdq_cover_free(&there);
    qdq_cover_free(&here);
    return st;
}

static qdq_status turn_outputs(const qdq_space *s, const qdq_plan *want, const qdq_plan *have,
                               qdq_assign *a, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    bool *there, *here;
    qdq_status st = qdq_space_read_edges(s, want, &scratch, &there, err);

    if (st == QDQ_OK)
        st = qdq_space_read_edges(s, have, &scratch, &here, err);
    for (size_t i = s->n_edges; i > 0 && s->edge[i - 1].node == NULL && st == QDQ_OK; i--)
        if (there[i - 1] != here[i - 1])
            qdq_space_flip(s, a, i - 1);
    qdq_arena_free(&scratch);
    return st;
}

qdq_status qdq_space_express(const qdq_space *s, const qdq_plan *want, const qdq_plan *head,
                             qdq_engine *e, qdq_data *data, const qdq_quantize_opts *opts,
                             qdq_scales *known, qdq_arena *arena, qdq_assign *a, size_t *missed,
                             qdq_error *err)
{
    qdq_assign groups;
    qdq_plan *have = NULL;
    qdq_cover c;

    *missed = 0;
    QDQ_TRY(qdq_space_from_plan(s, want, &groups, arena, err));
    if (!qdq_assign_new(a, qdq_space_edge_bits(s), arena))
        return qdq_nomem(err);
    qdq_status st = qdq_cover_open(&c, s->clean, &s->labels, s->target, want, err);
    if (st == QDQ_OK)
        set_parts(s, &c, &groups, a);
    qdq_cover_free(&c);
    qdq_space_use_formats(s, a, want, true);
    for (bool again = true; again && st == QDQ_OK;) { /* each time fewer groups are on */
        qdq_plan_free(have);
        st = qdq_space_plan(s, a, head, e, data, opts, known, &have, err);
        if (st == QDQ_OK)
            st = keep_weights(s, want, have, a, &again, err);
    }
    if (st == QDQ_OK)
        st = turn_what_differs(s, want, have, a, missed, err);
    if (st == QDQ_OK)
        st = turn_outputs(s, want, have, a, err);
    qdq_plan_free(have);
    return st;
}
