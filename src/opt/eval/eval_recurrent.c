/* eval_recurrent.c - RNN, GRU and LSTM, as ONNX's specification of opset 22 defines them, with the
 * activations Sigmoid, Tanh and Relu. States and sums are double, results are rounded once. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_WORK = 1 << 26, MAX_GATES = 4, FUNCTIONS = 3 };

typedef double function(double x);

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

typedef struct layer {
    int64_t directions, steps, batch, inputs, hidden, gates;
    /* layout 1: the batch is in front */
    bool by_batch;
    /* the only direction */
    bool backwards;
    /* GRU: linear_before_reset */
    bool linear;
    /* of each sequence; NULL: all steps */
    const int64_t *length;
    function *run[2][FUNCTIONS];
    /* of one sequence: states; W x + b and R h + b of each gate */
    double *h, *cell, *sum, *part;
} layer;

/* --- what is asked for ------------------------------------------------------------------------ */

static bool read_activations(qdq_eval *c, layer *l)
{
    static const struct {
        const char *name;
        function *run;
    } known[] = {{"Sigmoid", sigmoid}, {"Tanh", tanh}, {"Relu", relu}};
    const qdq_attr *a = qdq_node_attr(c->node, "activations");
    size_t each = l->gates == 1 ? 1 : l->gates == 3 ? 2 : 3;

    for (int k = 0; k < 2 * FUNCTIONS; k++)
        l->run[k / FUNCTIONS][k % FUNCTIONS] = l->gates > 1 && k % FUNCTIONS == 0 ? sigmoid : tanh;
    if (a == NULL)
        return true;
    if (a->type != QDQ_ATTR_STRINGS || a->count != each * (size_t)l->directions)
        return QDQ_REFUSE(c, "attribute 'activations' does not list those of each direction");
    for (size_t k = 0; k < a->count; k++) {
        function *run = NULL;

        for (size_t i = 0; i < QDQ_COUNT(known); i++)
            if (qdq_span_is(a->v.strings[k], known[i].name))
                run = known[i].run;
        if (run == NULL)
            return QDQ_REFUSE(c, "an activation that is not computed here");
        l->run[k / each][k % each] = run;
    }
    return true;
}

/* Input i, if it is there, has the type of the first and this shape. */
static bool check_shape(qdq_eval *c, uint32_t i, int rank, const int64_t *dim)
{
    const qdq_const *x = qdq_eval_in(c, i);

    return x == NULL ||
           (x->elem == c->in[0]->elem && x->rank == rank &&
            memcmp(x->dim, dim, (size_t)rank * sizeof *dim) == 0) ||
           QDQ_REFUSE(c, "input %u has another type or shape than the node asks for", (unsigned)i);
}

static bool read_sizes(qdq_eval *c, layer *l)
{
    const qdq_const *x = c->in[0], *r = c->in[2];

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    if (x->rank != 3 || r->rank != 3 || x->count == 0 || r->count == 0)
        return QDQ_REFUSE(c, "arrays of other ranks than 3, or without elements");
    l->by_batch = qdq_eval_flag(c, "layout", false);
    l->steps = x->dim[l->by_batch];
    l->batch = x->dim[!l->by_batch];
    l->inputs = x->dim[2];
    l->hidden = r->dim[2];
    l->gates = c->node->op == QDQ_OP_RNN ? 1 : c->node->op == QDQ_OP_GRU ? 3 : 4;
    l->backwards = qdq_eval_string_is(c, "direction", "reverse", "forward");
    l->directions = qdq_eval_string_is(c, "direction", "bidirectional", "forward") ? 2 : 1;
    if (l->directions == 1 && !l->backwards &&
        !qdq_eval_string_is(c, "direction", "forward", "forward"))
        return QDQ_REFUSE(c, "attribute 'direction' has none of its values");
    if (qdq_eval_int(c, "hidden_size", l->hidden) != l->hidden)
        return QDQ_REFUSE(c, "attribute 'hidden_size' is not that of the weights");
    if (qdq_node_attr(c->node, "clip") != NULL || qdq_eval_flag(c, "input_forget", false) ||
        qdq_node_attr(c->node, "activation_alpha") != NULL ||
        qdq_node_attr(c->node, "activation_beta") != NULL)
        return QDQ_REFUSE(c, "a layer with clip, input_forget or parameters of activations");
    return true;
}

/* A factor that no product of all of them may pass. */
static bool check_work(qdq_eval *c, const layer *l)
{
    const int64_t factor[] = {l->directions, l->steps,  l->batch,
                              l->gates,      l->hidden, l->inputs + l->hidden};
    int64_t work = 1;

    for (size_t i = 0; i < QDQ_COUNT(factor); i++)
        if (__builtin_mul_overflow(work, factor[i], &work) || work > MAX_WORK)
            return QDQ_REFUSE(c, "more than %d multiplications", MAX_WORK);
    return true;
}

static bool read_lengths(qdq_eval *c, layer *l)
{
    int64_t count;

    if (!qdq_eval_ints(c, 4, &l->length, &count))
        return false;
    if (l->length != NULL && count != l->batch)
        return QDQ_REFUSE(c, "%" PRId64 " lengths for a batch of %" PRId64, count, l->batch);
    for (int64_t i = 0; l->length != NULL && i < count; i++)
        if (l->length[i] < 1 || l->length[i] > l->steps)
            return QDQ_REFUSE(c, "a length of %" PRId64 " of %" PRId64, l->length[i], l->steps);
    return true;
}

static bool read_layer(qdq_eval *c, layer *l)
{
    *l = (layer){.directions = 0};
    if (!read_sizes(c, l) || !read_activations(c, l) || !check_work(c, l) || !read_lengths(c, l))
        return false;
    int64_t d = l->directions, rows = l->gates * l->hidden,
            state[] = {l->by_batch ? l->batch : d, l->by_batch ? d : l->batch, l->hidden};
    l->linear = l->gates == 3 && qdq_eval_flag(c, "linear_before_reset", false);
    if (!check_shape(c, 1, 3, (int64_t[]){d, rows, l->inputs}) ||
        !check_shape(c, 2, 3, (int64_t[]){d, rows, l->hidden}) ||
        !check_shape(c, 3, 2, (int64_t[]){d, 2 * rows}) || !check_shape(c, 5, 3, state) ||
        !check_shape(c, 6, 3, state) || !check_shape(c, 7, 2, (int64_t[]){d, 3 * l->hidden}))
        return false;
    l->h = qdq_eval_scratch(c, l->hidden, sizeof *l->h);
    l->cell = qdq_eval_scratch(c, l->hidden, sizeof *l->cell);
    l->sum = qdq_eval_scratch(c, rows, sizeof *l->sum);
    l->part = qdq_eval_scratch(c, rows, sizeof *l->part);
    return l->h != NULL && l->cell != NULL && l->sum != NULL && l->part != NULL;
}

/* --- one step --------------------------------------------------------------------------------- */

/* out[first..first+n): rows of matrix `d` of w times v, and the bias. */
static void multiply(const qdq_const *w, int64_t d, const double *v, const qdq_const *b,
                     int64_t b_first, int64_t first, int64_t n, double *out)
{
    int64_t columns = w->dim[2];

    for (int64_t i = first; i < first + n; i++) {
        out[i] = b != NULL ? qdq_eval_number(b, b_first + i) : 0;
        for (int64_t k = 0; k < columns; k++)
            out[i] += qdq_eval_number(w, (d * w->dim[1] + i) * columns + k) * v[k];
    }
}

/* Gates z, r, h. `sum` has W x + b, `part` has R h + b of all gates. */
static void step_gru(qdq_eval *c, layer *l, int64_t d)
{
    int64_t n = l->hidden, rows = 3 * n;
    double *z = l->sum, *r = l->sum + n, *g = l->sum + 2 * n, *part = l->part;

    for (int64_t i = 0; i < n; i++) {
        z[i] = l->run[d][0](z[i] + part[i]);
        r[i] = l->run[d][0](r[i] + part[n + i]);
        part[i] = r[i] * l->h[i]; /* what R is multiplied with where it is reset before */
    }
    if (!l->linear)
        multiply(c->in[2], d, part, qdq_eval_in(c, 3), d * 2 * rows + rows, 2 * n, n, part);
    for (int64_t i = 0; i < n; i++) {
        double new = l->run[d][1](g[i] + (l->linear ? r[i] : 1) * part[2 * n + i]);

        l->h[i] = (1 - z[i]) * new + z[i] * l->h[i];
    }
}

/* Gates i, o, f, c; peepholes i, o, f. */
static void step_lstm(qdq_eval *c, layer *l, int64_t d)
{
    const qdq_const *p = qdq_eval_in(c, 7);
    int64_t n = l->hidden, at = d * 3 * n;

    for (int64_t i = 0; i < n; i++) {
        double gate[MAX_GATES];

        for (int64_t k = 0; k < MAX_GATES; k++)
            gate[k] = l->sum[k * n + i] + l->part[k * n + i];
        if (p != NULL) {
            gate[0] += qdq_eval_number(p, at + i) * l->cell[i];
            gate[2] += qdq_eval_number(p, at + 2 * n + i) * l->cell[i];
        }
        l->cell[i] =
            l->run[d][0](gate[2]) * l->cell[i] + l->run[d][0](gate[0]) * l->run[d][1](gate[3]);
        if (p != NULL)
            gate[1] += qdq_eval_number(p, at + n + i) * l->cell[i];
        l->h[i] = l->run[d][0](gate[1]) * l->run[d][2](l->cell[i]);
    }
}

static void step_cell(qdq_eval *c, layer *l, int64_t d, const double *x)
{
    int64_t rows = l->gates * l->hidden;

    multiply(c->in[1], d, x, qdq_eval_in(c, 3), d * 2 * rows, 0, rows, l->sum);
    multiply(c->in[2], d, l->h, qdq_eval_in(c, 3), d * 2 * rows + rows, 0, rows, l->part);
    if (l->gates == 3)
        step_gru(c, l, d);
    else if (l->gates == 4)
        step_lstm(c, l, d);
    else
        for (int64_t i = 0; i < l->hidden; i++)
            l->h[i] = l->run[d][0](l->sum[i] + l->part[i]);
}

/* --- sequences -------------------------------------------------------------------------------- */

/* Where the state of direction d and sequence b is in inputs and outputs. */
static int64_t state_at(const layer *l, int64_t d, int64_t b)
{
    return (l->by_batch ? b * l->directions + d : d * l->batch + b) * l->hidden;
}

static void load_state(const qdq_const *x, int64_t at, int64_t n, double *state)
{
    for (int64_t i = 0; i < n; i++)
        state[i] = x != NULL ? qdq_eval_number(x, at + i) : 0;
}

static void store_state(const qdq_eval *c, void *out, int64_t at, int64_t n, const double *state)
{
    for (int64_t i = 0; out != NULL && i < n; i++)
        qdq_eval_put_number(c->in[0]->elem, out, at + i, state[i]);
}

/* Steps behind the end of a sequence are 0. */
static void run_sequence(qdq_eval *c, layer *l, int64_t d, int64_t b, double *x, void *out)
{
    int64_t length = l->length != NULL ? l->length[b] : l->steps;

    load_state(qdq_eval_in(c, 5), state_at(l, d, b), l->hidden, l->h);
    load_state(qdq_eval_in(c, 6), state_at(l, d, b), l->hidden, l->cell);
    for (int64_t k = 0; k < length; k++) {
        int64_t t = l->backwards || d == 1 ? length - 1 - k : k;
        int64_t from = l->by_batch ? b * l->steps + t : t * l->batch + b;
        int64_t to = l->by_batch ? (b * l->steps + t) * l->directions + d
                                 : (t * l->directions + d) * l->batch + b;

        load_state(c->in[0], from * l->inputs, l->inputs, x);
        step_cell(c, l, d, x);
        store_state(c, out, to * l->hidden, l->hidden, l->h);
    }
}

bool qdq_eval_recurrent(qdq_eval *c)
{
    qdq_elem e = c->in[0]->elem;
    void *out[3] = {NULL};
    layer l;

    if (!read_layer(c, &l))
        return false;
    int64_t d = l.directions, in_front = l.by_batch ? l.batch : l.steps;
    int64_t all[] = {in_front, l.by_batch ? l.steps : d, l.by_batch ? d : l.batch, l.hidden};
    int64_t last[] = {l.by_batch ? l.batch : d, l.by_batch ? d : l.batch, l.hidden};
    double *x = qdq_eval_scratch(c, l.inputs, sizeof *x);
    for (uint32_t i = 0; i < c->node->n_out && i < (l.gates == 4 ? 3 : 2); i++) {
        if (c->node->out[i] == NULL)
            continue;
        out[i] = qdq_eval_output(c, i, e, i == 0 ? 4 : 3, i == 0 ? all : last);
        if (out[i] == NULL)
            return false;
    }
    for (int64_t k = 0; x != NULL && k < d * l.batch; k++) {
        run_sequence(c, &l, k / l.batch, k % l.batch, x, out[0]);
        store_state(c, out[1], state_at(&l, k / l.batch, k % l.batch), l.hidden, l.h);
        store_state(c, out[2], state_at(&l, k / l.batch, k % l.batch), l.hidden, l.cell);
    }
    return x != NULL;
}
