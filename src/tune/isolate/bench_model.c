/* bench_model.c - isolated groups joined to one model. */
#include "tune/isolate/bench_model.h"

#include <stdlib.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "tune/isolate/group_plan.h"

qdq_status qdq_parts_new(const qdq_fusions *f, qdq_parts **out, qdq_error *err)
{
    qdq_parts *p = *out = calloc(1, sizeof *p);

    QDQ_NEED(p != NULL, err);
    p->f = f;
    p->model = qdq_model_new();
    return qdq_allocated(p->model != NULL, err);
}

static const char *prefix_of(qdq_parts *p, uint32_t group)
{
    unsigned before = 0;

    for (uint32_t i = 0; i < p->n; i++)
        before += p->group.at[i] == group;
    return before == 0 ? qdq_arena_printf(&p->arena, "g%u/", (unsigned)group)
                       : qdq_arena_printf(&p->arena, "g%u.%u/", (unsigned)group, before);
}

static qdq_status add_shape(qdq_parts *p, const qdq_graph *g, const char *prefix,
                            const qdq_group_input *in, qdq_error *err)
{
    qdq_input_shape shape = {.name = qdq_arena_printf(&p->arena, "%s%s", prefix, in->name),
                             .rank = in->dims.rank};
    int64_t fixed[QDQ_MAX_RANK];
    int rank;

    if (qdq_value_static_shape(qdq_graph_find(g, in->name), &rank, fixed, QDQ_MAX_RANK))
        return QDQ_OK;
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = in->dims.dim[QDQ_SHAPE_OPT][d];
        if (shape.dim[d] < 0)
            return qdq_fail(err, QDQ_E_USAGE, "the usual shape of input '%s' is not known",
                            in->name);
    }
    return qdq_allocated(shape.name != NULL && QDQ_PUSH(&p->arena, &p->shape, shape), err);
}

static qdq_status join_part(qdq_parts *p, uint32_t group, const qdq_group_model *in,
                            const qdq_model *m, qdq_error *err)
{
    const char *prefix = prefix_of(p, group);

    QDQ_NEED(prefix != NULL && qdq_map_set_first(&p->prefixes, prefix, p->n) &&
                 QDQ_PUSH(&p->arena, &p->group, group),
             err);
    QDQ_TRY(qdq_model_join(p->model, m, prefix, err));
    for (uint32_t i = 0; i < in->n_inputs; i++)
        QDQ_TRY(add_shape(p, m->graph, prefix, &in->input[i], err));
    p->n++;
    return QDQ_OK;
}

qdq_status qdq_parts_join(qdq_parts *p, uint32_t group, const qdq_group_model *in,
                          const qdq_plan *whole, qdq_insert_cache *cache, qdq_error *err)
{
    qdq_model *m;

    QDQ_TRY(qdq_group_plan_apply(p->f, group, in, whole, cache, &m, err));
    qdq_status st = join_part(p, group, in, m, err);
    qdq_model_free(m);
    return st;
}

void qdq_parts_free(qdq_parts *p)
{
    if (p == NULL)
        return;
    qdq_model_free(p->model);
    qdq_map_free(&p->prefixes);
    qdq_arena_free(&p->arena);
    free(p);
}
