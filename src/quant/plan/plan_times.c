/* plan_times.c - reads and writes the key `times` of a plan. */
#include "quant/plan/plan_times.h"

#include <string.h>

#include "base/json_write.h"

bool qdq_plan_set_times(qdq_plan *p, const qdq_plan_times *t)
{
    qdq_plan_times *to = &p->times;

    *to = (qdq_plan_times){.trials = t->trials,
                           .other_trials = t->other_trials,
                           .float_us = t->float_us,
                           .eight_us = t->eight_us};
    to->processor = qdq_arena_strdup(&p->arena, t->processor);
    to->target = qdq_arena_strdup(&p->arena, t->target);
    to->target_sha256 = qdq_arena_strdup(&p->arena, t->target_sha256);
    for (size_t i = 0; i < t->layers.n; i++) {
        qdq_layer_time entry = t->layers.at[i];

        entry.node = qdq_arena_strdup(&p->arena, entry.node);
        if (entry.node == NULL || !QDQ_PUSH(&p->arena, &to->layers, entry))
            return false;
    }
    for (size_t i = 0; i < t->timed.n; i++)
        if (!QDQ_PUSH(&p->arena, &to->timed, t->timed.at[i]))
            return false;
    return to->processor != NULL && to->target != NULL && to->target_sha256 != NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

void qdq_plan_put_json(qdq_buf *b, json_t *j)
{
    if (j == NULL || !qdq_json_put_line(b, j))
        b->failed = true;
    json_decref(j);
}

static void put_layer(qdq_buf *b, const qdq_layer_time *l)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);
    bool any = false;

    qdq_json_put_text(o, "node", l->node);
    qdq_json_put_real(o, "float_us", l->float_us);
    qdq_json_put_real(o, "quantized_us", l->eight_us);
    for (int k = 0; k < QDQ_MOST_FORMS; k++)
        any |= l->other_us[k] > 0;
    if (any) {
        qdq_json_out other = qdq_json_put_list(o, "other_us");

        for (int k = 0; k < QDQ_MOST_FORMS; k++)
            qdq_json_put_real(other, NULL, l->other_us[k]);
    }
    qdq_json_finish_line(&doc, b);
}

static void put_timed(qdq_buf *b, const qdq_trial_time *t)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);

    qdq_json_put_int(o, "trial", t->trial);
    qdq_json_put_real(o, "us", t->us);
    qdq_json_finish_line(&doc, b);
}

void qdq_plan_put_times(qdq_buf *b, const qdq_plan_times *t)
{
    qdq_buf_puts(b, "  \"times\": {\"processor\": ");
    qdq_plan_put_json(b, qdq_json_new_text(t->processor));
    qdq_buf_puts(b, ", \"target\": ");
    qdq_plan_put_json(b, qdq_json_new_text(t->target));
    qdq_buf_printf(b,
                   ", \"target_sha256\": \"%s\", \"trials\": %u, \"float_us\": ", t->target_sha256,
                   t->trials);
    qdq_plan_put_json(b, json_real(t->float_us));
    if (t->other_trials > 0)
        qdq_buf_printf(b, ", \"other_trials\": %u", t->other_trials);
    qdq_buf_puts(b, ", \"quantized_us\": ");
    qdq_plan_put_json(b, json_real(t->eight_us));
    qdq_buf_puts(b, ", \"layers\": [");
    for (size_t i = 0; i < t->layers.n; i++) {
        qdq_buf_puts(b, i == 0 ? "\n    " : ",\n    ");
        put_layer(b, &t->layers.at[i]);
    }
    qdq_buf_puts(b, t->layers.n > 0 ? "\n  ]" : "]");
    for (size_t i = 0; i < t->timed.n; i++) {
        qdq_buf_puts(b, i == 0 ? ", \"timed\": [" : ", ");
        put_timed(b, &t->timed.at[i]);
    }
    qdq_buf_puts(b, t->timed.n > 0 ? "]},\n" : "},\n");
}

/* --- reading ---------------------------------------------------------------------------------- */

static const double most_us = 1e12;
enum { most_trials = 100000 };

static const char *read_hash(const qdq_json_place *p)
{
    const char *hash = qdq_json_text(p, "target_sha256", NULL);

    if (strlen(hash) != 64 || strspn(hash, "0123456789abcdef") != 64)
        qdq_json_wrong(p, "target_sha256", "64 hexadecimal digits");
    return hash;
}

static void read_others(const qdq_json_place *p, qdq_layer_time *l)
{
    const json_t *list = json_object_get(p->object, "other_us");

    if (list == NULL)
        return;
    if (!json_is_array(list) || json_array_size(list) != QDQ_MOST_FORMS) {
        qdq_json_wrong(p, "other_us", "a list of 2 numbers");
        return;
    }
    for (int k = 0; k < QDQ_MOST_FORMS; k++) {
        const json_t *us = json_array_get(list, (size_t)k);

        l->other_us[k] = json_number_value(us);
        if (!json_is_number(us) || !(l->other_us[k] >= 0 && l->other_us[k] <= most_us))
            qdq_json_wrong(p, "other_us", "numbers from 0 to 1e12");
    }
}

static void read_layer(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_layer_time l = {0};

    QDQ_JSON_KNOWN(p, "node", "float_us", "quantized_us", "other_us");
    l.node = qdq_json_text(p, "node", NULL);
    l.float_us = qdq_json_number(p, "float_us", 0, most_us, -1);
    l.eight_us = qdq_json_number(p, "quantized_us", 0, most_us, -1);
    read_others(p, &l);
    if (!QDQ_PUSH(&plan->arena, &plan->times.layers, l))
        qdq_json_nomem(p);
}

static void read_timed(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_trial_time t;

    QDQ_JSON_KNOWN(p, "trial", "us");
    t.trial = (unsigned)qdq_json_int(p, "trial", 1, most_trials, -1);
    t.us = qdq_json_number(p, "us", 0, most_us, -1);
    if (!QDQ_PUSH(&plan->arena, &plan->times.timed, t))
        qdq_json_nomem(p);
}

void qdq_plan_read_times(qdq_plan *plan, const qdq_json_place *top)
{
    qdq_plan_times *t = &plan->times;
    qdq_json_place p, item;

    if (!qdq_json_member(top, "times", &p))
        return;
    QDQ_JSON_KNOWN(&p, "processor", "target", "target_sha256", "trials", "float_us", "quantized_us",
                   "layers", "timed", "other_trials");
    t->processor = qdq_json_text(&p, "processor", NULL);
    t->target = qdq_json_text(&p, "target", NULL);
    t->target_sha256 = read_hash(&p);
    t->trials = (unsigned)qdq_json_int(&p, "trials", 1, most_trials, 1);
    t->other_trials = (unsigned)qdq_json_int(&p, "other_trials", 0, most_trials, 0);
    t->float_us = qdq_json_number(&p, "float_us", 0, most_us, 0);
    t->eight_us = qdq_json_number(&p, "quantized_us", 0, most_us, 0);
    for (size_t i = 0; qdq_json_item(&p, "layers", i, &item); i++)
        read_layer(plan, &item);
    for (size_t i = 0; qdq_json_item(&p, "timed", i, &item); i++)
        read_timed(plan, &item);
    if (t->layers.n > 0 && t->float_us <= 0)
        qdq_json_wrong(&p, "float_us", "a number above 0, as there are times of layers");
}
