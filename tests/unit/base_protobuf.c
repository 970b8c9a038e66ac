/* base_protobuf.c - varints and fields of protocol buffers, and what is none. */
#include "support/test.h"

#include "base/protobuf.h"

static bool read_all(const char *bytes, size_t size, uint64_t *value, size_t *used)
{
    const unsigned char *start = (const unsigned char *)bytes, *p = start;
    bool ok = qdq_varint_read(&p, start + size, value);

    *used = (size_t)(p - start);
    return ok;
}

TEST(varints_have_one_to_ten_bytes)
{
    uint64_t v = 1;
    size_t used;

    assert_true(read_all("\x00\xff", 2, &v, &used) && v == 0 && used == 1);
    assert_true(read_all("\x96\x01", 2, &v, &used) && v == 150 && used == 2);
    assert_true(read_all("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &v, &used));
    assert_true(v == UINT64_MAX && used == 10);
}

TEST(what_is_cut_off_or_too_long_is_no_varint_and_moves_nothing)
{
    uint64_t v;
    size_t used;

    assert_false(read_all("", 0, &v, &used) || used != 0);
    assert_false(read_all("\x96", 1, &v, &used) || used != 0);
    assert_false(read_all("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &v, &used) || used != 0);
    assert_false(read_all("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, &v, &used));
}

TEST(fields_come_one_after_the_other)
{
    static const unsigned char bytes[] =
        "\x08\x05\x12\x02hi\x1d\x01\x02\x03\x04\x21\x01\0\0\0\0\0\0";
    const qdq_span body = {bytes, sizeof bytes}; /* with the NUL: the last byte of the last field */
    qdq_wire_item item;
    size_t pos = 0;

    assert_true(qdq_wire_next(body, &pos, &item));
    assert_true(item.number == 1 && item.type == QDQ_WIRE_VARINT && item.value == 5);
    assert_true(qdq_wire_next(body, &pos, &item));
    assert_true(item.number == 2 && item.payload.size == 2 && item.whole.size == 4);
    assert_memory_equal(item.payload.data, "hi", 2);
    assert_true(qdq_wire_next(body, &pos, &item) && item.value == 0x04030201);
    assert_true(qdq_wire_next(body, &pos, &item) && item.value == 1);
    assert_false(qdq_wire_next(body, &pos, &item));
    assert_int_equal(pos, body.size);
}

TEST(a_field_that_is_none_stops_before_the_end)
{
    static const char *const broken[] = {"\x08",     "\x01\x01", "\x12\x05hi",
                                         "\x1d\x01", "\x21\x01", "\x0b\x01"};
    qdq_wire_item item;

    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        const qdq_span body = {(const unsigned char *)broken[i], strlen(broken[i])};
        size_t pos = 0;

        assert_false(qdq_wire_next(body, &pos, &item));
        assert_int_equal(pos, 0);
    }
}
