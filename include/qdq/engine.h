/* qdq/engine.h - run, time and profile models on an inference engine.
 *
 * A spec names an engine: "ort", "ort:/path/to/libonnxruntime.so.1", "openvino", "trtexec",
 * "sim:cost.json". The library reads no environment variables: pass what you find there in
 * qdq_engine_opts. One engine may be used by many threads; one session by one thread at a time. */
#ifndef QDQ_ENGINE_H
#define QDQ_ENGINE_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_engine qdq_engine;
typedef struct qdq_session qdq_session;

typedef struct qdq_engine_opts {
    size_t size;
    /* file; NULL: search_dirs, then next to libqdq.so (lib/qdq), then the loader's path */
    const char *ort_library;
    /* folders to look for engine libraries in, ends with NULL; or NULL */
    const char *const *search_dirs;
    /* parent of private folders; NULL: /tmp */
    const char *temp_dir;
    /* log: the engine's own warnings arrive here */
    const qdq_job *job;
    /* program of the engine trtexec; NULL: "trtexec", looked up in PATH */
    const char *trtexec;
    /* options for each of its commands, taken apart without a shell; or NULL */
    const char *trtexec_args;
    /* file for what its builds time; NULL: a private one, of tuning DIR's */
    const char *timing_cache;
    /* libraries with operators, ends with NULL; or NULL: static plugins of trtexec, custom
     * operators of ort, extensions of openvino */
    const char *const *plugins;
    /* folder in which trtexec leaves what `replay` can read; NULL: none */
    const char *record;
    /* file; NULL: as ort_library */
    const char *openvino_library;
    /* execution providers of ort, tried in this order before the processor, ends with NULL: "CUDA",
     * "TensorRT:device_id=0,trt_fp16_enable=1"; or NULL */
    const char *const *providers;
    /* the program qdq-worker, in which is tried out what might kill a process; NULL: next to the
     * running program, else in PATH; without one nothing is tried out */
    const char *worker;
    /* run the engine in a process of its own, the program `worker`: one that crashes, hangs or runs
     * out of memory is QDQ_E_ENGINE of the call at hand, and the next call starts another process.
     * Runs on one engine then wait for each other */
    bool in_worker;
    /* with in_worker, and in the tuner: seconds that one call may take (a build, a run, a timed
     * block, a profile) before the process is ended; 0: 600 */
    double deadline_s;
} qdq_engine_opts;

#define QDQ_ENGINE_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_engine_opts)                                                            \
    }

/* The shapes in a text of options for trtexec (qdq_engine_opts.trtexec_args), for engines that take
 * no such text: those of --minShapes, --optShapes and --maxShapes; --shapes counts for inputs
 * without --optShapes. Where there are neither, the largest or else the least stands for them, as
 * with trtexec. */
typedef struct qdq_trtexec_shapes {
    const qdq_input_shape *min, *opt, *max;
    size_t n_min, n_opt, n_max;
    /* the first option that says something else; NULL: none does */
    const char *other;
} qdq_trtexec_shapes;

/* QDQ_E_USAGE: it is no such text. *out is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_trtexec_shapes_read(const char *args, qdq_trtexec_shapes **out,
                                                        qdq_error *err);

/* What an engine can do: bits of qdq_engine_info.capabilities. */
typedef enum qdq_capability {
    /* real outputs */
    QDQ_CAN_RUN = 1,
    /* latency */
    QDQ_CAN_TIME = 2,
    /* time per executed layer */
    QDQ_CAN_PROFILE = 4,
    /* intermediate tensors as outputs */
    QDQ_CAN_EXPOSE = 8,
    /* takes weights from the model's files without a copy */
    QDQ_CAN_MAP_WEIGHTS = 16,
    /* the nodes of each executed layer */
    QDQ_CAN_LIST_LAYERS = 32,
    /* its names of layers are not those of nodes: ask for the nodes, too */
    QDQ_NAMES_LAYERS = 64
} qdq_capability;

typedef struct qdq_engine_info {
    /* "ort" */
    const char *name;
    /* "1.31.1"; "" if unknown */
    const char *version;
    /* file it was loaded from; "" if none */
    const char *library;
    /* "cpu" */
    const char *device;
    /* QDQ_CAN_... */
    unsigned capabilities;
    /* highest opset of the default domain it loads; 0: unknown */
    int max_opset;
    /* highest IR version it loads; 0: unknown */
    int max_ir;
    /* what times depend on, as text: name, version, device, options of the engine */
    const char *fingerprint;
} qdq_engine_info;

/* QDQ_E_USAGE for an unknown name, QDQ_E_ENGINE if the engine is unavailable: the text says how
 * to get it. The engine keeps what it needs of opts, but job must outlive it. */
QDQ_API QDQ_MUST_USE qdq_status qdq_engine_open(const char *spec, const qdq_engine_opts *opts,
                                                qdq_engine **out, qdq_error *err);
/* What must be in the environment before this engine is opened, "NAME=VALUE", or NULL; the library
 * itself changes no environment. The text is static. Today: some machines announce instructions
 * that end a process that uses them, and "openvino" runs without them; its qdq_engine_open() fails
 * there until it is set. */
QDQ_API const char *qdq_engine_environment(const char *spec, const qdq_engine_opts *opts);
/* after its sessions; NULL is allowed */
QDQ_API void qdq_engine_close(qdq_engine *e);
QDQ_API const qdq_engine_info *qdq_engine_get_info(const qdq_engine *e);

/* How often a process of this engine has died or was ended for its deadline; 0 without
 * in_worker. */
QDQ_API unsigned qdq_engine_crashes(const qdq_engine *e);

/* The list of engines that this build knows: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_engine_name(size_t i, const char **help);

/* Takes a list of specs apart: "ort,openvino,sim:cost.json". A comma separates only before a name
 * of qdq_engine_name() that ends there, at ':' or at ','; all others belong to the argument of an
 * engine ("sim:a,b.json", "./my.so:x,y"). A backslash keeps one from separating ("sim:a\,ort").
 * *specs ends with NULL and is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_engine_split(const char *list, char ***specs, size_t *n,
                                                 qdq_error *err);

typedef enum qdq_opt_level {
    /* what users deploy */
    QDQ_LEVEL_ALL = 0,
    QDQ_LEVEL_EXTENDED,
    QDQ_LEVEL_BASIC,
    QDQ_LEVEL_NONE
} qdq_opt_level;

typedef struct qdq_session_opts {
    size_t size;
    qdq_opt_level level;
    /* 0: 1 */
    int threads;
    /* needed for qdq_session_profile; slows runs down */
    bool profile;
    /* values to make outputs besides the model's own, ends with NULL; or NULL */
    const char *const *expose;
    /* leave the model's own outputs out */
    bool only_exposed;
    /* fixes symbolic dims of inputs; the others count as 1 when timing */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* Q/DQ in float, no 8-bit kernels: the accuracy reference */
    bool fake_quant;
    /* needed for qdq_session_layers, with what that takes; slows runs down */
    bool layers;
} qdq_session_opts;

#define QDQ_SESSION_OPTS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(qdq_session_opts)                                                           \
    }

/* Makes a model ready to run. The model is only read during this call, but its weights must stay
 * mapped: keep it until the session is closed. */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_open(qdq_engine *e, const qdq_model *m,
                                                 const qdq_session_opts *opts, qdq_session **out,
                                                 qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_session_close(qdq_session *s);

/* Inputs and outputs as the engine reports them after its own shape inference. The strings live as
 * long as the session. False past the end. */
QDQ_API bool qdq_session_input(const qdq_session *s, size_t i, qdq_io *out);
QDQ_API bool qdq_session_output(const qdq_session *s, size_t i, qdq_io *out);

/* Receives one output. The data is borrowed for the call. Anything but QDQ_OK stops the run and is
 * its result. */
typedef qdq_status (*qdq_output_fn)(void *ctx, const char *name, const qdq_array *a,
                                    qdq_error *err);

/* Runs once. Every input is required, by name, with the model's element type and a fitting shape.
 * Outputs arrive in the order of qdq_session_output(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_run(qdq_session *s, const qdq_named_array *in,
                                                size_t n_in, qdq_output_fn fn, void *ctx,
                                                qdq_error *err);

/* --- timing ----------------------------------------------------------------------------------- */

typedef struct qdq_bench_opts {
    size_t size;
    /* 0: as many as 2 s allow, at least 20, at most 1000 */
    unsigned rounds;
    /* runs of each model first; 0: 3 */
    unsigned warmup;
    /* a sample of a round repeats runs until this long; 0: 5 */
    double min_leg_ms;
    /* for every model; NULL: random:SEED */
    const qdq_named_array *inputs;
    size_t n_inputs;
    uint64_t seed;
    const qdq_job *job;
    /* By the clock, with a shorter warm-up, and half of it where that does for 20 rounds; 0: no
     * limit. QDQ_E_UNSUPPORTED if it is over before the 6 rounds that an interval needs. */
    double max_ms;
} qdq_bench_opts;

#define QDQ_BENCH_OPTS_INIT                                                                        \
    {                                                                                              \
        .size = sizeof(qdq_bench_opts)                                                             \
    }

typedef struct qdq_bench_model {
    /* of one run */
    double median_ms, p10_ms, p90_ms;
    /* timed runs, warm-up left out */
    unsigned runs;
    /* time of the first / time of this one: median of paired rounds */
    double speedup;
    /* 95 % interval of speedup: order statistics of the paired ratios; with fewer than 6 rounds all
     * of them, which is less than 95 % */
    double ci_low, ci_high;
} qdq_bench_model;

/* Times sessions in interleaved rounds (first, second, ..., first, second, ... with the order
 * rotated from round to round), so that latency drift affects all of them. `out` has n places. */
QDQ_API QDQ_MUST_USE qdq_status qdq_bench(qdq_session *const *sessions, size_t n,
                                          const qdq_bench_opts *opts, qdq_bench_model *out,
                                          qdq_error *err);

/* --- profile ---------------------------------------------------------------------------------- */

/* How the nodes of a layer were found. */
typedef enum qdq_layer_source {
    /* they were not */
    QDQ_LAYER_NONE,
    /* the nodes between the tensors that it consumes and produces */
    QDQ_LAYER_SLICE,
    /* the engine names them */
    QDQ_LAYER_EXACT
} qdq_layer_source;

/* One executed layer. qdq_session_profile() sets its name, kernel, time and runs;
 * qdq_session_layers() the rest, too, and not the runs: the nodes of the model that it computes. A
 * node may be in several layers. */
typedef struct qdq_layer {
    /* as the engine calls it; its kernel */
    const char *layer, *op;
    /* "u8", "i8", "f32", "f16", "bf16", "f8", "i32", ...; "": not known */
    const char *in_type, *out_type;
    /* median over the runs; NAN: the engine does not say */
    double median_us;
    /* 0: not known */
    unsigned runs;
    /* moves numbers from one form into another: reorder, Q, DQ, cast */
    bool conversion;
    /* n_nodes labels, name, or Op@output where it has none of its own */
    const char *const *node;
    size_t n_nodes;
    qdq_layer_source source;
    /* of a conversion: the tensor of the model that it converts; "" or NULL: not known */
    const char *tensor;
} qdq_layer;

/* Runs `runs` times and reports every executed layer in order of execution. *out is freed with
 * qdq_free() (one block). QDQ_E_UNSUPPORTED where the engine cannot; the session must have been
 * opened with `profile`, and is of no further use afterwards. */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_profile(qdq_session *s, const qdq_named_array *in,
                                                    size_t n_in, unsigned runs, qdq_layer **out,
                                                    size_t *n, qdq_error *err);

/* --- groups ----------------------------------------------------------------------------------- */

/* Layers in order of execution with their source nodes; `runs` profiled runs, or 0: no times, and
 * no inputs are needed. *out is freed with qdq_free() (one block). QDQ_E_UNSUPPORTED where the
 * engine cannot; the session must have been opened with `groups`, and is of no further use
 * afterwards. */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_layers(qdq_session *s, const qdq_named_array *in,
                                                   size_t n_in, unsigned runs, qdq_layer **out,
                                                   size_t *n, qdq_error *err);

/* The same from files: what `trtexec --exportLayerInfo=F --profilingVerbosity=detailed` and
 * `--exportProfile=F` wrote for this model, wherever that was, `profile` may be NULL: no times; or
 * what qdq_layers_write() or `inspect --groups --json` wrote, which has times itself, and `profile`
 * is NULL. *out is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_layers_read(const qdq_model *m, const char *layers,
                                                const char *profile, const qdq_job *job,
                                                qdq_layer **out, size_t *n, qdq_error *err);

/* Writes layers to a file, over one that is there, for qdq_layers_read(): what was built once need
 * not be built again. */
QDQ_API QDQ_MUST_USE qdq_status qdq_layers_write(const char *path, const qdq_layer *g, size_t n,
                                                 const qdq_engine_info *info, qdq_error *err);

/* How much of the time is known to belong to which nodes. */
typedef struct qdq_layers_sum {
    /* of all layers with a time; NAN if none has one */
    double us, conversions_us;
    /* fraction of the time without conversions whose nodes are known, 0 to 1; NAN: no time */
    double attributed;
    size_t n_timed;
} qdq_layers_sum;

/* Adds up n layers. */
QDQ_API qdq_layers_sum qdq_layers_add(const qdq_layer *g, size_t n);

/* Fills arrays for all inputs of a session from a seed: floats normal(0,1), integers 0 or 1, dims
 * that are not fixed 1. *out is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_random_inputs(const qdq_session *s, uint64_t seed,
                                                  qdq_named_array **out, size_t *n, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_ENGINE_H */
