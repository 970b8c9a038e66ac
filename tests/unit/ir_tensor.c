/* ir_tensor.c - constants: typed fields, conversions, views, sharing. */
#include "support/test.h"

#include "base/buf.h"
#include "ir/edit.h"

/* --- TensorProto by hand ---------------------------------------------------------------------- */

static void varint(qdq_buf *b, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        qdq_buf_putc(b, (char)(x | 0x80));
    qdq_buf_putc(b, (char)x);
}

/* A tensor whose elements stand in field `field` as varints: packed, or one field each. */
static qdq_tensor varints(qdq_buf *b, qdq_elem e, const int64_t *dim, unsigned field, bool packed,
                          const int64_t *x, size_t n)
{
    qdq_tensor t = {
        .name = "w", .elem = e, .rank = 1, .dim = dim, .count = dim[0], .storage = QDQ_STORE_WIRE};
    qdq_buf inner = QDQ_BUF_INIT(1000);

    varint(b, 2 << 3); /* data_type: something to step over */
    varint(b, (uint64_t)e);
    varint(b, 8 << 3 | 2); /* name */
    varint(b, 1);
    qdq_buf_putc(b, 'w');
    for (size_t i = 0; i < n; i++) {
        if (!packed)
            varint(b, field << 3);
        varint(packed ? &inner : b, (uint64_t)x[i]);
    }
    if (packed) {
        varint(b, field << 3 | 2);
        varint(b, inner.size);
        qdq_buf_append(b, inner.data, inner.size);
    }
    qdq_buf_free(&inner);
    t.wire = (qdq_span){(const unsigned char *)b->data, b->size};
    return t;
}

static void assert_ints(const qdq_tensor *t, const int64_t *want)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    int64_t *got;

    assert_ok(qdq_tensor_ints(t, &scratch, 100, &got, &err));
    for (int64_t i = 0; i < t->count; i++)
        assert_int_equal(got[i], want[i]);
    qdq_arena_free(&scratch);
}

TEST(integers_in_typed_fields_are_decoded_packed_or_not)
{
    static const int64_t dim[] = {3};
    static const struct {
        qdq_elem elem;
        unsigned field;
        int64_t x[3];
    } cases[] = {
        {QDQ_INT32, 5, {-5, 0, INT32_MAX}},
        {QDQ_INT8, 5, {-128, 0, 127}},
        {QDQ_UINT8, 5, {255, 0, 1}},
        {QDQ_INT16, 5, {-32768, 0, 32767}},
        {QDQ_UINT16, 5, {65535, 0, 1}},
        {QDQ_BOOL, 5, {1, 0, 1}},
        {QDQ_INT64, 7, {INT64_MIN, -1, INT64_MAX}},
        {QDQ_UINT64, 11, {INT64_MAX, 0, 1}},
        {QDQ_UINT32, 11, {UINT32_MAX, 0, 7}},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        for (int packed = 0; packed < 2; packed++) {
            qdq_buf b = QDQ_BUF_INIT(1000);
            qdq_tensor t = varints(&b, cases[i].elem, dim, cases[i].field, packed, cases[i].x, 3);

            assert_ints(&t, cases[i].x);
            qdq_buf_free(&b);
        }
}

TEST(four_bit_values_come_two_in_a_stored_byte)
{
    static const int64_t dim[] = {3}, stored[] = {0x7f, 0x08}, want[] = {-1, 7, -8};
    qdq_buf b = QDQ_BUF_INIT(1000);
    qdq_tensor t = varints(&b, QDQ_INT4, dim, 5, true, stored, 2);

    assert_ints(&t, want);
    qdq_buf_free(&b);
}

TEST(narrow_floats_come_as_their_bits)
{
    static const int64_t dim[] = {2}, stored[] = {0x3c00, 0xc000};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(1000);
    qdq_tensor t = varints(&b, QDQ_FLOAT16, dim, 5, true, stored, 2);
    float *x;

    assert_ok(qdq_tensor_floats(&t, &scratch, &x, &err));
    assert_true(x[0] == 1.0F && x[1] == -2.0F);
    qdq_arena_free(&scratch);
    qdq_buf_free(&b);
}

TEST(float_fields_are_decoded_in_any_number_of_pieces)
{
    static const int64_t dim[] = {4};
    static const float want[] = {1, 2, 3, 4};
    qdq_tensor t = {.name = "w",
                    .elem = QDQ_FLOAT,
                    .rank = 1,
                    .dim = dim,
                    .count = 4,
                    .storage = QDQ_STORE_WIRE};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(1000);
    float *x;

    varint(&b, 4 << 3 | 2); /* two packed, one alone, one packed */
    varint(&b, 8);
    qdq_buf_append(&b, want, 8);
    varint(&b, 4 << 3 | 5);
    qdq_buf_append(&b, want + 2, 4);
    varint(&b, 4 << 3 | 2);
    varint(&b, 4);
    qdq_buf_append(&b, want + 3, 4);
    t.wire = (qdq_span){(const unsigned char *)b.data, b.size};
    assert_ok(qdq_tensor_floats(&t, &scratch, &x, &err));
    assert_memory_equal(x, want, sizeof want);
    qdq_arena_free(&scratch);
    qdq_buf_free(&b);
}

static void assert_data_fails(const qdq_tensor *t, qdq_status code, const char *part)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_span data;

    assert_fails(code, part, qdq_tensor_data(t, &scratch, &data, &err));
    assert_null(data.data);
    qdq_arena_free(&scratch);
}

TEST(wrong_numbers_of_stored_values_are_refused)
{
    static const int64_t dim[] = {3}, x[] = {1, 2, 3, 4}, zero[] = {0};
    qdq_buf b = QDQ_BUF_INIT(1000);
    qdq_tensor t = varints(&b, QDQ_INT32, dim, 5, true, x, 2);

    assert_data_fails(&t, QDQ_E_FORMAT, "tensor 'w': found 2 stored values, expected 3");
    qdq_buf_free(&b);
    t = varints(&b, QDQ_INT32, dim, 5, false, x, 4);
    assert_data_fails(&t, QDQ_E_FORMAT, "found 4 stored values, expected 3");
    t.wire.size--;
    assert_data_fails(&t, QDQ_E_FORMAT, "cut off or malformed");
    qdq_buf_free(&b);
    t = varints(&b, QDQ_INT32, zero, 5, true, x, 0);
    assert_ints(&t, x);
    qdq_buf_free(&b);
}

TEST(values_out_of_range_are_refused)
{
    static const int64_t dim[] = {2}, x[] = {1, 256}, y[] = {1, -129};
    qdq_buf b = QDQ_BUF_INIT(1000);
    qdq_tensor t = varints(&b, QDQ_UINT8, dim, 5, true, x, 2);

    assert_data_fails(&t, QDQ_E_FORMAT, "the value 256 does not fit uint8");
    qdq_buf_free(&b);
    t = varints(&b, QDQ_INT8, dim, 5, true, y, 2);
    assert_data_fails(&t, QDQ_E_FORMAT, "the value -129 does not fit int8");
    qdq_buf_free(&b);
}

TEST(a_count_that_the_file_cannot_hold_asks_for_no_memory)
{
    static const int64_t dim[] = {INT64_C(1) << 50}, x[] = {1};
    qdq_buf b = QDQ_BUF_INIT(1000);
    qdq_tensor t = varints(&b, QDQ_INT32, dim, 5, true, x, 1);

    assert_data_fails(&t, QDQ_E_FORMAT,
                      "bytes of typed fields, expected 1125899906842624 elements of int32");
    qdq_buf_free(&b);
}

TEST(strings_and_sizes_that_do_not_match_are_refused)
{
    static const int64_t dim[] = {2};
    qdq_tensor t = {.name = "w",
                    .elem = QDQ_STRING,
                    .rank = 1,
                    .dim = dim,
                    .count = 2,
                    .storage = QDQ_STORE_STRINGS};

    assert_data_fails(&t, QDQ_E_UNSUPPORTED, "strings have no numeric data");
    t.elem = QDQ_FLOAT;
    t.storage = QDQ_STORE_BYTES;
    t.bytes = (qdq_span){(const unsigned char *)"abc", 3};
    assert_data_fails(&t, QDQ_E_FORMAT, "tensor 'w': found 3 bytes of data, expected 8");
    t.elem = (qdq_elem)77;
    assert_data_fails(&t, QDQ_E_UNSUPPORTED, "2 elements of unknown type");
}

TEST(conversions_say_what_they_cannot_do)
{
    static const int64_t dim[] = {2};
    qdq_model *m = qdq_model_new();
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    int64_t *ints;
    float *floats;
    void *data;
    qdq_tensor *f = qdq_tensor_new(m, QDQ_FLOAT, 1, dim, &data);
    qdq_tensor *c = qdq_tensor_new(m, QDQ_COMPLEX64, 1, dim, &data);
    qdq_tensor *i = qdq_tensor_new(m, QDQ_INT8, 1, dim, &data);

    memcpy(data, "\xff\x05", 2);
    assert_fails(QDQ_E_UNSUPPORTED, "found float, expected integers",
                 qdq_tensor_ints(f, &scratch, 9, &ints, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "complex64 cannot be converted to float",
                 qdq_tensor_floats(c, &scratch, &floats, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "found 2 elements, expected at most 1",
                 qdq_tensor_ints(i, &scratch, 1, &ints, &err));
    assert_ok(qdq_tensor_floats(i, &scratch, &floats, &err));
    assert_true(floats[0] == -1 && floats[1] == 5);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
}

TEST(a_tensor_with_one_element_is_a_number)
{
    qdq_model *m = test_graph(__func__);
    static const struct {
        const char *name;
        double want;
    } cases[] = {{"d", 0.1}, {"h", 1}, {"i", -7}, {"q", 9}};
    static const char *const others[] = {"two", "c", "s"};
    double x = 0;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_true(qdq_tensor_scalar(qdq_graph_find(m->graph, cases[i].name)->init, &x));
        assert_true(x == cases[i].want);
    }
    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        assert_false(qdq_tensor_scalar(qdq_graph_find(m->graph, others[i])->init, &x));
    qdq_model_free(m);
}

TEST(impossible_sizes_give_no_tensor)
{
    static const int64_t negative[] = {-1}, huge[] = {INT64_MAX, 3}, large[] = {INT64_MAX / 4 + 1};
    qdq_model *m = qdq_model_new();
    void *data;

    assert_null(qdq_tensor_new(m, QDQ_FLOAT, 1, negative, &data));
    assert_null(qdq_tensor_new(m, QDQ_FLOAT, 2, huge, &data));
    assert_null(qdq_tensor_new(m, QDQ_FLOAT, 1, large, &data));
    assert_null(qdq_tensor_new(m, QDQ_STRING, 0, NULL, &data));
    assert_null(data);
    qdq_model_free(m);
}

TEST(views_share_bytes_and_shares_survive_the_first_model)
{
    static const int64_t dim[] = {2, 2}, flat[] = {4}, bytes[] = {16};
    static const float x[] = {1, 2, 3, 4};
    qdq_model *a = qdq_model_new(), *b = qdq_model_new();
    qdq_tensor *t = qdq_tensor_of_floats(a, 2, dim, x);
    qdq_tensor *v = qdq_tensor_view(a, t, QDQ_FLOAT, 1, flat);
    qdq_tensor *raw = qdq_tensor_view(a, t, QDQ_UINT8, 1, bytes);
    qdq_tensor *s = qdq_tensor_share(b, t);

    assert_ptr_equal(v->bytes.data, t->bytes.data);
    assert_ptr_equal(raw->bytes.data, t->bytes.data);
    assert_ptr_equal(s->bytes.data, t->bytes.data);
    assert_int_equal(v->rank, 1);
    assert_null(qdq_tensor_share(b, t) == NULL ? "" : NULL);
    assert_int_equal(b->mappings.n, 1); /* held once, however many tensors lie in it */
    qdq_model_free(a);
    assert_memory_equal(s->bytes.data, x, sizeof x);
    qdq_model_free(b);
}

TEST(a_view_of_typed_fields_is_decoded)
{
    static const int64_t dim[] = {4}, square[] = {2, 2}, x[] = {1, -2, 3, -4};
    qdq_model *m = qdq_model_new();
    qdq_buf b = QDQ_BUF_INIT(1000);
    qdq_tensor t = varints(&b, QDQ_INT8, dim, 5, true, x, 4);
    qdq_tensor *v = qdq_tensor_view(m, &t, QDQ_INT8, 2, square);

    qdq_buf_free(&b);
    assert_int_equal(v->storage, QDQ_STORE_BYTES);
    assert_ints(v, x);
    qdq_model_free(m);
}
