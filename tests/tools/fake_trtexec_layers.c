/* fake_trtexec_layers.c - see the header. */
#include "fake_trtexec_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static const double copy_us = 12, qdq_us = 4, pointwise_us = 5;

typedef struct planner {
    const qdq_graph *g;
    /* by node id: the node that its layer is called after */
    const qdq_node **root;
    /* by node id of a root: the last of its layer */
    const qdq_node **last;
    fake_layer *out;
    size_t n, max;
} planner;

/* --- nodes ------------------------------------------------------------------------------------ */

static int is_op(const qdq_node *n, const char *op)
{
    return n != NULL && strcmp(n->type, op) == 0;
}

static int is_heavy(const qdq_node *n)
{
    return is_op(n, "Conv") || is_op(n, "MatMul") || is_op(n, "Gemm");
}

static int is_qdq(const qdq_node *n)
{
    return is_op(n, "QuantizeLinear") || is_op(n, "DequantizeLinear");
}

static int is_movement(const qdq_node *n)
{
    return is_op(n, "Reshape") || is_op(n, "Transpose") || is_op(n, "Flatten");
}

static const qdq_value *input(const qdq_node *n, uint32_t i)
{
    return i < n->n_in ? n->in[i].value : NULL;
}

static const qdq_node *producer(const qdq_node *n, uint32_t i)
{
    return input(n, i) != NULL ? input(n, i)->producer : NULL;
}

static int is_constant(const qdq_value *v)
{
    return v == NULL || qdq_value_const(v) != NULL ||
           (is_qdq(v->producer) && is_constant(input(v->producer, 0)));
}

/* Who alone reads what it gives. */
static const qdq_node *only_user(const qdq_node *n)
{
    const qdq_value *v = n->n_out > 0 ? n->out[0] : NULL;

    return v != NULL && v->n_use == 1 && v->n_output == 0 ? v->first->node : NULL;
}

static int is_8bit(const qdq_node *n)
{
    return is_heavy(n) && is_op(producer(n, 0), "DequantizeLinear") &&
           is_op(producer(n, 1), "DequantizeLinear");
}

static int is_depthwise(const qdq_node *n)
{
    const qdq_attr *group = is_op(n, "Conv") ? qdq_node_attr(n, "group") : NULL;

    return group != NULL && group->v.i > 1;
}

/* --- what is one layer ------------------------------------------------------------------------ */

static void put(planner *p, const qdq_node *n, const qdq_node *root)
{
    p->root[n->id] = root;
}

static int is_free(const planner *p, const qdq_node *n)
{
    return n != NULL && n->graph == p->g && p->root[n->id] == n;
}

/* MatMul of two tensors, what is pointwise, Softmax, MatMul: both in 8 bits, or none. */
static void fuse_attention(planner *p, const qdq_node *first)
{
    const qdq_node *n = only_user(first);
    int softmax = 0;

    if (!is_free(p, first) || is_constant(input(first, 0)) || is_constant(input(first, 1)))
        return;
    for (; n != NULL && !is_heavy(n); n = only_user(n)) {
        softmax = softmax || is_op(n, "Softmax");
        if (is_movement(n))
            return;
    }
    if (!softmax || !is_op(n, "MatMul") || is_8bit(n) != is_8bit(first))
        return;
    put(p, n, first);
    for (const qdq_node *i = only_user(first); i != n; i = only_user(i))
        put(p, i, first);
}

static void fuse_epilogue(planner *p, const qdq_node *n)
{
    const qdq_node *next = only_user(n);

    if (!is_free(p, n))
        return;
    if (is_op(n, "Conv") && is_op(next, "Add") && is_free(p, next)) {
        put(p, next, n);
        next = only_user(next);
    }
    if (is_op(next, "Relu") && is_free(p, next))
        put(p, next, n);
}

/* A kernel quantizes what it gives if nobody reads floats. */
static void fuse_q(planner *p, const qdq_node *n)
{
    const qdq_node *before = producer(n, 0);

    if (is_constant(input(n, 0)) || before == NULL || is_movement(before) || is_qdq(before))
        return;
    for (const qdq_use *u = input(n, 0)->first; u != NULL; u = u->next)
        if (!is_op(u->node, "QuantizeLinear"))
            return;
    if (input(n, 0)->n_output == 0)
        put(p, n, p->root[before->id]);
}

static int takes_codes(const planner *p, const qdq_node *n)
{
    const qdq_node *root = p->root[n->id];

    return is_heavy(n) ? is_8bit(n) : is_heavy(root) ? 1 : !is_movement(n) && !is_qdq(n);
}

static void fuse_dq(planner *p, const qdq_node *n)
{
    const qdq_value *v = n->out[0];

    for (const qdq_use *u = v->first; u != NULL; u = u->next)
        if (!is_constant(input(n, 0)) && (u->node->graph != p->g || !takes_codes(p, u->node)))
            return;
    if (v->first != NULL && v->n_output == 0 && v->first->node->graph == p->g)
        put(p, n, p->root[v->first->node->id]);
}

static void find_layers(planner *p)
{
    QDQ_FOR_NODES (n, p->g)
        p->root[n->id] = n;
    QDQ_FOR_NODES (n, p->g)
        if (is_op(n, "MatMul"))
            fuse_attention(p, n);
    QDQ_FOR_NODES (n, p->g)
        if (is_heavy(n))
            fuse_epilogue(p, n);
    QDQ_FOR_NODES (n, p->g)
        if (is_op(n, "QuantizeLinear"))
            fuse_q(p, n);
    QDQ_FOR_NODES (n, p->g)
        if (is_op(n, "DequantizeLinear"))
            fuse_dq(p, n);
    QDQ_FOR_NODES (n, p->g)
        p->last[p->root[n->id]->id] = n;
}

/* --- what a layer is called ------------------------------------------------------------------- */

static void append(char *text, size_t size, const char *between, const char *more)
{
    size_t n = strlen(text);

    if (n + strlen(between) + strlen(more) < size)
        snprintf(text + n, size - n, "%s%s", n > 0 ? between : "", more);
}

static const char *label(const qdq_node *n, char *text, size_t size)
{
    if (n->name[0] != '\0')
        snprintf(text, size, "%s", n->name);
    else
        snprintf(text, size, "node_of_%s",
                 n->n_out > 0 && n->out[0] != NULL ? n->out[0]->name : "");
    return text;
}

/* The path of an 8-bit weight stands in front; the Q behind is in the metadata alone. */
static void name_layer(const planner *p, fake_layer *l, const qdq_node *root)
{
    char text[300], entry[340];

    if (is_8bit(root) && is_constant(input(root, 1)) && producer(root, 1) != NULL) {
        append(l->name, sizeof l->name, " + ", input(producer(root, 1), 0)->name);
        append(l->name, sizeof l->name, " + ", label(producer(root, 1), text, sizeof text));
    }
    QDQ_FOR_NODES (n, p->g) {
        if (p->root[n->id] != root || is_op(n, "DequantizeLinear") != (n == root && is_qdq(n)))
            continue;
        label(n, text, sizeof text);
        if (n == root || !is_qdq(n))
            append(l->name, sizeof l->name, " + ", text);
        snprintf(entry, sizeof entry, "[ONNX Layer: %s]", text);
        append(l->metadata, sizeof l->metadata, "\\u001e", entry);
    }
}

static void name_attention(const planner *p, fake_layer *l, const qdq_node *root)
{
    const qdq_node *end = root;
    char first[250], last[250];

    QDQ_FOR_NODES (n, p->g)
        if (p->root[n->id] == root && is_heavy(n))
            end = n;
    snprintf(l->name, sizeof l->name, "{ForeignNode[%s...%s]}", label(root, first, sizeof first),
             label(end, last, sizeof last));
}

static int is_inside(const planner *p, const qdq_node *n, const qdq_node *root)
{
    return n != NULL && n->graph == p->g && p->root[n->id] == root;
}

static void add_tensor(fake_tensor *list, size_t *n, const qdq_value *v)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(list[i].name, v->name) == 0)
            return;
    if (*n == FAKE_MAX_TENSORS)
        return;
    snprintf(list[*n].name, sizeof list[*n].name, "%s", v->name);
    snprintf(list[*n].type, sizeof list[*n].type, "%s",
             is_op(v->producer, "QuantizeLinear") ? "Int8" : "FP32");
    ++*n;
}

/* What is read through a DQ that vanished: what that reads. */
static const qdq_value *codes_of(const planner *p, const qdq_value *v)
{
    const qdq_node *dq = v != NULL ? v->producer : NULL;

    return is_op(dq, "DequantizeLinear") && p->root[dq->id] != dq ? input(dq, 0) : v;
}

static void find_tensors(const planner *p, fake_layer *l, const qdq_node *root)
{
    QDQ_FOR_NODES (n, p->g) {
        if (p->root[n->id] != root || (n != root && is_op(n, "DequantizeLinear")))
            continue;
        for (uint32_t i = 0; i < n->n_in; i++) {
            const qdq_value *v = codes_of(p, input(n, i));
            if (!is_constant(v) && !is_inside(p, v->producer, root))
                add_tensor(l->in, &l->n_in, v);
        }
        for (uint32_t i = 0; i < n->n_out; i++) {
            int read = n->out[i] != NULL && n->out[i]->n_output > 0;
            for (const qdq_use *u = n->out[i] != NULL ? n->out[i]->first : NULL; u != NULL;
                 u = u->next)
                read = read || !is_inside(p, u->node, root);
            if (read)
                add_tensor(l->out, &l->n_out, n->out[i]);
        }
    }
}

/* --- what it takes ---------------------------------------------------------------------------- */

static double kernel_us(const qdq_node *n)
{
    return is_depthwise(n) ? (is_8bit(n) ? 80 : 50) : is_8bit(n) ? 40 : 100;
}

static double layer_us(const planner *p, const qdq_node *root)
{
    double us = 0;

    QDQ_FOR_NODES (n, p->g)
        if (p->root[n->id] == root && is_heavy(n))
            us += kernel_us(n);
    return us > 0 ? us : is_qdq(root) ? qdq_us : pointwise_us;
}

/* The layer that gives what a Conv reads, behind Q and DQ that vanished in it or in the Conv. */
static const qdq_node *giver(const planner *p, const qdq_node *conv)
{
    const qdq_node *n = producer(conv, 0);

    while (n != NULL && is_qdq(n) && p->root[n->id] != n)
        n = producer(n, 0);
    return n != NULL && n->graph == p->g ? p->root[n->id] : NULL;
}

/* Kernels of Conv have channels in vectors in 8 bits, and one by one in float; others have what
 * they find. */
static int needs_copy(const planner *p, const qdq_node *root)
{
    const qdq_node *from = is_op(root, "Conv") ? giver(p, root) : NULL;

    if (from == NULL || is_qdq(from))
        return 0;
    return is_8bit(root) ? !(is_op(from, "Conv") && is_8bit(from))
                         : is_op(from, "Conv") && is_8bit(from);
}

/* --- layers ----------------------------------------------------------------------------------- */

static void add_copy(planner *p, fake_layer *to)
{
    fake_layer *l = &p->out[p->n];

    if (p->n == p->max)
        return;
    p->n++;
    *l = (fake_layer){
        .us = copy_us, .n_in = 1, .n_out = 1, .type = "Reformat", .origin = "REFORMAT"};
    snprintf(l->name, sizeof l->name, "Reformatting CopyNode for Input Tensor 0 to %.550s",
             to->name);
    l->in[0] = l->out[0] = to->in[0];
    snprintf(l->out[0].name, sizeof l->out[0].name, "Reformatted Input Tensor 0 to %.600s",
             to->name);
    to->in[0] = l->out[0];
}

static void add_layer(planner *p, const qdq_node *root)
{
    fake_layer l = {.us = layer_us(p, root)};
    int products = 0;

    QDQ_FOR_NODES (n, p->g)
        products += p->root[n->id] == root && is_heavy(n);
    snprintf(l.type, sizeof l.type, "%s",
             is_qdq(root)   ? "Reformat"
             : products > 1 ? "Myelin"
             : products > 0 ? "CaskConvolution"
                            : "PointWise");
    snprintf(l.origin, sizeof l.origin, "%s", is_qdq(root) ? "QDQ" : "");
    find_tensors(p, &l, root);
    if (products > 1)
        name_attention(p, &l, root);
    else
        name_layer(p, &l, root);
    if (l.n_in > 0 && needs_copy(p, root))
        add_copy(p, &l);
    if (p->n < p->max)
        p->out[p->n++] = l;
}

static void add_layers(planner *p)
{
    find_layers(p);
    QDQ_FOR_NODES (n, p->g)
        if (p->last[p->root[n->id]->id] == n &&
            !(is_qdq(p->root[n->id]) && is_constant(input(n, 0))))
            add_layer(p, p->root[n->id]);
}

size_t fake_layers_of(const char *path, fake_layer *out, size_t max)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    if (qdq_model_load(path, NULL, &m, &err) != QDQ_OK)
        return 0;
    const size_t n = m->graph->next_node_id + 1;
    planner p = {.g = m->graph, .out = out, .max = max};
    p.root = calloc(n, sizeof *p.root);
    p.last = calloc(n, sizeof *p.last);
    if (p.root != NULL && p.last != NULL)
        add_layers(&p);
    free(p.root);
    free(p.last);
    qdq_model_free(m);
    return p.n;
}
