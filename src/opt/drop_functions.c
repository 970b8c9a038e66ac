/* drop_functions.c - drop-unused-functions and drop-unused-opsets: what the model declares and no
 * node needs. */
#include "base/fail.h"
#include "ir/function.h"
#include "opt/opt.h"

/* --- drop-unused-functions: those that no call reaches from the main graph -------------------- */

static bool find_reached(const qdq_model *m, const qdq_functions *functions, qdq_arena *scratch,
                         bool *reached)
{
    qdq_graph_list work = {NULL, 0, 0};

    if (!QDQ_PUSH(scratch, &work, m->graph))
        return false;
    while (work.n > 0) {
        qdq_graph *g = work.at[--work.n];

        QDQ_FOR_NODES (n, g) {
            uint32_t i = qdq_functions_callee(functions, n);

            if (!qdq_node_push_graphs(n, scratch, &work))
                return false;
            if (i == QDQ_NO_FUNCTION || reached[i])
                continue;
            reached[i] = true;
            if (!QDQ_PUSH(scratch, &work, m->functions.at[i]->body))
                return false;
        }
    }
    return true;
}

qdq_status qdq_pass_drop_unused_functions(qdq_opt *o, qdq_error *err)
{
    qdq_model *m = o->model;
    bool *reached = qdq_arena_array(&o->scratch, m->functions.n + 1, sizeof *reached), ok;
    qdq_functions functions = {.m = m};

    if (m->functions.n == 0)
        return QDQ_OK;
    ok = reached != NULL && qdq_functions_open(&functions, m, &o->scratch);
    ok = ok && find_reached(m, &functions, &o->scratch, reached);
    qdq_functions_close(&functions);
    QDQ_NEED(ok, err);
    for (size_t i = m->functions.n; i-- > 0;)
        if (!reached[i] && qdq_opt_take_named(o, m->functions.at[i]->name))
            qdq_model_remove_function(m, i);
    return QDQ_OK;
}

/* --- drop-unused-opsets: imports of domains that no operator is of ------------------------------
 *
 * The default domain stays, and the domains of functions: some engines want them. */

static bool use_domain(qdq_map *used, const char *domain)
{
    return qdq_map_put(used, qdq_plain_domain(domain), NULL) != NULL;
}

/* Domains of all nodes in g and the graphs inside it. */
static bool use_domains_of(qdq_graph *g, qdq_arena *scratch, qdq_map *used)
{
    qdq_graph_list work = {NULL, 0, 0};
    const char *last = NULL;

    if (!QDQ_PUSH(scratch, &work, g))
        return false;
    while (work.n > 0) {
        g = work.at[--work.n];
        QDQ_FOR_NODES (n, g) {
            if ((n->domain != last && !use_domain(used, n->domain)) ||
                !qdq_node_push_graphs(n, scratch, &work))
                return false;
            last = n->domain;
        }
    }
    return true;
}

static bool use_domains_of_functions(const qdq_model *m, qdq_map *used)
{
    bool ok = true;

    for (size_t i = 0; i < m->functions.n && ok; i++) {
        const qdq_function *f = m->functions.at[i];

        ok = use_domain(used, f->domain);
        for (size_t k = 0; k < f->opsets.n && ok; k++)
            ok = use_domain(used, f->opsets.at[k].domain);
    }
    return ok;
}

/* f NULL: the model's own imports. */
static qdq_status drop_opsets(qdq_opt *o, qdq_function *f, qdq_error *err)
{
    qdq_model *m = o->model;
    qdq_map used = QDQ_MAP_INIT;
    bool ok = use_domain(&used, "") &&
              use_domains_of(f != NULL ? f->body : m->graph, &o->scratch, &used) &&
              (f != NULL || use_domains_of_functions(m, &used));

    for (size_t i = f != NULL ? f->opsets.n : m->opsets.n; ok && i-- > 0;) {
        const char *domain = f != NULL ? f->opsets.at[i].domain : m->opsets.at[i].domain;

        if (qdq_map_get(&used, qdq_plain_domain(domain)) == NULL && qdq_opt_take_named(o, domain))
            qdq_model_remove_opset(m, f, i);
    }
    qdq_map_free(&used);
    return ok ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_pass_drop_unused_opsets(qdq_opt *o, qdq_error *err)
{
    for (size_t i = 0; i < o->model->functions.n; i++)
        QDQ_TRY(drop_opsets(o, o->model->functions.at[i], err));
    return drop_opsets(o, NULL, err);
}
