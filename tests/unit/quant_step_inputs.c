/* quant_step_inputs.c - what a model reads at one step of a sequence, the times of sequences, and
 * checks of an engine at each step. */
#include <math.h>

#include "base/cancel.h"
#include "qdq/check.h"
#include "qdq/sequence.h"
#include "quant/compare/step_inputs.h"
#include "support/opened_data.h"

static const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const qdq_state t_to_s = {"t", "s"};
static const char *const mask[] = {"m", NULL};

static qdq_data *sequences(const qdq_model *m, size_t runs, size_t steps, int64_t width)
{
    const qdq_named_array x = named("x", QDQ_FLOAT, ones, 2, (int64_t)runs, width);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    opts.states = &t_to_s;
    opts.n_states = 1;
    opts.steps = steps;
    opts.masks = width == 1 ? mask : NULL;
    assert_ok(qdq_data_from_arrays(&x, 1, m, &opts, &d, &err));
    return d;
}

/* --- inputs of a step ------------------------------------------------------------------------- */

TEST(states_of_a_step_are_what_the_model_returned_before)
{
    qdq_model *m = test_graph("sum");
    qdq_data *d = sequences(m, 6, 3, 2);
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_step_request r = {.engine = test_ort(), .m = m, .of = m, .data = d, .sample = 1};
    const qdq_named_array *in;
    bool grow = true;
    size_t n;

    for (r.step = 0; r.step < 3 && r.engine != NULL; r.step++) {
        assert_ok(qdq_step_inputs(&r, &memory, &in, &n, &err));
        assert_int_equal(n, 2);
        assert_true(((const float *)in[0].array.data)[1] == 1);
        assert_true(((const float *)in[1].array.data)[1] == (float)r.step);
    }
    assert_int_equal(qdq_step_to_time(d), 1);
    r.step = 0;
    if (r.engine != NULL)
        assert_ok(qdq_steps_grow(&r, &grow, &err));
    assert_true(r.engine == NULL || !grow);
    qdq_arena_free(&memory);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(caches_and_masks_grow)
{
    qdq_model *m = test_graph("cache");
    qdq_data *d = sequences(m, 8, 8, 1);
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_step_request r = {.engine = test_ort(), .m = m, .of = m, .data = d, .step = 5};
    const qdq_named_array *in;
    bool grow = false;
    size_t n;

    if (r.engine != NULL) {
        assert_ok(qdq_step_inputs(&r, &memory, &in, &n, &err));
        assert_int_equal(in[1].array.dim[1], 6);
        assert_int_equal(in[2].array.dim[1], 5);
        assert_ok(qdq_steps_grow(&r, &grow, &err));
        assert_true(grow);
    }
    assert_int_equal(qdq_step_to_time(d), 4);
    qdq_arena_free(&memory);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(states_have_the_type_of_the_model_that_reads_them)
{
    qdq_model *m = test_graph(__func__), *of = test_graph("sum");
    qdq_data *d = sequences(of, 2, 2, 2);
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_step_request r = {.engine = test_ort(), .m = m, .of = of, .data = d, .step = 1};
    const qdq_named_array *in;
    size_t n;

    if (r.engine != NULL) {
        assert_ok(qdq_step_inputs(&r, &memory, &in, &n, &err));
        assert_int_equal(in[1].array.elem, QDQ_FLOAT16);
        assert_int_equal(((const uint16_t *)in[1].array.data)[0], 0x3c00);
        r.step = 0;
        assert_ok(qdq_step_inputs(&r, &memory, &in, &n, &err));
        assert_int_equal(in[1].array.elem, QDQ_FLOAT16);
    }
    qdq_arena_free(&memory);
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(of);
}

TEST(a_step_before_that_fails_is_named)
{
    qdq_model *m = test_graph(__func__);
    qdq_data *d = sequences(m, 3, 3, 2);
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_step_request r = {.engine = test_ort(), .m = m, .of = m, .data = d, .step = 2};
    const qdq_named_array *in;
    size_t n;

    if (r.engine != NULL)
        assert_fails(QDQ_E_USAGE,
                     "sample 0, step 1: ", qdq_step_inputs(&r, &memory, &in, &n, &err));
    qdq_arena_free(&memory);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* --- times of sequences ----------------------------------------------------------------------- */

static qdq_session *session_of(qdq_engine *e, const qdq_model *m)
{
    qdq_session *s = NULL;

    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    return s;
}

static qdq_engine *sim(const char *more)
{
    static char json[1000];

    snprintf(json, sizeof json,
             "{\"qdq_sim\": 1, \"ops\": {\"Add\": {\"float_us\": 1000}}, \"default\": "
             "{\"float_us\": 0}%s}",
             more);
    return test_sim(json);
}

TEST(times_are_those_of_a_step)
{
    qdq_engine *e = sim("");
    qdq_model *m = test_graph("sum");
    qdq_data *d = sequences(m, 6, 3, 2);
    const qdq_sequence_model of = {session_of(e, m), m, NULL};
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out;

    opts.rounds = 4;
    opts.min_sample_ms = 1;
    assert_ok(qdq_bench_sequence(&of, 1, d, &opts, &out, &err));
    assert_float_equal(out.median_ms, 1, 1e-3);
    assert_float_equal(out.p90_ms, 1, 1e-3);
    assert_int_equal(out.runs, 4 * 3);
    opts.min_sample_ms = 8; /* three sequences of 3 ms */
    assert_ok(qdq_bench_sequence(&of, 1, d, &opts, &out, &err));
    assert_float_equal(out.median_ms, 1, 1e-3);
    assert_int_equal(out.runs, 4 * 9);
    qdq_session_close(of.session);
    qdq_data_close(d);
    d = NULL;
    assert_ok(qdq_data_open("random:1", m, NULL, &d, &err)); /* single runs */
    const qdq_sequence_model again = {session_of(e, m), m, m};
    opts.min_sample_ms = 1;
    assert_ok(qdq_bench_sequence(&again, 1, d, &opts, &out, &err));
    assert_int_equal(out.runs, 4);
    qdq_session_close(again.session);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
}

/* A wrong state or mask would not fit. */
TEST(each_model_is_timed_with_its_own_states)
{
    qdq_model *m = test_graph("cache"), *half = test_graph(__func__);
    qdq_data *d = sequences(m, 5, 5, 1);
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out[2];

    opts.rounds = 3;
    opts.min_sample_ms = 0.001;
    if (test_ort() != NULL) {
        const qdq_sequence_model of[] = {{session_of(test_ort(), m), m, NULL},
                                         {session_of(test_ort(), half), half, m}};

        assert_ok(qdq_bench_sequence(of, 2, d, &opts, out, &err));
        assert_true(out[0].median_ms > 0 && out[1].median_ms > 0 && out[1].speedup > 0);
        assert_int_equal(out[1].runs % 15, 0);
        qdq_session_close(of[0].session);
        qdq_session_close(of[1].session);
    }
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(half);
}

TEST(what_cannot_be_timed_in_steps_is_refused)
{
    qdq_engine *e = sim("");
    qdq_cancel *stop = qdq_cancel_new();
    qdq_job job = {.size = sizeof job, .cancel = stop};
    qdq_model *m = test_graph("sum"),
              *b = test_model("g (float[1,2] x, float[1,2] s) => (float[1,2] y) { y = Add(s, x) }");
    qdq_data *d = sequences(m, 6, 3, 2);
    const qdq_sequence_model of[] = {{session_of(e, m), m, NULL}, {session_of(e, b), b, m}};
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out[2];

    assert_fails(QDQ_E_FORMAT,
                 "model 2: step 1: found no output 't', expected the state of input "
                 "'s'",
                 qdq_bench_sequence(of, 2, d, &opts, out, &err));
    assert_fails(QDQ_E_USAGE, "bench of no models", qdq_bench_sequence(of, 0, d, &opts, out, &err));
    assert_non_null(stop);
    qdq_cancel_set(stop);
    opts.job = &job;
    assert_fails(QDQ_E_INTERRUPTED, "", qdq_bench_sequence(of, 1, d, &opts, out, &err));
    qdq_session_close(of[0].session);
    qdq_session_close(of[1].session);
    qdq_cancel_free(stop);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
    qdq_model_free(b);
}

/* --- what an engine computes ------------------------------------------------------------------ */

TEST(a_defect_is_found_and_named_in_sequences)
{
    const char *model = test_graph_text(__func__);
    qdq_engine *e = sim(", \"wrong\": [{\"node\": \"later\", \"float\": true}]");
    qdq_model *m = test_model(model);

    for (size_t steps = 2; steps < 4; steps++) {
        qdq_data *d = sequences(m, 6, steps, 2);
        qdq_verify_opts opts = QDQ_VERIFY_OPTS_INIT;
        qdq_verify_result *r = NULL;

        opts.original = steps == 3 ? m : NULL;
        opts.count = 2;
        assert_ok(qdq_verify_engine(m, e, d, &opts, &r, &err));
        assert_int_equal(r->verdict, QDQ_VERIFY_WRONG);
        assert_int_equal(r->samples, 2); /* sequences */
        assert_string_equal(r->output, "y");
        assert_string_equal(r->node, "later");
        qdq_free(r);
        qdq_data_close(d);
    }
    qdq_engine_close(e);
    qdq_model_free(m);
}

/* Numbers of the runs that were read. */
typedef struct frames {
    qdq_named_array array;
    size_t next, most;
} frames;

static qdq_status next_frame(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    frames *f = ctx;

    (void)e;
    f->array = named("x", QDQ_FLOAT, ramp + f->next % 8, 2, 1, 2);
    *in = &f->array;
    *n = 1;
    f->most = f->next > f->most ? f->next : f->most;
    f->next++;
    return QDQ_OK;
}

static qdq_status first_frame(void *ctx, qdq_error *e)
{
    (void)e;
    ((frames *)ctx)->next = 0;
    return QDQ_OK;
}

TEST(an_engine_is_checked_at_each_step)
{
    qdq_data_source source = QDQ_DATA_SOURCE_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_verify_opts verify = QDQ_VERIFY_OPTS_INIT;
    frames f = {.next = 0};
    qdq_verify_result *r = NULL;
    qdq_model *m = test_graph("sum");
    qdq_engine *e = sim("");
    qdq_data *d = NULL;

    source.ctx = &f;
    source.next = next_frame;
    source.rewind = first_frame;
    source.count = 20;
    opts.states = &t_to_s;
    opts.n_states = 1;
    opts.steps = 4;
    assert_ok(qdq_data_from(&source, m, &opts, &d, &err));
    verify.count = 2;
    assert_ok(qdq_verify_engine(m, e, d, &verify, &r, &err));
    assert_int_equal(r->verdict, QDQ_VERIFY_RIGHT);
    assert_int_equal(f.most, 7); /* of two sequences the last step */
    qdq_free(r);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
}

TEST(an_engine_is_right_on_a_cache_that_grows)
{
    qdq_model *m = test_graph("cache");
    qdq_data *d = sequences(m, 8, 4, 1);
    qdq_verify_opts opts = QDQ_VERIFY_OPTS_INIT;
    qdq_verify_result *r = NULL;

    opts.original = m;
    if (test_ort() != NULL) {
        assert_ok(qdq_verify_engine(m, test_ort(), d, &opts, &r, &err));
        assert_int_equal(r->verdict, QDQ_VERIFY_RIGHT);
        assert_int_equal(r->samples, 2);
        qdq_free(r);
    }
    qdq_data_close(d);
    qdq_model_free(m);
}
