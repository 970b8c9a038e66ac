/* text_ways.h - more that is done with a graph of tests/text: Q/DQ that go or come, half precision,
 * findings for a target, numbers that end engines, parts, shapes of inputs. */
#ifndef QDQ_TEST_TEXT_WAYS_H
#define QDQ_TEST_TEXT_WAYS_H

#include "text/text_place.h"

/* Each changes the graph (or replaces it) as the words of `arg` say, which tests/README.md
 * explains, and keeps what else came out in *out. What must hold whatever the words are, it checks
 * itself. */
qdq_status text_strip(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_import(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_insert(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_half(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_findings(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_extract(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_domains(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_raise_each(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_params(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_scale_types(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_smooth(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_survive(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_text(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_shapes(qdq_model **m, const char *arg, text_result *out, qdq_error *err);

#endif /* QDQ_TEST_TEXT_WAYS_H */
