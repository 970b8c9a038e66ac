/* checker.h - the parts of the verifier: check.c walks, the others look at single things. */
#ifndef QDQ_CHECKER_H
#define QDQ_CHECKER_H

#include "ir/function.h"

typedef struct qdq_checker {
    const qdq_model *m;
    qdq_arena scratch;
    /* stop at the first error, look for no warnings */
    bool first_only;
    /* look at numbers in attributes and at what calls come to: what engines stumble over */
    bool wants_domains;
    bool nomem;
    size_t n_error;
    QDQ_VEC(qdq_finding) found;
    /* imported domain -> version; "ai.onnx" counts as "" */
    qdq_map domains;
    qdq_functions functions;
    /* operators that were reported as not known */
    qdq_map unknown;
    /* whose body is looked at, NULL: none */
    const qdq_function *function;
    /* the domain of the node before: it need not be looked up again */
    const char *last_domain;
    /* uses seen in lists and in nodes */
    uint64_t n_listed, n_slots;
    /* by graph index: attributes that hold it */
    uint32_t *n_held;
} qdq_checker;

void qdq_check_report(qdq_checker *c, bool is_error, const char *fmt, ...) QDQ_PRINTF(3, 4);
void qdq_check_close(qdq_checker *c);

/* The first finding as an error; then closes. */
qdq_status qdq_check_conclude(qdq_checker *c, qdq_error *err);
const char *qdq_check_place(qdq_checker *c, const qdq_node *n); /* "graph 'g': node 'n'" */

/* check_attr.c */
void qdq_check_type(qdq_checker *c, const char *name, const qdq_type *t);
void qdq_check_tensor(qdq_checker *c, const char *name, const qdq_tensor *t);
void qdq_check_declared(qdq_checker *c, const qdq_value *v);
void qdq_check_attrs(qdq_checker *c, const qdq_node *n);

/* check_domain.c */
void qdq_check_domains(qdq_checker *c, const qdq_node *n); /* after qdq_check_functions() */

/* check_function.c */
void qdq_check_functions(qdq_checker *c); /* fills c->functions; names, calls in circles */
bool qdq_check_is_call(qdq_checker *c, const qdq_node *n);

/* check_side.c */
void qdq_check_side_files(qdq_checker *c); /* names that say the content's hash */

#endif /* QDQ_CHECKER_H */
