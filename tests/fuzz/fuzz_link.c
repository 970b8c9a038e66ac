/* fuzz_link.c - what arrives at `qdq-worker --serve` from another machine, hostile: frames are
 * taken while there are any, each is the same after it went on the way once more, and is answered.
 * No file appears outside of the cache folder, and none in it whose content is not what its name
 * says. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/sha256.h"
#include "engine/remote/remote_frame.h"
#include "worker/worker_relay_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static qdq_relay relay;
static char base[100], cache[120];

static void clear_up(void)
{
    qdq_relay_close(&relay);
    qdq_tempdir_remove(base);
}

static void open_once(void)
{
    qdq_error err = QDQ_ERROR_INIT;

    if (base[0] != '\0')
        return;
    snprintf(base, sizeof base, "/tmp/qdq-fuzz-link-XXXXXX");
    if (mkdtemp(base) == NULL)
        abort();
    snprintf(cache, sizeof cache, "%s/cache", base);
    if (qdq_relay_open(&relay,
                       &(qdq_relay_opts){.program = "/nowhere/qdq-worker",
                                         .cache_dir = cache,
                                         .cache_limit = 100000},
                       &err) != QDQ_OK)
        abort();
    atexit(clear_up);
}

static size_t count_entries(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d != NULL)
        closedir(d);
    return n;
}

static void check_blob(const char *name)
{
    char path[500], hash[65], *data;
    qdq_error err = QDQ_ERROR_INIT;
    size_t size;

    snprintf(path, sizeof path, "%s/files/%s", cache, name);
    if (qdq_read_file(path, 1 << 24, &data, &size, &err) != QDQ_OK)
        abort();
    qdq_sha256_bytes(data, size, hash);
    if (strcmp(hash, name) != 0)
        abort();
    qdq_free(data);
}

static void check_folders(void)
{
    char path[200];
    DIR *d;

    /* files, parts, runs; this connection */
    snprintf(path, sizeof path, "%s/runs", cache);
    if (count_entries(base) != 1 || count_entries(cache) != 3 || count_entries(path) != 1)
        abort();
    snprintf(path, sizeof path, "%s/files", cache);
    d = opendir(path);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            check_blob(e->d_name);
    if (d != NULL)
        closedir(d);
}

static void send_again(const qdq_frame *frame)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(1 << 24);
    qdq_frame back;
    size_t used;

    qdq_frame_put(&b, frame->kind, frame->json, frame->size);
    if (!b.failed && frame->size > 0)
        qdq_buf_append(&b, frame->binary, frame->size);
    /* what is nested deeper than we write is never sent by us */
    if (!b.failed) {
        if (qdq_frame_take(b.data, b.size, &used, &back, &err) != QDQ_OK || used != b.size ||
            back.kind != frame->kind || back.size != frame->size ||
            !json_equal(back.json, frame->json))
            abort();
        json_decref(back.json);
    }
    qdq_buf_free(&b);
}

static void answer(const qdq_frame *frame)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf binary = QDQ_BUF_INIT(QDQ_FRAME_BINARY_MAX);
    qdq_json_doc doc = {0};

    qdq_status st = qdq_relay_answer(&relay, frame, qdq_json_object(&doc), &binary, &err);
    if (st != QDQ_OK && err.text[0] == '\0')
        abort();
    qdq_json_drop(&doc);
    qdq_buf_free(&binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;

    open_once();
    while (size > 0) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_frame frame;
        size_t used;

        if (qdq_frame_take(at, size, &used, &frame, &err) != QDQ_OK || frame.json == NULL)
            break;
        send_again(&frame);
        answer(&frame);
        json_decref(frame.json);
        at += used;
        size -= used;
    }
    check_folders();
    return 0;
}
