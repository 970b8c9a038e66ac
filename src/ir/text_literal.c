/* text_literal.c - prints names, types, numbers and attributes of the text form. Knows no layout.
 *
 * Every number is printed so that reading it gives the same bits, in the least digits that do. */
#include "ir/text_literal.h"

#include "base/fail.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- text ------------------------------------------------------------------------------------- */

void qdq_print_string(qdq_buf *out, const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;

    qdq_buf_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        size_t size;

        if (p[i] == '"' || p[i] == '\\')
            qdq_buf_printf(out, "\\%c", p[i]);
        else if (p[i] == '\n')
            qdq_buf_puts(out, "\\n");
        else if (p[i] == '\t')
            qdq_buf_puts(out, "\\t");
        else if (p[i] == '\r')
            qdq_buf_puts(out, "\\r");
        else if (p[i] >= ' ' && p[i] < 127)
            qdq_buf_putc(out, (char)p[i]);
        else if (p[i] > 127 && (size = qdq_utf8_size(p + i, n - i)) > 0) {
            qdq_buf_append(out, p + i, size);
            i += size - 1;
        } else
            qdq_buf_printf(out, "\\x%02x", p[i]);
    }
    qdq_buf_putc(out, '"');
}

/* Words that mean something where a name may stand. */
static bool is_keyword(const char *s)
{
    return QDQ_WORD_IS_IN(s, "seq", "map", "optional", "sparse_tensor", "inf", "infinity", "nan",
                          "undefined") ||
           qdq_elem_from_name(s) != QDQ_UNDEFINED;
}

bool qdq_is_identifier(const char *s)
{
    size_t n = 0;

    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' ||
           (n > 0 && s[n] >= '0' && s[n] <= '9'))
        n++;
    return n > 0 && s[n] == '\0';
}

void qdq_print_name(qdq_buf *out, const char *name)
{
    if (qdq_is_identifier(name) && !is_keyword(name))
        qdq_buf_puts(out, name);
    else
        qdq_print_string(out, name, strlen(name));
}

/* --- types ------------------------------------------------------------------------------------ */

static const char *elem_text(qdq_elem e)
{
    const char *name = qdq_elem_name(e);

    return name == NULL ? "undefined" : name;
}

/* "float[N,3]": no brackets for a scalar, empty ones for an unknown rank. */
static void print_shape(qdq_buf *out, const qdq_type *t)
{
    qdq_buf_puts(out, elem_text(t->elem));
    if (t->rank == 0)
        return;
    qdq_buf_putc(out, '[');
    for (int i = 0; i < t->rank; i++) {
        if (i > 0)
            qdq_buf_putc(out, ',');
        if (t->dim[i].value >= 0)
            qdq_buf_printf(out, "%" PRId64, t->dim[i].value);
        else if (t->dim[i].param != NULL && t->dim[i].param[0] != '\0')
            qdq_print_name(out, t->dim[i].param);
        else
            qdq_buf_putc(out, '?');
    }
    qdq_buf_putc(out, ']');
}

/* What cannot be printed is found first, so that no half of a type is left behind. */
static bool is_printable(const qdq_type *t)
{
    for (int depth = 0; depth <= QDQ_MAX_NESTING; depth++, t = t->inner) {
        if (t == NULL || t->kind == QDQ_TYPE_OTHER)
            return false;
        if (t->kind == QDQ_TYPE_TENSOR || t->kind == QDQ_TYPE_SPARSE)
            return true;
    }
    return false;
}

bool qdq_print_type(qdq_buf *out, const qdq_type *t)
{
    int open = 0;

    if (!is_printable(t))
        return false;
    for (; t->kind != QDQ_TYPE_TENSOR && t->kind != QDQ_TYPE_SPARSE; t = t->inner, open++) {
        if (t->kind == QDQ_TYPE_MAP)
            qdq_buf_printf(out, "map(%s, ", elem_text(t->elem));
        else
            qdq_buf_puts(out, t->kind == QDQ_TYPE_SEQUENCE ? "seq(" : "optional(");
    }
    if (t->kind == QDQ_TYPE_SPARSE) {
        qdq_buf_puts(out, "sparse_tensor(");
        open++;
    }
    print_shape(out, t);
    while (open-- > 0)
        qdq_buf_putc(out, ')');
    return true;
}

static void print_dims(qdq_buf *out, qdq_elem e, int rank, const int64_t *dim)
{
    qdq_buf_puts(out, elem_text(e));
    for (int i = 0; i < rank; i++)
        qdq_buf_printf(out, "%c%" PRId64, i == 0 ? '[' : ',', dim[i]);
    if (rank > 0)
        qdq_buf_putc(out, ']');
}

void qdq_print_tensor_type(qdq_buf *out, const qdq_tensor *t)
{
    print_dims(out, t->elem, t->rank, t->dim);
}

void qdq_print_sparse_type(qdq_buf *out, const qdq_sparse *s)
{
    qdq_buf_puts(out, "sparse_tensor(");
    print_dims(out, s->values->elem, s->rank, s->dim);
    qdq_buf_putc(out, ')');
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The locale of the caller decides about printf's decimal point; ours is always '.'. */
static void plain_point(char *s)
{
    char *from = s, *to = s;

    for (bool was_point = false; *from != '\0'; from++) {
        bool is_plain =
            (*from >= '0' && *from <= '9') || *from == '-' || *from == '+' || *from == 'e';

        if (is_plain)
            *to++ = *from;
        else if (!was_point)
            *to++ = '.';
        was_point = !is_plain; /* a point of several bytes becomes one */
    }
    *to = '\0';
}

/* The least digits from which the same bits of element type `e` come back. */
static void print_float(qdq_buf *out, qdq_elem e, double x, bool with_point)
{
    unsigned char want[8] = {0}, got[8] = {0};
    char text[64];
    int digits = e == QDQ_DOUBLE ? 15 : e == QDQ_FLOAT ? 6 : 1;

    if (isnan(x) || isinf(x)) {
        qdq_buf_puts(out, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    if (with_point && fabs(x) < 1e6 && x == rint(x)) {
        qdq_buf_printf(out, "%s%d.0", signbit(x) ? "-" : "", (int)fabs(x));
        return;
    }
    (void)qdq_elem_put_float(e, want, 0, x);
    for (; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (qdq_elem_put_float(e, got, 0, strtod(text, NULL)) &&
            memcmp(want, got, sizeof want) == 0)
            break;
    }
    plain_point(text);
    qdq_buf_puts(out, text);
    if (with_point && strpbrk(text, ".e") == NULL)
        qdq_buf_puts(out, ".0");
}

static void print_element(qdq_buf *out, const qdq_tensor *t, const void *data, int64_t i)
{
    if (t->elem == QDQ_DOUBLE || t->elem == QDQ_COMPLEX128) {
        double x;

        memcpy(&x, (const unsigned char *)data + (size_t)i * sizeof x, sizeof x);
        print_float(out, QDQ_DOUBLE, x, false);
    } else if (t->elem == QDQ_FLOAT || t->elem == QDQ_COMPLEX64) {
        print_float(out, QDQ_FLOAT, (double)qdq_elem_float(QDQ_FLOAT, data, i), false);
    } else if (t->elem == QDQ_UINT64) {
        qdq_buf_printf(out, "%" PRIu64, (uint64_t)qdq_elem_int(t->elem, data, i));
    } else if (qdq_elem_is_int(t->elem)) {
        qdq_buf_printf(out, "%" PRId64, qdq_elem_int(t->elem, data, i));
    } else { /* with a point: in these types ONNX takes a plain integer for the bits */
        print_float(out, t->elem, (double)qdq_elem_float(t->elem, data, i), true);
    }
}

static qdq_status print_elements(qdq_literals *l, const qdq_tensor *t, qdq_error *err)
{
    int64_t n = t->count;
    qdq_span data;

    if (t->storage == QDQ_STORE_STRINGS) {
        for (int64_t i = 0; i < n; i++) {
            qdq_buf_puts(l->out, i > 0 ? ", " : "");
            qdq_print_string(l->out, (const char *)t->strings[i].data, t->strings[i].size);
        }
        return QDQ_OK;
    }
    QDQ_TRY(qdq_tensor_data(t, &l->scratch, &data, err));
    if (t->elem == QDQ_COMPLEX64 || t->elem == QDQ_COMPLEX128)
        n *= 2;
    for (int64_t i = 0; i < n; i++) {
        qdq_buf_puts(l->out, i > 0 ? ", " : "");
        print_element(l->out, t, data.data, i);
    }
    return QDQ_OK;
}

qdq_status qdq_print_tensor_data(qdq_literals *l, const qdq_tensor *t, qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&l->scratch);

    if (t->count > l->max_elements || (qdq_elem_bits(t->elem) == 0 && t->elem != QDQ_STRING)) {
        qdq_buf_puts(l->out, "...");
        return QDQ_OK;
    }
    qdq_buf_putc(l->out, '{');
    QDQ_TRY(print_elements(l, t, err));
    qdq_buf_putc(l->out, '}');
    qdq_arena_reset(&l->scratch, mark);
    return QDQ_OK;
}

qdq_status qdq_print_sparse_data(qdq_literals *l, const qdq_sparse *s, qdq_error *err)
{
    const qdq_tensor *part[] = {s->values, s->indices};

    qdq_buf_putc(l->out, '{');
    for (size_t i = 0; i < QDQ_COUNT(part); i++) {
        qdq_buf_puts(l->out, i > 0 ? ", " : "");
        qdq_print_tensor_type(l->out, part[i]);
        qdq_buf_putc(l->out, ' ');
        QDQ_TRY(qdq_print_tensor_data(l, part[i], err));
    }
    qdq_buf_putc(l->out, '}');
    return QDQ_OK;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* The value alone tells most types; not that of an empty list, of a reference, or of what reads
 * like a name. */
static bool needs_type(const qdq_attr *a)
{
    qdq_attr_type item = qdq_attr_type_get_info(a->type)->item;

    return item == QDQ_ATTR_UNDEFINED || item == QDQ_ATTR_SPARSE || item == QDQ_ATTR_TYPE ||
           a->ref != NULL || qdq_attr_items(a) == 0 ||
           (item == QDQ_ATTR_FLOAT && !isfinite(*(const float *)qdq_attr_item(a, 0)));
}

void qdq_print_attr_start(qdq_buf *out, const qdq_attr *a)
{
    qdq_print_name(out, a->name);
    if (needs_type(a))
        qdq_buf_printf(out, ": %s", qdq_attr_type_get_info(a->type)->name);
    qdq_buf_puts(out, " = ");
    if (a->ref != NULL) {
        qdq_buf_putc(out, '@');
        qdq_print_name(out, a->ref);
    }
}

static qdq_status print_tensor(qdq_literals *l, const qdq_tensor *t, qdq_error *err)
{
    qdq_print_tensor_type(l->out, t);
    qdq_buf_putc(l->out, ' ');
    if (t->name[0] != '\0') {
        qdq_print_name(l->out, t->name);
        qdq_buf_putc(l->out, ' ');
    }
    return qdq_print_tensor_data(l, t, err);
}

static qdq_status print_sparse(qdq_literals *l, const qdq_sparse *s, qdq_error *err)
{
    qdq_print_sparse_type(l->out, s);
    qdq_buf_putc(l->out, ' ');
    return qdq_print_sparse_data(l, s, err);
}

static qdq_status print_item(qdq_literals *l, const qdq_attr *a, const void *item, qdq_error *err)
{
    switch ((int)qdq_attr_type_get_info(a->type)->item) {
    case QDQ_ATTR_FLOAT:
        print_float(l->out, QDQ_FLOAT, (double)*(const float *)item, true);
        return QDQ_OK;
    case QDQ_ATTR_INT:
        qdq_buf_printf(l->out, "%" PRId64, *(const int64_t *)item);
        return QDQ_OK;
    case QDQ_ATTR_STRING:
        qdq_print_string(l->out, (const char *)((const qdq_span *)item)->data,
                         ((const qdq_span *)item)->size);
        return QDQ_OK;
    case QDQ_ATTR_TENSOR:
        return print_tensor(l, *(const qdq_tensor *const *)item, err);
    case QDQ_ATTR_SPARSE:
        return print_sparse(l, *(const qdq_sparse *const *)item, err);
    case QDQ_ATTR_TYPE:
        if (qdq_print_type(l->out, *(const qdq_type *const *)item))
            return QDQ_OK;
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "attribute '%s': its type has no text form",
                        a->name);
    }
    return qdq_fail(err, QDQ_E_UNSUPPORTED, "attribute '%s': its value has no text form", a->name);
}

qdq_status qdq_print_attr_value(qdq_literals *l, const qdq_attr *a, qdq_error *err)
{
    if (a->ref != NULL)
        return QDQ_OK;
    if (!qdq_attr_is_list(a))
        return print_item(l, a, qdq_attr_item(a, 0), err);
    qdq_buf_putc(l->out, '[');
    for (size_t i = 0; i < a->count; i++) {
        qdq_buf_puts(l->out, i > 0 ? ", " : "");
        QDQ_TRY(print_item(l, a, qdq_attr_item(a, i), err));
    }
    qdq_buf_putc(l->out, ']');
    return QDQ_OK;
}
