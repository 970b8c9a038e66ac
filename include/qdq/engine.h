/* qdq/engine.h - runs, times and profiles models on an inference engine.
 *
 * A spec names an engine: "ort", "ort:/path/to/libonnxruntime.so.1", "openvino", "trtexec",
 * "sim:cost.json". The library reads no environment variables: pass what you find there in
 * qdq_engine_opts. Several threads may use one engine; one thread at a time may use a session. */
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
    /* path of ONNX Runtime's library; NULL: looked up in search_dirs, next to libqdq.so (lib/qdq),
     * then in the loader's path */
    const char *ort_library;
    /* folders with engine libraries, ends with NULL; or NULL */
    const char *const *search_dirs;
    /* parent of private folders; NULL: /tmp */
    const char *temp_dir;
    /* its log has the engine's own warnings; may be NULL */
    const qdq_job *job;
    /* program of the engine trtexec; NULL: "trtexec", looked up in PATH */
    const char *trtexec;
    /* options for each of its commands, split without a shell; or NULL */
    const char *trtexec_args;
    /* file with the timings of its builds; NULL: a private file, or in autotune, one in its
     * folder */
    const char *timing_cache;
    /* libraries with operators, ends with NULL; or NULL. They are static plugins of trtexec, custom
     * operators of ort, or extensions of openvino */
    const char *const *plugins;
    /* folder in which trtexec records runs for the engine `replay`; NULL: none */
    const char *record;
    /* path of OpenVINO's library; NULL: looked up as ort_library */
    const char *openvino_library;
    /* execution providers of ort, tried in this order before the processor, ends with NULL: "CUDA",
     * "TensorRT:device_id=0,trt_fp16_enable=1"; or NULL */
    const char *const *providers;
    /* program qdq-worker, which makes the trials that may end a process; NULL: next to the running
     * program, else in PATH; without it there are no such trials */
    const char *worker;
    /* Run the engine in another process, the program `worker`. If that process crashes, hangs or
     * runs out of memory, the call returns QDQ_E_ENGINE, and the next call starts another process.
     * Runs on one engine then wait for each other. */
    bool in_worker;
    /* with in_worker, and in autotune: time limit in seconds for one call (a build, a run, a timed
     * block, a profile), after which the process is ended; 0: 600 */
    double deadline_s;
    /* Another machine on which the engine runs, in a process of `qdq-worker` there:
     * "ssh://[user@]name[:port][/path/of/qdq-worker]", by the program ssh, which must not need a
     * password, or "exec:COMMAND", a command line of the shell that runs programs there (with
     * "--serve" in it: the whole command). NULL: this machine. Models, samples and cost models are
     * sent there, once; libraries, plugins, trtexec and replay:DIR are the device's own, and
     * folders of this machine do not count. */
    const char *host;
    /* time limit in seconds without a sign of life of the host; 0: 60 */
    double host_timeout_s;
} qdq_engine_opts;

#define QDQ_ENGINE_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_engine_opts)                                                            \
    }

/* Shapes from a text of options for trtexec (qdq_engine_opts.trtexec_args), for engines that do not
 * read such a text: those of --minShapes, --optShapes and --maxShapes; --shapes counts for inputs
 * without --optShapes. An input without either has its max shape, or else its min shape, as in
 * trtexec. */
typedef struct qdq_trtexec_shapes {
    const qdq_input_shape *min, *opt, *max;
    size_t n_min, n_opt, n_max;
    /* the first option that is not about shapes; NULL: none */
    const char *other;
} qdq_trtexec_shapes;

/* Reads such a text. QDQ_E_USAGE: it is malformed. *out is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_trtexec_shapes_read(const char *args, qdq_trtexec_shapes **out,
                                                        qdq_error *err);

/* Abilities of an engine: bits of qdq_engine_info.capabilities. */
typedef enum qdq_capability {
    /* computes outputs */
    QDQ_CAN_RUN = 1,
    /* measures latency */
    QDQ_CAN_TIME = 2,
    /* measures the time of each executed layer */
    QDQ_CAN_PROFILE = 4,
    /* returns inner values as outputs */
    QDQ_CAN_EXPOSE = 8,
    /* reads weights from the model's files without a copy */
    QDQ_CAN_MAP_WEIGHTS = 16,
    /* lists the nodes of each executed layer */
    QDQ_CAN_LIST_LAYERS = 32,
    /* names its layers differently from nodes: list their nodes, too */
    QDQ_NAMES_LAYERS = 64,
    /* computes the graph as it is written at QDQ_LEVEL_NONE: the reference of qdq_verify_engine(),
     * also for itself */
    QDQ_RUNS_AS_WRITTEN = 128
} qdq_capability;

typedef struct qdq_engine_info {
    /* "ort" */
    const char *name;
    /* "1.31.1"; "" if unknown */
    const char *version;
    /* path of its library; "": none */
    const char *library;
    /* "cpu" */
    const char *device;
    /* bits of qdq_capability */
    unsigned capabilities;
    /* highest opset of the default domain that it accepts; 0: unknown */
    int max_opset;
    /* highest IR version that it accepts; 0: unknown */
    int max_ir;
    /* text with all that times depend on: name, version, device, options of the engine */
    const char *fingerprint;
} qdq_engine_info;

/* Another machine, as its qdq-worker describes it. */
typedef struct qdq_host_info {
    /* version of qdq-worker there */
    const char *version;
    /* its processor and cores */
    const char *processor;
    /* 8-bit arithmetic of the processor: "vnni", "avx2", ..., as qdq_cpu_name() */
    const char *kernels;
    /* "x86_64", "aarch64" */
    const char *machine;
    /* processors that programs may use there */
    int threads;
} qdq_host_info;

/* Connects to opts->host and asks what it is. *out is freed with qdq_free() (one block).
 * QDQ_E_ENGINE: it is unavailable; the message says why. */
QDQ_API QDQ_MUST_USE qdq_status qdq_host_describe(const qdq_engine_opts *opts, qdq_host_info **out,
                                                  qdq_error *err);

/* Copies the program opts->worker (NULL: as for in_worker) to opts->host, and opts->ort_library
 * next to it, if it is not NULL. What is there already with the same content stays. *where is the
 * path of the program there, and is freed with qdq_free(). QDQ_E_ENGINE: the host is unavailable,
 * or its folders cannot be written. QDQ_E_USAGE: its text is a whole command, which runs nothing
 * else. */
QDQ_API QDQ_MUST_USE qdq_status qdq_host_install(const qdq_engine_opts *opts, char **where,
                                                 qdq_error *err);

/* Opens an engine. QDQ_E_USAGE: the name is unknown. QDQ_E_ENGINE: the engine is unavailable; the
 * message says how to install it. The engine copies what it needs of opts; opts->job must outlive
 * it. `opts` may be NULL. *out is freed with qdq_engine_close(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_engine_open(const char *spec, const qdq_engine_opts *opts,
                                                qdq_engine **out, qdq_error *err);
/* The environment variable that this engine needs before it is opened, "NAME=VALUE", or NULL. The
 * library itself changes no environment. The text is static. It is for machines that announce
 * instructions which end a process that uses them: there qdq_engine_open() of "openvino" fails
 * until the variable is set. */
QDQ_API const char *qdq_engine_environment(const char *spec, const qdq_engine_opts *opts);
/* Closes an engine after all its sessions; NULL is allowed. */
QDQ_API void qdq_engine_close(qdq_engine *e);
QDQ_API const qdq_engine_info *qdq_engine_get_info(const qdq_engine *e);
/* Processor and cores of the machine that runs it, which may be a host. Borrowed as long as the
 * engine. */
QDQ_API const char *qdq_engine_processor(const qdq_engine *e);

/* Number of processes of this engine that crashed or exceeded their time limit; 0 without
 * in_worker. */
QDQ_API unsigned qdq_engine_crashes(const qdq_engine *e);

/* The i-th engine that this build knows: its name and one line of help. NULL past the end. */
QDQ_API const char *qdq_engine_name(size_t i, const char **help);

/* Splits a list of specs: "ort,openvino,sim:cost.json". A comma separates only before a name of
 * qdq_engine_name() that ends there, at ':' or at ','; every other comma belongs to the argument of
 * an engine ("sim:a,b.json", "./my.so:x,y"). A backslash before a comma keeps it from separating
 * ("sim:a\,ort"). *specs has *n entries, ends with NULL, and is freed with qdq_free() (one
 * block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_engine_split(const char *list, char ***specs, size_t *n,
                                                 qdq_error *err);

typedef enum qdq_opt_level {
    /* all optimizations, as users run models */
    QDQ_LEVEL_ALL = 0,
    QDQ_LEVEL_EXTENDED,
    QDQ_LEVEL_BASIC,
    QDQ_LEVEL_NONE
} qdq_opt_level;

typedef struct qdq_session_opts {
    size_t size;
    qdq_opt_level level;
    /* threads of a run; 0: 1 */
    int threads;
    /* for qdq_session_profile(); slows runs down */
    bool profile;
    /* names of inner values to return as outputs too, ends with NULL; or NULL */
    const char *const *expose;
    /* leave out the model's own outputs, and nodes that nothing else needs */
    bool only_exposed;
    /* n_shapes shapes that fix symbolic dims of inputs; all other symbolic dims count as 1 in
     * timing */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* compute Q/DQ in float, without 8-bit kernels: the reference of accuracy */
    bool fake_quant;
    /* for qdq_session_layers(); slows runs down */
    bool layers;
} qdq_session_opts;

#define QDQ_SESSION_OPTS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(qdq_session_opts)                                                           \
    }

/* Prepares a model to run. The model is only read during this call, but its weights must stay
 * mapped: keep it until the session is closed. `opts` may be NULL. *out is freed with
 * qdq_session_close(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_open(qdq_engine *e, const qdq_model *m,
                                                 const qdq_session_opts *opts, qdq_session **out,
                                                 qdq_error *err);
/* Closes a session; NULL is allowed. */
QDQ_API void qdq_session_close(qdq_session *s);

/* The i-th input or output as the engine reports it after its own shape inference; false past the
 * end. The strings are borrowed as long as the session. */
QDQ_API bool qdq_session_input(const qdq_session *s, size_t i, qdq_io *out);
QDQ_API bool qdq_session_output(const qdq_session *s, size_t i, qdq_io *out);

/* Receives one output. The data is borrowed for the call. Any status but QDQ_OK stops the run,
 * which returns it. */
typedef qdq_status (*qdq_output_fn)(void *ctx, const char *name, const qdq_array *a,
                                    qdq_error *err);

/* Runs the model once. `in` has an array for every input, by name, with the model's element type
 * and a matching shape. `fn` receives the outputs in the order of qdq_session_output(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_run(qdq_session *s, const qdq_named_array *in,
                                                size_t n_in, qdq_output_fn fn, void *ctx,
                                                qdq_error *err);

/* --- timing ----------------------------------------------------------------------------------- */

typedef struct qdq_bench_opts {
    size_t size;
    /* number of rounds; 0: as many as 2 s allow, from 20 to 1000 */
    unsigned rounds;
    /* runs of each model before the first round; 0: 3 */
    unsigned warmup;
    /* least duration of a sample, in ms, which repeats runs; 0: 5 */
    double min_sample_ms;
    /* n_inputs arrays for every model; NULL: random values from `seed` */
    const qdq_named_array *inputs;
    size_t n_inputs;
    uint64_t seed;
    const qdq_job *job;
    /* Time limit in ms of the clock. The warm-up becomes shorter, and only half of the time is used
     * if it is enough for 20 rounds. QDQ_E_UNSUPPORTED: the limit ends before 6 rounds, which an
     * interval needs. 0: no limit. */
    double max_ms;
} qdq_bench_opts;

#define QDQ_BENCH_OPTS_INIT                                                                        \
    {                                                                                              \
        .size = sizeof(qdq_bench_opts)                                                             \
    }

typedef struct qdq_bench_model {
    /* latency of one run, in ms */
    double median_ms, p10_ms, p90_ms;
    /* number of timed runs, without warm-up */
    unsigned runs;
    /* latency of the first model / latency of this one: median of paired rounds */
    double speedup;
    /* 95 % interval of speedup: order statistics of the paired ratios; with fewer than 6 rounds,
     * their smallest and largest, whose level is below 95 % */
    double ci_low, ci_high;
} qdq_bench_model;

/* Times n sessions in interleaved rounds (first, second, ..., first, second, ... with the order
 * rotated from round to round), so that latency drift affects all of them. `out` has n elements. */
QDQ_API QDQ_MUST_USE qdq_status qdq_bench(qdq_session *const *sessions, size_t n,
                                          const qdq_bench_opts *opts, qdq_bench_model *out,
                                          qdq_error *err);

/* --- profile ---------------------------------------------------------------------------------- */

/* How the nodes of a layer were found. */
typedef enum qdq_layer_source {
    /* not found */
    QDQ_LAYER_NONE,
    /* nodes between the tensors that it consumes and produces */
    QDQ_LAYER_SLICE,
    /* nodes that the engine names */
    QDQ_LAYER_EXACT
} qdq_layer_source;

/* An executed layer. qdq_session_profile() sets name, kernel, time and runs. qdq_session_layers()
 * sets all but the runs: also the nodes of the model that the layer computes. A node may be in
 * several layers. */
typedef struct qdq_layer {
    /* the engine's name of the layer, and its kernel */
    const char *layer, *op;
    /* types that it consumes and produces: "u8", "i8", "f32", "f16", "bf16", "f8", "i32", ...; "":
     * unknown */
    const char *in_type, *out_type;
    /* median over the runs, in microseconds; NAN: unknown */
    double median_us;
    /* number of profiled runs; 0: unknown */
    unsigned runs;
    /* converts values between formats: reorder, Q, DQ, cast */
    bool conversion;
    /* n_nodes labels: a node's name, or Op@output for a node without a name */
    const char *const *node;
    size_t n_nodes;
    qdq_layer_source source;
    /* of a conversion: name of the model's tensor that it converts; "" or NULL: unknown */
    const char *tensor;
} qdq_layer;

/* Makes `runs` runs and reports every executed layer in order of execution. *out has *n layers and
 * is freed with qdq_free() (one block). QDQ_E_UNSUPPORTED: the engine has no profile. The session
 * must have been opened with `profile`, and cannot be used afterwards, only closed. */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_profile(qdq_session *s, const qdq_named_array *in,
                                                    size_t n_in, unsigned runs, qdq_layer **out,
                                                    size_t *n, qdq_error *err);

/* --- groups ----------------------------------------------------------------------------------- */

/* Reports executed layers with their nodes, in order of execution, with times of `runs` profiled
 * runs. `runs` 0: without times, and inputs are not needed. *out has *n layers and is freed with
 * qdq_free() (one block). QDQ_E_UNSUPPORTED: the engine does not list layers. The session must have
 * been opened with `layers`, and cannot be used afterwards, only closed. */
QDQ_API QDQ_MUST_USE qdq_status qdq_session_layers(qdq_session *s, const qdq_named_array *in,
                                                   size_t n_in, unsigned runs, qdq_layer **out,
                                                   size_t *n, qdq_error *err);

/* Reads layers of this model from files. Either `trtexec --exportLayerInfo=F
 * --profilingVerbosity=detailed` wrote `layers` and `--exportProfile=F` wrote `profile`, on any
 * machine (`profile` NULL: no times); or qdq_layers_write() or `inspect --groups --json` wrote
 * `layers`, with times, and `profile` is NULL. *out has *n layers and is freed with qdq_free() (one
 * block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_layers_read(const qdq_model *m, const char *layers,
                                                const char *profile, const qdq_job *job,
                                                qdq_layer **out, size_t *n, qdq_error *err);

/* Writes n layers to a file for qdq_layers_read(), over an existing one, so that the model need not
 * be built again. */
QDQ_API QDQ_MUST_USE qdq_status qdq_layers_write(const char *path, const qdq_layer *g, size_t n,
                                                 const qdq_engine_info *info, qdq_error *err);

/* The time of all layers, and how much of it belongs to known nodes. */
typedef struct qdq_layers_sum {
    /* time of all layers, and of conversions, in microseconds; NAN: no layer has a time */
    double us, conversions_us;
    /* fraction of the time without conversions that belongs to known nodes, 0 to 1; NAN: no time */
    double attributed;
    size_t n_timed;
} qdq_layers_sum;

/* Sums up n layers. */
QDQ_API qdq_layers_sum qdq_layers_add(const qdq_layer *g, size_t n);

/* Makes an array for each input of a session from a seed: floats normal(0,1), integers 0 or 1; a
 * dim that is not fixed is 1. *out has *n arrays and is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_random_inputs(const qdq_session *s, uint64_t seed,
                                                  qdq_named_array **out, size_t *n, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_ENGINE_H */
