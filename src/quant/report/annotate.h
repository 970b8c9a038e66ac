/* annotate.h - what was decided about nodes, as metadata in the model that was made: viewers of
 * models show it. */
#ifndef QDQ_ANNOTATE_H
#define QDQ_ANNOTATE_H

#include "ir/ir.h"
#include "report/picture.h"

/* Names all nodes, those in bodies of If, Loop and Scan too, raises the IR version to 10, and sets
 * "qdq.format", "qdq.weight", "qdq.why", and on a QuantizeLinear of the picture's edges "qdq.why".
 * `timed`: also "qdq.given_us", "qdq.chosen_us", "qdq.saved_us", "qdq.measured" and
 * "qdq.overruled". Older entries with these keys go. */
qdq_status qdq_annotate(qdq_model *m, const qdq_picture *p, bool timed, qdq_error *err);

#endif /* QDQ_ANNOTATE_H */
