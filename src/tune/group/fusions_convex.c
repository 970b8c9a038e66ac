/* fusions_convex.c - no way may leave a group and come back: a part that is built alone would read
 * what it makes. What lies between is taken in if it is little, else the group is split where ways
 * come back. */
#include "base/fail.h"
#include "tune/group/fusions_build.h"

enum { MOST_TAKEN_IN = 8 };

typedef struct hull {
    qdq_fb *b;
    /* by place: the walk in which a way from the group came by here, outside of it */
    uint32_t *outside;
    /* by place: how often the longest of these ways came back into the group */
    uint32_t *level;
    /* by group: has an operator that can be quantized */
    bool *in_kernel;
    qdq_fusion_places walk, between;
} hull;

/* Marks what can be reached from the group on ways that leave it, up to its last node. False in
 * *back: none comes back. */
static qdq_status walk_out(hull *h, const uint32_t *member, uint32_t n, uint32_t group, bool *back,
                           qdq_error *err)
{
    const qdq_region_graph *g = h->b->g;
    const uint32_t stamp = ++h->b->n_seen, last = member[n - 1];

    *back = false;
    h->walk.n = 0;
    for (uint32_t i = 0; i < n; i++)
        QDQ_NEED(QDQ_PUSH(&h->b->scratch, &h->walk, member[i]), err);
    for (size_t i = 0; i < h->walk.n; i++) {
        uint32_t p = h->walk.at[i];
        for (uint32_t e = g->first_reader[p]; e < g->first_reader[p + 1]; e++) {
            uint32_t r = g->reader[e];
            if (h->b->group[r] == group) {
                *back |= i >= n;
                continue;
            }
            if (r > last || h->outside[r] == stamp)
                continue;
            h->outside[r] = stamp;
            QDQ_NEED(QDQ_PUSH(&h->b->scratch, &h->walk, r), err);
        }
    }
    return QDQ_OK;
}

/* Of what was reached, that from which a way leads back. */
static qdq_status find_between(hull *h, const uint32_t *member, uint32_t n, qdq_error *err)
{
    const qdq_region_graph *g = h->b->g;
    const uint32_t stamp = h->b->n_seen, found = ++h->b->n_seen;

    h->between.n = 0;
    for (size_t i = 0; i < n + h->between.n; i++) {
        uint32_t p = i < n ? member[i] : h->between.at[i - n];
        for (uint32_t e = g->first_source[p]; e < g->first_source[p + 1]; e++) {
            uint32_t s = g->source[e];
            if (h->outside[s] != stamp)
                continue;
            h->outside[s] = found;
            QDQ_NEED(QDQ_PUSH(&h->b->scratch, &h->between, s), err);
        }
    }
    return QDQ_OK;
}

/* Nothing is taken from a group with an operator that can be quantized: its layer is known to
 * compute it. */
static bool is_little(const hull *h)
{
    if (h->between.n > MOST_TAKEN_IN)
        return false;
    for (size_t i = 0; i < h->between.n; i++) {
        const qdq_node *n = h->b->g->node[h->between.at[i]];
        if (!(qdq_region_is_fusible(n) || qdq_fusion_is_light(n)) ||
            h->in_kernel[h->b->group[h->between.at[i]]])
            return false;
    }
    return true;
}

/* A way never leads to a lower level, and one that leaves and comes back to a higher one: each
 * level is convex. */
static void split_group(hull *h, const uint32_t *member, uint32_t n, uint32_t group)
{
    const qdq_region_graph *g = h->b->g;
    const uint32_t stamp = h->b->n_seen, first_new = h->b->n_groups;
    size_t m = 0, k = 0;

    qdq_region_sort_places(h->between.at, h->between.n);
    while (m < n || k < h->between.n) { /* in the order of places */
        bool inside = k >= h->between.n || (m < n && member[m] < h->between.at[k]);
        uint32_t p = inside ? member[m++] : h->between.at[k++], level = 0;
        for (uint32_t e = g->first_source[p]; e < g->first_source[p + 1]; e++) {
            uint32_t s = g->source[e];
            bool in = h->b->group[s] == group ||
                      (h->b->group[s] >= first_new && h->b->group[s] < h->b->n_groups);
            uint32_t at = in || h->outside[s] == stamp ? h->level[s] + (in && !inside) : 0;
            if (at > level)
                level = at;
        }
        h->level[p] = level;
        if (!inside || level == 0)
            continue;
        while (h->b->n_groups < first_new + level)
            h->b->n_groups++;
        h->b->group[p] = first_new + level - 1;
    }
}

static qdq_status make_group_convex(hull *h, const uint32_t *member, uint32_t n, bool may_take,
                                    qdq_error *err)
{
    const uint32_t group = h->b->group[member[0]];
    bool back;

    QDQ_TRY(walk_out(h, member, n, group, &back, err));
    if (!back)
        return QDQ_OK;
    QDQ_TRY(find_between(h, member, n, err));
    if (!may_take || !is_little(h)) {
        split_group(h, member, n, group);
        return QDQ_OK;
    }
    for (size_t i = 0; i < h->between.n; i++)
        h->b->group[h->between.at[i]] = group;
    return QDQ_OK;
}

/* What another group took is no longer a member. */
static uint32_t still_members(const qdq_fb *b, uint32_t *member, uint32_t n, uint32_t group)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < n; i++)
        if (b->group[member[i]] == group)
            member[left++] = member[i];
    return left;
}

static qdq_status make_all_convex(hull *h, bool may_take, qdq_error *err)
{
    qdq_fb *b = h->b;
    qdq_fusion_members all;

    QDQ_TRY(qdq_fb_number(b, err));
    QDQ_TRY(qdq_fb_members(b, &all, err));
    h->in_kernel =
        qdq_arena_array(&b->scratch, (size_t)b->n_groups + b->g->n + 1, sizeof *h->in_kernel);
    QDQ_NEED(h->in_kernel != NULL, err);
    for (uint32_t i = 0; i < b->g->n; i++)
        h->in_kernel[b->group[i]] |= b->linear[i];
    for (uint32_t k = 0; k < all.n; k++) {
        uint32_t *member = all.member + all.first[k];
        uint32_t n = still_members(b, member, all.first[k + 1] - all.first[k], k);
        if (n > 1)
            QDQ_TRY(make_group_convex(h, member, n, may_take, err));
    }
    return QDQ_OK;
}

/* What one group takes in may be missed by another: in the second pass there is nothing but
 * splitting, which leaves other groups as they are. */
qdq_status qdq_fb_make_convex(qdq_fb *b, qdq_error *err)
{
    hull h = {.b = b};

    h.outside = qdq_arena_array(&b->scratch, (size_t)b->g->n + 1, sizeof *h.outside);
    h.level = qdq_arena_array(&b->scratch, (size_t)b->g->n + 1, sizeof *h.level);
    QDQ_NEED(h.outside != NULL && h.level != NULL, err);
    QDQ_TRY(make_all_convex(&h, true, err));
    return make_all_convex(&h, false, err);
}
