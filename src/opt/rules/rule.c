/* rule.c - runs rules over a graph from one worklist: first all nodes, then whatever a change
 * touched, until the list is empty. Every node has fuel, so that two rules that undo each other
 * end, too.
 *
 * Linear: a change looks again at the node, at what reads it, at what it read, and at the few other
 * readers of that. A value that thousands read (a scalar, a graph input) sends no one back to the
 * list. */
#include "opt/rules/rule.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "opt/opt_state.h"
#include "opt/rules/rule_match.h"

enum {
    FUEL = 32,
    FEW_READERS = 8, /* of a value that lost one: for these it may now be theirs only */
    NO_ENTRY = UINT16_MAX
};

const char qdq_not_this[] = "";

typedef struct visits {
    uint8_t fuel;
    bool queued, refused;
} visits;

/* One pattern of one rule; those with the same root operator form a list. */
typedef struct entry {
    const qdq_pat *pat;
    uint16_t n_pat, rule, next;
} entry;

/* Why a rule leaves a node alone, as far as it was last asked. */
typedef struct refusal {
    const qdq_node *node;
    size_t rule;
    /* NULL: it does no more */
    const char *why;
} refusal;

typedef struct worklist {
    qdq_opt *o;
    qdq_graph *g;
    /* not the pass's scratch: that is for rules */
    qdq_arena memory;
    QDQ_VEC(qdq_node *) queue;
    size_t next;
    /* by node id */
    QDQ_VEC(visits) visit;
    QDQ_VEC(entry) entries;
    /* into entries, by root operator */
    uint16_t *first;
    const qdq_rule *const *rules;
    size_t n_rules, first_step;
    QDQ_VEC(refusal) refusals;
    /* node and rule -> index into refusals */
    qdq_map refused;
    /* values that a change took a reader from */
    QDQ_VEC(qdq_value *) lost;
    /* seconds that are booked on rules */
    double booked;
    qdq_match match;
    union {
        max_align_t align;
        unsigned char bytes[QDQ_MATCH_FOUND];
        /* of the match */
    } found;
} worklist;

/* --- the list --------------------------------------------------------------------------------- */

static bool push(worklist *w, qdq_node *n)
{
    while (w->visit.n <= n->id)
        if (!QDQ_PUSH(&w->memory, &w->visit, ((visits){FUEL, false, false})))
            return false;
    if (n->dead || w->first[n->op] == NO_ENTRY || w->visit.at[n->id].queued ||
        w->visit.at[n->id].fuel == 0)
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

static bool push_producer(worklist *w, const qdq_value *v)
{
    return v == NULL || v->producer == NULL || v->graph != w->g || push(w, v->producer);
}

/* A change can make room for a rule at the node, at its readers, and at what it reads. */
static bool push_around(worklist *w, qdq_node *n)
{
    if (!push(w, n))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && !push_readers(w, n->out[i]))
            return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (!push_producer(w, n->in[i].value))
            return false;
    return true;
}

void qdq_match_touch(qdq_match *m, qdq_node *n)
{
    worklist *w = m->work;

    if (!push_around(w, n))
        w->o->state->nomem = true;
}

const char *qdq_match_nomem(const qdq_match *m)
{
    m->o->state->nomem = true;
    return qdq_not_this;
}

/* --- behind a change -------------------------------------------------------------------------- */

static bool note_inputs(worklist *w, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && !QDQ_PUSH(&w->memory, &w->lost, n->in[i].value))
            return false;
    return true;
}

/* What nothing reads any more goes at once: as long as it stands there it is a reader that keeps
 * other rules from what it reads. What is still read may now be read by one node only. */
static bool settle_lost(worklist *w)
{
    while (w->lost.n > 0) {
        qdq_value *v = w->lost.at[--w->lost.n];
        qdq_node *p = v->dead || v->graph != w->g ? NULL : v->producer;

        if (p == NULL)
            continue;
        if ((qdq_op_get_info(p->op)->flags & QDQ_OP_PURE) != 0 && !qdq_node_is_read(p)) {
            if (!note_inputs(w, p))
                return false;
            qdq_node_remove(p);
        } else if (!push(w, p) || (v->n_use <= FEW_READERS && !push_readers(w, v))) {
            return false;
        }
    }
    return true;
}

static qdq_status apply_rule(worklist *w, qdq_match *m, qdq_error *err)
{
    uint32_t nodes = w->g->n_node;
    qdq_node *root = m->root;

    QDQ_NEED(note_inputs(w, root), err);
    QDQ_TRY(m->rule->build(m, err));
    if ((!root->dead && !push_around(w, root)) || !settle_lost(w))
        return qdq_nomem(err);
    qdq_opt_book(w->o, w->o->state->current, (int64_t)w->g->n_node - (int64_t)nodes, 0, 0);
    return QDQ_OK;
}

/* --- refusals --------------------------------------------------------------------------------- */

/* A node is asked again whenever something near it changes: what counts is the last answer. */
static bool remember(worklist *w, const qdq_node *n, size_t rule, const char *why)
{
    qdq_map_value *place;
    bool is_new;

    if (why == NULL && !w->visit.at[n->id].refused)
        return true;
    place = qdq_map_put_int(&w->refused, (uint64_t)n->id << 16 | rule, &is_new);
    if (place == NULL)
        return false;
    w->visit.at[n->id].refused = true;
    if (!is_new) {
        w->refusals.at[place->num].why = why;
        return true;
    }
    place->num = w->refusals.n;
    return QDQ_PUSH(&w->memory, &w->refusals, ((refusal){n, rule, why}));
}

static void report_refusals(worklist *w)
{
    for (size_t i = 0; i < w->refusals.n; i++) {
        const refusal *r = &w->refusals.at[i];

        if (r->why == NULL || r->node->dead)
            continue;
        qdq_opt_enter(w->o, w->first_step + r->rule);
        qdq_opt_refuse(w->o, r->node, r->why);
    }
}

/* --- one node --------------------------------------------------------------------------------- */

/* *why is the reason of the first alternative that has one. */
static qdq_status try_entry(worklist *w, const entry *e, qdq_node *n, bool *done, const char **why,
                            qdq_error *err)
{
    qdq_match *m = &w->match;
    const char *no;
    qdq_status st = QDQ_OK;

    m->rule = w->rules[e->rule];
    *done = qdq_match_bind(m, e->pat, e->n_pat, n, &no);
    if (*why == NULL)
        *why = no;
    if (*done || m->start > 0)
        qdq_opt_enter(w->o, w->first_step + e->rule);
    *done = *done && qdq_opt_take(w->o, n);
    if (*done)
        st = apply_rule(w, m, err);
    if (m->start > 0) {
        double seconds = qdq_clock_seconds() - m->start;

        qdq_opt_book(w->o, w->first_step + e->rule, 0, 0, seconds);
        w->booked += seconds;
    }
    return st;
}

static qdq_status visit_node(worklist *w, qdq_node *n, qdq_error *err)
{
    const char *why = NULL;
    bool done = false;

    if (n->n_out == 0 || n->out[0] == NULL || (n->out[0]->n_use == 0 && n->out[0]->n_output == 0))
        return QDQ_OK;
    for (uint16_t i = w->first[n->op], next; i != NO_ENTRY && !done; i = next) {
        const entry *e = &w->entries.at[i];

        next = e->next;
        QDQ_TRY(try_entry(w, e, n, &done, &why, err));
        if (done || (next != NO_ENTRY && w->entries.at[next].rule == e->rule))
            continue;
        QDQ_NEED(remember(w, n, e->rule, why), err);
        why = NULL;
    }
    return QDQ_OK;
}

/* --- the rules, by root ----------------------------------------------------------------------- */

static bool fits(const worklist *w, const qdq_rule *r)
{
    return w->match.opset >= r->min_opset &&
           !(r->needs_initializers && qdq_graph_in_function(w->g));
}

static bool add_entries(worklist *w, size_t rule)
{
    const qdq_rule *r = w->rules[rule];

    for (size_t i = 0, n; i < r->n_pat; i += n) {
        for (n = 1; i + n < r->n_pat && strcmp(r->pat[i + n].bind, r->pat->bind) != 0; n++)
            ;
        if (!QDQ_PUSH(&w->memory, &w->entries,
                      ((entry){&r->pat[i], (uint16_t)n, (uint16_t)rule, NO_ENTRY})))
            return false;
    }
    return true;
}

static bool index_rules(worklist *w)
{
    w->first = qdq_arena_array(&w->memory, QDQ_OP_COUNT, sizeof *w->first);
    if (w->first == NULL)
        return false;
    for (size_t i = 0; i < QDQ_OP_COUNT; i++)
        w->first[i] = NO_ENTRY;
    for (size_t i = 0; i < w->n_rules; i++)
        if (fits(w, w->rules[i]) && !add_entries(w, i))
            return false;
    for (size_t i = w->entries.n; i-- > 0;) {
        uint16_t *first = &w->first[w->entries.at[i].pat[0].op];

        w->entries.at[i].next = *first;
        *first = (uint16_t)i;
    }
    return true;
}

/* --- the walk --------------------------------------------------------------------------------- */

static qdq_status walk_graph(worklist *w, qdq_error *err)
{
    QDQ_NEED(index_rules(w), err);
    QDQ_FOR_NODES (n, w->g)
        QDQ_NEED(push(w, n), err);
    while (w->next < w->queue.n) {
        qdq_node *n = w->queue.at[w->next++];

        w->visit.at[n->id].queued = false;
        w->visit.at[n->id].fuel--;
        if (!n->dead)
            QDQ_TRY(visit_node(w, n, err));
        QDQ_NEED(!w->o->state->nomem, err);
    }
    report_refusals(w);
    return QDQ_OK;
}

/* What no rule can be blamed for: looking. */
static void share_seconds(worklist *w, double seconds)
{
    for (size_t i = 0; i < w->n_rules; i++)
        qdq_opt_book(w->o, w->first_step + i, 0, 0, (seconds - w->booked) / (double)w->n_rules);
}

qdq_status qdq_rules_run(qdq_opt *o, const qdq_rule *const *rules, size_t n_rules, qdq_graph *g,
                         qdq_error *err)
{
    worklist w = {
        .o = o, .g = g, .rules = rules, .n_rules = n_rules, .first_step = o->state->current};
    double start;
    qdq_status st;

    w.match =
        (qdq_match){.o = o, .graph = g, .opset = qdq_graph_opset(g), .found = &w.found, .work = &w};
    st = qdq_opt_facts(o, &w.match.facts, err);
    start = qdq_clock_seconds(); /* facts are not the rules' doing */
    if (st == QDQ_OK)
        st = walk_graph(&w, err);
    share_seconds(&w, qdq_clock_seconds() - start);
    qdq_opt_enter(o, w.first_step);
    qdq_map_free(&w.refused);
    qdq_arena_free(&w.memory);
    return st;
}

/* --- building blocks -------------------------------------------------------------------------- */

bool qdq_match_set_type(qdq_match *m, qdq_value *v, const qdq_type *type)
{
    const qdq_type *own = NULL;

    if (type != NULL &&
        (own = qdq_type_tensor(m->graph->model, type->elem, type->rank, type->dim)) == NULL)
        return false;
    qdq_value_set_type(v, own);
    return true;
}

qdq_node *qdq_match_add(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                        const qdq_type *type)
{
    qdq_node *n = qdq_graph_add_op(m->graph, m->root, op, "", m->root->out[0]->name, n_in, in);

    if (n == NULL || !qdq_match_set_type(m, n->out[0], type))
        return NULL;
    qdq_match_touch(m, n);
    return n;
}

qdq_value *qdq_match_add_value(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                               const qdq_type *type)
{
    for (uint32_t i = 0; i < n_in; i++)
        if (in[i] == NULL)
            return NULL;
    const qdq_node *n = qdq_match_add(m, op, n_in, in, type);
    return n != NULL ? n->out[0] : NULL;
}

qdq_value *qdq_match_add_const(qdq_match *m, const char *base, qdq_tensor *t)
{
    return qdq_opt_constant(m->o, m->root, base, "", t);
}

qdq_value *qdq_match_add_ints(qdq_match *m, const char *base, size_t n, const int64_t *ints)
{
    int64_t dim = (int64_t)n;

    return qdq_match_add_const(m, base, qdq_tensor_of_ints(m->graph->model, 1, &dim, ints));
}

qdq_status qdq_match_become(qdq_match *m, qdq_value *v, qdq_error *err)
{
    worklist *w = m->work;

    QDQ_NEED(push_readers(w, m->root->out[0]) && push_producer(w, v) && qdq_opt_alias(m->root, v),
             err);
    return QDQ_OK;
}

qdq_status qdq_match_recast(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                            qdq_error *err)
{
    return qdq_opt_recast(m->root, op, n_in, in) ? QDQ_OK : qdq_nomem(err);
}
