/* data_alloc.c - every allocation of reading data and of comparing models fails once. */
#include <sys/stat.h>

#include "base/file.h"
#include "support/alloc_fail.h"
#include "support/npy_file.h"
#include "support/pb_build.h"

typedef struct tried {
    const qdq_model *model;
    const char *spec;
    const char *labels;
    /* for comparisons */
    qdq_engine *engine;
} tried;

static qdq_status read_all(qdq_data *d, qdq_error *err)
{
    for (size_t i = 0; i < qdq_data_count(d); i++) {
        const qdq_named_array *in;
        size_t n;

        QDQ_TRY(qdq_data_get(d, i, &in, &n, err));
    }
    const char *why;
    size_t typical;

    QDQ_TRY(qdq_data_find_typical(d, 0, 0, &typical, err));
    return qdq_data_find_sameness(d, &why, err);
}

static qdq_status use_data(void *ctx, qdq_error *err)
{
    const tried *t = ctx;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_compare_opts how = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_compare_layers_result *layers = NULL;
    qdq_data *d = NULL;

    opts.labels = t->labels;
    QDQ_TRY(qdq_data_open(t->spec, t->model, &opts, &d, err));
    qdq_status st = read_all(d, err);
    if (st == QDQ_OK && t->engine != NULL)
        st = qdq_compare(t->engine, t->model, t->model, d, &how, &r, err);
    if (st == QDQ_OK && t->engine != NULL)
        st = qdq_compare_layers(t->engine, t->model, t->model, d, &how, &layers, err);
    qdq_free(r);
    qdq_free(layers);
    qdq_data_close(d);
    return st;
}

static const char flat[] = "g (float[N,2] x) => (float[N,2] y) { t = Relu(x) y = Neg(t) }";
static const float ramp[] = {1, 2, 3, 4, 5, 6};
static const int64_t label[] = {1, 0, 1};
static const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(3, 2)"), ramp, 24},
                                    {"label", TEST_HEADER("<i8", "(3,)"), label, 24}};

static void try_all(const char *model, const char *spec, const char *labels, qdq_engine *e)
{
    qdq_model *m = test_model(model);
    tried t = {m, spec, labels, e};

    assert_true(test_every_alloc_fails(use_data, &t) > 0);
    qdq_model_free(m);
}

TEST(arrays_survive_lack_of_memory)
{
    try_all(flat, test_npz_file("one.npz", true, arrays, 2), "label", NULL);
    test_npz_file("folder/1.npz", true, arrays, 2);
    test_npz_file("folder/2.npz", true, arrays, 2);
    try_all(flat, test_path("folder"), "label", NULL);
}

TEST(the_name_of_what_is_equal_survives_lack_of_memory)
{
    static const float twice[] = {1, 2, 1, 2, 1, 2};
    const test_array equal = {"x", TEST_HEADER("<f4", "(3, 2)"), twice, 24};

    try_all(flat, test_npz_file("equal.npz", true, &equal, 1), NULL, NULL);
}

/* For an input of codes: the scale is looked up, and floats are quantized. */
TEST(labels_of_a_file_and_codes_survive_lack_of_memory)
{
    char labels[600];

    test_npz_file("labels.npz", true, arrays, 2);
    snprintf(labels, sizeof labels, "%s:label", test_path("labels.npz"));
    try_all(flat, test_npz_file("one.npz", true, arrays, 1), labels, NULL);
    test_npy_file("labels.npy", TEST_HEADER("<i8", "(3,)"), label, 24);
    try_all(test_graph_text(__func__), test_npz_file("one.npz", true, arrays, 1),
            test_path("labels.npy"), NULL);
}

TEST(protos_survive_lack_of_memory)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = PB_NEW;

    pb_int(&b, 1, 3);
    pb_int(&b, 1, 2);
    pb_int(&b, 2, QDQ_FLOAT);
    pb_bytes(&b, 4, ramp, 24); /* float_data, which is decoded */
    mkdir(test_path("sets"), 0700);
    mkdir(test_path("sets/test_data_set_0"), 0700);
    assert_ok(
        qdq_write_file(test_path("sets/test_data_set_0/input_0.pb"), true, b.data, b.size, &err));
    qdq_buf_free(&b);
    try_all(flat, test_path("sets"), NULL, NULL);
}

/* --- from the caller -------------------------------------------------------------------------- */

typedef struct caller {
    const qdq_model *model;
    bool once, in_memory;
    size_t at;
    qdq_named_array out[2];
} caller;

static qdq_status next(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *err)
{
    caller *c = ctx;

    (void)err;
    if (c->at == 3)
        return QDQ_OK;
    c->out[0] = (qdq_named_array){"x",
                                  {.elem = QDQ_FLOAT,
                                   .rank = 2,
                                   .dim = {1, 2},
                                   .data = (void *)(uintptr_t)(ramp + 2 * c->at),
                                   .bytes = 8}};
    c->out[1] = (qdq_named_array){"label",
                                  {.elem = QDQ_INT64,
                                   .rank = 1,
                                   .dim = {1},
                                   .data = (void *)(uintptr_t)(label + c->at),
                                   .bytes = 8}};
    c->at++;
    *in = c->out;
    *n = 2;
    return QDQ_OK;
}

static qdq_status go_back(void *ctx, qdq_error *err)
{
    (void)err;
    ((caller *)ctx)->at = 0;
    return QDQ_OK;
}

static qdq_status use_caller(void *ctx, qdq_error *err)
{
    caller *c = ctx;
    qdq_data_source s = QDQ_DATA_SOURCE_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_named_array all[2];
    qdq_data *d = NULL;
    size_t n;

    c->at = 0;
    s.ctx = c;
    s.next = next;
    s.rewind = c->once ? NULL : go_back;
    opts.labels = "label";
    opts.temp_dir = test_dir();
    if (c->in_memory) {
        const qdq_named_array *first;

        QDQ_TRY(next(c, &first, &n, err));
        for (size_t k = 0; k < 2; k++) {
            all[k] = first[k];
            all[k].array.dim[0] = 3;
            all[k].array.bytes *= 3;
        }
        QDQ_TRY(qdq_data_from_arrays(all, 2, c->model, &opts, &d, err));
    } else {
        QDQ_TRY(qdq_data_from(&s, c->model, &opts, &d, err));
    }
    qdq_status st = read_all(d, err);
    if (st == QDQ_OK)
        st = read_all(d, err);
    qdq_data_close(d);
    return st;
}

TEST(samples_of_the_caller_survive_lack_of_memory)
{
    qdq_model *m = test_model(flat);

    for (int kind = 0; kind < 3; kind++) {
        caller c = {.model = m, .once = kind == 1, .in_memory = kind == 2};

        assert_true(test_every_alloc_fails(use_caller, &c) > 0);
    }
    qdq_model_free(m);
}

TEST(random_data_survive_lack_of_memory)
{
    try_all(flat, "random:1", NULL, NULL);
}

TEST(images_survive_lack_of_memory)
{
    static const char model[] = "g (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = Relu(x) }";
    const char *photos = QDQ_SOURCE_DIR "/examples/ultraface/photos/rocket_2.jpg";
    char *file;
    size_t size;
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_read_file(photos, 1 << 20, &file, &size, &err));
    mkdir(test_path("photos"), 0700);
    assert_ok(qdq_write_file(test_path("photos/1.jpg"), true, file, size, &err));
    qdq_free(file);
    try_all(model, test_path("photos"), NULL, NULL);
}

TEST(comparing_survives_lack_of_memory)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");

    try_all(flat, test_npz_file("one.npz", true, arrays, 2), "label", e);
    try_all(test_graph_text("quantized"), test_npz_file("one.npz", true, arrays, 2), "label", e);
    try_all(test_graph_text("with_a_function"), test_npz_file("one.npz", true, arrays, 1), NULL, e);
    qdq_engine_close(e);
}
