/* sim_time.c - see the header. */
#include "support/sim_time.h"

double test_sim_time(qdq_engine *e, const qdq_model *m)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_session *s;
    qdq_named_array *in;
    qdq_layer *l;
    qdq_error err = QDQ_ERROR_INIT;
    double sum = 0;
    size_t n, n_in;

    o.profile = true;
    assert_ok(qdq_session_open(e, m, &o, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(s, in, n_in, 1, &l, &n, &err));
    for (size_t i = 0; i < n; i++)
        sum += l[i].median_us;
    qdq_free(l);
    qdq_free(in);
    qdq_session_close(s);
    return sum;
}
