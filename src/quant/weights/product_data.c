/* product_data.c - finds data of products among the tensors of a plan. */
#include "quant/weights/product_data.h"

#include "base/fail.h"
#include "quant/weights/scaling.h"

static qdq_status put_once(qdq_map *map, const char *name, size_t index, qdq_error *err)
{
    bool is_new;
    qdq_map_value *at = qdq_map_put(map, name, &is_new);

    QDQ_NEED(at != NULL, err);
    at->num = is_new ? index + 1 : 0;
    return QDQ_OK;
}

qdq_status qdq_product_finder_begin(qdq_product_finder *f)
{
    const qdq_plan *p = f->q->plan;

    QDQ_NEED(qdq_graph_map_labels(f->q->m->graph, &f->scratch, &f->labels), f->err);
    for (size_t i = 0; i < p->tensors.n; i++)
        QDQ_TRY(put_once(&f->tensors, p->tensors.at[i].tensor, i, f->err));
    for (size_t i = 0; i < p->weights.n; i++)
        QDQ_TRY(put_once(&f->weights, p->weights.at[i].tensor, i, f->err));
    return QDQ_OK;
}

void qdq_product_finder_free(qdq_product_finder *f)
{
    qdq_map_free(&f->labels);
    qdq_map_free(&f->weights);
    qdq_map_free(&f->tensors);
    qdq_arena_free(&f->scratch);
}

qdq_plan_weight *qdq_find_product_weight(const qdq_product_finder *f, const qdq_node *n)
{
    const qdq_map_value *at = qdq_map_get(&f->weights, n->in[1].value->name);

    return at != NULL && at->num != 0 ? &f->q->plan->weights.at[at->num - 1] : NULL;
}

/* Is n a product of x and a weight of the plan, which is rounded as it is and for products of x
 * alone? */
static bool is_product(const qdq_product_finder *f, const qdq_node *n, const qdq_value *x,
                       int64_t channels)
{
    if (qdq_node_in(n, 0) != x || n->graph != f->q->m->graph || !qdq_scaling_reader(n, channels))
        return false;
    const qdq_plan_weight *w = qdq_find_product_weight(f, n);
    bool has_n = false;
    for (size_t i = 0; w != NULL && i < w->consumers.n; i++) {
        const qdq_node *reader = qdq_map_get_ptr(&f->labels, w->consumers.at[i].node);

        if (reader == NULL || w->consumers.at[i].input != 1 || qdq_node_in(reader, 0) != x)
            return false;
        has_n |= reader == n;
    }
    return has_n && w->scales == NULL && !qdq_weight_method_is_awq(w->method) &&
           (f->with_gptq || !qdq_weight_method_is_gptq(w->method)) &&
           (w->store == QDQ_WEIGHT_AS_CODES || w->store == QDQ_WEIGHT_AS_FLOAT);
}

/* The input channels of a product that reads x; 0: no product does. */
static int64_t channels_of(const qdq_value *x)
{
    for (const qdq_use *u = x->first; u != NULL; u = u->next) {
        const qdq_tensor *t = qdq_node_const(u->node, 1);
        const bool transposed = qdq_node_int(u->node, "transB", 0) != 0;

        if (t != NULL && t->rank == 2 && qdq_scaling_reader(u->node, t->dim[transposed ? 1 : 0]))
            return t->dim[transposed ? 1 : 0];
    }
    return 0;
}

const qdq_value *qdq_find_product_data(const qdq_product_finder *f, const qdq_plan_tensor *t,
                                       int64_t *channels)
{
    const qdq_value *x = qdq_graph_find(f->q->m->graph, t->tensor);
    const qdq_elem type = qdq_plan_asked(t);

    if (x == NULL || qdq_value_const(x) != NULL || qdq_map_get(&f->tensors, t->tensor)->num == 0 ||
        t->like != NULL || t->group != NULL || (t->known && !t->from_plan) ||
        (type != QDQ_INT8 && type != QDQ_UINT8) || (t->all && x->n_output > 0))
        return NULL;
    *channels = channels_of(x);
    if (*channels == 0)
        return NULL;
    for (size_t i = 0; i < t->consumers.n; i++) {
        const qdq_node *n = qdq_map_get_ptr(&f->labels, t->consumers.at[i].node);

        if (n == NULL || t->consumers.at[i].input != 0 || !is_product(f, n, x, *channels))
            return NULL;
    }
    for (const qdq_use *u = x->first; u != NULL && t->all; u = u->next)
        if (u->index != 0 || !is_product(f, u->node, x, *channels))
            return NULL;
    return x;
}
