/* roundtrip.h - load, write, compare: what the tests of the reader and the writer share. */
#ifndef QDQ_ROUNDTRIP_H
#define QDQ_ROUNDTRIP_H

#include "support/pb_build.h"
#include "support/test.h"

static qdq_error err;

static inline qdq_model *load(const qdq_buf *b)
{
    qdq_model *m = NULL;

    assert_false(b->failed);
    assert_ok(qdq_model_load_bytes(b->data, b->size, "test", NULL, &m, &err));
    return m;
}

/* Reads the bytes, uses them up, and demands the same bytes from the writer. */
static inline void assert_unchanged(qdq_buf *b)
{
    qdq_model *m = load(b);
    void *data;
    size_t size;

    assert_ok(qdq_model_to_bytes(m, NULL, &data, &size, &err));
    if (size != b->size || memcmp(data, b->data, size) != 0) {
        size_t at = 0;
        while (at < size && at < b->size && ((char *)data)[at] == b->data[at])
            at++;
        fail_msg("%zu bytes became %zu, first difference at %zu", b->size, size, at);
    }
    qdq_free(data);
    qdq_model_free(m);
    qdq_buf_free(b);
}

/* Writes, reads and writes again: the second and third time give the same bytes. */
static inline void assert_stable(const qdq_model *m)
{
    qdq_model *again = NULL;
    void *a, *b;
    size_t n_a, n_b;

    assert_ok(qdq_model_to_bytes(m, NULL, &a, &n_a, &err));
    assert_ok(qdq_model_load_bytes(a, n_a, "again", NULL, &again, &err));
    assert_ok(qdq_model_to_bytes(again, NULL, &b, &n_b, &err));
    assert_int_equal(n_a, n_b);
    assert_memory_equal(a, b, n_a);
    qdq_model_free(again);
    qdq_free(a);
    qdq_free(b);
}

/* x -> Relu -> y; `before` and `behind` go in front of and behind what the graph has. */
static inline qdq_buf relu_graph(void)
{
    qdq_buf graph = PB_NEW, node = pb_node("Relu", "r", "x", NULL, "y");
    int64_t dims[] = {1, 3};

    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "y", 2, dims);
    return graph;
}

/* Wraps `inner` (used up) as field `number` of a message of its own. */
static inline qdq_buf wrap(unsigned number, qdq_buf *inner)
{
    qdq_buf outer = PB_NEW;

    pb_message(&outer, number, inner);
    return outer;
}

static inline qdq_buf small_tensor(const char *name)
{
    qdq_buf tensor = PB_NEW;

    pb_int(&tensor, 1, 4);
    pb_int(&tensor, 2, QDQ_UINT8);
    if (name != NULL)
        pb_text(&tensor, 8, name);
    pb_bytes(&tensor, 9, "\1\2\3\4", 4);
    return tensor;
}

#endif /* QDQ_ROUNDTRIP_H */
