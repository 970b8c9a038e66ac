/* safe_session.c - opens sessions whose results are right, for models under inspection.
 *
 * ONNX Runtime (1.31) makes kernels for integers of Q/DQ, also with float8, with blocks and with
 * constants that two of its rewrites want. Then it refuses its own graph, or makes one that fails
 * when it runs (blocks: MatMulIntegerToFloat), or noise (float8 with scales of float16: 0 dB
 * instead of 30). It runs all of them as they stand. */
#include "quant/half_precision/safe_session.h"

#include <string.h>

#include "base/fail.h"
#include "ir/qdq_node.h"
#include "quant/half_precision/widen.h"

static bool is_float8(qdq_elem e)
{
    return qdq_elem_is_float(e) && qdq_elem_bits(e) == 8;
}

static bool has_float8(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        for (size_t i = 0; i < g->values.n; i++) {
            const qdq_value *v = g->values.at[i];

            if (!v->dead &&
                ((v->init != NULL && is_float8(v->init->elem)) || is_float8(qdq_value_elem(v))))
                return true;
        }
    return false;
}

static bool is_optimized(const qdq_safe_session *s)
{
    return s->opts.level != QDQ_LEVEL_NONE;
}

/* An engine that dies of a model is no engine that refuses it: no one may take that for an
 * answer. */
static bool has_crashed(const qdq_safe_session *s, unsigned before)
{
    return qdq_engine_crashes(s->engine) != before;
}

static void log_failed(const qdq_safe_session *s, const char *why)
{
    qdq_job_log(s->job, QDQ_LOG_WARNING,
                "%s: run without the engine's optimizations, as its users have to, since it fails "
                "with them: %s",
                s->which, why);
}

static qdq_status open_plain(qdq_safe_session *s, const qdq_model *m)
{
    qdq_session_opts plain = s->opts;

    plain.level = QDQ_LEVEL_NONE;
    qdq_status st = qdq_session_open(s->engine, m, &plain, &s->session, NULL);
    if (st == QDQ_OK)
        s->opts.level = QDQ_LEVEL_NONE;
    return st;
}

/* With optimizations, and if the engine refuses that, without. What it said of the first attempt is
 * in *err. */
static qdq_status open_either(qdq_safe_session *s, const qdq_model *m, qdq_error *err)
{
    if (is_optimized(s) && strcmp(qdq_engine_get_info(s->engine)->name, "ort") == 0 &&
        has_float8(m) && open_plain(s, m) == QDQ_OK) {
        qdq_job_log(s->job, QDQ_LOG_WARNING,
                    "%s: run without the engine's optimizations, which take float8 for integers: "
                    "refused, or wrong numbers",
                    s->which);
        return QDQ_OK;
    }
    const unsigned crashes = qdq_engine_crashes(s->engine);
    qdq_status st = qdq_session_open(s->engine, m, &s->opts, &s->session, err);
    if (st != QDQ_E_ENGINE || has_crashed(s, crashes) || !is_optimized(s) ||
        !qdq_model_has_qdq(m) || open_plain(s, m) != QDQ_OK)
        return st;
    log_failed(s, err->text);
    return QDQ_OK;
}

qdq_status qdq_safe_open(qdq_safe_session *s, qdq_error *err)
{
    qdq_error own = QDQ_ERROR_INIT, second = QDQ_ERROR_INIT;
    const unsigned crashes = qdq_engine_crashes(s->engine);
    qdq_status st = open_either(s, s->model, &own);

    if (st == QDQ_E_ENGINE && !has_crashed(s, crashes) && s->copy == NULL &&
        qdq_model_has_half(s->model) && qdq_model_widen(s->model, &s->copy, &second) == QDQ_OK) {
        if (open_either(s, s->copy, &second) == QDQ_OK) {
            s->model = s->copy;
            qdq_job_log(s->job, QDQ_LOG_WARNING, "%s: run as a copy widened to float32, since %s",
                        s->which, own.text);
            return QDQ_OK;
        }
        qdq_model_free(s->copy);
        s->copy = NULL;
    }
    if (st != QDQ_OK && err != NULL)
        *err = own; /* what the engine said of the model itself */
    return st;
}

/* A run that fails has given no outputs: engines hand them over when it is done. */
qdq_status qdq_safe_run(qdq_safe_session *s, const qdq_named_array *in, size_t n, qdq_output_fn fn,
                        void *ctx, qdq_error *err)
{
    qdq_error own = QDQ_ERROR_INIT, second = QDQ_ERROR_INIT;
    const unsigned crashes = qdq_engine_crashes(s->engine);
    qdq_status st = qdq_session_run(s->session, in, n, fn, ctx, &own);

    if (st == QDQ_E_ENGINE && !has_crashed(s, crashes) && is_optimized(s) &&
        qdq_model_has_qdq(s->model)) {
        qdq_session_close(s->session);
        s->session = NULL;
        if (open_plain(s, s->model) == QDQ_OK)
            st = qdq_session_run(s->session, in, n, fn, ctx, &second);
        if (st == QDQ_OK)
            log_failed(s, own.text);
        else if (st != QDQ_E_ENGINE)
            own = second;
    }
    if (st != QDQ_OK && err != NULL)
        *err = own;
    return st;
}

void qdq_safe_close(qdq_safe_session *s)
{
    qdq_session_close(s->session);
    qdq_model_free(s->copy);
    s->session = NULL;
    s->copy = NULL;
}
