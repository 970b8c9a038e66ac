/* validate_items.c - which items belong together, and in which order they are halved. */
#include "tune/validate/validate_items.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/union_find.h"

const char *qdq_validate_verdict_name(qdq_validate_verdict v)
{
    static const char *const names[] = {"undecided", "kept", "rejected", "failed"};

    return names[v];
}

static qdq_status check_item(const qdq_validate_problem *p, size_t i, qdq_assign *seen,
                             qdq_error *err)
{
    const qdq_assign *bits = &p->item[i].bits;

    if (bits->n != p->search->n_bits)
        return qdq_fail(err, QDQ_E_USAGE, "item %zu: found %zu bits, expected %zu", i, bits->n,
                        p->search->n_bits);
    for (size_t k = 0; k < bits->n; k++) {
        if (!qdq_assign_get(bits, k))
            continue;
        if (qdq_assign_get(seen, k))
            return qdq_fail(err, QDQ_E_USAGE, "item %zu: bit %zu is another item's, too", i, k);
        qdq_assign_set(seen, k, true);
    }
    return QDQ_OK;
}

static qdq_status check_problem(const qdq_validate_problem *p, qdq_arena *arena, qdq_error *err)
{
    qdq_assign seen;

    for (size_t i = 0; i < p->n_links; i++)
        if (p->link[i].a >= p->n_items || p->link[i].b >= p->n_items)
            return qdq_fail(err, QDQ_E_USAGE,
                            "link %zu: between items %u and %u, expected less than %zu", i,
                            (unsigned)p->link[i].a, (unsigned)p->link[i].b, p->n_items);
    QDQ_NEED(qdq_assign_new(&seen, p->search->n_bits, arena), err);
    for (size_t i = 0; i < p->n_items; i++)
        QDQ_TRY(check_item(p, i, &seen, err));
    return QDQ_OK;
}

typedef struct placed {
    /* what its component saves, less than none; its component; its place */
    double key[3];
    uint32_t item;
} placed;

static int by_order(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    for (size_t i = 0; i < QDQ_COUNT(x->key); i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

qdq_status qdq_validate_order(const qdq_validate_problem *p, qdq_arena *arena, uint32_t **order,
                              uint32_t **component, qdq_error *err)
{
    const size_t n = p->n_items;
    placed *at = qdq_arena_array(arena, n + 1, sizeof *at);
    double *saves = qdq_arena_array(arena, n + 1, sizeof *saves);
    uint32_t *part = *component = qdq_arena_array(arena, n + 1, sizeof *part);

    *order = qdq_arena_array(arena, n + 1, sizeof **order);
    QDQ_NEED(at != NULL && saves != NULL && part != NULL && *order != NULL, err);
    QDQ_TRY(check_problem(p, arena, err));
    for (uint32_t i = 0; i < n; i++)
        part[i] = i;
    for (size_t k = 0; k < p->n_links; k++)
        qdq_part_join(part, p->link[k].a, p->link[k].b);
    for (uint32_t i = 0; i < n; i++) {
        part[i] = qdq_part_of(part, i);
        saves[part[i]] += isnan(p->item[i].saves) ? 0 : p->item[i].saves;
    }
    for (uint32_t i = 0; i < n; i++)
        at[i] = (placed){{-saves[part[i]], part[i], p->item[i].place}, i};
    qsort(at, n, sizeof *at, by_order);
    for (size_t i = 0; i < n; i++)
        (*order)[i] = at[i].item;
    return QDQ_OK;
}

size_t qdq_validate_list(const qdq_validate_problem *p, const uint32_t *order,
                         qdq_validate_verdict verdict, uint32_t *to)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_items; i++)
        if (p->known[order[i]] == verdict)
            to[n++] = order[i];
    return n;
}

size_t qdq_validate_middle(const uint32_t *component, const uint32_t *item, size_t n)
{
    const size_t middle = n / 2;

    for (size_t d = 0; d <= middle; d++)
        for (int back = 1; back >= 0; back--) {
            const size_t at = back ? middle - d : middle + d;
            if (at >= 1 && at < n && component[item[at - 1]] != component[item[at]])
                return at;
        }
    return middle;
}

const char *qdq_validate_move(const qdq_validate_problem *p, const uint32_t *component,
                              const uint32_t *item, size_t n, bool without)
{
    static const char *const moves[][2] = {{"a group", "without a group"},
                                           {"several components", "without several components"},
                                           {"a component", "without a component"},
                                           {"half of a component", "without half of a component"}};
    const uint32_t first = component[item[0]], last = component[item[n - 1]];
    size_t size = 0;

    for (size_t i = 0; i < p->n_items; i++)
        size += component[i] == first;
    return moves[n == 1 ? 0 : first != last ? 1 : n == size ? 2 : 3][without];
}
