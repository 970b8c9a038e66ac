/* space_plan.c - the plan of an assignment. Placement is done again for each one, with what it
 * leaves out as its user's wish: so every plan without halves is one that quantize could have
 * made. */
#include <assert.h>

#include "base/fail.h"
#include "base/opts.h"
#include "quant/quantize_steps.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_formats.h"
#include "tune/space/space_partial.h"
#include "tune/space/space_types.h"

/* What the first plan said, no other one says again. */
static qdq_quantize_opts without_talk(const qdq_quantize_opts *opts, qdq_job *quiet)
{
    qdq_quantize_opts own = *opts;

    *quiet = qdq_job_copy(opts->job);
    quiet->log = NULL;
    own.job = quiet;
    own.why = NULL;
    return own;
}

/* --- a plan ----------------------------------------------------------------------------------- */

/* Inputs of n that the assignment quantizes. */
static uint32_t chosen_inputs(const qdq_space *s, const qdq_assign *a, const qdq_node *n)
{
    uint32_t mask = 0;

    for (uint32_t i = s->first_group[n->id]; i < s->n_groups && s->group[i].node == n; i++)
        if (qdq_assign_get(a, i))
            mask |= s->group[i].inputs;
    return mask;
}

/* Where edges are placed, what has no group never gets Q/DQ. Elsewhere neighbours decide, and a
 * node without a group stays free: it goes along with one that it fuses into. */
static uint32_t stay_of(const qdq_space *s, const qdq_assign *a, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(s->target, n->type);
    uint32_t first = s->first_group[n->id], chosen = chosen_inputs(s, a, n);
    bool by_edge = s->target->partitions != NULL && op != NULL && op->kind == QDQ_KIND_JOINT;

    if (by_edge)
        return chosen == 0 ? UINT32_MAX : ~chosen;
    return first != QDQ_NO_GROUP && chosen == 0 ? UINT32_MAX : 0;
}

/* What an assignment makes of nodes. */
typedef struct choices {
    /* by node id: inputs that stay float */
    uint32_t *stay;
    /* by node id: formats of nodes that have another one than the target's; NULL: none */
    const qdq_format *const *formats;
} choices;

static qdq_status find_choices(const qdq_space *s, const qdq_assign *a, qdq_arena *scratch,
                               choices *out, qdq_error *err)
{
    out->stay =
        qdq_arena_array(scratch, (size_t)s->clean->graph->next_node_id + 1, sizeof *out->stay);
    QDQ_NEED(out->stay != NULL, err);
    QDQ_TRY(qdq_space_node_formats(s, a, scratch, &out->formats, err));
    QDQ_FOR_NODES (n, s->clean->graph)
        out->stay[n->id] =
            out->formats != NULL && out->formats[n->id] != NULL ? 0 : stay_of(s, a, n);
    return QDQ_OK;
}

static qdq_status make_plan(const qdq_space *s, const qdq_assign *a, const choices *of,
                            const qdq_space_scaling *from, qdq_plan *p, qdq_error *err)
{
    qdq_job quiet;
    qdq_space_scaling silent = *from;
    const qdq_quantize_opts opts = without_talk(from->opts, &quiet);
    const qdq_plan_half *rest = &from->head->half;
    const qdq_quantizing q = {.m = s->clean,
                              .target = s->target,
                              .engine = from->engine,
                              .data = from->data,
                              .opts = &opts,
                              .basis = {.known = from->known,
                                        .finite = s->finite,
                                        .stay = of->stay,
                                        .formats = of->formats,
                                        .bodies = s->requested,
                                        .folds = from->folds,
                                        .half = rest->type != QDQ_UNDEFINED ? rest : NULL},
                              .plan = p};

    silent.opts = &opts;
    QDQ_TRY(qdq_quantize_again(from->head, p, err));
    QDQ_TRY(qdq_quantize_plan(&q, err));
    QDQ_TRY(qdq_space_add_partial(s, a, &silent, p, err));
    QDQ_TRY(qdq_space_turn_edges(s, a, &silent, p, err));
    QDQ_TRY(qdq_space_retype(s, a, &silent, p, err));
    return qdq_space_give_formats(s, a, p, err);
}

qdq_status qdq_space_plan(const qdq_space *s, const qdq_assign *a, const qdq_space_scaling *from,
                          qdq_plan **out, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    choices of = {0};
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p != NULL ? find_choices(s, a, &scratch, &of, err) : qdq_nomem(err);

    assert(a->n == s->n_groups || a->n == qdq_space_scheme_bits(s) ||
           a->n == qdq_space_edge_bits(s));
    if (st == QDQ_OK)
        st = make_plan(s, a, &of, from, p, err);
    qdq_arena_free(&scratch);
    return QDQ_HAND_OVER(p, st, out, qdq_plan_free);
}
