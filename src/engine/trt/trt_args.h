/* trt_args.h - command lines for trtexec: what users write in one text is taken apart without a
 * shell, options are there once, shapes are in its grammar. Pure. */
#ifndef QDQ_TRT_ARGS_H
#define QDQ_TRT_ARGS_H

#include "base/vec.h"
#include "qdq/engine.h"

/* Takes a text apart at spaces. '...' and "..." keep what is in them, a backslash keeps the byte
 * behind it, but not inside '...'. Nothing else means anything: no variables, no wildcards, no
 * commands. *out ends with NULL. */
qdq_status qdq_trt_split(const char *text, qdq_arena *arena, const char ***out, size_t *n,
                         qdq_error *err);

/* --- shapes ----------------------------------------------------------------------------------- */

/* In --shapes a name may have one '*'. */
typedef qdq_input_shape qdq_trt_shape;

typedef struct qdq_trt_shapes {
    qdq_trt_shape *at;
    size_t n, cap;
} qdq_trt_shapes;

/* spec := entry ("," entry)*; entry := name ":" dims | "'" name "'" ":" dims; dims := int ("x"
 * int)* | "scalar" | "". Names end at the last colon. QDQ_E_USAGE says which entry is wrong. */
qdq_status qdq_trt_shapes_parse(const char *spec, qdq_arena *arena, qdq_trt_shapes *out,
                                qdq_error *err);
const qdq_trt_shape *qdq_trt_shape_find(const qdq_trt_shapes *s, const char *name);

/* "x:1x3,'in:0':scalar". QDQ_E_UNSUPPORTED: a name with a comma or a quote cannot be written. */
qdq_status qdq_trt_shapes_print(const qdq_trt_shapes *s, qdq_arena *arena, const char **out,
                                qdq_error *err);

/* Equal ranks, and min <= opt <= max in every dim; QDQ_E_USAGE says where not. */
qdq_status qdq_trt_range_check(const qdq_trt_shape *min, const qdq_trt_shape *opt,
                               const qdq_trt_shape *max, qdq_error *err);

/* --- what users add --------------------------------------------------------------------------- */

typedef QDQ_VEC(const char *) qdq_trt_argv;

typedef struct qdq_trt_user {
    /* as they are handed on; shapes are not among them */
    qdq_trt_argv args;
    /* --minShapes, --optShapes, --maxShapes, --shapes */
    qdq_trt_shapes min, opt, max, shapes;
    /* --fp16, --int8, --best, ...: excludes --stronglyTyped */
    bool weakly_typed;
    /* --remoteAutoTuningConfig=...; NULL */
    const char *remote;
    /* --safe, --cpuOnly */
    bool safe, cpu_only;
} qdq_trt_user;

/* QDQ_E_USAGE: an argument that is no option, one that qdq sets itself, or shapes that are none. */
qdq_status qdq_trt_user_parse(const char *text, qdq_arena *arena, qdq_trt_user *out,
                              qdq_error *err);

/* Has the user given this option? */
bool qdq_trt_user_has(const qdq_trt_user *u, const char *option);

/* The text without its shapes, in the arena. */
qdq_status qdq_trt_without_shapes(const char *text, qdq_arena *arena, const char **out,
                                  qdq_error *err);

/* What gives a model the types that this precision flag of trtexec asks for: "quantize --rest
 * fp16". NULL: it is none. */
const char *qdq_trt_instead_of(const char *arg);

/* The types that precision flags in such a text ask for: "fp16", "fp16-int8"; "": none. In the
 * arena; NULL: no memory, or a text that cannot be taken apart. */
const char *qdq_trt_precision(const char *text, qdq_arena *arena);

/* "--fp16" of "--fp16" and of "--fp16=x". */
size_t qdq_trt_key_size(const char *arg);
bool qdq_trt_same_key(const char *a, const char *b);

/* The text with "***" for passwords in "...://user:password@host": command lines are written down.
 * NULL: no memory. */
char *qdq_trt_mask(const char *text, qdq_arena *arena);

/* Options that versions from 11 on no longer have, because types come from the model. */
bool qdq_trt_is_precision_flag(const char *arg);

#endif /* QDQ_TRT_ARGS_H */
