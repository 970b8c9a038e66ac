/* linear_form.h - a Conv, ConvTranspose, Gemm or MatMul with a constant weight, as a sum over input
 * channels: what its bias has to know. */
#ifndef QDQ_LINEAR_FORM_H
#define QDQ_LINEAR_FORM_H

#include "ir/ir.h"

typedef struct qdq_linear_form {
    /* channels */
    size_t in, out;
    /* of the input channels in the data; -1: the last */
    int axis;
    size_t rows, columns, inner, group;
    /* rows are output channels, columns those of the input inside a group; else the other way
     * round */
    bool out_first;
    /* from sums of products to what a bias is worth */
    double factor;
} qdq_linear_form;

/* NULL, or why there is none, as what is said behind "node 'x': ". */
const char *qdq_linear_form_of(const qdq_node *n, qdq_linear_form *f);

/* Adds to out[oc] the factor times the sum of (w - back) * mean[ic] over input channels and the
 * kernel. */
void qdq_linear_error(const qdq_linear_form *f, const float *w, const float *back,
                      const double *mean, double *out);

/* Where the bias of n is, or would be: its third input, or the constant of the only Add behind a
 * MatMul. *tensor NULL: the input is left out. NULL, or why there is no such place. */
const char *qdq_linear_bias(const qdq_node *n, const qdq_linear_form *f, const qdq_node **reader,
                            uint32_t *input, const qdq_tensor **tensor);

/* One number for each of n channels, or one for all? */
bool qdq_linear_bias_fits(const qdq_tensor *t, size_t n);

/* Can an operator of ONNX Runtime for such weights (insert_nbits.h) take the place of node n, whose
 * input `input` is the constant w in codes of `type`? */
bool qdq_nbits_takes(const qdq_node *n, uint32_t input, const qdq_tensor *w, qdq_elem type);

/* Where the scales of an LSTM's weight w lie that has one for each row (*axis 1), or one (*axis
 * -1): each of two directions has its own, for its rows as blocks of whole rows. */
void qdq_lstm_scales(const qdq_tensor *w, int *axis, int64_t *block);

/* Why node n, whose input `input` is the constant w, cannot become a MatMulInteger or a
 * DynamicQuantizeLSTM (insert_dynamic.c); NULL: it can. */
const char *qdq_dynamic_lacks(const qdq_node *n, uint32_t input, const qdq_tensor *w);

#endif /* QDQ_LINEAR_FORM_H */
