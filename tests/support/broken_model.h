/* broken_model.h - sound models, and those with one mistake in a tensor. */
#ifndef QDQ_TEST_BROKEN_MODEL_H
#define QDQ_TEST_BROKEN_MODEL_H

#include "base/file.h"
#include "ir/ir.h"
#include "support/roundtrip.h"

#include <sys/stat.h>
#include <unistd.h>

static const int64_t dims[] = {1, 3};

/* A graph that is sound: x -> Relu -> y. The cases add to it or build their own. */
static inline qdq_buf sound_graph(void)
{
    return relu_graph();
}

static inline void put_node(qdq_buf *graph, const char *op, const char *name, const char *in,
                            const char *out)
{
    qdq_buf node = pb_node(op, name, in, NULL, out);

    pb_message(graph, 1, &node);
}

static inline qdq_buf graph_model(qdq_buf *graph)
{
    return pb_model(graph);
}

static inline qdq_buf tensor_model(qdq_buf *tensor)
{
    qdq_buf graph = sound_graph();

    pb_message(&graph, 5, tensor);
    return pb_model(&graph);
}

/* A float tensor 'w' with these dims and no data yet. */
static inline qdq_buf tensor(int n, const int64_t *dim)
{
    qdq_buf t = PB_NEW;

    for (int i = 0; i < n; i++)
        pb_int(&t, 1, dim[i]);
    pb_int(&t, 2, QDQ_FLOAT);
    pb_text(&t, 8, "w");
    return t;
}

/* --- one mistake each ------------------------------------------------------------------------- */

static inline qdq_buf nameless_initializer(void)
{
    qdq_buf t = PB_NEW;

    pb_int(&t, 2, QDQ_FLOAT);
    pb_bytes(&t, 9, "abcd", 4);
    return tensor_model(&t);
}

static inline qdq_buf negative_dim(void)
{
    qdq_buf t = tensor(2, (int64_t[]){3, -7});

    return tensor_model(&t);
}

static inline qdq_buf overflowing_dims(void)
{
    qdq_buf t = tensor(3, (int64_t[]){INT32_MAX, INT32_MAX, INT32_MAX});

    return tensor_model(&t);
}

static inline qdq_buf overflowing_bytes(void)
{
    qdq_buf t = tensor(1, (int64_t[]){INT64_MAX});

    return tensor_model(&t);
}

static inline qdq_buf too_many_dims(void)
{
    qdq_buf t = tensor(13, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});

    return tensor_model(&t);
}

static inline qdq_buf short_raw_data(void)
{
    qdq_buf t = tensor(1, (int64_t[]){3});

    pb_bytes(&t, 9, "abcdefgh", 8);
    return tensor_model(&t);
}

static inline qdq_buf no_data(void)
{
    qdq_buf t = tensor(1, (int64_t[]){3});

    return tensor_model(&t);
}

static inline qdq_buf few_values(void)
{
    qdq_buf t = tensor(1, (int64_t[]){3});

    pb_bytes(&t, 4, "abcdefgh", 8);
    return tensor_model(&t);
}

static inline qdq_buf odd_packed_floats(void)
{
    qdq_buf t = tensor(1, (int64_t[]){1});

    pb_bytes(&t, 4, "abcde", 5);
    return tensor_model(&t);
}

static inline qdq_buf wrong_typed_field(void)
{
    qdq_buf t = tensor(1, (int64_t[]){1});

    pb_int(&t, 7, 5);
    return tensor_model(&t);
}

static inline qdq_buf two_encodings(void)
{
    qdq_buf t = tensor(1, (int64_t[]){1});

    pb_bytes(&t, 4, "abcd", 4);
    pb_bytes(&t, 9, "abcd", 4);
    return tensor_model(&t);
}

static inline qdq_buf truncated_packed_varint(void)
{
    qdq_buf t = PB_NEW;

    pb_int(&t, 1, 1);
    pb_int(&t, 2, QDQ_INT64);
    pb_bytes(&t, 7, "\xff\xff", 2);
    pb_text(&t, 8, "w");
    return tensor_model(&t);
}

static inline qdq_buf raw_strings(void)
{
    qdq_buf t = PB_NEW;

    pb_int(&t, 1, 1);
    pb_int(&t, 2, QDQ_STRING);
    pb_text(&t, 8, "w");
    pb_bytes(&t, 9, "abcd", 4);
    return tensor_model(&t);
}

static inline qdq_buf element_type(int64_t type)
{
    qdq_buf t = PB_NEW;

    pb_int(&t, 1, 1);
    pb_int(&t, 2, type);
    pb_text(&t, 8, "w");
    pb_bytes(&t, 9, "abcd", 4);
    return tensor_model(&t);
}

static inline qdq_buf no_element_type(void)
{
    return element_type(0);
}

static inline qdq_buf future_element_type(void)
{
    return element_type(99);
}

static inline qdq_buf segmented(void)
{
    qdq_buf t = tensor(1, (int64_t[]){1});

    pb_text(&t, 3, "");
    pb_bytes(&t, 9, "abcd", 4);
    return tensor_model(&t);
}

static inline qdq_buf data_location(void)
{
    qdq_buf t = tensor(1, (int64_t[]){1});

    pb_bytes(&t, 9, "abcd", 4);
    pb_int(&t, 14, 7);
    return tensor_model(&t);
}

static inline qdq_buf external_and_inline(void)
{
    qdq_buf t = tensor(1, (int64_t[]){1});

    pb_bytes(&t, 9, "abcd", 4);
    pb_int(&t, 14, 1);
    return tensor_model(&t);
}

#endif /* QDQ_TEST_BROKEN_MODEL_H */
