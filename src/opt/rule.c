/* rule.c - runs rules over a graph from one worklist: first all nodes, then whatever a change touched, until the
 * list is empty. Every node has fuel, so that two rules that undo each other end, too. */
#include "opt/rule.h"

#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "opt/opt_state.h"
#include "opt/rule_match.h"

enum { FUEL = 32 };

const char qdq_not_this[] = "";

typedef struct visits {
    uint8_t fuel;
    bool queued;
} visits;

typedef struct worklist {
    qdq_opt *o;
    qdq_graph *g;
    qdq_arena memory; /* not the pass's scratch: that is for rules */
    QDQ_VEC(qdq_node *) queue;
    size_t next;
    QDQ_VEC(visits) visit; /* by node id */
    const qdq_rule *const *rules;
    size_t n_rules, first_step;
    uint8_t *rule_of; /* rules by root: first index for each operator, chained by `chain` */
    uint8_t chain[QDQ_MAX_STEPS];
    const qdq_facts *facts;
    int64_t opset;
} worklist;

enum { NO_RULE = 255 };

/* --- the list ----------------------------------------------------------------------------------------------------------- */

static bool push(worklist *w, qdq_node *n)
{
    while (w->visit.n <= n->id)
        if (!QDQ_PUSH(&w->memory, &w->visit, ((visits){FUEL, false})))
            return false;
    if (n->dead || w->visit.at[n->id].queued || w->visit.at[n->id].fuel == 0)
        return true;
    w->visit.at[n->id].queued = true;
    return QDQ_PUSH(&w->memory, &w->queue, n);
}

static bool push_readers(worklist *w, const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->graph == w->g && !push(w, u->node))
            return false;
    return true;
}

/* A change can make room for a rule at the node, at its readers, and at what it reads (which has one reader
 * more or fewer). */
static bool push_around(worklist *w, qdq_node *n)
{
    if (!push(w, n))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && !push_readers(w, n->out[i]))
            return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        if (v != NULL && v->producer != NULL && v->graph == w->g && !push(w, v->producer))
            return false;
    }
    return true;
}

void qdq_match_touch(qdq_match *m, qdq_node *n)
{
    worklist *w = m->work;

    if (!push_around(w, n))
        w->o->state->nomem = true;
}

/* --- one node ------------------------------------------------------------------------------------------------------------ */

static bool fits(const worklist *w, const qdq_rule *r)
{
    return (r->min_opset == 0 || w->opset >= r->min_opset) &&
           (r->max_opset == 0 || w->opset <= r->max_opset) &&
           !(r->needs_initializers && qdq_graph_in_function(w->g));
}

static qdq_status apply(worklist *w, qdq_match *m, qdq_node *root, bool *done, qdq_error *err)
{
    qdq_value *around[QDQ_PAT_INPUTS];
    uint32_t nodes = w->g->n_node;
    size_t n_around = 0;

    for (uint32_t i = 0; i < root->n_in && n_around < QDQ_PAT_INPUTS; i++)
        if (root->in[i].value != NULL)
            around[n_around++] = root->in[i].value;
    *done = true;
    QDQ_TRY(m->rule->build(m, err));
    qdq_opt_book(w->o, w->o->state->current, (int64_t)w->g->n_node - (int64_t)nodes, 0, 0);
    if (!root->dead && !push_around(w, root))
        return qdq_nomem(err);
    for (size_t i = 0; i < n_around; i++)
        if (!around[i]->dead && !push_readers(w, around[i]))
            return qdq_nomem(err);
    return QDQ_OK;
}

static qdq_status try_rule(worklist *w, size_t i, qdq_node *n, bool *done, qdq_error *err)
{
    qdq_match m = {
        .o = w->o, .rule = w->rules[i], .graph = w->g, .opset = w->opset, .facts = w->facts, .work = w};
    const char *why;

    if (!fits(w, m.rule) || !qdq_match_bind(&m, n))
        return QDQ_OK;
    qdq_opt_enter(w->o, w->first_step + i);
    why = m.rule->check != NULL ? m.rule->check(&m) : NULL;
    if (why == qdq_not_this)
        return QDQ_OK;
    if (why != NULL) {
        qdq_opt_refuse(w->o, n, why);
        return QDQ_OK;
    }
    return qdq_opt_take(w->o, n) ? apply(w, &m, n, done, err) : QDQ_OK;
}

static qdq_status visit(worklist *w, qdq_node *n, qdq_error *err)
{
    bool done = false;

    for (uint8_t i = w->rule_of[n->op]; i != NO_RULE && !done && !n->dead; i = w->chain[i]) {
        double start = qdq_clock_seconds();
        QDQ_TRY(try_rule(w, i, n, &done, err));
        qdq_opt_book(w->o, w->first_step + i, 0, 0, qdq_clock_seconds() - start);
    }
    return QDQ_OK;
}

/* --- the walk -------------------------------------------------------------------------------------------------------------- */

static bool index_rules(worklist *w)
{
    w->rule_of = qdq_arena_array(&w->memory, QDQ_OP_COUNT, sizeof *w->rule_of);
    if (w->rule_of == NULL)
        return false;
    memset(w->rule_of, NO_RULE, QDQ_OP_COUNT);
    for (size_t i = w->n_rules; i-- > 0;) {
        uint8_t *first = &w->rule_of[w->rules[i]->pat[0].op];

        w->chain[i] = *first;
        *first = (uint8_t)i;
    }
    return true;
}

static qdq_status walk(worklist *w, qdq_error *err)
{
    if (!index_rules(w))
        return qdq_nomem(err);
    QDQ_FOR_NODES (n, w->g)
        if (w->rule_of[n->op] != NO_RULE && !push(w, n))
            return qdq_nomem(err);
    while (w->next < w->queue.n) {
        qdq_node *n = w->queue.at[w->next++];

        w->visit.at[n->id].queued = false;
        w->visit.at[n->id].fuel--;
        if (n->dead || w->rule_of[n->op] == NO_RULE)
            continue;
        QDQ_TRY(visit(w, n, err));
        if (w->o->state->nomem)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

qdq_status qdq_rules_run(qdq_opt *o, const qdq_rule *const *rules, size_t n_rules, qdq_graph *g,
                         qdq_error *err)
{
    worklist w = {.o = o, .g = g, .rules = rules, .n_rules = n_rules, .opset = qdq_graph_opset(g)};
    size_t step = o->state->current;
    qdq_status st;

    w.first_step = step;
    st = qdq_opt_facts(o, &w.facts, err);
    if (st == QDQ_OK)
        st = walk(&w, err);
    qdq_opt_enter(o, step);
    qdq_arena_free(&w.memory);
    return st;
}

/* --- building blocks --------------------------------------------------------------------------------------------------------- */

qdq_node *qdq_match_add(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                        const qdq_type *type)
{
    const char *name = qdq_graph_unique_name(m->graph, m->root->out[0]->name);
    qdq_node *n = name != NULL ? qdq_graph_add_node(m->graph, m->root, "", op, "", n_in, 1, &name) : NULL;

    if (n == NULL)
        return NULL;
    for (uint32_t i = 0; i < n_in; i++)
        qdq_node_set_in(n, i, in[i]);
    if (type != NULL)
        qdq_value_set_type(n->out[0], type);
    qdq_match_touch(m, n);
    return n;
}

qdq_value *qdq_match_add_const(qdq_match *m, const char *base, qdq_tensor *t)
{
    return qdq_opt_constant(m->o, m->graph, m->root, base, t);
}

qdq_value *qdq_match_add_ints(qdq_match *m, const char *base, size_t n, const int64_t *ints)
{
    int64_t dim = (int64_t)n;

    return qdq_match_add_const(m, base, qdq_tensor_of_ints(m->graph->model, 1, &dim, ints));
}

qdq_status qdq_match_become(qdq_match *m, qdq_value *v, qdq_error *err)
{
    worklist *w = m->work;

    if (!push_readers(w, m->root->out[0]) || !qdq_opt_alias(m->root, v))
        return qdq_nomem(err);
    return push_readers(w, v) && (v->producer == NULL || v->graph != m->graph || push_around(w, v->producer))
               ? QDQ_OK
               : qdq_nomem(err);
}
