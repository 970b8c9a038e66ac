/* import_write.c - what was found in a model as entries of a plan. */

#include "base/fail.h"
#include "quant/plan/fingerprint.h"
#include "quant/import/import_state.h"
#include "quant/half_precision/half_precision.h"

static bool write_edges(qdq_plan *p, const qdq_found_edges *from, qdq_edges *to)
{
    for (size_t i = 0; i < from->n; i++)
        if (!from->at[i].node->dead && /* another Q, as it may be */
            !qdq_plan_add_edge(p, to, qdq_node_label(from->at[i].node, &p->arena),
                               from->at[i].input))
            return false;
    return true;
}

static bool write_tensor(qdq_plan *p, const qdq_found_tensor *t)
{
    qdq_plan_tensor out = {.tensor = t->x->name,
                           .all = t->all,
                           .qparam = t->qparam,
                           .rule = "imported",
                           .origin = "import"};

    if (!t->all && !write_edges(p, &t->edges, &out.consumers))
        return false;
    if (!t->all && out.consumers.n == 0)
        return true; /* its DQ is read by nothing */
    return qdq_plan_add_tensor(p, out);
}

static bool write_weight(qdq_plan *p, const qdq_found_weight *w)
{
    qdq_plan_weight out = {.tensor = w->w->name,
                           .axis = w->axis,
                           .block = w->block,
                           .type = w->type,
                           .store = w->store,
                           .accuracy_level = w->accuracy_level,
                           .rule = "imported",
                           .origin = "import"};

    if (w->follow) {
        out.asymmetric = !w->scheme.symmetric;
        out.reduced = w->scheme.reduced;
        out.pow2 = w->scheme.pow2;
    } else {
        out.scales = w->scales;
        out.zero_points = w->zeros;
        out.n_scales = w->n_scales;
    }
    if (!write_edges(p, &w->edges, &out.consumers))
        return false;
    return out.consumers.n == 0 || qdq_plan_add_weight(p, out); /* what read it is gone */
}

static bool write_bias(qdq_plan *p, const qdq_found_bias *b)
{
    const qdq_plan_bias out = {.tensor = b->b->name,
                               .consumer = {qdq_node_label(b->edge.node, &p->arena), b->edge.input},
                               .activation = b->activation->name,
                               .weight = b->weight->name,
                               .rule = "imported",
                               .origin = "import"};

    return qdq_plan_add_bias(p, out);
}

/* What was in 16 bits will be that again, and what was float32 stays it. */
static qdq_status write_rest(const qdq_importer *im, qdq_plan *p)
{
    if (im->storage == QDQ_FLOAT)
        return QDQ_OK;
    QDQ_FOR_GRAPHS (g, im->m)
        QDQ_FOR_NODES (n, g) {
            if (qdq_map_get_int(&im->was_float, (uint64_t)(uintptr_t)n) == NULL)
                continue;
            const char *label = qdq_arena_strdup(&p->arena, qdq_node_label(n, &p->arena));
            QDQ_NEED(label != NULL && QDQ_PUSH(&p->arena, &p->half.was_float, label), im->err);
        }
    return qdq_half_recall(im->m, im->storage, p, im->err);
}

qdq_status qdq_import_write(const qdq_importer *im, qdq_plan *p)
{
    bool ok = true;

    for (size_t i = 0; i < im->tensors.n; i++)
        ok = ok && write_tensor(p, &im->tensors.at[i]);
    for (size_t i = 0; i < im->weights.n; i++)
        ok = ok && write_weight(p, &im->weights.at[i]);
    for (size_t i = 0; i < im->biases.n; i++)
        ok = ok && write_bias(p, &im->biases.at[i]);
    p->target = p->clean = "";
    p->created_by = "qdq " QDQ_VERSION ", imported";
    QDQ_TRY(write_rest(im, p));
    QDQ_TRY(qdq_model_fingerprint(im->m, im->opts->job, &p->arena, &p->model, im->err));
    return qdq_allocated(ok && qdq_plan_finish(p), im->err);
}
