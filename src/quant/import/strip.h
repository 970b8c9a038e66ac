/* strip.h - takes quantization out of a graph: what no plan can say included. */
#ifndef QDQ_STRIP_H
#define QDQ_STRIP_H

#include "base/map.h"
#include "ir/ir.h"
#include "qdq/quant.h"

/* What is said where quantization could not be read or taken out: to `job`, as warnings, and
 * counted. */
typedef struct qdq_leftover {
    const qdq_job *job;
    size_t n;
} qdq_leftover;

/* Operators that compute on codes become float ones between Q/DQ, where the model has some; with
 * `dynamic` MatMulInteger and ConvInteger, too. */
qdq_status qdq_strip_operators(qdq_model *m, bool dynamic, qdq_leftover *left, qdq_error *err);

/* ONNX Runtime's operators with weights of 4 and 8 bits become MatMul, Gemm and Gather behind
 * DequantizeLinear. `levels`: address of each of these DQ -> the operator's accuracy level + 1. */
qdq_status qdq_strip_nbits(qdq_model *m, qdq_map *levels, qdq_leftover *left, qdq_error *err);

/* "w_quantized" and a number if need be, for what is called "w_quantized_1", or "w_Q4" by another
 * tool: who restores weights cuts that off again. NULL: out of memory. */
const char *qdq_strip_name_of_codes(qdq_graph *g, const char *name, qdq_arena *scratch);

/* DynamicQuantizeLSTM becomes an LSTM behind DequantizeLinear, whose addresses go into `weights`.
 */
qdq_status qdq_strip_lstm(qdq_model *m, qdq_map *weights, const qdq_leftover *left, qdq_error *err);

/* Puts back the Relu and Clip that a quantizer took out because the codes end there: without Q,
 * nothing else would clip. */
qdq_status qdq_strip_bounds(qdq_model *m, qdq_bounds bounds, const qdq_job *job, qdq_error *err);

/* Takes out every Q and DQ in all graphs: constants become float again, all else is read past
 * them. */
qdq_status qdq_strip_all(qdq_model *m, qdq_leftover *left, qdq_error *err);

#endif /* QDQ_STRIP_H */
