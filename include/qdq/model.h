/* qdq/model.h - load, inspect, edit as a whole, and save ONNX models.
 *
 * A qdq_model owns all that can be reached from it. Any number of threads may read one model; a
 * call that takes it without const needs it exclusively. Weights stay in the mapped files: keep
 * those unchanged while the model lives (replacing a file by rename is fine). */
#ifndef QDQ_MODEL_H
#define QDQ_MODEL_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_model qdq_model;

/* External data in memory: `location` is the path that the model has for it. */
typedef struct qdq_block {
    const char *location;
    const void *data;
    size_t bytes;
} qdq_block;

typedef struct qdq_load_opts {
    /* sizeof this struct */
    size_t size;
    /* refuse larger model files; 0 means no limit */
    uint64_t max_bytes;
    /* folder of external data; NULL: the model's own folder */
    const char *external_dir;
    /* External data at these locations, whose files are not opened; or NULL. Their bytes are not
     * copied: the caller keeps them unchanged until the model and every model that was made of it
     * (a clone, a part, a quantized one) are freed. */
    const qdq_block *blocks;
    size_t n_blocks;
    /* qdq_model_load_bytes() does not copy `data`: the caller keeps it as it keeps blocks */
    bool borrow;
} qdq_load_opts;

#define QDQ_LOAD_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_load_opts)                                                              \
    }

/* Reads the model at `path`: maps it and indexes it, without touching tensor bytes. On success *out
 * is a new model, freed by the caller with qdq_model_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_load(const char *path, const qdq_load_opts *opts,
                                               qdq_model **out, qdq_error *err);

/* The same from memory, which is copied once, unless opts->borrow is set. `name` stands for the
 * file in messages, for example "<stdin>". External data is refused unless opts->external_dir is
 * set or opts->blocks has it. A location that is in opts->blocks twice is QDQ_E_USAGE. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_load_bytes(const void *data, size_t bytes,
                                                     const char *name, const qdq_load_opts *opts,
                                                     qdq_model **out, qdq_error *err);

/* A deep copy of graph and names that shares all weights. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_clone(const qdq_model *m, qdq_model **out,
                                                qdq_error *err);

/* NULL is allowed */
QDQ_API void qdq_model_free(qdq_model *m);

typedef enum qdq_external {
    /* as the input had it; forced above 2 GB */
    QDQ_EXTERNAL_AUTO = 0,
    /* every initializer of 1 KiB and more goes to a side file */
    QDQ_EXTERNAL_ALWAYS,
    /* one file, or an error above 2 GB */
    QDQ_EXTERNAL_NEVER
} qdq_external;

typedef struct qdq_save_opts {
    /* sizeof this struct */
    size_t size;
    qdq_external external;
    /* false: an existing file is an error */
    bool allow_overwrite;
    /* its log reports side files that stay; may be NULL */
    const qdq_job *job;
} qdq_save_opts;

#define QDQ_SAVE_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_save_opts)                                                              \
    }

/* Saves under a temporary name in the same folder, syncs it, then renames it to `path`: an
 * interrupted save leaves the old file, never half a file. The same model gives the same bytes.
 *
 * External data goes to one side file next to the model, MODEL.HASH.data: MODEL is the last part of
 * `path`, HASH the first 16 hexadecimal digits of the SHA-256 of its content. It is in place before
 * the model that names it. A file of that name and content is used as it is; with other content it
 * is QDQ_E_IO, with allow_overwrite too. After a model was replaced, the side file that it named is
 * removed if its name has this form for the same MODEL and no other *.onnx in the folder names it.
 * Other side files stay. A `path` where data of `m` lies is QDQ_E_IO. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_save(const qdq_model *m, const char *path,
                                               const qdq_save_opts *opts, qdq_error *err);

/* The file of external data that qdq_model_save() wrote for the model at `path`, and that the model
 * names: its path, freed with qdq_free(). *out is NULL, and the call succeeds, where there is none
 * or `path` is no model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_find_data(const char *path, char **out, qdq_error *err);

/* QDQ_E_IO for a path where external data of `m` lies: nothing should be written there while the
 * model's file is wanted. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_guard_data(const qdq_model *m, const char *path,
                                                     qdq_error *err);

/* The model as one piece of memory, without external data; freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_to_bytes(const qdq_model *m, void **data, size_t *bytes,
                                                   qdq_error *err);

/* The model in two parts, for qdq_model_load_bytes() with opts->blocks: *data without the bytes of
 * its initializers of `least` bytes and more (0: 1024), which the model's external data say are in
 * blocks; and these blocks, which are not copied: they lie in memory of `m`, read-only, and live
 * until `m` is freed. Initializers with the same bytes share one block. An initializer whose
 * numbers are not stored as raw bytes stays in *data. *data and *blocks (one block) go to
 * qdq_free(). More than 2 GB without the blocks are QDQ_E_UNSUPPORTED. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_to_blocks(const qdq_model *m, size_t least, void **data,
                                                    size_t *bytes, qdq_block **blocks, size_t *n,
                                                    qdq_error *err);

/* Text form (docs/text.md), as ONNX's own textual syntax with our extensions. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_to_text(const qdq_model *m, char **text, qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_model_from_text(const char *text, const char *name,
                                                    qdq_model **out, qdq_error *err);

typedef enum qdq_view { QDQ_VIEW_TEXT, QDQ_VIEW_JSON, QDQ_VIEW_DOT } qdq_view;

/* What the model holds: counts, inputs, outputs, Q/DQ. Keys of the JSON view: docs/cli.md,
 * `inspect`. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_inspect(const qdq_model *m, qdq_view view, char **text,
                                                  qdq_error *err);

/* One finding of the verifier. */
typedef struct qdq_finding {
    /* else a warning */
    bool is_error;
    /* place, found, expected */
    const char *text;
} qdq_finding;

/* Verifies the model. The findings are the caller's: qdq_free() on *out frees all. An invalid model
 * is not a failure of this call; look at the findings. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_check(const qdq_model *m, qdq_finding **out, size_t *n,
                                                qdq_error *err);

/* Infers types and shapes of all values and stores them in the model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_infer_shapes(qdq_model *m, qdq_error *err);

/* Fixes the shapes of graph inputs, infers the rest again, and adapts a constant leading batch in
 * Reshape. Inconsistent shapes are an error, and the model is then unchanged in what it
 * computes. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_set_shapes(qdq_model *m, const qdq_input_shape *shapes,
                                                     size_t n, qdq_error *err);

/* Raises the default domain's opset to `opset` (7 to 22), rewriting the operators whose meaning
 * changed. An operator whose change is not implemented is an error that names it and the step; the
 * model is then unchanged. (Out of memory alone may leave it half raised: it is then good for
 * nothing but freeing.) Bodies of functions are raised along; other domains are left alone. The IR
 * version rises to what the opset needs; initializers that below IR 4 had to be listed as inputs
 * then leave them. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_set_opset(qdq_model *m, int opset, qdq_error *err);

/* Opset of the default domain; 0 when it is not imported. */
QDQ_API int qdq_model_opset(const qdq_model *m);

/* A new model: the part of `m` that computes `outputs` from `inputs` (names of values). Weights are
 * shared. An input that does not cut all paths is an error that names what is missing. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_extract(const qdq_model *m, const char *const *inputs,
                                                  size_t n_in, const char *const *outputs,
                                                  size_t n_out, qdq_model **out, qdq_error *err);

/* Graph inputs (initializers that are listed as inputs left out) and outputs. The strings and dims
 * live as long as the model and until it is edited. A dim is -1 where it is not fixed; `params`
 * then has its name or NULL. rank -1: unknown. */
typedef struct qdq_io {
    const char *name;
    qdq_elem elem;
    int rank;
    int64_t dim[QDQ_MAX_RANK];
    const char *param[QDQ_MAX_RANK];
} qdq_io;

QDQ_API size_t qdq_model_input_count(const qdq_model *m);
QDQ_API size_t qdq_model_output_count(const qdq_model *m);
QDQ_API bool qdq_model_input(const qdq_model *m, size_t i, qdq_io *out);
QDQ_API bool qdq_model_output(const qdq_model *m, size_t i, qdq_io *out);

/* Has this input or output a dim that is not fixed, or an unknown rank? */
QDQ_API bool qdq_io_is_open(const qdq_io *io);
/* Has any input of the model one? Engines then plan for every size of it. */
QDQ_API bool qdq_model_is_open(const qdq_model *m);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_MODEL_H */
