/* picture.h - a drawing of a model: its nodes along the flow, with times, formats and the price of
 * each decision. Takes plain numbers and text; knows no models. The data is JSON inside the page,
 * drawn by a script in the page. */
#ifndef QDQ_PICTURE_H
#define QDQ_PICTURE_H

#include <math.h>

#include "base/buf.h"
#include "qdq/tensor.h"

/* the other end of an edge is an input or output of the graph */
#define QDQ_PICTURE_OUTSIDE UINT32_MAX

/* Where a price comes from. */
typedef enum qdq_price_source {
    /* nothing was measured */
    QDQ_PRICE_NONE,
    /* from shapes */
    QDQ_PRICE_ESTIMATED,
    /* from costs that were fitted to profiles of other placements */
    QDQ_PRICE_PREDICTED,
    /* from profiles with and without it */
    QDQ_PRICE_PROFILED,
    QDQ_PRICE_COUNT
} qdq_price_source;

/* What a decision for 8 bits saves, whether it was taken or not, and what decided. Texts may be
 * NULL. */
typedef struct qdq_picture_price {
    qdq_price_source source;
    /* us of one run, and the standard deviation; NAN: unknown */
    double saved_us, doubt_us;
    /* measurement behind the decision */
    const char *measured;
    /* the target's rule and the measurement behind it: "few-channels: 0.9 (0.8 to 1) on ..." */
    const char *figures;
    /* what the target's rules decide; only where a measurement overruled them */
    const char *rules;
} qdq_picture_price;

#define QDQ_PICTURE_NO_PRICE                                                                       \
    ((qdq_picture_price){.source = QDQ_PRICE_NONE, .saved_us = NAN, .doubt_us = NAN})

/* A node; in the order of execution. Times are in microseconds of one run, NAN if unknown. */
typedef struct qdq_picture_node {
    /* unique; modules are the parts before each '/' */
    const char *name;
    /* how other viewers find it: its own name, or its first output */
    const char *key;
    /* operator */
    const char *op;
    /* nodes with equal texts are one block; NULL: alone */
    const char *block;
    /* format it computes in, before and after */
    qdq_elem input, chosen;
    /* format of its quantized weight; QDQ_UNDEFINED: none */
    qdq_elem weight;
    /* its kernels in the input model */
    double given_us;
    /* its kernels in the chosen model */
    double chosen_us;
    /* rule, or reason to stay float; NULL: nothing to decide */
    const char *why;
    /* 1 + index of the If, Loop or Scan whose body it is in; 0: none */
    uint32_t within;
    /* name of that body: "then_branch" */
    const char *body;
    qdq_picture_price price;
} qdq_picture_node;

/* One reader of a tensor. */
typedef struct qdq_picture_edge {
    /* indices of nodes, or QDQ_PICTURE_OUTSIDE */
    uint32_t from, to;
    const char *tensor;
    /* of what the reader takes */
    qdq_elem format;
    /* it carries codes: Q and DQ stand on it, or one layer computes both ends */
    bool coded;
    /* of these codes; 0: not coded */
    double scale;
    /* conversions of the tensor, for all readers; NAN: unknown */
    double convert_us;
    /* rule that put Q and DQ there; NULL: none */
    const char *why;
    /* decided with its reader, whose price is that of both */
    bool joint;
    qdq_picture_price price;
} qdq_picture_edge;

typedef struct qdq_picture {
    /* name of the graph */
    const char *graph;
    /* a sentence: where the times come from */
    const char *times;
    /* times are estimates: the input model takes 100 */
    bool relative;
    qdq_picture_node *node;
    size_t n_nodes;
    qdq_picture_edge *edge;
    size_t n_edges;
} qdq_picture;

/* A section with the drawing, a search field, and a table for readers without scripts. */
void qdq_page_picture(qdq_buf *b, const qdq_picture *p);

/* The same data as a file of node data for Model Explorer: {graph: {"name", "results": {key:
 * {"value", "bgColor", "textColor"}}}}. `value` is the node's time in the chosen model in ms, or
 * its share of the input model's time in percent where times are estimates; a node without a time
 * is left out. Colours are those of formats. A body of Loop or Scan is a graph of its own,
 * "NODE/ATTRIBUTE", and what is in a branch of If is "IF/ATTRIBUTE/NODE" in the If's graph, as
 * Model Explorer's reader of ONNX has them. */
void qdq_picture_overlay(qdq_buf *b, const qdq_picture *p);

/* How a page draws it: the text of its elements style and script. */
void qdq_picture_put_style(qdq_buf *b);
void qdq_picture_put_script(qdq_buf *b);

#endif /* QDQ_PICTURE_H */
