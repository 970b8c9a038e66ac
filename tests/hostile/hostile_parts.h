/* hostile_parts.h - parts of hostile models, and the functions that write whole ones. */
#ifndef QDQ_HOSTILE_PARTS_H
#define QDQ_HOSTILE_PARTS_H

#include "../perf/gen_proto.h"

enum { F32 = 1, U8 = 2, I8 = 3, I32 = 6, I64 = 7, B8 = 9 };

/* State of the random numbers: the same seed gives the same model. */
extern uint64_t seed;

/* What is wrong with the model, as one line. */
extern char description[200];

/* Shape of the input of put_conv(). */
extern const int64_t hostile_image[4];

/* A number below n, from the seed. */
uint64_t draw(uint64_t n);

/* One of the numbers at which arithmetic goes wrong. */
int64_t extreme(void);

/* Attributes of a node: `node` is the text of the NodeProto. */
void put_attr_int(bytes *node, const char *attr, int64_t v);
void put_attr_ints(bytes *node, const char *attr, const int64_t *v, size_t n);
void put_attr_graph(bytes *node, const char *attr, bytes *graph);

/* A node. Names in `in` and `out` are separated by spaces; "-" is an input that is left out.
 * `attrs` may be NULL, and is empty afterwards. */
void put_op(bytes *graph, const char *op, const char *in, const char *out, bytes *attrs);

/* ValueInfoProto; rank < 0: no shape. A dim of -1 is the symbol N. */
void put_value(bytes *graph, unsigned field, const char *value, int elem, int rank,
               const int64_t *dim);

/* Initializers: of `size` bytes of data (NULL: none), of random floats, of n integers. */
void put_init(bytes *graph, const char *name, int elem, int rank, const int64_t *dim,
              const void *data, size_t size);
void put_floats(bytes *graph, const char *name, int rank, const int64_t *dim);
void put_ints(bytes *graph, const char *name, const int64_t *v, int64_t n);

/* The end of a model: its opsets, and the header around `graph`. */
void put_opset(bytes *m, const char *domain, uint64_t version);
void put_model(bytes *m, bytes *graph, uint64_t opset);

/* x [1,8,6,6] -> Conv -> h, for models that are to be worth quantizing. */
void put_conv(bytes *g);

/* --- kinds of models: each writes a whole one to `m` and sets `description` --- */

void put_wrong_attributes(bytes *m);
void put_depth(bytes *m);
void put_hostile_names(bytes *m);
void put_wrong_shapes(bytes *m);
void put_loops(bytes *m);
void put_external_data(bytes *m);
void put_wrong_qdq(bytes *m);
void put_sizes(bytes *m);
void put_damaged_bytes(bytes *m);

#endif /* QDQ_HOSTILE_PARTS_H */
