/* openvino_layers.h - what qdq-openvino.so, a small object in C++ that is built where OpenVINO's
 * headers are, gives to the engine: the layers of a runtime model with attributes that the C
 * interface does not hand out. */
#ifndef QDQ_OPENVINO_LAYERS_H
#define QDQ_OPENVINO_LAYERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are borrowed for the call; "" where OpenVINO says nothing. */
typedef struct qdq_ov_layer {
    /* "Multiply_5779", "Convolution", "brgconv_avx512_I8" */
    const char *name, *type, *kernel;
    /* names of the layers that it was made from, with commas between */
    const char *originals;
    /* microseconds as text, or "not_executed" */
    const char *time;
    /* of the first input and output: "u8", "f32" */
    const char *in_type, *out_type;
    /* numbers of the layers that it reads, in order of the calls */
    const size_t *input;
    size_t n_input;
} qdq_ov_layer;

/* Not 0: stop, and give that. */
typedef int qdq_ov_layer_fn(void *ctx, const qdq_ov_layer *l);

/* Calls fn for each layer, those in front first. `runtime_model` is an ov_model_t of the C
 * interface. Negative: it is not as expected, or memory is short; else what fn gave last. */
typedef int qdq_ov_layers_fn(const void *runtime_model, qdq_ov_layer_fn *fn, void *ctx);

#define QDQ_OV_LAYERS_SYMBOL "qdq_openvino_layers"

#ifdef __cplusplus
}
#endif
#endif /* QDQ_OPENVINO_LAYERS_H */
