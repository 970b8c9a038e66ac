/* engine_cases.h - what ONNX Runtime and OpenVINO are asked alike, and engine_conformance.c cannot
 * ask of others, which compute nothing real. */
#ifndef QDQ_TEST_ENGINE_CASES_H
#define QDQ_TEST_ENGINE_CASES_H

#include "numeric/ort_help.h"

/* A dim that one input fixes is fixed in the other one and in the output. */
static inline void check_fixed_shapes(qdq_engine *e)
{
    qdq_model *m =
        test_model(HEAD "g (float[N,4] a, float[N,4] b) => (float[N,4] y) { y = Add(a, b) }");
    qdq_input_shape shape = {"a", 2, {3, 4}};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session *s;
    qdq_io io;

    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_true(qdq_session_input(s, 1, &io));
    assert_int_equal(io.dim[0], -1);
    assert_string_equal(io.param[0], "N");
    assert_false(qdq_session_input(s, 2, &io));
    qdq_session_close(s);
    opts.shapes = &shape;
    opts.n_shapes = 1;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_true(qdq_session_input(s, 1, &io));
    assert_int_equal(io.dim[0], 3);
    assert_true(qdq_session_output(s, 0, &io));
    assert_int_equal(io.rank, 2);
    assert_int_equal(io.dim[0], 3);
    qdq_session_close(s);
    qdq_model_free(m);
}

/* Two layers of five runs, for qdq_free(): a session has a profile once. */
static inline qdq_layer *profile_of_two(qdq_engine *e, const qdq_model *m)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_named_array *in;
    qdq_session *s;
    qdq_layer *l, *again;
    size_t n_in, n;

    opts.profile = true;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(s, in, n_in, 5, &l, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(l[0].runs, 5);
    assert_fails(QDQ_E_USAGE, "not yet profiled",
                 qdq_session_profile(s, in, n_in, 5, &again, &n, &err));
    qdq_free(in);
    qdq_session_close(s);
    return l;
}

/* 1 and 8 products of the same size: no noise of this world hides that. */
static inline void check_timed_in_rounds(qdq_engine *e)
{
    qdq_model *m[2] = {
        test_model(HEAD "g (float[96,96] x) => (float[96,96] y) { y = MatMul(x, x) }"),
        test_graph(__func__)};
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_bench_model r[2];
    qdq_session *s[2];

    for (int i = 0; i < 2; i++)
        assert_ok(qdq_session_open(e, m[i], NULL, &s[i], &err));
    opts.rounds = 20;
    opts.min_sample_ms = 1;
    assert_ok(qdq_bench(s, 2, &opts, r, &err));
    assert_true(r[0].median_ms > 0 && r[0].median_ms < r[1].median_ms);
    assert_true(r[1].speedup < 0.5 && r[1].ci_low <= r[1].speedup && r[1].speedup <= r[1].ci_high);
    assert_true(r[0].runs >= 20 && r[1].runs >= 20);
    for (int i = 0; i < 2; i++) {
        qdq_session_close(s[i]);
        qdq_model_free(m[i]);
    }
}

#endif /* QDQ_TEST_ENGINE_CASES_H */
