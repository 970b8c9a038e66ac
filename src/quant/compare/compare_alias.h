/* compare_alias.h - values that have the same name in two models and differ: if an optimizer folded
 * a node into the one before it, the result has the name of the first and the values of the
 * second. */
#ifndef QDQ_COMPARE_ALIAS_H
#define QDQ_COMPARE_ALIAS_H

#include "quant/compare/compare_match.h"

/* A model and a sample in the types of its inputs. */
typedef struct qdq_alias_run {
    const qdq_model *m;
    const qdq_named_array *in;
    size_t n_in;
} qdq_alias_run;

/* Finds the value of a for each match by its values. If the only consumer of a value of a has
 * results that b lacks, it may have been folded: its result is then a candidate for b's value, and
 * so on along the chain. Both models run on one sample, b without its Q/DQ if it runs so, and the
 * candidate with the highest SQNR becomes of_a of the match. Without candidates nothing runs. */
qdq_status qdq_match_by_values(qdq_engine *e, const qdq_compare_opts *opts,
                               const qdq_alias_run run[2], qdq_matching *m, qdq_error *err);

#endif /* QDQ_COMPARE_ALIAS_H */
