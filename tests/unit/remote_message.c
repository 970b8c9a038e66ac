/* remote_message.c - what the worker client and its worker say to each other, and garbage in its
 * place. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/spawn.h"
#include "support/test.h"
#include "engine/remote/remote_groups.h"
#include "engine/remote/remote_message.h"

static qdq_error err;

/* --- messages --------------------------------------------------------------------------------- */

TEST(a_message_comes_back_as_it_went)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);
    qdq_buf b = QDQ_BUF_INIT(1000);
    json_t *back;
    size_t used;

    qdq_remote_put_text(o, "do", "open");
    qdq_remote_put_text(o, "nothing", NULL);
    qdq_json_put_int(o, "handle", INT64_MIN);
    qdq_json_put_real(o, "ns", 0.1);
    assert_false(doc.failed);
    qdq_remote_message_put(&b, doc.root);
    assert_false(b.failed);
    assert_ok(qdq_remote_message_take(b.data, b.size, &used, &back, &err));
    assert_int_equal(used, b.size);
    assert_true(json_equal(doc.root, back));
    json_decref(back);
    for (size_t part = 0; part < b.size; part++) { /* not there whole: no mistake, and no message */
        assert_ok(qdq_remote_message_take(b.data, part, &used, &back, &err));
        assert_true(back == NULL && used == 0);
    }
    qdq_json_drop(&doc);
    qdq_buf_free(&b);
}

TEST(layers_come_back_as_they_went)
{
    static const char *const nodes[] = {"conv\xff\xc3", "relu", "Add@t"};
    const qdq_layer two[] = {{.layer = "a\xe4",
                              .op = "QLinearConv",
                              .in_type = "u8",
                              .out_type = "",
                              .median_us = 0.1,
                              .node = nodes,
                              .n_nodes = 3,
                              .runs = 7,
                              .source = QDQ_LAYER_SLICE},
                             {.layer = "",
                              .op = "Reorder",
                              .in_type = "f32",
                              .out_type = "f32",
                              .median_us = NAN,
                              .conversion = true,
                              .tensor = "t\xff"}};
    json_t *list = qdq_remote_groups_json(two, 2);
    qdq_layer *back;
    size_t n;

    assert_non_null(list);
    assert_ok(qdq_remote_groups_read(list, &back, &n, &err));
    json_decref(list);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(back[i].layer, two[i].layer);
        assert_string_equal(back[i].op, two[i].op);
        assert_string_equal(back[i].in_type, two[i].in_type);
        assert_string_equal(back[i].out_type, two[i].out_type);
        assert_true(back[i].conversion == two[i].conversion && back[i].source == two[i].source);
        assert_string_equal(back[i].tensor, two[i].tensor != NULL ? two[i].tensor : "");
        assert_int_equal(back[i].n_nodes, two[i].n_nodes);
        assert_int_equal(back[i].runs, two[i].runs);
    }
    assert_true(back[0].median_us == 0.1 && isnan(back[1].median_us));
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(back[0].node[i], nodes[i]);
    qdq_free(back);
}

TEST(layers_of_another_kind_are_refused)
{
    static const char *const wrong[] = {
        "{}",
        "[1]",
        "[[]]",
        "[[\"a\", \"b\", \"c\", 4, 1.0, true, 0, []]]",
        "[[\"a\", \"b\", \"c\", \"d\", true, true, 0, []]]",
        "[[\"a\", \"b\", \"c\", \"d\", -1.0, true, 0, []]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, 1, 0, []]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 3, []]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 0, [1]]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 0, {}]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 0, [], 1]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 0, [], \"t\", -1]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 0, [], \"t\", 1.5]]",
        "[[\"a\", \"b\", \"c\", \"d\", 1.0, true, 0, [], \"t\", 1, 1]]",
    };

    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        qdq_layer *g;
        json_t *list;
        size_t n;
        assert_ok(qdq_json_parse(wrong[i], strlen(wrong[i]), "layers", &list, &err));
        assert_fails(QDQ_E_FORMAT, "expected", qdq_remote_groups_read(list, &g, &n, &err));
        assert_null(g);
        json_decref(list);
    }
}

TEST(bytes_survive_json)
{
    char all[256];
    qdq_arena arena = QDQ_ARENA_INIT;

    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    json_t *text = qdq_remote_text(all);
    assert_non_null(text);
    assert_string_equal(qdq_remote_bytes(&arena, json_string_value(text)), all);
    json_decref(text);
    qdq_arena_free(&arena);
}

TEST(what_is_no_message_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } cases[] = {
        {"\0\0\0\0{}", 6, "0 bytes"},
        {"\1\0\0\0{", 5, "1 bytes"},
        {"\xff\xff\xff\xff{}", 6, "4294967295 bytes"},
        {"\2\0\0\0[]", 6, "expected an object"},
        {"\2\0\0\0{[", 6, "not JSON"},
        {"\2\0\0\0{}", 5, NULL},
        {"\x0d\0\0\0{\"a\":1,\"a\":2}", 17, "duplicate"},
        {"\4\0\0\0{}  ", 8, NULL},
        {"\4\0\0\0{}xx", 8, "not JSON"},
        {"\6\0\0\0{\"\xff\":1}", 11, "not JSON"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        json_t *out;
        size_t used;

        if (cases[i].part != NULL) {
            assert_fails(QDQ_E_FORMAT, cases[i].part,
                         qdq_remote_message_take(cases[i].bytes, cases[i].size, &used, &out, &err));
            assert_null(out);
        } else {
            assert_ok(qdq_remote_message_take(cases[i].bytes, cases[i].size, &used, &out, &err));
            json_decref(out);
        }
    }
}

TEST(words_about_memory_are_understood)
{
    assert_true(qdq_remote_means_memory("what():  std::bad_alloc"));
    assert_true(qdq_remote_means_memory(
        "BFCArena: Failed to allocate memory for requested buffer of size 9"));
    assert_true(qdq_remote_means_memory("out of memory"));
    assert_false(qdq_remote_means_memory("memory pattern planner"));
    assert_false(qdq_remote_means_memory(""));
}

/* --- a worker that hears garbage -------------------------------------------------------------- */

typedef struct peer {
    pid_t pid;
    int socket;
} peer;

static peer start_worker(void)
{
    static const char *const argv[] = {QDQ_BUILD_DIR "/qdq-worker", NULL};
    int fd[2];
    peer p;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(
        qdq_spawn(&(qdq_spawn_opts){.argv = argv, .in = fd[1], .out = quiet, .err = quiet}, &p.pid),
        0);
    close(quiet);
    close(fd[1]);
    p.socket = fd[0];
    return p;
}

static bool wait_for(peer *p, double seconds, int *status)
{
    double until = qdq_clock_seconds() + seconds;

    while (waitpid(p->pid, status, WNOHANG) == 0) {
        if (qdq_clock_seconds() > until)
            return false;
        poll(NULL, 0, 1);
    }
    return true;
}

/* The worker ends by itself: with code 2 where it can read that this is not a question, or because
 * we hang up, which may come first. */
static void assert_exits(const char *bytes, size_t size, const char *what)
{
    peer p = start_worker();
    int status = 0;

    ssize_t sent = send(p.socket, bytes, size, MSG_NOSIGNAL);
    assert_true(sent == (ssize_t)size);
    shutdown(p.socket, SHUT_WR);
    if (!wait_for(&p, 10, &status)) {
        kill(-p.pid, SIGKILL);
        waitpid(p.pid, &status, 0);
        fail_msg("%s: the worker is still there", what);
    }
    close(p.socket);
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 2) &&
        !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        fail_msg("%s: status %d", what, status);
}

static size_t frame(char *to, const char *text)
{
    size_t n = strlen(text);

    for (int i = 0; i < 4; i++)
        to[i] = (char)(n >> 8 * i);
    memcpy(to + 4, text, n);
    return n + 4;
}

TEST(a_worker_that_hears_garbage_exits)
{
    static const char *const texts[] = {
        "{}",
        "{\"do\": 7}",
        "{\"do\": \"dance\"}",
        "{\"do\": \"sample\", \"handle\": 0}", /* before hello */
        "{\"do\": \"hello\"}",
        "{\"do\": \"hello\", \"version\": \"0.1.0\", \"threads\": 0}",
        "{\"do\": \"hello\", \"version\": \"0.1.0\", \"engine\": [1]}",
        "{\"do\": \"hello\", \"version\": \"0.1.0\", \"engine\": \"sim\", \"shapes\": [7]}",
    };
    char bytes[400];

    assert_exits("", 0, "nothing");
    assert_exits("\2\0", 2, "half a head");
    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_exits(bytes, frame(bytes, texts[i]), texts[i]);
}

TEST(random_garbage_ends_a_worker)
{
    static const char good[] =
        "{\"do\": \"hello\", \"version\": \"0.1.0\", \"engine\": \"sim:/nowhere\", \"threads\": 1,"
        "\"warmup\": 1, \"leg_runs\": 1, \"leg_ms\": 1.5, \"seed\": 0, \"shapes\": []}";
    qdq_random r = qdq_random_new(11, "garbage");

    for (int round = 0; round < 40; round++) {
        char bytes[400], what[40];
        size_t size = frame(bytes, good);

        if (round % 2 == 0)
            for (size_t i = 0; i < size; i++)
                bytes[i] = (char)qdq_random_u64(&r);
        for (int k = 0; k < 3; k++)
            bytes[qdq_random_u64(&r) % size] = (char)qdq_random_u64(&r);
        snprintf(what, sizeof what, "round %d", round);
        assert_exits(bytes, size, what);
    }
}

TEST(another_version_is_refused)
{
    peer p = start_worker();
    char bytes[400], answer[1000];
    int status = 0;

    size_t size = frame(bytes, "{\"do\": \"hello\", \"version\": \"9.9\", \"engine\": \"sim\"}");
    assert_true(send(p.socket, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
    ssize_t n = recv(p.socket, answer, sizeof answer - 1, 0);
    assert_true(n > 4);
    answer[n] = '\0';
    assert_non_null(strstr(answer + 4, "expected 9.9: they belong together"));
    size = frame(bytes, "{\"do\": \"bye\"}");
    assert_true(send(p.socket, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
    assert_true(wait_for(&p, 10, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(p.socket);
}

/* --- questions out of turn -------------------------------------------------------------------- */

/* The worker's answer has `part`. */
static void assert_answers(const peer *p, const char *question, const char *part)
{
    char bytes[2000], answer[2000];
    size_t size = frame(bytes, question), have = 0, want = 4;

    assert_true(send(p->socket, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
    while (have < want) {
        ssize_t n = recv(p->socket, answer + have, sizeof answer - 1 - have, 0);

        if (n <= 0)
            fail_msg("%s: the worker is gone", question);
        have += (size_t)n;
        if (have >= 4)
            want = 4 + (size_t)((unsigned char)answer[0] | (unsigned)(unsigned char)answer[1] << 8);
    }
    answer[have] = '\0';
    if (strstr(answer + 4, part) == NULL)
        fail_msg("%s: %s, expected '%s'", question, answer + 4, part);
}

static void save_tanh(const char *path, const char *input)
{
    char text[300];

    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 17]>\ng (float[1,4] %s) => (float[1,4] y) { y "
             "= Tanh(%s) }",
             input, input);
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_save(m, path, NULL, &err));
    qdq_model_free(m);
}

TEST(questions_out_of_turn_are_answered_with_the_mistake)
{
    peer p = start_worker();
    char question[1500];
    int status = 0;

    FILE *f = fopen(test_path("costs.json"), "w");
    fputs("{\"qdq_sim\": 1}", f);
    fclose(f);
    save_tanh(test_path("a.onnx"), "x");
    save_tanh(test_path("b.onnx"), "z");
    snprintf(question, sizeof question,
             "{\"do\": \"hello\", \"version\": \"%s\", \"engine\": \"sim:%s\", \"threads\": 1, "
             "\"warmup\": 1, "
             "\"leg_runs\": 1, \"leg_ms\": 0.1, \"seed\": 0, \"shapes\": []}",
             qdq_version(), test_path("costs.json"));
    assert_answers(&p, question, "\"sim\"");
    assert_answers(&p, question, "the worker has been greeted before");
    assert_answers(&p, "{\"do\": \"sample\", \"handle\": 3, \"number\": 0}", "3");
    snprintf(question, sizeof question, "{\"do\": \"open\", \"handle\": 0, \"path\": \"%s\"}",
             test_path("a.onnx"));
    assert_answers(&p, question, "\"end\"");
    assert_answers(&p, question, "handle 0 is taken");
    assert_answers(&p, "{\"do\": \"sample\", \"handle\": 0, \"number\": 0}",
                   "has not been run before it is timed");
    assert_answers(&p, "{\"do\": \"warm\", \"handle\": 0}", "\"runs\"");
    assert_answers(&p, "{\"do\": \"sample\", \"handle\": 0, \"number\": 1}", "\"ns\"");
    snprintf(question, sizeof question, "{\"do\": \"open\", \"handle\": 1, \"path\": \"%s\"}",
             test_path("b.onnx"));
    assert_answers(&p, question, "\"end\"");
    assert_answers(&p, "{\"do\": \"warm\", \"handle\": 1}",
                   "\"runs\""); /* another input: the samples are made again */
    assert_answers(&p, "{\"do\": \"compare\", \"a\": 0, \"b\": 0, \"sample\": 5}",
                   "sample 5 is not the next one");
    assert_answers(&p, "{\"do\": \"drop\", \"handle\": 9}", "9");
    assert_answers(&p, "{\"do\": \"run\", \"handle\": 9}", "\"text\"");
    /* two at once */
    size_t size = frame(question, "{\"do\": \"drop\", \"handle\": 0}");
    size += frame(question + size, "{\"do\": \"drop\", \"handle\": 1}");
    assert_true(send(p.socket, question, size, MSG_NOSIGNAL) == (ssize_t)size);
    assert_true(wait_for(&p, 10, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    close(p.socket);
}

/* --- a worker whose lab is gone --------------------------------------------------------------- */

TEST(a_worker_goes_when_its_lab_is_gone)
{
    static const char costs[] = "{\"qdq_sim\": 1, \"fail\": [{\"at\": \"open\", \"hang\": 100}]}";
    qdq_json_doc hello_doc = {0}, open_doc = {0};
    qdq_json_out hello = qdq_json_object(&hello_doc), open = qdq_json_object(&open_doc);
    qdq_buf b = QDQ_BUF_INIT(2000);
    char answer[1000];
    int status;

    qdq_model *m = test_graph(__func__);
    assert_ok(qdq_model_save(m, test_path("m.onnx"), NULL, &err));
    qdq_model_free(m);
    qdq_remote_put_text(hello, "do", "hello");
    qdq_remote_put_text(hello, "version", qdq_version());
    qdq_remote_put_text(hello, "engine", test_sim_spec(costs));
    qdq_remote_message_put(&b, hello_doc.root);

    peer p = start_worker();
    assert_true(send(p.socket, b.data, b.size, MSG_NOSIGNAL) == (ssize_t)b.size);
    assert_true(recv(p.socket, answer, sizeof answer, 0) > 4);
    b.size = 0;
    qdq_remote_put_text(open, "do", "open");
    qdq_json_put_int(open, "handle", 0);
    qdq_remote_put_text(open, "path", test_path("m.onnx"));
    qdq_remote_message_put(&b, open_doc.root);
    assert_true(send(p.socket, b.data, b.size, MSG_NOSIGNAL) == (ssize_t)b.size);
    poll(NULL, 0, 100);
    assert_int_equal(waitpid(p.pid, &status, WNOHANG), 0); /* busy with a model that hangs */
    close(p.socket); /* as a worker client that was killed does */
    assert_true(wait_for(&p, 10, &status));
    assert_true(WIFSIGNALED(status));
    json_decref(open_doc.root);
    json_decref(hello_doc.root);
    qdq_buf_free(&b);
}
