/* buf.h - growing bytes or text with a maximum size and sticky failure: append without checking,
 * ask once at the end with `failed`. Text is always NUL-terminated. */
#ifndef QDQ_BUF_H
#define QDQ_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "qdq/status.h"

typedef struct qdq_buf {
    /* NULL while empty */
    char *data;
    size_t size, cap, max;
    /* out of memory, or beyond max */
    bool failed;
} qdq_buf;

#define QDQ_BUF_INIT(max_size)                                                                     \
    {                                                                                              \
        NULL, 0, 0, (max_size), false                                                              \
    }
#define QDQ_BUF_NO_LIMIT (SIZE_MAX / 4)

void qdq_buf_append(qdq_buf *b, const void *data, size_t size);
void qdq_buf_puts(qdq_buf *b, const char *s);
void qdq_buf_putc(qdq_buf *b, char c);
void qdq_buf_printf(qdq_buf *b, const char *fmt, ...) QDQ_PRINTF(2, 3);
void qdq_buf_vprintf(qdq_buf *b, const char *fmt, va_list ap) QDQ_PRINTF(2, 0);

/* Room for `size` more bytes, which the caller fills; NULL when failed. */
void *qdq_buf_extend(qdq_buf *b, size_t size);

/* Hands the bytes over (qdq_free) and leaves the buffer empty; NULL if it failed. An empty buffer
 * gives "". */
char *qdq_buf_take(qdq_buf *b);
void qdq_buf_free(qdq_buf *b);

/* Adds to a text in `size` bytes, which cut it. */
void qdq_text_add(char *text, size_t size, const char *fmt, ...) QDQ_PRINTF(3, 4);

/* *out goes to free(); `text` NULL: NULL. */
qdq_status qdq_text_copy(const char *text, char **out, qdq_error *err);

/* Is the word, of `size` bytes, in a text of words with one of the separators between them? */
bool qdq_text_lists(const char *text, const char *separators, const char *word, size_t size);

/* The bytes of the UTF-8 character at s, of n; 0: it is none. */
size_t qdq_utf8_size(const unsigned char *s, size_t n);

#endif /* QDQ_BUF_H */
