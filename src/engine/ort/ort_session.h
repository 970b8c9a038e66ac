/* ort_session.h - what the files of the ORT engine share. */
#ifndef QDQ_ORT_SESSION_H
#define QDQ_ORT_SESSION_H

#include "base/file.h"
#include "engine/engine_layer.h"
#include "engine/engine_ops.h"
#include "engine/ort/ort_api.h"
#include "engine/ort/ort_log.h"

typedef struct qdq_ort_provider {
    /* as the library's functions have it: "CUDA" */
    const char *name;
    /* n of each */
    const char **keys, **values;
    size_t n;
} qdq_ort_provider;

typedef struct qdq_ort {
    qdq_ort_api api;
    ort_env *env;
    /* ORT's own, never released */
    ort_allocator *allocator;
    ort_memory_info *cpu;
    /* of every session, in this order */
    qdq_ort_provider *providers;
    size_t n_providers;
    /* with operators; ends with NULL */
    const char *const *libraries;
} qdq_ort;

typedef struct qdq_ort_session {
    const qdq_ort *ort;
    ort_session *session;
    qdq_ort_log log;
    qdq_tempdir *profile_dir;
    qdq_tempdir *optimized_dir;
    /* of sessions with `groups`: what is executed; NULL: it cannot be written */
    qdq_model *optimized;
    const char **in_names, **out_names;
    /* of the last bind() */
    ort_value **bound_in;
    /* outputs that timed runs write to; NULL entries are allocated by each run */
    ort_value **bound_out;
} qdq_ort_session;

/* ort_run.c */
qdq_status qdq_ort_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                       qdq_error *err);
qdq_status qdq_ort_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err);
qdq_status qdq_ort_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err);
void qdq_ort_unbind(qdq_session *s);

/* ort_profile.c */
qdq_status qdq_ort_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                           qdq_layer **out, size_t *n, qdq_error *err);
/* The same as text, as ONNX Runtime writes it; qdq_free() it. */
qdq_status qdq_ort_profile_text(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                char **text, qdq_error *err);
/* Reads the text of a profile, which it changes; the first run in it does not count. Layers in
 * order of execution with name, kernel, types and time, in the arena. */
qdq_status qdq_ort_profile_rows(char *text, const qdq_job *job, qdq_arena *arena,
                                qdq_engine_layer **out, size_t *n, unsigned *runs, qdq_error *err);
qdq_status qdq_ort_profile_parse(char *text, const qdq_job *job, qdq_layer **out, size_t *n,
                                 qdq_error *err);

/* ort_groups.c */
qdq_status qdq_ort_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                          qdq_layer **out, size_t *n, qdq_error *err);
/* Has the session write the model that it will run, once optimized, and reads that. */
qdq_status qdq_ort_ask_optimized(qdq_session *s, ort_session_options *o, qdq_error *err);
qdq_status qdq_ort_read_optimized(qdq_session *s, qdq_error *err);
/* For layers of a profile, gives each of them its nodes; `optimized` is the graph that was run. */
qdq_status qdq_ort_join_groups(const qdq_graph *source, const qdq_graph *optimized,
                               qdq_engine_layer *l, size_t *n, qdq_arena *arena, qdq_error *err);
/* The same without that graph, which providers that compile their nodes do not write: layers have
 * the node that they are called after; if one computes something and is called after none, it has
 * all that is left. That may be an epilogue too many, which another layer took in without saying
 * so. */
qdq_status qdq_ort_join_by_name(const qdq_graph *source, qdq_engine_layer *l, size_t n,
                                qdq_arena *arena, qdq_error *err);

/* ort_providers.c */
/* "NAME" or "NAME:key=value,..."; QDQ_E_USAGE says what is wrong. */
qdq_status qdq_ort_provider_parse(const char *spec, qdq_arena *arena, qdq_ort_provider *out,
                                  qdq_error *err);
/* Specs that end with NULL. QDQ_E_ENGINE names the providers that the library has. */
qdq_status qdq_ort_providers_read(const qdq_ort_api *api, const char *const *specs,
                                  qdq_arena *arena, qdq_ort_provider **out, size_t *n,
                                  qdq_error *err);
qdq_status qdq_ort_provider_append(const qdq_ort_api *api, ort_session_options *o,
                                   const qdq_ort_provider *p, qdq_error *err);

/* ort_weights.c: the model as ONNX Runtime shall get it. Weights of the model's files are
 * references into `folder`, from where ORT maps them itself; "" when everything is inline. Free
 * bytes with qdq_free(). */
typedef struct qdq_ort_model {
    void *bytes;
    size_t size;
    char folder[4096];
} qdq_ort_model;

qdq_status qdq_ort_model_bytes(const qdq_ort_api *api, const qdq_model *m, const qdq_job *job,
                               qdq_ort_model *out, qdq_error *err);

#endif /* QDQ_ORT_SESSION_H */
