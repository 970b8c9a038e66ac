/* part_context.c - layers of isolated groups compared with those of the whole model. Layers are
 * read as those of parts are: nodes that only move numbers, which are in the layers of all who read
 * them, count where there are no others. */
#include "tune/isolate/part_context.h"

#include "base/fail.h"
#include "tune/group/fusions_build.h"

typedef struct context {
    uint32_t layers; /* of the group */
    bool shared;     /* one of them computes nodes of other groups, too */
    size_t last;     /* layer that was counted, plus one */
} context;

static bool is_light(const qdq_node *n)
{
    return qdq_fusion_is_light(n) || n->op == QDQ_OP_CAST;
}

/* Groups of the nodes of layer i, light ones or the others. False: it has none of them. */
static bool count_groups(const qdq_fusions *f, const qdq_map *labels, const qdq_group *l, size_t i,
                         bool light, context *at)
{
    uint32_t first = QDQ_NO_FUSION;
    bool shared = false;

    for (size_t k = 0; k < l->n_nodes; k++) {
        const qdq_node *n = qdq_map_get_ptr(labels, l->node[k]);
        const uint32_t group = n != NULL && is_light(n) == light ? f->of[n->id] : QDQ_NO_FUSION;
        if (group == QDQ_NO_FUSION)
            continue;
        shared |= first != QDQ_NO_FUSION && first != group;
        first = first == QDQ_NO_FUSION ? group : first;
        at[group].layers += at[group].last != i + 1;
        at[group].last = i + 1;
    }
    for (size_t k = 0; k < l->n_nodes && shared; k++) {
        const qdq_node *n = qdq_map_get_ptr(labels, l->node[k]);
        if (n != NULL && is_light(n) == light && f->of[n->id] != QDQ_NO_FUSION)
            at[f->of[n->id]].shared = true;
    }
    return first != QDQ_NO_FUSION;
}

static void compare_parts(const qdq_parts *p, const context *at, qdq_part_score *score)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const context *there = &at[p->group[i]];
        if (there->layers > 0)
            score[i].context_mismatch =
                score[i].layers > there->layers || (score[i].shared && !there->shared);
    }
}

qdq_status qdq_parts_compare(const qdq_fusions *f, const qdq_parts *p, const qdq_group *whole,
                             size_t n, qdq_part_score *score, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map labels = QDQ_MAP_INIT;
    context *at = qdq_arena_array(&scratch, (size_t)f->n + 1, sizeof *at);
    const bool good = at != NULL && qdq_graph_map_labels(f->g.g, &scratch, &labels);

    for (size_t i = 0; i < n && good; i++)
        if (!whole[i].conversion && !count_groups(f, &labels, &whole[i], i, false, at))
            (void)count_groups(f, &labels, &whole[i], i, true, at);
    if (good)
        compare_parts(p, at, score);
    qdq_map_free(&labels);
    qdq_arena_free(&scratch);
    return qdq_allocated(good, err);
}
