/* shape_infer.h - what the driver of shape inference (shape.c) and the shape functions of the
 * operator families (shape_*.c) share. Private to them.
 *
 * One shape function runs per node and pass. It reads what is known of the inputs, sets what
 * follows for the outputs, and leaves the rest alone: an output it does not set is unknown. A node
 * that cannot be right (inputs that do not fit) is QDQ_E_FORMAT; the driver decides what that
 * means. All facts live in a scratch arena until the whole model is done; only then does the driver
 * write to the model. */
#ifndef QDQ_SHAPE_INFER_H
#define QDQ_SHAPE_INFER_H

#include "base/fail.h"
#include "ir/function.h"
#include "ir/shape.h"

enum {
    /* shapes of higher rank count as unknown: no operator needs them */
    QDQ_INFER_RANK = 32,
    /* tensors whose elements are followed have at most this rank ... */
    QDQ_VALUES_RANK = 4,
    /* ... and at most as many elements */
    QDQ_VALUES_MAX = 64
};

/* A shape under construction. */
typedef struct qdq_shape {
    int rank;
    qdq_dim dim[QDQ_INFER_RANK];
} qdq_shape;

/* --- elements of small tensors ---------------------------------------------------------------- */

typedef enum qdq_know {
    QDQ_KNOW_NOT,
    QDQ_KNOW_NUMBER,
    /* a dim that is not known, but has a name; in float tensors, too: Cast(Shape(x)) */
    QDQ_KNOW_SYMBOL
} qdq_know;

typedef struct qdq_scalar {
    qdq_know know;
    union {
        /* integers and bool */
        int64_t i;
        /* floating point types, rounded as the type rounds */
        double f;
        const char *param;
    } v;
} qdq_scalar;

typedef struct qdq_values {
    qdq_elem elem;
    int rank;
    int64_t dim[QDQ_VALUES_RANK];
    int n;
    qdq_scalar at[];
} qdq_values;

/* --- state ------------------------------------------------------------------------------------ */

/* What is known of one value. */
typedef struct qdq_fact {
    /* NULL: nothing; elem QDQ_UNDEFINED: only the shape */
    const qdq_type *type;
    const qdq_values *values;
    /* for constants, which are read only when somebody asks */
    bool looked;
} qdq_fact;

typedef struct qdq_infer_graph_state {
    /* by value id; NULL: never entered */
    qdq_fact *fact;
    /* nodes, producers first */
    qdq_node **order;
    size_t n_order;
    bool active;
    /* what is here does not hold */
    bool given_up;
} qdq_infer_graph_state;

/* The function call that is being inferred: attributes of its body refer to those of the call. */
typedef struct qdq_infer_call {
    const qdq_function *function;
    const qdq_node *node;
    const struct qdq_infer_call *outer;
} qdq_infer_call;

typedef struct qdq_infer_env {
    qdq_model *model;
    const qdq_shape_opts *opts;
    qdq_arena arena;
    /* by graph index */
    qdq_infer_graph_state *graphs;
    qdq_functions functions;
    /* NULL outside of function bodies */
    const qdq_infer_call *call;
    /* of the default domain, where we are */
    int64_t opset;
    /* nodes that may still be visited in bodies: calls of calls multiply */
    uint64_t work;
    /* elements of small tensors that may still be kept */
    uint64_t elements_left;
    unsigned warnings;
    /* found while looking at a constant */
    bool nomem;
    /* for facts.c: only inputs and constants count, and nothing is logged */
    bool prove;
    /* shape_symbol.c: by address, the symbols that it made, and the names taken */
    qdq_map sums;
    /* of those it made */
    size_t n_sums;
    /* bodies inside bodies */
    int depth;
    /* set_shapes.c; NULL: plain inference */
    struct qdq_adapt *adapt;
} qdq_infer_env;

/* One node at work. */
typedef struct qdq_infer {
    qdq_infer_env *env;
    const qdq_node *node;
    int64_t opset;
    /* an attribute that has the wrong type */
    const char *bad;
    /* whose elements are asked for */
    uint32_t output;
    qdq_error *err;
} qdq_infer;

typedef qdq_status qdq_infer_fn(qdq_infer *c);

/* Elements of the output c->output, a small tensor of proven shape, into `out`, where they are not
 * known yet. False: nothing is known of them. The shape function has run before. */
typedef bool qdq_values_fn(qdq_infer *c, qdq_values *out);

/* One function per name in the columns `infer` and `values` of ops.def. */
#define OP(ENUM, name, flags, infer, values)                                                       \
    qdq_infer_fn qdq_infer_##infer;                                                                \
    qdq_values_fn qdq_values_##values;
#include "ir/ops.def"
#undef OP

/* --- dims (shape_dims.c) ---------------------------------------------------------------------- */

static inline qdq_dim qdq_dim_known(int64_t value)
{
    qdq_dim d = {value, NULL};

    return d;
}

static inline qdq_dim qdq_dim_unknown(void)
{
    qdq_dim d = {-1, NULL};

    return d;
}

static inline qdq_dim qdq_dim_symbol(const char *param)
{
    qdq_dim d = {-1, param};

    return d;
}

bool qdq_mul_int64(int64_t a, int64_t b, int64_t *out); /* false on overflow */
bool qdq_add_int64(int64_t a, int64_t b, int64_t *out);

/* Unknown where it cannot be said; env NULL: of numbers alone. */
qdq_dim qdq_dim_mul(qdq_infer_env *env, qdq_dim a, qdq_dim b);
qdq_dim qdq_dim_add(qdq_infer_env *env, qdq_dim a, qdq_dim b);
qdq_dim qdq_dim_from(const qdq_scalar *s); /* negative numbers are unknown */

/* The better known of two dims that must be the same number. False: they cannot be. */
bool qdq_dim_merge(qdq_dim a, qdq_dim b, qdq_dim *out);

void qdq_shape_fill(qdq_shape *s, int rank); /* of unknown dims; a rank beyond the limit gives -1 */

/* `a` becomes the shape of a and b broadcast together. */
qdq_status qdq_shape_broadcast(qdq_infer *c, qdq_shape *a, const qdq_shape *b);

/* The product of dims [from, to): known, a symbol, or unknown. */
qdq_dim qdq_shape_product(qdq_infer_env *env, const qdq_shape *s, int from, int to);

/* What '+', '-', '*' or '/' (without rest) gives where a symbol takes part (shape_symbol.c). */
qdq_scalar qdq_symbol_combine(qdq_infer_env *env, char op, const qdq_scalar *a,
                              const qdq_scalar *b);
qdq_dim qdq_dim_combine(qdq_infer_env *env, char op, qdq_dim a, qdq_dim b);
qdq_scalar qdq_scalar_of_dim(qdq_dim d);

bool qdq_type_equal(const qdq_type *a, const qdq_type *b);

/* What two alternatives (branches, iterations) have in common; NULL: nothing. */
qdq_status qdq_type_common(qdq_infer_env *env, const qdq_type *a, const qdq_type *b,
                           const qdq_type **out, qdq_error *err);

/* --- inputs, outputs, attributes of the node at work (shape_node.c) --------------------------- */

const qdq_fact *qdq_infer_fact(qdq_infer_env *env, const qdq_value *v); /* its type is up to date */
const qdq_values *qdq_infer_values_of(qdq_infer_env *env, const qdq_value *v);

/* The type of constant data; NULL with env->nomem. */
const qdq_type *qdq_infer_data_type(qdq_infer_env *env, qdq_elem elem, int rank,
                                    const int64_t *dim);

/* the input is not left out */
bool qdq_infer_has(const qdq_infer *c, uint32_t i);
const qdq_type *qdq_infer_in(const qdq_infer *c, uint32_t i); /* any kind; NULL: unknown */
/* of a tensor; or undefined */
qdq_elem qdq_infer_elem(const qdq_infer *c, uint32_t i);
/* false (rank -1): unknown */
bool qdq_infer_shape_of(const qdq_infer *c, uint32_t i, qdq_shape *s);
/* elements of a small tensor, or NULL */
const qdq_values *qdq_infer_known(const qdq_infer *c, uint32_t i);

/* All elements of integer input i are numbers. */
/* room for QDQ_VALUES_MAX */
bool qdq_infer_ints_in(const qdq_infer *c, uint32_t i, int64_t *out, int *n);

qdq_status qdq_infer_set(qdq_infer *c, uint32_t i, const qdq_type *type);
/* s NULL or of rank -1: only the element type is known. */
qdq_status qdq_infer_out(qdq_infer *c, uint32_t i, qdq_elem elem, const qdq_shape *s);

/* Asks `fn` for the elements of output i, and keeps them; not where its shape is not known, or too
 * large. Lack of memory: env->nomem. */
void qdq_infer_values(qdq_infer *c, uint32_t i, qdq_values_fn *fn);
void qdq_infer_keep(qdq_infer *c, uint32_t i, const qdq_values *values);

const qdq_attr *qdq_infer_attr(qdq_infer *c, const char *name, qdq_attr_type type);
int64_t qdq_infer_int(qdq_infer *c, const char *name, int64_t fallback);
bool qdq_infer_ints(qdq_infer *c, const char *name, const int64_t **ints, size_t *count);
bool qdq_infer_string_is(qdq_infer *c, const char *name, const char *text, const char *fallback);

/* A negative axis counts from the end. */
qdq_status qdq_infer_axis(qdq_infer *c, int64_t axis, int rank, int *out);

/* The axes that input `i`, or where the opset is below `since` the attribute "axes", gives, as
 * marks on an array of `rank`. *count: how many, or one of these. */
enum { QDQ_AXES_NONE = -1, QDQ_AXES_UNKNOWN = -2 };
qdq_status qdq_infer_axes(qdq_infer *c, uint32_t i, int64_t since, int rank, bool *mark,
                          int *count);

/* The part of a shape that Shape gives, and what Slice takes: also for their elements. */
void qdq_infer_shape_range(qdq_infer *c, int rank, int *start, int *end);
qdq_status qdq_infer_slice_args(qdq_infer *c, int rank, int *n, int *axis, qdq_scalar *start,
                                qdq_scalar *end, qdq_scalar *step);

/* While shapes are being fixed: the leading number of a constant shape follows the batch
 * (set_shapes.c). */
typedef struct qdq_adapt qdq_adapt;
const qdq_type *qdq_adapt_input(const qdq_adapt *a, const qdq_value *v); /* NULL: as it is */
/* symbols that are now fixed */
qdq_dim qdq_adapt_dim(const qdq_adapt *a, qdq_dim d);
qdq_status qdq_infer_adapt(qdq_infer *c, const qdq_shape *in, const qdq_values *shape,
                           qdq_shape *out);

qdq_status qdq_infer_mismatch(qdq_infer *c, const char *what, qdq_dim found, qdq_dim want);

/* --- the driver (shape.c, shape_commit.c) ----------------------------------------------------- */

/* A run: open, run, commit (or not: then the model is as it was), close. */
qdq_status qdq_infer_open(qdq_infer_env *env, qdq_model *m, const qdq_shape_opts *opts,
                          qdq_error *err);
qdq_status qdq_infer_run(qdq_infer_env *env, qdq_error *err);
qdq_status qdq_infer_commit(qdq_infer_env *env, qdq_error *err); /* all or nothing */
void qdq_infer_close(qdq_infer_env *env);

/* Infers a body whose formal inputs are `in` (n_in may be less than it has); what is known of its
 * outputs goes to `out`. *done false: it was given up (too deep, too much work), nothing is
 * known. */
qdq_status qdq_infer_body(qdq_infer_env *env, qdq_graph *g, const qdq_fact *in, size_t n_in,
                          qdq_fact *out, bool *done, qdq_error *err);
void qdq_infer_give_up(qdq_infer_env *env, const qdq_graph *g);

/* Whether what a run found in this graph is true whenever it is computed: the graph was entered,
 * and so were those around it, to the end, and it is in no function. */
bool qdq_infer_holds(const qdq_infer_env *env, const qdq_graph *g);

/* The call of a function of the model; outputs stay unknown if there is none of that name. */
qdq_status qdq_infer_call_function(qdq_infer *c);

/* What the model's file says of a value, as far as it is believed. */
qdq_status qdq_infer_declared(qdq_infer_env *env, const qdq_value *v, const qdq_type **out,
                              qdq_error *err);

/* --- elements (shape_values.c) ---------------------------------------------------------------- */

const qdq_values *qdq_values_of_tensor(qdq_infer_env *env,
                                       const qdq_tensor *t); /* NULL: too large, no numbers */

/* Results of arithmetic in type e: rounded, and not known where the type cannot hold them. */
qdq_scalar qdq_scalar_int(qdq_elem e, int64_t i);
qdq_scalar qdq_scalar_float(qdq_elem e, double f);

/* The place of element i as one coordinate per axis, and what `in`, broadcast to `rank` axes, has
 * there. */
void qdq_values_coordinates(const qdq_values *of, int i, int64_t *at);
const qdq_scalar *qdq_values_broadcast(const qdq_values *in, int rank, const int64_t *at);

#endif /* QDQ_SHAPE_INFER_H */
