/* qdq/engine_plugin.h - the interface of engines in shared libraries.
 *
 * `--engine ./my.so` or `--engine ./my.so:ARG` loads the library, calls qdq_engine_plugin_get() and
 * uses the table that it returns. The library includes this header and needs nothing else of qdq,
 * but may link libqdq. It stays loaded. Functions return QDQ_OK, or another status with a message
 * in *err: where, what was found, what was expected. No exception may pass through them. qdq checks
 * inputs: they arrive in the order of input(), with matching types and shapes. */
#ifndef QDQ_ENGINE_PLUGIN_H
#define QDQ_ENGINE_PLUGIN_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the table below. Its members never move; new ones are added at its end, and `size`
 * says how many the library knows. qdq uses the members that both know. The other structs here
 * change only with the version. */
#define QDQ_ENGINE_PLUGIN_VERSION 1

/* Properties of an opened engine. The texts are borrowed as long as the engine is open. */
typedef struct qdq_plugin_info {
    /* NULL: unknown */
    const char *version;
    /* NULL: "cpu" */
    const char *device;
    /* text with all that times depend on; NULL: name, version and device */
    const char *fingerprint;
    /* 0: unknown */
    int max_opset, max_ir;
} qdq_plugin_info;

typedef struct qdq_plugin_session_opts {
    qdq_opt_level level;
    /* 1 or more */
    int threads;
    /* compute Q/DQ in float, without 8-bit kernels */
    bool fake_quant;
    /* layers() will be called: the session may run more slowly */
    bool layers;
} qdq_plugin_session_opts;

/* An executed layer, borrowed for the call that receives it. */
typedef struct qdq_plugin_layer {
    const char *name, *op;
    /* types that it consumes and produces: "u8", "f32", ... as in qdq_layer; NULL: unknown */
    const char *in_type, *out_type;
    /* median time of a run, in microseconds; NAN: unknown */
    double us;
    /* converts values between formats: reorder, Q, DQ, cast */
    bool conversion;
    /* n_nodes nodes of the model that it computes, by name or by output tensor; 0: unknown */
    const char *const *nodes;
    size_t n_nodes;
    /* if the nodes are unknown: n_tensors tensors that it produces, by their names in the model;
     * qdq finds the nodes between them and the tensors of other layers */
    const char *const *tensors;
    size_t n_tensors;
} qdq_plugin_layer;

typedef qdq_status (*qdq_plugin_layer_fn)(void *ctx, const qdq_plugin_layer *layer, qdq_error *err);

typedef struct qdq_engine_plugin {
    /* QDQ_ENGINE_PLUGIN_VERSION */
    unsigned version;
    /* sizeof this table */
    size_t size;
    /* the engine's name, one word: "trt" */
    const char *name;

    /* Opens the engine. `arg` is the text after "FILE:", or NULL; `temp_dir` may be NULL. */
    qdq_status (*open)(const char *arg, const char *temp_dir, void **engine, qdq_plugin_info *info,
                       qdq_error *err);
    void (*close)(void *engine);

    /* Prepares a model, an ONNX file in memory with its weights; borrowed for the call. */
    qdq_status (*session_open)(void *engine, const void *model, size_t bytes,
                               const qdq_plugin_session_opts *opts, void **session, qdq_error *err);
    void (*session_close)(void *session);

    /* The i-th input or output, as qdq_session_input() and qdq_session_output(); false past the
     * end. Texts are borrowed as long as the session. */
    bool (*input)(void *session, size_t i, qdq_io *out);
    bool (*output)(void *session, size_t i, qdq_io *out);

    /* Each member from here may be NULL: the engine then lacks this ability. */

    /* Runs once and passes each output to `fn`, in the order of output(); NULL: outputs are not
     * needed. Stops with the status of `fn` if it fails. */
    qdq_status (*run)(void *session, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err);

    /* bind() sets the inputs, which stay unchanged until the next bind or the end of the session;
     * time_runs() then runs n times on them and sets *ns to the duration in nanoseconds. */
    qdq_status (*bind)(void *session, const qdq_array *const *in, qdq_error *err);
    qdq_status (*time_runs)(void *session, unsigned n, uint64_t *ns, qdq_error *err);

    /* Reports the layers of `runs` profiled runs in order of execution; runs 0: no times, and `in`
     * is NULL. Called once in a session. */
    qdq_status (*layers)(void *session, const qdq_array *const *in, unsigned runs,
                         qdq_plugin_layer_fn fn, void *ctx, qdq_error *err);
} qdq_engine_plugin;

/* The function that the library exports under this name. It returns its table for `version`, in
 * static storage, or NULL if it has none. */
typedef const qdq_engine_plugin *(*qdq_engine_plugin_get_fn)(unsigned version);
QDQ_API const qdq_engine_plugin *qdq_engine_plugin_get(unsigned version);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_ENGINE_PLUGIN_H */
