/* remote_message.c - messages as bytes and back. Knows neither of the two who talk. */
#include "engine/remote/remote_message.h"

#include <string.h>

#include "base/fail.h"
#include "base/words.h"

/* --- bytes ------------------------------------------------------------------------------------ */

void qdq_remote_message_put(qdq_buf *b, const json_t *message)
{
    size_t start = b->size;
    unsigned char *head = qdq_buf_extend(b, QDQ_REMOTE_HEAD);

    if (head == NULL || !qdq_json_put_line(b, message) || b->failed ||
        b->size - start - QDQ_REMOTE_HEAD > QDQ_REMOTE_MESSAGE_MAX) {
        b->failed = true;
        return;
    }
    uint32_t size = (uint32_t)(b->size - start - QDQ_REMOTE_HEAD);
    for (int i = 0; i < QDQ_REMOTE_HEAD; i++)
        b->data[start + (size_t)i] = (char)(size >> 8 * i & 0xff);
}

static uint32_t size_of(const char *data)
{
    uint32_t size = 0;

    for (int i = 0; i < QDQ_REMOTE_HEAD; i++)
        size |= (uint32_t)(unsigned char)data[i] << 8 * i;
    return size;
}

qdq_status qdq_remote_message_take(const char *data, size_t size, size_t *used, json_t **out,
                                   qdq_error *err)
{
    *used = 0;
    *out = NULL;
    if (size < QDQ_REMOTE_HEAD)
        return QDQ_OK;
    uint32_t length = size_of(data);
    if (length < 2 || length > QDQ_REMOTE_MESSAGE_MAX)
        return qdq_fail(err, QDQ_E_FORMAT, "a message of %u bytes, expected 2 to %d", length,
                        (int)QDQ_REMOTE_MESSAGE_MAX);
    if (size > QDQ_REMOTE_HEAD && data[QDQ_REMOTE_HEAD] != '{')
        return qdq_fail(err, QDQ_E_FORMAT, "a message that begins with byte %d, expected an object",
                        (unsigned char)data[QDQ_REMOTE_HEAD]);
    if (size - QDQ_REMOTE_HEAD < length)
        return QDQ_OK;
    QDQ_TRY(qdq_json_parse(data + QDQ_REMOTE_HEAD, length, "message", out, err));
    *used = QDQ_REMOTE_HEAD + (size_t)length;
    return QDQ_OK;
}

/* --- members ---------------------------------------------------------------------------------- */

void qdq_remote_put_text(qdq_json_out o, const char *key, const char *bytes)
{
    if (bytes != NULL)
        qdq_json_put(o, key, qdq_remote_text(bytes));
}

json_t *qdq_remote_text(const char *bytes)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_REMOTE_MESSAGE_MAX);

    for (const char *p = bytes; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;

        if (c < 0x80) {
            qdq_buf_putc(&b, *p);
        } else {
            qdq_buf_putc(&b, (char)(0xc0 | c >> 6));
            qdq_buf_putc(&b, (char)(0x80 | (c & 0x3f)));
        }
    }
    json_t *json = b.failed ? NULL : json_string(b.data != NULL ? b.data : "");
    qdq_buf_free(&b);
    return json;
}

char *qdq_remote_bytes(qdq_arena *arena, const char *text)
{
    char *bytes = qdq_arena_strdup(arena, text), *to = bytes;

    if (bytes == NULL)
        return NULL;
    for (const char *p = bytes; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;

        if (c >= 0xc0 && p[1] != '\0')
            c = (unsigned char)((c & 0x03) << 6 | (*++p & 0x3f));
        *to++ = (char)c;
    }
    *to = '\0';
    return bytes;
}

const char *qdq_remote_get_text(const qdq_json_place *p, const char *key, const char *fallback)
{
    const char *text = qdq_json_text(p, key, fallback);

    if (text == fallback)
        return fallback;
    char *bytes = qdq_remote_bytes(p->reader->arena, text);
    if (bytes == NULL)
        qdq_json_nomem(p);
    return bytes != NULL ? bytes : "";
}

/* --- memory ----------------------------------------------------------------------------------- */

bool qdq_remote_means_memory(const char *text)
{
    const char *const *word =
        QDQ_WORDS("bad_alloc", "out of memory", "Out of memory", "OutOfMemory",
                  "ailed to allocate memory", "annot allocate memory", "bad allocation");

    for (; *word != NULL; word++)
        if (strstr(text, *word) != NULL)
            return true;
    return false;
}
