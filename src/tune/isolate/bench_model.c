/* bench_model.c - isolated groups joined to one model. What a node is to its part is found by
 * names: those of the group are called as in the clean model; what else there is came with the
 * plan. */
#include "tune/isolate/bench_model.h"

#include <stdlib.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "tune/group/fusions_build.h"

typedef struct joiner {
    const qdq_fusions *f;
    const qdq_part *part;
    qdq_parts *out;
    qdq_arena scratch;
    /* of the clean model -> node */
    qdq_map labels;
    QDQ_VEC(qdq_input_shape) shape;
    qdq_error *err;
} joiner;

/* --- what nodes are --------------------------------------------------------------------------- */

/* The node of the clean model that one of a part is; NULL: it came with the plan, be it called like
 * a node that is not in the group's model. */
static const qdq_node *source_of(const joiner *j, const qdq_group_model *g, const qdq_node *n)
{
    const qdq_node *s = qdq_map_get_ptr(&j->labels, n->name);

    for (uint32_t i = 0; s != NULL && i < s->n_out; i++)
        if (s->out[i] != NULL) {
            const qdq_value *v = qdq_graph_find(g->model->graph, s->out[i]->name);
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
static const qdq_value *tensor_of(const joiner *j, const qdq_group_model *g, const qdq_value *v)
{
    while (v != NULL && v->producer != NULL) {
        const qdq_node *s = source_of(j, g, v->producer);
        if (s != NULL)
            return role_of(g, s) != QDQ_ROLE_BESIDE ? qdq_node_out(s, v->out_index) : NULL;
        v = qdq_node_in(v->producer, 0); /* Q, DQ, Cast */
    }
    return v != NULL && v->init == NULL ? qdq_graph_find(j->f->g.g, v->name) : NULL;
}

static bool is_of_other(const joiner *j, const qdq_node *n, uint32_t group)
{
    return n != NULL && j->f->of[n->id] != QDQ_NO_FUSION && j->f->of[n->id] != group;
}

static bool is_touched_by_others(const joiner *j, const qdq_value *v, uint32_t group)
{
    if (v == NULL)
        return false;
    if (is_of_other(j, v->producer, group))
        return true;
    for (const qdq_use *u = v->first; u != NULL; u = u->next)
        if (is_of_other(j, qdq_region_reader(j->f->g.g, u), group))
            return true;
    return false;
}

static qdq_part_node describe_node(const joiner *j, uint32_t part, const qdq_node *n)
{
    const qdq_part *p = &j->part[part];
    const qdq_node *s = source_of(j, p->in, n);

    if (s != NULL)
        return (qdq_part_node){.part = part,
                               .role = role_of(p->in, s),
                               .light = qdq_fusion_is_light(s) || n->op == QDQ_OP_CAST};
    return (qdq_part_node){
        .part = part,
        .role = n->op == QDQ_OP_CAST ? QDQ_ROLE_CAST : QDQ_ROLE_QDQ,
        .light = true,
        .boundary = is_touched_by_others(j, tensor_of(j, p->in, qdq_node_in(n, 0)), p->group)};
}

static qdq_status note_nodes(joiner *j, uint32_t part, const char *prefix)
{
    qdq_arena *arena = &j->out->arena;

    QDQ_FOR_NODES (n, j->part[part].model->graph) {
        const char *name = qdq_arena_printf(arena, "%s%s", prefix, n->name);
        qdq_part_node *at = qdq_arena_alloc(arena, sizeof *at);
        QDQ_NEED(at != NULL && qdq_map_set_ptr(&j->out->nodes, name, at), j->err);
        *at = describe_node(j, part, n);
    }
    return QDQ_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

static qdq_status add_shape(joiner *j, const qdq_group_input *in, const char *prefix)
{
    qdq_input_shape shape = {.name = qdq_arena_printf(&j->out->arena, "%s%s", prefix, in->name),
                             .rank = in->dims.rank};

    QDQ_NEED(shape.name != NULL, j->err);
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = in->dims.dim[QDQ_SHAPE_OPT][d];
        if (shape.dim[d] < 0)
            return qdq_fail(j->err, QDQ_E_USAGE, "the usual shape of input '%s' is not known",
                            in->name);
    }
    return qdq_allocated(QDQ_PUSH(&j->out->arena, &j->shape, shape), j->err);
}

static qdq_status add_shapes(joiner *j, const qdq_part *part, const char *prefix)
{
    for (uint32_t i = 0; i < part->in->n_inputs; i++) {
        const qdq_value *v = qdq_graph_find(part->model->graph, part->in->input[i].name);
        bool fixed = v != NULL && v->type != NULL && v->type->rank >= 0;
        for (int d = 0; fixed && d < v->type->rank; d++)
            fixed = v->type->dim[d].value >= 0;
        if (!fixed)
            QDQ_TRY(add_shape(j, &part->in->input[i], prefix));
    }
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static const char *prefix_of(joiner *j, uint32_t part)
{
    unsigned before = 0;

    for (uint32_t i = 0; i < part; i++)
        before += j->part[i].group == j->part[part].group;
    return before == 0
               ? qdq_arena_printf(&j->scratch, "g%u/", (unsigned)j->part[part].group)
               : qdq_arena_printf(&j->scratch, "g%u.%u/", (unsigned)j->part[part].group, before);
}

static qdq_status join_parts(joiner *j)
{
    qdq_parts *out = j->out;
    uint32_t *group = qdq_arena_array(&out->arena, (size_t)out->n + 1, sizeof *group);
    uint32_t *layers = qdq_arena_array(&out->arena, (size_t)out->n + 1, sizeof *layers);

    out->group = group;
    out->layers = layers;
    out->model = qdq_model_new();
    QDQ_NEED(group != NULL && layers != NULL && out->model != NULL, j->err);
    for (uint32_t i = 0; i < out->n; i++) {
        const char *prefix = prefix_of(j, i);
        QDQ_NEED(prefix != NULL, j->err);
        group[i] = j->part[i].group;
        layers[i] = j->f->at[group[i]].layers;
        QDQ_TRY(qdq_model_join(out->model, j->part[i].model, prefix, j->err));
        QDQ_TRY(note_nodes(j, i, prefix));
        QDQ_TRY(add_shapes(j, &j->part[i], prefix));
    }
    out->shape = j->shape.at;
    out->n_shapes = j->shape.n;
    return QDQ_OK;
}

qdq_status qdq_parts_make(const qdq_fusions *f, const qdq_part *part, size_t n, qdq_parts **out,
                          qdq_error *err)
{
    joiner j = {.f = f, .part = part, .out = calloc(1, sizeof **out), .err = err};

    *out = NULL;
    QDQ_NEED(j.out != NULL, err);
    j.out->n = (uint32_t)n;
    qdq_status st = qdq_allocated(qdq_graph_map_labels(f->g.g, &j.scratch, &j.labels), err);
    if (st == QDQ_OK)
        st = join_parts(&j);
    qdq_map_free(&j.labels);
    qdq_arena_free(&j.scratch);
    if (st != QDQ_OK) {
        qdq_parts_free(j.out);
        return st;
    }
    *out = j.out;
    return QDQ_OK;
}

void qdq_parts_free(qdq_parts *p)
{
    if (p == NULL)
        return;
    qdq_model_free(p->model);
    qdq_map_free(&p->nodes);
    qdq_arena_free(&p->arena);
    free(p);
}
