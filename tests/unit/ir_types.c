/* ir_types.c - element types, the operator table, single elements. */
#include "support/test.h"

#include <math.h>

#include "ir/ir.h"

TEST(names_are_those_of_onnx_and_lead_back)
{
    for (int e = 1; e < QDQ_ELEM_COUNT; e++)
        assert_int_equal(qdq_elem_from_name(qdq_elem_name((qdq_elem)e)), e);
    assert_string_equal(qdq_elem_name(QDQ_UNDEFINED), "undefined");
    assert_string_equal(qdq_elem_name(QDQ_FLOAT8E4M3FNUZ), "float8e4m3fnuz");
    assert_null(qdq_elem_name((qdq_elem)27));
    assert_null(qdq_elem_name((qdq_elem)-1));
    assert_int_equal(qdq_elem_from_name("int"), QDQ_UNDEFINED);
    assert_int_equal(qdq_elem_from_name("undefined"), QDQ_UNDEFINED);
}

TEST(bytes_pack_narrow_types_and_refuse_overflow)
{
    size_t n = 99;

    assert_true(qdq_elem_bytes(QDQ_FLOAT, 3, &n));
    assert_int_equal(n, 12);
    assert_true(qdq_elem_bytes(QDQ_INT4, 5, &n));
    assert_int_equal(n, 3);
    assert_true(qdq_elem_bytes(QDQ_UINT2, 5, &n));
    assert_int_equal(n, 2);
    assert_true(qdq_elem_bytes(QDQ_UINT2, INT64_MAX, &n));
    assert_true(qdq_elem_bytes(QDQ_COMPLEX128, 0, &n));
    assert_int_equal(n, 0);
    assert_false(qdq_elem_bytes(QDQ_FLOAT, -1, &n));
    assert_false(qdq_elem_bytes(QDQ_FLOAT, INT64_MAX, &n));
    assert_int_equal(n, 0);
    assert_false(qdq_elem_bytes(QDQ_STRING, 1, &n));
    assert_false(qdq_elem_bytes((qdq_elem)77, 1, &n));
    assert_int_equal(qdq_elem_bits(QDQ_BOOL), 8);
}

TEST(every_type_is_an_integer_or_a_float_or_neither)
{
    for (int e = 0; e < QDQ_ELEM_COUNT; e++)
        assert_false(qdq_elem_is_int((qdq_elem)e) && qdq_elem_is_float((qdq_elem)e));
    assert_true(qdq_elem_is_int(QDQ_BOOL));
    assert_true(qdq_elem_is_float(QDQ_FLOAT8E8M0));
    assert_false(qdq_elem_is_float(QDQ_STRING) || qdq_elem_is_float(QDQ_COMPLEX64));
    assert_false(qdq_elem_is_float((qdq_elem)99) || qdq_elem_is_int((qdq_elem)99));
}

TEST(arrays_count_their_elements)
{
    qdq_array a = {.rank = 0};

    assert_int_equal(qdq_array_count(&a), 1);
    a = (qdq_array){.rank = 3, .dim = {2, 0, 5}};
    assert_int_equal(qdq_array_count(&a), 0);
    a = (qdq_array){.rank = 2, .dim = {INT64_MAX, 2}};
    assert_int_equal(qdq_array_count(&a), -1);
    a = (qdq_array){.rank = 1, .dim = {-3}};
    assert_int_equal(qdq_array_count(&a), -1);
}

TEST(operators_are_sorted_and_found)
{
    for (int op = 1; op < QDQ_OP_COUNT; op++) {
        const char *name = qdq_op_get_info((qdq_op)op)->name;

        if (op > 1)
            assert_true(strcmp(qdq_op_get_info((qdq_op)(op - 1))->name, name) < 0);
        assert_int_equal(qdq_op_find("", name), op);
        assert_int_equal(qdq_op_find("ai.onnx", name), op);
        assert_int_equal(qdq_op_find("com.microsoft", name), QDQ_OP_UNKNOWN);
    }
    assert_int_equal(qdq_op_find("", ""), QDQ_OP_UNKNOWN);
    assert_int_equal(qdq_op_find("", "relu"), QDQ_OP_UNKNOWN);
    assert_int_equal(qdq_op_find("", "Zzz"), QDQ_OP_UNKNOWN);
    assert_string_equal(qdq_op_get_info((qdq_op)9999)->name, "?");
    assert_int_equal(qdq_op_get_info(QDQ_OP_IF)->flags, QDQ_OP_CONTROL);
}

/* Every code of every narrow type: to float and back gives the same code, NaN apart. */
TEST(narrow_floats_survive_the_way_to_float_and_back)
{
    static const qdq_elem types[] = {QDQ_FLOAT16,        QDQ_BFLOAT16,   QDQ_FLOAT8E4M3FN,
                                     QDQ_FLOAT8E4M3FNUZ, QDQ_FLOAT8E5M2, QDQ_FLOAT8E5M2FNUZ,
                                     QDQ_FLOAT4E2M1,     QDQ_FLOAT8E8M0};

    for (size_t t = 0; t < QDQ_COUNT(types); t++) {
        unsigned bits = qdq_elem_bits(types[t]);

        for (uint32_t code = 0; code < 1U << bits; code++) {
            uint16_t from = (uint16_t)code, to = 0;
            float x = qdq_elem_float(types[t], &from, 0);

            assert_true(qdq_elem_put_float(types[t], &to, 0, (double)x));
            if (!isnan(x))
                assert_int_equal(to, code);
            else
                assert_true(isnan(qdq_elem_float(types[t], &to, 0)));
        }
    }
}

TEST(known_codes_have_their_known_values)
{
    static const struct {
        qdq_elem elem;
        uint16_t code;
        float value;
    } cases[] = {
        {QDQ_FLOAT16, 0x3c00, 1.0F},          {QDQ_FLOAT16, 0x0001, 0x1p-24F},
        {QDQ_FLOAT16, 0xfc00, -INFINITY},     {QDQ_BFLOAT16, 0x3f80, 1.0F},
        {QDQ_FLOAT8E4M3FN, 0x7e, 448.0F},     {QDQ_FLOAT8E4M3FN, 0x01, 0x1p-9F},
        {QDQ_FLOAT8E4M3FNUZ, 0x7f, 240.0F},   {QDQ_FLOAT8E4M3FNUZ, 0x01, 0x1p-10F},
        {QDQ_FLOAT8E5M2, 0x7b, 57344.0F},     {QDQ_FLOAT8E5M2, 0xfc, -INFINITY},
        {QDQ_FLOAT8E5M2FNUZ, 0x7f, 57344.0F}, {QDQ_FLOAT4E2M1, 0x0f, -6.0F},
        {QDQ_FLOAT8E8M0, 127, 1.0F},          {QDQ_FLOAT8E8M0, 0, 0x1p-127F},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        assert_true(qdq_elem_float(cases[i].elem, &cases[i].code, 0) == cases[i].value);
    assert_true(isnan(qdq_elem_float(QDQ_FLOAT8E4M3FN, "\x7f", 0)));
    assert_true(isnan(qdq_elem_float(QDQ_FLOAT8E4M3FNUZ, "\x80", 0)));
    assert_true(isnan(qdq_elem_float(QDQ_STRING, "\x80", 0)));
    assert_int_equal(qdq_elem_int(QDQ_FLOAT, "\x80\0\0\0", 0), 0);
}

TEST(packed_elements_lie_in_the_low_bits_first)
{
    unsigned char data[2] = {0x18, 0xe4};

    assert_int_equal(qdq_elem_int(QDQ_INT4, data, 0), -8);
    assert_int_equal(qdq_elem_int(QDQ_INT4, data, 1), 1);
    assert_int_equal(qdq_elem_int(QDQ_UINT4, data, 3), 14);
    assert_int_equal(qdq_elem_int(QDQ_INT2, data, 7), -1);
    assert_int_equal(qdq_elem_int(QDQ_UINT2, data, 6), 2);
    assert_true(qdq_elem_put_int(QDQ_INT4, data, 2, -1));
    assert_int_equal(data[1], 0xef);
    assert_true(qdq_elem_put_int(QDQ_UINT2, data, 4, 0));
    assert_int_equal(data[1], 0xec);
}

TEST(rounding_is_to_nearest_even)
{
    uint16_t h = 0;
    unsigned char b = 0;

    assert_true(qdq_elem_put_float(QDQ_FLOAT16, &h, 0, 1 + 0x1p-11));
    assert_int_equal(h, 0x3c00);
    assert_true(qdq_elem_put_float(QDQ_FLOAT16, &h, 0, 1 + 3 * 0x1p-11));
    assert_int_equal(h, 0x3c02);
    /* stays below the overflow */
    assert_true(qdq_elem_put_float(QDQ_FLOAT16, &h, 0, 0x1.ffcp15 + 8));
    assert_int_equal(h, 0x7bff);
    assert_true(qdq_elem_put_float(QDQ_FLOAT8E4M3FN, &b, 0, 460));
    assert_int_equal(b, 0x7e);
    assert_true(qdq_elem_put_float(QDQ_FLOAT8E4M3FNUZ, &b, 0, -0.0)); /* has no minus zero */
    assert_int_equal(b, 0);
}

TEST(values_that_do_not_fit_are_refused)
{
    uint64_t room = 0;

    assert_false(qdq_elem_put_float(QDQ_FLOAT16, &room, 0, 1e6));
    assert_false(qdq_elem_put_float(QDQ_FLOAT16, &room, 0, 1e300));
    assert_false(qdq_elem_put_float(QDQ_FLOAT, &room, 0, 1e300));
    assert_false(qdq_elem_put_float(QDQ_FLOAT8E4M3FN, &room, 0, (double)INFINITY));
    assert_false(qdq_elem_put_float(QDQ_FLOAT4E2M1, &room, 0, (double)NAN));
    assert_false(qdq_elem_put_float(QDQ_FLOAT8E8M0, &room, 0, 3));
    assert_false(qdq_elem_put_float(QDQ_FLOAT8E8M0, &room, 0, -1));
    assert_false(qdq_elem_put_float(QDQ_INT8, &room, 0, 1));
    assert_false(qdq_elem_put_int(QDQ_UINT8, &room, 0, 256));
    assert_false(qdq_elem_put_int(QDQ_INT8, &room, 0, -129));
    assert_false(qdq_elem_put_int(QDQ_BOOL, &room, 0, 2));
    assert_false(qdq_elem_put_int(QDQ_UINT64, &room, 0, -1));
    assert_false(qdq_elem_put_int(QDQ_FLOAT, &room, 0, 1));
    assert_int_equal(room, 0);
}
