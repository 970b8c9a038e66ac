/* apart.h - one sitting: samples of schemes, taken together. Between the apart*.c files. */
#ifndef QDQ_TUNE_APART_H
#define QDQ_TUNE_APART_H

#include "tune/greedy/kinds.h"
#include "tune/isolate/bench_model.h"

typedef struct qdq_tune_sitting {
    qdq_tuning *t;
    qdq_tune_kinds *kinds;
    unsigned amount;
    const char *label;
    qdq_error *err;
} qdq_tune_sitting;

/* Why a scheme cannot be had: what the engine met with it, or that no time was left. apart.c */
qdq_status qdq_tune_blame(const qdq_tune_sitting *s, const qdq_tune_entry *e,
                          const qdq_remote_fate *fate);
void qdq_tune_leave_out(const qdq_tune_entry *e, size_t n);

/* --- apart_samples.c -------------------------------------------------------------------------- */

/* Samples of an entry that the store has. *known: it had some. */
qdq_status qdq_tune_recall_samples(qdq_tune_sitting *s, const qdq_tune_entry *e, bool *known);

/* Stored first: then they count in a run that is cut off right after. */
qdq_status qdq_tune_take_samples(qdq_tune_sitting *s, const qdq_tune_entry *e,
                                 const qdq_tune_apart *a, size_t n);

/* --- apart_parts.c ---------------------------------------------------------------------------- */

/* With all its neighbours in 8 bits, as they will be where it matters: some operators have Q/DQ
 * only beside others that do. What is not the group's is left out of its model. */
qdq_status qdq_tune_plan_scheme(qdq_tune_sitting *s, const qdq_tune_kind *k,
                                qdq_tune_scheme *scheme);

/* Parts of the model that is measured, and their models. */
typedef struct qdq_tune_part_list {
    QDQ_VEC(qdq_part) part;
    QDQ_VEC(qdq_model *) model;
    qdq_arena scratch;
} qdq_tune_part_list;

qdq_status qdq_tune_add_part(qdq_tune_sitting *s, qdq_tune_part_list *l, const qdq_tune_kind *k,
                             const qdq_plan *plan);

/* One model, for the usual shapes: that is what is timed. `st`: how filling the list ended, which
 * is over then. */
qdq_status qdq_tune_join_parts(qdq_tune_sitting *s, qdq_tune_part_list *l, qdq_status st,
                               qdq_parts **out);

/* "group_3_scheme_1_2-group_5_scheme_2.onnx": what is measured together; scheme 0 is without Q/DQ.
 * NULL: no memory. */
const char *qdq_tune_apart_name(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n);

/* Into the folder of candidates. */
qdq_status qdq_tune_write_parts(qdq_tune_sitting *s, const qdq_parts *p, const char *name,
                                const char **path);

/* --- apart_layers.c --------------------------------------------------------------------------- */

/* Samples of all entries, by the layers of one model; or the fate that the engine met with it, and
 * none. */
qdq_status qdq_tune_sit_by_layers(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n,
                                  qdq_remote_fate *fate);

/* --- apart_whole.c ---------------------------------------------------------------------------- */

/* Samples of schemes of one kind, by whole times of its model with each and without Q/DQ. What
 * cannot be had says why. */
qdq_status qdq_tune_sit_by_whole_times(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n);

#endif /* QDQ_TUNE_APART_H */
