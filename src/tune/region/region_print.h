/* region_print.h - the forms in which regions are shown. */
#ifndef QDQ_REGION_PRINT_H
#define QDQ_REGION_PRINT_H

#include "base/buf.h"
#include "tune/region/pattern.h"

typedef struct qdq_region_view {
    const qdq_regions *r;
    const qdq_patterns *p;
    qdq_regions_form form;
    /* also what has no operator that can be quantized */
    bool all;
    /* with the nodes */
    bool verbose;
    /* by region id */
    bool *shown;
    size_t n_shown;
    /* by number of nodes: leaves that are shown */
    size_t *leaves_of;
    /* of a leaf */
    size_t most_nodes;
} qdq_region_view;

void qdq_region_print_text(const qdq_region_view *v, qdq_buf *b);
qdq_status qdq_region_print_json(const qdq_region_view *v, char **text, qdq_error *err);
void qdq_region_print_dot(const qdq_region_view *v, qdq_buf *b);

#endif /* QDQ_REGION_PRINT_H */
