/* onnx_broken_bytes.c - model files cut off or changed at any byte, and external data that attacks.
 */
#include "base/file.h"
#include "ir/ir.h"
#include "support/broken_model.h"
#include "support/roundtrip.h"

#include <sys/stat.h>
#include <unistd.h>

/* --- any byte --------------------------------------------------------------------------------- */

/* Something of everything that has lengths. */
static qdq_buf rich_model(void)
{
    qdq_buf graph = sound_graph(), node = pb_node("Custom", "c", "x", "w", "z"), attr = PB_NEW,
            inner = PB_NEW, b;
    qdq_buf function = PB_NEW, body = pb_node("Relu", "n", "a", NULL, "b"),
            t = tensor(1, (int64_t[]){2});
    qdq_buf sparse = PB_NEW, values = PB_NEW;

    pb_bytes(&t, 4, "abcdefgh", 8);
    pb_message(&graph, 5, &t);
    put_node(&inner, "Relu", "inner", "x", "i");
    pb_value(&inner, 12, "i", 2, dims);
    pb_text(&attr, 1, "body");
    pb_message(&attr, 6, &inner);
    pb_int(&attr, 20, QDQ_ATTR_GRAPH);
    pb_message(&node, 5, &attr);
    pb_text(&attr, 1, "ints");
    pb_int(&attr, 8, 300);
    pb_int(&attr, 20, QDQ_ATTR_INTS);
    pb_message(&node, 5, &attr);
    pb_text(&node, 7, "local");
    pb_message(&graph, 1, &node);
    pb_value(&graph, 13, "z", 2, dims);
    pb_int(&values, 1, 1);
    pb_int(&values, 2, QDQ_INT64);
    pb_int(&values, 7, 5);
    pb_text(&values, 8, "s");
    pb_message(&sparse, 1, &values);
    pb_int(&sparse, 3, 1);
    pb_message(&graph, 15, &sparse);
    b = pb_model_with(&graph, "local");
    pb_entry(&b, 14, "key", "value");
    pb_text(&function, 1, "f");
    pb_text(&function, 4, "a");
    pb_text(&function, 5, "b");
    pb_message(&function, 7, &body);
    pb_bytes(&function, 9, "\x10\x11", 2); /* opset 17 */
    pb_text(&function, 10, "local");
    pb_message(&b, 25, &function);
    return b;
}

/* Whatever is still read must be written, read and written again with the same bytes. */
static void load_any(const char *data, size_t size)
{
    char *exact = malloc(size > 0 ? size : 1);
    qdq_model *m = NULL, *again = NULL;
    void *first = NULL, *second = NULL;
    size_t n_first, n_second;

    assert_non_null(exact);
    if (size > 0)
        memcpy(exact, data, size);
    if (qdq_model_load_bytes(exact, size, "m.onnx", NULL, &m, &err) == QDQ_OK &&
        qdq_model_to_bytes(m, NULL, &first, &n_first, &err) == QDQ_OK) {
        assert_ok(qdq_model_load_bytes(first, n_first, "again", NULL, &again, &err));
        assert_ok(qdq_model_to_bytes(again, NULL, &second, &n_second, &err));
        assert_int_equal(n_first, n_second);
        assert_memory_equal(first, second, n_first);
    }
    qdq_free(first);
    qdq_free(second);
    qdq_model_free(m);
    qdq_model_free(again);
    free(exact);
}

TEST(truncation_at_every_byte_is_survived)
{
    qdq_buf b = rich_model();
    qdq_model *m = load(&b);

    assert_stable(m);
    qdq_model_free(m);
    for (size_t size = 0; size < b.size; size++)
        load_any(b.data, size);
    qdq_buf_free(&b);
}

TEST(every_byte_changed_is_survived)
{
    static const unsigned char changes[] = {0x01, 0x02, 0x04, 0x08, 0x10,
                                            0x20, 0x40, 0x80, 0xff, 0x7f};
    qdq_buf b = rich_model();

    for (size_t at = 0; at < b.size; at++)
        for (size_t i = 0; i < QDQ_COUNT(changes); i++) {
            b.data[at] = (char)(b.data[at] ^ (char)changes[i]);
            load_any(b.data, b.size);
            b.data[at] = (char)(b.data[at] ^ (char)changes[i]);
        }
    qdq_buf_free(&b);
}

/* --- external data ---------------------------------------------------------------------------- */

/* A model file with one external tensor of 2 floats. */
static const char *external_model(const char *location, const char *offset, const char *length)
{
    qdq_buf t = tensor(1, (int64_t[]){2}), b;
    const char *path = test_path("external.onnx");

    if (location != NULL)
        pb_entry(&t, 13, "location", location);
    if (offset != NULL)
        pb_entry(&t, 13, "offset", offset);
    if (length != NULL)
        pb_entry(&t, 13, "length", length);
    pb_int(&t, 14, 1);
    b = tensor_model(&t);
    assert_ok(qdq_write_file(path, true, b.data, b.size, &err));
    qdq_buf_free(&b);
    return path;
}

TEST(external_data_attacks_are_refused)
{
    static const struct {
        const char *location, *offset, *length, *message;
        /* QDQ_OK: either of FORMAT and IO */
        qdq_status status;
    } attacks[] = {
        {NULL, NULL, NULL, "external data without location", QDQ_E_FORMAT},
        {"", NULL, NULL, "external data without location", QDQ_E_FORMAT},
        {"missing.bin", NULL, NULL, "missing.bin", QDQ_E_IO},
        {"/etc/passwd", NULL, NULL, "/etc/passwd", QDQ_OK},
        {"../weights.bin", NULL, NULL, "..", QDQ_OK},
        {"sub/../../weights.bin", NULL, NULL, "..", QDQ_OK},
        {"link.bin", NULL, NULL, "link", QDQ_OK},
        {"linked/weights.bin", NULL, NULL, "link", QDQ_OK},
        {"sub", NULL, NULL, "sub", QDQ_OK},
        {"weights.bin", "100", NULL,
         "offset 100 and length 8 reach beyond the end of the file (10 bytes)", QDQ_E_FORMAT},
        {"weights.bin", "3", NULL, "offset 3 and length 8 reach beyond the end", QDQ_E_FORMAT},
        {"weights.bin", "18446744073709551615", NULL, "reach beyond the end", QDQ_E_FORMAT},
        {"weights.bin", "18446744073709551616", NULL, "expected a decimal number of 64 bits",
         QDQ_E_FORMAT},
        {"weights.bin", "-1", NULL, "offset is '-1', expected a decimal number", QDQ_E_FORMAT},
        {"weights.bin", "", NULL, "offset is empty", QDQ_E_FORMAT},
        {"weights.bin", "0x1", NULL, "offset is '0x1'", QDQ_E_FORMAT},
        {"weights.bin", "0", "4", "length is 4 bytes, the shape needs 8", QDQ_E_FORMAT},
        {"weights.bin", "0", "10", "length is 10 bytes, the shape needs 8", QDQ_E_FORMAT},
        {"weights.bin", "0", "eight", "length is 'eight'", QDQ_E_FORMAT},
    };

    assert_ok(qdq_write_file(test_path("weights.bin"), true, "0123456789", 10, &err));
    mkdir(test_path("sub"), 0700);
    assert_int_equal(symlink("weights.bin", test_path("link.bin")), 0);
    assert_int_equal(symlink(".", test_path("linked")), 0);
    for (size_t i = 0; i < QDQ_COUNT(attacks); i++) {
        const char *path =
            external_model(attacks[i].location, attacks[i].offset, attacks[i].length);
        qdq_model *m = NULL;
        qdq_status st = qdq_model_load(path, NULL, &m, &err);

        if (attacks[i].status == QDQ_OK ? st != QDQ_E_IO && st != QDQ_E_FORMAT
                                        : st != attacks[i].status)
            fail_msg("attack %zu: %s: %s", i, qdq_status_name(st), err.text);
        if (strstr(err.text, attacks[i].message) == NULL ||
            strstr(err.text, "tensor 'w': ") == NULL)
            fail_msg("attack %zu: '%s', expected '%s'", i, err.text, attacks[i].message);
        assert_null(m);
    }
}

TEST(external_fifo_does_not_hang)
{
    qdq_model *m = NULL;

    assert_int_equal(mkfifo(test_path("fifo.bin"), 0600), 0);
    assert_int_not_equal(qdq_model_load(external_model("fifo.bin", NULL, NULL), NULL, &m, &err),
                         QDQ_OK);
    assert_null(m);
}
