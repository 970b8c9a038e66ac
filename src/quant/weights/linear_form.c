/* linear_form.c - a product with a constant weight as a sum over input channels. A weight is
 * [rows, columns, inner]: two dims of channels, one of them in groups, and what lies inside. */
#include "quant/weights/linear_form.h"

#include <math.h>

static const char no_channels[] = "no weight whose channels fit its group";

static const qdq_tensor *weight_of(const qdq_node *n)
{
    const qdq_tensor *t = qdq_node_const(n, 1);

    return t != NULL && t->elem == QDQ_FLOAT && t->rank >= 2 && t->count > 0 ? t : NULL;
}

/* The share of a kernel that an output of ConvTranspose sees on average: the others fall between
 * the inputs. */
static double share_of_kernel(const qdq_node *n)
{
    const int64_t *strides;
    size_t count;
    double share = 1;

    if (n->op == QDQ_OP_CONVTRANSPOSE && qdq_node_ints(n, "strides", &strides, &count))
        for (size_t i = 0; i < count; i++)
            share /= strides[i] > 0 ? (double)strides[i] : 1;
    return share;
}

static const char *form_of_conv(const qdq_node *n, qdq_linear_form *f)
{
    int64_t group = qdq_node_int(n, "group", 1);

    f->out_first = n->op == QDQ_OP_CONV;
    f->axis = 1;
    f->factor = share_of_kernel(n);
    if (group < 1 || f->rows % (uint64_t)group != 0 || (uint64_t)group > f->rows)
        return no_channels;
    f->group = (size_t)group;
    return NULL;
}

/* y = alpha * A * B + beta * C */
static const char *form_of_gemm(const qdq_node *n, qdq_linear_form *f)
{
    double alpha = (double)qdq_node_float(n, "alpha", 1),
           beta = (double)qdq_node_float(n, "beta", 1);

    f->out_first = qdq_node_int(n, "transB", 0) != 0;
    f->axis = qdq_node_int(n, "transA", 0) != 0 ? 0 : 1;
    f->factor = alpha / beta;
    return isfinite(f->factor) && f->inner == 1 ? NULL : "its bias is multiplied by 0";
}

const char *qdq_linear_form_of(const qdq_node *n, qdq_linear_form *f)
{
    const qdq_tensor *w = weight_of(n);
    const char *why = NULL;

    if (w == NULL)
        return "its weight is not a float constant";
    *f = (qdq_linear_form){.rows = (size_t)w->dim[0],
                           .columns = (size_t)w->dim[1],
                           .inner = (size_t)(w->count / w->dim[0] / w->dim[1]),
                           .group = 1,
                           .axis = -1,
                           .factor = 1};
    if (n->op == QDQ_OP_CONV || n->op == QDQ_OP_CONVTRANSPOSE)
        why = form_of_conv(n, f);
    else if (w->rank != 2)
        why = "its weight is not a matrix";
    else if (n->op == QDQ_OP_GEMM)
        why = form_of_gemm(n, f);
    else if (n->op != QDQ_OP_MATMUL)
        why = "no sum over channels";
    f->in = f->out_first ? f->columns * f->group : f->rows;
    f->out = f->out_first ? f->rows : f->columns * f->group;
    return why;
}

void qdq_linear_error(const qdq_linear_form *f, const float *w, const float *back,
                      const double *mean, double *out)
{
    const size_t per_group = f->rows / f->group;

    for (size_t r = 0, at = 0; r < f->rows; r++) {
        size_t first = r / per_group * f->columns; /* channel of the first column */

        for (size_t c = 0; c < f->columns; c++) {
            double sum = 0;

            for (size_t i = 0; i < f->inner; i++, at++)
                sum += (double)w[at] - (double)back[at];
            if (f->out_first)
                out[r] += f->factor * sum * mean[first + c];
            else
                out[first + c] += f->factor * sum * mean[r];
        }
    }
}

/* --- the bias --------------------------------------------------------------------------------- */

bool qdq_linear_bias_fits(const qdq_tensor *t, size_t n)
{
    return t->elem == QDQ_FLOAT && (t->count == 1 || (t->rank > 0 && (size_t)t->count == n &&
                                                      (size_t)t->dim[t->rank - 1] == n));
}

static const char *find_add(const qdq_node *matmul, const qdq_node **reader, uint32_t *input)
{
    const qdq_value *y = qdq_node_out(matmul, 0);
    const qdq_node *add = y != NULL ? qdq_value_only_user(y) : NULL;

    if (add == NULL || add->op != QDQ_OP_ADD || add->n_in != 2)
        return "no Add alone reads it";
    *reader = add;
    *input = qdq_node_in(add, 0) == y ? 1 : 0;
    return NULL;
}

const char *qdq_linear_bias(const qdq_node *n, const qdq_linear_form *f, const qdq_node **reader,
                            uint32_t *input, const qdq_tensor **tensor)
{
    const char *why = NULL;

    *reader = n;
    *input = 2;
    *tensor = NULL;
    if (n->op == QDQ_OP_MATMUL)
        why = find_add(n, reader, input);
    const qdq_value *v = why == NULL ? qdq_node_in(*reader, *input) : NULL;
    if (v == NULL) /* room for one, except behind a MatMul */
        return why;
    *tensor = qdq_value_const(v);
    if (*tensor == NULL)
        return "its bias is not constant";
    return qdq_linear_bias_fits(*tensor, f->out) ? NULL
                                                 : "its bias is not one number per output channel";
}

bool qdq_nbits_takes(const qdq_node *n, uint32_t input, const qdq_tensor *w, qdq_elem type)
{
    const qdq_value *c = qdq_node_in(n, 2);
    bool transposed = qdq_node_int(n, "transB", 0) != 0;

    if (w->rank != 2 || w->count == 0 || type == QDQ_FLOAT8E4M3FN || qdq_elem_bits(type) > 8)
        return false;
    if (n->op == QDQ_OP_GATHER)
        return input == 0 && qdq_node_int(n, "axis", 0) == 0 && qdq_elem_bits(type) == 4;
    if (input != 1 || (n->op != QDQ_OP_MATMUL && n->op != QDQ_OP_GEMM))
        return false;
    if (n->op == QDQ_OP_MATMUL)
        return true;
    return (qdq_node_float(n, "alpha", 1) == 1 && qdq_node_float(n, "beta", 1) == 1 &&
            qdq_node_int(n, "transA", 0) == 0) &&
           (c == NULL ||
            (c->type != NULL && c->type->kind == QDQ_TYPE_TENSOR && c->type->rank == 1 &&
             c->type->dim[0].value == w->dim[transposed ? 0 : 1]));
}

/* W [directions, 4 * hidden, input], R [directions, 4 * hidden, hidden] */
static const char *lstm_lacks(const qdq_node *n, uint32_t input, const qdq_tensor *w)
{
    const int64_t directions =
        qdq_node_string_is(n, "direction", "bidirectional", "forward") ? 2 : 1;

    if (input != 1 && input != 2)
        return "only W and R of an LSTM have a dynamic form";
    if (qdq_node_int(n, "layout", 0) != 0)
        return "ONNX Runtime's LSTM has no form with batches first (attribute layout)";
    if (w->rank != 3 || w->dim[0] != directions || w->dim[1] % 4 != 0 ||
        (input == 2 && w->dim[1] / 4 != w->dim[2]) ||
        qdq_node_int(n, "hidden_size", w->dim[1] / 4) != w->dim[1] / 4)
        return "its weight does not have the shape that its attributes say";
    return NULL;
}

void qdq_lstm_scales(const qdq_tensor *w, int *axis, int64_t *block)
{
    if (w->rank != 3 || w->dim[0] == 1)
        return;
    *block = *axis < 0 ? 0 : w->dim[2];
    *axis = *axis < 0 ? 0 : 2;
}

const char *qdq_dynamic_lacks(const qdq_node *n, uint32_t input, const qdq_tensor *w)
{
    if (n->op == QDQ_OP_LSTM)
        return lstm_lacks(n, input, w);
    if (input != 1 || (n->op != QDQ_OP_MATMUL && n->op != QDQ_OP_GEMM))
        return "it has no dynamic form as a MatMulInteger";
    if (w->rank < 2 || (n->op == QDQ_OP_GEMM && w->rank != 2))
        return "its weight is not a matrix";
    if (n->op == QDQ_OP_MATMUL)
        return NULL;
    if (qdq_node_int(n, "transA", 0) != 0)
        return "its data is transposed, and MatMulInteger transposes nothing";
    if (qdq_node_float(n, "alpha", 1) != 1 ||
        (qdq_node_in(n, 2) != NULL && qdq_node_float(n, "beta", 1) != 1))
        return "its product or its bias is scaled";
    return NULL;
}
