/* eval_kernel.h - what the evaluator's dispatch (eval.c) and its kernels (eval_*.c) share. Private
 * to them.
 *
 * A kernel computes one node: it looks at inputs and attributes, asks for its outputs, fills them.
 * What it does not compute it refuses with a reason. Attributes are asked for without a check of
 * each answer: one of the wrong type notes the reason, gives the fallback, and no output is handed
 * out any more. */
#ifndef QDQ_EVAL_KERNEL_H
#define QDQ_EVAL_KERNEL_H

#include "base/fail.h"
#include "opt/eval/eval.h"

enum { QDQ_EVAL_RANK = 16 };

/* SIGNED(int8_t, INT8) and so on: loops for each type of integers that kernels compute in. */
#define QDQ_EVAL_INTEGERS(SIGNED, UNSIGNED)                                                        \
    SIGNED(int8_t, INT8)                                                                           \
    SIGNED(int16_t, INT16)                                                                         \
    SIGNED(int32_t, INT32)                                                                         \
    SIGNED(int64_t, INT64)                                                                         \
    UNSIGNED(uint8_t, UINT8)                                                                       \
    UNSIGNED(uint16_t, UINT16)                                                                     \
    UNSIGNED(uint32_t, UINT32)                                                                     \
    UNSIGNED(uint64_t, UINT64)

typedef struct qdq_eval {
    const qdq_node *node;
    int64_t opset;
    /* n_in of the node; NULL: left out */
    const qdq_const *const *in;
    qdq_const *out;
    /* bytes that outputs may still take, and could at first */
    uint64_t bytes_left, limit;
    /* outputs that the kernel makes in type `actual` will be in type `real` */
    qdq_elem real, actual;
    qdq_arena *memory;
    /* the first reason */
    const char *why;
    bool nomem;
} qdq_eval;

/* False: refused, or out of memory; `c` says which. */
typedef bool qdq_eval_fn(qdq_eval *c);

#define EVAL(OP, kernel, kind, least, most) qdq_eval_fn qdq_eval_##kernel;
#include "opt/eval/eval.def"
#undef EVAL

/* --- the node at work (eval.c) ---------------------------------------------------------------- */

/* return QDQ_REFUSE(c, "axis %d ...", ...); */
#define QDQ_REFUSE(c, ...) (qdq_eval_refuse((c), qdq_arena_printf((c)->memory, __VA_ARGS__)), false)
void qdq_eval_refuse(qdq_eval *c, const char *why); /* NULL: out of memory */
bool qdq_eval_refuse_type(qdq_eval *c, uint32_t i); /* input i has a type that is not computed */
bool qdq_eval_same_types(qdq_eval *c);              /* all inputs that are there, or refuses */

static inline const qdq_const *qdq_eval_in(const qdq_eval *c, uint32_t i)
{
    return i < c->node->n_in ? c->in[i] : NULL;
}

int64_t qdq_eval_int(qdq_eval *c, const char *name, int64_t fallback);
/* 0 or 1: engines differ on others */
bool qdq_eval_flag(qdq_eval *c, const char *name, bool fallback);
float qdq_eval_float(qdq_eval *c, const char *name, float fallback);
/* False: not there (*count 0). */
bool qdq_eval_int_list(qdq_eval *c, const char *name, const int64_t **list, int64_t *count);
bool qdq_eval_string_is(qdq_eval *c, const char *name, const char *text, const char *fallback);

/* A negative axis counts from the end. */
bool qdq_eval_axis(qdq_eval *c, int64_t axis, int rank, int *out);
bool qdq_eval_read_axes(qdq_eval *c, const int64_t *list, int64_t count, int rank, int *axis,
                        bool *mark); /* as qdq_axes_read() */

/* All elements of input i, int32 or int64, in row-major order. A left-out input: *count 0 and *list
 * NULL. */
bool qdq_eval_ints(qdq_eval *c, uint32_t i, const int64_t **list, int64_t *count);
/* As above, of rank 0 or 1; below opset `since` they are the attribute `name`. *list NULL: not
 * there. */
bool qdq_eval_ints_or_attr(qdq_eval *c, uint32_t i, const char *name, int64_t since,
                           const int64_t **list, int64_t *count);
/* Such a list as axes of an array of `rank`, each at most once. *count -1: not there. */
bool qdq_eval_axes(qdq_eval *c, uint32_t i, int64_t since, int rank, bool *mark, int64_t *count);

void *qdq_eval_scratch(qdq_eval *c, int64_t n, size_t size); /* zeroed; NULL: out of memory */

/* The room of output i, zeroed. NULL: refused or out of memory. */
void *qdq_eval_output(qdq_eval *c, uint32_t i, qdq_elem elem, int rank, const int64_t *dim);
/* Output i is the data of x in another shape. */
bool qdq_eval_view(qdq_eval *c, uint32_t i, const qdq_const *x, int rank, const int64_t *dim);

/* Refuses if output 0 has a NaN and no input has. */
bool qdq_eval_check_nan(qdq_eval *c);

/* bytes of an element; whole bytes only arrive at kernels */
static inline size_t qdq_eval_size(qdq_elem e)
{
    return qdq_elem_bits(e) / 8;
}

static inline bool qdq_eval_is_float(qdq_elem e)
{
    return e == QDQ_FLOAT || e == QDQ_DOUBLE;
}

/* Weight of the element that is d away in cubic interpolation. */
double qdq_eval_cubic(double a, double d);

/* Of an array of float or double. */
static inline double qdq_eval_number(const qdq_const *x, int64_t i)
{
    return x->elem == QDQ_FLOAT ? (double)((const float *)x->data)[i]
                                : ((const double *)x->data)[i];
}

static inline void qdq_eval_put_number(qdq_elem e, void *out, int64_t i, double number)
{
    if (e == QDQ_FLOAT)
        ((float *)out)[i] = (float)number;
    else
        ((double *)out)[i] = number;
}

/* Results on their way: floats in double, integers in 64 bits, which wrap. */
typedef union qdq_sum {
    double f;
    int64_t i;
    uint64_t u;
} qdq_sum;

/* n of them become elements `to` and following. */
void qdq_eval_store(const qdq_sum *from, int64_t n, qdq_elem e, void *out, int64_t to);

/* Where line i along an axis of n elements begins, of an array with `inner` behind that axis. */
static inline int64_t qdq_eval_line(int64_t i, int64_t n, int64_t inner)
{
    return i / inner * n * inner + i % inner;
}

static inline int64_t qdq_eval_product(const int64_t *dim, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= dim[i];
    return n;
}

/* --- walks (eval_walk.c) ------------------------------------------------------------------------
 *
 * Several arrays are walked together, in the row-major order of one shape, in runs: the innermost
 * dims that all of them can take as one are one. A step or stride of 0 stands still (broadcasting).
 * The caller fills rank, dim and stride (in elements), then
 *
 *     for (bool more = qdq_walk_begin(&w, 2); more; more = qdq_walk_next(&w))
 *         ... w.run elements from w.offset[k] on, w.step[k] apart, in array k */
enum { QDQ_WALK_RANK = 2 * QDQ_EVAL_RANK, QDQ_WALK_ARRAYS = 4 };

typedef struct qdq_walk {
    int n, rank;
    int64_t dim[QDQ_WALK_RANK], stride[QDQ_WALK_ARRAYS][QDQ_WALK_RANK];
    int64_t run, step[QDQ_WALK_ARRAYS], offset[QDQ_WALK_ARRAYS];
    int64_t at[QDQ_WALK_RANK];
} qdq_walk;

bool qdq_walk_begin(qdq_walk *w, int n); /* false: nothing to walk */
bool qdq_walk_next(qdq_walk *w);

/* The strides of dims in row-major order; all 0 if there are no elements. */
void qdq_eval_strides(int rank, const int64_t *dim, int64_t *stride);
/* The strides of x when it is broadcast to `rank` dims. */
void qdq_eval_broadcast_strides(const qdq_const *x, int rank, int64_t *stride);
/* The shape of n arrays broadcast together (NULLs are passed over). */
bool qdq_eval_broadcast(qdq_eval *c, uint32_t n, const qdq_const *const *x, int *rank,
                        int64_t *dim);

/* Copies elements of `size` bytes as w says: array 0 is `to`, array 1 is `from`. */
void qdq_eval_copy(qdq_walk *w, size_t size, void *to, const void *from);
/* n elements equal to *value. */
void qdq_eval_fill(void *to, int64_t n, size_t size, const void *value);

/* --- arithmetic of two arrays (eval_binary.c) ------------------------------------------------- */

/* n elements of a and b, sa and sb apart, into out, which may be a. */
typedef void qdq_run_fn(const void *a, int64_t sa, const void *b, int64_t sb, void *out, int64_t n);
qdq_run_fn *qdq_eval_run_of(qdq_op op, qdq_elem e); /* NULL: none for that type */

#endif /* QDQ_EVAL_KERNEL_H */
