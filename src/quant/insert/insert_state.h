/* insert_state.h - what insertion knows while it works; shared by the insert*.c files only. */
#ifndef QDQ_INSERT_STATE_H
#define QDQ_INSERT_STATE_H

#include "base/buf.h"
#include "quant/insert/insert.h"
#include "quant/weights/weights.h"

/* A weight while it is inserted: what biases need to know of it. */
typedef struct qdq_weight_state {
    const qdq_tensor *tensor;
    /* from the cache, or NULL */
    const qdq_tensor *codes;
    /* NULL: not looked at yet, or not any more */
    const float *floats;
    qdq_scale_grid grid;
    float *scales;
    int32_t *zeros;
    /* the floats are not those of the tensor */
    bool is_changed;
    /* those of the tensor, where rows of the floats are 0; else NULL */
    const float *whole;
} qdq_weight_state;

/* How scales lie beside what they are of. */
typedef struct qdq_scale_form {
    /* -1: one scale */
    int axis;
    /* 0: none */
    int64_t block;
    int rank;
    int64_t dim[QDQ_MAX_RANK];
} qdq_scale_form;

extern const qdq_scale_form qdq_one_scale;

/* What a Q or DQ node reads. */
typedef struct qdq_quantizer {
    /* of its names */
    const char *base;
    const qdq_scale_form *form;
    /* floats or codes, scales, zero points or NULL */
    qdq_value *input[3];
} qdq_quantizer;

typedef struct qdq_inserter {
    qdq_model *m;
    /* where the entry at hand goes: that of the nodes that read it */
    qdq_graph *g;
    const qdq_plan *plan;
    /* or NULL */
    const qdq_job *job;
    /* or NULL */
    qdq_insert_cache *cache;
    qdq_arena scratch;
    /* floats of weights, where they had to be copied */
    qdq_arena copies;
    /* label -> node of any graph, as the plan names them: before any edit */
    qdq_map nodes;
    /* name -> value, the same; of two in different graphs the outer one */
    qdq_map values;
    /* name -> index into plan->tensors, for the scales of biases */
    qdq_map tensors;
    /* name -> index into plan->weights */
    qdq_map weights;
    /* place and input of every edge that the plan lists, each only once -> 1 + index into
     * plan->weights, or 0 */
    qdq_map edges;
    /* one for each of plan->weights */
    qdq_weight_state *weight;
    /* for each of plan->scalings: readers whose weight is multiplied */
    size_t *scaled_readers;
    /* place of a node whose data is scaled -> index into plan->scalings */
    qdq_map scaling_of;
    /* place of a node with float channels -> index into plan->float_channels, and the index of its
     * weight in plan->weights, once that has rows of zeros */
    qdq_map channels_of, zeroed;
    /* by graph index and node id: position in the sorted lists of all graphs */
    uint32_t **place;
    /* some node reads what stands behind it */
    bool unsorted;
    qdq_error *err;
} qdq_inserter;

static inline uint32_t qdq_insert_place(const qdq_inserter *in, const qdq_node *n)
{
    return in->place[n->graph->index][n->id];
}

/* The key of in->edges. */
static inline uint64_t qdq_insert_edge(const qdq_inserter *in, const qdq_node *n, uint32_t input)
{
    return (uint64_t)qdq_insert_place(in, n) << 32 | input;
}

qdq_node *qdq_insert_find_node(const qdq_inserter *in, const char *label);
/* The node of an edge; NULL: there is none, which is added to the list of what is missing. */
const qdq_node *qdq_insert_reader(const qdq_inserter *in, const qdq_edge *e, qdq_buf *list);
qdq_value *qdq_insert_find_value(const qdq_inserter *in, const char *name);

/* The first of the readers, before which goes what all of them read, so that each block of the file
 * reads as one. */
qdq_node *qdq_insert_first_reader(const qdq_inserter *in, const qdq_edges *edges);

/* What a plan says of the data of a product: one entry for each of its nodes, under its place in
 * `map`. claim: notes entry `index` of a
 * node that the graph has; a second one is appended to `list` as `what`. find: the
 * entry of all readers of a weight, SIZE_MAX: of none; readers that differ are an error, `differ`.
 */
qdq_status qdq_insert_claim(qdq_inserter *in, qdq_map *map, const char *node, size_t index,
                            const char *what, qdq_buf *list);
qdq_status qdq_insert_claimed(const qdq_inserter *in, const qdq_map *map, const qdq_plan_weight *w,
                              const char *differ, size_t *index);

/* --- insert_nodes.c: building blocks; NULL: out of memory ------------------------------------- */

/* `base` followed by `suffix`, free in the graph; in the model's memory. */
const char *qdq_insert_name(qdq_inserter *in, const char *base, const char *suffix);

/* t as an initializer of g under such a name; t NULL: out of memory, too. */
qdq_value *qdq_insert_constant(qdq_inserter *in, qdq_graph *g, const char *base, const char *suffix,
                               qdq_tensor *t);

/* Where Q and DQ go: right behind the producer; for inputs, constants and captures, before the
 * first node. NULL: at the end. */
qdq_node *qdq_insert_behind(const qdq_inserter *in, const qdq_value *v);

/* Each of the edges reads v from now on. */
void qdq_insert_feed(const qdq_inserter *in, const qdq_edges *edges, qdq_value *v);

qdq_value *qdq_insert_scales(qdq_inserter *in, const char *base, const qdq_scale_form *form,
                             const float *scales);

/* Zero points of `type`; zeros NULL: all 0. ONNX Runtime's fusions ask for them explicitly, and of
 * float8 they name the type. */
qdq_value *qdq_insert_zero_points(qdq_inserter *in, const char *base, const qdq_scale_form *form,
                                  qdq_elem type, const int32_t *zeros);

/* A Q or DQ node before `before`: its inputs -> a new value. */
qdq_value *qdq_insert_node(qdq_inserter *in, qdq_node *before, const char *op,
                           const qdq_quantizer *q, const char *out_name, const qdq_type *type);

/* The DQ that gives a constant back: its codes are q->input[0]. */
qdq_status qdq_insert_back(qdq_inserter *in, qdq_node *before, const qdq_quantizer *q,
                           const qdq_tensor *shape, qdq_value **out);

/* --- insert_scaling.c ------------------------------------------------------------------------- */

/* Appends to `list` what entry i of plan->scalings names and the model does not have. */
qdq_status qdq_insert_check_scaling(qdq_inserter *in, size_t i, qdq_buf *list);

/* Multiplies the floats of a weight whose readers' data is divided. */
qdq_status qdq_insert_scaled(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s);

/* Divides the activation of entry i. */
qdq_status qdq_insert_scaling(qdq_inserter *in, size_t i);

/* --- insert_channels.c ------------------------------------------------------------------------ */

/* The same for entry i of plan->float_channels. */
qdq_status qdq_insert_check_channels(qdq_inserter *in, size_t i, qdq_buf *list);

/* Makes rows of weight i 0 whose products are computed in float. */
qdq_status qdq_insert_zeroed(qdq_inserter *in, size_t i);

/* Adds the products of entry i. */
qdq_status qdq_insert_channels(qdq_inserter *in, size_t i);

/* --- insert_weight.c -------------------------------------------------------------------------- */

/* The floats of one weight are in memory at a time: they are found again, and copied where they lie
 * at an odd address, each time that they are needed. `mark` of in->copies is older than they are;
 * those that are not the tensor's stay. */
qdq_status qdq_insert_find_floats(qdq_inserter *in, qdq_weight_state *s);
void qdq_insert_drop_floats(qdq_inserter *in, qdq_weight_state *s, qdq_arena_mark mark);
/* Entry i of plan->weights: first the scales of all, then room for biases, then the nodes. */
qdq_status qdq_insert_weight_scales(qdq_inserter *in, size_t i);
/* The codes of all, from the cache or for it. */
qdq_status qdq_insert_find_codes(qdq_inserter *in);
qdq_status qdq_insert_weight(qdq_inserter *in, size_t i);
/* The codes of an entry as a tensor stores them: given, or the nearest ones. */
qdq_status qdq_insert_weight_codes(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                                   void *packed);
/* The same entry, if its `store` is 'dynamic': after all other edits. */
qdq_status qdq_insert_dynamic(qdq_inserter *in, size_t i);
/* The codes of w in its shape. */
qdq_status qdq_insert_codes(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                            qdq_tensor **out);
/* The floats that a reader of entry i gets, in `scratch`. */
qdq_status qdq_insert_weight_back(qdq_inserter *in, size_t i, const float **out);

/* --- insert_nbits.c: weights inside MatMulNBits and GatherBlockQuantized of ONNX Runtime ------ */

/* Entry i of plan->weights, whose scales are there: its readers become such operators. */
qdq_status qdq_insert_nbits(qdq_inserter *in, size_t i);

/* --- insert_dynamic.c: weights inside MatMulInteger and DynamicQuantizeLSTM ------------------- */

/* The readers of w become such operators: products behind a DynamicQuantizeLinear of their data, an
 * LSTM as soon as both of its weights are there. */
qdq_status qdq_insert_integer(qdq_inserter *in, const qdq_plan_weight *plan, qdq_weight_state *s,
                              const qdq_scale_form *form);

/* --- insert_correction.c ---------------------------------------------------------------------- */

/* Entry i of plan->corrections: first a bias of zeros where there was none, then what it names and
 * the model does not have is appended to `list`, then the sum. */
qdq_status qdq_insert_new_bias(qdq_inserter *in, size_t i);
void qdq_insert_check_correction(const qdq_inserter *in, size_t i, qdq_buf *list);
qdq_status qdq_insert_correction(qdq_inserter *in, size_t i);

/* --- insert_const.c --------------------------------------------------------------------------- */

/* Appends to `list` what entry i of plan->biases names and neither the plan nor the model has a
 * scale of. */
qdq_status qdq_insert_check_bias(qdq_inserter *in, size_t i, qdq_buf *list);
/* Entry i of plan->biases. */
qdq_status qdq_insert_room(qdq_inserter *in, size_t i);
qdq_status qdq_insert_bias(qdq_inserter *in, size_t i);

#endif /* QDQ_INSERT_STATE_H */
