/* relay_alloc.c - every allocation and every call on files of `qdq-worker --serve` fails once,
 * while it stores files and puts them in place: nothing is lost, and no file is left half. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "support/alloc_fail.h"
#include "worker/worker_relay_answer.h"

static const char content[] = "{\"qdq_sim\": 1}";
static char hash[65];

/* Answers a frame with this JSON. */
static qdq_status answer(qdq_relay *r, qdq_frame_kind kind, const char *json, const void *binary,
                         size_t size, qdq_error *err)
{
    qdq_frame f = {.kind = kind, .binary = binary, .size = size};
    qdq_buf out = QDQ_BUF_INIT(1 << 20);
    qdq_json_doc doc = {0};

    QDQ_TRY(qdq_json_parse(json, strlen(json), "frame", &f.json, err));
    qdq_status st = qdq_relay_answer(r, &f, qdq_json_object(&doc), &out, err);
    qdq_json_drop(&doc);
    qdq_buf_free(&out);
    json_decref(f.json);
    return st;
}

static qdq_status talk(qdq_relay *r, qdq_error *err)
{
    char json[1000];
    const size_t half = sizeof content / 2, size = sizeof content - 1;

    QDQ_TRY(answer(r, QDQ_FRAME_HELLO, "{}", NULL, 0, err));
    snprintf(json, sizeof json, "{\"blob\": \"%s\", \"size\": %zu, \"at\": 0}", hash, size);
    QDQ_TRY(answer(r, QDQ_FRAME_PUT, json, content, half, err));
    snprintf(json, sizeof json, "{\"blob\": \"%s\", \"size\": %zu, \"at\": %zu}", hash, size, half);
    QDQ_TRY(answer(r, QDQ_FRAME_PUT, json, content + half, size - half, err));
    snprintf(json, sizeof json, "{\"blobs\": [\"%s\"]}", hash);
    QDQ_TRY(answer(r, QDQ_FRAME_HAVE, json, NULL, 0, err));
    snprintf(json, sizeof json,
             "{\"question\": {\"do\": \"open\", \"path\": \"m\", \"files\": [{}]}, \"place\": ["
             "{\"to\": \"path\", \"name\": \"m\", \"blob\": \"%s\", \"parts\": [\"%s\"]},"
             "{\"to\": \"file\", \"name\": \"w\", \"blob\": \"%s\"},"
             "{\"to\": \"memory\", \"name\": \"m\", \"blob\": \"%s\"}]}",
             hash, hash, hash, hash);
    qdq_error why = QDQ_ERROR_INIT;
    qdq_status st = answer(r, QDQ_FRAME_ASK, json, NULL, 0, &why);
    /* all was put in place, and there is no process */
    if (st == QDQ_E_ENGINE && strstr(why.text, "no process of an engine was started") != NULL)
        return QDQ_OK;
    return qdq_fail(err, st != QDQ_OK ? st : QDQ_E_BUG, "%s", why.text);
}

static qdq_status serve(void *ctx, qdq_error *err)
{
    qdq_relay r;

    qdq_tempdir_remove(ctx);
    qdq_status st = qdq_relay_open(
        &r, &(qdq_relay_opts){.program = "/nowhere", .cache_dir = ctx, .cache_limit = 1 << 20},
        err);
    if (st == QDQ_OK)
        st = talk(&r, err);
    qdq_relay_close(&r);
    return st;
}

TEST(a_host_without_memory_or_files_says_so_and_leaves_nothing_half)
{
    char dir[600];

    qdq_sha256_text(content, hash);
    snprintf(dir, sizeof dir, "%s", test_path("cache"));
    assert_true(test_every_alloc_fails(serve, dir) > 10);
    assert_true(test_new_file_calls_fail(serve, dir) > 5);
}
