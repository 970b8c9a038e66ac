/* readers.c - the slot groups that read tensors. */
#include "tune/scheme/readers.h"

bool qdq_readers_open(qdq_readers_set *r, const qdq_space *s, qdq_arena *scratch)
{
    *r = (qdq_readers_set){.s = s,
                           .stamp = qdq_arena_array(scratch, s->n_groups + 1, sizeof *r->stamp)};
    return r->stamp != NULL;
}

void qdq_readers_begin(qdq_readers_set *r)
{
    r->n_sets++;
    r->group.at = NULL;
    r->group.n = r->group.cap = 0;
}

bool qdq_readers_add(qdq_readers_set *r, const qdq_value *v, qdq_arena *arena)
{
    QDQ_FOR_USES (u, v) {
        if (u->node->graph != r->s->clean->graph)
            continue;
        const uint32_t g = qdq_space_group_of(r->s, u->node, u->index);
        if (g == QDQ_NO_GROUP || r->stamp[g] == r->n_sets)
            continue;
        r->stamp[g] = r->n_sets;
        if (!QDQ_PUSH(arena, &r->group, g))
            return false;
    }
    return true;
}
