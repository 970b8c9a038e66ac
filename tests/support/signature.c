/* signature.c - see the header. Knows no test framework: fuzz targets use it, too. */
#include "support/signature.h"

#include <string.h>

#include "base/buf.h"
#include "ir/ir.h"

static void write_dims(qdq_buf *b, const qdq_type *t)
{
    for (int i = 0; i < t->rank; i++)
        qdq_buf_printf(b, " %lld/%s", (long long)t->dim[i].value,
                       t->dim[i].param != NULL ? t->dim[i].param : "");
}

static void write_value(qdq_buf *b, const char *what, const qdq_value *v)
{
    qdq_buf_printf(b, "%s '%s'", what, v->name);
    for (const qdq_type *t = v->type; t != NULL; t = t->inner) {
        qdq_buf_printf(b, " kind %d elem %d rank %d:", (int)t->kind, (int)t->elem, t->rank);
        write_dims(b, t);
    }
    qdq_buf_puts(b, "\n");
}

char *test_signature(const qdq_model *m)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < m->graph->inputs.n; i++)
        if (m->ir_version >= 4 || m->graph->inputs.at[i]->init == NULL)
            write_value(&b, m->graph->inputs.at[i]->init != NULL ? "default of" : "input",
                        m->graph->inputs.at[i]);
    for (size_t i = 0; i < m->graph->outputs.n; i++)
        write_value(&b, "output", m->graph->outputs.at[i]);
    char *text = qdq_buf_take(&b);
    qdq_buf_free(&b);
    return text;
}

bool test_same_signature(const char *before, const char *after)
{
    while (*before != '\0' && *after != '\0') {
        size_t n = strcspn(before, "\n"), m = strcspn(after, "\n");
        bool got_type = m > n && after[n] == ' ' && before[n - 1] == '\'';

        if (memcmp(before, after, n < m ? n : m) != 0 || (n != m && !got_type))
            return false;
        before += n + 1;
        after += m + 1;
    }
    return *before == *after;
}
