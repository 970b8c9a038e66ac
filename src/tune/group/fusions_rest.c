/* fusions_rest.c - nodes that no layer names: the group that computes them, or one by structure. */
#include "base/fail.h"
#include "tune/group/fusions_build.h"

/* --- in the group of a neighbour -------------------------------------------------------------- */

/* Its group, if the node is nothing but the end of it: what it computes is the epilogue of what
 * only it reads. */
static uint32_t group_before(const qdq_fb *b, uint32_t p, bool only_reader)
{
    const qdq_region_graph *g = b->g;

    for (uint32_t e = g->first_source[p + 1]; e-- > g->first_source[p];) { /* the nearest first */
        uint32_t s = g->source[e];
        if (b->group[s] != QDQ_NO_FUSION && (!only_reader || qdq_readers(g, s) == 1))
            return b->group[s];
    }
    return QDQ_NO_FUSION;
}

/* The one group of all that read it; where there are none or several, none. */
static uint32_t group_behind(const qdq_fb *b, uint32_t p)
{
    const qdq_region_graph *g = b->g;
    uint32_t group = QDQ_NO_FUSION;

    for (uint32_t e = g->first_reader[p]; e < g->first_reader[p + 1]; e++) {
        uint32_t at = b->group[g->reader[e]];
        if (at == QDQ_NO_FUSION || (group != QDQ_NO_FUSION && group != at))
            return QDQ_NO_FUSION;
        group = at;
    }
    return group;
}

/* Operators that can be quantized have kernels of their own: whoever does not name them did not
 * swallow them. */
void qdq_fb_attach(qdq_fb *b)
{
    const qdq_region_graph *g = b->g;
    const uint32_t n_known = b->n_groups;

    for (uint32_t p = 0; p < g->n; p++) {
        if (b->group[p] != QDQ_NO_FUSION)
            continue;
        if (b->linear[p])
            b->group[p] = b->n_groups++;
        else if (qdq_region_is_fusible(g->node[p]))
            b->group[p] = group_before(b, p, true);
    }
    for (uint32_t p = g->n; p-- > 0;) {
        uint32_t behind = b->group[p] == QDQ_NO_FUSION ? group_behind(b, p) : QDQ_NO_FUSION;
        if (behind != QDQ_NO_FUSION && (behind < n_known || qdq_fusion_is_light(g->node[p])))
            b->group[p] = behind;
    }
    for (uint32_t p = 0; p < g->n; p++)
        if (b->group[p] == QDQ_NO_FUSION && qdq_fusion_is_light(g->node[p]))
            b->group[p] = group_before(b, p, false);
}

/* --- by structure ----------------------------------------------------------------------------- */

/* What is left has no operator that can be quantized: kernels of other kinds with what is fused
 * into them, and chains of lesser operators. */
static bool joins(const qdq_fb *b, const bool *has_kernel, uint32_t source, uint32_t p)
{
    const qdq_node *n = b->g->node[p];

    if (qdq_region_is_backbone(n) || qdq_readers(b->g, source) != 1)
        return false;
    return qdq_region_is_fusible(n) || qdq_fusion_is_light(n) || !has_kernel[b->group[source]];
}

static uint32_t structural_group(const qdq_fb *b, const bool *has_kernel, uint32_t first_new,
                                 uint32_t p)
{
    const qdq_region_graph *g = b->g;

    for (uint32_t e = g->first_source[p + 1]; e-- > g->first_source[p];) {
        uint32_t s = g->source[e];
        if (b->group[s] != QDQ_NO_FUSION && b->group[s] >= first_new && joins(b, has_kernel, s, p))
            return b->group[s];
    }
    return QDQ_NO_FUSION;
}

qdq_status qdq_fb_by_structure(qdq_fb *b, qdq_error *err)
{
    const uint32_t first_new = b->n_groups;
    bool *has_kernel =
        qdq_arena_array(&b->scratch, (size_t)b->n_groups + b->g->n + 1, sizeof *has_kernel);

    QDQ_NEED(has_kernel != NULL, err);
    for (uint32_t p = 0; p < b->g->n; p++) {
        if (b->group[p] != QDQ_NO_FUSION)
            continue;
        b->group[p] = structural_group(b, has_kernel, first_new, p);
        if (b->group[p] == QDQ_NO_FUSION)
            b->group[p] = b->n_groups++;
        has_kernel[b->group[p]] |= qdq_region_is_backbone(b->g->node[p]);
    }
    return QDQ_OK;
}
