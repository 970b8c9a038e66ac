/* probe_target.c - the description of a target, changed by what probes say. */
#include "tune/probe/probe_target.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "base/words.h"

static json_t *rule_of(const json_t *root, const qdq_probe *p)
{
    return json_array_get(json_object_get(root, p->list), p->index);
}

/* NULL: the probe has no such key. */
static json_t *side_of(const json_t *rule, const qdq_probe *p, const char *side)
{
    return json_object_get(json_array_get(json_object_get(rule, "probe"), p->number), side);
}

static qdq_status copy_keys(json_t *rule, const json_t *side, qdq_error *err)
{
    json_t *copy = json_deep_copy(side);

    if (side == NULL)
        return QDQ_OK;
    const int bad = copy == NULL || json_object_update(rule, copy) != 0;
    json_decref(copy);
    return bad ? qdq_nomem(err) : QDQ_OK;
}

static qdq_status switch_off(json_t *rule, qdq_error *err)
{
    return json_object_set_new(rule, "off", json_true()) == 0 ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_probe_apply(json_t *root, const qdq_probe *p, bool pays, qdq_error *err)
{
    json_t *rule = rule_of(root, p);

    if (side_of(rule, p, "without") != NULL)
        return copy_keys(rule, side_of(rule, p, pays ? "with" : "without"), err);
    if (!pays)
        return switch_off(rule, err);
    json_object_del(rule, "off");
    json_object_del(rule, "cpu");
    return QDQ_OK;
}

qdq_status qdq_probe_apply_threshold(json_t *root, const qdq_probe *p, int64_t value,
                                     qdq_error *err)
{
    json_t *rule = rule_of(root, p);

    QDQ_TRY(qdq_probe_apply(root, p, true, err));
    return json_object_set_new(rule, p->threshold, json_integer(value)) == 0 ? QDQ_OK
                                                                             : qdq_nomem(err);
}

/* --- sides ------------------------------------------------------------------------------------ */

static bool is_beside(const qdq_probe *p, const char *rule)
{
    return rule != NULL && qdq_word_is_in(rule, p->beside);
}

/* Rules that are measured by themselves do not decide here, and the neighbours run in 8 bits even
 * where that is slower: a rule that moves their codes would be the same without it. */
static qdq_status set_others(json_t *root, const json_t *own, const qdq_probe *p, qdq_error *err)
{
    json_t *rule;
    size_t i;

    json_array_foreach(json_object_get(root, "stay_float"), i, rule)
    {
        if (rule == own || json_object_get(rule, "probe") == NULL)
            continue;
        if (!is_beside(p, json_string_value(json_object_get(rule, "rule")))) {
            QDQ_TRY(switch_off(rule, err));
            continue;
        }
        json_object_del(rule, "off");
        json_object_del(rule, "cpu");
    }
    json_array_foreach(json_object_get(root, "operators"), i, rule) json_object_del(rule, "cpu");
    return QDQ_OK;
}

static qdq_status make_side(json_t *root, const qdq_probe *p, bool with, qdq_error *err)
{
    json_t *rule = rule_of(root, p);

    QDQ_TRY(set_others(root, rule, p, err));
    json_object_del(rule, "off");
    json_object_del(rule, "cpu");
    QDQ_TRY(qdq_probe_apply(root, p, with, err));
    if (p->threshold != NULL) { /* and what has no meaning without island_work_max */
        json_object_del(rule, p->threshold);
        json_object_del(rule, "fused_in_float");
        json_object_del(rule, "fused_in_float_counts");
    }
    return QDQ_OK;
}

/* The model quantizes its data while it runs. */
static const qdq_target_change run_time_data[] = {
    {"activation.type", "float"}, {"weight.store", "dynamic"}, {"bias.type", "float"}};

qdq_status qdq_probe_side(const qdq_target *t, const qdq_probe *p, bool with, qdq_target **out,
                          qdq_error *err)
{
    json_t *root = NULL;
    char *text = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(t->text, strlen(t->text), t->name, &root, err));
    qdq_status st = make_side(root, p, with, err);
    if (st == QDQ_OK)
        st = qdq_json_dump(root, &text, err);
    json_decref(root);
    if (st == QDQ_OK)
        st = qdq_target_parse(text, strlen(text), t->name, out, err);
    qdq_free(text);
    if (st == QDQ_OK && p->dynamic)
        st = qdq_target_set_all(*out, run_time_data, QDQ_COUNT(run_time_data), err);
    return QDQ_HAND_OVER(*out, st, out, qdq_target_free);
}

/* --- what a probe is about -------------------------------------------------------------------- */

static const char *first_key(const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        (void)value;
        return key;
    }
    return "off";
}

const char *qdq_probe_key(const json_t *root, const qdq_probe *p, qdq_arena *arena)
{
    if (p->threshold != NULL)
        return p->threshold;
    return qdq_arena_strdup(arena, first_key(side_of(rule_of(root, p), p, "without")));
}

const char *qdq_probe_value_now(const json_t *root, const qdq_probe *p, const char *key,
                                qdq_arena *arena)
{
    const json_t *rule = rule_of(root, p), *value = json_object_get(rule, key);
    qdq_buf b = QDQ_BUF_INIT(1 << 16);

    if (json_is_true(json_object_get(rule, "off")))
        return "off";
    if (strcmp(key, "off") == 0)
        return p->for_accuracy ? "on, for accuracy" : "on";
    if (value == NULL)
        return p->threshold != NULL ? "any" : "-";
    if (json_is_string(value))
        return qdq_arena_strdup(arena, json_string_value(value));
    const bool ok = qdq_json_put_line(&b, value) && !b.failed;
    const char *text = ok ? qdq_arena_strndup(arena, b.data, b.size) : NULL;
    qdq_buf_free(&b);
    return text;
}

bool qdq_probe_holds_now(const json_t *root, const qdq_probe *p, int64_t at)
{
    const json_t *rule = rule_of(root, p);
    const json_t *max = p->threshold != NULL ? json_object_get(rule, p->threshold) : NULL;

    if (json_is_true(json_object_get(rule, "off")))
        return false;
    return max == NULL || json_integer_value(max) == 0 || at <= json_integer_value(max);
}

/* --- figures ---------------------------------------------------------------------------------- */

static bool is_text(const json_t *object, const char *key, const char *want, const char *absent)
{
    const char *text = json_string_value(json_object_get(object, key));

    return strcmp(text != NULL ? text : absent, want) == 0;
}

/* Were these figures measured as m was? Then m replaces them. */
static bool is_older(const json_t *f, const qdq_measured *m)
{
    return is_text(f, "engine", m->engine, "") && is_text(f, "version", m->version, "") &&
           is_text(f, "processor", m->processor, "") && is_text(f, "probe", m->probe, "") &&
           is_text(f, "key", m->key, "off");
}

/* Three digits behind the point are more than a clock knows. */
static json_t *figure(double x)
{
    char text[40];

    snprintf(text, sizeof text, "%.4f", x);
    return json_loads(text, JSON_DECODE_ANY, NULL);
}

static json_t *figures(const qdq_measured *m)
{
    qdq_json_doc d = {0};
    qdq_json_out f = qdq_json_object(&d), interval;

    qdq_json_put_text(f, "verdict", qdq_rule_verdict_name(m->verdict));
    if (m->probe[0] != '\0')
        qdq_json_put_text(f, "probe", m->probe);
    if (strcmp(m->key, "off") != 0)
        qdq_json_put_text(f, "key", m->key);
    if (m->at != 0)
        qdq_json_put_int(f, "at", m->at);
    qdq_json_put(f, "factor", figure(m->factor));
    interval = qdq_json_put_list(f, "interval");
    qdq_json_put(interval, NULL, figure(m->low));
    qdq_json_put(interval, NULL, figure(m->high));
    qdq_json_put_text(f, "engine", m->engine);
    qdq_json_put_text(f, "version", m->version);
    qdq_json_put_text(f, "processor", m->processor);
    return qdq_json_take(&d);
}

qdq_status qdq_probe_put_figures(json_t *root, const qdq_probe *p, const qdq_measured *m, size_t n,
                                 qdq_error *err)
{
    json_t *rule = rule_of(root, p), *list = json_object_get(rule, "measured");

    if (list == NULL && json_object_set_new(rule, "measured", json_array()) == 0)
        list = json_object_get(rule, "measured");
    QDQ_NEED(list != NULL, err);
    for (size_t i = json_array_size(list); n > 0 && i-- > 0;)
        if (is_older(json_array_get(list, i), &m[0]))
            json_array_remove(list, i);
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, figures(&m[i])) != 0)
            return qdq_nomem(err);
    return QDQ_OK;
}
