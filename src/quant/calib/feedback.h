/* feedback.h - states of a model that runs the steps of a sequence (qdq_data_opts.states): what it
 * returned for an output at one step is its input at the next. Each model has its own. Without
 * states nothing here does anything. */
#ifndef QDQ_FEEDBACK_H
#define QDQ_FEEDBACK_H

#include "base/arena.h"
#include "qdq/data.h"
#include "qdq/engine.h"
#include "quant/calib/array_copy.h"

typedef struct qdq_feedback {
    const qdq_state *states;
    size_t n;
    /* two for each state: of the run at hand, and of the one before, whose inputs they are */
    qdq_held *held;
    size_t turn;
    /* of each state: the caller does not want to see its output */
    bool *is_hidden;
    /* what qdq_feedback_take() passes outputs on to; NULL: nothing */
    qdq_output_fn fn;
    void *ctx;
} qdq_feedback;

/* The data must outlive it. It is freed on an error, too. */
qdq_status qdq_feedback_begin(qdq_feedback *f, const qdq_data *d, qdq_error *err);
void qdq_feedback_free(qdq_feedback *f);

/* For a session that returns only `names` (which end with NULL): *out is these and the outputs of
 * the states, which ends with NULL and lives in `memory`. Those that are not in `names` are
 * hidden. */
qdq_status qdq_feedback_expose(qdq_feedback *f, const char *const *names, qdq_arena *memory,
                               const char *const **out, qdq_error *err);

/* Before each run: puts the states into *in, the n arrays of this step; then a list in `memory`. At
 * step 0 it stays what it is. QDQ_E_FORMAT: the run before returned no such output. */
qdq_status qdq_feedback_put(qdq_feedback *f, size_t step, const qdq_named_array **in, size_t n,
                            qdq_arena *memory, qdq_error *err);

/* A qdq_output_fn, whose ctx is the qdq_feedback: copies states, and passes all that is not hidden
 * on to f->fn. */
qdq_status qdq_feedback_take(void *ctx, const char *name, const qdq_array *a, qdq_error *err);

#endif /* QDQ_FEEDBACK_H */
