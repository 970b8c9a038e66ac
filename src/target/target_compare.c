/* target_compare.c - how two descriptions differ: rule by rule, key by key, with what was measured
 * of each. */
#include <string.h>

#include "base/fail.h"
#include "base/json.h"
#include "base/pack.h"
#include "base/vec.h"
#include "target/target.h"

typedef struct comparing {
    qdq_arena arena;
    QDQ_VEC(qdq_target_difference) all;
    bool no_memory;
} comparing;

static const char *keep(comparing *c, const char *text)
{
    c->no_memory |= text == NULL;
    return text != NULL ? text : "";
}

/* "" for what is not there. */
static const char *value_text(comparing *c, const json_t *value)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    if (value == NULL)
        return "";
    if (json_is_string(value))
        return keep(c, qdq_arena_strdup(&c->arena, json_string_value(value)));
    const bool ok = qdq_json_put_line(&b, value) && !b.failed;
    const char *text = keep(c, ok ? qdq_arena_strndup(&c->arena, b.data, b.size) : NULL);
    qdq_buf_free(&b);
    return text;
}

static void add_difference(comparing *c, qdq_target_difference d)
{
    c->no_memory |= !QDQ_PUSH(&c->arena, &c->all, d);
}

/* --- figures ---------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key, const char *absent)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : absent;
}

/* The newest figures of this key, at the size that is nearest to the threshold. */
static const json_t *figures_of(const json_t *rule, const char *key)
{
    const json_t *list = json_object_get(rule, "measured"), *best = NULL;
    const json_int_t value = json_integer_value(json_object_get(rule, key));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *f = json_array_get(list, i);
        const json_int_t at = json_integer_value(json_object_get(f, "at"));
        const bool is_threshold = strcmp(key, "off") == 0 && at > 0;

        if (strcmp(text_of(f, "key", "off"), key) != 0 && !is_threshold)
            continue;
        if (best == NULL || at == value || json_integer_value(json_object_get(best, "at")) != value)
            best = f;
    }
    return best;
}

static const char *figures_text(comparing *c, const json_t *rule, const char *key)
{
    const json_t *f = figures_of(rule, key), *interval = json_object_get(f, "interval");
    const json_int_t at = json_integer_value(json_object_get(f, "at"));
    char size[40] = "", range[64] = "";

    if (f == NULL)
        return "";
    if (at > 0)
        snprintf(size, sizeof size, " at %" JSON_INTEGER_FORMAT, at);
    if (interval != NULL)
        snprintf(range, sizeof range, " (%.3f to %.3f)",
                 json_number_value(json_array_get(interval, 0)),
                 json_number_value(json_array_get(interval, 1)));
    return keep(c, qdq_arena_printf(&c->arena, "%s%s, %.3f%s, %s %s, %s", text_of(f, "verdict", ""),
                                    size, json_number_value(json_object_get(f, "factor")), range,
                                    text_of(f, "engine", ""), text_of(f, "version", ""),
                                    text_of(f, "processor", "")));
}

/* --- rules ------------------------------------------------------------------------------------ */

static bool is_same_rule(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "op", ""), text_of(b, "op", "")) == 0 &&
           strcmp(text_of(a, "rule", ""), text_of(b, "rule", "")) == 0;
}

/* Of rules that are called alike, the n-th of one list is the n-th of the other. */
static const json_t *find_rule(const json_t *list, const json_t *of, size_t i, const json_t *in)
{
    size_t before = 0;

    for (size_t k = 0; k < i; k++)
        before += is_same_rule(json_array_get(list, k), of);
    for (size_t k = 0; k < json_array_size(in); k++)
        if (is_same_rule(json_array_get(in, k), of) && before-- == 0)
            return json_array_get(in, k);
    return NULL;
}

static void compare_key(comparing *c, const char *place, const char *key, const json_t *a,
                        const json_t *b)
{
    const json_t *of_a = json_object_get(a, key), *of_b = json_object_get(b, key);

    if (of_a == of_b || (of_a != NULL && of_b != NULL && json_equal(of_a, of_b)))
        return;
    add_difference(c, (qdq_target_difference){place, key, value_text(c, of_a), value_text(c, of_b),
                                              figures_text(c, a, key), figures_text(c, b, key)});
}

/* Keys of a, then those that only b has. */
static void compare_keys(comparing *c, const char *place, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    for (int side = 0; side < 2; side++) {
        json_object_foreach((json_t *)(side == 0 ? a : b), key, value)
        {
            if (strcmp(key, "measured") == 0 || strcmp(key, "probe") == 0 ||
                (side == 1 && json_object_get(a, key) != NULL))
                continue;
            compare_key(c, place, keep(c, qdq_arena_strdup(&c->arena, key)), a, b);
        }
    }
}

static const char *place_of(comparing *c, const char *list, const json_t *rule)
{
    return keep(c, qdq_arena_printf(&c->arena, "%s: %s of %s", list, text_of(rule, "rule", ""),
                                    text_of(rule, "op", "")));
}

static void compare_lists(comparing *c, const char *name, const json_t *a, const json_t *b)
{
    const json_t *of_a = json_object_get(a, name), *of_b = json_object_get(b, name);

    for (size_t i = 0; i < json_array_size(of_a); i++) {
        const json_t *rule = json_array_get(of_a, i), *other = find_rule(of_a, rule, i, of_b);

        if (other != NULL)
            compare_keys(c, place_of(c, name, rule), rule, other);
        else
            add_difference(c, (qdq_target_difference){place_of(c, name, rule), "", "there", "",
                                                      figures_text(c, rule, "off"), ""});
    }
    for (size_t i = 0; i < json_array_size(of_b); i++) {
        const json_t *rule = json_array_get(of_b, i);

        if (find_rule(of_b, rule, i, of_a) == NULL)
            add_difference(c, (qdq_target_difference){place_of(c, name, rule), "", "", "there", "",
                                                      figures_text(c, rule, "off")});
    }
}

/* --- the rest --------------------------------------------------------------------------------- */

static bool is_list_of_rules(const char *key)
{
    return strcmp(key, "operators") == 0 || strcmp(key, "stay_float") == 0;
}

static void compare_top(comparing *c, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    for (int side = 0; side < 2; side++) {
        json_object_foreach((json_t *)(side == 0 ? a : b), key, value)
        {
            const json_t *of_a = json_object_get(a, key), *of_b = json_object_get(b, key);

            if (is_list_of_rules(key) || (side == 1 && of_a != NULL))
                continue;
            const char *name = keep(c, qdq_arena_strdup(&c->arena, key));
            if (json_is_object(of_a) && json_is_object(of_b))
                compare_keys(c, name, of_a, of_b);
            else
                compare_key(c, "", name, a, b);
        }
    }
}

static void pack_texts(qdq_pack *p, void *to)
{
    qdq_target_difference *d = to;

    d->place = qdq_pack_string(p, d->place);
    d->key = qdq_pack_string(p, d->key);
    d->a = qdq_pack_string(p, d->a);
    d->b = qdq_pack_string(p, d->b);
    d->figures_a = qdq_pack_string(p, d->figures_a);
    d->figures_b = qdq_pack_string(p, d->figures_b);
}

qdq_status qdq_target_compare(const qdq_target *a, const qdq_target *b, qdq_target_difference **out,
                              size_t *n, qdq_error *err)
{
    comparing c = {.no_memory = false};
    json_t *of_a = NULL, *of_b = NULL;

    *out = NULL;
    *n = 0;
    qdq_status st = qdq_json_parse(a->text, strlen(a->text), a->name, &of_a, err);
    if (st == QDQ_OK)
        st = qdq_json_parse(b->text, strlen(b->text), b->name, &of_b, err);
    if (st == QDQ_OK) {
        compare_top(&c, of_a, of_b);
        compare_lists(&c, "operators", of_a, of_b);
        compare_lists(&c, "stay_float", of_a, of_b);
        *out = c.no_memory ? NULL : qdq_pack_list(c.all.at, c.all.n, sizeof **out, pack_texts);
        *n = *out != NULL ? c.all.n : 0;
        st = *out != NULL ? QDQ_OK : qdq_nomem(err);
    }
    json_decref(of_a);
    json_decref(of_b);
    qdq_arena_free(&c.arena);
    return st;
}
