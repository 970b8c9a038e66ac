/* rules_where.c - Where with a condition that is known. Q/DQ: SAFE, operands are passed on as they
 * are. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

enum { SMALL = 64 };

/* --- pick-where: y = Where(true, a, b)  =>  a ------------------------------------------------- */

static const qdq_pat where_pat[] = {{"y", QDQ_OP_WHERE, {"c", "a", "b"}, 0}};

/* What is picked: "a", "b", or NULL. */
static const char *picked(const qdq_match *m)
{
    qdq_fact_elem e[SMALL];
    int rank, n;

    if (qdq_match_const(m, "c") != NULL)
        return qdq_match_all(m, "c", 1) ? "a" : qdq_match_all(m, "c", 0) ? "b" : NULL;
    if (!qdq_facts_elems(m->facts, qdq_match_value(m, "c"), SMALL, &rank, &n, e) || n == 0 ||
        !e[0].known)
        return NULL;
    for (int i = 1; i < n; i++)
        if (!e[i].known || e[i].value != e[0].value)
            return NULL;
    return e[0].value != 0 ? "a" : "b";
}

static const char *where_check(const qdq_match *m)
{
    const char *name = picked(m);
    qdq_value **operand = qdq_match_found(m, sizeof *operand);

    if (name == NULL)
        return qdq_not_this;
    *operand = qdq_match_value(m, name);
    if (!qdq_match_same_type(m, *operand, m->root->out[0]))
        return "the condition or the other operand may change the shape";
    return NULL;
}

const qdq_rule qdq_rule_pick_where = {
    QDQ_RULE_PAT(where_pat),
    .check = where_check,
    .build = qdq_rule_become_found,
};

/* --- pick-where-parts: y = Where(known, a, b) of vectors  =>  Concat of what is picked
 * ------------
 *
 * What exporters make of x.expand(n, -1, -1): where the size is -1, the size that is there. Parts
 * are constants, or inputs of the Concat that makes an operand, each of one element. */

static const qdq_pat parts_pat[] = {{"y", QDQ_OP_WHERE, {"c", "a", "b"}, 0}};

/* One element of y: a number, or the value that is just this element. */
typedef struct part {
    qdq_value *value;
    int64_t number;
} part;

typedef struct parts {
    int n;
    part at[QDQ_RULE_RANK];
} parts;

static bool find_part(const qdq_match *m, const qdq_value *v, int n, int i, part *out)
{
    const qdq_node *p = v->producer;
    qdq_fact_elem e[QDQ_RULE_RANK];
    int rank, have;

    out->value = NULL;
    if (qdq_facts_elems(m->facts, v, QDQ_RULE_RANK, &rank, &have, e) && rank == 1 && have == n &&
        e[i].known) {
        out->number = e[i].value;
        return true;
    }
    if (p == NULL || p->op != QDQ_OP_CONCAT || p->n_in != (uint32_t)n)
        return false;
    for (uint32_t k = 0; k < p->n_in; k++) {
        const qdq_type *t = qdq_match_type(m, p->in[k].value);

        if (t == NULL || t->rank != 1 || t->dim[0].value != 1)
            return false;
    }
    out->value = p->in[i].value;
    return true;
}

static const char *parts_check(const qdq_match *m)
{
    parts *p = qdq_match_found(m, sizeof *p);
    const qdq_value *a = qdq_match_value(m, "a"), *b = qdq_match_value(m, "b"),
                    *y = m->root->out[0];
    qdq_fact_elem c[QDQ_RULE_RANK];
    int rank;

    if (qdq_match_elem(m, y) != QDQ_INT64 || qdq_match_rank(m, y) != 1 ||
        !qdq_facts_elems(m->facts, qdq_match_value(m, "c"), QDQ_RULE_RANK, &rank, &p->n, c) ||
        rank != 1 || picked(m) != NULL)
        return qdq_not_this;
    if (!qdq_match_same_type(m, a, b) || !qdq_match_same_type(m, a, y) ||
        qdq_match_type(m, y)->dim[0].value != p->n)
        return "an operand is broadcast";
    for (int i = 0; i < p->n; i++)
        if (!c[i].known || !find_part(m, c[i].value != 0 ? a : b, p->n, i, &p->at[i]))
            return "an element has no value of its own";
    return NULL;
}

/* Numbers that stand together are one constant. */
static qdq_status parts_build(qdq_match *m, qdq_error *err)
{
    const parts *p = qdq_match_found(m, sizeof *p);
    qdq_value *in[QDQ_RULE_RANK];
    int64_t numbers[QDQ_RULE_RANK];
    uint32_t n_in = 0;

    for (int i = 0; i < p->n;) {
        size_t run = 0;

        for (; i < p->n && p->at[i].value == NULL; i++)
            numbers[run++] = p->at[i].number;
        in[n_in] =
            run > 0 ? qdq_match_add_ints(m, m->root->out[0]->name, run, numbers) : p->at[i++].value;
        QDQ_NEED(in[n_in++] != NULL, err);
    }
    QDQ_TRY(qdq_match_recast(m, "Concat", n_in, in, err));
    return qdq_node_set_int(m->root, "axis", 0) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_pick_where_parts = {
    QDQ_RULE_PAT(parts_pat),
    .min_opset = 9,
    .check = parts_check,
    .build = parts_build,
};
