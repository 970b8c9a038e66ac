/* buf.c - growing bytes or text. One byte behind the end is always there and zero. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Room for `more` bytes and the NUL. */
static bool grow(qdq_buf *b, size_t more)
{
    if (b->failed)
        return false;
    if (b->size > b->max || more > b->max - b->size || b->size + more == SIZE_MAX) {
        b->failed = true;
        return false;
    }
    size_t need = b->size + more + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap < 64 ? 64 : b->cap <= SIZE_MAX / 2 ? b->cap * 2 : SIZE_MAX;
    if (cap < need)
        cap = need;
    char *data = realloc(b->data, cap);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void *qdq_buf_extend(qdq_buf *b, size_t size)
{
    if (!grow(b, size))
        return NULL;
    char *place = b->data + b->size;
    b->size += size;
    b->data[b->size] = '\0';
    return place;
}

void qdq_buf_append(qdq_buf *b, const void *data, size_t size)
{
    void *place = qdq_buf_extend(b, size);

    if (place != NULL && size != 0)
        memcpy(place, data, size);
}

void qdq_buf_puts(qdq_buf *b, const char *s)
{
    qdq_buf_append(b, s, strlen(s));
}

void qdq_buf_putc(qdq_buf *b, char c)
{
    qdq_buf_append(b, &c, 1);
}

void qdq_buf_vprintf(qdq_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    size_t room = b->cap - b->size; /* 0 while empty, else the NUL is counted in */

    if (b->failed)
        return;
    va_copy(again, ap);
    int n = vsnprintf(room == 0 ? NULL : b->data + b->size, room, fmt, ap);
    if (n < 0) {
        b->failed = true;
    } else if (!grow(b, (size_t)n)) {
        if (room != 0)
            b->data[b->size] = '\0'; /* takes back what the first try wrote */
    } else {
        if ((size_t)n >= room)
            vsnprintf(b->data + b->size, (size_t)n + 1, fmt, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

void qdq_buf_printf(qdq_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    qdq_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

char *qdq_buf_take(qdq_buf *b)
{
    char *data = NULL;

    if (grow(b, 0)) { /* an empty buffer has no bytes yet */
        data = b->data;
        data[b->size] = '\0';
        b->data = NULL;
    }
    free(b->data);
    b->data = NULL;
    b->size = b->cap = 0;
    return data;
}

void qdq_buf_free(qdq_buf *b)
{
    free(b->data);
    *b = (qdq_buf)QDQ_BUF_INIT(b->max);
}

void qdq_text_add(char *text, size_t size, const char *fmt, ...)
{
    const size_t used = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

qdq_status qdq_text_copy(const char *text, char **out, qdq_error *err)
{
    *out = NULL;
    if (text == NULL)
        return QDQ_OK;
    const size_t size = strlen(text) + 1;
    *out = malloc(size);
    QDQ_NEED(*out != NULL, err);
    memcpy(*out, text, size);
    return QDQ_OK;
}

bool qdq_text_lists(const char *text, const char *separators, const char *word, size_t size)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, separators);
        if (n == size && memcmp(text, word, n) == 0)
            return true;
        text += n + (text[n] != '\0');
    }
    return false;
}

size_t qdq_utf8_size(const unsigned char *s, size_t n)
{
    size_t size = s[0] < 0x80                   ? 1
                  : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                  : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                : 0;

    if (size == 0 || size > n)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
        return 0;
    return size;
}
