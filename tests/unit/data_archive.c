/* Archives that were damaged, or that lie about what is in them. */
#include <sys/stat.h>

#include "base/file.h"
#include "quant/data/npz.h"
#include "support/npy_file.h"

static qdq_error err;
static unsigned char file[300000];

static size_t load(const char *path)
{
    char *data;
    size_t size;

    assert_ok(qdq_read_file(path, sizeof file, &data, &size, &err));
    memcpy(file, data, size);
    qdq_free(data);
    return size;
}

/* Reads the first array whole, in two pieces. */
static qdq_status read_all(size_t size)
{
    static unsigned char room[300000];
    const qdq_npy *a;
    qdq_npz *z = NULL;

    qdq_status st = qdq_npz_open_bytes(file, size, &z, &err);
    if (st == QDQ_OK && qdq_npz_count(z) == 0)
        st = qdq_fail(&err, QDQ_E_FORMAT, "no arrays");
    if (st == QDQ_OK)
        st = qdq_npz_header(z, 0, &a, &err);
    if (st == QDQ_OK && a->bytes > sizeof room)
        st = qdq_fail(&err, QDQ_E_FORMAT, "grown");
    if (st == QDQ_OK)
        st = qdq_npz_read(z, 0, 0, room, 8, &err);
    if (st == QDQ_OK)
        st = qdq_npz_read(z, 0, 8, room, a->bytes - 8, &err);
    qdq_npz_close(z);
    return st;
}

static unsigned char *find(size_t size, const char *bytes, size_t n)
{
    unsigned char *at = memmem(file, size, bytes, n);

    assert_non_null(at);
    return at;
}

static const char *archive(bool deflate)
{
    static int64_t ramp[64];

    for (int i = 0; i < 64; i++)
        ramp[i] = (int64_t)i * i * 1234567;
    return test_npz_file("archive.npz", deflate,
                         &(test_array){"x", TEST_HEADER("<i8", "(64,)"), ramp, sizeof ramp}, 1);
}

TEST(a_changed_byte_of_the_data_is_found_by_the_checksum)
{
    size_t size = load(archive(false));

    assert_ok(read_all(size));
    find(size, "(64,)", 5)[100] ^= 1; /* "}" alone may be in the date of the archive */
    assert_fails(QDQ_E_FORMAT, "array 'x': damaged", read_all(size));
}

TEST(a_member_that_ends_early_is_damaged)
{
    size_t size = load(archive(true));
    unsigned char *packed = file + 30 + 5; /* local header and name */

    memset(packed + 100, 0, 40);
    assert_fails(QDQ_E_FORMAT, "array 'x': damaged", read_all(size));
}

TEST(a_size_that_the_shape_does_not_need_is_refused)
{
    size_t size = load(archive(false));

    memcpy(find(size, "(64,)", 5), "(63,)", 5);
    assert_fails(QDQ_E_FORMAT, "array 'x': 512 bytes of data, the shape needs 504", read_all(size));
}

TEST(a_member_that_claims_to_unpack_to_very_much_is_refused_before_it_is)
{
    size_t size = load(archive(true));
    unsigned char *central = find(size, "PK\1\2", 4);

    memset(central + 24, 0x7f, 4); /* unpacked size, 2 GB */
    assert_fails(QDQ_E_FORMAT, "more than 1032 times as many", read_all(size));
}

TEST(an_archive_cut_anywhere_is_refused)
{
    size_t size = load(archive(true));

    for (size_t cut = 0; cut < size; cut++)
        assert_int_not_equal(read_all(cut), QDQ_OK);
}

TEST(every_byte_of_an_archive_may_be_wrong)
{
    size_t size = load(archive(true));

    for (size_t i = 0; i < size; i++) {
        unsigned char kept = file[i];

        file[i] ^= 0xff;
        (void)read_all(size); /* refused, or of no consequence: sanitizers watch */
        file[i] = kept;
    }
    assert_ok(read_all(size));
}

TEST(two_arrays_of_one_name_are_refused)
{
    static const char text[16];
    const test_array arrays[] = {{"xa", TEST_HEADER("|u1", "(16,)"), text, 16},
                                 {"xb", TEST_HEADER("|u1", "(16,)"), text, 16}};
    size_t size = load(test_npz_file("twice.npz", false, arrays, 2));

    for (int i = 0; i < 2; i++)
        find(size, "xb.npy", 6)[1] = 'a';
    assert_fails(QDQ_E_FORMAT, "two arrays are named 'xa'", read_all(size));
}

TEST(members_that_are_no_arrays_do_not_count)
{
    static const char text[16];
    const test_array arrays[] = {{"xa", TEST_HEADER("|u1", "(16,)"), text, 16},
                                 {"xb", TEST_HEADER("|u1", "(16,)"), text, 16}};
    size_t size = load(test_npz_file("notes.npz", false, arrays, 2));
    qdq_npz *z = NULL;

    for (int i = 0; i < 2; i++)
        memcpy(find(size, "xa.npy", 6), "xa.txt", 6);
    assert_ok(qdq_npz_open_bytes(file, size, &z, &err));
    assert_int_equal(qdq_npz_count(z), 1);
    assert_string_equal(qdq_npz_name(z, 0), "xb");
    unsigned char room[16];
    /* our own mistake, not the file's */
    assert_int_equal(qdq_npz_read(z, 0, 10, room, 7, &err), QDQ_E_BUG);
    qdq_npz_close(z);
}
