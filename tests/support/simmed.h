/* simmed.h - the engine sim with costs that a test gives, on two small models. */
#ifndef QDQ_TEST_SIMMED_H
#define QDQ_TEST_SIMMED_H

#include <math.h>

#include "base/buf.h"
#include "base/random.h"
#include "engine/engine_ops.h"
#include "support/test.h"

#define assert_near(x, want, by) assert_true(fabs((double)(x) - (double)(want)) <= (by))

static qdq_error err;

static inline const char *conv_int8(void)
{
    return test_graph_text("conv_int8");
}

/* Q and DQ as another tool names them. */
static inline const char *conv_int8_with_other_names(void)
{
    return test_graph_text(__func__);
}

static inline const char *conv_float(void)
{
    return test_graph_text("conv_float");
}

/* --- models and engines ----------------------------------------------------------------------- */

static inline qdq_status open_sim(const char *json, qdq_engine **e)
{
    return qdq_engine_open(test_sim_spec(json), NULL, e, &err);
}

typedef struct opened {
    qdq_engine *e;
    qdq_model *m;
    qdq_session *s;
} opened;

static inline opened open_all(const char *json, const char *text, const qdq_session_opts *opts)
{
    opened o = {.e = test_sim(json), .m = test_model(text)};

    assert_ok(qdq_session_open(o.e, o.m, opts, &o.s, &err));
    return o;
}

static inline void close_all(opened *o)
{
    qdq_session_close(o->s);
    qdq_model_free(o->m);
    qdq_engine_close(o->e);
}

#endif /* QDQ_TEST_SIMMED_H */
