/* trt_layers.h - what `trtexec --exportLayerInfo` writes, in all the forms that versions 8.2 to 11
 * have. Knows no models: which nodes a layer computes is in trt_map.h. */
#ifndef QDQ_TRT_LAYERS_H
#define QDQ_TRT_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

typedef struct qdq_trt_tensor {
    const char *name;
    /* as written: "Thirty-two wide channel vectorized row major Int8 format"; "" */
    const char *format;
    /* "i8", "f32", ... as in qdq_layer; "": not known */
    const char *type;
    /* "1x3x?x224": ? where no size was fixed; "" where it does not say */
    const char *dimensions;
} qdq_trt_tensor;

typedef struct qdq_trt_tensors {
    qdq_trt_tensor *at;
    size_t n;
} qdq_trt_tensors;

typedef struct qdq_trt_layer {
    /* as written, without its " [profile N]" */
    const char *name;
    /* "": not said */
    const char *type, *parameter_type, *origin, *tactic, *weights_type;
    /* bytes, with separators; "" */
    const char *metadata;
    qdq_trt_tensors in, out, constants;
    /* optimization profile; 0: the first, or the only one */
    unsigned profile;
    /* not 0: runs beside others */
    int stream;
} qdq_trt_layer;

typedef enum qdq_trt_detail {
    QDQ_TRT_NOTHING,
    QDQ_TRT_NAMES_ONLY,
    QDQ_TRT_DETAILED
} qdq_trt_detail;

typedef struct qdq_trt_layers {
    qdq_trt_detail detail;
    qdq_trt_layer *at;
    size_t n;
    /* names of what the engine takes and gives */
    const char **io;
    size_t n_io;
} qdq_trt_layers;

/* Of each layer that is there once for every profile, only that of `profile` is kept. QDQ_E_FORMAT:
 * no layer information. Names only is no error here: `detail` says so, and the layers have names.
 * All in the arena. */
qdq_status qdq_trt_layers_parse(const char *text, size_t size, unsigned profile, qdq_arena *arena,
                                qdq_trt_layers *out, qdq_error *err);

/* QDQ_E_UNSUPPORTED, with the flag that is missing, unless there is detail. */
qdq_status qdq_trt_layers_need_detail(const qdq_trt_layers *l, qdq_error *err);

/* "i8" of "Thirty-two wide channel vectorized row major Int8 format", "f16" of "Half"; "": none of
 * those known. */
const char *qdq_trt_type(const char *prose);

/* What a layer is, by its type: "Match types case-insensitively and treat unknown types as
 * compute". */
typedef enum qdq_trt_class {
    QDQ_TRT_COMPUTE,
    /* Reformat with origin REFORMAT or none, Shuffle, Slice, ... */
    QDQ_TRT_MOVEMENT,
    /* a Q or DQ that survived */
    QDQ_TRT_CONVERSION,
    /* NoOp, Constant */
    QDQ_TRT_FREE,
    /* waits and signals, jumps, shapes */
    QDQ_TRT_CONTROL
} qdq_trt_class;

qdq_trt_class qdq_trt_layer_class(const qdq_trt_layer *l);

/* Does it move one tensor from one form into another, be it a Q, a DQ or a copy into another
 * layout? */
bool qdq_trt_layer_is_reformat(const qdq_trt_layer *l);

#endif /* QDQ_TRT_LAYERS_H */
