/* place_state.h - what placement knows while it works; shared by the place_*.c files only. */
#ifndef QDQ_PLACE_STATE_H
#define QDQ_PLACE_STATE_H

#include <string.h>

#include "target/existing_qdq.h"
#include "quant/place/place.h"

/* Of a node. */
typedef struct qdq_node_state {
    const qdq_target_op *rule;
    /* the rule that left it float, or will where no 8-bit kernel reads it */
    const qdq_stay_float *stay;
    const qdq_stay_float *late; /* a rule that asks who reads its result in float; NULL: none */
    const char *reason;         /* why it is float; NULL: it runs in 8 bits, or is absorbed */
    const qdq_node *absorber;   /* the 8-bit node that the engine fuses it into, or NULL */
    const qdq_value *result;    /* of an 8-bit node: the value behind its epilogue */
    const qdq_found *found;     /* of a Q or DQ that the model has */
    bool eight;
    bool kept;         /* the model had it in 8 bits before */
    bool needs_reader; /* pays only with an 8-bit reader */
} qdq_node_state;

/* Of a value. */
typedef struct qdq_value_state {
    bool carries; /* Q/DQ for all its readers */
    /* float, but an 8-bit linear operator reads it through Q/DQ: others may, too */
    bool shared;
    qdq_elem type;         /* then: of its codes */
    const qdq_value *like; /* the value whose scale it has */
    const char *rule;
    const qdq_found *quantizer; /* the Q behind it that the model has, the first of several */
    bool quantized_twice;       /* the others do something else */
    const qdq_found *source;    /* the Q or DQ of the model whose scale it has to take */
    /* why no 8-bit kernel may read it: ranges that one scale does not fit; or NULL */
    const char *apart;
} qdq_value_state;

typedef struct qdq_placing {
    const qdq_model *model;
    const qdq_target *target;
    const qdq_place_opts *opts;
    qdq_arena scratch;
    qdq_node **order; /* live nodes of the main graph, producers first */
    size_t n_order;
    const qdq_format *const *format; /* by node id; NULL: the target's for all */
    qdq_node_state *node;            /* by node id */
    qdq_value_state *value;          /* by value id */
    qdq_map finite; /* constant tensor -> what place_eligibility.c found; of this placement alone */
    bool no_memory; /* a reason could not be written */
} qdq_placing;

static inline bool qdq_word_in(const char *const *list, const char *word)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static inline qdq_node_state *qdq_state_of(const qdq_placing *p, const qdq_node *n)
{
    return &p->node[n->id];
}

/* Who listens to the rules; NULL: none. */
static inline qdq_why *qdq_place_listener(const qdq_placing *p)
{
    return p->opts != NULL ? p->opts->why : NULL;
}

/* Inputs of n that are not chosen, bit by bit. */
static inline uint32_t qdq_place_unchosen(const qdq_placing *p, const qdq_node *n)
{
    return p->opts != NULL && p->opts->stay != NULL ? p->opts->stay[n->id] : 0;
}

static inline const qdq_format *qdq_place_format(const qdq_placing *p, const qdq_node *n)
{
    return p->format != NULL ? p->format[n->id] : &p->target->format;
}

/* Walks the nodes that are placed, producers first. */
#define QDQ_FOR_PLACED(n, p)                                                                       \
    for (qdq_node *const *n##_at = (p)->order, *n;                                                 \
         n##_at < (p)->order + (p)->n_order && (n = *n##_at) != NULL; n##_at++)

/* Zeroed elements of `size`, one for each node id, in scratch memory; NULL: out of memory. */
static inline void *qdq_place_by_node(qdq_placing *p, size_t size)
{
    return qdq_arena_array(&p->scratch, (size_t)p->model->graph->next_node_id + 1, size);
}

/* A way of placement, on what place.c has filled in: the decisions are written into the plan. */
typedef qdq_status qdq_place_way(qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* --- place.c ---------------------------------------------------------------------------------- */

/* Takes the nodes out whose weights alone are to be quantized: they are place_weights.c's. */
void qdq_place_leave_weights(qdq_placing *p);

/* --- place_filter.c: which nodes the user allows, the same for every way ---------------------- */

/* state.reason says what the user does not want. A regular expression that does not compile is
 * QDQ_E_USAGE; what fits no node is a warning. */
qdq_status qdq_place_filter(qdq_placing *p, qdq_error *err);

/* --- place_found.c: what the model has in 8 bits already, which is kept ----------------------- */

/* Reads every Q and DQ of the main graph. */
qdq_status qdq_place_find(qdq_placing *p, qdq_error *err);

/* The DQ of the model that v comes from, or NULL. */
const qdq_found *qdq_place_found(const qdq_placing *p, const qdq_value *v);

/* The type of codes that the model has, as placement compares it: what the range of a tensor
 * decides is left out. */
qdq_elem qdq_place_type(const qdq_placing *p, const qdq_found *f);

/* The type of the codes in which v is there, placed here or found in the model; QDQ_UNDEFINED: it
 * is float. */
qdq_elem qdq_place_codes_of(const qdq_placing *p, const qdq_value *v);

/* The Q of the model behind v whose scale an edge out of v takes, too; NULL: such an edge is
 * calibrated. */
const qdq_found *qdq_place_source(const qdq_placing *p, const qdq_value *v);

/* The type of the codes that the edges of v, a float activation, get where n reads them:
 * that of qdq_place_source(), or that of the format of n. */
qdq_elem qdq_place_codes_for(const qdq_placing *p, const qdq_value *v, const qdq_node *n);

/* The type of the codes of v that n, a linear node, reads: those that v comes in, or those of n's
 * own format. */
qdq_elem qdq_place_codes_at(const qdq_placing *p, const qdq_value *v, const qdq_node *n);

/* The type of the codes that n reads, a node that runs in 8 bits: that of its data, or of the first
 * operand that is there as codes. */
qdq_elem qdq_place_codes_into(const qdq_placing *p, const qdq_node *n);

/* The constant tensor behind a weight input: itself, or behind a DQ of the model, which *found then
 * is. NULL: no constant. */
const qdq_tensor *qdq_place_weight(const qdq_placing *p, const qdq_value *v,
                                   const qdq_found **found);

/* Is v read by anything but the Q that the model has behind it? */
bool qdq_place_is_read_in_float(const qdq_placing *p, const qdq_value *v);

/* Why the kernels do not take what the model does to an activation or a weight ("its data"), or
 * NULL. */
const char *qdq_place_misfit(qdq_placing *p, const qdq_found *f, const char *what);
const char *qdq_place_weight_misfit(qdq_placing *p, const qdq_found *f, int axis);

/* Why node n, with codes of `type` in front, cannot have what the model does behind its result; or
 * NULL. */
const char *qdq_place_result_misfit(qdq_placing *p, const qdq_value *result, qdq_elem type);

/* Is nothing missing for n to run in 8 bits? Asked when it has been judged. */
bool qdq_place_is_whole(const qdq_placing *p, const qdq_node *n);

/* --- place_eligibility.c ---------------------------------------------------------------------- */

/* Why node n cannot run in 8 bits, or NULL if it can; fills rule, stay and needs_reader. */
const char *qdq_place_judge(qdq_placing *p, const qdq_node *n);

/* A tensor of float32. */
bool qdq_place_is_float(const qdq_value *v);

/* Why what has elements of this type, or v, is not quantized. */
const char *qdq_place_not_float(qdq_elem elem);
const char *qdq_place_no_float(const qdq_value *v);

/* NaN and infinity have no codes, and nothing has no range. */
bool qdq_place_is_finite(qdq_placing *p, const qdq_tensor *t);

/* Why a linear node cannot read activation v ("its data"), or NULL; *type is what its codes are, or
 * will be. */
const char *qdq_place_judge_data(qdq_placing *p, const qdq_node *n, const qdq_value *v,
                                 const char *what, qdq_elem *type);

/* Why n cannot read the constant w as codes, a float weight or one that the model has behind a DQ
 * (`found`), beside codes of type `data`; or NULL. */
const char *qdq_place_judge_weight(qdq_placing *p, const qdq_node *n, const qdq_tensor *w,
                                   const qdq_found *found, qdq_elem data);

/* The value behind the part of the chain after `n` that the engine fuses into it. Each fused node
 * is given to `visit`, if there is one. */
const qdq_value *
qdq_place_epilogue(const qdq_placing *p, const qdq_target_op *rule, const qdq_node *n,
                   void (*visit)(qdq_placing *, const qdq_node *fused, const qdq_node *into));

/* The Add of a constant behind a MatMul that is its bias, and the input that the constant is; or
 * NULL. */
const qdq_node *qdq_place_bias_add(const qdq_placing *p, const qdq_node *matmul, uint32_t *input);

/* The reader and input where node n has a bias that is a float constant and has to become int32; or
 * NULL. */
const qdq_node *qdq_place_bias(const qdq_placing *p, const qdq_node *n, uint32_t *input);

bool qdq_place_attributes_fit(const qdq_target_op *rule, const qdq_node *n);

/* The axis of per-channel scales of node n's weight, -1 for one scale. */
int qdq_place_weight_axis(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w);

/* --- place_stay.c ----------------------------------------------------------------------------- */

/* The reason of the first rule of the target that leaves linear node n float although it has a
 * kernel, or NULL. w: its constant weight; NULL: it multiplies two activations. Fills stay and
 * needs_reader. */
const char *qdq_place_stay(qdq_placing *p, const qdq_node *n, const qdq_tensor *w);

/* Once all readers of n are placed: does the rule `late` of this 8-bit node hold? */
bool qdq_place_stays_late(const qdq_placing *p, const qdq_node *n);

/* --- place_chains.c: targets that fuse chains of Q/DQ nodes, as ONNX Runtime does ------------- */

qdq_place_way qdq_place_chains;

/* --- place_partitions.c: targets that fuse kernels over several nodes, as TensorRT does ------- */

qdq_place_way qdq_place_partitions;

/* --- place_weights.c: nodes whose activations stay float; adds to what the plan has ----------- */

qdq_place_way qdq_place_weights;

/* --- place_emit.c: writes the decisions into the plan ----------------------------------------- */

qdq_status qdq_place_emit(qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* --- place_tied.c: what operators join, and the result, share a scale ------------------------- */

/* Groups entries that have been written. */
qdq_status qdq_place_tie(qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* Values whose tensors share one scale: placement ties them pair by pair, calibration pools their
 * ranges. By value id: another member's id + 1; 0: in no group. */
typedef struct qdq_groups {
    const qdq_graph *graph;
    uint32_t *next;
} qdq_groups;

/* All values of the graph, each on its own, in scratch memory. False: out of memory. */
bool qdq_groups_start(qdq_groups *s, qdq_placing *p);
void qdq_groups_tie(qdq_groups *s, const qdq_value *a, const qdq_value *b);

/* Writes the groups into the entries of the plan; what has its scale already is left out. */
qdq_status qdq_groups_name(const qdq_groups *s, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_PLACE_STATE_H */
