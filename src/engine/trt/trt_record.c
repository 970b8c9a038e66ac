/* trt_record.c - names recorded files by model, masks places in logs, and copies them. */
#include "engine/trt/trt_record.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "engine/trt/trt_args.h"

qdq_status qdq_trt_record_engine(const char *dir, const qdq_engine_info *info, qdq_error *err)
{
    qdq_json_doc doc = {0};
    char path[4096];

    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make this folder", dir);
    if (snprintf(path, sizeof path, "%s/replay.json", dir) >= (int)sizeof path)
        return qdq_fail(err, QDQ_E_IO, "%s: the name is too long", dir);
    qdq_json_out o = qdq_json_object(&doc);
    qdq_json_put_int(o, "qdq_replay", 1);
    qdq_json_put_text(o, "engine", info->name);
    qdq_json_put_text(o, "version", info->version);
    qdq_json_put_text(o, "device", info->device);
    return qdq_json_write(&doc, path, true, err);
}

qdq_status qdq_trt_record_key(const qdq_model *m, qdq_arena *arena, const char **key,
                              qdq_error *err)
{
    struct sha256_ctx h;
    char name[33];
    void *data;
    size_t size;

    QDQ_TRY(qdq_model_to_bytes(m, NULL, &data, &size, err));
    sha256_init(&h);
    sha256_update(&h, size, data);
    qdq_sha256_end(&h, name);
    qdq_free(data);
    *key = qdq_arena_strdup(arena, name);
    return *key != NULL ? QDQ_OK : qdq_nomem(err);
}

/* Reports are attached where all can read them, and trtexec repeats its command line. */
static void mask_lines(char **text, size_t *size)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    const char *masked = qdq_trt_mask(*text, &arena);

    *size = masked != NULL ? strlen(masked) : 0; /* rather nothing than a password */
    char *copy = masked != NULL ? malloc(*size + 1) : NULL;
    if (copy != NULL)
        memcpy(copy, masked, *size + 1);
    else
        *size = 0;
    qdq_free(*text);
    *text = copy;
    qdq_arena_free(&arena);
}

void qdq_trt_record_file(const char *dir, const char *key, const char *what, const char *path)
{
    enum { MAX = 256 << 20 };
    char to[4096], *text = NULL;
    size_t size;

    if (dir == NULL || key == NULL ||
        snprintf(to, sizeof to, "%s/%s.%s", dir, key, what) >= (int)sizeof to)
        return;
    if (qdq_read_file(path, MAX, &text, &size, NULL) != QDQ_OK)
        return;
    if (strcmp(what, "log") == 0)
        mask_lines(&text, &size);
    FILE *f = fopen(to, strcmp(what, "log") == 0 ? "a" : "w");
    if (f != NULL) {
        fwrite(text, 1, size, f);
        fclose(f);
    }
    qdq_free(text);
    if (strcmp(what, "log") == 0)
        remove(path); /* it is appended to; the next copy is to begin where this one ended */
}
