/* verify_round.c - products of data and weights in blocks of few bits, which ONNX Runtime and
 * others compute with the data in 8 bits where the graph says float: MatMulNBits at accuracy level
 * 4, the level that a DequantizeLinear and its product get. The reference of such an engine is the
 * graph with that rounding: each block of each row has a scale of its own, its largest number over
 * 127. */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/check/verify_state.h"

enum { LEAST_BLOCK = 16, MOST_BITS = 8 };

/* The block of n's weight along the rows of the data; 0: n is no such product. */
static int64_t block_of(const qdq_node *n)
{
    const qdq_value *w = qdq_node_in(n, 1), *x = qdq_node_in(n, 0);
    const qdq_node *dq = w != NULL ? w->producer : NULL;
    const qdq_tensor *codes =
        dq != NULL && dq->op == QDQ_OP_DEQUANTIZELINEAR ? qdq_node_const(dq, 0) : NULL;
    const qdq_tensor *scales = codes != NULL ? qdq_node_const(dq, 1) : NULL;
    const bool is_gemm = n->op == QDQ_OP_GEMM;

    if (x == NULL || scales == NULL || codes->rank != 2 || scales->elem != QDQ_FLOAT ||
        qdq_elem_bits(codes->elem) > MOST_BITS || (n->op != QDQ_OP_MATMUL && !is_gemm) ||
        (is_gemm && qdq_node_int(n, "transA", 0) != 0))
        return 0;
    const int64_t rows = is_gemm ? qdq_node_int(n, "transB", 0) != 0 : 0,
                  axis = qdq_node_int(dq, "axis", 1), block = qdq_node_int(dq, "block_size", 0);
    return (axis < 0 ? axis + 2 : axis) == rows && block >= LEAST_BLOCK &&
                   codes->dim[rows] % block == 0
               ? block
               : 0;
}

typedef struct adding {
    qdq_node *before;
    const char *base;
    bool ok;
} adding;

static qdq_value *add_operator(adding *a, const char *type, qdq_value *x, qdq_value *y)
{
    qdq_value *const in[] = {x, y};
    const qdq_node *n = a->ok ? qdq_graph_add_op(a->before->graph, a->before, type, "", a->base,
                                                 y != NULL ? 2 : 1, in)
                              : NULL;

    a->ok = n != NULL;
    return n != NULL ? n->out[0] : NULL;
}

static qdq_value *add_constant(adding *a, qdq_elem elem, int rank, int64_t count, const void *data)
{
    qdq_graph *g = a->before->graph;
    const char *name = qdq_graph_unique_name(g, a->base);
    qdq_value *v = NULL;
    void *to;
    qdq_tensor *t = qdq_tensor_new(g->model, elem, rank, &count, &to);

    if (a->ok && name != NULL && t != NULL) {
        memcpy(to, data, (size_t)count * (elem == QDQ_INT64 ? sizeof(int64_t) : sizeof(float)));
        v = qdq_graph_add_constant(g, a->before, name, t);
    }
    a->ok = v != NULL;
    return v;
}

/* False: out of memory. */
static bool round_data(qdq_node *n, int64_t block)
{
    const int64_t dims[2] = {-1, block}, last = 1;
    const float least = 1e-30f, codes = 127;
    adding a = {n, "rounded", true};
    qdq_value *x = qdq_node_in(n, 0);
    qdq_value *shape = add_operator(&a, "Shape", x, NULL),
              *rows = add_operator(&a, "Reshape", x, add_constant(&a, QDQ_INT64, 1, 2, dims)),
              *most = add_operator(&a, "ReduceMax", add_operator(&a, "Abs", rows, NULL),
                                   add_constant(&a, QDQ_INT64, 1, 1, &last));
    qdq_value *some = add_operator(&a, "Max", most, add_constant(&a, QDQ_FLOAT, 0, 1, &least)),
              *step = add_operator(&a, "Div", some, add_constant(&a, QDQ_FLOAT, 0, 1, &codes)),
              *code = add_operator(&a, "Round", add_operator(&a, "Div", rows, step), NULL);
    qdq_value *back = add_operator(&a, "Reshape", add_operator(&a, "Mul", code, step), shape);

    if (a.ok)
        qdq_node_set_in(n, 0, back);
    return a.ok;
}

qdq_status qdq_verify_round(qdq_verifying *v, bool *any, qdq_error *err)
{
    qdq_model *copy;

    *any = false;
    if (v->reference == NULL || strcmp(qdq_engine_get_info(v->reference)->name, "ort") != 0)
        return QDQ_OK;
    QDQ_TRY(qdq_model_clone(v->m, &copy, err));
    bool ok = true;
    QDQ_FOR_GRAPHS (g, copy)
        QDQ_FOR_NODES (n, g) {
            const int64_t block = block_of(n);

            ok = ok && (block == 0 || round_data(n, block));
            *any = *any || block > 0;
        }
    if (ok && *any) {
        v->rounded = copy;
        snprintf(v->reference_name + strlen(v->reference_name),
                 sizeof v->reference_name - strlen(v->reference_name),
                 ", with data of products with weights in blocks in 8 bits");
        return QDQ_OK;
    }
    qdq_model_free(copy);
    return qdq_allocated(ok, err);
}
