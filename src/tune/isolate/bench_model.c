/* bench_model.c - isolated groups joined to one model. What a node is to its part is found by
 * names: those of the group are called as in the clean model; what else there is came with the
 * plan. */
#include "tune/isolate/bench_model.h"

#include <stdlib.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "tune/group/fusions_build.h"
#include "tune/isolate/group_plan.h"

/* The part that is added. */
typedef struct joiner {
    qdq_parts *p;
    const qdq_group_model *in;
    const qdq_model *model;
    uint32_t group;
    const char *prefix;
    qdq_error *err;
} joiner;

/* --- what nodes are --------------------------------------------------------------------------- */

/* The node of the clean model that one of a part is; NULL: it came with the plan, be it called like
 * a node that is not in the group's model. */
static const qdq_node *source_of(const joiner *j, const qdq_node *n)
{
    const qdq_node *s = qdq_map_get_ptr(&j->p->labels, n->name);

    for (uint32_t i = 0; s != NULL && i < s->n_out; i++)
        if (s->out[i] != NULL) {
            const qdq_value *v = qdq_graph_find(j->in->model->graph, s->out[i]->name);
            return v != NULL && v->producer != NULL ? s : NULL;
        }
    return NULL;
}

static qdq_part_role role_of(const qdq_group_model *g, const qdq_node *source)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->node[i] == source)
            return g->is_halo[i] ? QDQ_ROLE_HALO : QDQ_ROLE_OWN;
    return QDQ_ROLE_BESIDE;
}

/* The tensor of the clean model that a value of a part holds, as numbers or as codes. NULL: a
 * constant. */
static const qdq_value *tensor_of(const joiner *j, const qdq_value *v)
{
    while (v != NULL && v->producer != NULL) {
        const qdq_node *s = source_of(j, v->producer);
        if (s != NULL)
            return role_of(j->in, s) != QDQ_ROLE_BESIDE ? qdq_node_out(s, v->out_index) : NULL;
        v = qdq_node_in(v->producer, 0); /* Q, DQ, Cast */
    }
    return v != NULL && v->init == NULL ? qdq_graph_find(j->p->f->g.g, v->name) : NULL;
}

static bool is_of_other(const joiner *j, const qdq_node *n)
{
    const uint32_t *of = j->p->f->of;

    return n != NULL && of[n->id] != QDQ_NO_FUSION && of[n->id] != j->group;
}

static bool is_touched_by_others(const joiner *j, const qdq_value *v)
{
    bool touched = v != NULL && is_of_other(j, v->producer);

    for (const qdq_use *u = v != NULL ? v->first : NULL; u != NULL && !touched; u = u->next)
        touched = is_of_other(j, qdq_region_reader(j->p->f->g.g, u));
    return touched;
}

static qdq_part_node describe_node(const joiner *j, const qdq_node *n)
{
    const qdq_node *s = source_of(j, n);
    const bool is_cast = n->op == QDQ_OP_CAST;

    if (s != NULL)
        return (qdq_part_node){
            .part = j->p->n, .role = role_of(j->in, s), .light = qdq_fusion_is_light(s) || is_cast};
    return (qdq_part_node){.part = j->p->n,
                           .role = is_cast ? QDQ_ROLE_CAST : QDQ_ROLE_QDQ,
                           .light = true,
                           .boundary = is_touched_by_others(j, tensor_of(j, qdq_node_in(n, 0)))};
}

static qdq_status note_nodes(joiner *j)
{
    qdq_arena *arena = &j->p->arena;

    QDQ_FOR_NODES (n, j->model->graph) {
        const char *name = qdq_arena_printf(arena, "%s%s", j->prefix, n->name);
        qdq_part_node *at = qdq_arena_alloc(arena, sizeof *at);
        QDQ_NEED(at != NULL && qdq_map_set_ptr(&j->p->nodes, name, at), j->err);
        *at = describe_node(j, n);
    }
    return QDQ_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

static qdq_status add_shape(joiner *j, const qdq_group_input *in)
{
    const qdq_value *v = qdq_graph_find(j->model->graph, in->name);
    qdq_input_shape shape = {.name = qdq_arena_printf(&j->p->arena, "%s%s", j->prefix, in->name),
                             .rank = in->dims.rank};
    bool fixed = v != NULL && v->type != NULL && v->type->rank >= 0;

    for (int d = 0; fixed && d < v->type->rank; d++)
        fixed = v->type->dim[d].value >= 0;
    if (fixed)
        return QDQ_OK;
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = in->dims.dim[QDQ_SHAPE_OPT][d];
        if (shape.dim[d] < 0)
            return qdq_fail(j->err, QDQ_E_USAGE, "the usual shape of input '%s' is not known",
                            in->name);
    }
    return qdq_allocated(shape.name != NULL && QDQ_PUSH(&j->p->arena, &j->p->shape, shape), j->err);
}

/* --- all of it -------------------------------------------------------------------------------- */

qdq_status qdq_parts_new(const qdq_fusions *f, qdq_parts **out, qdq_error *err)
{
    qdq_parts *p = *out = calloc(1, sizeof *p);

    QDQ_NEED(p != NULL, err);
    p->f = f;
    p->model = qdq_model_new();
    return qdq_allocated(p->model != NULL && qdq_graph_map_labels(f->g.g, &p->arena, &p->labels),
                         err);
}

static const char *prefix_of(qdq_parts *p, uint32_t group)
{
    unsigned before = 0;

    for (uint32_t i = 0; i < p->n; i++)
        before += p->group.at[i] == group;
    return before == 0 ? qdq_arena_printf(&p->arena, "g%u/", (unsigned)group)
                       : qdq_arena_printf(&p->arena, "g%u.%u/", (unsigned)group, before);
}

static qdq_status join_part(joiner *j)
{
    qdq_parts *p = j->p;

    j->prefix = prefix_of(p, j->group);
    QDQ_NEED(j->prefix != NULL && QDQ_PUSH(&p->arena, &p->group, j->group), j->err);
    QDQ_TRY(qdq_model_join(p->model, j->model, j->prefix, j->err));
    QDQ_TRY(note_nodes(j));
    for (uint32_t i = 0; i < j->in->n_inputs; i++)
        QDQ_TRY(add_shape(j, &j->in->input[i]));
    p->n++;
    return QDQ_OK;
}

qdq_status qdq_parts_join(qdq_parts *p, uint32_t group, const qdq_group_model *in,
                          const qdq_plan *whole, qdq_insert_cache *cache, qdq_error *err)
{
    joiner j = {.p = p, .in = in, .group = group, .err = err};
    qdq_model *m;

    QDQ_TRY(qdq_group_plan_apply(p->f, in, whole, cache, &m, err));
    j.model = m;
    qdq_status st = join_part(&j);
    qdq_model_free(m);
    return st;
}

void qdq_parts_free(qdq_parts *p)
{
    if (p == NULL)
        return;
    qdq_model_free(p->model);
    qdq_map_free(&p->labels);
    qdq_map_free(&p->nodes);
    qdq_arena_free(&p->arena);
    free(p);
}
