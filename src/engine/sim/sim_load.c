/* sim_load.c - reads the cost model of the `sim` engine from JSON. Every key is known or refused: a
 * test whose misspelt key has no effect would prove nothing. */
#include "engine/sim/sim_cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/json_read.h"
#include "target/qparam.h"

/* "types": {"uint8": 0.9} */
static void read_type_times(const qdq_json_place *p, qdq_sim_cost *cost)
{
    qdq_json_place types;
    const char *name;
    json_t *value;

    if (!qdq_json_member(p, "types", &types))
        return;
    double *times = qdq_arena_array(p->reader->arena, QDQ_ELEM_COUNT, sizeof *times);
    cost->type_times = times;
    if (times == NULL) {
        qdq_json_nomem(p);
        return;
    }
    json_object_foreach(types.object, name, value)
    {
        const qdq_elem type = qdq_elem_from_name(name);
        if (!qdq_elem_is_code(type))
            qdq_json_wrong(p, "types", "an object whose keys are types of codes");
        else
            times[type] = qdq_json_number(&types, name, 1e-6, INFINITY, 1);
    }
}

static void read_cost(const qdq_json_place *p, qdq_sim_cost *cost)
{
    QDQ_JSON_KNOWN(p, "float_us", "float_us_per_k", "int8_us", "int8_us_per_k", "inputs",
                   "output_q", "epilogue", "types", "weight_us");
    cost->float_us = qdq_json_number(p, "float_us", 0, INFINITY, 0);
    cost->float_us_per_k = qdq_json_number(p, "float_us_per_k", 0, INFINITY, 0);
    cost->int8_us = qdq_json_number(p, "int8_us", 0, INFINITY, -1);
    cost->int8_us_per_k = qdq_json_number(p, "int8_us_per_k", 0, INFINITY, 0);
    cost->weight_us = qdq_json_number(p, "weight_us", 0, INFINITY, -1);
    cost->inputs = qdq_json_int(p, "inputs", 1, 1000, 1);
    cost->output_q = qdq_json_bool(p, "output_q");
    cost->epilogue = qdq_json_texts(p, "epilogue");
    read_type_times(p, cost);
    if (cost->int8_us < 0 &&
        (cost->int8_us_per_k > 0 || cost->output_q || cost->type_times != NULL))
        qdq_json_fail(p, "properties of an 8-bit kernel, but no 'int8_us'");
}

/* The member `key`: an object of names, with a cost each. */
static void read_costs(const qdq_json_place *top, const char *key, qdq_map *out)
{
    qdq_json_place names, cost;
    const char *name;
    json_t *value;

    if (!qdq_json_member(top, key, &names))
        return;
    json_object_foreach(names.object, name, value)
    {
        qdq_arena *arena = top->reader->arena;
        const char *copy = qdq_arena_strdup(arena, name);
        qdq_sim_cost *c = qdq_arena_alloc(arena, sizeof *c);
        qdq_map_value *at = copy != NULL ? qdq_map_put(out, copy, NULL) : NULL;

        if (c == NULL || at == NULL) {
            qdq_json_nomem(top);
            return;
        }
        at->ptr = c;
        if (qdq_json_member(&names, name, &cost))
            read_cost(&cost, c);
    }
}

static void read_failures(const qdq_json_place *top, qdq_sim *sim)
{
    size_t n = json_array_size(json_object_get(top->object, "fail"));
    qdq_json_place failure;

    sim->failure = qdq_arena_array(&sim->arena, n + 1, sizeof *sim->failure);
    if (sim->failure == NULL) {
        qdq_json_nomem(top);
        return;
    }
    while (qdq_json_item(top, "fail", sim->n_failure, &failure))
        qdq_sim_failure_read(&failure, &sim->failure[sim->n_failure++]);
}

static void read_wrong(const qdq_json_place *top, qdq_sim *sim)
{
    size_t n = json_array_size(json_object_get(top->object, "wrong"));
    qdq_json_place form;

    sim->wrong = qdq_arena_array(&sim->arena, n + 1, sizeof *sim->wrong);
    if (sim->wrong == NULL) {
        qdq_json_nomem(top);
        return;
    }
    while (qdq_json_item(top, "wrong", sim->n_wrong, &form))
        qdq_sim_wrong_read(&form, &sim->wrong[sim->n_wrong++]);
}

static qdq_status read_model(qdq_sim *sim, json_t *root, qdq_error *err)
{
    qdq_json_reader reader = {.arena = &sim->arena, .err = err};
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_sim", 1), cost;

    QDQ_JSON_KNOWN(&top, "qdq_sim", "device", "seed", "noise", "outlier_rate", "outlier_factor",
                   "overhead_us", "error", "convert", "default", "ops", "nodes", "fail",
                   "no_profile", "profile_noise", "wrong", "int8_fixed_times", "dynamic_error",
                   "weight_error");
    sim->device = qdq_json_text(&top, "device", "sim");
    sim->seed = (uint64_t)qdq_json_int(&top, "seed", 0, INT64_MAX, 0);
    sim->noise = qdq_json_number(&top, "noise", 0, INFINITY, 0);
    if (sim->noise >= 1) /* a run would take no time, or less */
        qdq_json_wrong(&top, "noise", "a number below 1");
    sim->profile_noise = qdq_json_number(&top, "profile_noise", 0, INFINITY, 0);
    if (sim->profile_noise >= 1)
        qdq_json_wrong(&top, "profile_noise", "a number below 1");
    sim->outlier_rate = qdq_json_number(&top, "outlier_rate", 0, 1, 0);
    sim->outlier_factor = qdq_json_number(&top, "outlier_factor", 1, INFINITY, 1);
    sim->overhead_us = qdq_json_number(&top, "overhead_us", 0, INFINITY, 0);
    sim->error = qdq_json_number(&top, "error", 0, INFINITY, 0);
    sim->dynamic_error = qdq_json_number(&top, "dynamic_error", 0, INFINITY, 0);
    sim->weight_error = qdq_json_number(&top, "weight_error", 0, INFINITY, 0);
    sim->no_profile = qdq_json_bool(&top, "no_profile");
    sim->int8_fixed_times = qdq_json_number(&top, "int8_fixed_times", 0, INFINITY, 1);

    sim->convert = sim->other = (qdq_sim_cost){.float_us = 1, .int8_us = -1, .inputs = 1};
    if (qdq_json_member(&top, "convert", &cost))
        read_cost(&cost, &sim->convert);
    if (qdq_json_member(&top, "default", &cost))
        read_cost(&cost, &sim->other);
    read_costs(&top, "ops", &sim->by_op);
    read_costs(&top, "nodes", &sim->by_node);
    read_failures(&top, sim);
    read_wrong(&top, sim);
    return reader.status;
}

/* Of what it computes. Times change under a run, as those of a machine do, and failures happen. */
static bool take_digits(qdq_sim *sim, json_t *root)
{
    json_t *computes = json_pack(
        "{s:O?, s:O?, s:O*, s:O*}", "error", json_object_get(root, "error"), "wrong",
        json_object_get(root, "wrong"), "dynamic_error", json_object_get(root, "dynamic_error"),
        "weight_error", json_object_get(root, "weight_error"));
    char *text = json_dumps(computes, JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(computes);
    if (text == NULL)
        return false;
    snprintf(sim->digits, sizeof sim->digits, "%016llx",
             (unsigned long long)XXH3_64bits(text, strlen(text)));
    free(text);
    return true;
}

qdq_status qdq_sim_load(const char *path, qdq_sim **out, qdq_error *err)
{
    json_t *root = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_load(path, &root, err));
    qdq_sim *sim = calloc(1, sizeof *sim);
    qdq_status st = sim != NULL ? read_model(sim, root, err) : qdq_nomem(err);
    if (st == QDQ_OK && !take_digits(sim, root))
        st = qdq_nomem(err);
    json_decref(root);
    if (st != QDQ_OK)
        st = qdq_within(err, st, "%s", path);
    return QDQ_HAND_OVER(sim, st, out, qdq_sim_free);
}

void qdq_sim_free(qdq_sim *sim)
{
    if (sim == NULL)
        return;
    qdq_map_free(&sim->by_op);
    qdq_map_free(&sim->by_node);
    qdq_arena_free(&sim->arena);
    free(sim);
}
