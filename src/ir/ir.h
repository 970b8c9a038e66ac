/* ir.h - the graph: what a model is in memory. Structure only; edit.h is the one place that changes
 * it.
 *
 * Lifetimes. Everything below lives in the model's arena until the model is freed, removed things
 * included (they answer true to `dead`), so pointers stay valid across edits. Weights are outside
 * the arena: counted mappings that clones share and nothing writes to.
 *
 * Identity. A pointer is the identity of a node or value; `id` is dense within the graph, never
 * reused, and meant for side tables: a pass keeps its own data in arrays indexed by id, never in
 * the node.
 *
 * What the library does not model (documentation strings, device configurations, fields of newer
 * ONNX versions, ...) is kept verbatim as wire bytes in `unknown_fields` and written again. */
#ifndef QDQ_IR_H
#define QDQ_IR_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/elem_info.h"
#include "base/file.h"
#include "base/map.h"
#include "base/span.h"
#include "base/vec.h"
#include "qdq/model.h"

typedef struct qdq_graph qdq_graph;
typedef struct qdq_node qdq_node;
typedef struct qdq_value qdq_value;
typedef struct qdq_use qdq_use;
typedef struct qdq_attr qdq_attr;
typedef struct qdq_tensor qdq_tensor;
typedef struct qdq_type qdq_type;
typedef struct qdq_function qdq_function;

typedef enum qdq_op {
    /* of another domain, or not in ops.def */
    QDQ_OP_UNKNOWN = 0,
#define OP(ENUM, name, flags, infer, values) QDQ_OP_##ENUM,
#include "ir/ops.def"
#undef OP
    QDQ_OP_COUNT
} qdq_op;

enum { QDQ_OP_PURE = 1, QDQ_OP_NONDET = 2, QDQ_OP_CONTROL = 4 };

typedef struct qdq_op_info {
    const char *name;
    unsigned flags;
} qdq_op_info;

enum { QDQ_MAX_NESTING = 64 }; /* graphs inside graphs, types inside types: what readers accept */

const qdq_op_info *qdq_op_get_info(qdq_op op); /* never NULL; name "?" for unknown */
/* "" and "ai.onnx" are the default domain */
qdq_op qdq_op_find(const char *domain, const char *name);

/* --- types and shapes: immutable, may be shared ----------------------------------------------- */

typedef struct qdq_dim {
    /* >= 0: known; -1: not */
    int64_t value;
    /* the symbol of a dim that is not known, or NULL; interned */
    const char *param;
} qdq_dim;

/* Certainly the same number. */
static inline bool qdq_dim_same(qdq_dim a, qdq_dim b)
{
    return a.value >= 0 ? a.value == b.value : a.param != NULL && b.value < 0 && a.param == b.param;
}

typedef enum qdq_type_kind {
    QDQ_TYPE_TENSOR,
    QDQ_TYPE_SPARSE,
    QDQ_TYPE_SEQUENCE,
    QDQ_TYPE_MAP,
    QDQ_TYPE_OPTIONAL,
    /* kept as wire bytes in `unknown_fields` */
    QDQ_TYPE_OTHER
} qdq_type_kind;

struct qdq_type {
    qdq_type_kind kind;
    /* tensor, sparse; key type of a map */
    qdq_elem elem;
    /* tensor, sparse; -1: unknown */
    int rank;
    /* rank of them */
    const qdq_dim *dim;
    /* sequence, optional, map (value type) */
    const qdq_type *inner;
    /* Denotation and unknown fields of TypeProto. If a deeper level has what the members cannot say
     * (denotation of a dim, unknown fields, an unknown kind), all of the TypeProto, which is then
     * written instead of the members: whoever derives a type from another one leaves
     * `unknown_fields` empty. */
    qdq_span unknown_fields;
};

/* --- tensors: constants ----------------------------------------------------------------------- */

typedef enum qdq_storage {
    /* `bytes`: raw little-endian data inside `owner` */
    QDQ_STORE_BYTES,
    /* typed fields inside the wire form `wire`; decoded on demand */
    QDQ_STORE_WIRE,
    /* `strings` */
    QDQ_STORE_STRINGS
} qdq_storage;

struct qdq_tensor {
    /* "" inside attributes that name none */
    const char *name;
    qdq_elem elem;
    int rank;
    const int64_t *dim;
    /* elements; overflow was refused when it was read */
    int64_t count;
    qdq_storage storage;
    /* QDQ_STORE_BYTES */
    qdq_span bytes;
    /* what `bytes` or `wire` lie in; the model holds it (qdq_model_hold), not the tensor */
    qdq_mapping *owner;
    /* the whole TensorProto as read, unchanged but for its name; else empty */
    qdq_span wire;
    /* was stored as external data when read */
    bool external;
    /* QDQ_STORE_STRINGS: count of them */
    const qdq_span *strings;
    /* documentation, metadata, unknown fields */
    qdq_span unknown_fields;
};

typedef struct qdq_sparse {
    const qdq_tensor *values, *indices;
    int rank;
    const int64_t *dim;
    /* SparseTensorProto as read */
    qdq_span wire;
} qdq_sparse;

/* The elements of a shape; false: a dim is negative, or they cannot be counted. */
bool qdq_dims_count(int rank, const int64_t *dim, int64_t *count);

/* The axes that a list names of a tensor of `rank`, each once; a negative one counts from the end.
 * list NULL: the first `count` of them. axis[0..count) and marks mark[0..rank) may be NULL.
 * QDQ_E_FORMAT: an axis beyond the rank, or twice. */
qdq_status qdq_axes_read(const int64_t *list, int64_t count, int rank, int *axis, bool *mark,
                         qdq_error *err);

/* Raw little-endian elements of `t` in *data: points into its mapping, or, for typed fields, is
 * decoded into `scratch`. Packed 2 and 4 bit types stay packed. Strings are QDQ_E_UNSUPPORTED. The
 * bytes may be unaligned: read them with memcpy, or ask for an aligned copy. */
qdq_status qdq_tensor_data(const qdq_tensor *t, qdq_arena *scratch, qdq_span *data, qdq_error *err);

/* All elements converted to double, float or int64 in `scratch` (at most `max` of them, else
 * QDQ_E_UNSUPPORTED). All element types but strings and complex. int64: floating point types are
 * refused. */
qdq_status qdq_tensor_floats(const qdq_tensor *t, qdq_arena *scratch, float **out, qdq_error *err);
qdq_status qdq_tensor_ints(const qdq_tensor *t, qdq_arena *scratch, int64_t max, int64_t **out,
                           qdq_error *err);
/* The one element of a real or integer tensor (exact for up to 53 bits); false for all others. */
bool qdq_tensor_scalar(const qdq_tensor *t, double *x);
/* All elements of such a tensor are x, exactly. Looks no further than to the first that is not. */
bool qdq_tensor_all(const qdq_tensor *t, double x);

/* One element of packed data as float or int64; `i` counts elements, 2 and 4 bit types included.
 * Strings and complex give NaN. qdq_elem_int: integers and bool only, else 0. */
float qdq_elem_float(qdq_elem e, const void *data, int64_t i);
/* Of numbers: exact but for integers of more than 53 bits. */
double qdq_elem_double(qdq_elem e, const void *data, int64_t i);
int64_t qdq_elem_int(qdq_elem e, const void *data, int64_t i);
/* The inverse, rounded to nearest even. False, and nothing written, if the type has no value near x
 * or is of the other kind: float8 without infinity, 300 as uint8, 0.3 as float8e8m0. */
bool qdq_elem_put_float(qdq_elem e, void *data, int64_t i, double x);
bool qdq_elem_put_int(qdq_elem e, void *data, int64_t i, int64_t x);
/* Some of `count` elements is NaN, which is equal to nothing; complex numbers and strings count as
 * NaN. */
bool qdq_elem_has_nan(qdq_elem e, const void *data, int64_t count);
bool qdq_tensor_same_type(const qdq_tensor *a, const qdq_tensor *b); /* element type, rank, dims */

/* --- attributes ------------------------------------------------------------------------------- */

typedef enum qdq_attr_type {
    QDQ_ATTR_UNDEFINED = 0,
#define ATTR(ENUM, number, name, ITEM, type, field) QDQ_ATTR_##ENUM = number,
#include "ir/attr_types.def"
#undef ATTR
} qdq_attr_type;

typedef struct qdq_attr_type_info {
    const char *name;
    /* of lists: what one item is; else the type itself */
    qdq_attr_type item;
    /* of an item in memory */
    size_t size;
} qdq_attr_type_info;

const qdq_attr_type_info *qdq_attr_type_get_info(qdq_attr_type t); /* never NULL */

struct qdq_attr {
    const char *name;
    qdq_attr_type type;
    /* ref_attr_name inside functions, or NULL */
    const char *ref;
    /* of the list kinds; 1 for the others */
    size_t count;
    union {
        float f;
        int64_t i;
        qdq_span s;
        const qdq_tensor *t;
        qdq_graph *g;
        const qdq_sparse *sparse;
        const qdq_type *type;
        const float *floats;
        const int64_t *ints;
        const qdq_span *strings;
        const qdq_tensor *const *tensors;
        qdq_graph *const *graphs;
        const qdq_sparse *const *sparses;
        const qdq_type *const *types;
    } v;
    qdq_span unknown_fields;
};

static inline bool qdq_attr_is_list(const qdq_attr *a)
{
    return qdq_attr_type_get_info(a->type)->item != a->type;
}

/* Its list, or its single value; and item i of that. */
static inline size_t qdq_attr_items(const qdq_attr *a)
{
    return qdq_attr_is_list(a) ? a->count : 1;
}

static inline const void *qdq_attr_item(const qdq_attr *a, size_t i)
{
    return qdq_attr_is_list(a) ? (const char *)a->v.ints + i * qdq_attr_type_get_info(a->type)->size
                               : (const char *)&a->v;
}

/* --- values, nodes, graphs -------------------------------------------------------------------- */

/* Input slot `index` of `node` reads `value` (NULL: the optional input is left out). The uses of
 * one value form a list in the order in which they were made. */
struct qdq_use {
    qdq_value *value;
    qdq_node *node;
    uint32_t index;
    qdq_use *prev, *next;
};

struct qdq_value {
    /* unique in its graph and the graphs around it; never "" */
    const char *name;
    uint32_t id;
    /* of producer */
    uint32_t out_index;
    qdq_graph *graph;
    /* NULL: graph input, initializer, or undefined */
    qdq_node *producer;
    /* uses, those in subgraphs (captures) included */
    qdq_use *first, *last;
    uint32_t n_use;
    /* times it is listed as an output of its graph */
    uint32_t n_output;
    bool is_input;
    bool dead;
    /* listed in value_info when read: written again even if it is an initializer */
    bool has_info;
    /* NULL: unknown */
    const qdq_type *type;
    /* initializer, or NULL */
    qdq_tensor *init;
    qdq_sparse *sparse;
    /* of its ValueInfoProto */
    qdq_span unknown_fields;
};

struct qdq_node {
    qdq_node *prev, *next;
    qdq_graph *graph;
    uint32_t id;
    bool dead;
    qdq_op op;
    /* operator name, interned; "op_type" in ONNX */
    const char *type;
    /* "" for the default domain, interned */
    const char *domain;
    const char *overload;
    /* "" if it has none */
    const char *name;
    qdq_use *in;
    uint32_t n_in;
    uint32_t n_out;
    /* NULL: the optional output is left out */
    qdq_value **out;
    qdq_attr **attr;
    uint32_t n_attr;
    qdq_span unknown_fields;
};

struct qdq_graph {
    qdq_model *model;
    /* in model->graphs */
    uint32_t index;
    /* its owner was removed; its nodes and values are dead, too */
    bool dead;
    /* the node whose attribute this is; NULL: main graph or function body */
    qdq_node *owner;
    /* the function whose body this is, or NULL */
    qdq_function *function;
    const char *name;
    /* sentinel of the node list */
    qdq_node end;
    /* by id, dead ones included */
    QDQ_VEC(qdq_value *) values;
    QDQ_VEC(qdq_value *) inputs;
    QDQ_VEC(qdq_value *) outputs;
    /* values with init or sparse, in file order; skip the dead ones */
    QDQ_VEC(qdq_value *) inits;
    /* live nodes */
    uint32_t n_node;
    uint32_t next_node_id;
    /* value name -> qdq_value *, live ones */
    qdq_map by_name;
    /* every edit counts itself; subgraph edits count in all graphs around */
    uint64_t edits;
    /* where qdq_model_input() stopped (model_io.c); 0 after an edit */
    atomic_uint_least64_t input_cursor;
    /* documentation, quantization annotations, metadata, unknown fields */
    qdq_span unknown_fields;
};

typedef struct qdq_opset {
    /* interned; "" for the default domain */
    const char *domain;
    int64_t version;
    qdq_span unknown_fields;
} qdq_opset;

struct qdq_function {
    const char *name, *domain, *overload;
    /* inputs and outputs are the function's */
    qdq_graph *body;
    /* attribute names without default */
    QDQ_VEC(const char *) attrs;
    /* with default */
    QDQ_VEC(qdq_attr *) attr_protos;
    QDQ_VEC(qdq_opset) opsets;
    qdq_span unknown_fields;
};

typedef struct qdq_prop {
    const char *key, *value;
} qdq_prop;

struct qdq_model {
    qdq_arena arena;
    /* interned text */
    qdq_map names;
    /* mapping -> 1, what `mappings` holds */
    qdq_map held;
    int64_t ir_version;
    const char *producer_name, *producer_version;
    QDQ_VEC(qdq_opset) opsets;
    /* metadata_props */
    QDQ_VEC(qdq_prop) props;
    qdq_graph *graph;
    QDQ_VEC(qdq_function *) functions;
    /* one reference each: model file, external files, heap weights */
    QDQ_VEC(qdq_mapping *) mappings;
    /* all graphs, main first, dead ones included: QDQ_FOR_GRAPHS */
    QDQ_VEC(qdq_graph *) graphs;
    /* as given to load; "" when made in memory */
    const char *path;
    /* some tensor was external when read */
    bool had_external;
    /* of opsets, functions, properties; those of graphs count there */
    uint64_t edits;
    qdq_span unknown_fields;
};

/* Walks the live nodes of a graph in order. The body may remove any node, the current one included,
 * and may insert anywhere; nodes inserted behind the current one after its removal are not
 * visited. */
#define QDQ_FOR_NODES(n, g)                                                                        \
    for (qdq_node *n = qdq_live_from((g), (g)->end.next); n != NULL;                               \
         n = qdq_live_from((g), n->next))

/* Walks the live graphs of a model: the main one, bodies of subgraphs and of functions. */
#define QDQ_FOR_GRAPHS(g, m)                                                                       \
    for (qdq_graph *g = qdq_live_graph((m), 0); g != NULL; g = qdq_live_graph((m), (g)->index + 1))

/* Walks the live initializers of a graph in file order; the body may remove the current one with
 * qdq_value_remove. */
#define QDQ_FOR_INITS(v, g)                                                                        \
    for (size_t v##_i = 0; v##_i < (g)->inits.n; v##_i++)                                          \
        for (qdq_value *v = (g)->inits.at[v##_i]; v != NULL && !v->dead; v = NULL)

static inline qdq_graph *qdq_live_graph(const qdq_model *m, size_t i)
{
    while (i < m->graphs.n && m->graphs.at[i]->dead)
        i++;
    return i < m->graphs.n ? m->graphs.at[i] : NULL;
}

static inline qdq_node *qdq_live_from(const qdq_graph *g, qdq_node *n)
{
    while (n->dead)
        n = n->next;
    return n == &g->end ? NULL : n;
}

/* Walks the uses of a value; the body may redirect or remove the current use. */
#define QDQ_FOR_USES(u, val)                                                                       \
    for (qdq_use *u = (val)->first, *u##_next = u ? u->next : NULL; u != NULL;                     \
         u = u##_next, u##_next = u ? u->next : NULL)

/* --- questions -------------------------------------------------------------------------------- */

/* Interned copy of text, "" included: equal text, equal pointer. NULL: out of memory. All names,
 * types, domains and symbols in the structs above are interned. */
const char *qdq_intern(qdq_model *m, const char *s);
const char *qdq_intern_n(qdq_model *m, const char *s, size_t n);

qdq_value *qdq_graph_find(const qdq_graph *g, const char *name); /* in this graph only */
/* also in the graphs around it */
qdq_value *qdq_graph_resolve(const qdq_graph *g, const char *name);
qdq_value *qdq_graph_resolve_n(const qdq_graph *g, const char *name, size_t size);
/* Does the type, which may be NULL, say what the tensor is? */
bool qdq_type_is_of(const qdq_type *type, const qdq_tensor *t);
/* A text attribute, or NULL: then the fallback, which may be NULL, too. */
bool qdq_attr_string_is(const qdq_attr *a, const char *text, const char *fallback);
int64_t qdq_model_opset_of(const qdq_model *m, const char *domain); /* 0: not imported */
/* "" for "ai.onnx", else itself */
const char *qdq_plain_domain(const char *domain);

/* The opset of the default domain where the graph stands: a function may import its own. */
int64_t qdq_graph_opset(const qdq_graph *g);

/* The node of g that `n`, which may be deep inside a subgraph, belongs to; NULL: none. */
static inline qdq_node *qdq_node_within(const qdq_graph *g, qdq_node *n)
{
    while (n != NULL && n->graph != g)
        n = n->graph->owner;
    return n;
}

/* Has any node a body, outside of functions? */
bool qdq_model_has_bodies(const qdq_model *m);

/* The function in whose body the graph is, at whatever depth, or NULL. Initializers cannot be
 * there, and types differ from call to call. */
const qdq_function *qdq_graph_function(const qdq_graph *g);
static inline bool qdq_graph_in_function(const qdq_graph *g)
{
    return qdq_graph_function(g) != NULL;
}

bool qdq_op_is_in(qdq_op op, const qdq_op *list); /* which ends with QDQ_OP_UNKNOWN */
#define QDQ_OP_IS_IN(op, ...) qdq_op_is_in(op, (const qdq_op[]){__VA_ARGS__, QDQ_OP_UNKNOWN})

/* Conv, ConvTranspose, Gemm, MatMul: products of an activation with input 1. */
bool qdq_op_is_linear(qdq_op op);

static inline qdq_value *qdq_node_in(const qdq_node *n, uint32_t i)
{
    return i < n->n_in ? n->in[i].value : NULL;
}
static inline qdq_value *qdq_node_out(const qdq_node *n, uint32_t i)
{
    return i < n->n_out ? n->out[i] : NULL;
}

/* The tensor of a value that is known now: an initializer that no caller can override (not an
 * input, or IR version below 4), or the output of a Constant node with a `value`. Else NULL, as for
 * v NULL. */
const qdq_tensor *qdq_value_const(const qdq_value *v);

/* The same of input i of n. */
static inline const qdq_tensor *qdq_node_const(const qdq_node *n, uint32_t i)
{
    return qdq_value_const(qdq_node_in(n, i));
}

/* The type of the elements of a tensor; QDQ_UNDEFINED: not known, no tensor, or v is NULL. */
static inline qdq_elem qdq_value_elem(const qdq_value *v)
{
    return v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR ? v->type->elem
                                                                            : QDQ_UNDEFINED;
}

/* That of its initializer, if it has one. */
static inline qdq_elem qdq_value_data_elem(const qdq_value *v)
{
    return v != NULL && v->init != NULL ? v->init->elem : qdq_value_elem(v);
}

/* QuantizeLinear or DequantizeLinear? */
static inline bool qdq_node_is_qdq(const qdq_node *n)
{
    return n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* True if an output of the node is read, in a subgraph maybe, or is a graph output. */
bool qdq_node_is_read(const qdq_node *n);
bool qdq_nodes_have(qdq_node *const *nodes, size_t n, const qdq_node *node);
/* Nothing else reads v; it is no output of the graph either. */
bool qdq_nodes_alone_read(qdq_node *const *nodes, size_t n, const qdq_value *v);

/* Its only reader, if it has exactly one use in its own graph and is no graph output; else NULL. */
qdq_node *qdq_value_only_user(const qdq_value *v);

/* Known static shape: rank and all dims >= 0. */
bool qdq_value_static_shape(const qdq_value *v, int *rank, int64_t *dim, int max_rank);

const qdq_attr *qdq_node_attr(const qdq_node *n, const char *name); /* NULL: not there */
int64_t qdq_node_int(const qdq_node *n, const char *name, int64_t fallback);
float qdq_node_float(const qdq_node *n, const char *name, float fallback);
bool qdq_node_string_is(const qdq_node *n, const char *name, const char *text,
                        const char *fallback);
/* *ints NULL and false when it is not there. */
bool qdq_node_ints(const qdq_node *n, const char *name, const int64_t **ints, size_t *count);

/* The graphs that an attribute holds: none, one, or a list. */
qdq_graph *const *qdq_attr_graphs(const qdq_attr *a, size_t *n);
/* Appends the graphs that hang on n: for walks that go into bodies without recursion. */
typedef QDQ_VEC(qdq_graph *) qdq_graph_list;
bool qdq_node_push_graphs(const qdq_node *n, qdq_arena *memory, qdq_graph_list *list);

/* True if no other node of the model has its name; false for a node without one. */
bool qdq_node_has_own_name(const qdq_node *n);

/* How users name a node: its name if that is there and no other node of the model has it, else
 * "Op@first_output". Text of the model or in `scratch`; never NULL, out of memory gives "?". */
const char *qdq_node_label(const qdq_node *n, qdq_arena *scratch);
/* Is it that "?"? */
bool qdq_node_label_failed(const char *label);
/* Label -> node (ptr), for the nodes of g; of two with one label the first stays, also one that is
 * there already. The labels are as above. False: out of memory. */
bool qdq_graph_map_labels(const qdq_graph *g, qdq_arena *scratch, qdq_map *nodes);

#endif /* QDQ_IR_H */
