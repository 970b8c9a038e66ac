/* cli_text.c - cleans control characters and broken UTF-8 out of results. One decoder for single
 * lines and for streams, which cut text anywhere. */
#include "cli/cli_text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* TEXT_NONE: nothing is written. */
typedef enum text_mode { TEXT_LINE, TEXT_STREAM, TEXT_JSON, TEXT_NONE } text_mode;

enum { LONGEST = 6 }; /* of what becomes of one character: an escape of JSON */

/* A character of UTF-8 that is not complete yet. */
typedef struct decoder {
    unsigned char byte[4];
    int n, need;
} decoder;

typedef struct guard {
    int fd;
    text_mode mode;
    decoder d;
    /* something was written */
    bool used;
    /* errno of the first write that failed; 0: none did */
    int failed;
} guard;

/* --- characters ------------------------------------------------------------------------------- */

/* Bytes that a character has which begins like this; 0: none does. */
static int length_of(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

/* Of a complete sequence; UINT32_MAX: it is longer than it has to be, a surrogate, or too large. */
static uint32_t code_of(const decoder *d)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = d->n == 1 ? d->byte[0] : d->byte[0] & (0x7fu >> d->n);

    for (int i = 1; i < d->n; i++)
        code = code << 6 | (d->byte[i] & 0x3fu);
    return code < least[d->n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? UINT32_MAX
                                                                                      : code;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* A complete character, or one that cannot be completed. Returns how many bytes it became. */
static size_t put(decoder *d, text_mode mode, char *out)
{
    const uint32_t code = d->n == d->need ? code_of(d) : UINT32_MAX;
    size_t size = (size_t)d->n;

    if (code == '\n' && mode != TEXT_LINE)
        *out = '\n';
    else if (code != UINT32_MAX && is_control(code) && mode == TEXT_JSON)
        size = (size_t)snprintf(out, LONGEST + 1, "\\u%04x", (unsigned)code);
    else if (code == UINT32_MAX || is_control(code)) {
        *out = '?';
        size = 1;
    } else
        memcpy(out, d->byte, size);
    d->n = d->need = 0;
    return size;
}

/* `out` has room for 2 * LONGEST + 1. */
static size_t feed(decoder *d, text_mode mode, unsigned char byte, char *out)
{
    size_t size = 0;

    if (d->need > 0 && (byte & 0xc0) != 0x80) /* what began before does not go on */
        size = put(d, mode, out);
    d->byte[d->n++] = byte;
    if (d->need == 0) {
        d->need = length_of(byte);
        if (d->need == 0) {
            d->need = -1;
            return size + put(d, mode, out + size);
        }
    }
    return d->n == d->need ? size + put(d, mode, out + size) : size;
}

void cli_text_clean(char *text)
{
    decoder d = {.n = 0};
    char piece[2 * LONGEST + 1];
    char *to = text;

    /* no longer than before: `to` never overtakes */
    for (const char *from = text; *from != '\0'; from++) {
        size_t n = feed(&d, TEXT_LINE, (unsigned char)*from, piece);
        memcpy(to, piece, n);
        to += n;
    }
    if (d.need > 0)
        *to++ = '?';
    *to = '\0';
}

/* --- streams ---------------------------------------------------------------------------------- */

static guard of_stdout = {.fd = STDOUT_FILENO, .mode = TEXT_STREAM};
static guard of_stderr = {.fd = STDERR_FILENO, .mode = TEXT_STREAM};
static FILE *guarded_stderr;

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static ssize_t write_guarded(void *ctx, const char *data, size_t size)
{
    enum { ROOM = 4096 };
    guard *g = ctx;
    char out[ROOM + 2 * LONGEST + 1];
    size_t n = 0;

    if (g->mode == TEXT_NONE)
        return (ssize_t)size;
    g->used = true;
    for (size_t i = 0; i < size; i++) {
        n += feed(&g->d, g->mode, (unsigned char)data[i], out + n);
        if (n < ROOM && i + 1 < size)
            continue;
        if (!write_all(g->fd, out, n)) {
            g->failed = g->failed == 0 ? errno : g->failed;
            return 0; /* stdio's word for a failure */
        }
        n = 0;
    }
    return (ssize_t)size;
}

static FILE *open_guard(guard *g)
{
    const cookie_io_functions_t functions = {.write = write_guarded};

    return fopencookie(g, "w", functions);
}

bool cli_text_guard_stdout(void)
{
    FILE *f = open_guard(&of_stdout);

    if (f == NULL)
        return false;
    setvbuf(f, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = f;
    return true;
}

void cli_text_set_mode(cli_text_kind kind)
{
    of_stdout.mode = kind == CLI_TEXT_JSON   ? TEXT_JSON
                     : kind == CLI_TEXT_NONE ? TEXT_NONE
                                             : TEXT_STREAM;
    of_stderr.mode = kind == CLI_TEXT_NONE ? TEXT_NONE : TEXT_STREAM;
}

bool cli_text_has_output(void)
{
    fflush(stdout);
    return of_stdout.used;
}

int cli_text_failure(void)
{
    return of_stdout.failed;
}

FILE *cli_text_stderr(void)
{
    if (guarded_stderr == NULL && (guarded_stderr = open_guard(&of_stderr)) != NULL)
        setvbuf(guarded_stderr, NULL, _IOLBF, BUFSIZ);
    return guarded_stderr != NULL ? guarded_stderr : stderr;
}

bool cli_text_write_raw(const void *data, size_t size)
{
    of_stdout.used = true;
    return fflush(stdout) == 0 && write_all(STDOUT_FILENO, data, size);
}
