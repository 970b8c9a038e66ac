/* compare_alias.h - values that have one name in two models and are not the same: where an
 * optimizer folded a node into the one before it, the result has the first one's name and the
 * second one's numbers. */
#ifndef QDQ_COMPARE_ALIAS_H
#define QDQ_COMPARE_ALIAS_H

#include "quant/compare/compare_match.h"

/* A model and the sample that it runs on, in the types that it reads. */
typedef struct qdq_alias_run {
    const qdq_model *m;
    const qdq_named_array *in;
    size_t n_in;
} qdq_alias_run;

/* Where the only reader of a value of a has results that b does not have, it may have been folded:
 * then its result is a candidate for what b's value is, and so on along the chain. Both models run
 * on one sample, b without its Q/DQ where it runs so, and the candidate with the highest SQNR
 * becomes of_a of the match. Without candidates nothing runs. */
qdq_status qdq_match_by_values(qdq_engine *e, const qdq_compare_opts *opts,
                               const qdq_alias_run run[2], qdq_matching *m, qdq_error *err);

#endif /* QDQ_COMPARE_ALIAS_H */
