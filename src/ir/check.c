/* check.c - the verifier: everything that must hold for a model, in one pass of linear time.
 *
 * It trusts nothing: neither the file the model came from nor the edits that made it, so it is also
 * what tests and the pass manager call after every change. It changes nothing. */
#include "base/fail.h"
#include "base/pack.h"
#include "ir/checker.h"
#include "ir/graph_check.h"
#include "ir/name.h"
#include "ir/qdq_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- findings --------------------------------------------------------------------------------- */

void qdq_check_report(qdq_checker *c, bool is_error, const char *fmt, ...)
{
    qdq_finding f = {is_error, NULL};
    char text[1000];
    va_list ap;

    c->n_error += is_error;
    if (c->nomem || (c->first_only && (!is_error || c->found.n > 0)))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    qdq_keep_one_line(text);
    f.text = qdq_arena_strdup(&c->scratch, text);
    if (f.text == NULL || !QDQ_PUSH(&c->scratch, &c->found, f))
        c->nomem = true;
}

static bool is_done(const qdq_checker *c)
{
    return c->nomem || (c->first_only && c->found.n > 0);
}

const char *qdq_check_place(qdq_checker *c, const qdq_node *n)
{
    const char *label = qdq_node_label(n, &c->scratch);
    const char *text;

    if (n->graph->owner == NULL && n->graph->function == NULL)
        text = qdq_arena_printf(&c->scratch, "node '%s'", label);
    else
        text = qdq_arena_printf(&c->scratch, "graph '%s': node '%s'", n->graph->name, label);
    return text == NULL ? "?" : text;
}

#define ERROR(...)   qdq_check_report(c, true, __VA_ARGS__)
#define WARNING(...) qdq_check_report(c, false, __VA_ARGS__)

/* --- the model's header ----------------------------------------------------------------------- */

/* The IR version that the ONNX release with this opset came with. */
static int64_t ir_version_of(int64_t opset)
{
    static const struct {
        int64_t opset, ir;
    } table[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7}, {18, 8},
                 {20, 9}, {22, 10}, {23, 11}, {24, 12}, {26, 13}};

    for (size_t i = 0; i < QDQ_COUNT(table); i++)
        if (opset <= table[i].opset)
            return table[i].ir;
    return 13;
}

enum { NEWEST_IR = 13 };

static void check_opsets(qdq_checker *c)
{
    const qdq_model *m = c->m;

    for (size_t i = 0; i < m->opsets.n && !is_done(c); i++) {
        const qdq_opset *set = &m->opsets.at[i];
        const char *domain = qdq_plain_domain(set->domain);
        qdq_map_value *place;
        bool is_new;

        place = qdq_map_put(&c->domains, domain, &is_new);
        if (place == NULL) {
            c->nomem = true;
            return;
        }
        if (!is_new && place->num != (uint64_t)set->version)
            ERROR("model: domain '%s' is imported in versions %" PRId64 " and %" PRId64
                  ", expected one",
                  set->domain, (int64_t)place->num, set->version);
        else if (!is_new)
            WARNING("model: domain '%s' is imported twice", set->domain);
        place->num = (uint64_t)set->version;
        if (set->version < 1)
            ERROR("model: domain '%s' is imported in version %" PRId64 ", expected at least 1",
                  set->domain, set->version);
    }
}

static void check_header(qdq_checker *c)
{
    const qdq_model *m = c->m;
    int64_t opset = qdq_model_opset_of(m, "");

    if (m->ir_version < 1)
        ERROR("model: IR version %" PRId64 ", expected at least 1", m->ir_version);
    else if (m->ir_version > NEWEST_IR)
        WARNING("model: IR version %" PRId64 " is newer than %d, the newest that is known",
                m->ir_version, NEWEST_IR);
    else if (opset > 0 && m->ir_version < ir_version_of(opset))
        WARNING("model: opset %" PRId64 " came with IR version %" PRId64 ", found %" PRId64, opset,
                ir_version_of(opset), m->ir_version);
    check_opsets(c);
}

/* --- values ----------------------------------------------------------------------------------- */

static void check_uses(qdq_checker *c, const qdq_value *v)
{
    const qdq_use *before = NULL;
    uint32_t n = 0;

    for (const qdq_use *u = v->first; u != NULL && n <= v->n_use; before = u, u = u->next, n++) {
        if (u->value != v || u->prev != before || u->node == NULL || u->node->dead ||
            u->index >= u->node->n_in || u != &u->node->in[u->index]) {
            ERROR("value '%s': its use list is damaged at entry %u", v->name, (unsigned)n);
            return;
        }
    }
    if (n != v->n_use || v->last != before)
        ERROR("value '%s': found %s%u uses in its list, expected %u", v->name,
              n > v->n_use ? "over " : "", (unsigned)(n > v->n_use ? v->n_use : n),
              (unsigned)v->n_use);
    c->n_listed += n;
}

static void check_definition(qdq_checker *c, const qdq_value *v)
{
    bool has_data = v->init != NULL || v->sparse != NULL;

    if (v->producer != NULL) {
        const qdq_node *n = v->producer;

        if (n->dead || n->graph != v->graph || v->out_index >= n->n_out ||
            n->out[v->out_index] != v)
            ERROR("value '%s': it does not stand where its producer '%s' keeps its outputs",
                  v->name, qdq_node_label(n, &c->scratch));
        if (v->is_input || has_data)
            ERROR("value '%s': found a producer, %s, expected one definition", v->name,
                  v->is_input ? "and it is a graph input" : "and it is an initializer");
        return;
    }
    if (v->is_input || has_data)
        return;
    if (v->n_output > 0)
        ERROR("graph '%s': output '%s' is computed by no node", v->graph->name, v->name);
    else if (v->n_use > 0)
        ERROR("%s: input %u, '%s', is defined nowhere", qdq_check_place(c, v->first->node),
              (unsigned)v->first->index, v->name);
}

/* Ids lead into tables: they are looked at before anything uses them. */
static bool check_ids(qdq_checker *c, const qdq_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.at[i]->id != i || g->values.at[i]->graph != g) {
            ERROR("graph '%s': value '%s' is not where its id says", g->name,
                  g->values.at[i]->name);
            return false;
        }
    return true;
}

static void check_value(qdq_checker *c, const qdq_graph *g, const qdq_value *v)
{
    if (v->name == NULL || v->name[0] == '\0') {
        ERROR("graph '%s': value %u has no name", g->name, (unsigned)v->id);
        return;
    }
    if (qdq_graph_find(g, v->name) != v)
        ERROR("graph '%s': the name '%s' belongs to two values", g->name, v->name);
    if (g->owner != NULL && qdq_name_of(v->name)->n_value > 1 &&
        qdq_graph_resolve(g->owner->graph, v->name) != NULL)
        ERROR("graph '%s': the name '%s' is also that of a value around it, expected another",
              g->name, v->name);
    check_uses(c, v);
    check_definition(c, v);
    if (v->type != NULL)
        qdq_check_type(c, v->name, v->type);
    if (v->init != NULL) {
        if (v->init->name != v->name && strcmp(v->init->name, v->name) != 0)
            ERROR("value '%s': its data is named '%s'", v->name, v->init->name);
        qdq_check_tensor(c, v->name, v->init);
        if (v->type != NULL)
            qdq_check_declared(c, v);
    }
}

static void check_outputs(qdq_checker *c, const qdq_graph *g, uint32_t *listed)
{
    for (size_t i = 0; i < g->outputs.n; i++) {
        const qdq_value *v = g->outputs.at[i];

        if (v->dead || v->graph != g)
            ERROR("graph '%s': output %zu, '%s', is not a value of it", g->name, i, v->name);
        else if (++listed[v->id] > 1)
            WARNING("graph '%s': '%s' is listed as an output more than once", g->name, v->name);
    }
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];

        if (!v->dead && v->n_output != listed[i])
            ERROR("value '%s': counted as %u outputs, listed as %u", v->name, (unsigned)v->n_output,
                  (unsigned)listed[i]);
        listed[i] = 0;
    }
}

enum { LISTED_INPUT = 1, LISTED_INIT = 2 };

static void check_inputs(qdq_checker *c, const qdq_graph *g, uint32_t *listed)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];

        if (v->dead || v->graph != g || !v->is_input)
            ERROR("graph '%s': input %zu, '%s', is not an input value of it", g->name, i, v->name);
        else if (listed[v->id] & LISTED_INPUT)
            ERROR("graph '%s': '%s' is listed as an input twice", g->name, v->name);
        else
            listed[v->id] |= LISTED_INPUT;
    }
}

static void check_inits(qdq_checker *c, const qdq_graph *g, uint32_t *listed)
{
    for (size_t i = 0; i < g->inits.n; i++) {
        const qdq_value *v = g->inits.at[i];

        if (v->dead)
            continue;
        if (v->graph != g || (v->init == NULL && v->sparse == NULL) || listed[v->id] & LISTED_INIT)
            ERROR("graph '%s': initializer %zu, '%s', has no data or is listed twice", g->name, i,
                  v->name);
        else
            listed[v->id] |= LISTED_INIT;
    }
}

/* Inputs, outputs and initializers: every entry is a live value of the graph that knows of it. */
static void check_lists(qdq_checker *c, const qdq_graph *g)
{
    uint32_t *listed = qdq_arena_array(&c->scratch, g->values.n + 1, sizeof *listed);

    if (listed == NULL) {
        c->nomem = true;
        return;
    }
    check_outputs(c, g, listed);
    check_inputs(c, g, listed);
    check_inits(c, g, listed);
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];
        bool has_data = v->init != NULL || v->sparse != NULL;

        if (v->dead)
            continue;
        if (v->is_input != ((listed[i] & LISTED_INPUT) != 0))
            ERROR("value '%s': is an input, but not listed as one (or the other way)", v->name);
        if (has_data != ((listed[i] & LISTED_INIT) != 0))
            ERROR("value '%s': is an initializer, but not listed as one", v->name);
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_around(const qdq_graph *outer, const qdq_graph *g)
{
    for (int depth = 0; depth <= QDQ_MAX_NESTING; depth++) {
        if (g == outer)
            return true;
        if (g->owner == NULL)
            return false;
        g = g->owner->graph;
    }
    return false;
}

static void check_operands(qdq_checker *c, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_use *u = &n->in[i];

        if (u->node != n || u->index != i)
            ERROR("%s: input slot %u does not know its place", qdq_check_place(c, n), (unsigned)i);
        if (u->value == NULL)
            continue;
        c->n_slots++;
        if (u->value->dead)
            ERROR("%s: input %u, '%s', was removed", qdq_check_place(c, n), (unsigned)i,
                  u->value->name);
        else if (u->value->graph != n->graph && !is_around(u->value->graph, n->graph))
            ERROR("%s: input %u, '%s', is of a graph that is not around it", qdq_check_place(c, n),
                  (unsigned)i, u->value->name);
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL &&
            (n->out[i]->dead || n->out[i]->producer != n || n->out[i]->out_index != i))
            ERROR("%s: output %u, '%s', has another producer, expected this node",
                  qdq_check_place(c, n), (unsigned)i, n->out[i]->name);
}

static bool imports(const qdq_checker *c, const char *domain)
{
    const qdq_function *f = c->function;

    if (f == NULL)
        return qdq_map_get(&c->domains, domain) != NULL;
    for (size_t i = 0; i < f->opsets.n; i++) {
        if (strcmp(qdq_plain_domain(f->opsets.at[i].domain), domain) == 0)
            return true;
    }
    return false;
}

/* Once for every operator, not for every node. */
static void report_unknown(qdq_checker *c, const qdq_node *n, const char *domain)
{
    char name[256];
    const char *key;

    snprintf(name, sizeof name, "%s%s%s", domain, domain[0] == '\0' ? "" : "::", n->type);
    if (qdq_map_get(&c->unknown, name) != NULL)
        return;
    key = qdq_arena_strdup(&c->scratch, name);
    if (key == NULL || qdq_map_put(&c->unknown, key, NULL) == NULL)
        c->nomem = true;
    WARNING("%s: operator '%s' is not known and is kept as it is", qdq_check_place(c, n), name);
}

static void check_operator(qdq_checker *c, const qdq_node *n)
{
    const char *domain = qdq_plain_domain(n->domain);

    if (n->type[0] == '\0')
        ERROR("%s: it has no operator type", qdq_check_place(c, n));
    /* Below IR 3 there was nothing to import. */
    if (c->m->ir_version >= 3 && domain != c->last_domain) {
        if (!imports(c, domain))
            ERROR("%s: no opset of domain '%s' is imported", qdq_check_place(c, n), domain);
        c->last_domain = domain;
    }
    if (!c->first_only && n->op == QDQ_OP_UNKNOWN && !qdq_node_is_known_contrib(n) &&
        !qdq_check_is_call(c, n))
        report_unknown(c, n, domain);
}

/* Node list and ids, before anything walks the list: `place` gets the place of every node, from
 * 1. */
static bool check_node_list(qdq_checker *c, const qdq_graph *g, uint32_t *place)
{
    uint32_t at = 0;

    for (const qdq_node *n = g->end.next; n != &g->end; n = n->next) {
        if (n == NULL || n->dead || n->graph != g || n->next == NULL || n->next->prev != n ||
            n->id >= g->next_node_id || place[n->id] != 0) {
            ERROR("graph '%s': its node list is damaged at place %u", g->name, (unsigned)at);
            return false;
        }
        place[n->id] = ++at;
    }
    if (at != g->n_node)
        ERROR("graph '%s': found %u nodes, expected %u", g->name, (unsigned)at,
              (unsigned)g->n_node);
    return at == g->n_node;
}

/* Some node reads what comes later: a cycle is an error, a mere disorder is not. */
static void report_order(qdq_checker *c, const qdq_graph *g, const qdq_node *reader,
                         const qdq_value *v)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_node **order;
    size_t n;
    qdq_status st = qdq_graph_sorted(g, &c->scratch, &order, &n, &err);

    if (st == QDQ_E_NOMEM)
        c->nomem = true;
    else if (st != QDQ_OK)
        ERROR("%s", err.text);
    else
        WARNING("%s: it reads '%s' before that is computed, expected topological order",
                qdq_check_place(c, reader), v->name);
}

static void check_order(qdq_checker *c, const qdq_graph *g, const uint32_t *place)
{
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];

        if (v->dead || v->producer == NULL)
            continue;
        for (const qdq_use *u = v->first; u != NULL; u = u->next) {
            const qdq_node *reader = qdq_node_within(g, u->node);

            if (reader != NULL && place[reader->id] <= place[v->producer->id]) {
                report_order(c, g, reader, v);
                return; /* one is enough: the order is wrong or right as a whole */
            }
        }
    }
}

static bool is_too_deep(const qdq_graph *g)
{
    int depth = 0;

    for (; g->owner != NULL; g = g->owner->graph)
        if (++depth > QDQ_MAX_NESTING)
            return true;
    return false;
}

static void check_graph(qdq_checker *c, const qdq_graph *g)
{
    size_t errors = c->n_error;
    uint32_t *place = qdq_arena_array(&c->scratch, (size_t)g->next_node_id + 1, sizeof *place);

    if (place == NULL) {
        c->nomem = true;
        return;
    }
    if (is_too_deep(g)) {
        ERROR("graph '%s': graphs are nested deeper than %d", g->name, QDQ_MAX_NESTING);
        return;
    }
    if (!check_node_list(c, g, place) || !check_ids(c, g))
        return;
    for (size_t i = 0; i < g->values.n && !is_done(c); i++)
        if (!g->values.at[i]->dead)
            check_value(c, g, g->values.at[i]);
    check_lists(c, g);
    c->last_domain = NULL;
    c->function = qdq_graph_function(g);
    QDQ_FOR_NODES (n, g) {
        if (is_done(c))
            return;
        check_operands(c, n);
        check_operator(c, n);
        qdq_check_attrs(c, n);
        if (c->wants_domains)
            qdq_check_domains(c, n);
    }
    if (c->n_error == errors) /* else the use lists may not be fit to walk */
        check_order(c, g, place);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Every subgraph hangs on exactly one attribute of its owner, whose attributes were counted on the
 * way. */
static void check_ownership(qdq_checker *c)
{
    QDQ_FOR_GRAPHS (g, c->m) {
        uint32_t expected = g->owner == NULL ? 0 : 1;

        if (c->n_held[g->index] != expected)
            ERROR("graph '%s': found %u attributes that hold it, expected %u", g->name,
                  (unsigned)c->n_held[g->index], (unsigned)expected);
        if (g->owner == NULL && g->function == NULL && g != c->m->graph)
            ERROR("graph '%s': it is neither the main graph nor a body", g->name);
        if (g->owner != NULL && g->owner->dead)
            ERROR("graph '%s': its owner was removed", g->name);
    }
}

/* In the order in which the names came up, so that the same model gives the same list. */
static void check_node_names(qdq_checker *c)
{
    const qdq_map *names = &c->m->names;

    if (c->first_only)
        return;
    for (size_t i = 0; i < names->n_entry; i++) {
        const qdq_name *name = names->entry[i].value.ptr;

        if (names->entry[i].live && name != NULL && name->size > 0 && name->n_node > 1)
            WARNING("model: %u nodes have the name '%s', expected one; they are shown as Op@output",
                    (unsigned)name->n_node, name->text);
    }
}

static void check_all(qdq_checker *c)
{
    c->n_held = qdq_arena_array(&c->scratch, c->m->graphs.n + 1, sizeof *c->n_held);
    if (c->n_held == NULL) {
        c->nomem = true;
        return;
    }
    check_header(c);
    qdq_check_functions(c);
    QDQ_FOR_GRAPHS (g, c->m) {
        if (is_done(c))
            return;
        check_graph(c, g);
    }
    if (is_done(c))
        return;
    /* Every list entry was seen to be a slot of a live node, every slot was counted: equal sums
     * mean that no slot is missing from its list. */
    if (c->n_error == 0 && c->n_listed != c->n_slots)
        ERROR("model: found %" PRIu64 " uses in lists and %" PRIu64 " in nodes, expected the same",
              c->n_listed, c->n_slots);
    check_ownership(c);
    check_node_names(c);
}

static void start(qdq_checker *c, const qdq_model *m, bool first_only)
{
    memset(c, 0, sizeof *c);
    c->m = m;
    c->first_only = first_only;
}

void qdq_check_close(qdq_checker *c)
{
    qdq_map_free(&c->domains);
    qdq_functions_close(&c->functions);
    qdq_map_free(&c->unknown);
    qdq_arena_free(&c->scratch);
}

qdq_status qdq_check_conclude(qdq_checker *c, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    if (c->nomem)
        st = qdq_nomem(err);
    else if (c->found.n > 0)
        st = qdq_fail(err, QDQ_E_FORMAT, "%s", c->found.at[0].text);
    qdq_check_close(c);
    return st;
}

qdq_status qdq_model_verify(const qdq_model *m, qdq_error *err)
{
    qdq_checker c;

    start(&c, m, true);
    check_all(&c);
    return qdq_check_conclude(&c, err);
}

static void pack_text(qdq_pack *p, void *to)
{
    qdq_finding *f = to;

    f->text = qdq_pack_string(p, f->text);
}

qdq_status qdq_model_check(const qdq_model *m, qdq_finding **out, size_t *n, qdq_error *err)
{
    qdq_checker c;

    *out = NULL;
    *n = 0;
    start(&c, m, false);
    c.wants_domains = true;
    check_all(&c);
    qdq_check_side_files(&c);
    if (!c.nomem)
        *out = qdq_pack_list(c.found.at, c.found.n, sizeof **out, pack_text);
    if (*out != NULL)
        *n = c.found.n;
    qdq_check_close(&c);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}
