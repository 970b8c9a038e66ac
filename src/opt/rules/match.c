/* match.c - binds the names of a rule's pattern to nodes and values, from the root backwards. Rows
 * are decided in order; where a row commutes, both orders are tried, and what the failed one bound
 * is forgotten. A way that fits in form but not in what the rule asks for has failed, too: the
 * other order may do. */
#include <string.h>

#include "base/clock.h"
#include "opt/rules/rule_match.h"

/* --- binding ---------------------------------------------------------------------------------- */

/* A name in a pattern without the marks for constants and inputs that may be left out. */
static const char *bare(const char *name, size_t *size)
{
    name += name[0] == '#';
    *size = strlen(name);
    *size -= *size > 0 && name[*size - 1] == '?';
    return name;
}

static bool same_name(const char *a, const char *b)
{
    size_t na, nb;

    a = bare(a, &na);
    b = bare(b, &nb);
    return na == nb && memcmp(a, b, na) == 0;
}

static int find_name(const qdq_match *m, const char *name)
{
    for (size_t i = 0; i < m->n_names; i++)
        if (same_name(m->name[i], name))
            return (int)i;
    return -1;
}

static int find_row(const qdq_match *m, const char *name)
{
    for (size_t i = 0; i < m->n_pat; i++)
        if (same_name(m->pat[i].bind, name))
            return (int)i;
    return -1;
}

/* The value is what row `row` computes. Rows that are reached twice must be the same node. */
static bool bind_row(qdq_match *m, int row, qdq_value *v)
{
    if (v == NULL || v->producer == NULL || v->out_index != 0 ||
        v->producer->op != m->pat[row].op || v->graph != m->graph)
        return false;
    if (m->node[row] != NULL)
        return m->node[row] == v->producer;
    m->node[row] = v->producer;
    return true;
}

static bool bind_value(qdq_match *m, const char *name, qdq_value *v)
{
    int row = find_row(m, name), known;

    if (v == NULL && name[strlen(name) - 1] != '?')
        return false;
    if (row >= 0)
        return bind_row(m, row, v);
    if (name[0] == '#' && v != NULL && qdq_value_const(v) == NULL)
        return false;
    known = find_name(m, name);
    if (known >= 0)
        return m->value[known] == v;
    if (m->n_names == QDQ_MATCH_NAMES)
        return false;
    m->name[m->n_names] = name;
    m->value[m->n_names++] = v;
    return true;
}

static bool bind_inputs(qdq_match *m, const qdq_pat *p, const qdq_node *n, bool swapped)
{
    uint32_t i = 0;

    for (; i < QDQ_PAT_INPUTS && p->in[i] != NULL; i++) {
        uint32_t from = swapped && i < 2 ? 1 - i : i;
        if (!bind_value(m, p->in[i], qdq_node_in(n, from)))
            return false;
    }
    for (; i < n->n_in && (p->flags & QDQ_PAT_MORE) == 0; i++)
        if (n->in[i].value != NULL)
            return false;
    return true;
}

/* --- what is read inside only ----------------------------------------------------------------- */

static bool only_holds(const qdq_match *m)
{
    for (size_t i = 1; i < m->n_pat; i++) {
        const qdq_node *n = m->node[i];

        if ((m->pat[i].flags & QDQ_PAT_ONLY) == 0)
            continue;
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != NULL && !qdq_nodes_alone_read(m->node, m->n_pat, n->out[k]))
                return false;
    }
    return true;
}

/* In functions, an attribute may be what the caller gives: then nothing is known of the node. */
static bool attributes_are_known(const qdq_match *m)
{
    for (size_t i = 0; i < m->n_pat; i++)
        for (uint32_t k = 0; k < m->node[i]->n_attr; k++)
            if (m->node[i]->attr[k]->ref != NULL)
                return false;
    return true;
}

/* --- all ways to bind ------------------------------------------------------------------------- */

/* Every row has its node: the rest of what a match must be. */
static bool accept(qdq_match *m, const char **why)
{
    const char *no = NULL;

    if (!only_holds(m) || !attributes_are_known(m))
        return false;
    if (m->start <= 0)
        m->start = qdq_clock_seconds();
    if (m->rule->check != NULL)
        no = m->rule->check(m);
    if (no != NULL && no != qdq_not_this && *why == NULL)
        *why = no;
    return no == NULL;
}

/* Rows from `row` on. Depth: at most QDQ_PAT_ROWS. */
static bool bind_rows(qdq_match *m, size_t row, const char **why)
{
    const qdq_pat *p = &m->pat[row];
    qdq_node *saved[QDQ_PAT_ROWS];
    size_t n_names = m->n_names;

    if (row == m->n_pat)
        return accept(m, why);
    if (m->node[row] == NULL) /* no earlier row reads it: the rule is wrong */
        return false;
    memcpy(saved, m->node, m->n_pat * sizeof saved[0]);
    for (int swapped = 0; swapped <= ((p->flags & QDQ_PAT_COMMUTES) != 0 ? 1 : 0); swapped++) {
        memcpy(m->node, saved, m->n_pat * sizeof saved[0]);
        m->n_names = n_names;
        if (bind_inputs(m, p, m->node[row], swapped != 0) && bind_rows(m, row + 1, why))
            return true;
    }
    return false;
}

bool qdq_match_bind(qdq_match *m, const qdq_pat *pat, size_t n, qdq_node *root, const char **why)
{
    m->pat = pat;
    m->n_pat = n;
    m->n_names = 0;
    m->start = 0;
    memset(m->node, 0, n * sizeof m->node[0]);
    m->root = m->node[0] = root;
    *why = NULL;
    return bind_rows(m, 0, why);
}

/* --- questions -------------------------------------------------------------------------------- */

qdq_node *qdq_match_node(const qdq_match *m, const char *bind)
{
    int row = find_row(m, bind);

    return row >= 0 ? m->node[row] : NULL;
}

qdq_value *qdq_match_value(const qdq_match *m, const char *name)
{
    int row = find_row(m, name);

    if (row >= 0)
        return m->node[row]->out[0];
    row = find_name(m, name);
    return row >= 0 ? m->value[row] : NULL;
}

const qdq_tensor *qdq_match_const(const qdq_match *m, const char *name)
{
    const qdq_value *v = qdq_match_value(m, name);

    return qdq_value_const(v);
}

const qdq_type *qdq_match_type(const qdq_match *m, const qdq_value *v)
{
    const qdq_type *t = v != NULL ? qdq_facts_type(m->facts, v) : NULL;

    return t != NULL && t->kind == QDQ_TYPE_TENSOR ? t : NULL;
}

int qdq_match_rank(const qdq_match *m, const qdq_value *v)
{
    const qdq_type *t = qdq_match_type(m, v);

    return t != NULL ? t->rank : -1;
}

qdq_elem qdq_match_elem(const qdq_match *m, const qdq_value *v)
{
    const qdq_type *t = qdq_match_type(m, v);

    return t != NULL ? t->elem : QDQ_UNDEFINED;
}

bool qdq_match_scalar(const qdq_match *m, const char *name, double *x)
{
    const qdq_tensor *t = qdq_match_const(m, name);

    return t != NULL && qdq_tensor_scalar(t, x);
}

bool qdq_match_all(const qdq_match *m, const char *name, double x)
{
    const qdq_tensor *t = qdq_match_const(m, name);

    return t != NULL && qdq_tensor_all(t, x);
}

bool qdq_match_ints(const qdq_match *m, const char *name, size_t max, int64_t *out, size_t *n)
{
    const qdq_tensor *t = qdq_match_const(m, name);
    qdq_arena scratch = QDQ_ARENA_INIT;
    int64_t *ints;
    qdq_status st;

    *n = 0;
    if (t == NULL || (uint64_t)t->count > max || !qdq_elem_is_int(t->elem))
        return false;
    st = qdq_tensor_ints(t, &scratch, (int64_t)max, &ints, NULL);
    for (; st == QDQ_OK && *n < (size_t)t->count; ++*n)
        out[*n] = ints[*n];
    qdq_arena_free(&scratch);
    if (st == QDQ_E_NOMEM)
        (void)qdq_match_nomem(m);
    return st == QDQ_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

bool qdq_match_same_type(const qdq_match *m, const qdq_value *a, const qdq_value *b)
{
    return qdq_facts_same_type(m->facts, a, b);
}

bool qdq_match_broadcasts_into(const qdq_match *m, const qdq_tensor *t, const qdq_value *v)
{
    const qdq_type *type = qdq_match_type(m, v);

    if (t->rank == 0)
        return true;
    if (type == NULL || type->rank < t->rank)
        return false;
    for (int i = 1; i <= t->rank; i++)
        if (t->dim[t->rank - i] != 1 && t->dim[t->rank - i] != type->dim[type->rank - i].value)
            return false;
    return true;
}
