/* worker_alloc.c - the worker's half of a conversation in this process: all questions lie in its
 * socket before it begins, and each call that leads to an allocation fails once. It answers that
 * there is no memory, or ends. */
#include "support/alloc_fail.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/remote/remote_arrays.h"
#include "engine/remote/remote_model.h"
#include "worker/worker.h"

enum { MAX_QUESTIONS = 40 };

/* Packets, so that the worker takes one question at a time. */
typedef struct talk {
    struct {
        qdq_buf text;
        /* sent with it; -1: none */
        int fd;
    } question[MAX_QUESTIONS];
    size_t n;
} talk;

static qdq_error err;

/* --- questions -------------------------------------------------------------------------------- */

static void add(talk *t, qdq_json_doc *question, int fd)
{
    assert_false(question->failed);
    assert_true(t->n < MAX_QUESTIONS);
    t->question[t->n].text = (qdq_buf)QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    t->question[t->n].fd = fd;
    qdq_remote_message_put(&t->question[t->n++].text, question->root);
    qdq_json_drop(question);
}

/* What numbers and texts suffice for, as JSON. */
static void ask(talk *t, const char *text)
{
    qdq_json_doc question = {0};

    assert_ok(qdq_json_parse(text, strlen(text), "question", &question.root, &err));
    add(t, &question, -1);
}

static void greet(talk *t, int fd)
{
    char text[1000];

    snprintf(text, sizeof text,
             "{\"do\": \"hello\", \"version\": \"%s\", \"engine\": \"sim:%s\", \"threads\": 1, "
             "\"warmup\": 1, \"leg_runs\": 1, \"leg_ms\": 0.001, \"log\": true, \"search_dirs\": "
             "[\"/nowhere\"], \"shapes\": []}",
             qdq_version(), test_path("sim.json"));
    ask(t, text);
    t->question[0].fd = fd;
}

static void ask_for(talk *t, const char *what, int handle, const char *path)
{
    char text[1000];

    snprintf(text, sizeof text,
             "{\"do\": \"%s\", \"handle\": %d, \"path\": \"%s\", \"runs\": 1, \"number\": 1}", what,
             handle, path);
    ask(t, text);
}

/* As the worker client asks. */
static void ask_as_client(talk *t, const char *model)
{
    greet(t, -1);
    for (int i = 0; i < 2; i++) {
        ask_for(t, "open", i, model);
        ask_for(t, "warm", i, "");
        ask_for(t, "sample", i, "");
    }
    for (int i = 0; i < 2; i++) /* the second time outputs are known */
        ask(t, "{\"do\": \"compare\", \"a\": 0, \"b\": 1, \"sample\": 0}");
    ask_for(t, "profile", 0, model);
    ask_for(t, "groups", 0, model);
    ask_for(t, "drop", 0, "");
    ask(t, "{\"do\": \"bye\"}");
}

/* As a session of the engine `remote` asks: the model and its inputs lie in memory that both see.
 */
static void ask_as_session(talk *t, const qdq_model *m, qdq_shared *exchange, int *memory)
{
    static float x[32] = {1, -2, 3};
    static const char *const with_inputs[] = {"run", "bind", "layers", "nodes"};
    const qdq_array in = {
        .elem = QDQ_FLOAT, .rank = 4, .dim = {2, 1, 4, 4}, .bytes = sizeof x, .data = x};
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);

    assert_ok(qdq_shared_new(exchange, &err));
    greet(t, exchange->fd);
    qdq_remote_put_text(q, "do", "session");
    qdq_json_put_int(q, "handle", 1);
    qdq_json_put_int(q, "level", QDQ_LEVEL_ALL);
    qdq_json_put_int(q, "threads", 1);
    qdq_json_put_bool(q, "profile", true);
    qdq_json_put_bool(q, "groups", true);
    qdq_json_put_bool(q, "fake_quant", false);
    qdq_json_put(q, "shapes", qdq_remote_shapes_json(NULL, 0));
    assert_ok(qdq_remote_model_put(m, q, memory, &err));
    add(t, &doc, *memory);
    for (size_t i = 0; i < QDQ_COUNT(with_inputs); i++) {
        size_t end = 0;
        q = qdq_json_object(&doc);
        qdq_remote_put_text(q, "do", with_inputs[i]);
        qdq_json_put_int(q, "handle", 1);
        qdq_json_put_int(q, "runs", 1);
        qdq_json_out list = qdq_json_put_list(q, "in");
        assert_ok(qdq_remote_array_put(exchange, &end, "", &in, list, &err));
        qdq_json_put_int(q, "at", (int64_t)end);
        add(t, &doc, -1);
    }
    ask_for(t, "time", 1, "");
    ask_for(t, "drop", 1, "");
    ask(t, "{\"do\": \"bye\"}");
}

/* --- a conversation --------------------------------------------------------------------------- */

static void send_question(int to, qdq_buf *text, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec piece = {text->data, text->size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    assert_int_equal(sendmsg(to, &message, 0), text->size);
}

/* What the first answer says that is not fine. */
static qdq_status read_answers(int from, qdq_error *why)
{
    static char data[1 << 16];
    qdq_status st = QDQ_OK;
    ssize_t size;

    while ((size = recv(from, data, sizeof data, MSG_DONTWAIT)) > 0 && st == QDQ_OK) {
        json_t *answer;
        size_t used;

        assert_ok(qdq_remote_message_take(data, (size_t)size, &used, &answer, &err));
        assert_non_null(answer);
        const char *end = json_string_value(json_object_get(answer, "end"));
        const char *text = json_string_value(json_object_get(answer, "text"));
        if (end != NULL && strcmp(end, "fine") != 0)
            st = qdq_fail(why, strcmp(end, "memory") == 0 ? QDQ_E_NOMEM : QDQ_E_BUG, "%s: %s", end,
                          text != NULL ? text : "");
        json_decref(answer);
    }
    return st;
}

static qdq_status converse(void *ctx, qdq_error *why)
{
    talk *t = ctx;
    qdq_worker_watch watch = {0};
    int ends[2];

    test_let_allocs_be(true);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    for (size_t i = 0; i < t->n; i++)
        send_question(ends[0], &t->question[i].text, t->question[i].fd);
    shutdown(ends[0], SHUT_WR);
    watch.fd = ends[1];
    test_let_allocs_be(false);
    const int code = qdq_worker_serve(&watch);
    test_let_allocs_be(true);
    qdq_status st = read_answers(ends[0], why);
    if (st == QDQ_OK && code != 0) /* without memory for a question or an answer it ends */
        st = qdq_fail(why, QDQ_E_NOMEM, "it ends with %d", code);
    close(ends[0]);
    close(ends[1]);
    test_let_allocs_be(false);
    return st;
}

static qdq_model *prepare(void)
{
    static const char cost[] = "{\"qdq_sim\": 1}";
    qdq_model *m = test_graph(__func__);
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;

    opts.allow_overwrite = true;
    assert_ok(qdq_write_file(test_path("sim.json"), true, cost, strlen(cost), &err));
    assert_ok(qdq_model_save(m, test_path("m.onnx"), &opts, &err));
    return m;
}

static void fail_each(talk *t)
{
    json_malloc_t json_malloc;
    json_free_t json_free;

    json_get_alloc_funcs(&json_malloc, &json_free);
    json_set_alloc_funcs(malloc, free); /* jansson's allocations fail, too */
    assert_true(test_every_alloc_fails(converse, t) > 100);
    json_set_alloc_funcs(json_malloc, json_free);
    for (size_t i = 0; i < t->n; i++)
        qdq_buf_free(&t->question[i].text);
}

TEST(a_worker_of_the_lab_without_memory_says_so_or_ends)
{
    talk t = {.n = 0};

    qdq_model *m = prepare();
    ask_as_client(&t, test_path("m.onnx"));
    fail_each(&t);
    qdq_model_free(m);
}

TEST(so_does_one_that_has_a_session)
{
    qdq_shared exchange = QDQ_SHARED_INIT;
    talk t = {.n = 0};
    int memory;

    qdq_model *m = prepare();
    ask_as_session(&t, m, &exchange, &memory);
    fail_each(&t);
    close(memory);
    qdq_shared_free(&exchange);
    qdq_model_free(m);
}
