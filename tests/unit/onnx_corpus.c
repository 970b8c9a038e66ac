/* onnx_corpus.c - round trips of the models that people made. The skeletons' weights are stood in
 * for by files with holes: sizes and offsets are real, and nothing of them is read. */
#include "base/file.h"
#include "ir/ir.h"
#include "onnx/onnx_io.h"
#include "support/disk.h"
#include "support/roundtrip.h"

#include <sys/stat.h>
#include <unistd.h>

/* A private copy of a model, and next to it as much external data as its list of weights says. */
static const char *fetch(const char *folder, const char *name)
{
    const char *list_path = test_corpus("%s/%s.fill", folder, name);
    const char *copy = test_path("%s.onnx", name);
    char *data, *list;
    size_t size;

    assert_ok(
        qdq_read_file(test_corpus("%s/%s.onnx", folder, name), SIZE_MAX / 2, &data, &size, &err));
    assert_ok(qdq_write_file(copy, true, data, size, &err));
    qdq_free(data);
    if (access(list_path, R_OK) == 0) {
        long long end = 0, offset, count;
        const char *bin = test_path("%s.bin", name);
        assert_ok(qdq_read_file(list_path, 1 << 20, &list, &size, &err));
        for (char *line = list; line != NULL && sscanf(line, "%lld %lld", &offset, &count) == 2;) {
            end = offset + 4 * count > end ? offset + 4 * count : end;
            line = strchr(line, '\n') == NULL ? NULL : strchr(line, '\n') + 1;
        }
        qdq_free(list);
        assert_ok(qdq_write_file(bin, true, "", 0, &err));
        assert_int_equal(truncate(bin, (off_t)end), 0);
    }
    return copy;
}

static void assert_same_file(const char *a, const char *b)
{
    char *data_a, *data_b;
    size_t size_a, size_b;

    assert_ok(qdq_read_file(a, SIZE_MAX / 2, &data_a, &size_a, &err));
    assert_ok(qdq_read_file(b, SIZE_MAX / 2, &data_b, &size_b, &err));
    assert_int_equal(size_a, size_b);
    assert_memory_equal(data_a, data_b, size_a);
    qdq_free(data_a);
    qdq_free(data_b);
}

static void copy_model(const char *from, const char *to)
{
    qdq_model *m = NULL;

    assert_ok(qdq_model_load(from, NULL, &m, &err));
    test_save(m, to);
}

TEST(models_of_protobuf_writers_come_out_byte_for_byte)
{
    static const char *const names[] = {"digits_cnn", "digits_cnn_bn", "digits_convnext",
                                        "digits_qat_bn", "digits_vit"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        const char *path = fetch("digits", names[i]);
        copy_model(path, test_path("out.onnx"));
        assert_same_file(path, test_path("out.onnx"));
    }
}

TEST(second_copy_is_that_of_the_first)
{
    static const char *const names[] = {"mnist", "superres_op18", "ultraface_rfb320"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        const char *path = fetch("real", names[i]);
        copy_model(path, test_path("first.onnx"));
        copy_model(test_path("first.onnx"), test_path("second.onnx"));
        assert_same_file(test_path("first.onnx"), test_path("second.onnx"));
    }
}

TEST(external_data_is_copied_with_its_model)
{
    const char *path = fetch("skeleton", "squeezenet1_1");

    mkdir(test_path("a"), 0700);
    mkdir(test_path("b"), 0700);
    copy_model(path, test_path("a/s.onnx"));
    copy_model(test_path("a/s.onnx"), test_path("b/s.onnx"));
    assert_same_file(test_path("a/s.onnx"), test_path("b/s.onnx"));
    char first[4200];
    snprintf(first, sizeof first, "%s", test_side_file(test_path("a/s.onnx")));
    assert_string_equal(strrchr(first, '/'), strrchr(test_side_file(test_path("b/s.onnx")), '/'));
    assert_same_file(first, test_side_file(test_path("b/s.onnx")));
}

static bool keep_in_place(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    (void)ctx;
    (void)is_init;
    return t->external && qdq_onnx_mapped_ref(t, ref);
}

/* Large models, too: only references to their weights are written. */
TEST(weights_stay_where_they_are)
{
    static const char *const names[] = {"resnet18",      "resnet50",      "mobilenet_v2",
                                        "squeezenet1_1", "convnext_tiny", "vit_b_32"};
    qdq_onnx_write_opts opts = {.external = keep_in_place};
    qdq_load_opts load_opts = QDQ_LOAD_OPTS_INIT;

    load_opts.external_dir = test_dir();
    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        const char *path = fetch("skeleton", names[i]);
        qdq_model *m = NULL, *again = NULL;
        qdq_buf first = QDQ_BUF_INIT(1 << 24), second = QDQ_BUF_INIT(1 << 24);

        assert_ok(qdq_model_load(path, NULL, &m, &err));
        assert_ok(qdq_onnx_write_to_buf(m, &opts, &first, &err));
        assert_ok(qdq_model_load_bytes(first.data, first.size, "first", &load_opts, &again, &err));
        assert_ok(qdq_onnx_write_to_buf(again, &opts, &second, &err));
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        for (size_t k = 0; k < m->graph->inits.n; k++) {
            const qdq_tensor *a = m->graph->inits.at[k]->init, *b = again->graph->inits.at[k]->init;
            assert_int_equal(a->external, b->external);
            if (a->external)
                assert_int_equal(a->bytes.data - qdq_mapping_data(a->owner),
                                 b->bytes.data - qdq_mapping_data(b->owner));
        }
        qdq_model_free(again);
        qdq_model_free(m);
        qdq_buf_free(&first);
        qdq_buf_free(&second);
    }
}
