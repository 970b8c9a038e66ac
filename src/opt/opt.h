/* opt.h - what a pass may use of the manager. A pass edits the model and asks before every change;
 * the manager (pass.c) decides how often it runs, and what the report says. */
#ifndef QDQ_OPT_H
#define QDQ_OPT_H

#include "ir/edit.h"
#include "ir/facts.h"
#include "qdq/pass.h"

typedef struct qdq_opt_state qdq_opt_state;

typedef struct qdq_opt {
    /* limits are filled in */
    const qdq_optimize_opts *opts;
    qdq_model *model;
    /* of the pass at work: what stands behind ':'; "" without */
    const char *arg;
    /* for the pass at work: emptied behind it */
    qdq_arena scratch;
    qdq_opt_state *state;
    /* of the pipeline so far (inline_functions.c) */
    uint64_t inlined_bytes, inline_limit;
} qdq_opt;

/* A pass edits one graph (bodies of subgraphs and functions included: it is called once for each),
 * or, in passes.def as NODE_PASS, what is around one node, with a scratch arena of its own; or, as
 * MODEL_PASS, the model as a whole. */
typedef qdq_status (*qdq_graph_pass_fn)(qdq_opt *o, qdq_graph *g, qdq_error *err);
typedef qdq_status (*qdq_node_pass_fn)(qdq_opt *o, qdq_node *n, qdq_error *err);
typedef qdq_status (*qdq_model_pass_fn)(qdq_opt *o, qdq_error *err);

/* Asked right before each change, when all that can speak against it has been looked at: false
 * means leave this one as it is (a bisection stops here), and go on. The node or value is what the
 * change is about. */
bool qdq_opt_take(qdq_opt *o, const qdq_node *n);
bool qdq_opt_take_value(qdq_opt *o, const qdq_value *v);
bool qdq_opt_take_named(qdq_opt *o, const char *where); /* about neither */

/* A candidate that has the shape of the rule, but may not be changed. The reason is copied. */
void qdq_opt_refuse(qdq_opt *o, const qdq_node *n, const char *reason);

/* Refuses n where there is a reason (not NULL), else asks. */
bool qdq_opt_take_unless(qdq_opt *o, const qdq_node *n, const char *reason);

/* What is proven of values; opened when first asked for, then good until the pipeline begins
 * again. */
qdq_status qdq_opt_facts(qdq_opt *o, const qdq_facts **out, qdq_error *err);
/* For passes that take over values whose types are nothing but declared: facts are found again when
 * asked for. */
void qdq_opt_close_facts(qdq_opt *o);

/* True if `word` is one of the pass's arguments: "name:word+word". */
bool qdq_opt_has_arg(const qdq_opt *o, const char *word);

/* A constant for `reader` and new nodes in front of it, named after `base` and `suffix`: an
 * initializer or, in function bodies, a Constant node in front of `reader`. NULL: out of memory, as
 * are a base or a tensor that are NULL. Adds to the bytes of the report. */
qdq_value *qdq_opt_constant(qdq_opt *o, qdq_node *reader, const char *base, const char *suffix,
                            qdq_tensor *t);

/* n goes on as operator `op` of the default domain with these inputs and without attributes. False:
 * out of memory. */
bool qdq_opt_recast(qdq_node *n, const char *op, uint32_t n_in, qdq_value *const *in);

/* y, the first output of `n`, is x: its readers read x, and `n` goes, unless other outputs of it
 * are read. If y is a graph output whose name x cannot take over, it becomes Identity(x). False:
 * out of memory. */
bool qdq_opt_alias(qdq_node *n, qdq_value *x);

/* --- the passes ------------------------------------------------------------------------------- */

struct qdq_rule; /* rule.h */

#define PASS(name, when, function, help)                                                           \
    qdq_status function(qdq_opt *o, qdq_graph *g, qdq_error *err);
#define NODE_PASS(name, when, function, help)                                                      \
    qdq_status function(qdq_opt *o, qdq_node *n, qdq_error *err);
#define MODEL_PASS(name, when, function, help) qdq_status function(qdq_opt *o, qdq_error *err);
#define RULE(name, when, rule, help)           extern const struct qdq_rule rule;
#include "opt/passes.def"
#undef PASS
#undef NODE_PASS
#undef MODEL_PASS
#undef RULE

#endif /* QDQ_OPT_H */
