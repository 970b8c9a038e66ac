/* The .npy header: what is read, and what is refused with which words. */
#include "quant/data/npy.h"
#include "support/npy_file.h"

static qdq_error err;

static qdq_status parse(int version, const char *header, size_t bytes, qdq_npy *a)
{
    static const char zeros[256];
    size_t size;
    const unsigned char *file = test_npy(version, header, zeros, bytes, &size);

    return qdq_npy_parse(file, size, a, &err);
}

TEST(a_plain_header_gives_type_and_shape)
{
    for (int version = 1; version <= 3; version++) {
        qdq_npy a;

        assert_ok(parse(version, TEST_HEADER("<f4", "(2, 3, 4)"), 96, &a));
        assert_int_equal(a.elem, QDQ_FLOAT);
        assert_int_equal(a.elem_size, 4);
        assert_int_equal(a.rank, 3);
        assert_int_equal(a.dim[0], 2);
        assert_int_equal(a.dim[1], 3);
        assert_int_equal(a.dim[2], 4);
        assert_int_equal(a.count, 24);
        assert_int_equal(a.bytes, 96);
        assert_int_equal(a.offset % 64, 0);
        assert_false(a.swap);
    }
}

TEST(every_type_has_its_element)
{
    static const struct {
        const char *descr;
        qdq_elem elem;
    } of[] = {{"<f2", QDQ_FLOAT16}, {"<f4", QDQ_FLOAT},  {"<f8", QDQ_DOUBLE}, {"|i1", QDQ_INT8},
              {"<i2", QDQ_INT16},   {"<i4", QDQ_INT32},  {"<i8", QDQ_INT64},  {"|u1", QDQ_UINT8},
              {"<u2", QDQ_UINT16},  {"<u4", QDQ_UINT32}, {"<u8", QDQ_UINT64}, {"|b1", QDQ_BOOL}};

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        char header[200];
        qdq_npy a;

        snprintf(header, sizeof header, TEST_HEADER("%s", "(1,)"), of[i].descr);
        assert_ok(parse(1, header, 8, &a));
        assert_int_equal(a.elem, of[i].elem);
    }
}

TEST(odd_but_sound_headers_are_read)
{
    qdq_npy a;

    assert_ok(parse(1, "{\"shape\":(),\"fortran_order\":False,\"descr\":\"<f8\"}", 8, &a));
    assert_int_equal(a.rank, 0);
    assert_int_equal(a.count, 1);
    assert_ok(parse(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3L,), }", 24, &a));
    assert_int_equal(a.count, 3);
    assert_ok(parse(1, TEST_HEADER("<f4", "(0, 5)"), 0, &a));
    assert_int_equal(a.count, 0);
    assert_ok(
        /* both orders */
        parse(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 7, 1), }", 28, &a));
    assert_ok(parse(1, "{'descr': '>i1', 'fortran_order': False, 'shape': (2,), }", 2, &a));
    assert_false(a.swap);
}

TEST(big_endian_elements_are_turned)
{
    qdq_npy a;
    unsigned char data[] = {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0};
    float x[2];

    assert_ok(parse(1, TEST_HEADER(">f4", "(2,)"), 8, &a));
    assert_true(a.swap);
    qdq_npy_to_native(&a, data, sizeof data);
    memcpy(x, data, sizeof x);
    assert_true(x[0] == 1.0f && x[1] == -2.5f);
}

TEST(any_byte_but_zero_is_true)
{
    qdq_npy a;
    unsigned char data[] = {0, 1, 2, 255};

    assert_ok(parse(1, TEST_HEADER("|b1", "(4,)"), 4, &a));
    qdq_npy_to_native(&a, data, sizeof data);
    assert_memory_equal(data, "\0\1\1\1", 4);
}

TEST(broken_headers_are_refused)
{
    static const struct {
        qdq_status code;
        const char *header, *message;
    } of[] = {
        {QDQ_E_FORMAT, "", "expected '{'"},
        {QDQ_E_FORMAT, "[]", "expected '{'"},
        {QDQ_E_FORMAT, "{", "expected 'key': value"},
        {QDQ_E_FORMAT, "{}", "'descr' is missing"},
        {QDQ_E_FORMAT, "{'descr': '<f4', 'fortran_order': False}", "'shape' is missing"},
        {QDQ_E_FORMAT, "{'descr': '<f4', 'shape': (1,)}", "'fortran_order' is missing"},
        {QDQ_E_FORMAT, "{'descr': '<f4' 'shape': (1,)}", "expected 'key': value"},
        {QDQ_E_FORMAT, "{'descr': '<f4', 'descr': '<f4'}", "'descr' twice"},
        {QDQ_E_FORMAT, "{'descr': '<f4', 'order': False}", "unknown key 'order'"},
        {QDQ_E_FORMAT, "{'descr': '<f4', 'fortran_order': 0}", "neither True nor False"},
        {QDQ_E_FORMAT, "{'descr': '<f4', 'fortran_order': Falsehood}", "neither True nor False"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "3"), "'shape' is not a tuple"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(3)"), "'shape' is not a tuple"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(3 4)"), "'shape' is not a tuple"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(-3,)"), "'shape' is not a tuple"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(3,,)"), "'shape' is not a tuple"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(99999999999999999999,)"), "fit 63 bits"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(4294967296, 4294967296)"), "more elements"},
        {QDQ_E_FORMAT, TEST_HEADER("<f8", "(4611686018427387904,)"), "more bytes"},
        {QDQ_E_FORMAT, TEST_HEADER("<f4", "(1,)") "x", "text behind '}'"},
        {QDQ_E_FORMAT, "{'descr': 5}", "'descr' is not a type"},
        {QDQ_E_FORMAT, "{'descr': '<f4\\x'}", "'descr' is not a type"},
        {QDQ_E_FORMAT, "{'descr': '<f4", "'descr' is not a type"},
        {QDQ_E_UNSUPPORTED, "{'descr': [('a', '<f4')]}", "records"},
        {QDQ_E_UNSUPPORTED, TEST_HEADER("|O", "(1,)"), "Python objects"},
        {QDQ_E_UNSUPPORTED, TEST_HEADER("<c8", "(1,)"), "elements of type '<c8'"},
        {QDQ_E_UNSUPPORTED, TEST_HEADER("<U5", "(1,)"), "elements of type '<U5'"},
        {QDQ_E_UNSUPPORTED, TEST_HEADER("|f4", "(1,)"), "elements of type '|f4'"},
        {QDQ_E_UNSUPPORTED, TEST_HEADER("", "(1,)"), "elements of type ''"},
        {QDQ_E_UNSUPPORTED, TEST_HEADER("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1)"),
         "more than 12 dimensions"},
        {QDQ_E_UNSUPPORTED, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
         "Fortran order"},
    };

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        qdq_npy a;

        assert_fails(of[i].code, of[i].message, parse(1, of[i].header, 8, &a));
        assert_int_equal(a.count, 0);
    }
}

TEST(a_file_cut_anywhere_before_its_data_is_refused)
{
    for (int version = 1; version <= 3; version++) {
        size_t size;
        const unsigned char *file =
            test_npy(version, TEST_HEADER("<f4", "(2, 3, 4)"), "", 0, &size);

        for (size_t cut = 0; cut < size; cut++) {
            unsigned char *exact = malloc(cut > 0 ? cut : 1); /* a sanitizer sees the end */
            qdq_npy a;

            assert_non_null(exact);
            memcpy(exact, file, cut);
            assert_int_equal(qdq_npy_parse(exact, cut, &a, &err), QDQ_E_FORMAT);
            free(exact);
        }
    }
}

TEST(other_magic_versions_and_giant_headers_are_refused)
{
    unsigned char file[64] = "\x93NUMPY\x01";
    qdq_npy a;

    /* no header */
    assert_fails(QDQ_E_FORMAT, "expected '{'", qdq_npy_parse(file, sizeof file, &a, &err));
    file[6] = 4;
    assert_fails(QDQ_E_UNSUPPORTED, "version 4.0", qdq_npy_parse(file, sizeof file, &a, &err));
    file[6] = 0;
    assert_fails(QDQ_E_UNSUPPORTED, "version 0.0", qdq_npy_parse(file, sizeof file, &a, &err));
    file[6] = 2;
    memset(file + 8, 0xff, 4);
    assert_fails(QDQ_E_FORMAT, "a header of 4294967295 bytes",
                 qdq_npy_parse(file, sizeof file, &a, &err));
    file[0] = 'x';
    assert_fails(QDQ_E_FORMAT, "does not begin with", qdq_npy_parse(file, sizeof file, &a, &err));
}
