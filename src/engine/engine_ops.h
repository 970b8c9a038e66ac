/* engine_ops.h - what an engine implements. engine.c checks what callers hand over and dispatches;
 * an engine gets models whose input shapes are already fixed, and arrays in the order of its inputs
 * with types and shapes that fit. It must not know who calls it, or that other engines exist. */
#ifndef QDQ_ENGINE_OPS_H
#define QDQ_ENGINE_OPS_H

#include "base/arena.h"
#include "ir/ir.h"
#include "qdq/engine.h"

typedef struct qdq_engine_ops {
    /* As qdq_engine_environment(). NULL: never anything. */
    const char *(*environment)(const qdq_engine_opts *opts);

    /* Sets e->self and e->info. `arg` is the text behind "NAME:", or NULL. */
    qdq_status (*open)(qdq_engine *e, const char *arg, const qdq_engine_opts *opts, qdq_error *err);
    /* e->self may be NULL: open() failed */
    void (*close)(qdq_engine *e);

    /* Sets s->self, s->in and s->out. `m` is only read, but the engine may go on using its
     * mappings. The members shapes, expose and only_exposed of opts are already built into m. */
    qdq_status (*session_open)(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                               qdq_error *err);
    /* s->self may be NULL */
    void (*session_close)(qdq_session *s);

    /* `in` has s->n_in places. */
    qdq_status (*run)(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err);

    /* Binds inputs for timing; the arrays stay as they are until the next bind or close. */
    qdq_status (*bind)(qdq_session *s, const qdq_array *const *in, qdq_error *err);

    /* Runs n times on the bound inputs and tells how long that took. No copies, no callbacks
     * inside. */
    qdq_status (*time_runs)(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err);

    /* For engines whose time is a virtual one: the next timed block is the one of this number,
     * whatever was timed before. NULL: time goes by itself. */
    void (*seek)(qdq_session *s, uint64_t number);

    qdq_status (*profile)(qdq_session *s, const qdq_array *const *in, unsigned runs,
                          qdq_layer **out, size_t *n, qdq_error *err);

    /* The nodes are those of s->source, which is there if the session was opened with `groups`.
     * `in` is NULL if runs is 0. NULL: the engine cannot, and does not claim QDQ_CAN_LIST_LAYERS.
     */
    qdq_status (*groups)(qdq_session *s, const qdq_array *const *in, unsigned runs, qdq_layer **out,
                         size_t *n, qdq_error *err);

    /* For engines that are programs: their options of ours that they turned out to refuse, with
     * spaces between, which is worth knowing before the next one is started; "" : none.
     * e->info.capabilities follows. As long as the engine. NULL: it is no program. */
    const char *(*refused)(qdq_engine *e);
    /* An earlier run found these options refused: none of them is tried. NULL: the engine is no
     * program. */
    qdq_status (*refuse)(qdq_engine *e, const char *options, qdq_error *err);

    /* It reads no models with functions: sessions get their nodes in place of calls. */
    bool no_functions;

    /* An operator that releases of the engine cannot run, and the passes that write it in others:
     * a model with such nodes that cannot be loaded is loaded after these. NULL: none. */
    qdq_op lacks;
    const char *instead;
} qdq_engine_ops;

#define ENGINE(symbol, name, help) extern const qdq_engine_ops qdq_engine_##symbol;
#include "engine/engines.def"
#undef ENGINE

struct qdq_engine {
    const qdq_engine_ops *ops;
    /* as long as the engine; used while it is opened, never after */
    qdq_arena arena;
    qdq_engine_info info;
    const qdq_job *job;
    const char *temp_dir;
    /* it is in another process */
    bool remote;
    /* the user knows that sessions get other operators than `lacks` */
    bool said_lowered;
    void *self;
    /* of the machine that runs it */
    const char *processor;
};

struct qdq_session {
    qdq_engine *engine;
    /* as long as the session */
    qdq_arena arena;
    qdq_io *in, *out;
    size_t n_in, n_out;
    /* opened with `profile`, and not yet used up */
    bool can_profile;
    /* opened with `groups`: the same */
    bool can_group;
    /* what the engine was given; NULL without `groups` */
    qdq_model *source;
    void *self;
};

#endif /* QDQ_ENGINE_OPS_H */
