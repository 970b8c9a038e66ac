/* upgrade.c - qdq_model_set_opset(): raises the opset of the default domain, one version after the
 * other.
 *
 * The table upgrade.def says what each version changed. The whole conversion is rehearsed on a
 * clone, which shares all weights, so that a refusal leaves the model as it was. It knows nothing
 * of why a higher opset is wanted. */
#include "onnx/upgrade.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/shape.h"

enum { LOWEST = 7, HIGHEST = 26, MAX_STEPS = 12 };

typedef struct step {
    /* 0: no more steps */
    int version;
    /* NULL: nothing to do, or `refused` */
    qdq_upgrade_fn *adapt;
    /* why it cannot be done, or NULL */
    const char *refused;
} step;

typedef struct row {
    const char *op;
    step steps[MAX_STEPS];
} row;

#define SAME(v)          {v, NULL, NULL},
#define STEP(v, adapter) {v, qdq_upgrade_##adapter, NULL},
#define REFUSED(v, why)  {v, NULL, why},
#define OP(name, ...)    {name, {__VA_ARGS__}},
static const row rows[] = {
#include "onnx/upgrade.def"
};
#undef SAME
#undef STEP
#undef REFUSED
#undef OP

static bool is_default(const char *domain)
{
    return domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static const row *find_row(const char *op)
{
    size_t low = 0, high = QDQ_COUNT(rows);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(op, rows[middle].op);

        if (order == 0)
            return &rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static const step *find_step(const row *r, int version)
{
    for (int i = 0; i < MAX_STEPS && r->steps[i].version != 0; i++)
        if (r->steps[i].version == version)
            return r->steps[i].adapt != NULL || r->steps[i].refused != NULL ? &r->steps[i] : NULL;
    return NULL;
}

/* True if some operator needs more than a new number in this version. */
static bool is_version_of_note(int version)
{
    for (size_t i = 0; i < QDQ_COUNT(rows); i++)
        if (find_step(&rows[i], version) != NULL)
            return true;
    return false;
}

/* --- one graph -------------------------------------------------------------------------------- */

/* Inside functions an attribute may stand for one of the caller's: adapters need the value. */
static qdq_status adapt(qdq_upgrade *u, qdq_node *n, const step *s, qdq_error *err)
{
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i]->ref != NULL)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "attribute '%s' is given by the function's caller, expected a value",
                            n->attr[i]->name);
    return s->adapt(u, n, err);
}

static qdq_status convert_node(qdq_upgrade *u, qdq_node *n, int version, qdq_error *err)
{
    const row *r = find_row(n->type);
    const step *s = r == NULL ? NULL : find_step(r, version);
    const char *label, *type = n->type;
    qdq_status st;

    if (s == NULL)
        return QDQ_OK;
    label = qdq_node_label(n, &u->scratch); /* now: the adapter may remove the node */
    st = s->refused != NULL ? qdq_fail(err, QDQ_E_UNSUPPORTED, "%s", s->refused)
                            : adapt(u, n, s, err);
    if (st == QDQ_OK)
        return QDQ_OK;
    return qdq_within(err, st, "node '%s': %s from opset %d to %d", label, type, version - 1,
                      version);
}

/* Before anything is done: no one has looked at what changed in an operator that the table does not
 * have. */
static qdq_status refuse_unknown(qdq_upgrade *u, qdq_graph *g, int64_t from, int to, qdq_error *err)
{
    QDQ_FOR_NODES (n, g)
        if (is_default(n->domain) && find_row(n->type) == NULL)
            return qdq_fail(
                err, QDQ_E_UNSUPPORTED,
                "node '%s': %s is not an operator that can be raised from opset %" PRId64 " to %d",
                qdq_node_label(n, &u->scratch), n->type, from, to);
    return QDQ_OK;
}

static qdq_status convert_graph(qdq_upgrade *u, qdq_graph *g, int64_t from, int to, qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&u->scratch);

    if (from < to)
        QDQ_TRY(refuse_unknown(u, g, from, to, err));
    for (int version = (int)from + 1; version <= to; version++) {
        if (!is_version_of_note(version))
            continue;
        QDQ_FOR_NODES (n, g) {
            if (!is_default(n->domain))
                continue;
            QDQ_TRY(convert_node(u, n, version, err));
            qdq_arena_reset(&u->scratch, mark);
        }
    }
    return QDQ_OK;
}

/* --- opset imports ---------------------------------------------------------------------------- */

static qdq_opset *default_import(qdq_opset *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_default(at[i].domain))
            return &at[i];
    return NULL;
}

/* The opset that g is written in; `to` when it has no node that could change, so that nothing is
 * done. */
static qdq_status opset_of_graph(qdq_model *m, qdq_graph *g, int to, int64_t *from, qdq_error *err)
{
    const qdq_function *f = qdq_graph_function(g);
    const qdq_opset *set = f != NULL ? default_import(f->opsets.at, f->opsets.n)
                                     : default_import(m->opsets.at, m->opsets.n);
    bool needs_it = false;

    *from = to;
    QDQ_FOR_NODES (n, g)
        needs_it = needs_it || is_default(n->domain);
    if (!needs_it)
        return QDQ_OK;
    if (set == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "the default domain is used but not imported");
    if (set->version < LOWEST)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "opset %" PRId64 ", expected %d or higher",
                        set->version, LOWEST);
    *from = set->version;
    return QDQ_OK;
}

/* The lowest IR version whose release has this opset. */
static int64_t ir_version_for(int opset)
{
    static const signed char lowest[HIGHEST + 1] = {3, 3, 3, 3, 3, 3, 3, 3,  3,  4,  5,  6,  7, 7,
                                                    7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13};

    return lowest[opset];
}

static qdq_status set_versions(qdq_model *m, int to, qdq_error *err)
{
    qdq_opset *set = default_import(m->opsets.at, m->opsets.n);

    if (set == NULL)
        QDQ_TRY(qdq_model_set_opset_version(m, "", to, err));
    else
        set->version = to;
    for (size_t i = 0; i < m->functions.n; i++) {
        set = default_import(m->functions.at[i]->opsets.at, m->functions.at[i]->opsets.n);
        if (set != NULL && set->version < to)
            set->version = to;
    }
    if (m->ir_version >= ir_version_for(to))
        return QDQ_OK;
    /* Below 4 every initializer is listed as an input and is a constant all the same; from 4 on
     * being listed would mean that a caller may replace it. */
    if (m->ir_version < 4 && ir_version_for(to) >= 4)
        qdq_graph_unlist_inits(m->graph);
    m->ir_version = ir_version_for(to);
    return QDQ_OK;
}

/* --- types, borrowed for the conversion ------------------------------------------------------ */

typedef struct borrowed_type {
    qdq_value *value;
    const qdq_type *before;
} borrowed_type;

typedef struct borrowed_types {
    QDQ_VEC(borrowed_type) list;
} borrowed_types;

/* Adapters ask for element types and ranks. What inference finds is taken back afterwards: raising
 * the opset is no reason to write types into the file that were not in it. */
static qdq_status lend_types(qdq_model *m, qdq_arena *a, borrowed_types *borrowed, qdq_error *err)
{
    qdq_shape_opts opts = {false, false, NULL};
    qdq_status st;

    QDQ_FOR_GRAPHS (g, m)
        for (size_t i = 0; i < g->values.n; i++) {
            borrowed_type t = {g->values.at[i], g->values.at[i]->type};

            if (!t.value->dead && !QDQ_PUSH(a, &borrowed->list, t))
                return qdq_nomem(err);
        }
    st = qdq_model_infer(m, &opts, err);
    /* A model whose shapes make no sense is not this function's business: types then stay unknown,
     * and adapters that cannot do without say so. */
    return st == QDQ_E_NOMEM ? st : QDQ_OK;
}

static void take_types_back(const borrowed_types *borrowed)
{
    for (size_t i = 0; i < borrowed->list.n; i++)
        if (!borrowed->list.at[i].value->dead)
            qdq_value_set_type(borrowed->list.at[i].value, borrowed->list.at[i].before);
}

/* --- the whole model -------------------------------------------------------------------------- */

static qdq_status convert_graphs(qdq_upgrade *u, qdq_model *m, int to, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, m) {
        const qdq_function *f = qdq_graph_function(g);
        int64_t from;
        qdq_status st = opset_of_graph(m, g, to, &from, err);

        if (st == QDQ_OK)
            st = convert_graph(u, g, from, to, err);
        if (st != QDQ_OK)
            return f == NULL ? st
                             : qdq_within(err, st, "function '%s%s%s'", f->domain,
                                          f->domain[0] ? "." : "", f->name);
    }
    return QDQ_OK;
}

static qdq_status convert_model(qdq_model *m, int to, qdq_error *err)
{
    qdq_upgrade u = {QDQ_ARENA_INIT, QDQ_MAP_INIT};
    qdq_arena types = QDQ_ARENA_INIT;
    borrowed_types borrowed = {0};
    qdq_status st = lend_types(m, &types, &borrowed, err);

    if (st == QDQ_OK)
        st = convert_graphs(&u, m, to, err);
    take_types_back(&borrowed);
    if (st == QDQ_OK)
        st = set_versions(m, to, err);
    qdq_map_free(&u.upsampled);
    qdq_arena_free(&u.scratch);
    qdq_arena_free(&types);
    return st;
}

static qdq_status check_request(qdq_model *m, int opset, qdq_error *err)
{
    int64_t from = qdq_model_opset_of(m, "");

    if (opset > HIGHEST || opset < LOWEST)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "opset %d is asked for, expected %d to %d", opset,
                        LOWEST, HIGHEST);
    if (m->ir_version < 3) /* nothing was imported then: domains came without versions */
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "IR version %" PRId64 " is from before opsets, expected 3 or higher",
                        m->ir_version);
    if (from > opset)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "has opset %" PRId64 ", and lowering it to %d is not possible", from,
                        opset);
    if (from != 0 && from < LOWEST)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "has opset %" PRId64 ", expected %d or higher",
                        from, LOWEST);
    return QDQ_OK;
}

qdq_status qdq_model_set_opset(qdq_model *m, int opset, qdq_error *err)
{
    qdq_model *rehearsal = NULL;
    qdq_status st = check_request(m, opset, err);

    if (st == QDQ_OK && qdq_model_opset_of(m, "") == opset)
        return QDQ_OK;
    if (st == QDQ_OK)
        st = qdq_model_clone(m, &rehearsal, err);
    if (st == QDQ_OK)
        st = convert_model(rehearsal, opset, err);
    qdq_model_free(rehearsal);
    if (st == QDQ_OK)
        st = convert_model(m, opset, err);
    if (st == QDQ_OK || m->path[0] == '\0')
        return st;
    return qdq_within(err, st, "%s", m->path);
}
