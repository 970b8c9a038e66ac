/* candidates.h - models to measure, as files of a few kilobytes. Weights lie in separate files that
 * all candidates share: a weight is quantized once, and other plans with the same quantized values
 * refer to it. */
#ifndef QDQ_CANDIDATES_H
#define QDQ_CANDIDATES_H

#include "qdq/quant.h"
#include "quant/insert/insert_cache.h"

typedef struct qdq_candidates qdq_candidates;

/* Opens the cache in an existing private folder. The mapped files of the clean model get hard links
 * there, or one copy each where links fail (with a message to the job). `weights.bin` only
 * grows. */
qdq_status qdq_candidates_open(const char *folder, const qdq_model *clean, const qdq_job *job,
                               qdq_candidates **out, qdq_error *err);
/* Removes its files from the folder; NULL is allowed. */
void qdq_candidates_close(qdq_candidates *c);

/* The clean model with the plan applied (NULL: unchanged), as qdq_quantize() would write it, for
 * analysis and for the final write. Its tensors refer to mappings that live until
 * qdq_candidates_close(). */
qdq_status qdq_candidate_model(qdq_candidates *c, const qdq_plan *p, qdq_model **out,
                               qdq_error *err);

/* The same as a file folder/NAME, for qdq_model_open() and for engines that read external data next
 * to a model. Nodes without a name get that of qdq_node_label(). */
qdq_status qdq_candidate_write(qdq_candidates *c, const qdq_plan *p, const char *name,
                               qdq_error *err);

/* The same for a part of the clean model, which qdq_group_plan_apply() made with this cache: a file
 * folder/NAME that shares the weights. All its nodes have names. */
qdq_insert_cache *qdq_candidates_cache(qdq_candidates *c);
qdq_status qdq_candidate_write_part(qdq_candidates *c, const qdq_model *m, const char *name,
                                    qdq_error *err);

#endif /* QDQ_CANDIDATES_H */
