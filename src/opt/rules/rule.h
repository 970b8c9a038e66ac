/* rule.h - rewrite rules as data. A rule is a small graph of operators, seen from its last node
 * backwards; the matcher binds names to nodes and values, `check` says what speaks against it, and
 * `build` edits.
 *
 * Q/DQ. A pattern follows direct edges only, so a Q or DQ between its nodes stops it: rules do not
 * reach across quantization unless they name QuantizeLinear or DequantizeLinear. Rules that do
 * carry their reason in a comment (the list of what is allowed: docs/optimizer.md). */
#ifndef QDQ_RULE_H
#define QDQ_RULE_H

#include <assert.h>

#include "opt/opt.h"

enum {
    QDQ_PAT_ROWS = 12,
    QDQ_PAT_INPUTS = 9,
    QDQ_MATCH_NAMES = 40,
    /* bytes */
    QDQ_MATCH_FOUND = 1024
};

enum {
    /* what it computes is read inside the match only, and is no graph output */
    QDQ_PAT_ONLY = 1,
    /* the first two inputs may stand in either order */
    QDQ_PAT_COMMUTES = 2,
    /* further inputs than are listed may be there */
    QDQ_PAT_MORE = 4
};

/* One operator (of the default domain; its first output is what is meant):
 *   in[]   "x"   any value; a name that returns is the same value; the name of a later row: what
 * that row computes
 *          "#c"  a constant (qdq_value_const)
 *          "x?"  "#c?"  the same, or left out
 * Inputs that are not listed must be left out, unless QDQ_PAT_MORE. Rows behind the first stand in
 * the graph of the root; values may come from graphs around it. Nodes with an attribute that a
 * function's caller gives fit no row. */
typedef struct qdq_pat {
    const char *bind;
    qdq_op op;
    /* ends with NULL */
    const char *in[QDQ_PAT_INPUTS];
    unsigned flags;
} qdq_pat;

/* The rows of a rule, as its members `pat` and `n_pat`. */
#define QDQ_RULE_PAT(rows) .pat = (rows), .n_pat = QDQ_COUNT(rows)

typedef struct qdq_match {
    qdq_opt *o;
    const struct qdq_rule *rule;
    /* the rows of the pattern that fits, without those of its alternatives */
    const qdq_pat *pat;
    size_t n_pat;
    /* the node of the first row */
    qdq_node *root;
    qdq_graph *graph;
    /* of the default domain, where the match is */
    int64_t opset;
    /* what is proven of types */
    const qdq_facts *facts;
    qdq_node *node[QDQ_PAT_ROWS];
    const char *name[QDQ_MATCH_NAMES];
    qdq_value *value[QDQ_MATCH_NAMES];
    size_t n_names;
    /* see qdq_match_found() */
    void *found;
    /* the driver's list of nodes to look at again */
    void *work;
    /* when it first came to `check` */
    double start;
} qdq_match;

typedef struct qdq_rule {
    /* The first row is a root. Where its name returns, another graph begins that the rule takes. */
    const qdq_pat *pat;
    size_t n_pat;
    /* of the default domain; 0: any */
    int min_opset;
    /* not in function bodies */
    bool needs_initializers;
    /* NULL: goes ahead. qdq_not_this: a match in form only (the constant is not the one), not worth
     * reporting. Else the reason, a literal, that the report shows. May look, not edit. NULL
     * function: nothing to check. Where inputs commute, the other order is tried before the answer
     * stands. */
    const char *(*check)(const qdq_match *m);
    /* Edits, through the functions below or edit.h, what `check` has found. Nodes that nothing
     * reads any more are taken out behind it; their constants stay for drop-unused. */
    qdq_status (*build)(qdq_match *m, qdq_error *err);
} qdq_rule;

extern const char qdq_not_this[];

/* Runs rules on one graph: all nodes are looked at, and whatever a change touched is looked at
 * again. A node whose first output nothing reads is left alone. The steps of the pipeline that are
 * these rules begin with the current one. */
qdq_status qdq_rules_run(qdq_opt *o, const qdq_rule *const *rules, size_t n_rules, qdq_graph *g,
                         qdq_error *err);

/* --- what check and build may ask ------------------------------------------------------------- */

/* What `check` finds out for `build`: an object of a type of the rule's own, not initialized, which
 * both ask for. */
static inline void *qdq_match_found(const qdq_match *m, size_t size)
{
    assert(size <= QDQ_MATCH_FOUND);
    (void)size;
    return m->found;
}

/* For a `check` that lacks memory: the run ends with QDQ_E_NOMEM. Returns qdq_not_this. */
const char *qdq_match_nomem(const qdq_match *m);

qdq_node *qdq_match_node(const qdq_match *m, const char *bind); /* of a row */
qdq_value *qdq_match_value(const qdq_match *m,
                           const char *name); /* NULL: left out; a row: its first output */
/* "#c", asked for as "c" */
const qdq_tensor *qdq_match_const(const qdq_match *m, const char *name);

/* proven tensor type, or NULL */
const qdq_type *qdq_match_type(const qdq_match *m, const qdq_value *v);
int qdq_match_rank(const qdq_match *m, const qdq_value *v);      /* -1: unknown */
qdq_elem qdq_match_elem(const qdq_match *m, const qdq_value *v); /* QDQ_UNDEFINED: unknown */

/* The constant has exactly one element; it is real or integer, and this is it (exact for up to 53
 * bits). */
bool qdq_match_scalar(const qdq_match *m, const char *name, double *x);
/* All its elements are this number, exactly. Reads no further than to the first that is not. */
bool qdq_match_all(const qdq_match *m, const char *name, double x);
/* All elements of an integer constant with at most `max` elements. False: it is none, or memory is
 * short (qdq_match_nomem). */
bool qdq_match_ints(const qdq_match *m, const char *name, size_t max, int64_t *out, size_t *n);

/* Proven: the same element type, rank and dims, unknown ones by name. */
bool qdq_match_same_type(const qdq_match *m, const qdq_value *a, const qdq_value *b);
/* Proven: broadcasting v with t (multidirectionally) gives v's own shape. */
bool qdq_match_broadcasts_into(const qdq_match *m, const qdq_tensor *t, const qdq_value *v);

/* --- what build may use ----------------------------------------------------------------------- */

/* A node in front of the root with these inputs (ends with a NULL that is not counted in n_in; NULL
 * inside: left out), one output named after the root's, of this type (NULL: unknown). NULL: out of
 * memory. */
qdq_node *qdq_match_add(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                        const qdq_type *type);

/* The output of such a node. NULL: out of memory, here or in an input, which is then NULL. */
qdq_value *qdq_match_add_value(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                               const qdq_type *type);

/* A tensor type for a new value (NULL: unknown), copied: what is proven lives no longer than the
 * facts. */
bool qdq_match_set_type(qdq_match *m, qdq_value *v, const qdq_type *type);

/* Constants named after `base`. NULL: out of memory. */
qdq_value *qdq_match_add_const(qdq_match *m, const char *base, qdq_tensor *t);
qdq_value *qdq_match_add_ints(qdq_match *m, const char *base, size_t n, const int64_t *ints);

/* Whoever reads the root's output reads v instead (qdq_opt_alias): the last edit of many rules. */
qdq_status qdq_match_become(qdq_match *m, qdq_value *v, qdq_error *err);

/* The root goes on as another operator with these inputs and without attributes: its name, and that
 * of what it computes, stay, which become() cannot do. */
qdq_status qdq_match_recast(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in,
                            qdq_error *err);

/* The node was edited in place: it, and what reads it, is looked at again. */
void qdq_match_touch(qdq_match *m, qdq_node *n);

#endif /* QDQ_RULE_H */
