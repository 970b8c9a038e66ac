/* trt_names.h - the names of a graph as TensorRT may use them, and what the name or the metadata of
 * a layer says about its nodes. Names hold anything, delimiters too, so the longest known name that
 * fits counts, not the first delimiter. */
#ifndef QDQ_TRT_NAMES_H
#define QDQ_TRT_NAMES_H

#include "ir/ir.h"

typedef struct qdq_trt_name {
    const char *text;
    /* of this name, or producer of the tensor of this name; NULL: none */
    const qdq_node *node;
    /* NULL: the name of a node */
    const qdq_value *value;
    /* several share it */
    bool ambiguous;
} qdq_trt_name;

/* Sorted: a range of it is a subtree of the trie over all names. */
typedef struct qdq_trt_trie {
    qdq_trt_name *at;
    size_t n, cap;
} qdq_trt_trie;

typedef struct qdq_trt_names {
    const qdq_graph *graph;
    qdq_trt_trie exact;
    /* as Myelin writes them: with '_' for '.' */
    qdq_trt_trie dotless;
} qdq_trt_names;

/* In the arena; g stays as it is meanwhile. */
qdq_status qdq_trt_names_make(const qdq_graph *g, qdq_arena *arena, qdq_trt_names *out,
                              qdq_error *err);

const qdq_trt_name *qdq_trt_name_find(const qdq_trt_trie *t, const char *name, size_t size);

/* The longest known name at the beginning of s behind which `ends` says that one may end; NULL:
 * none. */
typedef bool (*qdq_trt_end_fn)(const char *rest);
const qdq_trt_name *qdq_trt_name_longest(const qdq_trt_trie *t, const char *s, qdq_trt_end_fn ends);

/* The tensor of the graph that a layer's tensor is: exactly, without " copy", or as Myelin writes
 * it; NULL: none. */
const qdq_value *qdq_trt_find_value(const qdq_trt_names *names, const char *tensor);

/* What a text says. */
typedef struct qdq_trt_said {
    /* each once */
    QDQ_VEC(const qdq_node *) nodes;
    /* a part could be one of several names */
    bool ambiguous;
    /* {ForeignNode[a...z]}: ends of a range, not a list */
    bool range;
    /* parts are missing */
    bool truncated;
    /* named after the layer or tensor that it moves numbers for */
    bool movement;
    /* parts that are no known names */
    size_t unknown;
} qdq_trt_said;

/* False: out of memory. */
bool qdq_trt_read_name(const qdq_trt_names *names, const char *layer, qdq_arena *arena,
                       qdq_trt_said *out);
bool qdq_trt_read_metadata(const qdq_trt_names *names, const char *metadata, qdq_arena *arena,
                           qdq_trt_said *out);

bool qdq_trt_said_add(qdq_trt_said *said, const qdq_node *n, qdq_arena *arena); /* NULL: nothing */

#endif /* QDQ_TRT_NAMES_H */
