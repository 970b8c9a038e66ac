/* steps_alloc.c - every allocation fails once while a model with a cache and a mask runs a
 * sequence: inputs of a step, times of all steps, and the check of an engine. */
#include "support/alloc_fail.h"

#include "qdq/check.h"
#include "qdq/sequence.h"
#include "quant/compare/step_inputs.h"

typedef struct models {
    const qdq_model *half, *full;
    const char *engine;
} models;

static qdq_status open_data(const models *m, qdq_data **out, qdq_error *err)
{
    static const qdq_state state = {"t", "s"};
    static const char *const mask[] = {"m", NULL};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    opts.states = &state;
    opts.n_states = 1;
    opts.steps = 3;
    opts.masks = mask;
    return qdq_data_open("random:1", m->full, &opts, out, err);
}

static qdq_status use_step(const models *m, qdq_engine *e, qdq_data *d, qdq_error *err)
{
    const qdq_step_request r = {.engine = e, .m = m->half, .of = m->full, .data = d, .step = 2};
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_named_array *in;
    bool grow;
    size_t n;

    qdq_status st = qdq_step_inputs(&r, &memory, &in, &n, err);
    if (st == QDQ_OK)
        st = qdq_steps_grow(&r, &grow, err);
    qdq_arena_free(&memory);
    return st;
}

static qdq_status use_times(const models *m, qdq_engine *e, qdq_data *d, qdq_error *err)
{
    qdq_sequence_model of[] = {{NULL, m->full, NULL}, {NULL, m->half, m->full}};
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out[2];
    qdq_status st = QDQ_OK;

    opts.rounds = 2;
    opts.min_sample_ms = 0.001;
    for (size_t i = 0; i < 2 && st == QDQ_OK; i++)
        st = qdq_session_open(e, of[i].model, NULL, &of[i].session, err);
    if (st == QDQ_OK)
        st = qdq_bench_sequence(of, 2, d, &opts, out, err);
    for (size_t i = 0; i < 2; i++)
        qdq_session_close(of[i].session);
    return st;
}

static qdq_status use_all(void *ctx, qdq_error *err)
{
    const models *m = ctx;
    qdq_verify_opts opts = QDQ_VERIFY_OPTS_INIT;
    qdq_verify_result *r = NULL;
    qdq_engine *e = NULL;
    qdq_data *d = NULL;

    QDQ_TRY(qdq_engine_open(m->engine, NULL, &e, err));
    qdq_status st = open_data(m, &d, err);
    if (st == QDQ_OK)
        st = use_step(m, e, d, err);
    if (st == QDQ_OK)
        st = use_times(m, e, d, err);
    opts.original = m->full;
    opts.count = 1;
    if (st == QDQ_OK)
        st = qdq_verify_engine(m->half, e, d, &opts, &r, err);
    qdq_free(r);
    qdq_data_close(d);
    qdq_engine_close(e);
    return st;
}

TEST(steps_survive_every_failure)
{
    models m = {test_graph("text"), test_graph("as_float"), test_sim_spec("{\"qdq_sim\": 1}")};

    test_every_alloc_fails(use_all, &m);
    qdq_model_free((qdq_model *)(uintptr_t)m.half);
    qdq_model_free((qdq_model *)(uintptr_t)m.full);
}
