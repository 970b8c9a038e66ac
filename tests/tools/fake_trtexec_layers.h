/* fake_trtexec_layers.h - what the stand-in for trtexec executes of a model: which nodes are one
 * layer, what it is called, and what it takes by a toy model of costs. Written from the documented
 * behaviour, nothing of TensorRT in it. */
#ifndef FAKE_TRTEXEC_LAYERS_H
#define FAKE_TRTEXEC_LAYERS_H

#include <stddef.h>

enum { FAKE_MAX_TENSORS = 6 };

typedef struct fake_tensor {
    /* "Int8", "FP32" */
    char name[700], type[8];
} fake_tensor;

typedef struct fake_layer {
    double us;
    /* origin: of a Reformat, "QDQ" or "REFORMAT"; "" */
    char type[40], name[600], origin[16];
    fake_tensor in[FAKE_MAX_TENSORS], out[FAKE_MAX_TENSORS];
    size_t n_in, n_out;
    char metadata[900];
} fake_layer;

/* Layers of a model's file in order of execution, at most `max`. 0: there are none, or the file
 * cannot be read.
 *
 * Conv, MatMul and Gemm take along an Add behind a Conv and a Relu, MatMul-Softmax-MatMul is one
 * layer of Myelin, Q and DQ vanish in kernels that take them, and are Reformat layers elsewhere; so
 * is a copy between kernels of Conv that have their tensors in different layouts. A depthwise Conv
 * is slower in 8 bits. */
size_t fake_layers_of(const char *path, fake_layer *out, size_t max);

#endif /* FAKE_TRTEXEC_LAYERS_H */
