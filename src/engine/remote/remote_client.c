/* remote_client.c - starts workers for calls, and reads answers and failures. */
#include "engine/remote/remote_client.h"

#include <stdio.h>
#include <string.h>

#include "base/program_path.h"
#include "base/fail.h"
#include "base/opts.h"
#include "base/processor.h"
#include "engine/remote/remote_groups.h"

#define WORKER "qdq-worker"

/* --- answers ---------------------------------------------------------------------------------- */

void qdq_remote_answer_free(qdq_remote_answer *answer)
{
    json_decref(answer->json);
    qdq_arena_free(&answer->arena);
    answer->json = NULL;
}

/* What cannot be read is no answer: who knows what the worker takes us for. */
qdq_status qdq_remote_not_as_agreed(qdq_remote_client *c, qdq_error *err)
{
    qdq_remote_process_kill(c->process);
    return qdq_within(err, QDQ_E_ENGINE, "%s: its answer is not as agreed", c->program);
}

qdq_status qdq_remote_answer_check(qdq_remote_client *c, const qdq_remote_answer *answer,
                                   qdq_error *err)
{
    qdq_status st = answer->reader.status;

    return st == QDQ_OK || st == QDQ_E_NOMEM ? st : qdq_remote_not_as_agreed(c, err);
}

qdq_status qdq_remote_answer_layers(qdq_remote_client *c, const qdq_remote_answer *answer,
                                    qdq_layer **out, size_t *n, qdq_error *err)
{
    qdq_status st = qdq_remote_groups_read(json_object_get(answer->json, "layers"), out, n, err);

    return st == QDQ_E_FORMAT ? qdq_remote_not_as_agreed(c, err) : st;
}

static qdq_status status_of(const char *code)
{
    for (int st = QDQ_E_USAGE; st < QDQ_E_BUG; st++)
        if (strcmp(qdq_status_name((qdq_status)st), code) == 0)
            return (qdq_status)st;
    return QDQ_E_BUG;
}

/* What the engine had to say meanwhile. */
static void pass_on_log(const qdq_remote_client *c, qdq_remote_answer *answer)
{
    qdq_json_place line;

    for (size_t i = 0; qdq_json_item(&answer->top, "log", i, &line); i++) {
        int level = (int)qdq_json_int(&line, "level", QDQ_LOG_ERROR, QDQ_LOG_DEBUG, -1);
        const char *text = qdq_remote_get_text(&line, "text", NULL);

        if (answer->reader.status == QDQ_OK)
            qdq_job_log(c->job, (qdq_log_level)level, "%s", text);
    }
}

/* What cannot be kept is found out again by the next worker. */
static void note_refused(qdq_remote_client *c, const qdq_remote_answer *answer)
{
    const char *options = qdq_remote_get_text(&answer->top, "refused", "");

    if (options[0] == '\0' || answer->reader.status != QDQ_OK)
        return;
    c->info.capabilities =
        (unsigned)qdq_json_int(&answer->top, "can", 0, UINT32_MAX, c->info.capabilities);
    if (c->refused != NULL && strcmp(c->refused, options) == 0)
        return;
    const char *copy = qdq_arena_strdup(&c->arena, options);
    if (copy != NULL && json_object_set_new(c->hello, "refused", qdq_remote_text(copy)) == 0)
        c->refused = copy;
}

/* What stands in every answer. */
static qdq_status read_end(qdq_remote_client *c, qdq_remote_answer *answer,
                           qdq_remote_outcome *outcome, qdq_error *err)
{
    enum { FAILED_CALL = QDQ_REMOTE_MEMORY + 1 };
    int end = QDQ_JSON_WORD(&answer->top, "end", -1, "fine", "refused", "crashed", "hung", "memory",
                            "error");

    pass_on_log(c, answer);
    note_refused(c, answer);
    if (answer->reader.status == QDQ_OK && end == QDQ_REMOTE_FINE)
        return QDQ_OK;
    const char *text = qdq_remote_get_text(&answer->top, "text", "");
    const char *code = qdq_remote_get_text(&answer->top, "code", "");
    QDQ_TRY(qdq_remote_answer_check(c, answer, err));
    if (end == FAILED_CALL)
        return qdq_fail(err, status_of(code), "%s", text);
    *outcome = (qdq_remote_outcome){.end = (qdq_remote_end)end, .code = status_of(code)};
    snprintf(outcome->text, sizeof outcome->text, "%s", text);
    if (outcome->end == QDQ_REMOTE_MEMORY) /* what is left of it is no good place for others */
        qdq_remote_process_kill(c->process);
    return QDQ_OK;
}

qdq_status qdq_remote_ask(qdq_remote_client *c, qdq_json_doc *question, int fd, double deadline_s,
                          qdq_remote_answer *answer, qdq_remote_outcome *outcome, qdq_error *err)
{
    const qdq_cancel *cancel = qdq_job_cancel(c->job);
    qdq_status st = QDQ_E_NOMEM;

    *answer = (qdq_remote_answer){.arena = QDQ_ARENA_INIT};
    *outcome = (qdq_remote_outcome){0};
    if (question->failed)
        qdq_nomem(err);
    else
        st = qdq_remote_process_ask(c->process, question->root, fd, deadline_s, cancel,
                                    &answer->json, outcome, err);
    json_decref(question->root);
    if (st != QDQ_OK || answer->json == NULL)
        return st;
    answer->reader = (qdq_json_reader){.arena = &answer->arena, .err = err};
    answer->top = (qdq_json_place){&answer->reader, answer->json, ""};
    return read_end(c, answer, outcome, err);
}

qdq_status qdq_remote_fail(const qdq_remote_client *c, const qdq_remote_outcome *outcome,
                           const char *doing, qdq_error *err)
{
    const char *words = outcome->text + outcome->n_cause;

    switch (outcome->end) {
    case QDQ_REMOTE_FINE:
        return QDQ_OK;
    case QDQ_REMOTE_REFUSED:
        return qdq_fail(err, outcome->code, "%s", outcome->text);
    case QDQ_REMOTE_HUNG:
        return qdq_fail(err, QDQ_E_ENGINE, "engine '%s' was ended %s: %s", c->name, doing,
                        outcome->text);
    case QDQ_REMOTE_MEMORY:
        return qdq_fail(err, QDQ_E_ENGINE, "engine '%s' ran out of memory %s: %s", c->name, doing,
                        outcome->text);
    case QDQ_REMOTE_CRASHED:
        break;
    }
    return qdq_fail(err, QDQ_E_ENGINE, "engine '%s' crashed (%.*s) %s%s", c->name,
                    (int)outcome->n_cause, outcome->text, doing, words);
}

/* --- a worker --------------------------------------------------------------------------------- */

/* Of the machine that runs the engine. */
static qdq_status read_processor(qdq_remote_client *c, qdq_error *err)
{
    char name[300];

    if (c->link != NULL)
        snprintf(name, sizeof name, "%s", qdq_remote_link_device(c->link)->processor);
    else
        qdq_processor_name(name, sizeof name);
    c->processor = qdq_arena_strdup(&c->arena, name);
    return qdq_allocated(c->processor != NULL, err);
}

static qdq_status read_info(qdq_remote_client *c, qdq_remote_answer *answer, qdq_error *err)
{
    const qdq_json_place *p = &answer->top;
    qdq_engine_info *i = &c->info;
    const char *const keys[] = {"name", "version", "library", "device", "fingerprint"};
    const char **const members[] = {&i->name, &i->version, &i->library, &i->device,
                                    &i->fingerprint};

    QDQ_TRY(read_processor(c, err));
    for (size_t k = 0; k < QDQ_COUNT(keys); k++) {
        *members[k] = qdq_arena_strdup(&c->arena, qdq_remote_get_text(p, keys[k], NULL));
        QDQ_NEED(*members[k] != NULL, err);
    }
    /* a cost model is of this machine, whatever path it has there */
    const char *spec = json_string_value(json_object_get(c->hello, "engine"));
    if (c->link != NULL && spec != NULL && strncmp(spec, "sim:", 4) == 0)
        QDQ_NEED((i->library = qdq_remote_bytes(&c->arena, spec + 4)) != NULL, err);
    i->capabilities = (unsigned)qdq_json_int(p, "capabilities", 0, UINT32_MAX, 0);
    i->max_opset = (int)qdq_json_int(p, "max_opset", 0, INT32_MAX, 0);
    i->max_ir = (int)qdq_json_int(p, "max_ir", 0, INT32_MAX, 0);
    return qdq_remote_answer_check(c, answer, err);
}

/* Which engine it has is asked of the first worker; the others have the same. */
static qdq_status greet(qdq_remote_client *c, qdq_error *err)
{
    qdq_json_doc hello = {.root = json_incref(c->hello)};
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    qdq_status st =
        qdq_remote_ask(c, &hello, c->hello_fd, c->start_deadline_s, &answer, &outcome, err);
    if (st == QDQ_OK && outcome.end != QDQ_REMOTE_FINE)
        st = qdq_remote_fail(c, &outcome, "while it was loaded", err);
    else if (st == QDQ_OK && c->info.name == NULL)
        st = read_info(c, &answer, err);
    qdq_remote_answer_free(&answer);
    return st;
}

qdq_status qdq_remote_need_worker(qdq_remote_client *c, qdq_error *err)
{
    QDQ_TRY(qdq_job_poll(c->job, err));
    if (qdq_remote_process_is_alive(c->process))
        return QDQ_OK;
    qdq_remote_process_free(c->process);
    c->process = NULL;
    QDQ_TRY(
        qdq_remote_process_start(c->program, c->link, qdq_job_cancel(c->job), &c->process, err));
    c->worker++;
    qdq_status st = greet(c, err);
    if (st != QDQ_OK)
        qdq_remote_process_kill(c->process);
    return st;
}

/* --- open and close --------------------------------------------------------------------------- */

static void put_texts(qdq_json_out o, const char *key, const char *const *texts)
{
    qdq_json_out list = qdq_json_put_list(o, key);

    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        qdq_remote_put_text(list, NULL, texts[i]);
}

qdq_json_out qdq_remote_hello(qdq_json_doc *d, const qdq_engine_opts *opts)
{
    static const qdq_engine_opts defaults = QDQ_ENGINE_OPTS_INIT;
    const qdq_engine_opts *e = opts != NULL ? opts : &defaults;
    qdq_json_out h = qdq_json_object(d);

    qdq_remote_put_text(h, "do", "hello");
    qdq_remote_put_text(h, "version", qdq_version());
#define PUT(key) qdq_remote_put_text(h, #key, e->key);
    QDQ_REMOTE_ENGINE_TEXTS(PUT)
#undef PUT
    put_texts(h, "search_dirs", e->search_dirs);
    put_texts(h, "plugins", e->plugins);
    put_texts(h, "providers", e->providers);
    return h;
}

qdq_status qdq_remote_start(qdq_remote_client *c, const char *spec, qdq_json_doc *hello,
                            const char *program, qdq_error *err)
{
    qdq_remote_put_text(qdq_json_root(hello), "engine", spec);
    c->hello = hello->root;
    if (c->host != NULL && json_object_get(c->hello, "record") != NULL)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "host '%s': runs are recorded on this machine only",
                        c->host);
    if (c->host != NULL)
        QDQ_TRY(qdq_remote_link_open(c->host, c->host_timeout_s, &c->link, err));
    c->name = qdq_arena_strndup(&c->arena, spec, strcspn(spec, ":"));
    /* a host has its own */
    program = c->host != NULL ? c->host : program;
    c->program = program != NULL ? qdq_arena_strdup(&c->arena, program)
                                 : qdq_find_program(&c->arena, WORKER);
    QDQ_NEED(!hello->failed && c->name != NULL && c->program != NULL, err);
    qdq_status st = qdq_remote_need_worker(c, err);
    if (st == QDQ_E_ENGINE && c->process == NULL && c->worker == 0 && c->link == NULL &&
        strcmp(c->program, WORKER) == 0)
        return qdq_within(err, st, WORKER ": missing; expected next to this program");
    return st;
}

qdq_status qdq_remote_refuse(qdq_remote_client *c, const char *options, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    qdq_remote_put_text(q, "do", "refuse");
    qdq_remote_put_text(q, "options", options);
    qdq_status st = qdq_remote_ask(c, &doc, -1, c->start_deadline_s, &answer, &outcome, err);
    qdq_remote_answer_free(&answer);
    return st;
}

bool qdq_remote_close(qdq_remote_client *c)
{
    bool fine = qdq_remote_process_end(c->process);

    qdq_remote_link_close(c->link);
    json_decref(c->hello);
    qdq_arena_free(&c->arena);
    return fine;
}
