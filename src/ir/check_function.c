/* check_function.c - the verifier's view of functions: one definition each, and calls that end. */
#include "ir/checker.h"

#include <string.h>

#define ERROR(...) qdq_check_report(c, true, __VA_ARGS__)

/* Graphs in function bodies belong to the function, too. */
const qdq_function *qdq_check_function_of(const qdq_graph *g)
{
    while (g->owner != NULL)
        g = g->owner->graph;
    return g->function;
}

static const char *plain_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static const char *key_of(qdq_checker *c, const char *domain, const char *name, const char *overload)
{
    const char *key = qdq_arena_printf(&c->scratch, "%s::%s::%s", plain_domain(domain), name, overload);

    if (key == NULL)
        c->nomem = true;
    return key;
}

/* Index + 1 of the function that n calls; 0: it is an operator. */
static uint32_t callee(qdq_checker *c, const qdq_node *n)
{
    const qdq_map_value *f;
    const char *key;

    if (c->m->functions.n == 0)
        return 0;
    key = key_of(c, n->domain, n->type, n->overload);
    f = key == NULL ? NULL : qdq_map_get(&c->functions, key);
    return f == NULL ? 0 : (uint32_t)f->num;
}

bool qdq_check_is_call(qdq_checker *c, const qdq_node *n)
{
    return callee(c, n) != 0;
}

typedef struct call {
    uint32_t from, to;
} call;
typedef QDQ_VEC(call) calls;

static bool collect_calls(qdq_checker *c, calls *list)
{
    QDQ_FOR_GRAPHS (g, c->m) {
        const qdq_map_value *from;
        const qdq_function *f = qdq_check_function_of(g);
        const char *key;

        if (f == NULL || (key = key_of(c, f->domain, f->name, f->overload)) == NULL)
            continue;
        from = qdq_map_get(&c->functions, key);
        QDQ_FOR_NODES (n, g) {
            call one = {from == NULL ? 0 : (uint32_t)from->num - 1, callee(c, n)};

            if (one.to == 0)
                continue;
            one.to--;
            if (!QDQ_PUSH(&c->scratch, list, one))
                return false;
        }
    }
    return !c->nomem;
}

/* Functions that call nothing that is left are taken away until none is left, or only circles are. */
static void check_circles(qdq_checker *c, const calls *list)
{
    size_t n = c->m->functions.n;
    uint32_t *n_calls = qdq_arena_array(&c->scratch, n, sizeof *n_calls); /* that it makes */
    uint32_t *start = qdq_arena_array(&c->scratch, n + 2, sizeof *start); /* of its callers in `caller` */
    uint32_t *caller = qdq_arena_array(&c->scratch, list->n + 1, sizeof *caller);
    uint32_t *ready = qdq_arena_array(&c->scratch, n, sizeof *ready);
    size_t n_ready = 0;

    if (n_calls == NULL || start == NULL || caller == NULL || ready == NULL) {
        c->nomem = true;
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        n_calls[list->at[i].from]++;
        start[list->at[i].to + 2]++;
    }
    for (size_t f = 2; f < n + 2; f++)
        start[f] += start[f - 1];
    for (size_t i = 0; i < list->n; i++)
        caller[start[list->at[i].to + 1]++] = list->at[i].from;
    for (uint32_t f = 0; f < n; f++)
        if (n_calls[f] == 0)
            ready[n_ready++] = f;
    for (size_t done = 0; done < n_ready; done++)
        for (uint32_t i = start[ready[done]]; i < start[ready[done] + 1]; i++)
            if (--n_calls[caller[i]] == 0)
                ready[n_ready++] = caller[i];
    for (size_t f = 0; f < n && n_ready < n; f++)
        if (n_calls[f] > 0) {
            ERROR("function '%s': its calls lead in a circle, expected calls that end",
                  c->m->functions.at[f]->name);
            return;
        }
}

void qdq_check_functions(qdq_checker *c)
{
    const qdq_model *m = c->m;
    calls list = {NULL, 0, 0};

    for (size_t i = 0; i < m->functions.n && !c->nomem; i++) {
        const qdq_function *f = m->functions.at[i];
        const char *key = key_of(c, f->domain, f->name, f->overload);
        qdq_map_value *place;
        bool is_new;

        if (key == NULL)
            return;
        if (f->name[0] == '\0')
            ERROR("model: function %zu has no name", i);
        if (f->body == NULL || f->body->dead || f->body->function != f) {
            ERROR("function '%s': it has no body", f->name);
            return;
        }
        place = qdq_map_put(&c->functions, key, &is_new);
        if (place == NULL)
            c->nomem = true;
        else if (!is_new)
            ERROR("function '%s': found twice in domain '%s', expected once", f->name, f->domain);
        else
            place->num = i + 1;
    }
    if (m->functions.n == 0 || c->nomem)
        return;
    if (collect_calls(c, &list))
        check_circles(c, &list);
    else
        c->nomem = true;
}
