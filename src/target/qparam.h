/* qparam.h - scale and zero point arithmetic. The one place for it: folding and placement share it.
 *
 * The scheme is the affine one of ONNX QuantizeLinear: q = saturate(round_half_even(x / scale) +
 * zero_point), x' = (q - zero_point) * scale (ONNX operator specification, QuantizeLinear-10 and
 * later). Ranges are computed in double whatever the model's type is, and rounded once, to the type
 * that stores the scale. */
#ifndef QDQ_QPARAM_H
#define QDQ_QPARAM_H

#include "qdq/tensor.h"

typedef struct qdq_qparam {
    qdq_elem type;
    float scale;
    int32_t zero_point;
} qdq_qparam;

/* How a range becomes codes. */
typedef struct qdq_qscheme {
    /* (u)int4, (u)int8, (u)int16, float8e4m3fn */
    qdq_elem type;
    /* zero point at the middle of the codes; signed types then leave out the lowest code */
    bool symmetric;
    /* one bit less, for 8-bit kernels that saturate (x86 without VNNI) */
    bool reduced;
    /* type of the scale: QDQ_FLOAT (also when 0), QDQ_FLOAT16, QDQ_BFLOAT16, QDQ_FLOAT8E8M0 */
    qdq_elem storage;
    /* scales are powers of two, rounded up: for kernels that shift instead of multiplying */
    bool pow2;
} qdq_qscheme;

/* The codes that a scheme uses to compute a scale, and the limits that quantized values saturate
 * at. False for a type that is none of the above. */
bool qdq_qscheme_codes(const qdq_qscheme *s, int32_t *lowest, int32_t *highest);
bool qdq_elem_code_limits(qdq_elem type, int32_t *lowest, int32_t *highest);

/* A scale > 0 as the scheme stores it. */
float qdq_qscheme_scale(const qdq_qscheme *s, double scale);

/* The code that a symmetric scheme has for zero: 0 of signed types and float8, 128 of uint8. */
int32_t qdq_elem_middle_code(qdq_elem type);

/* Any type of codes: those with limits, and float8e4m3fn, whose codes are numbers, saturate at
 * +-448 and have no zero point but 0. */
bool qdq_elem_is_code(qdq_elem type);
#define QDQ_FLOAT8_MAX 448.0

/* The smallest power of two that is not below x > 0. */
double qdq_power_of_two(double x);

/* Scale and zero point for values in [low, high]; 0 is always inside the range. An empty range
 * gives scale 1 and the zero point of 0. False when a bound is not finite or the type has no
 * codes. */
bool qdq_qparam_from_range(const qdq_qscheme *s, double low, double high, qdq_qparam *out);

/* --- qcodes.c: values to codes and back ---------------------------------------------------------
 *
 * Codes lie one in a byte, those of 16 and 32 bits in two and four: 4-bit codes are packed when all
 * are there. NaN becomes the zero point, or float8's NaN. */

size_t qdq_code_size(qdq_elem type);

/* One value (of float8, the bits), and n of them with one scale. */
int32_t qdq_quantize_value(const qdq_qparam *p, float x);
void qdq_quantize_floats(const qdq_qparam *p, const float *x, size_t n, void *codes);
void qdq_dequantize_floats(const qdq_qparam *p, const void *codes, size_t n, float *x);

/* n values, each with a scale and zero point (zeros NULL: 0) of its own: a row of a matrix with one
 * scale per column. */
void qdq_quantize_row(qdq_elem type, const float *scales, const int32_t *zeros, const float *x,
                      size_t n, void *codes);
void qdq_dequantize_row(qdq_elem type, const float *scales, const int32_t *zeros, const void *codes,
                        size_t n, float *x);

/* The bytes that a tensor stores: 4-bit codes two in a byte, the first one in the low bits. */
void qdq_pack_codes(qdq_elem type, const void *codes, size_t n, void *packed);
void qdq_unpack_codes(qdq_elem type, const void *packed, size_t n, void *codes);

/* --- biases, ranges --------------------------------------------------------------------------- */

/* The bias of a linear operator: int32 codes with the scale s_x * s_w that 8-bit kernels accumulate
 * in. */
int32_t qdq_quantize_bias(double bias, float bias_scale);

/* Is `scale` that of data times that of weight? Within 1e-5, since what exporters compute in float
 * may differ in the last bits; or the number of a 16-bit type next to it, which is what models in
 * 16 bits store. */
bool qdq_bias_scale_is(float scale, double product);

/* The smallest bias scale at which |bias| still fits into int32, with headroom of one part in
 * 10,000 (the bound that ONNX Runtime's tool uses since its PR 22020). */
double qdq_bias_scale_min(float bias);

/* Largest |x|, -1 if any is not finite. */
float qdq_absmax(const float *x, size_t n);
/* Largest and smallest of the finite values; the others are counted. False if none is finite. */
bool qdq_minmax(const float *x, size_t n, float *low, float *high, uint64_t *n_nonfinite);

#endif /* QDQ_QPARAM_H */
