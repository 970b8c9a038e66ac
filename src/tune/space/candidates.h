/* candidates.h - models to measure, as files of a few kilobytes: weights lie in files beside them
 * that all candidates share. A weight that a plan quantizes becomes codes once; the next plan that
 * wants the same codes refers to them. */
#ifndef QDQ_CANDIDATES_H
#define QDQ_CANDIDATES_H

#include "qdq/quant.h"
#include "quant/insert/insert_cache.h"

typedef struct qdq_candidates qdq_candidates;

/* `folder` is there and private: the mapped files of the clean model get hard links in it, or one
 * copy where that is not possible (then the job is told), and `weights.bin`, which only grows. */
qdq_status qdq_candidates_open(const char *folder, const qdq_model *clean, const qdq_job *job,
                               qdq_candidates **out, qdq_error *err);
/* removes what it made in the folder; NULL is allowed */
void qdq_candidates_close(qdq_candidates *c);

/* The clean model with the plan applied (NULL: as it is), as qdq_quantize() would write it; for
 * analysis and for the last write. Tensors refer to mappings that live until
 * qdq_candidates_close(). */
qdq_status qdq_candidate_model(qdq_candidates *c, const qdq_plan *p, qdq_model **out,
                               qdq_error *err);

/* The same as a file folder/NAME, ready for qdq_model_open() and for engines that take external
 * data beside a model. Nodes that had no name of their own are called as qdq_node_label() calls
 * them. */
qdq_status qdq_candidate_write(qdq_candidates *c, const qdq_plan *p, const char *name,
                               qdq_error *err);

/* The same of a part of the clean model, which qdq_group_plan_apply() made with this cache: a file
 * folder/NAME that shares the weights. All its nodes have names. */
qdq_insert_cache *qdq_candidates_cache(qdq_candidates *c);
qdq_status qdq_candidate_write_part(qdq_candidates *c, const qdq_model *m, const char *name,
                                    qdq_error *err);

#endif /* QDQ_CANDIDATES_H */
