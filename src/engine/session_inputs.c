/* session_inputs.c - checks arrays against a session's inputs before an engine sees them: engines
 * report such errors late, each in its own words, or not at all. */
#include "engine/session_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"

static void append_dim(char *text, size_t size, int axis, int64_t dim, const char *param)
{
    const char *x = axis > 0 ? "x" : "";

    if (dim >= 0)
        qdq_text_add(text, size, "%s%" PRId64, x, dim);
    else
        qdq_text_add(text, size, "%s%s", x, param != NULL && param[0] != '\0' ? param : "?");
}

const char *qdq_io_shape_text(const qdq_io *io, char *text, size_t size)
{
    snprintf(text, size, "%s", io->rank < 0 ? "?" : io->rank == 0 ? "scalar" : "");
    for (int a = 0; a < io->rank; a++)
        append_dim(text, size, a, io->dim[a], io->param[a]);
    return text;
}

const char *qdq_input_shape_text(const qdq_array *a, char *text, size_t size)
{
    snprintf(text, size, "%s", a->rank == 0 ? "scalar" : "");
    for (int i = 0; i < a->rank; i++)
        append_dim(text, size, i, a->dim[i], NULL);
    return text;
}

/* "x, mask": the names of the inputs, for messages. */
static const char *input_names(const qdq_session *s, qdq_buf *b)
{
    for (size_t i = 0; i < s->n_in; i++)
        qdq_buf_printf(b, "%s'%s'", i > 0 ? ", " : "", s->in[i].name);
    return b->failed ? "too many to list" : b->data != NULL ? b->data : "none";
}

static qdq_status check_shape(const qdq_io *io, const qdq_array *a, qdq_error *err)
{
    char want[200], got[200];
    bool fits = io->rank < 0 || io->rank == a->rank;

    for (int i = 0; fits && i < io->rank; i++)
        fits = io->dim[i] < 0 || io->dim[i] == a->dim[i];
    if (!fits)
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' has shape %s: expected %s", io->name,
                        qdq_input_shape_text(a, got, sizeof got),
                        qdq_io_shape_text(io, want, sizeof want));
    return QDQ_OK;
}

static qdq_status check_array(const qdq_io *io, const qdq_array *a, qdq_error *err)
{
    size_t bytes;

    if (io->elem == QDQ_STRING || a->elem == QDQ_STRING)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s' is of strings: expected numbers",
                        io->name);
    if (io->elem == QDQ_UNDEFINED)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s' is not a tensor: expected tensors only",
                        io->name);
    if (qdq_elem_name(a->elem) == NULL || a->elem != io->elem) {
        const char *got = qdq_elem_name(a->elem);
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' is %s: expected %s", io->name,
                        got ? got : "of no type", qdq_elem_name(io->elem));
    }
    if (a->rank < 0 || a->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' has rank %d: expected 0 to %d", io->name,
                        a->rank, QDQ_MAX_RANK);
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] < 0 || (a->dim[i] > 0 && count > INT64_MAX / a->dim[i]))
            return qdq_fail(err, QDQ_E_USAGE, "input '%s' has dim %" PRId64 " at axis %d", io->name,
                            a->dim[i], i);
        count *= a->dim[i];
    }
    QDQ_TRY(check_shape(io, a, err));
    if (!qdq_elem_bytes(a->elem, count, &bytes) || bytes != a->bytes ||
        (a->data == NULL && bytes > 0))
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' has %zu bytes of data: its shape needs %zu",
                        io->name, a->data != NULL ? a->bytes : 0, bytes);
    return QDQ_OK;
}

static qdq_status order(const qdq_session *s, const qdq_named_array *in, size_t n_in,
                        const qdq_array **out, qdq_error *err)
{
    qdq_buf names = QDQ_BUF_INIT(600);
    /* mostly they come in the session's order: each is looked for behind the one before */
    size_t i = 0;

    for (size_t k = 0; k < n_in; k++) {
        size_t tried = 0;

        for (; tried < s->n_in; tried++, i++) {
            i = i < s->n_in ? i : 0;
            if (in[k].name != NULL && strcmp(s->in[i].name, in[k].name) == 0)
                break;
        }
        if (tried == s->n_in) {
            qdq_fail(err, QDQ_E_USAGE, "no input is named '%s': the inputs are %s",
                     in[k].name ? in[k].name : "", input_names(s, &names));
            qdq_buf_free(&names);
            return QDQ_E_USAGE;
        }
        if (out[i] != NULL)
            return qdq_fail(err, QDQ_E_USAGE, "input '%s' is given twice", in[k].name);
        QDQ_TRY(check_array(&s->in[i], &in[k].array, err));
        out[i] = &in[k].array;
    }
    for (i = 0; i < s->n_in; i++)
        if (out[i] == NULL)
            return qdq_fail(err, QDQ_E_USAGE, "input '%s' is missing: all %zu inputs are needed",
                            s->in[i].name, s->n_in);
    return QDQ_OK;
}

qdq_status qdq_session_order_inputs(const qdq_session *s, const qdq_named_array *in, size_t n_in,
                                    const qdq_array ***out, qdq_error *err)
{
    const qdq_array **ordered = calloc(s->n_in + 1, sizeof *ordered);

    *out = NULL;
    QDQ_NEED(ordered != NULL, err);
    qdq_status st = order(s, in, n_in, ordered, err);
    return QDQ_HAND_OVER(ordered, st, out, free);
}
