/* context.c - what surrounds a fusion group, as text and as its hash. */
#include "tune/isolate/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/vec.h"
#include "tune/region/signature.h"
#include "tune/space/assign.h"

typedef struct surroundings {
    const qdq_fusions *f;
    uint32_t group;
    qdq_arena scratch;
    qdq_buf text;
    qdq_error *err;
} surroundings;

static bool is_inside(const surroundings *s, const qdq_node *n)
{
    return n->graph == s->f->g.g && s->f->of[n->id] == s->group;
}

static void put_type(qdq_buf *b, const qdq_value *v)
{
    const qdq_type *type = v->type;

    if (type == NULL) {
        qdq_buf_printf(b, "?");
        return;
    }
    qdq_buf_printf(b, "%d", (int)type->elem);
    for (int d = 0; d < type->rank; d++)
        qdq_buf_printf(b, ",%lld", (long long)type->dim[d].value);
}

static qdq_status put_giver(surroundings *s, const qdq_value *v)
{
    const char *head = v->producer != NULL ? qdq_signature_head(v->producer, &s->scratch) : "input";

    QDQ_NEED(head != NULL, s->err);
    qdq_buf_printf(&s->text, "<%s:", head);
    put_type(&s->text, v);
    return QDQ_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Readers have no order of their own. */
static qdq_status put_readers(surroundings *s, const qdq_value *v)
{
    QDQ_VEC(const char *) readers = {0};

    QDQ_FOR_USES (u, v) {
        const qdq_node *n = qdq_region_reader(s->f->g.g, u);
        if (n == NULL || is_inside(s, n))
            continue;
        const char *head = qdq_signature_head(n, &s->scratch);
        const char *text = head != NULL ? qdq_arena_printf(&s->scratch, ">%s.%u", head,
                                                           u->node == n ? u->index : 0)
                                        : NULL;
        QDQ_NEED(text != NULL && QDQ_PUSH(&s->scratch, &readers, text), s->err);
    }
    if (readers.n > 0)
        qsort(readers.at, readers.n, sizeof *readers.at, compare_texts);
    for (size_t i = 0; i < readers.n; i++)
        qdq_buf_printf(&s->text, "%s", readers.at[i]);
    if (v->n_output > 0)
        qdq_buf_printf(&s->text, ">output");
    return QDQ_OK;
}

static qdq_status put_node(surroundings *s, const qdq_node *n, const uint32_t *input)
{
    for (uint32_t k = 0; k < n->n_in; k++) {
        const qdq_value *v = qdq_node_in(n, input[k]);
        if (v == NULL || qdq_region_is_const(v) ||
            (v->producer != NULL && is_inside(s, v->producer)))
            continue;
        qdq_buf_printf(&s->text, " %u", k);
        QDQ_TRY(put_giver(s, v));
    }
    for (uint32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != NULL)
            QDQ_TRY(put_readers(s, n->out[k]));
    qdq_buf_printf(&s->text, ";");
    return s->text.failed ? qdq_nomem(s->err) : QDQ_OK;
}

qdq_status qdq_group_context(const qdq_fusions *f, const qdq_key_instance *i, uint32_t n_nodes,
                             char text[33], qdq_error *err)
{
    surroundings s = {.f = f,
                      .group = i->group,
                      .scratch = QDQ_ARENA_INIT,
                      .text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT),
                      .err = err};
    qdq_status st = QDQ_OK;

    for (uint32_t k = 0; k < n_nodes && st == QDQ_OK; k++)
        st = put_node(&s, i->node[k], i->input[k]);
    if (st == QDQ_OK)
        qdq_digits_of(s.text.data, s.text.size, text);
    qdq_buf_free(&s.text);
    qdq_arena_free(&s.scratch);
    return st;
}
