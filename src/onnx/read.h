/* read.h - what the files of the reader share. Private to read*.c. */
#ifndef QDQ_READ_H
#define QDQ_READ_H

#include "base/file.h"
#include "base/map.h"
#include "ir/ir.h"
#include "onnx/schema.h"

/* Types that were read: large graphs have few different ones, and types may be shared. */
typedef struct qdq_seen_type {
    qdq_span body;
    const qdq_type *type;
} qdq_seen_type;

enum { QDQ_SEEN_TYPES = 64 }; /* places, by hash */

typedef struct qdq_reader {
    qdq_model *m;
    /* what the model's bytes lie in; the model holds it */
    qdq_mapping *file;
    qdq_arena scratch;
    qdq_wire_in in;
    /* NULL: external data is refused */
    const char *external_dir;
    /* why the first file of external data is not there: only their sizes are known; NULL: that is
     * an error */
    qdq_error *missing;
    /* location -> qdq_mapping, each mapped once; the model holds them */
    qdq_map external;
    qdq_seen_type seen[QDQ_SEEN_TYPES];
    /* where the value of the next value info is likely to stand */
    size_t next_info;
} qdq_reader;

/* Messages name the place in this many graphs around it; deeper ones would leave no room for the
 * reason. */
enum { QDQ_READ_PLACES = 6 };

/* Text from the file, interned; `what` stands for it in messages. Text that is not there is "". */
qdq_status qdq_read_name(qdq_reader *r, qdq_span text, const char *what, const char **out,
                         qdq_error *err);

/* The same for domains: "ai.onnx" is another spelling of "". */
qdq_status qdq_read_domain(qdq_reader *r, qdq_span text, const char **out, qdq_error *err);

/* A zeroed array of n elements in the model's arena; for n == 0, too. */
void *qdq_read_array(qdq_reader *r, size_t n, size_t elem_size);

qdq_status qdq_read_type(qdq_reader *r, qdq_span body, int depth, const qdq_type **out,
                         qdq_error *err);
qdq_status qdq_read_tensor(qdq_reader *r, qdq_span body, qdq_tensor **out, qdq_error *err);
qdq_status qdq_read_sparse(qdq_reader *r, qdq_span body, qdq_sparse **out, qdq_error *err);

/* `node` owns the attribute's graphs; NULL (defaults of function attributes): graphs are refused.
 * `depth` counts the graphs around. */
qdq_status qdq_read_attr(qdq_reader *r, qdq_node *node, qdq_span body, int depth, qdq_attr **out,
                         qdq_error *err);

qdq_status qdq_read_nodes(qdq_reader *r, qdq_graph *g, const qdq_wire_member_MSGS *nodes, int depth,
                          qdq_error *err);

/* A nested graph (node != NULL), or the main one into m->graph. */
qdq_status qdq_read_graph(qdq_reader *r, qdq_node *node, qdq_span body, int depth, qdq_graph **out,
                          qdq_error *err);

/* A whole ModelProto into r->m, which is empty. */
qdq_status qdq_read_model(qdq_reader *r, qdq_span bytes, qdq_error *err);

#endif /* QDQ_READ_H */
