/* onnx_wire.c - protobuf itself: lengths of every size, references, fields in order, what a reader
 * stops at. */
#include "onnx/schema.h"
#include "support/pb_build.h"
#include "support/test.h"

static qdq_error err;

typedef struct body {
    /* bytes around the inner message */
    size_t before, behind;
    size_t inner;
    bool by_reference;
} body;

static unsigned char filler[1 << 17];

/* Small pieces are copied, large ones referred to: both ways must give the same bytes. */
static void put_filler(qdq_wire_out *out, size_t size, bool by_reference)
{
    for (size_t at = 0; at < size;) {
        size_t n = by_reference || size - at < 100 ? size - at : 100;
        qdq_wire_put(out, (qdq_span){filler + at, n});
        at += n;
    }
}

static void check_nesting(const body *c)
{
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_buf found = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT), inner = PB_NEW, outer = PB_NEW, want = PB_NEW;
    qdq_wire_mark mark = qdq_wire_begin(&out, 7), nested;

    put_filler(&out, c->before, c->by_reference);
    nested = qdq_wire_begin(&out, 200);
    put_filler(&out, c->inner, c->by_reference);
    qdq_wire_end(&out, nested);
    put_filler(&out, c->behind, c->by_reference);
    qdq_wire_end(&out, mark);
    qdq_wire_put_text(&out, 1, (qdq_span){(const unsigned char *)"end", 3});

    qdq_buf_append(&outer, filler, c->before);
    qdq_buf_append(&inner, filler, c->inner);
    pb_message(&outer, 200, &inner);
    qdq_buf_append(&outer, filler, c->behind);
    pb_message(&want, 7, &outer);
    pb_text(&want, 1, "end");

    assert_ok(qdq_wire_to_buf(&out, NULL, &found, &err));
    assert_int_equal(out.total, want.size);
    assert_int_equal(found.size, want.size);
    assert_memory_equal(found.data, want.data, want.size);
    qdq_wire_out_free(&out);
    qdq_buf_free(&found);
    qdq_buf_free(&want);
}

TEST(lengths_of_every_size_are_right)
{
    static const size_t sizes[] = {0,   1,     120,   127,   128,   129,
                                   600, 16380, 16383, 16384, 16385, 100000};

    for (size_t i = 0; i < sizeof filler; i++)
        filler[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t a = 0; a < QDQ_COUNT(sizes); a++)
        for (size_t b = 0; b < QDQ_COUNT(sizes); b++)
            for (size_t k = 0; k < QDQ_COUNT(sizes); k++)
                for (int by_reference = 0; by_reference < 2; by_reference++)
                    check_nesting(&(body){sizes[a], sizes[b], sizes[k], by_reference != 0});
}

TEST(numbers_survive)
{
    static int64_t ints[] = {0, 1, -1, 127, 128, INT32_MIN, INT64_MAX, INT64_MIN};
    static float floats[] = {0.0f, -1.5f, 3.4e38f};
    qdq_pb_attr pb = {.ints = {ints, QDQ_COUNT(ints), 0},
                      .floats = {floats, QDQ_COUNT(floats), 0},
                      .f = {0.25f, true},
                      .i = {-7, true}},
                again;
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_buf bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_span span;

    qdq_wire_encode(&out, &qdq_pb_attr_desc, &pb);
    assert_ok(qdq_wire_to_buf(&out, NULL, &bytes, &err));
    span = (qdq_span){(unsigned char *)bytes.data, bytes.size};
    assert_ok(qdq_wire_decode(&(qdq_wire_in){span.data, &arena, &arena}, &qdq_pb_attr_desc, span,
                              &again, &err));
    assert_int_equal(again.ints.n, QDQ_COUNT(ints));
    assert_memory_equal(again.ints.at, ints, sizeof ints);
    assert_memory_equal(again.floats.at, floats, sizeof floats);
    assert_int_equal(again.i.v, -7);
    assert_float_equal(again.f.v, 0.25f, 0);
    assert_false(again.type.has);
    assert_null(again.name.data);
    qdq_arena_free(&arena);
    qdq_wire_out_free(&out);
    qdq_buf_free(&bytes);
}

TEST(packed_lists_are_read)
{
    qdq_buf bytes = PB_NEW, list = PB_NEW;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pb_attr pb;
    float floats[] = {1, 2};
    qdq_span span;

    pb_varint(&list, 300);
    pb_varint(&list, 1);
    pb_message(&bytes, 8, &list);
    pb_bytes(&bytes, 7, floats, sizeof floats);
    pb_bytes(&bytes, 8, "", 0);
    span = (qdq_span){(unsigned char *)bytes.data, bytes.size};
    assert_ok(qdq_wire_decode(&(qdq_wire_in){span.data, &arena, &arena}, &qdq_pb_attr_desc, span,
                              &pb, &err));
    assert_int_equal(pb.ints.n, 2);
    assert_int_equal(pb.ints.at[0], 300);
    assert_int_equal(pb.floats.n, 2);
    assert_float_equal(pb.floats.at[1], 2, 0);
    qdq_arena_free(&arena);
    qdq_buf_free(&bytes);
}

/* What is kept is written between the known fields by number, and not at all if it is to be left
 * out. */
TEST(kept_fields_are_merged_by_number)
{
    qdq_buf rest = PB_NEW, want = PB_NEW, found = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_pb_node pb = {.name = {(const unsigned char *)"n", 1},
                      .domain = {(const unsigned char *)"d", 1}};

    pb_text(&rest, 6, "doc");
    pb_text(&rest, 9, "left out");
    pb_int(&rest, 30, 1);
    pb_int(&rest, 500, 2);
    pb.head.unknown_fields = (qdq_span){(unsigned char *)rest.data, rest.size};
    pb.head.rest_skip = 1u << 9;
    qdq_wire_encode(&out, &qdq_pb_node_desc, &pb);
    pb_text(&want, 3, "n");
    pb_text(&want, 6, "doc");
    pb_text(&want, 7, "d");
    pb_int(&want, 30, 1);
    pb_int(&want, 500, 2);
    assert_ok(qdq_wire_to_buf(&out, NULL, &found, &err));
    assert_int_equal(found.size, want.size);
    assert_memory_equal(found.data, want.data, want.size);
    qdq_wire_out_free(&out);
    qdq_buf_free(&rest);
    qdq_buf_free(&want);
    qdq_buf_free(&found);
}

TEST(fields_are_gathered_in_order)
{
    qdq_buf bytes = PB_NEW, want = PB_NEW;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_span all, found;

    pb_int(&bytes, 1, 10);
    pb_int(&bytes, 2, 20);
    pb_int(&bytes, 3, 30);
    pb_int(&bytes, 1, 11);
    pb_int(&bytes, 77, 70);
    all = (qdq_span){(unsigned char *)bytes.data, bytes.size};
    assert_ok(qdq_wire_gather(all, 1u << 2 | 1u << 3, &arena, &found, &err));
    assert_ptr_equal(found.data, all.data + 2); /* neighbours are not copied */
    assert_int_equal(found.size, 4);
    assert_ok(qdq_wire_gather(all, 1u << 1 | 1u, &arena, &found, &err));
    pb_int(&want, 1, 10);
    pb_int(&want, 1, 11);
    pb_int(&want, 77, 70);
    assert_int_equal(found.size, want.size);
    assert_memory_equal(found.data, want.data, want.size);
    assert_ok(qdq_wire_gather(all, 1u << 9, &arena, &found, &err));
    assert_int_equal(found.size, 0);
    qdq_arena_free(&arena);
    qdq_buf_free(&bytes);
    qdq_buf_free(&want);
}
