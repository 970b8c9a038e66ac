/* annotations.h - GraphProto.quantization_annotation: which constants are scale and zero point of a
 * tensor, as models without Q/DQ say it. They are kept as wire bytes (qdq_graph.unknown_fields). */
#ifndef QDQ_ANNOTATIONS_H
#define QDQ_ANNOTATIONS_H

#include "opt/opt.h"

/* Takes out annotations that name values which the graph does not have; the constants that the
 * others name are put into `needed`, by name. */
qdq_status qdq_annotations_sweep(qdq_opt *o, qdq_graph *g, qdq_map *needed, qdq_error *err);

#endif /* QDQ_ANNOTATIONS_H */
