/* part_context.h - are the kernels of an isolated group those that compute it in the whole model?
 * If not, its score is that of something else, and says nothing of the group. */
#ifndef QDQ_PART_CONTEXT_H
#define QDQ_PART_CONTEXT_H

#include "tune/isolate/score.h"

/* `whole`: layers of the whole model, with Q/DQ as the parts have them, or without. Sets
 * context_mismatch of the scores of p by them, and not by the layers that groups were found from: a
 * group is in more layers than there, or in one with nodes of its halo and there it is in none with
 * nodes of other groups. That of a group that no layer computes there stays. */
qdq_status qdq_parts_compare(const qdq_fusions *f, const qdq_parts *p, const qdq_group *whole,
                             size_t n, qdq_part_score *score, qdq_error *err);

#endif /* QDQ_PART_CONTEXT_H */
