/* fuzz_remote_message.c - what arrives from a worker, hostile: messages are taken while there are any, and each that was
 * taken is the same after it went on the way once more; so are layers in it. */
#include <stdlib.h>

#include "base/fail.h"
#include "engine/remote/remote_groups.h"
#include "engine/remote/remote_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_again(const json_t *message)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(1 << 24);
    json_t *back = NULL;
    size_t used;

    qdq_remote_message_put(&b, message);
    /* What is nested deeper than we write is never sent by us. */
    if (!b.failed && (qdq_remote_message_take(b.data, b.size, &used, &back, &err) != QDQ_OK || back == NULL ||
                      used != b.size || !json_equal(back, (json_t *)message)))
        abort();
    json_decref(back);
    qdq_buf_free(&b);
}

static void read_members(json_t *message)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_json_reader reader = {.arena = &arena, .err = &err};
    const qdq_json_place p = {&reader, message, ""};

    if (qdq_remote_get_text(&p, "text", "") == NULL)
        abort();
    qdq_arena_free(&arena);
}

/* Layers that were taken go on their way once more, and are as many. */
static void read_layers(const json_t *list)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_group *g, *again;
    size_t n, n_again;

    if (qdq_remote_groups_read(list, &g, &n, &err) != QDQ_OK)
        return;
    json_t *sent = qdq_remote_groups_json(g, n);
    if (sent == NULL || qdq_remote_groups_read(sent, &again, &n_again, &err) != QDQ_OK || n_again != n)
        abort();
    qdq_free(again);
    qdq_free(g);
    json_decref(sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;

    while (size > 0) {
        qdq_error err = QDQ_ERROR_INIT;
        json_t *message;
        size_t used;

        if (qdq_remote_message_take(at, size, &used, &message, &err) != QDQ_OK || message == NULL)
            break;
        send_again(message);
        read_members(message);
        read_layers(json_object_get(message, "layers"));
        json_decref(message);
        at += used;
        size -= used;
    }
    return 0;
}
