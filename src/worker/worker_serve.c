/* worker_serve.c - reads questions, has them answered, sends what came of it. */
#include "worker/worker.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/spawn.h"
#include "engine/remote/remote_arrays.h"
#include "engine/remote/remote_groups.h"

/* --- hello ------------------------------------------------------------------------------------ */

/* What is lost for want of memory is lost. */
static void note_log(void *ctx, qdq_log_level level, const char *text)
{
    qdq_worker *w = ctx;
    qdq_json_doc doc = {0};

    if (w->log == NULL) { /* what is printed goes to the worker client's logs */
        printf("%s\n", text);
        return;
    }
    qdq_json_out line = qdq_json_object(&doc);
    qdq_json_put_int(line, "level", level);
    qdq_remote_put_text(line, "text", text);
    (void)json_array_append_new(w->log, qdq_json_take(&doc));
}

static qdq_status limit_memory(int64_t bytes, qdq_error *err)
{
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};

    if (bytes > 0 && setrlimit(RLIMIT_AS, &limit) != 0)
        return qdq_fail_errno(err, QDQ_E_USAGE, errno, "memory cannot be limited to %lld bytes",
                              (long long)bytes);
    return QDQ_OK;
}

/* A folder whose name is too long to be kept is left for the next run to remove. */
static void read_work(qdq_worker *w, const qdq_json_place *q)
{
    const char *work = qdq_remote_get_text(q, "work", NULL);

    w->engine_opts.temp_dir = work;
    if (q->reader->status != QDQ_OK || strlen(work) >= sizeof w->watch->work)
        return;
    snprintf(w->watch->work, sizeof w->watch->work, "%s", work);
    atomic_store(&w->watch->has_work, true);
}

static qdq_status read_hello(qdq_worker *w, const qdq_json_place *q, qdq_error *err)
{
    const char *version = qdq_remote_get_text(q, "version", NULL);

    w->threads = (int)qdq_json_int(q, "threads", 1, INT32_MAX, 1);
    w->warmup = (unsigned)qdq_json_int(q, "warmup", 1, UINT32_MAX, 1);
    w->sample_runs = (unsigned)qdq_json_int(q, "leg_runs", 1, UINT32_MAX, 1);
    w->sample_ms = qdq_json_number(q, "leg_ms", 0, INFINITY, 5);
    w->seed = (uint64_t)qdq_json_int(q, "seed", INT64_MIN, INT64_MAX, 0);
    if (qdq_json_has(q, "samples"))
        w->samples = qdq_remote_get_text(q, "samples", NULL);
    w->n_samples = (size_t)qdq_json_int(q, "n_samples", 0, INT32_MAX, 0);
#define READ(key)                                                                                  \
    if (qdq_json_has(q, #key))                                                                     \
        w->engine_opts.key = qdq_remote_get_text(q, #key, NULL);
    QDQ_REMOTE_ENGINE_TEXTS(READ)
#undef READ
    if (qdq_json_has(q, "work"))
        read_work(w, q);
    QDQ_TRY(qdq_remote_shapes_read(q, &w->shapes, &w->n_shapes, err));
    if (strcmp(version, qdq_version()) != 0 && q->reader->status == QDQ_OK)
        return qdq_fail(err, QDQ_E_USAGE,
                        "qdq-worker is of version %s, expected %s: they belong together",
                        qdq_version(), version);
    return QDQ_OK;
}

/* The texts of the list again, as bytes; ends with NULL. */
static qdq_status read_texts(qdq_worker *w, const qdq_json_place *q, const char *key,
                             const char *const **out, qdq_error *err)
{
    const json_t *list = json_object_get(q->object, key);
    size_t n = json_array_size(list);
    const char **texts = qdq_arena_array(&w->arena, n + 1, sizeof *texts);

    QDQ_NEED(texts != NULL, err);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if ((texts[i] = qdq_remote_bytes(&w->arena, text != NULL ? text : "")) == NULL)
            return qdq_nomem(err);
    }
    *out = texts;
    return QDQ_OK;
}

static qdq_status refuse_options(qdq_worker *w, const char *options, qdq_error *err)
{
    return w->engine->ops->refuse != NULL ? w->engine->ops->refuse(w->engine, options, err)
                                          : QDQ_OK;
}

static qdq_status hello(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer, qdq_error *err)
{
    const char *spec = qdq_remote_get_text(q, "engine", NULL);
    int64_t max_memory = qdq_json_int(q, "max_memory", 0, INT64_MAX, 0);

    if (w->engine != NULL)
        return qdq_fail(err, QDQ_E_BUG, "the worker has been greeted before");
    QDQ_TRY(read_hello(w, q, err));
    QDQ_TRY(read_texts(w, q, "search_dirs", &w->engine_opts.search_dirs, err));
    QDQ_TRY(read_texts(w, q, "plugins", &w->engine_opts.plugins, err));
    QDQ_TRY(read_texts(w, q, "providers", &w->engine_opts.providers, err));
    if (q->reader->status != QDQ_OK)
        return q->reader->status;
    if (qdq_json_bool(q, "log") && w->log == NULL && (w->log = json_array()) == NULL)
        return qdq_nomem(err);
    w->exchange.fd = w->received;
    w->received = -1;
    QDQ_TRY(limit_memory(max_memory, err));
    QDQ_TRY(qdq_engine_open(spec, &w->engine_opts, &w->engine, err));
    if (qdq_json_has(q, "refused"))
        QDQ_TRY(refuse_options(w, qdq_remote_get_text(q, "refused", NULL), err));
    const qdq_engine_info *i = qdq_engine_get_info(w->engine);
    qdq_remote_put_text(answer, "name", i->name);
    qdq_remote_put_text(answer, "version", i->version);
    qdq_remote_put_text(answer, "library", i->library);
    qdq_remote_put_text(answer, "device", i->device);
    qdq_remote_put_text(answer, "fingerprint", i->fingerprint);
    qdq_json_put_int(answer, "capabilities", i->capabilities);
    qdq_json_put_int(answer, "max_opset", i->max_opset);
    qdq_json_put_int(answer, "max_ir", i->max_ir);
    return QDQ_OK;
}

static qdq_status refuse(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                         qdq_error *err)
{
    (void)answer;
    return refuse_options(w, qdq_remote_get_text(q, "options", NULL), err);
}

/* --- models ----------------------------------------------------------------------------------- */

static qdq_status open_model(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                             qdq_error *err)
{
    int64_t handle = qdq_json_int(q, "handle", 0, INT64_MAX, -1);
    const char *path = qdq_remote_get_text(q, "path", NULL);
    const qdq_input_shape *shapes = w->shapes;
    size_t n_shapes = w->n_shapes;
    qdq_worker_model *m;

    (void)answer;
    if (qdq_json_has(q, "shapes"))
        QDQ_TRY(qdq_remote_shapes_read(q, &shapes, &n_shapes, err));
    if (q->reader->status != QDQ_OK)
        return q->reader->status;
    if (qdq_worker_find(w, handle, NULL) != NULL)
        return qdq_fail(err, QDQ_E_BUG, "handle %lld is taken", (long long)handle);
    QDQ_NEED(QDQ_RESERVE(&w->arena, &w->models), err);
    QDQ_TRY(qdq_worker_open(w, path, shapes, n_shapes, QDQ_WORKER_PLAIN, &m, err));
    m->handle = handle;
    w->models.at[w->models.n++] = m;
    return QDQ_OK;
}

static qdq_status drop_model(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                             qdq_error *err)
{
    const qdq_worker_model *m =
        qdq_worker_find(w, qdq_json_int(q, "handle", 0, INT64_MAX, -1), err);

    (void)answer;
    if (m == NULL)
        return QDQ_E_BUG;
    qdq_worker_forget(w, m->handle);
    for (size_t i = 0; i < w->models.n; i++) {
        if (w->models.at[i] == m) {
            qdq_worker_close(w->models.at[i]);
            w->models.at[i] = w->models.at[--w->models.n];
            break;
        }
    }
    return QDQ_OK;
}

static qdq_status warm(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer, qdq_error *err)
{
    qdq_worker_model *m = qdq_worker_find(w, qdq_json_int(q, "handle", 0, INT64_MAX, -1), err);

    if (m == NULL)
        return QDQ_E_BUG;
    QDQ_TRY(qdq_worker_warm_up(w, m, err));
    qdq_json_put_int(answer, "runs", m->runs);
    return QDQ_OK;
}

static qdq_status time_sample(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                              qdq_error *err)
{
    qdq_worker_model *m = qdq_worker_find(w, qdq_json_int(q, "handle", 0, INT64_MAX, -1), err);
    uint64_t number = (uint64_t)qdq_json_int(q, "number", INT64_MIN, INT64_MAX, 0);
    double ns;

    if (m == NULL)
        return QDQ_E_BUG;
    QDQ_TRY(qdq_worker_time(m, number, &ns, err));
    qdq_json_put_real(answer, "ns", ns);
    return QDQ_OK;
}

static qdq_status compare(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                          qdq_error *err)
{
    qdq_worker_model *a = qdq_worker_find(w, qdq_json_int(q, "a", 0, INT64_MAX, -1), err);
    qdq_worker_model *b = qdq_worker_find(w, qdq_json_int(q, "b", 0, INT64_MAX, -1), err);
    size_t sample = (size_t)qdq_json_int(q, "sample", 0, INT64_MAX, -1);
    qdq_worker_verdict v;

    if (a == NULL || b == NULL || q->reader->status != QDQ_OK)
        return QDQ_E_BUG;
    QDQ_TRY(qdq_worker_compare(w, a, b, sample, &v, err));
    qdq_json_put_int(answer, "samples", (int64_t)v.samples);
    qdq_json_put_bool(answer, "finite", v.finite);
    /* JSON has no infinity, and nothing that is no number. */
    qdq_remote_put_text(answer, "sqnr_is",
                        isfinite(v.sqnr_db) ? "number"
                        : isnan(v.sqnr_db)  ? "zero"
                        : v.sqnr_db > 0     ? "equal"
                                            : "broken");
    qdq_json_put_real(answer, "sqnr_db", isfinite(v.sqnr_db) ? v.sqnr_db : 0);
    return QDQ_OK;
}

static qdq_status put_layers_of(qdq_worker *w, const qdq_worker_model *m, unsigned runs, bool nodes,
                                qdq_json_out answer, qdq_error *err)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_named_array *in = NULL;
    qdq_layer *layers = NULL;
    size_t n_in = 0, count, n = 0;
    qdq_status st = QDQ_OK;

    if (runs > 0)
        st = qdq_worker_sample(w, m->model, 0, &memory, &in, &n_in, &count, err);
    if (st == QDQ_OK)
        st = (nodes ? qdq_session_layers : qdq_session_profile)(m->session, in, n_in, runs, &layers,
                                                                &n, err);
    if (st == QDQ_OK)
        qdq_json_put(answer, "layers", qdq_remote_groups_json(layers, n));
    qdq_free(layers);
    qdq_arena_free(&memory);
    return st;
}

/* Takes a session of its own. */
static qdq_status put_layers(qdq_worker *w, const qdq_json_place *q, bool nodes,
                             qdq_json_out answer, qdq_error *err)
{
    const char *path = qdq_remote_get_text(q, "path", NULL);
    const unsigned least = nodes ? 0 : 1,
                   runs = (unsigned)qdq_json_int(q, "runs", least, UINT32_MAX, least);
    qdq_worker_model *m;

    if (q->reader->status != QDQ_OK)
        return q->reader->status;
    QDQ_TRY(qdq_worker_open(w, path, w->shapes, w->n_shapes,
                            nodes ? QDQ_WORKER_GROUPS : QDQ_WORKER_PROFILE, &m, err));
    qdq_status st = put_layers_of(w, m, runs, nodes, answer, err);
    qdq_worker_close(m);
    return st;
}

static qdq_status profile(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                          qdq_error *err)
{
    return put_layers(w, q, false, answer, err);
}

static qdq_status groups(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                         qdq_error *err)
{
    return put_layers(w, q, true, answer, err);
}

/* --- answers ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    qdq_worker_answer_fn answer;
} questions[] = {
    {"hello", hello},
    {"refuse", refuse},
    {"open", open_model},
    {"drop", drop_model},
    {"warm", warm},
    {"sample", time_sample},
    {"compare", compare},
    {"profile", profile},
    {"groups", groups},
    {"session", qdq_worker_open_session},
    {"run", qdq_worker_run_session},
    {"bind", qdq_worker_bind_session},
    {"time", qdq_worker_time_session},
    {"layers", qdq_worker_profile_session},
    {"nodes", qdq_worker_group_session},
};

static qdq_worker_answer_fn find_question(const char *name)
{
    for (size_t i = 0; i < QDQ_COUNT(questions); i++)
        if (strcmp(questions[i].name, name) == 0)
            return questions[i].answer;
    return NULL;
}

static const char *end_of(qdq_status st, const qdq_error *err)
{
    if (st == QDQ_OK)
        return "fine";
    if (st == QDQ_E_NOMEM || qdq_remote_means_memory(err->text))
        return "memory";
    return st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED ? "refused" : "error";
}

/* An engine's words may contain line breaks; whoever reads them expects one line. */
static void make_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\n' || *text == '\r' || *text == '\t')
            *text = ' ';
}

static void put_log(qdq_worker *w, qdq_json_out answer)
{
    if (w->log == NULL || json_array_size(w->log) == 0)
        return;
    json_t *log = json_copy(w->log);
    json_array_clear(w->log);
    qdq_json_put(answer, "log", log);
}

/* Who starts the next worker has to know. */
static void put_refused(const qdq_worker *w, qdq_json_out answer)
{
    qdq_engine *e = w->engine;
    const char *refused = e != NULL && e->ops->refused != NULL ? e->ops->refused(e) : "";

    if (refused[0] == '\0')
        return;
    qdq_remote_put_text(answer, "refused", refused);
    qdq_json_put_int(answer, "can", e->info.capabilities);
}

static qdq_status conclude(qdq_worker *w, qdq_json_doc *doc, qdq_status st, qdq_error *err)
{
    if (doc->failed) { /* it may be half full */
        qdq_json_drop(doc);
        qdq_json_object(doc);
        st = qdq_nomem(err);
    }
    qdq_json_out answer = qdq_json_root(doc);
    qdq_remote_put_text(answer, "end", end_of(st, err));
    put_log(w, answer);
    put_refused(w, answer);
    if (st != QDQ_OK) {
        make_one_line(err->text);
        qdq_remote_put_text(answer, "code", qdq_status_name(st));
        qdq_remote_put_text(answer, "text", err->text);
    }
    return doc->failed ? QDQ_E_NOMEM : QDQ_OK;
}

static bool send_all(int fd, const qdq_buf *text)
{
    for (size_t sent = 0; sent < text->size;) {
        ssize_t n = send(fd, text->data + sent, text->size - sent, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return false;
        sent += n > 0 ? (size_t)n : 0;
    }
    return true;
}

typedef enum next { GO_ON, GOODBYE, CONFUSED } next;

static next confused(const char *why)
{
    fprintf(stderr, "qdq-worker: what arrives is not a question: %s\n", why);
    return CONFUSED;
}

static next send_answer(qdq_worker *w, qdq_json_doc *answer, qdq_status st, qdq_error *err)
{
    const int fd = w->watch->fd;
    qdq_buf text = QDQ_BUF_INIT(QDQ_REMOTE_MESSAGE_MAX + QDQ_REMOTE_HEAD);

    st = conclude(w, answer, st, err);
    if (st == QDQ_OK)
        qdq_remote_message_put(&text, answer->root);
    next n = st == QDQ_OK && !text.failed && send_all(fd, &text) ? GO_ON : CONFUSED;
    qdq_buf_free(&text);
    return n;
}

static next answer_question(qdq_worker *w, json_t *question)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT, wrong = QDQ_ERROR_INIT;
    qdq_json_reader reader = {.arena = &arena, .err = &wrong};
    const qdq_json_place q = {&reader, question, ""};
    const char *name = qdq_remote_get_text(&q, "do", NULL);
    qdq_worker_answer_fn fn = find_question(name);
    next n = GO_ON;

    if (strcmp(name, "hello") == 0)
        reader.arena = &w->arena; /* its texts are used for good */
    if (strcmp(name, "bye") == 0) {
        n = GOODBYE;
    } else if (fn == NULL || (w->engine == NULL && fn != hello)) {
        n = confused(reader.status != QDQ_OK ? wrong.text : name);
    } else {
        qdq_json_doc doc = {0};
        qdq_status st = fn(w, &q, qdq_json_object(&doc), &err);
        fflush(stdout);
        if (reader.status == QDQ_E_NOMEM)
            st = qdq_nomem(&err);
        n = reader.status != QDQ_OK && reader.status != QDQ_E_NOMEM
                ? confused(wrong.text)
                : send_answer(w, &doc, st, &err);
        qdq_json_drop(&doc);
    }
    qdq_fd_close(&w->received);
    qdq_arena_free(&arena);
    return n;
}

/* --- questions -------------------------------------------------------------------------------- */

/* Some bytes, and the descriptor that may come with them. */
static ssize_t receive_some(qdq_worker *w, char *data, size_t size)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec piece = {data, size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(w->watch->fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        qdq_fd_close(&w->received);
        memcpy(&w->received, CMSG_DATA(head), sizeof w->received);
    }
    return n;
}

/* One message, which is all that may be there: the next question waits for an answer to this
 * one. */
static next receive(qdq_worker *w, json_t **question)
{
    qdq_buf in = QDQ_BUF_INIT(QDQ_REMOTE_MESSAGE_MAX + QDQ_REMOTE_HEAD);
    qdq_error err = QDQ_ERROR_INIT;
    next then = GO_ON;
    size_t used = 0;

    *question = NULL;
    while (*question == NULL && then == GO_ON) {
        char chunk[16 * 1024];
        ssize_t n = receive_some(w, chunk, sizeof chunk);

        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0)
            qdq_buf_append(&in, chunk, (size_t)n);
        if (n <= 0)
            then = confused("the other side is gone");
        else if (in.failed ||
                 qdq_remote_message_take(in.data, in.size, &used, question, &err) != QDQ_OK)
            then = confused(in.failed ? "it is too long" : err.text);
    }
    if (then == GO_ON && used < in.size)
        then = confused("there is more behind it");
    qdq_buf_free(&in);
    return then;
}

static bool asks_for(const json_t *question, const char *what)
{
    const char *name = json_string_value(json_object_get(question, "do"));

    return name != NULL && strcmp(name, what) == 0;
}

qdq_status qdq_worker_say(qdq_worker *w, qdq_json_doc *answer, qdq_error *err)
{
    json_t *question = NULL;
    bool goes_on = false;

    next n = send_answer(w, answer, QDQ_OK, err);
    qdq_json_drop(answer);
    while (n == GO_ON && !goes_on) {
        n = receive(w, &question);
        goes_on = n == GO_ON && asks_for(question, "next");
        if (n == GO_ON && asks_for(question, "stop"))
            n = GOODBYE;
        else if (n == GO_ON && !goes_on)
            n = answer_question(w, question);
        json_decref(question);
    }
    return goes_on ? QDQ_OK : qdq_fail(err, QDQ_E_INTERRUPTED, "the other outputs are not wanted");
}

static void free_all(qdq_worker *w)
{
    qdq_worker_compare_free(w);
    for (size_t i = 0; i < w->models.n; i++)
        qdq_worker_close(w->models.at[i]);
    qdq_data_close(w->data);
    qdq_model_free(w->data_for);
    qdq_engine_close(w->engine);
    qdq_shared_free(&w->exchange);
    json_decref(w->log);
    qdq_arena_free(&w->arena);
}

int qdq_worker_serve(qdq_worker_watch *watch)
{
    qdq_worker w = {.watch = watch,
                    .arena = QDQ_ARENA_INIT,
                    .job = QDQ_JOB_INIT,
                    .engine_opts = QDQ_ENGINE_OPTS_INIT,
                    .received = -1,
                    .exchange = QDQ_SHARED_INIT,
                    .reference = {.handle = -1}};
    json_t *question = NULL;
    next n = GO_ON;

    w.job.log = note_log;
    w.job.ctx = &w;
    w.engine_opts.job = &w.job;
    while (n == GO_ON) {
        n = receive(&w, &question);
        if (n == GO_ON)
            n = answer_question(&w, question);
        json_decref(question);
    }
    free_all(&w);
    return n == GOODBYE ? 0 : 2;
}
