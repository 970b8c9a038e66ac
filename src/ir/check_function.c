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
}
