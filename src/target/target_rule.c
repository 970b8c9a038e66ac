/* target_rule.c - reads the common keys of rules in target descriptions. */
#include "target/target_rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/words.h"

static const char *const verdicts[] = {"undecided", "pays", "harms", NULL};

const char *qdq_rule_verdict_name(qdq_rule_verdict v)
{
    return verdicts[v];
}

/* --- figures ---------------------------------------------------------------------------------- */

static void read_interval(const qdq_json_place *p, qdq_measured *m)
{
    const json_t *list = json_object_get(p->object, "interval");
    const json_t *low = json_array_get(list, 0), *high = json_array_get(list, 1);

    if (list == NULL)
        return;
    if (json_array_size(list) != 2 || !json_is_number(low) || !json_is_number(high) ||
        !(json_number_value(low) > 0) || json_number_value(high) < json_number_value(low)) {
        qdq_json_wrong(p, "interval", "a list of two rising numbers above 0");
        return;
    }
    m->low = json_number_value(low);
    m->high = json_number_value(high);
}

static void read_measured(const qdq_json_place *p, qdq_measured *m)
{
    QDQ_JSON_KNOWN(p, "verdict", "factor", "interval", "engine", "version", "key", "processor",
                   "at", "probe");
    m->verdict = (qdq_rule_verdict)qdq_json_word(p, "verdict", verdicts, -1);
    m->factor = qdq_json_number(p, "factor", 1e-9, 1e9, NAN);
    if (isnan(m->factor))
        qdq_json_wrong(p, "factor", "a number above 0");
    read_interval(p, m);
    m->engine = qdq_json_text(p, "engine", NULL);
    m->version = qdq_json_text(p, "version", NULL);
    m->processor = qdq_json_text(p, "processor", NULL);
    m->key = qdq_json_text(p, "key", "off");
    m->at = qdq_json_int(p, "at", 0, INT64_MAX, 0);
    m->probe = qdq_json_text(p, "probe", "");
}

static void read_all_measured(const qdq_json_place *p, qdq_rule_facts *out)
{
    const size_t n = json_array_size(json_object_get(p->object, "measured"));
    qdq_measured *list = qdq_arena_array(p->reader->arena, n + 1, sizeof *list);
    qdq_json_place item;

    if (list == NULL) {
        qdq_json_nomem(p);
        return;
    }
    for (size_t i = 0; qdq_json_item(p, "measured", i, &item); i++)
        read_measured(&item, &list[i]);
    out->measured = list;
    out->n_measured = n;
}

void qdq_rule_read(const qdq_json_place *p, const char *const *keys, qdq_rule_facts *out)
{
    *out = (qdq_rule_facts){.off = qdq_json_bool(p, "off")};
    qdq_json_known(p, keys);
    out->cpu = qdq_json_texts(p, "cpu");
    read_all_measured(p, out);
}

/* Of a processor's name, without its count of cores. */
static size_t name_length(const char *processor)
{
    const char *cores = strrchr(processor, ',');

    return cores != NULL ? (size_t)(cores - processor) : strlen(processor);
}

static bool is_of_processor(const qdq_measured *m, const char *processor)
{
    return processor != NULL && name_length(m->processor) == name_length(processor) &&
           strncmp(m->processor, processor, name_length(processor)) == 0;
}

/* Is it about the rule, and not about another of its keys? */
static bool is_of_rule(const qdq_measured *m)
{
    return strcmp(m->key, "off") == 0 || m->at > 0;
}

const qdq_measured *qdq_rule_newest(const qdq_rule_facts *r, qdq_rule_verdict v,
                                    const char *processor)
{
    const qdq_measured *other = NULL;

    for (size_t i = r->n_measured; i-- > 0;) {
        const qdq_measured *m = &r->measured[i];
        if (m->verdict != v || !is_of_rule(m))
            continue;
        if (is_of_processor(m, processor))
            return m;
        other = other != NULL ? other : m;
    }
    return other;
}

const char *qdq_measured_text(const qdq_measured *m, qdq_arena *arena)
{
    char interval[64] = "", at[64] = "";

    if (m->low > 0)
        snprintf(interval, sizeof interval, " (%.3f to %.3f)", m->low, m->high);
    if (m->at > 0)
        snprintf(at, sizeof at, " at %" PRId64, m->at);
    return qdq_arena_printf(arena, "%.3f%s%s on %s %s, %s", m->factor, interval, at, m->engine,
                            m->version, m->processor);
}

bool qdq_rule_is_for(const qdq_rule_facts *r, const char *kind, const char *name)
{
    for (size_t i = 0; r->cpu != NULL && r->cpu[i] != NULL; i++)
        if (strcmp(r->cpu[i], kind) == 0 || (name != NULL && strstr(name, r->cpu[i]) != NULL))
            return true;
    return r->cpu == NULL;
}

/* --- probes ----------------------------------------------------------------------------------- */

/* One text, or a list of lines. */
static const char *read_graph(const qdq_json_place *p)
{
    const json_t *j = json_object_get(p->object, "graph");
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    if (!json_is_array(j))
        return qdq_json_text(p, "graph", NULL);
    const char *const *lines = qdq_json_texts(p, "graph");
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        qdq_buf_puts(&b, lines[i]);
        qdq_buf_puts(&b, "\n");
    }
    const char *text =
        qdq_arena_strndup(p->reader->arena, b.data != NULL ? (const char *)b.data : "", b.size);
    if (text == NULL || b.failed)
        qdq_json_nomem(p);
    qdq_buf_free(&b);
    return text != NULL ? text : "";
}

static qdq_probe_size read_size(const qdq_json_place *p)
{
    const size_t n = json_object_size(p->object);
    qdq_probe_value *list = qdq_arena_array(p->reader->arena, n + 1, sizeof *list);
    const char *name;
    json_t *value;
    size_t i = 0;

    if (list == NULL) {
        qdq_json_nomem(p);
        return (qdq_probe_size){0};
    }
    json_object_foreach(p->object, name, value)
    {
        (void)value;
        list[i].value = qdq_json_int(p, name, 1, 1 << 30, 1);
        list[i++].name = qdq_arena_strdup(p->reader->arena, name);
        if (list[i - 1].name == NULL) {
            qdq_json_nomem(p);
            return (qdq_probe_size){0};
        }
    }
    return (qdq_probe_size){list, n};
}

static int64_t value_of(const qdq_probe_size *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->value[i].name, name) == 0)
            return s->value[i].value;
    return 0;
}

static bool is_threshold(const char *key)
{
    return QDQ_WORD_IS_IN(key, "in_channels_max", "out_channels_max", "group_channels_max",
                          "sum_max", "weight_max", "work_max", "island_work_max");
}

/* One or more sizes; without the key, one without parameters. */
static void read_sizes(const qdq_json_place *p, const char *const *keys, qdq_probe *out)
{
    const size_t n = json_array_size(json_object_get(p->object, "sizes"));
    qdq_probe_size *list = qdq_arena_array(p->reader->arena, n + 1, sizeof *list);
    qdq_json_place item;
    int64_t last = 0;

    if (list == NULL) {
        qdq_json_nomem(p);
        return;
    }
    out->size = list;
    out->n_sizes = n > 0 ? n : 1;
    if (out->threshold != NULL &&
        (!is_threshold(out->threshold) || !qdq_word_is_in(out->threshold, keys)))
        qdq_json_wrong(p, "threshold", "a key of the rule that ends in '_max', and 'sizes'");
    if (out->threshold == NULL && n > 1)
        qdq_json_wrong(p, "sizes", "one size, or the key 'threshold'");
    for (size_t i = 0; qdq_json_item(p, "sizes", i, &item); i++) {
        list[i] = read_size(&item);
        const int64_t now = out->threshold != NULL ? value_of(&list[i], out->threshold) : last + 1;
        if (now <= last)
            qdq_json_fail(&item, "expected the key '%s', larger from size to size", out->threshold);
        last = now;
    }
    if (out->threshold != NULL && n == 0)
        qdq_json_wrong(p, "sizes", "a list of objects, as there is a 'threshold'");
}

static void check_side(const qdq_json_place *p, const char *side, const char *const *keys)
{
    qdq_json_place item;

    if (qdq_json_member(p, side, &item))
        qdq_json_known(&item, keys);
}

static void read_probe(const qdq_json_place *p, const char *const *keys, qdq_probe *out)
{
    QDQ_JSON_KNOWN(p, "name", "graph", "sizes", "threshold", "dynamic", "beside", "with",
                   "without");
    out->name = qdq_json_text(p, "name", "");
    out->graph = read_graph(p);
    out->threshold = qdq_json_has(p, "threshold") ? qdq_json_text(p, "threshold", "") : NULL;
    out->dynamic = qdq_json_bool(p, "dynamic");
    out->beside = qdq_json_texts(p, "beside");
    read_sizes(p, keys, out);
    check_side(p, "with", keys);
    check_side(p, "without", keys);
    if (qdq_json_has(p, "with") && !qdq_json_has(p, "without"))
        qdq_json_wrong(p, "without", "an object, as there is a 'with'");
}

bool qdq_probe_read(const qdq_json_place *p, const char *list, size_t index, size_t i,
                    const char *const *keys, qdq_probe *out)
{
    qdq_json_place item;

    if (!qdq_json_item(p, "probe", i, &item))
        return false;
    *out = (qdq_probe){.list = list, .index = index, .number = i};
    out->for_accuracy = qdq_json_bool(p, "accuracy");
    read_probe(&item, keys, out);
    return p->reader->status == QDQ_OK;
}
