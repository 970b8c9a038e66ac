/* remote_message.h - what a worker and who asks it say to each other: JSON objects, each behind
 * four bytes with its length (least significant first). One question at a time, one answer each,
 * but for `run`. Both are of one build: the first question says which, and the worker refuses
 * another. A descriptor may go with a question (SCM_RIGHTS). On a host a relay of the worker's
 * build asks; new members and questions are a new minor version of remote_frame.h.
 *
 *   question, key `do`                                answer, besides `end`
 *   hello    version, engine, ort_library,              name, version, library, device,
 *            openvino_library, search_dirs, threads,    capabilities, fingerprint, max_opset,
 * max_ir shapes, max_memory, warmup, leg_runs, leg_ms, seed, samples, n_samples, work, trtexec,
 * trtexec_args, timing_cache, plugins, providers, temp_dir, record, worker, log, refused; with it
 * goes the memory that arrays are exchanged in bye                                 (no answer)
 *   refuse   options: that the engine's program is known not to have
 *
 * of the engine `remote` (remote.c); arrays and lists of inputs are rows as in remote_arrays.h,
 * layers those of remote_groups.h:
 *   session  handle, level, threads, profile,           in, out
 *            fake_quant, groups, shapes; the model as
 *            remote_model.h has it
 *   run      handle, in, at                             outputs, more
 *   next     the other outputs of the run;              outputs, more
 *            stop: none of them
 *   bind     handle, in
 *   time     handle, runs                               ns: of all runs
 *   layers   handle, in, runs                           layers
 *   nodes    handle, in, runs                           layers
 *   drop     handle
 *
 * of the tuner's worker client:
 *   open     handle, path
 *   drop     handle
 *   warm     handle: binds inputs, runs until warm      runs: of a sample
 *   sample   handle, number                             ns: of one run
 *   compare  a, b, sample                               samples, finite, sqnr: up to here
 *   profile  path, runs                                 layers
 *   groups   path, runs                                 layers
 *
 * `end` is the name of an outcome, or "error" for what is wrong with the call: then `code` and
 * `text` say what. `log` has what the engine logged meanwhile: [{level, text}, ...]; `refused` the
 * options that its program turned out to refuse, and `can` what the engine can do without them. */
#ifndef QDQ_REMOTE_MESSAGE_H
#define QDQ_REMOTE_MESSAGE_H

#include "base/json_read.h"
#include "base/json_write.h"

enum {
    /* bytes before a message */
    QDQ_REMOTE_HEAD = 4,
    /* a profile of a large model has megabytes */
    QDQ_REMOTE_MESSAGE_MAX = 256 * 1024 * 1024,
};

/* Appends a message; b->failed: no memory. */
void qdq_remote_message_put(qdq_buf *b, const json_t *message);

/* Takes a message from the beginning of what has arrived. *out is NULL and *used 0 while it is not
 * there whole. QDQ_E_FORMAT: this is no message. *out goes to json_decref(). */
qdq_status qdq_remote_message_take(const char *data, size_t size, size_t *used, json_t **out,
                                   qdq_error *err);

/* --- members ---------------------------------------------------------------------------------- */

/* Names and paths are bytes, JSON is Unicode: each byte travels as the character of that number.
 * NULL: no memory. */
json_t *qdq_remote_text(const char *bytes);
void qdq_remote_put_text(qdq_json_out o, const char *key, const char *bytes); /* NULL: nothing */
/* The bytes again, in the reader's arena; `fallback` as in qdq_json_text(). */
const char *qdq_remote_get_text(const qdq_json_place *p, const char *key, const char *fallback);
/* Of a string that is no member. NULL: no memory. */
char *qdq_remote_bytes(qdq_arena *arena, const char *text);

/* Texts of qdq_engine_opts that go with `hello` under their own names. */
#define QDQ_REMOTE_ENGINE_TEXTS(TEXT)                                                              \
    TEXT(ort_library)                                                                              \
    TEXT(openvino_library)                                                                         \
    TEXT(trtexec) TEXT(trtexec_args) TEXT(timing_cache) TEXT(temp_dir) TEXT(record) TEXT(worker)

/* --- memory ----------------------------------------------------------------------------------- */

/* Do these words of an engine mean that it had no memory? */
bool qdq_remote_means_memory(const char *text);

#endif /* QDQ_REMOTE_MESSAGE_H */
