/* boundary.c - where a set of nodes begins and ends. */
#include "base/fail.h"
#include "tune/extract/group_model.h"

static bool is_inside(const qdq_region_graph *g, const bool *inside, const qdq_node *n)
{
    return n != NULL && n->graph == g->g && g->place[n->id] != QDQ_NO_PLACE &&
           inside[g->place[n->id]];
}

/* Constants that a caller may override count as constants. */
static bool comes_from_outside(const qdq_region_graph *g, const bool *inside, const qdq_value *v)
{
    return v != NULL && !qdq_region_is_const(v) && v->init == NULL &&
           !is_inside(g, inside, v->producer);
}

static bool add_value(const qdq_value *v, bool *seen, qdq_arena *arena, qdq_region_values *out)
{
    if (seen[v->id])
        return true;
    seen[v->id] = true;
    return QDQ_PUSH(arena, out, v);
}

qdq_status qdq_boundary_inputs(const qdq_region_graph *g, const bool *inside, qdq_arena *arena,
                               qdq_region_values *out, qdq_error *err)
{
    bool *seen = qdq_arena_array(arena, g->g->values.n + 1, sizeof *seen);
    qdq_region_values reads = {0};

    QDQ_TRY(qdq_allocated(seen != NULL, err));
    for (uint32_t p = 0; p < g->n; p++) {
        if (!inside[p])
            continue;
        reads.n = 0;
        QDQ_TRY(qdq_region_reads(g->node[p], arena, &reads, err));
        for (size_t i = 0; i < reads.n; i++)
            if (comes_from_outside(g, inside, reads.at[i]) &&
                !add_value(reads.at[i], seen, arena, out))
                return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* What only asks for its shape does not count: it needs no numbers. */
static bool is_read_outside(const qdq_region_graph *g, const bool *inside, const qdq_value *v)
{
    if (v->n_output > 0)
        return true;
    QDQ_FOR_USES (u, v) {
        const qdq_node *n = qdq_region_reader(g->g, u);
        if (n != NULL && g->place[n->id] != QDQ_NO_PLACE && !inside[g->place[n->id]])
            return true;
    }
    return false;
}

qdq_status qdq_boundary_outputs(const qdq_region_graph *g, const bool *inside, qdq_arena *arena,
                                qdq_region_values *out, qdq_error *err)
{
    for (uint32_t p = 0; p < g->n; p++)
        for (uint32_t i = 0; inside[p] && i < g->node[p]->n_out; i++) {
            const qdq_value *v = g->node[p]->out[i];
            if (v != NULL && is_read_outside(g, inside, v) && !QDQ_PUSH(arena, out, v))
                return qdq_nomem(err);
        }
    return QDQ_OK;
}
