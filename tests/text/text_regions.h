/* text_regions.h - regions and patterns of a graph of tests/text. */
#ifndef QDQ_TEST_TEXT_REGIONS_H
#define QDQ_TEST_TEXT_REGIONS_H

#include "text/text_place.h"

/* `arg`: the builder and its sizes. See tests/README.md; as the functions of text_ways.h. */
qdq_status text_regions(qdq_model **m, const char *arg, text_result *out, qdq_error *err);

#endif /* QDQ_TEST_TEXT_REGIONS_H */
