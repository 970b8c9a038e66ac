/* lab_trial.c - what is done with models in the lab: timed in pairs, compared, profiled, taken apart. */
#include "tune/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/pack.h"
#include "tune/lab/lab_groups.h"
#include "tune/lab/lab_inner.h"

/* --- pairs ---------------------------------------------------------------------------------------------------------- */

static qdq_status leg(qdq_lab *lab, int handle, uint64_t number, double *ns, qdq_lab_fate *fate,
                      qdq_error *err)
{
    qdq_lab_object q = qdq_lab_object_new();
    qdq_lab_answer answer;
    double start = qdq_clock_seconds();

    qdq_lab_put_text(&q, "do", "leg");
    qdq_lab_put_int(&q, "handle", handle);
    qdq_lab_put_int(&q, "number", (int64_t)number);
    qdq_status st = qdq_lab_ask(lab, &q, lab->opts.run_deadline_s, &answer, fate, err);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE) {
        *ns = qdq_json_number(&answer.top, "ns", 0, INFINITY, -1);
        st = qdq_lab_answer_check(lab, &answer, err);
    }
    if (st == QDQ_OK)
        qdq_lab_note(lab, handle, "run for a time", fate, qdq_clock_seconds() - start);
    qdq_lab_answer_free(&answer);
    return st;
}

/* Legs are numbered by who runs, not by who runs first: so a model is measured alike from either side, and a model beside
 * itself (the A/A control) is not measured twice with one noise. */
qdq_status qdq_lab_pair(qdq_lab *lab, int a, int b, bool b_first, uint64_t number, double *a_ns, double *b_ns,
                        qdq_lab_fate *fate, qdq_error *err)
{
    *a_ns = *b_ns = 0;
    *fate = (qdq_lab_fate){0};
    QDQ_TRY(qdq_lab_check_handle(lab, a, err));
    QDQ_TRY(qdq_lab_check_handle(lab, b, err));
    QDQ_TRY(qdq_lab_ready(lab, a, b, true, fate, err));
    for (int i = 0; i < 2 && fate->end == QDQ_LAB_FINE; i++) {
        if ((i == 0) == b_first)
            QDQ_TRY(leg(lab, b, 2 * number + 1, b_ns, fate, err));
        else
            QDQ_TRY(leg(lab, a, 2 * number, a_ns, fate, err));
    }
    if (fate->end != QDQ_LAB_FINE)
        *a_ns = *b_ns = 0;
    return QDQ_OK;
}

/* --- accuracy ------------------------------------------------------------------------------------------------------- */

/* The result up to this sample. */
static qdq_status compare_sample(qdq_lab *lab, int a, int b, size_t sample, size_t *samples,
                                 qdq_lab_accuracy *out, qdq_lab_fate *fate, qdq_error *err)
{
    static const char *const words[] = {"number", "equal", "zero", "broken", NULL};
    const double special[] = {0, INFINITY, NAN, -INFINITY};
    qdq_lab_object q = qdq_lab_object_new();
    qdq_lab_answer answer;
    double start = qdq_clock_seconds();

    qdq_lab_put_text(&q, "do", "compare");
    qdq_lab_put_int(&q, "a", a);
    qdq_lab_put_int(&q, "b", b);
    qdq_lab_put_int(&q, "sample", (int64_t)sample);
    qdq_status st = qdq_lab_ask(lab, &q, 2 * lab->opts.run_deadline_s, &answer, fate, err);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE) {
        *samples = (size_t)qdq_json_int(&answer.top, "samples", 1, INT64_MAX, 1);
        out->finite = qdq_json_bool(&answer.top, "finite");
        int word = qdq_json_word(&answer.top, "sqnr_is", words, -1);
        out->sqnr_db =
            word > 0 ? special[word] : qdq_json_number(&answer.top, "sqnr_db", -INFINITY, INFINITY, 0);
        st = qdq_lab_answer_check(lab, &answer, err);
    }
    if (st == QDQ_OK)
        qdq_lab_note(lab, b, "run to compare its outputs", fate, qdq_clock_seconds() - start);
    qdq_lab_answer_free(&answer);
    return st;
}

qdq_status qdq_lab_compare(qdq_lab *lab, int a, int b, qdq_lab_accuracy *out, qdq_lab_fate *fate,
                           qdq_error *err)
{
    size_t samples = 1;

    *out = (qdq_lab_accuracy){.sqnr_db = NAN};
    *fate = (qdq_lab_fate){0};
    QDQ_TRY(qdq_lab_check_handle(lab, a, err));
    QDQ_TRY(qdq_lab_check_handle(lab, b, err));
    QDQ_TRY(qdq_lab_ready(lab, a, b, false, fate, err));
    for (size_t i = 0; i < samples && fate->end == QDQ_LAB_FINE; i++)
        QDQ_TRY(compare_sample(lab, a, b, i, &samples, out, fate, err));
    if (fate->end != QDQ_LAB_FINE)
        *out = (qdq_lab_accuracy){.sqnr_db = NAN};
    return QDQ_OK;
}

/* --- profile -------------------------------------------------------------------------------------------------------- */

typedef struct raw_layer {
    const char *name, *op;
    double us;
    unsigned runs;
} raw_layer;

static bool read_layer(const json_t *row, qdq_arena *arena, raw_layer *out)
{
    const json_t *name = json_array_get(row, 0), *op = json_array_get(row, 1);
    const json_t *us = json_array_get(row, 2), *runs = json_array_get(row, 3);

    if (!json_is_string(name) || !json_is_string(op) || !json_is_number(us) || !json_is_integer(runs))
        return false;
    out->name = qdq_lab_bytes(arena, json_string_value(name));
    out->op = qdq_lab_bytes(arena, json_string_value(op));
    out->us = json_number_value(us);
    out->runs = (unsigned)json_integer_value(runs);
    return true;
}

/* One block: the layers, then their texts. */
static qdq_status pack_layers(const raw_layer *raw, size_t count, qdq_layer **out, size_t *n, qdq_error *err)
{
    size_t size = (count + 1) * sizeof(qdq_layer);

    for (size_t i = 0; i < count; i++)
        size += strlen(raw[i].name) + strlen(raw[i].op) + 2;
    qdq_layer *layers = malloc(size);
    if (layers == NULL)
        return qdq_nomem(err);
    char *text = (char *)(layers + count + 1);
    for (size_t i = 0; i < count; i++) {
        layers[i] = (qdq_layer){.median_us = raw[i].us, .runs = raw[i].runs};
        layers[i].name = qdq_pack_text(&text, raw[i].name);
        layers[i].op = qdq_pack_text(&text, raw[i].op);
    }
    *out = layers;
    *n = count;
    return QDQ_OK;
}

static qdq_status read_layers(qdq_lab *lab, qdq_lab_answer *answer, qdq_layer **out, size_t *n,
                              qdq_error *err)
{
    const json_t *list = json_object_get(answer->json, "layers");
    size_t count = json_array_size(list);
    raw_layer *raw = qdq_arena_array(&answer->arena, count + 1, sizeof *raw);

    if (raw == NULL)
        return qdq_nomem(err);
    if (!json_is_array(list))
        qdq_json_wrong(&answer->top, "layers", "a list");
    for (size_t i = 0; i < count; i++) {
        if (!read_layer(json_array_get(list, i), &answer->arena, &raw[i]))
            qdq_json_wrong(&answer->top, "layers", "a list of [name, operator, us, runs]");
        else if (raw[i].name == NULL || raw[i].op == NULL)
            qdq_json_nomem(&answer->top);
    }
    QDQ_TRY(qdq_lab_answer_check(lab, answer, err));
    return pack_layers(raw, count, out, n, err);
}

/* Asks for something that takes a session of its own. `what` is for the log. */
static qdq_status ask_apart(qdq_lab *lab, const char *question, const char *path, unsigned runs,
                            const char *what, qdq_lab_answer *answer, qdq_lab_fate *fate, qdq_error *err)
{
    qdq_lab_object q = qdq_lab_object_new();

    qdq_lab_put_text(&q, "do", question);
    qdq_lab_put_text(&q, "path", path);
    qdq_lab_put_int(&q, "runs", runs);
    const char *log = qdq_lab_log_new(&lab->logs, &lab->arena);
    char *text = qdq_arena_printf(&lab->arena, "build a session of %s and %s %u runs", path, what, runs);
    qdq_lab_log_asked(&lab->logs, log, text != NULL ? text : path);
    lab->builds++;
    double start = qdq_clock_seconds();
    double deadline = lab->opts.build_deadline_s + runs * lab->opts.run_deadline_s;
    qdq_status st = qdq_lab_ask(lab, &q, deadline, answer, fate, err);
    qdq_lab_note_build(lab, log, st, fate, err, qdq_clock_seconds() - start);
    return st;
}

qdq_status qdq_lab_profile(qdq_lab *lab, const char *path, unsigned runs, qdq_layer **out, size_t *n,
                           qdq_lab_fate *fate, qdq_error *err)
{
    qdq_lab_answer answer;

    *out = NULL;
    *n = 0;
    *fate = (qdq_lab_fate){0};
    QDQ_TRY(qdq_lab_need_worker(lab, err));
    qdq_status st = ask_apart(lab, "profile", path, runs, "profile", &answer, fate, err);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE)
        st = read_layers(lab, &answer, out, n, err);
    qdq_lab_answer_free(&answer);
    return st;
}

/* --- groups --------------------------------------------------------------------------------------------------------- */

static qdq_status read_groups(qdq_lab *lab, const qdq_lab_answer *answer, qdq_group **out, size_t *n,
                              qdq_error *err)
{
    qdq_status st = qdq_lab_groups_read(json_object_get(answer->json, "layers"), out, n, err);

    if (st != QDQ_E_FORMAT)
        return st;
    qdq_lab_process_kill(lab->process); /* as after any answer that is none */
    return qdq_within(err, QDQ_E_ENGINE, "%s: its answer is not as agreed", lab->program);
}

qdq_status qdq_lab_groups(qdq_lab *lab, const char *path, unsigned runs, qdq_group **out, size_t *n,
                          qdq_lab_fate *fate, qdq_error *err)
{
    qdq_lab_answer answer;

    *out = NULL;
    *n = 0;
    *fate = (qdq_lab_fate){0};
    QDQ_TRY(qdq_lab_need_worker(lab, err));
    qdq_status st =
        ask_apart(lab, "groups", path, runs, "find the nodes of its layers in", &answer, fate, err);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE)
        st = read_groups(lab, &answer, out, n, err);
    qdq_lab_answer_free(&answer);
    return st;
}
