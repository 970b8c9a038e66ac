/* remote_frame.c - frames as bytes and back; each length is checked before it is used. */
#include "engine/remote/remote_frame.h"

#include <ctype.h>
#include <string.h>

#include "base/fail.h"

static void put_number(unsigned char *to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(x >> 8 * i & 0xff);
}

static uint64_t number_at(const unsigned char *from, int bytes)
{
    uint64_t x = 0;

    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)from[i] << 8 * i;
    return x;
}

void qdq_frame_put(qdq_buf *b, qdq_frame_kind kind, const json_t *json, uint64_t binary)
{
    const size_t start = b->size;

    if (qdq_buf_extend(b, QDQ_FRAME_HEAD) == NULL || json == NULL || !qdq_json_put_line(b, json) ||
        b->failed || b->size - start - QDQ_FRAME_HEAD > QDQ_FRAME_JSON_MAX ||
        binary > QDQ_FRAME_BINARY_MAX) {
        b->failed = true;
        return;
    }
    unsigned char *head = (unsigned char *)b->data + start;
    memcpy(head, (const unsigned char[4]){'q', 'd', (unsigned char)kind, 0}, 4);
    put_number(head + 4, b->size - start - QDQ_FRAME_HEAD, 4);
    put_number(head + 8, binary, 8);
}

static bool is_kind(unsigned char c)
{
    return c != 0 && strchr("HVPSAEF.", c) != NULL;
}

/* The beginning of a text that is no frame: a login shell that greets, an error of a program. */
static qdq_status no_frame(const char *data, size_t size, qdq_error *err)
{
    char text[120];
    size_t n = 0;

    while (n < size && n + 1 < sizeof text && data[n] != '\n' && data[n] != '\0') {
        text[n] = isprint((unsigned char)data[n]) ? data[n] : '?';
        n++;
    }
    text[n] = '\0';
    return qdq_fail(err, QDQ_E_FORMAT, "found '%s', expected an answer of qdq-worker", text);
}

qdq_status qdq_frame_take(const char *data, size_t size, size_t *used, qdq_frame *frame,
                          qdq_error *err)
{
    const unsigned char *head = (const unsigned char *)data;

    *used = 0;
    *frame = (qdq_frame){0};
    if ((size > 0 && head[0] != 'q') || (size > 1 && head[1] != 'd') ||
        (size > 2 && !is_kind(head[2])) || (size > 3 && head[3] != 0))
        return no_frame(data, size, err);
    if (size < QDQ_FRAME_HEAD)
        return QDQ_OK;
    const uint64_t json = number_at(head + 4, 4), binary = number_at(head + 8, 8);
    if (json < 2 || json > QDQ_FRAME_JSON_MAX || binary > QDQ_FRAME_BINARY_MAX)
        return qdq_fail(err, QDQ_E_FORMAT, "a frame of %llu and %llu bytes is too large",
                        (unsigned long long)json, (unsigned long long)binary);
    if (size > QDQ_FRAME_HEAD && data[QDQ_FRAME_HEAD] != '{')
        return qdq_fail(err, QDQ_E_FORMAT, "a frame without an object");
    if (size - QDQ_FRAME_HEAD < json + binary)
        return QDQ_OK;
    QDQ_TRY(qdq_json_parse(data + QDQ_FRAME_HEAD, (size_t)json, "frame", &frame->json, err));
    frame->kind = (qdq_frame_kind)head[2];
    frame->binary = head + QDQ_FRAME_HEAD + json;
    frame->size = (size_t)binary;
    *used = QDQ_FRAME_HEAD + (size_t)(json + binary);
    return QDQ_OK;
}

bool qdq_frame_is_hash(const char *text)
{
    return text != NULL && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}
