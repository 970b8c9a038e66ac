/* opt_report.c - what a pipeline did, as data of its own, and as lines of text that changed. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "ir/text.h"
#include "opt/opt_state.h"

typedef struct full_report {
    /* first: callers see only this */
    qdq_optimize_report report;
    qdq_arena memory;
} full_report;

void qdq_optimize_report_free(qdq_optimize_report *r)
{
    full_report *full = (full_report *)(void *)r;

    if (full == NULL)
        return;
    qdq_arena_free(&full->memory);
    free(full);
}

static bool copy_refusals(qdq_arena *memory, const qdq_step_record *r, qdq_pass_report *out)
{
    qdq_refusal *list = qdq_arena_array(memory, r->refusals.n + 1, sizeof *list);

    if (list == NULL)
        return false;
    for (size_t i = 0; i < r->refusals.n; i++) {
        const qdq_refusal_record *from = &r->refusals.at[i];
        const char **examples = qdq_arena_array(memory, QDQ_REFUSAL_EXAMPLES, sizeof *examples);

        if (examples == NULL || (list[i].reason = qdq_arena_strdup(memory, from->reason)) == NULL)
            return false;
        for (size_t k = 0; k < from->n_examples; k++)
            if ((examples[k] = qdq_arena_strdup(memory, from->example[k])) == NULL)
                return false;
        list[i].n = from->n;
        list[i].examples = examples;
        list[i].n_examples = from->n_examples;
    }
    out->refusals = list;
    out->n_refusals = r->refusals.n;
    return true;
}

static bool copy_steps(const qdq_opt_state *s, full_report *full)
{
    qdq_pass_report *list = qdq_arena_array(&full->memory, s->pipeline.n + 1, sizeof *list);

    if (list == NULL)
        return false;
    for (size_t i = 0; i < s->pipeline.n; i++) {
        const qdq_step_record *r = &s->record[i];

        list[i].pass = s->pipeline.step[i].pass->name;
        list[i].changes = r->changes;
        list[i].nodes = r->nodes;
        list[i].bytes = r->bytes;
        list[i].seconds = r->seconds;
        if (!copy_refusals(&full->memory, r, &list[i]))
            return false;
    }
    full->report.passes = list;
    full->report.n_passes = s->pipeline.n;
    return true;
}

qdq_status qdq_opt_report(qdq_opt *o, bool settled, int rounds, qdq_optimize_report **out,
                          qdq_error *err)
{
    const qdq_opt_state *s = o->state;
    qdq_model_count after = qdq_opt_count(o->model);
    full_report *full = calloc(1, sizeof *full);

    if (full == NULL || !copy_steps(s, full)) {
        qdq_optimize_report_free(full != NULL ? &full->report : NULL);
        return qdq_nomem(err);
    }
    qdq_optimize_report *r = &full->report;
    r->rounds = rounds;
    r->settled =
        settled && (o->opts->max_applications == 0 || s->changes < o->opts->max_applications);
    r->changes = s->changes;
    r->nodes_before = s->before.nodes;
    r->nodes_after = after.nodes;
    r->bytes_before = s->before.bytes;
    r->bytes_after = after.bytes;
    r->q_before = s->before.q;
    r->q_after = after.q;
    r->dq_before = s->before.dq;
    r->dq_after = after.dq;
    r->seconds = qdq_clock_seconds() - s->start;
    *out = r;
    return QDQ_OK;
}

/* --- changed lines -------------------------------------------------------------------------------
 *
 * Nodes are one line each in the text form, and keep their order: which lines are new or gone is
 * what a reader wants to know. Counted, because two nodes without outputs may look the same. */

static qdq_status count_lines(qdq_map *counts, const char *text, int step, qdq_error *err)
{
    for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        qdq_map_value *v = qdq_map_put_n(counts, text, n, NULL);
        QDQ_NEED(v != NULL, err);
        v->num += (uint64_t)step;
    }
    return QDQ_OK;
}

/* Lines of `text` that still count `sign`, each as often as it does. */
static void print_lines(qdq_buf *out, qdq_map *counts, const char *text, int sign)
{
    for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        qdq_map_value *v = qdq_map_get_n(counts, text, n);
        if (v == NULL || (int64_t)v->num * sign <= 0)
            continue;
        v->num -= (uint64_t)sign;
        qdq_buf_putc(out, sign > 0 ? '+' : '-');
        qdq_buf_append(out, text, n);
        qdq_buf_putc(out, '\n');
    }
}

/* Large constants are left out of the lines: nothing reads them, and a model has hundreds of
 * megabytes of them. */
qdq_status qdq_opt_text(const qdq_model *m, char **text, qdq_error *err)
{
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = qdq_text_print(m, NULL, &out, err);

    if (st == QDQ_OK && (*text = qdq_buf_take(&out)) == NULL)
        st = qdq_nomem(err);
    qdq_buf_free(&out);
    return st;
}

qdq_status qdq_opt_report_lines(qdq_opt *o, const char *pass, const char *before, qdq_error *err)
{
    qdq_buf lines = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_map counts = QDQ_MAP_INIT;
    char *after = NULL;
    qdq_status st = qdq_opt_text(o->model, &after, err);

    if (st == QDQ_OK)
        st = count_lines(&counts, before, -1, err);
    if (st == QDQ_OK)
        st = count_lines(&counts, after, 1, err);
    if (st == QDQ_OK) {
        print_lines(&lines, &counts, before, -1);
        print_lines(&lines, &counts, after, 1);
        char *text = qdq_buf_take(&lines);
        if (text == NULL)
            st = qdq_nomem(err);
        else
            o->opts->on_pass(o->opts->ctx, pass, text);
        qdq_free(text);
    }
    qdq_buf_free(&lines);
    qdq_map_free(&counts);
    qdq_free(after);
    return st;
}
