/* trt_result.h - layer information and a profile as callers of an engine get them. Used by every
 * engine that speaks TensorRT's formats: trtexec, and replay, which reads them from files. */
#ifndef QDQ_TRT_RESULT_H
#define QDQ_TRT_RESULT_H

#include "engine/trt/trt_profile.h"
#include "ir/ir.h"
#include "qdq/engine.h"

/* `l` may have no layers: then there is no kernel's name. One block, qdq_free(). */
qdq_status qdq_trt_make_profile(const qdq_trt_layers *l, const qdq_trt_profile *p, qdq_layer **out,
                                size_t *n, qdq_error *err);

/* `p` may be NULL: no times. QDQ_E_UNSUPPORTED: the layer information is not detailed. One block,
 * qdq_free(). */
qdq_status qdq_trt_make_groups(const qdq_trt_layers *l, const qdq_trt_profile *p,
                               const qdq_graph *g, const qdq_job *job, qdq_layer **out, size_t *n,
                               qdq_error *err);

/* Files that trtexec exported, at most 256 MiB. Errors name no path. */
qdq_status qdq_trt_times_read(const char *path, int major, int minor, qdq_arena *arena, double **ms,
                              size_t *n, qdq_error *err); /* as qdq_trt_times_parse() */
qdq_status qdq_trt_profile_read(const char *path, qdq_arena *arena, qdq_trt_profile *out,
                                qdq_error *err);
qdq_status qdq_trt_layers_read(const char *path, qdq_arena *arena, qdq_trt_layers *out,
                               qdq_error *err);

#endif /* QDQ_TRT_RESULT_H */
