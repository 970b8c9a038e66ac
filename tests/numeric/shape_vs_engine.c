/* shape_vs_engine.c - our shapes against ONNX Runtime's, for every value of every model of the
 * corpus: what it knows we know, and neither contradicts the other. */
#include "ir/shape.h"
#include "numeric/ort_help.h"
#include "support/shapes.h"

static qdq_error err;

typedef struct tally {
    unsigned values, both, ours, theirs, neither;
} tally;

static void compare_value(const char *model, const qdq_value *v, const qdq_io *io, tally *t)
{
    const qdq_type *own = v->type;

    t->values++;
    if (own == NULL || own->kind != QDQ_TYPE_TENSOR)
        fail_msg("%s: value '%s': we know nothing, the engine says %s of rank %d", model, v->name,
                 qdq_elem_name(io->elem), io->rank);
    if (own->elem != io->elem)
        fail_msg("%s: value '%s': %s, the engine says %s", model, v->name, test_type_of(own),
                 qdq_elem_name(io->elem));
    if (io->rank < 0) {
        for (int i = 0; i < own->rank; i++)
            t->ours += own->dim[i].value >= 0;
        return;
    }
    if (own->rank != io->rank)
        fail_msg("%s: value '%s': %s, the engine says rank %d", model, v->name, test_type_of(own),
                 io->rank);
    for (int i = 0; i < io->rank; i++) {
        if (own->dim[i].value >= 0 && io->dim[i] >= 0 && own->dim[i].value != io->dim[i])
            fail_msg("%s: value '%s': %s, the engine says dim %d is %lld", model, v->name,
                     test_type_of(own), i, (long long)io->dim[i]);
        t->both += own->dim[i].value >= 0 && io->dim[i] >= 0;
        t->ours += own->dim[i].value >= 0 && io->dim[i] < 0;
        t->neither += own->dim[i].value < 0 && io->dim[i] < 0;
        if (own->dim[i].value < 0 && io->dim[i] >= 0) {
            t->theirs++;
            fail_msg("%s: value '%s': %s, the engine knows that dim %d is %lld", model, v->name,
                     test_type_of(own), i, (long long)io->dim[i]);
        }
    }
}

static tally compare_model(const char *name, qdq_model *m, const qdq_session_opts *base)
{
    qdq_session_opts opts = *base;
    qdq_shape_opts strict = {false, true, NULL};
    qdq_session *s = NULL;
    const char **names;
    tally t = {0};
    size_t n = 0;
    qdq_io io;

    names = calloc(m->graph->values.n + 1, sizeof *names);
    assert_non_null(names);
    for (size_t i = 0; i < m->graph->values.n; i++)
        if (m->graph->values.at[i]->producer != NULL)
            names[n++] = m->graph->values.at[i]->name;
    opts.level = QDQ_LEVEL_NONE;
    opts.expose = names;
    if (qdq_session_open(need_ort(), m, &opts, &s, &err) != QDQ_OK)
        fail_msg("%s: %s", name, err.text);
    if (qdq_model_infer(m, &strict, &err) != QDQ_OK)
        fail_msg("%s: %s", name, err.text);
    for (size_t i = 0; qdq_session_output(s, i, &io); i++) {
        const qdq_value *v = qdq_graph_find(m->graph, io.name);

        assert_non_null(v);
        compare_value(name, v, &io, &t);
    }
    assert_int_equal(t.values, n);
    qdq_session_close(s);
    free(names);
    print_message("%-26s %4u values, dims known to both %4u, to us alone %3u, to the engine alone "
                  "%u, to none %3u\n",
                  name, t.values, t.both, t.ours, t.theirs, t.neither);
    return t;
}

static const char *const complete[] = {"digits/digits_cnn.onnx",      "digits/digits_cnn_bn.onnx",
                                       "digits/digits_convnext.onnx", "digits/digits_qat_bn.onnx",
                                       "digits/digits_vit.onnx",      "real/mnist.onnx",
                                       "real/ultraface_rfb320.onnx"};

TEST(models_with_weights_agree_with_the_engine)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    for (size_t i = 0; i < QDQ_COUNT(complete); i++) {
        qdq_model *m = need_model(complete[i]);

        compare_model(complete[i], m, &opts);
        qdq_model_free(m);
    }
}

/* With all dims of the inputs fixed nothing is left open. */
TEST(fixed_inputs_fix_everything)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_input_shape shape = {"x", 4, {3, 1, 16, 16}};

    for (size_t i = 0; i < 5; i++) {
        qdq_model *m = need_model(complete[i]);
        tally t;

        assert_ok(qdq_model_set_shapes(m, &shape, 1, &err));
        t = compare_model(complete[i], m, &opts);
        assert_int_equal(t.neither, 0);
        qdq_model_free(m);
    }
}

TEST(full_size_architectures_agree_with_the_engine)
{
    static const char *const names[] = {"resnet18",      "resnet50",      "mobilenet_v2",
                                        "squeezenet1_1", "convnext_tiny", "vit_b_32"};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        qdq_model *m = test_skeleton(names[i]);

        compare_model(names[i], m, &opts);
        qdq_model_free(m);
    }
}

/* ONNX Runtime lacks the library of its operators. What such an operator gives stays unknown, and
 * what the file declares behind it is believed. */
TEST(superres_is_inferred_as_far_as_it_goes)
{
    qdq_shape_opts strict = {false, true, NULL};
    qdq_model *m = need_model("real/superres_op18.onnx");

    assert_ok(qdq_model_infer(m, &strict, &err));
    assert_string_equal(test_type(m, "_ppp0_bgr_data"), "-");
    assert_string_equal(test_type(m, "_ppp1_unsqueezed"), "-");
    assert_string_equal(test_type(m, "_ppp1_scales_resize"), "float[4]");
    assert_string_equal(test_type(m, "_ppp2_start_xy"), "int64[2]");
    assert_string_equal(test_type(m, "_ppp3_f_weighted"), "float[]");
    assert_string_equal(test_type(m, "input.1"), "float[1,64,224,224]");
    assert_string_equal(test_type(m, "output"), "float[1,1,672,672]");
    assert_string_equal(test_type(m, "_ppp6_squeezed"), "float[672,672]");
    assert_string_equal(test_type(m, "image_out"), "uint8[to_image_ppp_13_num_bytes]");
    qdq_model_free(m);
}

/* --- fixed shapes compute the same ------------------------------------------------------------ */

enum { BATCH = 3 };

/* Every output of `many` is that of `one`, BATCH times, up to the last digits: kernels sum in other
 * orders. */
static void same_rows(const kept *one, const kept *many)
{
    assert_int_equal(many->size, BATCH * one->size);
    assert_string_equal(one->names, many->names);
    for (size_t i = 0; i < many->size / sizeof(float); i++)
        assert_float_equal(kept_float(many, i), kept_float(one, i % (one->size / sizeof(float))),
                           1e-4f);
}

/* Both models were exported for one picture, with constant shapes in Reshape. */
TEST(a_batch_computes_what_single_pictures_do)
{
    static const char *const models[] = {"real/ultraface_rfb320.onnx", "real/mnist.onnx"};
    static kept one, many;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    opts.only_exposed = true;
    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = need_model(models[i]);
        qdq_input_shape shape = {NULL, 0, {0}};
        const char *expose[] = {NULL, NULL};
        qdq_named_array *in, batch;
        qdq_session *s;
        size_t n;
        qdq_io io;

        assert_true(qdq_model_input(m, 0, &io) && qdq_model_output(m, 0, &io));
        expose[0] = io.name; /* one output: its rows lie one behind the other */
        opts.expose = expose;
        assert_ok(qdq_session_open(need_ort(), m, &opts, &s, &err));
        assert_ok(qdq_random_inputs(s, 1, &in, &n, &err));
        assert_int_equal(n, 1);
        memset(&one, 0, sizeof one);
        assert_ok(qdq_session_run(s, in, n, keep, &one, &err));
        qdq_session_close(s);

        batch = in[0];
        batch.array.dim[0] = BATCH;
        batch.array.bytes = BATCH * in[0].array.bytes;
        batch.array.data = malloc(batch.array.bytes);
        assert_non_null(batch.array.data);
        for (size_t k = 0; k < BATCH; k++)
            memcpy((char *)batch.array.data + k * in[0].array.bytes, in[0].array.data,
                   in[0].array.bytes);
        shape.name = in[0].name;
        shape.rank = batch.array.rank;
        memcpy(shape.dim, batch.array.dim, sizeof shape.dim);
        assert_ok(qdq_model_set_shapes(m, &shape, 1, &err));
        assert_ok(qdq_session_open(need_ort(), m, &opts, &s, &err));
        memset(&many, 0, sizeof many);
        assert_ok(qdq_session_run(s, &batch, 1, keep, &many, &err));
        same_rows(&one, &many);
        qdq_session_close(s);
        free(batch.array.data);
        qdq_free(in);
        qdq_model_free(m);
    }
}
