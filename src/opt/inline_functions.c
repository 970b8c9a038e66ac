/* inline_functions.c - inline-functions: y = f(x)  =>  the nodes of f's body.
 *
 * The main graph first, from outside in: what a body brings along is looked at next. Functions
 * whose calls stay somewhere are then gone through in the same way; the others are left for
 * drop-unused-functions. */
#include <string.h>

#include "base/fail.h"
#include "ir/function.h"
#include "opt/opt.h"

/* Functions that call each other twice grow without bound: a file of 6 kB would take gigabytes.
 * Names count, too. */
enum {
    MAX_NODES = 500000,        /* of the model as it becomes */
    FREE_BYTES = 16 << 20,     /* of nodes that a pipeline may put into any model */
    GROWTH = 20,               /* and as many times the bytes of its nodes on top of that */
    MAX_BYTES = (1 << 30) - 1, /* where counting ends */
};

/* What can be said of a function before any call. */
typedef struct callee {
    /* nodes */
    uint64_t own;
    /* nodes, with all calls expanded; at most MAX_NODES + 1 */
    uint64_t size;
    /* that its nodes take, about */
    uint64_t own_bytes;
    /* with all calls expanded; at most MAX_BYTES + 1 */
    uint64_t bytes;
    /* of graphs inside graphs; the body itself is 0 */
    int depth;
    /* its calls do not lead in a circle */
    bool ends;
    /* some call of it stays */
    bool is_reached;
    /* the place that imports all it needs: the last one where it was inlined */
    size_t imported_at;
    /* of its nodes */
    QDQ_VEC(qdq_opset) needs;
} callee;

typedef struct inliner {
    qdq_opt *o;
    qdq_arena memory;
    qdq_functions functions;
    /* by index of the function */
    callee *callee;
    /* nodes of the model */
    uint64_t total;
    /* where we are: 1 is the main graph, then one for each function */
    size_t place;
    /* whose body that is, or NULL */
    qdq_function *function;
    /* domain -> version, there */
    qdq_map imports;
    QDQ_VEC(uint32_t) reached;
    /* graphs that are still to be walked */
    qdq_graph_list work;
} inliner;

/* --- walks ------------------------------------------------------------------------------------ */

static int depth_of(const qdq_graph *g)
{
    int depth = 0;

    for (; g->owner != NULL; g = g->owner->graph)
        depth++;
    return depth;
}

/* About what a copy of the node takes, its values and names included. */
static uint64_t bytes_of(const qdq_node *n)
{
    uint64_t sum = 256 + 64 * (uint64_t)n->n_in + 16 * (uint64_t)n->n_attr + strlen(n->name);

    for (uint32_t i = 0; i < n->n_out; i++)
        sum += 256 + (n->out[i] != NULL ? strlen(n->out[i]->name) : 0);
    return sum;
}

/* --- what is known of functions --------------------------------------------------------------- */

/* `seen`: domain -> index + 1 of the function that needed it last. */
static bool note_domain(inliner *in, uint32_t i, const char *domain, qdq_map *seen)
{
    const qdq_function *f = in->o->model->functions.at[i];
    qdq_opset need = {qdq_plain_domain(domain), 0, {NULL, 0}};
    qdq_map_value *place = qdq_map_put(seen, need.domain, NULL);

    if (place == NULL)
        return false;
    if (place->num == (uint64_t)i + 1)
        return true;
    place->num = (uint64_t)i + 1;
    for (size_t k = 0; k < f->opsets.n && need.version == 0; k++)
        if (strcmp(qdq_plain_domain(f->opsets.at[k].domain), need.domain) == 0)
            need.version = f->opsets.at[k].version;
    return QDQ_PUSH(&in->memory, &in->callee[i].needs, need);
}

/* Those that it calls were studied before. */
static bool study(inliner *in, uint32_t i, qdq_map *seen)
{
    callee *c = &in->callee[i];
    const char *last = NULL;

    c->own = c->size = c->own_bytes = c->bytes = 0;
    c->needs.n = 0;
    if (!QDQ_PUSH(&in->memory, &in->work, in->o->model->functions.at[i]->body))
        return false;
    c->ends = true;
    while (in->work.n > 0) {
        qdq_graph *g = in->work.at[--in->work.n];

        c->own += g->n_node;
        c->depth = depth_of(g) > c->depth ? depth_of(g) : c->depth;
        QDQ_FOR_NODES (n, g) {
            uint32_t other = qdq_functions_callee(&in->functions, n);
            uint64_t bytes = bytes_of(n);

            c->size += other == QDQ_NO_FUNCTION ? 1 : in->callee[other].size;
            c->size = c->size > MAX_NODES ? MAX_NODES + 1 : c->size;
            c->own_bytes += bytes;
            c->bytes += other == QDQ_NO_FUNCTION ? bytes : in->callee[other].bytes;
            c->bytes = c->bytes > MAX_BYTES ? MAX_BYTES + 1 : c->bytes;
            if ((n->domain != last && !note_domain(in, i, n->domain, seen)) ||
                !qdq_node_push_graphs(n, &in->memory, &in->work))
                return false;
            last = n->domain;
        }
    }
    return true;
}

static bool study_all(inliner *in)
{
    qdq_map seen = QDQ_MAP_INIT;
    uint32_t *order;
    size_t n;
    bool ok;

    in->callee = qdq_arena_array(&in->memory, in->o->model->functions.n + 1, sizeof *in->callee);
    ok = in->callee != NULL && qdq_functions_open(&in->functions, in->o->model, &in->memory) &&
         qdq_functions_order(&in->functions, &in->memory, &order, &n);
    for (size_t i = 0; ok && i < n; i++)
        ok = study(in, order[i], &seen);
    qdq_map_free(&seen);
    return ok;
}

/* --- may this call go? ------------------------------------------------------------------------ */

static bool has_graph(qdq_attr *const *attr, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n && count == 0; i++)
        qdq_attr_graphs(attr[i], &count);
    return count > 0;
}

/* Some output that is read would be an input that the call leaves out. */
static bool returns_nothing(const qdq_node *n, const qdq_graph *body)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qdq_value *v = body->outputs.at[i];
        uint32_t from = v->id; /* where it mostly is */

        if (n->out[i] == NULL || (n->out[i]->n_use == 0 && n->out[i]->n_output == 0) ||
            !v->is_input)
            continue;
        if (from >= body->inputs.n || body->inputs.at[from] != v)
            for (from = 0; body->inputs.at[from] != v;)
                from++;
        if (qdq_node_in(n, from) == NULL)
            return true;
    }
    return false;
}

static bool fits_opsets(const inliner *in, const callee *c)
{
    for (size_t i = 0; c->imported_at != in->place && i < c->needs.n; i++) {
        const qdq_map_value *here = qdq_map_get(&in->imports, c->needs.at[i].domain);

        if (c->needs.at[i].version == 0 ||
            (here != NULL && here->num != (uint64_t)c->needs.at[i].version))
            return false;
    }
    return true;
}

/* The reason why it stays, or NULL. */
static const char *why_not(const inliner *in, const qdq_node *n, uint32_t i)
{
    const qdq_function *f = in->o->model->functions.at[i];
    const callee *c = &in->callee[i];

    if (!c->ends)
        return "the function calls itself";
    if (qdq_opt_has_arg(in->o, f->name))
        return "the function is to be kept";
    if (n->n_in > f->body->inputs.n || n->n_out > f->body->outputs.n)
        return "the call has more inputs or outputs than the function";
    if (has_graph(n->attr, n->n_attr) || has_graph(f->attr_protos.at, f->attr_protos.n))
        return "a graph is an argument of the function";
    if (returns_nothing(n, f->body))
        return "the function returns an input that the call leaves out";
    if (depth_of(n->graph) + c->depth > QDQ_MAX_NESTING)
        return "graphs would be nested too deep";
    if (in->total + c->size - 1 > MAX_NODES)
        return "the model would have more than 500000 nodes";
    if (in->o->inlined_bytes + c->bytes > in->o->inline_limit)
        return "the bodies would take more than 16 MiB and 20 times the memory of all nodes";
    return fits_opsets(in, c) ? NULL : "opset conflict";
}

/* --- inlining --------------------------------------------------------------------------------- */

static bool import(inliner *in, callee *c)
{
    for (size_t i = 0; c->imported_at != in->place && i < c->needs.n; i++) {
        const qdq_opset *need = &c->needs.at[i];
        bool is_new;
        qdq_map_value *here = qdq_map_put(&in->imports, need->domain, &is_new);

        if (here == NULL || (is_new && !qdq_model_add_opset(in->o->model, in->function,
                                                            need->domain, need->version)))
            return false;
        here->num = (uint64_t)need->version;
    }
    c->imported_at = in->place;
    return true;
}

/* True if the call gave way to the body. */
static qdq_status try_call(inliner *in, qdq_node *n, uint32_t i, bool *done, qdq_error *err)
{
    callee *c = &in->callee[i];
    const char *why = why_not(in, n, i);

    *done = false;
    if (why != NULL)
        qdq_opt_refuse(in->o, n, why);
    if (why != NULL || !qdq_opt_take(in->o, n)) {
        if (!c->is_reached && !QDQ_PUSH(&in->memory, &in->reached, i))
            return qdq_nomem(err);
        c->is_reached = true;
        return QDQ_OK;
    }
    QDQ_NEED(import(in, c) && qdq_node_inline(n, in->o->model->functions.at[i]->body), err);
    qdq_opt_close_facts(in->o);
    in->total += c->own - 1;
    in->o->inlined_bytes += c->own_bytes;
    *done = true;
    return QDQ_OK;
}

static qdq_status walk_graph(inliner *in, qdq_graph *g, qdq_error *err)
{
    for (qdq_node *n = g->end.next, *next; n != &g->end; n = next) {
        qdq_node *before = n->prev;
        uint32_t i = qdq_functions_callee(&in->functions, n);
        bool done = false;

        next = n->next;
        if (i != QDQ_NO_FUNCTION)
            QDQ_TRY(try_call(in, n, i, &done, err));
        if (done)
            next = before->next; /* there may be calls in what was put in */
        else if (!qdq_node_push_graphs(n, &in->memory, &in->work))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* f NULL: the main graph. */
static qdq_status walk_place(inliner *in, qdq_function *f, qdq_error *err)
{
    const qdq_model *m = in->o->model;
    const qdq_opset *opset = f != NULL ? f->opsets.at : m->opsets.at;
    size_t n = f != NULL ? f->opsets.n : m->opsets.n;

    in->place++;
    in->function = f;
    qdq_map_free(&in->imports);
    for (size_t i = 0; i < n; i++)
        QDQ_NEED(qdq_map_set_num(&in->imports, qdq_plain_domain(opset[i].domain),
                                 (uint64_t)opset[i].version),
                 err);
    QDQ_NEED(QDQ_PUSH(&in->memory, &in->work, f != NULL ? f->body : m->graph), err);
    while (in->work.n > 0)
        QDQ_TRY(walk_graph(in, in->work.at[--in->work.n], err));
    return QDQ_OK;
}

/* Another function may still take in the body of this one: as it is then. */
static qdq_status walk_function(inliner *in, uint32_t i, qdq_error *err)
{
    qdq_function *f = in->o->model->functions.at[i];
    uint64_t edits = f->body->edits;
    qdq_map seen = QDQ_MAP_INIT;
    qdq_status st = walk_place(in, f, err);

    if (st == QDQ_OK && f->body->edits != edits && !study(in, i, &seen))
        st = qdq_nomem(err);
    qdq_map_free(&seen);
    return st;
}

static qdq_status inline_all(inliner *in, qdq_error *err)
{
    uint64_t bytes = 0;

    QDQ_FOR_GRAPHS (g, in->o->model) {
        in->total += g->n_node;
        QDQ_FOR_NODES (n, g)
            bytes += bytes_of(n);
    }
    if (in->o->inline_limit == 0) /* the first round's: what later ones find has grown */
        in->o->inline_limit = FREE_BYTES + GROWTH * bytes;
    QDQ_NEED(study_all(in), err);
    QDQ_TRY(walk_place(in, NULL, err));
    for (size_t i = 0; i < in->reached.n; i++)
        QDQ_TRY(walk_function(in, in->reached.at[i], err));
    return QDQ_OK;
}

qdq_status qdq_pass_inline_functions(qdq_opt *o, qdq_error *err)
{
    inliner in = {.o = o};
    qdq_status st = o->model->functions.n > 0 ? inline_all(&in, err) : QDQ_OK;

    qdq_functions_close(&in.functions);
    qdq_map_free(&in.imports);
    qdq_arena_free(&in.memory);
    return st;
}
