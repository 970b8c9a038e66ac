/* probe_model.c - parameters filled in, weights made, and the model verified. */
#include "tune/probe/probe_model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/random.h"
#include "ir/edit.h"
#include "qdq/model.h"

/* --- parameters ------------------------------------------------------------------------------- */

static const qdq_probe_value *find_value(const qdq_probe_size *size, const char *name,
                                         size_t length)
{
    for (size_t i = 0; i < size->n; i++)
        if (strlen(size->value[i].name) == length &&
            strncmp(size->value[i].name, name, length) == 0)
            return &size->value[i];
    return NULL;
}

/* The text with the values of its parameters. */
static qdq_status fill_in(const char *text, const qdq_probe_size *size, qdq_buf *out,
                          qdq_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

    for (const char *at = text, *next; *at != '\0'; at = next) {
        const size_t plain = strcspn(at, "$");

        qdq_buf_append(out, at, plain);
        next = at + plain;
        if (*next == '\0')
            break;
        const size_t length = strspn(++next, letters);
        const qdq_probe_value *v = find_value(size, next, length);
        if (v == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "parameter '$%.*s' has no value in 'sizes'",
                            (int)length, next);
        qdq_buf_printf(out, "%" PRId64, v->value);
        next += length;
    }
    return QDQ_OK;
}

/* --- weights ---------------------------------------------------------------------------------- */

static bool is_weight(const qdq_value *v)
{
    return v->producer == NULL && !v->is_input && qdq_value_const(v) == NULL && v->type != NULL &&
           v->n_use > 0;
}

static qdq_status add_weight(qdq_model *m, qdq_value *v, uint64_t seed, qdq_error *err)
{
    int64_t dim[QDQ_MAX_RANK];
    int rank;
    void *data = NULL;

    if (v->type->kind != QDQ_TYPE_TENSOR || v->type->elem != QDQ_FLOAT ||
        !qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK))
        return qdq_fail(err, QDQ_E_FORMAT, "weight '%s': expected float, with fixed dims", v->name);
    qdq_tensor *t = qdq_tensor_new(m, QDQ_FLOAT, rank, dim, &data);
    QDQ_NEED(t != NULL, err);
    const int64_t terms = rank > 1 && dim[0] > 0 ? t->count / dim[0] : 1;
    const float scale = 1 / sqrtf((float)(terms > 0 ? terms : 1));
    qdq_random r = qdq_random_new(seed, v->name);
    for (int64_t i = 0; i < t->count; i++)
        ((float *)data)[i] = scale * qdq_random_normal(&r);
    return qdq_value_set_init(v, t) ? QDQ_OK : qdq_nomem(err);
}

/* They are found by who reads them. */
static qdq_status add_weights(qdq_model *m, uint64_t seed, qdq_error *err)
{
    QDQ_FOR_NODES (n, m->graph)
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i].value != NULL && is_weight(n->in[i].value))
                QDQ_TRY(add_weight(m, n->in[i].value, seed, err));
    return QDQ_OK;
}

/* --- model ------------------------------------------------------------------------------------ */

static qdq_status verify_model(const qdq_model *m, qdq_error *err)
{
    qdq_finding *f = NULL;
    size_t n = 0;
    qdq_status st = qdq_model_check(m, &f, &n, err);

    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        if (f[i].is_error)
            st = qdq_fail(err, QDQ_E_FORMAT, "%s", f[i].text);
    qdq_free(f);
    return st;
}

qdq_status qdq_probe_make_model(const qdq_probe *p, const qdq_probe_size *size, uint64_t seed,
                                qdq_model **out, qdq_error *err)
{
    qdq_buf text = QDQ_BUF_INIT(1 << 20);
    qdq_model *m = NULL;

    *out = NULL;
    qdq_status st = fill_in(p->graph, size, &text, err);
    if (st == QDQ_OK && text.failed)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_model_from_text(text.data != NULL ? text.data : "", "graph", &m, err);
    if (st == QDQ_OK)
        st = add_weights(m, seed, err);
    if (st == QDQ_OK)
        st = qdq_model_infer_shapes(m, err);
    if (st == QDQ_OK)
        st = verify_model(m, err);
    qdq_buf_free(&text);
    if (st != QDQ_OK)
        st = qdq_within(err, st, "%s[%zu].probe[%zu]", p->list, p->index, p->number);
    return QDQ_HAND_OVER(m, st, out, qdq_model_free);
}
