/* check_function.c - the verifier's view of functions: one definition each, and calls that end. */
#include "ir/checker.h"

#define ERROR(...) qdq_check_report(c, true, __VA_ARGS__)

bool qdq_check_is_call(qdq_checker *c, const qdq_node *n)
{
    return qdq_functions_callee(&c->functions, n) != QDQ_NO_FUNCTION;
}

static bool check_function(qdq_checker *c, uint32_t i)
{
    const qdq_function *f = c->m->functions.at[i];

    if (f->name[0] == '\0')
        ERROR("model: function %u has no name", (unsigned)i);
    if (f->body == NULL || f->body->dead || f->body->function != f) {
        ERROR("function '%s': it has no body", f->name);
        return false;
    }
    if (qdq_functions_find(&c->functions, f->domain, f->name, f->overload) != i)
        ERROR("function '%s': found twice in domain '%s', expected once", f->name, f->domain);
    return true;
}

/* --- what calls come to ----------------------------------------------------------------------- */

/* Engines put bodies in place of calls, by recursion and without a limit of their own. */
enum { MAX_CALL_DEPTH = 256, MAX_CALLED_NODES = 5000000 };

typedef struct call_cost {
    /* of calls inside calls; 0: calls nothing */
    uint32_t depth;
    /* with all calls expanded; at most MAX_CALLED_NODES + 1 */
    uint64_t nodes;
} call_cost;

static bool add_calls(qdq_checker *c, qdq_graph *body, const call_cost *known, call_cost *sum)
{
    qdq_graph_list work = {NULL, 0, 0};

    if (!QDQ_PUSH(&c->scratch, &work, body))
        return false;
    while (work.n > 0) {
        qdq_graph *g = work.at[--work.n];

        QDQ_FOR_NODES (n, g) {
            const uint32_t callee = qdq_functions_callee(&c->functions, n);
            const call_cost one = callee == QDQ_NO_FUNCTION ? (call_cost){0, 1} : known[callee];
            const uint32_t depth = one.depth + (callee != QDQ_NO_FUNCTION);

            sum->depth = depth > sum->depth ? depth : sum->depth;
            sum->nodes += one.nodes;
            if (sum->nodes > MAX_CALLED_NODES)
                sum->nodes = MAX_CALLED_NODES + 1;
            if (!qdq_node_push_graphs(n, &c->scratch, &work))
                return false;
        }
    }
    return true;
}

static void check_calls(qdq_checker *c, const uint32_t *order, size_t n)
{
    call_cost *known = qdq_arena_array(&c->scratch, c->m->functions.n, sizeof *known);
    call_cost all = {0, 0};
    bool ok = known != NULL;

    for (size_t i = 0; ok && i < n; i++)
        ok = add_calls(c, c->m->functions.at[order[i]]->body, known, &known[order[i]]);
    if (!ok || !add_calls(c, c->m->graph, known, &all)) {
        c->nomem = true;
        return;
    }
    if (all.depth > MAX_CALL_DEPTH)
        ERROR("model: calls of functions are nested %u deep; expected at most %d",
              (unsigned)all.depth, MAX_CALL_DEPTH);
    if (all.nodes > MAX_CALLED_NODES)
        ERROR("model: more than %d nodes with all calls of functions written out; expected fewer",
              MAX_CALLED_NODES);
}

void qdq_check_functions(qdq_checker *c)
{
    size_t n = c->m->functions.n, n_sorted = 0;
    bool *ends;
    uint32_t *order;

    if (!qdq_functions_open(&c->functions, c->m, &c->scratch)) {
        c->nomem = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!check_function(c, i))
            return;
    if (n == 0)
        return;
    ends = qdq_arena_array(&c->scratch, n, sizeof *ends);
    if (ends == NULL || !qdq_functions_order(&c->functions, &c->scratch, &order, &n_sorted)) {
        c->nomem = true;
        return;
    }
    for (size_t i = 0; i < n_sorted; i++)
        ends[order[i]] = true;
    for (size_t i = 0; i < n && n_sorted < n; i++)
        if (!ends[i]) {
            ERROR("function '%s': its calls lead in a circle, expected calls that end",
                  c->m->functions.at[i]->name);
            return;
        }
    if (c->wants_domains)
        check_calls(c, order, n_sorted);
}
