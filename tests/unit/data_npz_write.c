/* data_npz_write.c - what is written is read again. */
#include "quant/data/npz_write.h"

#include <unistd.h>

#include "support/test.h"

TEST(arrays_are_read_again)
{
    float x[6] = {1, -2, 3.5f, 4, 5, 6};
    int64_t k[2] = {7, -8};
    const qdq_named_array in[] = {
        {"x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {2, 3}, .data = x, .bytes = sizeof x}},
        {"k", {.elem = QDQ_INT64, .rank = 1, .dim = {2}, .data = k, .bytes = sizeof k}}};
    const char *path = test_path("out.npz");
    qdq_model *m = test_model(
        "g (float[1,3] x, int64[1] k) => (float[1,3] y) { f = Cast<to=1>(k) y = Add(x, f) }");
    const qdq_named_array *out;
    qdq_data *d;
    size_t n;
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_npz_write(path, in, 2, &err));
    assert_ok(qdq_npz_write(path, in, 2, &err)); /* over what is there */
    assert_ok(qdq_data_open(path, m, NULL, &d, &err));
    assert_int_equal(qdq_data_count(d), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(qdq_data_get(d, i, &out, &n, &err));
        assert_int_equal(n, 2);
        assert_memory_equal(out[0].array.data, x + 3 * i, 3 * sizeof *x);
        assert_memory_equal(out[1].array.data, k + i, sizeof *k);
    }
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(what_numpy_has_no_type_for_is_refused)
{
    unsigned char b[2] = {0, 0};
    const qdq_named_array in = {
        "x", {.elem = QDQ_BFLOAT16, .rank = 1, .dim = {1}, .data = b, .bytes = 2}};
    qdq_error err = QDQ_ERROR_INIT;

    assert_fails(QDQ_E_UNSUPPORTED, "no such type",
                 qdq_npz_write(test_path("b.npz"), &in, 1, &err));
    assert_int_not_equal(access(test_path("b.npz"), F_OK), 0);
    assert_fails(
        QDQ_E_IO, "no/such",
        qdq_npz_write(test_path("no/such/b.npz"),
                      &(qdq_named_array){
                          "x", {.elem = QDQ_INT8, .rank = 1, .dim = {2}, .data = b, .bytes = 2}},
                      1, &err));
}
