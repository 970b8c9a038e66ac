/* fuzz_remote_message.c - what arrives from a worker, hostile: messages are taken while there are
 * any, and each that was taken is the same after it went on the way once more; so are layers in
 * it. */
#include <stdlib.h>

#include "base/fail.h"
#include "engine/remote/remote_arrays.h"
#include "engine/remote/remote_groups.h"
#include "engine/remote/remote_message.h"
#include "engine/remote/remote_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_again(const json_t *message)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(1 << 24);
    json_t *back = NULL;
    size_t used;

    qdq_remote_message_put(&b, message);
    /* What is nested deeper than we write is never sent by us. */
    if (!b.failed && (qdq_remote_message_take(b.data, b.size, &used, &back, &err) != QDQ_OK ||
                      back == NULL || used != b.size || !json_equal(back, (json_t *)message)))
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
    qdq_layer *g, *again;
    size_t n, n_again;

    if (qdq_remote_groups_read(list, &g, &n, &err) != QDQ_OK)
        return;
    json_t *sent = qdq_remote_groups_json(g, n);
    if (sent == NULL || qdq_remote_groups_read(sent, &again, &n_again, &err) != QDQ_OK ||
        n_again != n)
        abort();
    qdq_free(again);
    qdq_free(g);
    json_decref(sent);
}

/* What a message says of a session: whatever it is, no array is read that the memory does not
 * hold. */
static void read_session(json_t *message)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_json_reader reader = {.arena = &arena, .err = &err};
    const qdq_json_place p = {&reader, message, ""};
    const qdq_input_shape *shapes;
    qdq_shared memory = QDQ_SHARED_INIT, graph = QDQ_SHARED_INIT;
    qdq_named_array a;
    qdq_model *m;
    qdq_io *io;
    size_t n;
    unsigned sum = 0;

    (void)qdq_remote_ios_read(json_object_get(message, "in"), &arena, &io, &n, &err);
    (void)qdq_remote_shapes_read(&p, &shapes, &n, &err);
    if (qdq_shared_new(&memory, &err) != QDQ_OK || qdq_shared_need(&memory, 4096, &err) != QDQ_OK ||
        qdq_shared_new(&graph, &err) != QDQ_OK || qdq_shared_need(&graph, 4096, &err) != QDQ_OK)
        abort();
    const json_t *list = json_object_get(message, "outputs");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (qdq_remote_array_get(&memory, json_array_get(list, i), &arena, &a, &err) == QDQ_OK)
            for (size_t k = 0; k < a.array.bytes; k++)
                sum += ((unsigned char *)a.array.data)[k];
    if (sum != 0)
        abort();
    if (qdq_remote_model_get(&p, graph.fd, &m, &err) == QDQ_OK)
        qdq_model_free(m);
    graph.fd = -1;
    qdq_shared_free(&graph);
    qdq_shared_free(&memory);
    qdq_arena_free(&arena);
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
        read_session(message);
        json_decref(message);
        at += used;
        size -= used;
    }
    return 0;
}
