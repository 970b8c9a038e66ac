/* worker_client_trial.c - what is done with models in the worker client: timed in pairs, compared,
 * profiled, taken apart. */
#include "tune/worker_client/worker_client.h"

#include <math.h>

#include "base/clock.h"
#include "base/fail.h"
#include "tune/worker_client/worker_client_inner.h"

/* --- pairs ------------------------------------------------------------------------------------ */

static qdq_status time_sample(qdq_worker_client *worker_client, int handle, uint64_t number,
                              double *ns, qdq_remote_outcome *outcome, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;
    double start = qdq_clock_seconds();

    qdq_remote_put_text(q, "do", "sample");
    qdq_json_put_int(q, "handle", handle);
    qdq_json_put_int(q, "number", (int64_t)number);
    qdq_status st = qdq_remote_ask(
        &worker_client->client, &doc, -1,
        qdq_worker_client_run_deadline(worker_client, worker_client->opts.run_deadline_s), &answer,
        outcome, err);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE) {
        *ns = qdq_json_number(&answer.top, "ns", 0, INFINITY, -1);
        st = qdq_remote_answer_check(&worker_client->client, &answer, err);
    }
    if (st == QDQ_OK)
        qdq_worker_client_note(worker_client, handle, "run for a time", outcome,
                               qdq_clock_seconds() - start);
    qdq_remote_answer_free(&answer);
    return st;
}

/* Samples are numbered by model, not by order: so a model is measured equally from either
 * side, and a model beside itself (the A/A test) is not measured twice with one noise. */
qdq_status qdq_worker_client_pair(qdq_worker_client *worker_client, int a, int b, bool b_first,
                                  uint64_t number, double *a_ns, double *b_ns,
                                  qdq_remote_outcome *outcome, qdq_error *err)
{
    *a_ns = *b_ns = 0;
    *outcome = (qdq_remote_outcome){0};
    QDQ_TRY(qdq_worker_client_check_handle(worker_client, a, err));
    QDQ_TRY(qdq_worker_client_check_handle(worker_client, b, err));
    QDQ_TRY(qdq_worker_client_ready(worker_client, a, b, true, outcome, err));
    const double start = qdq_clock_seconds();
    for (int i = 0; i < 2 && outcome->end == QDQ_REMOTE_FINE; i++) {
        if ((i == 0) == b_first)
            QDQ_TRY(time_sample(worker_client, b, 2 * number + 1, b_ns, outcome, err));
        else
            QDQ_TRY(time_sample(worker_client, a, 2 * number, a_ns, outcome, err));
    }
    worker_client->pair_s = fmax(worker_client->pair_s, qdq_clock_seconds() - start);
    if (outcome->end != QDQ_REMOTE_FINE)
        *a_ns = *b_ns = 0;
    return QDQ_OK;
}

/* --- accuracy --------------------------------------------------------------------------------- */

typedef struct comparing {
    /* handles */
    int a, b;
    size_t n_samples;
    /* up to the last sample that was asked */
    qdq_worker_client_accuracy *out;
} comparing;

static qdq_status compare_sample(qdq_worker_client *worker_client, comparing *c, size_t sample,
                                 qdq_remote_outcome *outcome, qdq_error *err)
{
    const double special[] = {0, INFINITY, NAN, -INFINITY};
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;
    double start = qdq_clock_seconds();

    qdq_remote_put_text(q, "do", "compare");
    qdq_json_put_int(q, "a", c->a);
    qdq_json_put_int(q, "b", c->b);
    qdq_json_put_int(q, "sample", (int64_t)sample);
    qdq_status st = qdq_remote_ask(
        &worker_client->client, &doc, -1,
        qdq_worker_client_run_deadline(worker_client, 2 * worker_client->opts.run_deadline_s),
        &answer, outcome, err);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE) {
        c->n_samples = (size_t)qdq_json_int(&answer.top, "samples", 1, INT64_MAX, 1);
        c->out->finite = qdq_json_bool(&answer.top, "finite");
        int word = QDQ_JSON_WORD(&answer.top, "sqnr_is", -1, "number", "equal", "zero", "broken");
        c->out->sqnr_db = word > 0
                              ? special[word]
                              : qdq_json_number(&answer.top, "sqnr_db", -INFINITY, INFINITY, 0);
        st = qdq_remote_answer_check(&worker_client->client, &answer, err);
    }
    if (st == QDQ_OK)
        qdq_worker_client_note(worker_client, c->b, "run to compare its outputs", outcome,
                               qdq_clock_seconds() - start);
    qdq_remote_answer_free(&answer);
    return st;
}

qdq_status qdq_worker_client_compare(qdq_worker_client *worker_client, int a, int b,
                                     qdq_worker_client_accuracy *out, qdq_remote_outcome *outcome,
                                     qdq_error *err)
{
    comparing c = {a, b, 1, out};

    *out = (qdq_worker_client_accuracy){.sqnr_db = NAN};
    *outcome = (qdq_remote_outcome){0};
    QDQ_TRY(qdq_worker_client_check_handle(worker_client, a, err));
    QDQ_TRY(qdq_worker_client_check_handle(worker_client, b, err));
    QDQ_TRY(qdq_worker_client_ready(worker_client, a, b, false, outcome, err));
    for (size_t i = 0; i < c.n_samples && outcome->end == QDQ_REMOTE_FINE; i++)
        QDQ_TRY(compare_sample(worker_client, &c, i, outcome, err));
    if (outcome->end != QDQ_REMOTE_FINE)
        *out = (qdq_worker_client_accuracy){.sqnr_db = NAN};
    return QDQ_OK;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* What is asked of a session of its own; `what` is for the log. */
typedef struct layer_question {
    const char *question, *what;
    qdq_status (*read)(qdq_remote_client *c, const qdq_remote_answer *answer, qdq_layer **out,
                       size_t *n, qdq_error *err);
    const char *path;
    unsigned runs;
} layer_question;

static qdq_status ask_worker(qdq_worker_client *worker_client, const layer_question *l,
                             qdq_remote_answer *answer, qdq_remote_outcome *outcome, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);

    qdq_remote_put_text(q, "do", l->question);
    qdq_remote_put_text(q, "path", l->path);
    qdq_json_put_int(q, "runs", l->runs);
    const char *log =
        qdq_worker_client_log_new(&worker_client->logs, l->path, &worker_client->arena);
    char *text = qdq_arena_printf(&worker_client->arena, "build a session of %s and %s %u runs",
                                  l->path, l->what, l->runs);
    qdq_worker_client_log_request(&worker_client->logs, log, text != NULL ? text : l->path);
    worker_client->builds++;
    double start = qdq_clock_seconds();
    const double build = qdq_worker_client_build_deadline(worker_client);
    double deadline =
        isinf(worker_client->until) ? build + l->runs * worker_client->opts.run_deadline_s : build;
    qdq_status st =
        qdq_remote_ask(&worker_client->client, &doc, -1, deadline, answer, outcome, err);
    qdq_worker_client_note_build(worker_client, log, st, outcome, err, qdq_clock_seconds() - start);
    return st;
}

static qdq_status ask_layers(qdq_worker_client *worker_client, const layer_question *l,
                             qdq_layer **out, size_t *n, qdq_remote_outcome *outcome,
                             qdq_error *err)
{
    qdq_remote_answer answer;

    *out = NULL;
    *n = 0;
    *outcome = (qdq_remote_outcome){0};
    QDQ_TRY(qdq_remote_need_worker(&worker_client->client, err));
    qdq_status st = ask_worker(worker_client, l, &answer, outcome, err);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        st = l->read(&worker_client->client, &answer, out, n, err);
    qdq_remote_answer_free(&answer);
    return st;
}

qdq_status qdq_worker_client_profile(qdq_worker_client *worker_client, const char *path,
                                     unsigned runs, qdq_layer **out, size_t *n,
                                     qdq_remote_outcome *outcome, qdq_error *err)
{
    const layer_question profile = {"profile", "profile", qdq_remote_answer_layers, path, runs};

    return ask_layers(worker_client, &profile, out, n, outcome, err);
}

qdq_status qdq_worker_client_groups(qdq_worker_client *worker_client, const char *path,
                                    unsigned runs, qdq_layer **out, size_t *n,
                                    qdq_remote_outcome *outcome, qdq_error *err)
{
    const layer_question groups = {"groups", "find the nodes of its layers in",
                                   qdq_remote_answer_layers, path, runs};

    return ask_layers(worker_client, &groups, out, n, outcome, err);
}
