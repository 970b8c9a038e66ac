/* qdq/model.h - loads, inspects, edits as a whole, and saves ONNX models.
 *
 * A qdq_model owns all that can be reached from it. Any number of threads may read one model; a
 * call that takes it without const needs it exclusively. Weights stay in the mapped files: keep
 * these unchanged while the model lives (replacing a file by rename is fine). */
#ifndef QDQ_MODEL_H
#define QDQ_MODEL_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_model qdq_model;

/* A block of external data in memory: `bytes` bytes at `data`. `location` is the path that the
 * model has for it. */
typedef struct qdq_block {
    const char *location;
    const void *data;
    size_t bytes;
} qdq_block;

typedef struct qdq_load_opts {
    /* sizeof this struct */
    size_t size;
    /* largest model file to accept, in bytes; 0: no limit */
    uint64_t max_bytes;
    /* folder of external data; NULL: the model's own folder */
    const char *external_dir;
    /* n_blocks blocks that replace external data at their locations, whose files are not opened; or
     * NULL. The bytes are not copied: the caller keeps them unchanged until the model and every
     * model made from it (a clone, a part, a quantized one) are freed. */
    const qdq_block *blocks;
    size_t n_blocks;
    /* qdq_model_load_bytes() does not copy `data`: the caller keeps it unchanged as long as
     * blocks */
    bool borrow;
    /* must be 0: members of later releases may begin here */
    uint8_t reserved[7];
} qdq_load_opts;

#define QDQ_LOAD_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_load_opts)                                                              \
    }

/* Reads the model at `path`: maps and indexes the file, without touching tensor bytes. `opts` may
 * be NULL. On success *out is a new model, freed with qdq_model_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_load(const char *path, const qdq_load_opts *opts,
                                               qdq_model **out, qdq_error *err);

/* The same from memory, which is copied once, unless opts->borrow is set. `name` stands for the
 * file in messages, for example "<stdin>". External data is rejected unless opts->external_dir is
 * set or opts->blocks has it. A location that is in opts->blocks twice is QDQ_E_USAGE. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_load_bytes(const void *data, size_t bytes,
                                                     const char *name, const qdq_load_opts *opts,
                                                     qdq_model **out, qdq_error *err);

/* Copies graph and names; the copy shares all weights. *out is freed with qdq_model_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_clone(const qdq_model *m, qdq_model **out,
                                                qdq_error *err);

/* Frees a model; NULL is allowed. */
QDQ_API void qdq_model_free(qdq_model *m);

typedef enum qdq_external {
    /* as in the input model; always external above 2 GB */
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
    /* Its log reports side files that are not removed. Once its cancel flag is set, the call ends
     * with QDQ_E_INTERRUPTED soon, and `path` is as it was. NULL: no log, no flag */
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
 * `path`, HASH the first 16 hexadecimal digits of the SHA-256 of its content. qdq writes it before
 * the model that names it. If a file of that name exists, it is used if its content is equal, and
 * is QDQ_E_IO otherwise, with allow_overwrite too. After a model was replaced, the side file that
 * the old one named is removed if its name has this form for the same MODEL and no other *.onnx in
 * the folder names it. Other side files stay. QDQ_E_IO: `path` is a file that holds data of `m`. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_save(const qdq_model *m, const char *path,
                                               const qdq_save_opts *opts, qdq_error *err);

/* Finds the side file that qdq_model_save() wrote for the model at `path`, and that this model
 * names. *out is its path, freed with qdq_free(). *out is NULL, and the call succeeds, if there is
 * no such file or `path` is not a model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_find_data(const char *path, char **out, qdq_error *err);

/* QDQ_E_IO if `path` is a file with external data of `m`: writing there would destroy the model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_guard_data(const qdq_model *m, const char *path,
                                                     qdq_error *err);

/* The model as one block of memory, without external data. *data is freed with qdq_free(). Once the
 * cancel flag of `job` is set, the call ends with QDQ_E_INTERRUPTED soon; `job` may be NULL. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_to_bytes(const qdq_model *m, const qdq_job *job,
                                                   void **data, size_t *bytes, qdq_error *err);

/* The model in two parts, for qdq_model_load_bytes() with opts->blocks. *data is the model without
 * the bytes of its large initializers, those of `least` bytes or more (0: 1024); its external data
 * refer to *blocks. The *n blocks are not copied: they lie in memory of `m`, read-only, and live
 * until `m` is freed. Initializers with equal bytes share one block. An initializer whose elements
 * are not stored as raw bytes stays in *data. *data and *blocks (one block) are freed with
 * qdq_free(). QDQ_E_UNSUPPORTED: *data would have more than 2 GB. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_to_blocks(const qdq_model *m, size_t least, void **data,
                                                    size_t *bytes, qdq_block **blocks, size_t *n,
                                                    qdq_error *err);

/* Text form (docs/text.md): ONNX's own textual syntax with extensions of qdq. *text is freed with
 * qdq_free(); *out with qdq_model_free(). `name` stands for the text in messages. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_to_text(const qdq_model *m, char **text, qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_model_from_text(const char *text, const char *name,
                                                    qdq_model **out, qdq_error *err);

typedef enum qdq_view { QDQ_VIEW_TEXT, QDQ_VIEW_JSON, QDQ_VIEW_DOT } qdq_view;

/* Summarizes the model: counts, inputs, outputs, Q/DQ. docs/cli.md (`inspect`) lists the keys of
 * the JSON view. *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_inspect(const qdq_model *m, qdq_view view, char **text,
                                                  qdq_error *err);

/* The same of the file at `path`, which need not be complete: no tensor is read. A file of external
 * data that cannot be opened is a warning in the log of `job` (may be NULL). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_inspect_file(const char *path, qdq_view view,
                                                       const qdq_job *job, char **text,
                                                       qdq_error *err);

/* One finding of the verifier. */
typedef struct qdq_finding {
    /* an error; false: a warning */
    bool is_error;
    /* place, what was found, what was expected */
    const char *text;
} qdq_finding;

/* Verifies the model. An invalid model is not a failure of this call: it has findings. *out is
 * freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_check(const qdq_model *m, qdq_finding **out, size_t *n,
                                                qdq_error *err);

/* Infers types and shapes of all values and stores them in the model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_infer_shapes(qdq_model *m, qdq_error *err);

/* Fixes the shapes of graph inputs, infers all other shapes again, and adapts a constant leading
 * batch in Reshape. Inconsistent shapes are an error; the model then computes what it did
 * before. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_set_shapes(qdq_model *m, const qdq_input_shape *shapes,
                                                     size_t n, qdq_error *err);

/* Raises the default domain's opset to `opset` (7 to 26) and rewrites the operators whose meaning
 * changed. An operator whose change is not implemented is an error that names it and the step; the
 * model is then unchanged. Out of memory alone may leave the model half raised, and then it can
 * only be freed. Bodies of functions are raised too; other domains stay. The IR version rises to
 * what the opset needs; initializers that IR versions below 4 had to list as inputs are then listed
 * no longer. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_set_opset(qdq_model *m, int opset, qdq_error *err);

/* Opset of the default domain; 0 if the model does not import it. */
QDQ_API int qdq_model_opset(const qdq_model *m);

/* Makes a new model of the part of `m` that computes `outputs` from `inputs` (names of values). It
 * shares the weights. If the inputs do not cut all paths, the error names what is missing. *out is
 * freed with qdq_model_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_extract(const qdq_model *m, const char *const *inputs,
                                                  size_t n_in, const char *const *outputs,
                                                  size_t n_out, qdq_model **out, qdq_error *err);

/* A graph input or output; initializers that are listed as inputs are left out. Names and dims are
 * borrowed from the model until it is edited or freed. dim[i] is -1 if it is not fixed; param[i]
 * then has its symbolic name or NULL. rank -1: unknown. */
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
/* Is there such an input? An initializer that is also listed as an input is none. */
QDQ_API bool qdq_model_has_input(const qdq_model *m, const char *name);

/* Bytes of all constants, subgraphs of If, Loop and Scan included. */
QDQ_API uint64_t qdq_model_weight_bytes(const qdq_model *m);

/* Whether a dim is not fixed, or the rank is unknown. */
QDQ_API bool qdq_io_is_open(const qdq_io *io);
/* Whether this holds for any input of the model. Engines then plan for every size of that input. */
QDQ_API bool qdq_model_is_open(const qdq_model *m);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_MODEL_H */
