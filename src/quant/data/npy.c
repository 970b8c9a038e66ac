/* npy.c - the header of a .npy file is the text of a Python dictionary: read here by a parser that
 * accepts what NumPy writes and nothing else. Knows no files, no models. */
#include "quant/data/npy.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/elem_info.h"
#include "base/fail.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

qdq_status qdq_npy_data_offset(const unsigned char *start, size_t size, size_t *offset,
                               qdq_error *err)
{
    uint32_t length;

    *offset = 0;
    if (size < 6 || memcmp(start, "\x93NUMPY", 6) != 0)
        return qdq_fail(err, QDQ_E_FORMAT, "not a .npy file: it does not begin with \\x93NUMPY");
    if (size < QDQ_NPY_START)
        return qdq_fail(err, QDQ_E_FORMAT, "truncated in its first %d bytes", QDQ_NPY_START);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, ".npy version %d.%d, expected 1.0, 2.0 or 3.0",
                        start[6], start[7]);
    if (start[6] == 1) {
        *offset = 10 + ((size_t)start[8] | (size_t)start[9] << 8);
        return QDQ_OK;
    }
    length = (uint32_t)start[8] | (uint32_t)start[9] << 8 | (uint32_t)start[10] << 16 |
             (uint32_t)start[11] << 24;
    if (length > QDQ_NPY_MAX_OFFSET - QDQ_NPY_START)
        return qdq_fail(err, QDQ_E_FORMAT, "a header of %u bytes, expected at most %d",
                        (unsigned)length, QDQ_NPY_MAX_OFFSET - QDQ_NPY_START);
    *offset = QDQ_NPY_START + length;
    return QDQ_OK;
}

/* --- tokens ----------------------------------------------------------------------------------- */

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

static bool take_char(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t n = strlen(word);

    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    if ((size_t)(c->end - c->at) > n && isalnum((unsigned char)c->at[n]))
        return false;
    c->at += n;
    return true;
}

/* A quoted string without escapes, of less than `room` bytes. */
static bool take_string(cursor *c, char *text, size_t room)
{
    size_t n = 0;
    char quote;

    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    quote = *c->at++;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' || n + 1 >= room)
            return false;
        text[n++] = *c->at++;
    }
    text[n] = '\0';
    return take_char(c, quote);
}

static bool take_dim(cursor *c, int64_t *dim)
{
    const char *first;

    skip_space(c);
    first = c->at;
    for (*dim = 0; c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
        if (__builtin_mul_overflow(*dim, 10, dim) ||
            __builtin_add_overflow(*dim, *c->at - '0', dim))
            return false;
    if (c->at == first)
        return false;
    if (c->at < c->end && *c->at == 'L') /* NumPy under Python 2 wrote long integers so */
        c->at++;
    return true;
}

/* --- the three entries ------------------------------------------------------------------------ */

static qdq_status read_npy_type(cursor *c, qdq_npy *out, qdq_error *err)
{
    char text[32];

    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "records of several fields, expected one number per element");
    if (!take_string(c, text, sizeof text))
        return qdq_fail(err, QDQ_E_FORMAT, "header: 'descr' is not a type");
    if (strcmp(text, "|O") == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "Python objects (type '|O'), expected numbers");
    for (int e = 0; e < QDQ_ELEM_COUNT; e++) {
        const qdq_elem_info *info = qdq_elem_get_info((qdq_elem)e);
        if (text[0] == '\0' || info->npy == NULL || strcmp(text + 1, info->npy) != 0)
            continue;
        out->elem = (qdq_elem)e;
        out->elem_size = info->bits / 8;
        if (text[0] == '<' || (text[0] == '|' && out->elem_size == 1))
            return QDQ_OK;
        if (text[0] == '>') {
            out->swap = out->elem_size > 1;
            return QDQ_OK;
        }
    }
    return qdq_fail(
        err, QDQ_E_UNSUPPORTED,
        "elements of type '%s', expected float16 to float64, integers of 8 to 64 bits or bool",
        text);
}

static qdq_status read_npy_shape(cursor *c, qdq_npy *out, qdq_error *err)
{
    bool comma = true;

    if (!take_char(c, '('))
        return qdq_fail(err, QDQ_E_FORMAT, "header: 'shape' is not a tuple");
    out->count = 1;
    while (!take_char(c, ')')) {
        int64_t dim;

        if (!comma || !take_dim(c, &dim))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "header: 'shape' is not a tuple of sizes that fit 63 bits");
        if (out->rank == QDQ_MAX_RANK)
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "more than %d dimensions", QDQ_MAX_RANK);
        if (__builtin_mul_overflow(out->count, dim, &out->count))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "header: 'shape' has more elements than fit 63 bits");
        out->dim[out->rank++] = dim;
        comma = take_char(c, ',');
    }
    if (out->rank == 1 && !comma) /* "(3)" is a number in Python */
        return qdq_fail(err, QDQ_E_FORMAT, "header: 'shape' is not a tuple");
    return QDQ_OK;
}

static qdq_status read_npy_header(cursor *c, qdq_npy *out, bool *fortran, qdq_error *err)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false}, comma = true;

    if (!take_char(c, '{'))
        return qdq_fail(err, QDQ_E_FORMAT, "header: expected '{'");
    while (!take_char(c, '}')) {
        char key[32];
        size_t k = 0;

        if (!comma || !take_string(c, key, sizeof key) || !take_char(c, ':'))
            return qdq_fail(err, QDQ_E_FORMAT, "header: expected 'key': value");
        while (k < QDQ_COUNT(keys) && strcmp(key, keys[k]) != 0)
            k++;
        if (k == QDQ_COUNT(keys))
            return qdq_fail(err, QDQ_E_FORMAT, "header: unknown key '%s'", key);
        if (seen[k])
            return qdq_fail(err, QDQ_E_FORMAT, "header: '%s' twice", key);
        seen[k] = true;
        if (k == 0)
            QDQ_TRY(read_npy_type(c, out, err));
        else if (k == 2)
            QDQ_TRY(read_npy_shape(c, out, err));
        else if (!(*fortran = take_word(c, "True")) && !take_word(c, "False"))
            return qdq_fail(err, QDQ_E_FORMAT, "header: 'fortran_order' is neither True nor False");
        comma = take_char(c, ',');
    }
    for (size_t k = 0; k < QDQ_COUNT(keys); k++)
        if (!seen[k])
            return qdq_fail(err, QDQ_E_FORMAT, "header: '%s' is missing", keys[k]);
    skip_space(c);
    return c->at == c->end ? QDQ_OK : qdq_fail(err, QDQ_E_FORMAT, "header: text behind '}'");
}

qdq_status qdq_npy_parse(const unsigned char *file, size_t size, qdq_npy *out, qdq_error *err)
{
    qdq_npy a = {0};
    bool fortran = false;
    int long_dims = 0;

    *out = a;
    QDQ_TRY(qdq_npy_data_offset(file, size, &a.offset, err));
    if (a.offset > size)
        return qdq_fail(err, QDQ_E_FORMAT, "truncated: %zu bytes, the header alone takes %zu", size,
                        a.offset);
    cursor c = {(const char *)file + (file[6] == 1 ? 10 : QDQ_NPY_START),
                (const char *)file + a.offset};
    if (c.at > c.end) /* version 1 with a header of less than two bytes */
        return qdq_fail(err, QDQ_E_FORMAT, "header: expected '{'");
    QDQ_TRY(read_npy_header(&c, &a, &fortran, err));
    if ((uint64_t)a.count > (uint64_t)PTRDIFF_MAX / a.elem_size)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "header: 'shape' has more bytes than memory has addresses");
    a.bytes = (size_t)a.count * a.elem_size;
    for (int i = 0; i < a.rank; i++)
        long_dims += a.dim[i] > 1;
    if (fortran && long_dims > 1) /* with one long dimension, both orders are the same */
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "elements in Fortran order, expected C order: save numpy.ascontiguousarray(x)");
    *out = a;
    return QDQ_OK;
}

void qdq_npy_to_native(const qdq_npy *a, void *data, size_t bytes)
{
    unsigned char *p = data;

    if (a->elem == QDQ_BOOL)
        for (size_t i = 0; i < bytes; i++)
            p[i] = p[i] != 0;
    if (!a->swap)
        return;
    for (size_t at = 0; at + a->elem_size <= bytes; at += a->elem_size) {
        for (size_t low = at, high = at + a->elem_size - 1; low < high; low++, high--) {
            unsigned char t = p[low];

            p[low] = p[high];
            p[high] = t;
        }
    }
}
