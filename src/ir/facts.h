/* facts.h - what shape inference can prove of the values of a model, without writing to it: types,
 * and the elements of small tensors that shape arithmetic computes. For passes, which may delete a
 * node only on a proof: types that the file declares for intermediate values are claims, and not
 * used; types of graph inputs are the caller's contract, and believed.
 *
 * Facts stay true while the model is edited, as long as edits keep what values compute; values made
 * after qdq_facts_open have no facts but the type that the edit gave them. */
#ifndef QDQ_FACTS_H
#define QDQ_FACTS_H

#include "ir/ir.h"

typedef struct qdq_facts qdq_facts;

/* Infers. `job` may be NULL. Free with qdq_facts_close (NULL is allowed). */
qdq_status qdq_facts_open(qdq_model *m, const qdq_job *job, qdq_facts **out, qdq_error *err);
void qdq_facts_close(qdq_facts *f);

/* The proven type; NULL where there is none (also for values in function bodies, whose types differ
 * from call to call, and for optional, sequence and map values nothing but their kind is promised).
 * A value that is newer than the facts: v->type, unless it is a graph output. Constants: what their
 * data says. */
const qdq_type *qdq_facts_type(const qdq_facts *f, const qdq_value *v);

/* Proven: tensors with the same element type, rank and dims, symbols compared by name. */
bool qdq_facts_same_type(const qdq_facts *f, const qdq_value *a, const qdq_value *b);

/* The elements of an integer tensor of rank 0 or 1 that shape arithmetic gives, at most `max`, as
 * dims: a known number may be negative here (known = true), a symbol is the name of a dim that is
 * not known (>= 0) or a sum and product of such names ("2*N+1"), written in one way only, else
 * nothing is known of the element. Types have such symbols, too. False: nothing is known, or it has
 * more. *rank is 0 or 1. */
typedef struct qdq_fact_elem {
    bool known;
    int64_t value;
    /* interned; NULL: none */
    const char *symbol;
} qdq_fact_elem;
bool qdq_facts_elems(const qdq_facts *f, const qdq_value *v, int max, int *rank, int *n,
                     qdq_fact_elem *out);

/* Memory was short for an answer since they were opened: nothing was said where something is
 * known. */
bool qdq_facts_lacked_memory(const qdq_facts *f);

/* All elements of a small tensor (up to 64 elements of any type but strings) are known although it
 * is no constant: then the tensor, made in the model's memory; NULL otherwise, or (with *status)
 * out of memory. */
qdq_tensor *qdq_facts_tensor(const qdq_facts *f, const qdq_value *v, qdq_status *status);

#endif /* QDQ_FACTS_H */
