/* function.c - finds the function that a node calls, and orders functions by their calls. */
#include "ir/function.h"

#include <string.h>
#include <xxhash.h>

/* --- by name ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *domain, const char *name, const char *overload)
{
    uint64_t hash = XXH3_64bits(name, strlen(name));

    domain = qdq_plain_domain(domain);
    hash = XXH3_64bits_withSeed(domain, strlen(domain), hash);
    return overload[0] == '\0' ? hash : XXH3_64bits_withSeed(overload, strlen(overload), hash);
}

static bool is_called(const qdq_function *f, const char *domain, const char *name,
                      const char *overload)
{
    return strcmp(f->name, name) == 0 &&
           strcmp(qdq_plain_domain(f->domain), qdq_plain_domain(domain)) == 0 &&
           strcmp(f->overload, overload) == 0;
}

bool qdq_functions_open(qdq_functions *f, const qdq_model *m, qdq_arena *scratch)
{
    *f = (qdq_functions){.m = m,
                         .next = qdq_arena_array(scratch, m->functions.n + 1, sizeof *f->next)};
    if (f->next == NULL)
        return false;
    for (size_t i = m->functions.n; i-- > 0;) {
        const qdq_function *one = m->functions.at[i];
        bool is_new;
        qdq_map_value *first =
            qdq_map_put_int(&f->by_hash, hash_of(one->domain, one->name, one->overload), &is_new);

        if (first == NULL)
            return false;
        f->next[i] = is_new ? QDQ_NO_FUNCTION : (uint32_t)first->num;
        first->num = i;
    }
    return true;
}

void qdq_functions_close(qdq_functions *f)
{
    qdq_map_free(&f->by_hash);
}

uint32_t qdq_functions_find(const qdq_functions *f, const char *domain, const char *name,
                            const char *overload)
{
    const qdq_map_value *first =
        f->m->functions.n == 0 ? NULL
                               : qdq_map_get_int(&f->by_hash, hash_of(domain, name, overload));
    uint32_t i = first == NULL ? QDQ_NO_FUNCTION : (uint32_t)first->num;

    while (i != QDQ_NO_FUNCTION && !is_called(f->m->functions.at[i], domain, name, overload))
        i = f->next[i];
    return i;
}

uint32_t qdq_functions_callee(const qdq_functions *f, const qdq_node *n)
{
    return qdq_functions_find(f, n->domain, n->type, n->overload);
}

/* --- order ------------------------------------------------------------------------------------ */

typedef struct call {
    uint32_t from, to;
} call;
typedef QDQ_VEC(call) calls;

static bool collect_calls(const qdq_functions *f, qdq_arena *scratch, calls *list)
{
    const qdq_model *m = f->m;
    qdq_map index = QDQ_MAP_INIT; /* function -> its index */
    bool ok = true;

    for (size_t i = 0; i < m->functions.n && ok; i++) {
        qdq_map_value *place =
            qdq_map_put_int(&index, (uint64_t)(uintptr_t)m->functions.at[i], NULL);

        ok = place != NULL;
        if (ok)
            place->num = i;
    }
    QDQ_FOR_GRAPHS (g, m) {
        const qdq_function *caller = qdq_graph_function(g);

        if (caller == NULL || !ok)
            continue;
        QDQ_FOR_NODES (n, g) {
            call one = {(uint32_t)qdq_map_get_int(&index, (uint64_t)(uintptr_t)caller)->num,
                        qdq_functions_callee(f, n)};

            if (one.to != QDQ_NO_FUNCTION && ok)
                ok = QDQ_PUSH(scratch, list, one);
        }
    }
    qdq_map_free(&index);
    return ok;
}

/* Functions that call nothing that is left are taken away until none is left, or only circles
 * are. */
bool qdq_functions_order(const qdq_functions *f, qdq_arena *scratch, uint32_t **order, size_t *n)
{
    size_t count = f->m->functions.n;
    uint32_t *n_calls = qdq_arena_array(scratch, count + 1, sizeof *n_calls); /* that it makes */
    /* of its callers in `caller` */
    uint32_t *start = qdq_arena_array(scratch, count + 2, sizeof *start);
    uint32_t *ready = qdq_arena_array(scratch, count + 1, sizeof *ready), *caller;
    calls list = {NULL, 0, 0};

    *n = 0;
    *order = ready;
    if (n_calls == NULL || start == NULL || ready == NULL || !collect_calls(f, scratch, &list) ||
        (caller = qdq_arena_array(scratch, list.n + 1, sizeof *caller)) == NULL)
        return false;
    for (size_t i = 0; i < list.n; i++) {
        n_calls[list.at[i].from]++;
        start[list.at[i].to + 2]++;
    }
    for (size_t i = 2; i < count + 2; i++)
        start[i] += start[i - 1];
    for (size_t i = 0; i < list.n; i++)
        caller[start[list.at[i].to + 1]++] = list.at[i].from;
    for (uint32_t i = 0; i < count; i++)
        if (n_calls[i] == 0)
            ready[(*n)++] = i;
    for (size_t done = 0; done < *n; done++)
        for (uint32_t i = start[ready[done]]; i < start[ready[done] + 1]; i++)
            if (--n_calls[caller[i]] == 0)
                ready[(*n)++] = caller[i];
    return true;
}
