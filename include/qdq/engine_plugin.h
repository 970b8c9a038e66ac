/* qdq/engine_plugin.h - the interface of engines in shared libraries.
 *
 * `--engine ./my.so` or `--engine ./my.so:ARG` loads the library, calls qdq_engine_plugin_get() and
 * uses the table that it returns. The library includes this header and needs nothing else of qdq,
 * though it may link libqdq. It stays loaded. Functions return QDQ_OK, or another status with a
 * text in *err: where, what was found, what was expected. No exception may pass through them. qdq
 * checks inputs: they arrive in the order of input(), with types and shapes that
 * fit. */
#ifndef QDQ_ENGINE_PLUGIN_H
#define QDQ_ENGINE_PLUGIN_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the table below. A member is never moved, and new ones are added at its end: `size` says how
 * many there are. qdq uses those that both know. The other structs here change with the version
 * only. */
#define QDQ_ENGINE_PLUGIN_VERSION 1

/* What an engine says of itself when it is opened. The texts are borrowed as long as the engine is
 * open. */
typedef struct qdq_plugin_info {
    /* NULL: unknown */
    const char *version;
    /* NULL: "cpu" */
    const char *device;
    /* what times depend on; NULL: name, version and device */
    const char *fingerprint;
    /* 0: unknown */
    int max_opset, max_ir;
} qdq_plugin_info;

typedef struct qdq_plugin_session_opts {
    qdq_opt_level level;
    /* 1 or more */
    int threads;
    /* Q/DQ in float, no 8-bit kernels */
    bool fake_quant;
    /* layers() will be called: it may slow runs down */
    bool layers;
} qdq_plugin_session_opts;

/* An executed layer, borrowed for the call that it is handed to. */
typedef struct qdq_plugin_layer {
    const char *name, *op;
    /* "u8", "f32", ... as in qdq_layer; NULL: not known */
    const char *in_type, *out_type;
    /* median of a run; NAN: not known */
    double us;
    /* reorder, Q, DQ, cast */
    bool conversion;
    /* n_nodes of them: nodes of the model that it computes, by name or by output tensor, */
    const char *const *nodes;
    /* if the engine knows; */
    size_t n_nodes;
    /* else n_tensors tensors that it produces, by their names in the model: qdq looks which nodes
     */
    const char *const *tensors;
    /* lie between them and the tensors of other layers */
    size_t n_tensors;
} qdq_plugin_layer;

typedef qdq_status (*qdq_plugin_layer_fn)(void *ctx, const qdq_plugin_layer *layer, qdq_error *err);

typedef struct qdq_engine_plugin {
    /* QDQ_ENGINE_PLUGIN_VERSION */
    unsigned version;
    /* sizeof this table */
    size_t size;
    /* a word: "trt" */
    const char *name;

    /* `arg` is the text after "FILE:", or NULL; `temp_dir` may be NULL. */
    qdq_status (*open)(const char *arg, const char *temp_dir, void **engine, qdq_plugin_info *info,
                       qdq_error *err);
    void (*close)(void *engine);

    /* The model as an ONNX file in memory, weights inside; borrowed for the call. */
    qdq_status (*session_open)(void *engine, const void *model, size_t bytes,
                               const qdq_plugin_session_opts *opts, void **session, qdq_error *err);
    void (*session_close)(void *session);

    /* As qdq_session_input() and qdq_session_output(): texts live as long as the session, false
     * past the end. */
    bool (*input)(void *session, size_t i, qdq_io *out);
    bool (*output)(void *session, size_t i, qdq_io *out);

    /* Each of the others may be NULL: then the engine cannot. */

    /* Runs once; hands each output to `fn` (NULL: outputs are not wanted) in the order of output().
     * Stops where fn fails. */
    qdq_status (*run)(void *session, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err);

    /* The arrays stay as they are until the next bind or the end of the session; time_runs runs n
     * times on them. */
    qdq_status (*bind)(void *session, const qdq_array *const *in, qdq_error *err);
    qdq_status (*time_runs)(void *session, unsigned n, uint64_t *ns, qdq_error *err);

    /* The layers of `runs` profiled runs in order of execution; runs 0: no times, and `in` is NULL.
     * Called once. */
    qdq_status (*layers)(void *session, const qdq_array *const *in, unsigned runs,
                         qdq_plugin_layer_fn fn, void *ctx, qdq_error *err);
} qdq_engine_plugin;

/* What the library exports under this name: its table for `version`, in static storage; NULL: it
 * has none for that. */
typedef const qdq_engine_plugin *(*qdq_engine_plugin_get_fn)(unsigned version);
QDQ_API const qdq_engine_plugin *qdq_engine_plugin_get(unsigned version);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_ENGINE_PLUGIN_H */
