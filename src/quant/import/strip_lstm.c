/* strip_lstm.c - DynamicQuantizeLSTM of ONNX Runtime as an LSTM whose weights come from a
 * DequantizeLinear: the inverse of insert_dynamic.c, where the layouts are described. What reads
 * and removes DequantizeLinear does the rest. */
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/qdq_node.h"
#include "quant/import/strip.h"

enum { LSTM_W = 1, LSTM_R = 2, LSTM_W_SCALE = 8, LSTM_R_SCALE = 10 };

typedef struct apart {
    qdq_model *m;
    qdq_map *weights;
    qdq_arena scratch;
    qdq_error *err;
} apart;

/* W or R: codes [directions, inputs, rows], and scales for directions or for rows of each. */
typedef struct weight {
    const qdq_tensor *codes, *scales, *zeros;
    const char *name[3];
    bool by_row;
} weight;

/* What keeps it from being read; NULL: nothing. */
static const char *read_weight(const qdq_node *n, uint32_t input, weight *w)
{
    const uint32_t scale = input == LSTM_W ? LSTM_W_SCALE : LSTM_R_SCALE;
    const uint32_t inputs[3] = {input, scale, scale + 1};
    const qdq_tensor *t[3];

    for (size_t i = 0; i < 3; i++) {
        t[i] = qdq_node_const(n, inputs[i]);
        if (t[i] == NULL)
            return "its weights are not constant";
        w->name[i] = n->in[inputs[i]].value->name;
    }
    w->codes = t[0];
    w->scales = t[1];
    w->zeros = t[2];
    if (w->codes->rank != 3 || w->codes->count == 0 ||
        (w->codes->elem != QDQ_INT8 && w->codes->elem != QDQ_UINT8))
        return "its weights are not codes of rank 3";
    const int64_t *dim = w->codes->dim;
    w->by_row = w->scales->rank == 2;
    if (w->scales->elem != QDQ_FLOAT || w->zeros->elem != w->codes->elem ||
        w->zeros->count != w->scales->count || w->scales->rank < 1 || w->scales->rank > 2 ||
        w->scales->dim[0] != dim[0] || (w->by_row && w->scales->dim[1] != dim[2]))
        return "its scales are not those of directions, or of rows of each";
    return NULL;
}

/* Four gates have a row each for every neuron; R reads as many as there are. */
static qdq_status check_sizes(apart *a, const qdq_node *n, const weight w[2])
{
    const int64_t rows = w[0].codes->dim[2], hidden = qdq_node_int(n, "hidden_size", rows / 4);
    const char *label = qdq_node_label(n, &a->scratch);

    if (rows % 4 != 0 || hidden != rows / 4)
        return qdq_fail(a->err, QDQ_E_FORMAT,
                        "node '%s': attribute 'hidden_size' of DynamicQuantizeLSTM is %" PRId64
                        ", and its weight has %" PRId64 " rows; expected 4 for each",
                        label, hidden, rows);
    const int64_t *dim = w[1].codes->dim;
    if (dim[0] == w[0].codes->dim[0] && dim[1] == hidden && dim[2] == rows)
        return QDQ_OK;
    return qdq_fail(a->err, QDQ_E_FORMAT,
                    "node '%s': the recurrent weight of DynamicQuantizeLSTM is %" PRId64 "x%" PRId64
                    "x%" PRId64 "; expected %" PRId64 "x%" PRId64 "x%" PRId64,
                    label, dim[0], dim[1], dim[2], w[0].codes->dim[0], hidden, rows);
}

/* [directions, rows, inputs] */
static qdq_status transpose(apart *a, const qdq_tensor *codes, qdq_tensor **out)
{
    const int64_t dim[] = {codes->dim[0], codes->dim[2], codes->dim[1]};
    const int64_t rows = dim[1], inputs = dim[2];
    qdq_arena_mark mark = qdq_arena_get_mark(&a->scratch);
    qdq_span from;
    void *to;

    QDQ_TRY(qdq_tensor_data(codes, &a->scratch, &from, a->err));
    *out = qdq_tensor_new(a->m, codes->elem, 3, dim, &to);
    QDQ_NEED(*out != NULL, a->err);
    for (int64_t i = 0; i < codes->count; i++) {
        const int64_t matrix = i / (rows * inputs), row = i / inputs % rows, k = i % inputs;

        ((unsigned char *)to)[i] = from.data[(matrix * inputs + k) * rows + row];
    }
    qdq_arena_reset(&a->scratch, mark);
    return QDQ_OK;
}

/* Scales or zero points as DequantizeLinear takes them: by rows of each direction they are those of
 * blocks, which are whole rows. */
static qdq_tensor *as_read(apart *a, const weight *w, const qdq_tensor *t)
{
    const bool one = w->codes->dim[0] == 1;
    const int64_t dim[] = {w->codes->dim[0], w->codes->dim[2], 1};

    if (one)
        return qdq_tensor_view(a->m, t, t->elem, w->by_row ? 1 : 0, dim + 1);
    return qdq_tensor_view(a->m, t, t->elem, w->by_row ? 3 : 1, dim);
}

static bool set_axis(qdq_node *dq, const weight *w)
{
    if (w->codes->dim[0] == 1)
        return !w->by_row || qdq_node_set_int(dq, "axis", 1);
    return qdq_node_set_int(dq, "axis", w->by_row ? 2 : 0) &&
           (!w->by_row || qdq_node_set_int(dq, "block_size", w->codes->dim[1]));
}

static qdq_status add_dq(apart *a, qdq_node *n, const weight *w, qdq_node **out)
{
    qdq_graph *g = n->graph;
    qdq_tensor *t[3] = {NULL, as_read(a, w, w->scales), as_read(a, w, w->zeros)};
    const char *output = qdq_graph_unique_name(g, "dequantized");

    QDQ_TRY(transpose(a, w->codes, &t[0]));
    QDQ_NEED(output != NULL && t[1] != NULL && t[2] != NULL, a->err);
    *out = qdq_graph_add_node(g, n, "", "DequantizeLinear", "", 3, 1, &output);
    QDQ_NEED(*out != NULL && set_axis(*out, w), a->err);
    for (uint32_t i = 0; i < 3; i++) {
        const char *name = qdq_strip_name_of_codes(g, w->name[i], &a->scratch);
        qdq_value *v = name != NULL ? qdq_graph_add_init(g, name, t[i]) : NULL;

        QDQ_NEED(v != NULL, a->err);
        qdq_node_set_in(*out, i, v);
    }
    return QDQ_OK;
}

/* ONNX Runtime's tool appends "_quant". */
static bool restore_name(apart *a, qdq_node *n)
{
    static const char suffix[] = "_quant";
    const size_t size = strlen(n->name), k = sizeof suffix - 1;

    if (size <= k || strcmp(n->name + size - k, suffix) != 0)
        return true;
    const char *name = qdq_arena_strndup(&a->scratch, n->name, size - k);
    name = name != NULL ? qdq_graph_unique_node_name(a->m->graph, name) : NULL;
    return name != NULL && qdq_node_set_name(n, name);
}

/* Its constants go first, so that their names are free. */
static qdq_status become_lstm(apart *a, qdq_node *n, const weight w[2])
{
    qdq_node_drop_in(n, LSTM_W);
    qdq_node_drop_in(n, LSTM_R);
    for (uint32_t i = LSTM_W_SCALE; i < n->n_in; i++)
        qdq_node_drop_in(n, i);
    qdq_node_trim_in(n);
    while (n->n_in <= LSTM_R)
        QDQ_NEED(qdq_node_append_in(n, NULL), a->err);
    for (uint32_t i = 0; i < 2; i++) {
        qdq_node *dq = NULL;

        QDQ_TRY(add_dq(a, n, &w[i], &dq));
        qdq_node_set_in(n, LSTM_W + i, dq->out[0]);
        QDQ_NEED(qdq_map_put_int(a->weights, (uint64_t)(uintptr_t)dq, NULL) != NULL, a->err);
    }
    return qdq_allocated(restore_name(a, n) && qdq_node_set_type(n, "", "LSTM"), a->err);
}

static qdq_status split_all(apart *a, const qdq_leftover *left)
{
    QDQ_FOR_GRAPHS (g, a->m) {
        if (qdq_graph_in_function(g)) /* there are no initializers */
            continue;
        QDQ_FOR_NODES (n, g) {
            weight w[2];
            const char *why;

            if (!qdq_node_is_contrib(n, "DynamicQuantizeLSTM"))
                continue;
            why = read_weight(n, LSTM_W, &w[0]);
            if (why == NULL)
                why = read_weight(n, LSTM_R, &w[1]);
            if (why == NULL) {
                QDQ_TRY(check_sizes(a, n, w));
                QDQ_TRY(become_lstm(a, n, w));
            }
            if (why != NULL)
                qdq_job_log(left->job, QDQ_LOG_WARNING, "%s '%s': not taken apart: %s", n->type,
                            qdq_node_label(n, &a->scratch), why);
        }
    }
    return QDQ_OK;
}

qdq_status qdq_strip_lstm(qdq_model *m, qdq_map *weights, const qdq_leftover *left, qdq_error *err)
{
    apart a = {.m = m, .weights = weights, .err = err};
    qdq_status st = split_all(&a, left);

    qdq_arena_free(&a.scratch);
    return st;
}
