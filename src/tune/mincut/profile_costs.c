/* profile_costs.c - a profile told to decisions and to the tensors between them. */
#include "tune/mincut/profile_costs.h"

#include <math.h>

static void add(qdq_mincut_time *to, double us, double rows)
{
    to->us += us;
    to->rows += rows;
}

/* Kernels to their decisions, copies and epilogues that are layers of their own to their tensor. */
static void tell_nodes(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                       qdq_mincut_profile *out)
{
    QDQ_FOR_NODES (n, s->clean->graph) {
        const uint32_t first = s->first_group[n->id];
        if (first == QDQ_NO_GROUP) {
            if (nets->within[n->id] != QDQ_NO_NET)
                add(&out->net[nets->within[n->id]], times->own[n->id], times->rows[n->id]);
            continue;
        }
        const double beside = (double)qdq_space_groups_beside(s, first);
        for (size_t g = first; g < s->n_groups && s->group[g].node == n; g++)
            add(&out->own[g], times->own[n->id] / beside, times->rows[n->id] / beside);
    }
}

/* What is left belongs to nothing: nodes that stay float, layers without a name. */
void qdq_tune_tell_costs(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                         qdq_mincut_profile *out)
{
    tell_nodes(s, nets, times, out);
    for (size_t i = 0; i < s->clean->graph->values.n; i++)
        if (nets->of[i] != QDQ_NO_NET)
            add(&out->net[nets->of[i]], times->converted[i], times->conversions[i]);
    out->rest = (qdq_mincut_time){times->sum, times->n_rows};
    for (size_t i = 0; i < nets->graph.n_bits; i++)
        add(&out->rest, -out->own[i].us, -out->own[i].rows);
    for (size_t i = 0; i < nets->graph.n_nets; i++)
        add(&out->rest, -out->net[i].us, -out->net[i].rows);
    out->rest.us = fmax(out->rest.us, 0);
}
