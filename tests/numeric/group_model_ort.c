/* group_model_ort.c - groups that ONNX Runtime makes of real models, each run alone: what it gives
 * is what the whole model has there, from the same input. */
#include <math.h>

#include "ir/edit.h"
#include "ir/shape.h"
#include "ort_help.h"
#include "tune/extract/group_model.h"

static qdq_error err;

/* Every tensor of one run. */
typedef struct tensors {
    qdq_arena arena;
    qdq_map at;
} tensors;

static qdq_status remember(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    tensors *t = ctx;
    qdq_array *copy = qdq_arena_alloc(&t->arena, sizeof *copy);
    char *data = qdq_arena_alloc(&t->arena, a->bytes + 1), *key = qdq_arena_strdup(&t->arena, name);

    (void)e;
    assert_true(copy != NULL && data != NULL && key != NULL);
    if (a->bytes > 0)
        memcpy(data, a->data, a->bytes);
    *copy = *a;
    copy->data = data;
    qdq_map_put(&t->at, key, NULL)->ptr = copy;
    return QDQ_OK;
}

static void run_whole(qdq_engine *e, const qdq_model *m, tensors *t)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    const char **names = qdq_arena_array(&t->arena, m->graph->values.n + 1, sizeof *names);
    qdq_named_array *in;
    qdq_session *s;
    size_t n = 0, n_in;

    assert_non_null(names);
    for (size_t i = 0; i < m->graph->values.n; i++) {
        const qdq_value *v = m->graph->values.at[i];
        if (!v->dead && v->producer != NULL && v->producer->op != QDQ_OP_CONSTANT)
            names[n++] = v->name;
    }
    o.level = QDQ_LEVEL_NONE;
    o.expose = names;
    assert_ok(qdq_session_open(e, m, &o, &s, &err));
    assert_ok(qdq_random_inputs(s, 7, &in, &n_in, &err));
    for (size_t i = 0; i < n_in; i++)
        assert_ok(remember(t, in[i].name, &in[i].array, &err));
    assert_ok(qdq_session_run(s, in, n_in, remember, t, &err));
    qdq_free(in);
    qdq_session_close(s);
}

typedef struct comparison {
    tensors *whole;
    size_t outputs;
} comparison;

static qdq_status compare(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    comparison *c = ctx;
    const qdq_map_value *at = qdq_map_get(&c->whole->at, name);

    (void)e;
    if (at == NULL)
        fail_msg("the whole model does not give '%s'", name);
    const qdq_array *want = at->ptr;
    assert_int_equal(a->bytes, want->bytes);
    assert_int_equal(a->elem, want->elem);
    if (a->elem != QDQ_FLOAT) {
        assert_memory_equal(a->data, want->data, a->bytes);
    } else {
        for (size_t i = 0; i < a->bytes / sizeof(float); i++) {
            float x, y;
            memcpy(&x, (const char *)a->data + i * sizeof x, sizeof x);
            memcpy(&y, (const char *)want->data + i * sizeof y, sizeof y);
            /* the same kernels on the same numbers: rounding alone, where threads or blocks add up
             * otherwise */
            if (fabsf(x - y) > 1e-5f * (1 + fabsf(y)))
                fail_msg("%s[%zu]: %g alone, %g in the whole model", name, i, (double)x, (double)y);
        }
    }
    c->outputs++;
    return QDQ_OK;
}

static size_t run_alone(qdq_engine *e, const qdq_group_model *g, tensors *whole)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    comparison c = {.whole = whole};
    qdq_named_array in[64];
    qdq_session *s;

    assert_true(g->n_inputs <= 64);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const qdq_map_value *at = qdq_map_get(&whole->at, g->input[i].name);
        assert_non_null(at);
        in[i] = (qdq_named_array){g->input[i].name, *(const qdq_array *)at->ptr};
    }
    o.level = QDQ_LEVEL_NONE;
    assert_ok(qdq_session_open(e, g->model, &o, &s, &err));
    assert_ok(qdq_session_run(s, in, g->n_inputs, compare, &c, &err));
    assert_int_equal(c.outputs, qdq_model_output_count(g->model));
    qdq_session_close(s);
    return c.outputs;
}

static qdq_fusions *fusions_of(qdq_engine *e, const qdq_model *m)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_fusions *f;
    qdq_session *s;
    qdq_layer *g;
    size_t n;

    o.layers = true;
    assert_ok(qdq_session_open(e, m, &o, &s, &err));
    assert_ok(qdq_session_layers(s, NULL, 0, 0, &g, &n, &err));
    assert_ok(qdq_fusions_find(m, g, n, NULL, &f, &err));
    assert_true(f->matched > 0.9 && f->covered == 1);
    qdq_free(g);
    qdq_session_close(s);
    return f;
}

static void assert_groups_compute_the_same(qdq_engine *e, const char *file)
{
    const char *path = test_corpus("%s", file);
    tensors whole = {.at = QDQ_MAP_INIT};
    qdq_shape_range *range;
    size_t outputs = 0, refused = 0;
    qdq_model *m;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_ok(qdq_model_infer(m, NULL, &err));
    qdq_fusions *f = fusions_of(e, m);
    run_whole(e, m, &whole);
    assert_ok(qdq_shape_range_open(m, NULL, &range, &err));
    for (uint32_t i = 0; i < f->n; i++)
        for (int halo = 0; halo < 2; halo++) {
            qdq_group_model_opts o = {.halo = halo, .range = range};
            qdq_group_model *g;
            assert_ok(qdq_group_model_make(f, i, &o, &g, &err));
            refused += g->model == NULL;
            if (g->model != NULL)
                outputs += run_alone(e, g, &whole);
            qdq_group_model_free(g);
        }
    print_message("%s: %u groups, %zu outputs compared, %zu refused\n", file, f->n, outputs,
                  refused);
    assert_true(outputs >= 2 * f->n && refused == 0);
    qdq_shape_range_close(range);
    qdq_fusions_free(f);
    qdq_map_free(&whole.at);
    qdq_arena_free(&whole.arena);
    qdq_model_free(m);
}

static void each_group_computes_what_it_does_in_the_whole_model(void **state)
{
    static const char *const files[] = {"digits/digits_cnn.onnx",      "digits/digits_cnn_bn.onnx",
                                        "digits/digits_convnext.onnx", "digits/digits_vit.onnx",
                                        "digits/digits_qat_bn.onnx",   "real/mnist.onnx"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(files); i++)
        assert_groups_compute_the_same(need_ort(), files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_computes_what_it_does_in_the_whole_model)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
