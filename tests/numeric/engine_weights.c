/* engine_weights.c - weights that reach ONNX Runtime by reference: the same results, and no
 * copy. */
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "engine/ort/ort_session.h"
#include "ir/edit.h"
#include "numeric/ort_help.h"
#include "support/disk.h"

static qdq_error err;

static void count_info(void *ctx, qdq_log_level level, const char *text)
{
    (void)text;
    *(unsigned *)ctx += level == QDQ_LOG_INFO;
}

typedef struct written {
    size_t size;
    char folder[4096];
    /* lines that tell of copies */
    unsigned infos;
} written;

/* What is written for ONNX Runtime 1.minor; the library itself is not asked. */
static written write_for(const qdq_model *m, unsigned minor)
{
    static qdq_ort_api api;
    qdq_ort_model out;
    qdq_job job = QDQ_JOB_INIT;
    written w = {0};

    api.minor = minor;
    job.log = count_info;
    job.ctx = &w.infos;
    assert_ok(qdq_ort_model_bytes(&api, m, &job, &out, &err));
    w.size = out.size;
    snprintf(w.folder, sizeof w.folder, "%s", out.folder);
    qdq_free(out.bytes);
    return w;
}

static qdq_model *save_and_load(const qdq_model *m, const char *path, qdq_external external)
{
    qdq_save_opts save = QDQ_SAVE_OPTS_INIT;
    qdq_model *loaded = NULL;

    save.external = external;
    save.allow_overwrite = true;
    assert_ok(qdq_model_save(m, path, &save, &err));
    assert_ok(qdq_model_load(path, NULL, &loaded, &err));
    return loaded;
}

TEST(files_are_referred_to_and_memory_is_inline)
{
    qdq_model *m = need_model("digits/digits_cnn.onnx"), *memory = NULL;
    qdq_model *external = save_and_load(m, test_path("external.onnx"), QDQ_EXTERNAL_ALWAYS);
    void *bytes;
    size_t size;

    assert_ok(qdq_model_to_bytes(m, NULL, &bytes, &size, &err));
    assert_ok(qdq_model_load_bytes(bytes, size, "memory", NULL, &memory, &err));
    qdq_free(bytes);

    written file = write_for(m, 21), beside = write_for(external, 31);
    written none = write_for(memory, 31), old = write_for(m, 20);
    assert_true(file.folder[0] == '/' && file.folder[strlen(file.folder) - 1] == '/');
    assert_true(strncmp(beside.folder, test_dir(), strlen(test_dir())) == 0);
    assert_string_equal(none.folder, "");
    assert_string_equal(old.folder, "");
    assert_true(file.size < old.size / 2 && beside.size < old.size / 2 && none.size > old.size / 2);
    assert_int_equal(file.infos + beside.infos, 0);
    assert_int_equal(old.infos, 1); /* the copy is told */
    qdq_model_free(m);
    qdq_model_free(memory);
    qdq_model_free(external);
}

TEST(references_give_the_same_results_as_copies)
{
    static const char *const models[] = {"digits/digits_cnn.onnx", "digits/digits_vit.onnx",
                                         "digits/digits_qat_bn.onnx"};
    qdq_engine *e = need_ort();
    static kept a, b, c;

    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = need_model(models[i]), *memory = NULL;
        qdq_model *external = save_and_load(m, test_path("external.onnx"), QDQ_EXTERNAL_ALWAYS);
        void *bytes;
        size_t size;
        assert_ok(qdq_model_to_bytes(m, NULL, &bytes, &size, &err));
        assert_ok(qdq_model_load_bytes(bytes, size, "memory", NULL, &memory, &err));
        qdq_free(bytes);
        run_model(e, m, NULL, &a);
        run_model(e, external, NULL, &b);
        run_model(e, memory, NULL, &c);
        assert_memory_equal(a.bytes, b.bytes, a.size);
        assert_memory_equal(a.bytes, c.bytes, a.size);
        qdq_model_free(m);
        qdq_model_free(external);
        qdq_model_free(memory);
    }
}

/* Weights of branches, and packed ones. */
TEST(references_work_in_branches_and_for_packed_types)
{
    qdq_engine *e = need_ort();
    qdq_buf b = QDQ_BUF_INIT(1 << 20);
    static kept inline_run, by_file;

    if (ort_minor(e) < 19) /* int4 */
        skip();
    qdq_buf_puts(
        &b, "<ir_version: 10, opset_import: [\"\" : 21]>\n"
            "g (bool c, float[1,64] x) => (float[1,64] y) <float s = {0.1}, int4[64,64] w = {");
    for (int i = 0; i < 64 * 64; i++)
        qdq_buf_printf(&b, "%s%d", i > 0 ? "," : "", i * 7 % 13 - 6);
    qdq_buf_puts(&b, "}> {\n wd = DequantizeLinear(w, s)\n t = MatMul(x, wd)\n"
                     "y = If(c) <then_branch = then () => (float[1,64] p) <float[512] k = {");
    for (int i = 0; i < 512; i++)
        qdq_buf_printf(&b, "%s%d", i > 0 ? "," : "", i % 17);
    qdq_buf_puts(&b, "}> { r = ReduceSum<keepdims = 0>(k)\n p = Add(t, r) },"
                     "else_branch = else () => (float[1,64] q) { q = Neg(t) }>\n}\n");
    qdq_model *m = test_model(b.data);
    qdq_model *loaded = save_and_load(m, test_path("branches.onnx"), QDQ_EXTERNAL_NEVER);
    qdq_buf_free(&b);
    assert_true(write_for(loaded, 31).size + 3500 < write_for(m, 31).size);
    run_model(e, m, NULL, &inline_run);
    run_model(e, loaded, NULL, &by_file);
    assert_int_equal(by_file.size, 256);
    assert_memory_equal(inline_run.bytes, by_file.bytes, 256);
    qdq_model_free(m);
    qdq_model_free(loaded);
}

/* Model and weights in folders that have only the root, or little more, in common. */
TEST(weights_of_several_folders_are_found)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_cnn.onnx"), *apart = NULL;
    qdq_load_opts load = QDQ_LOAD_OPTS_INIT;
    qdq_tempdir *other;
    static kept a, b;
    char *bytes;
    size_t size;

    qdq_model_free(save_and_load(m, test_path("m.onnx"), QDQ_EXTERNAL_ALWAYS));
    assert_ok(qdq_tempdir_new(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL, &other, &err));
    char moved[4200];
    const char *side = test_side_file(test_path("m.onnx"));
    snprintf(moved, sizeof moved, "%s%s", qdq_tempdir_path(other), strrchr(side, '/'));
    assert_ok(qdq_read_file(side, 1 << 24, &bytes, &size, &err));
    assert_ok(qdq_write_file(moved, true, bytes, size, &err));
    qdq_free(bytes);
    assert_int_equal(unlink(side), 0);

    load.external_dir = qdq_tempdir_path(other);
    assert_ok(qdq_model_load(test_path("m.onnx"), &load, &apart, &err));
    run_model(e, m, NULL, &a);
    run_model(e, apart, NULL, &b);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    qdq_model_free(apart);
    qdq_model_free(m);
    qdq_tempdir_free(other);
}

/* qdq/model.h allows that a file is replaced by rename: what was opened is what runs. */
TEST(a_file_that_was_replaced_is_not_read_again)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_cnn.onnx");
    qdq_model *opened = save_and_load(m, test_path("replaced.onnx"), QDQ_EXTERNAL_NEVER);
    static const char junk[5000] = {1, 2, 3};
    static kept a, b;

    assert_ok(qdq_write_file(test_path("replaced.onnx"), true, junk, sizeof junk, &err));
    written w = write_for(opened, 31);
    assert_string_equal(w.folder, "");
    assert_int_equal(w.infos, 1);
    run_model(e, m, NULL, &a);
    run_model(e, opened, NULL, &b);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    qdq_model_free(opened);
    qdq_model_free(m);
}

TEST(weights_made_in_memory_go_inline_beside_mapped_ones)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_cnn.onnx");
    static kept a, b;

    run_model(e, m, NULL, &a);
    written before = write_for(m, 31);
    for (size_t i = 0; i < m->graph->inits.n; i++) {
        qdq_value *v = m->graph->inits.at[i];
        void *data;
        if (v->init->bytes.size < 5000)
            continue;
        qdq_tensor *t = qdq_tensor_new(m, v->init->elem, v->init->rank, v->init->dim, &data);
        memcpy(data, v->init->bytes.data, v->init->bytes.size);
        assert_true(qdq_value_set_init(v, t));
        break;
    }
    written after = write_for(m, 31);
    assert_true(after.size > before.size + 4000);
    assert_string_equal(after.folder, before.folder);
    run_model(e, m, NULL, &b);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    qdq_model_free(m);
}

TEST(more_than_2_gb_inline_is_refused_before_it_is_copied)
{
    qdq_model *m =
        test_model(HEAD "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
    qdq_tensor *w = qdq_graph_find(m->graph, "w")->init;
    static qdq_ort_api api;
    qdq_ort_model out;

    qdq_tensor saved = *w;
    w->storage = QDQ_STORE_BYTES;
    w->bytes.size = (size_t)3 << 30; /* nobody may look at these bytes */
    api.minor = 31;
    assert_fails(QDQ_E_UNSUPPORTED, "3221225472 bytes of weights would have to be inside the model",
                 qdq_ort_model_bytes(&api, m, NULL, &out, &err));
    assert_null(out.bytes);
    *w = saved;
    qdq_model_free(m);
}
