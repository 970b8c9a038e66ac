/* engine_sim_data.c - what the engine sim computes: its inputs and outputs. */
#include <math.h>

#include "base/buf.h"
#include "base/random.h"
#include "engine/engine_ops.h"
#include "support/test.h"
#include "support/simmed.h"

/* --- inputs ----------------------------------------------------------------------------------- */

typedef struct seen {
    char names[200];
    float first, least;
    double sum;
    int64_t count;
    qdq_array last;
} seen;

static qdq_status look(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    seen *s = ctx;

    (void)e;
    size_t used = strlen(s->names);
    snprintf(s->names + used, sizeof s->names - used, "%s;", name);
    s->last = *a;
    s->count = qdq_array_count(a);
    s->sum = 0;
    for (int64_t i = 0; a->elem == QDQ_FLOAT && i < s->count; i++) {
        float x = ((float *)a->data)[i];
        s->sum += x;
        s->least = i == 0 || x < s->least ? x : s->least;
    }
    if (a->elem == QDQ_FLOAT && s->count > 0)
        s->first = ((float *)a->data)[0];
    return QDQ_OK;
}

TEST(inputs_that_do_not_fit_are_refused_with_both_sides)
{
    float x[32] = {0};
    qdq_named_array in[2] = {{"x", {QDQ_FLOAT, 4, {2, 1, 4, 4}, x, sizeof x}}};
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);

    in[1] = in[0];
    assert_ok(qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    assert_fails(QDQ_E_USAGE, "input 'x' is missing",
                 qdq_session_run(o.s, NULL, 0, NULL, NULL, &err));
    assert_fails(QDQ_E_USAGE, "input 'x' is given twice",
                 qdq_session_run(o.s, in, 2, NULL, NULL, &err));
    in[1].name = "mask";
    assert_fails(QDQ_E_USAGE, "no input is named 'mask': the inputs are 'x'",
                 qdq_session_run(o.s, in, 2, NULL, NULL, &err));
    in[0].array.elem = QDQ_INT32;
    assert_fails(QDQ_E_USAGE, "input 'x' is int32: expected float",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.elem = QDQ_STRING;
    assert_fails(QDQ_E_UNSUPPORTED, "of strings", qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.elem = QDQ_FLOAT;
    in[0].array.dim[1] = 3;
    assert_fails(QDQ_E_USAGE, "input 'x' has shape 2x3x4x4: expected Nx1x4x4",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.rank = 0;
    assert_fails(QDQ_E_USAGE, "has shape scalar", qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.rank = 99;
    assert_fails(QDQ_E_USAGE, "has rank 99", qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.rank = 4;
    in[0].array.dim[1] = -1;
    assert_fails(QDQ_E_USAGE, "has dim -1 at axis 1",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.dim[1] = 1;
    in[0].array.bytes = 4;
    assert_fails(QDQ_E_USAGE, "has 4 bytes of data: its shape needs 128",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    close_all(&o);
}

TEST(shapes_that_do_not_fit_the_model_are_refused)
{
    const char *two = test_graph_text(__func__);
    static const struct {
        qdq_input_shape shape;
        const char *part;
    } bad[] = {
        {{"c", 2, {1, 4}}, "shape for 'c': the model has no such input"},
        {{"a", 3, {1, 4, 4}}, "has rank 3: expected 2"},
        {{"a", 2, {1, 5}}, "has 5 at axis 1: the model fixes it to 4"},
        {{"a", 2, {-2, 4}}, "has dim -2 at axis 0"},
    };
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");
    qdq_model *m = test_model(two);
    qdq_session *s;
    qdq_io io;

    for (size_t i = 0; i < QDQ_COUNT(bad); i++) {
        opts.shapes = &bad[i].shape;
        opts.n_shapes = 1;
        assert_fails(QDQ_E_USAGE, bad[i].part, qdq_session_open(e, m, &opts, &s, &err));
        assert_null(s);
    }
    const qdq_input_shape clash[] = {{"a", 2, {2, 4}}, {"b", 2, {3, 4}}};
    opts.shapes = clash;
    opts.n_shapes = 2;
    assert_fails(QDQ_E_USAGE, "dim 'N' would be 2 in input 'a' and 3 in input 'b'",
                 qdq_session_open(e, m, &opts, &s, &err));
    opts.n_shapes = 1; /* a symbol that is fixed once is fixed everywhere */
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_true(qdq_session_input(s, 1, &io));
    assert_string_equal(io.name, "b");
    assert_int_equal(io.dim[0], 2);
    assert_true(qdq_session_output(s, 0, &io));
    assert_int_equal(io.dim[0], 2);
    assert_false(qdq_session_output(s, 1, &io));
    qdq_session_close(s);
    qdq_model_free(m);
    qdq_engine_close(e);
}

TEST(random_inputs_repeat_and_follow_the_types)
{
    opened o = open_all("{\"qdq_sim\": 1}", test_graph_text(__func__), NULL);
    qdq_named_array *a, *b;
    size_t n;

    assert_ok(qdq_random_inputs(o.s, 5, &a, &n, &err));
    assert_ok(qdq_random_inputs(o.s, 5, &b, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(a[0].name, "x");
    assert_int_equal(a[0].array.dim[0], 1);
    assert_int_equal(a[0].array.bytes, 400);
    assert_memory_equal(a[0].array.data, b[0].array.data, 400);
    assert_int_equal((uintptr_t)a[1].array.data % 64, 0);
    for (int i = 0; i < 20; i++)
        assert_in_range(((int64_t *)a[1].array.data)[i], 0, 1);
    qdq_free(b);
    assert_ok(qdq_random_inputs(o.s, 6, &b, &n, &err));
    assert_memory_not_equal(a[0].array.data, b[0].array.data, 400);
    qdq_free(a);
    qdq_free(b);
    close_all(&o);
}

/* --- outputs ---------------------------------------------------------------------------------- */

static seen run_on(qdq_session *s, uint64_t seed, int64_t batch)
{
    float x[64];
    qdq_array a = {QDQ_FLOAT, 4, {batch, 1, 4, 4}, x, (size_t)batch * 16 * sizeof *x};
    seen result = {0};

    assert_true(qdq_random_fill(&a, seed, "x"));
    qdq_named_array in = {"x", a};
    assert_ok(qdq_session_run(s, &in, 1, look, &result, &err));
    return result;
}

TEST(outputs_repeat_and_depend_on_the_inputs)
{
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);
    seen a = run_on(o.s, 1, 1), b = run_on(o.s, 1, 1), c = run_on(o.s, 2, 1), d = run_on(o.s, 1, 3);

    assert_string_equal(a.names, "y;");
    assert_int_equal(a.count, 16);
    assert_true(a.sum == b.sum);
    assert_true(a.sum != c.sum);
    assert_int_equal(d.count, 48); /* shapes follow the inputs */
    assert_int_equal(d.last.dim[0], 3);
    close_all(&o);
}

TEST(what_a_relu_makes_is_not_negative)
{
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);
    seen r = run_on(o.s, 1, 4);

    assert_true(r.least == 0 && r.sum > 0);
    close_all(&o);
}

TEST(a_relu_is_seen_through_q_and_dq)
{
    opened f = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);
    opened q = open_all("{\"qdq_sim\": 1}", conv_int8(), NULL);
    seen a = run_on(f.s, 1, 4), b = run_on(q.s, 1, 4);

    assert_near(a.sum, b.sum, 0); /* no error in this cost model: the very same numbers */
    assert_near(b.least, 0, 0);
    close_all(&f);
    close_all(&q);
}

TEST(eight_bit_kernels_add_the_error_of_the_cost_model)
{
    static const char json[] = "{\"qdq_sim\": 1, \"error\": 0.01,"
                               "\"ops\": {\"MatMul\": {\"int8_us\": 1, \"inputs\": 2}}}";
    const char *head = test_graph_text(__func__);
    char text[1000];

    snprintf(text, sizeof text, "%s{ y = MatMul(x, x) }", head);
    opened f = open_all(json, text, NULL);
    snprintf(text, sizeof text,
             "%s{ q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s, z)\n y = MatMul(d, d) }",
             head);
    opened q = open_all(json, text, NULL);
    seen a = run_on(f.s, 1, 4), b = run_on(q.s, 1, 4);
    assert_true(a.first != b.first);
    assert_near(a.first, b.first, 0.06);
    assert_near(a.sum, b.sum, 0.01 * 64);
    close_all(&f);
    close_all(&q);
}

TEST(exposed_tensors_come_behind_the_models_own)
{
    static const char *const names[] = {"t", "x", "y", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    opts.expose = names;
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), &opts);
    assert_string_equal(run_on(o.s, 1, 1).names, "y;t;x;");
    close_all(&o);
    opts.only_exposed = true;
    opts.expose = names + 2;
    o = open_all("{\"qdq_sim\": 1}", conv_float(), &opts);
    assert_string_equal(run_on(o.s, 1, 1).names, "y;");
    close_all(&o);
    static const char *const t[] = {"t", NULL};
    opts.expose = t;
    o = open_all("{\"qdq_sim\": 1}", conv_float(), &opts);
    assert_string_equal(run_on(o.s, 1, 1).names, "t;");
    close_all(&o);
}

TEST(an_exposed_initializer_is_itself)
{
    static const char *const names[] = {"w", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    opts.expose = names;
    opts.only_exposed = true;
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), &opts);
    seen r = run_on(o.s, 1, 1);
    assert_int_equal(r.count, 1);
    assert_near(r.first, 2, 0);
    close_all(&o);
}

TEST(exposing_what_is_not_there_is_an_error)
{
    static const char *const names[] = {"nothing", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");
    qdq_model *m = test_model(conv_float());
    qdq_session *s;

    opts.expose = names;
    assert_fails(QDQ_E_USAGE, "the main graph has no tensor 'nothing'",
                 qdq_session_open(e, m, &opts, &s, &err));
    opts.expose = NULL;
    opts.only_exposed = true;
    assert_fails(QDQ_E_USAGE, "only_exposed without", qdq_session_open(e, m, &opts, &s, &err));
    opts.only_exposed = false;
    opts.threads = -1;
    assert_fails(QDQ_E_USAGE, "-1 threads", qdq_session_open(e, m, &opts, &s, &err));
    qdq_model_free(m);
    qdq_engine_close(e);
}

static qdq_status stop(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    (void)ctx;
    (void)a;
    return qdq_fail(e, QDQ_E_GOAL, "enough of %s", name);
}

TEST(the_callers_error_ends_a_run)
{
    float x[16] = {0};
    qdq_named_array in = {"x", {QDQ_FLOAT, 4, {1, 1, 4, 4}, x, sizeof x}};
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);

    assert_fails(QDQ_E_GOAL, "enough of y", qdq_session_run(o.s, &in, 1, stop, NULL, &err));
    close_all(&o);
}

TEST(an_output_of_unknown_shape_is_named)
{
    float x[16] = {0};
    qdq_named_array in = {"x", {QDQ_FLOAT, 1, {16}, x, sizeof x}};
    opened o = open_all("{\"qdq_sim\": 1}", test_graph_text(__func__), NULL);

    assert_fails(QDQ_E_UNSUPPORTED, "output 'y'", qdq_session_run(o.s, &in, 1, look, NULL, &err));
    close_all(&o);
}
