/* subgraph_recorded.c - keeps what reaches the bodies of control nodes from plan to plan. */
#include "base/fail.h"
#include "quant/calib/sweep.h"
#include "quant/control_flow/subgraph_data.h"

void qdq_recorded_free(qdq_recorded *r)
{
    for (size_t i = 0; i < r->controls.n; i++) {
        qdq_body_list *bodies = &r->controls.at[i].bodies;

        for (size_t k = 0; k < bodies->n; k++)
            if (bodies->at[k].inside != NULL)
                qdq_recorded_free(bodies->at[k].inside);
        qdq_control_flow_free(bodies);
    }
    qdq_arena_free(&r->arena);
}

static const qdq_body_list *find_recorded(const qdq_recorded *r, const qdq_node *control)
{
    for (size_t i = 0; i < r->controls.n; i++)
        if (r->controls.at[i].node_id == control->id)
            return &r->controls.at[i].bodies;
    return NULL;
}

static size_t count_bytes(const qdq_body_list *bodies)
{
    size_t n = 0;

    for (size_t i = 0; i < bodies->n; i++)
        n += bodies->at[i].data != NULL ? qdq_store_bytes(bodies->at[i].data) : 0;
    return n;
}

/* Moves the bodies to r, unless that is too much for it. */
static qdq_status keep_bodies(qdq_recorded *r, uint64_t limit, const qdq_node *control,
                              qdq_body_list *bodies, qdq_error *err)
{
    qdq_recorded *root = r->root != NULL ? r->root : r;
    const size_t bytes = count_bytes(bodies);

    if (bytes > limit || root->bytes > limit - bytes)
        return QDQ_OK;
    for (size_t i = 0; i < bodies->n; i++) {
        bodies->at[i].inside = qdq_arena_alloc(&r->arena, sizeof(qdq_recorded));
        QDQ_NEED(bodies->at[i].inside != NULL, err);
        *bodies->at[i].inside = (qdq_recorded){.root = root};
    }
    QDQ_NEED(QDQ_PUSH(&r->arena, &r->controls, ((qdq_recorded_control){control->id, *bodies})),
             err);
    root->bytes += bytes;
    *bodies = (qdq_body_list){0};
    return QDQ_OK;
}

qdq_status qdq_recorded_get(const qdq_quantizing *q, const qdq_node *control, qdq_body_list *own,
                            const qdq_body_list **out, qdq_error *err)
{
    qdq_recorded *r = q->basis.recorded;

    *out = r != NULL ? find_recorded(r, control) : NULL;
    if (*out != NULL)
        return QDQ_OK;
    *out = own;
    QDQ_TRY(qdq_control_flow_record(q, control, r != NULL ? &r->arena : &q->plan->arena, own, err));
    if (r == NULL)
        return QDQ_OK;
    QDQ_TRY(keep_bodies(r, qdq_sweep_memory(q), control, own, err));
    if (own->n == 0)
        *out = find_recorded(r, control);
    return QDQ_OK;
}
