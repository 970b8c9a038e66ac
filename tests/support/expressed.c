/* expressed.c - see expressed.h. */
#include "support/expressed.h"

#include <math.h>

#include "support/spaced.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_formats.h"

static qdq_error err;

/* --- there and back --------------------------------------------------------------------------- */

qdq_plan *test_import(const qdq_model *file, const qdq_model *clean, qdq_plan **memory,
                      size_t *gone)
{
    qdq_model *stripped;
    qdq_plan *placed;

    assert_ok(qdq_plan_import(file, NULL, memory, &stripped, &err));
    assert_ok(qdq_baseline_rename(*memory, stripped, clean, &placed, gone, &err));
    qdq_model_free(stripped);
    return placed;
}

static void expect_said(const char *what, const qdq_tune_not_expressed *found)
{
    if (found->edges + found->types + found->scales + found->weights > 0)
        fail_msg("%s: %u edges, %u types, %u shared scales, %u scales of weights", what,
                 found->edges, found->types, found->scales, found->weights);
}

/* Of the highest code by a step or more, or with another zero point. */
static bool differ(const qdq_qparam *a, const qdq_qparam *b)
{
    return !(fabsf(a->scale - b->scale) <= a->scale / 127) || a->zero_point != b->zero_point;
}

static bool share_edges(const qdq_edges *a, const qdq_edges *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (qdq_edges_have(b, a->at[i].node, a->at[i].input))
            return true;
    return false;
}

/* Scales that are given, or follow from the numbers in the same way. */
static bool have_other_scales(const qdq_plan_weight *a, const qdq_plan_weight *b)
{
    if (a->n_scales != b->n_scales || a->asymmetric != b->asymmetric || a->reduced != b->reduced ||
        a->pow2 != b->pow2)
        return true;
    for (size_t i = 0; i < a->n_scales && a->scales != NULL; i++)
        if (a->scales[i] != b->scales[i])
            return true;
    return false;
}

static size_t count_other_scales(const qdq_plan *one, const qdq_plan *other, bool weights)
{
    size_t n = 0;

    for (size_t i = 0; i < one->tensors.n; i++)
        for (size_t k = 0; k < other->tensors.n; k++) {
            const qdq_plan_tensor *a = &one->tensors.at[i], *b = &other->tensors.at[k];
            n += strcmp(a->tensor, b->tensor) == 0 && a->all == b->all &&
                 (a->all || share_edges(&a->consumers, &b->consumers)) &&
                 differ(&a->qparam, &b->qparam);
        }
    for (size_t i = 0; i < one->weights.n && weights; i++)
        for (size_t k = 0; k < other->weights.n; k++)
            n += share_edges(&one->weights.at[i].consumers, &other->weights.at[k].consumers) &&
                 have_other_scales(&one->weights.at[i], &other->weights.at[k]);
    return n;
}

test_round_trip test_go_round(qdq_model *given, const qdq_model *file, const char *target)
{
    test_space t = test_space_open(given, target);
    qdq_plan *memory, *memory2, *placed, *said, *again;
    test_round_trip r;
    qdq_model *applied;
    qdq_assign a;
    size_t gone;

    placed = test_import(file, t.clean, &memory, &r.gone);
    r.tensors = placed->tensors.n;
    r.weights = placed->weights.n;
    assert_ok(qdq_space_add_formats(t.s, placed, &err));
    assert_ok(qdq_space_express(t.s, placed,
                                &(qdq_space_scaling){t.head, t.engine, NULL, &t.opts, &t.known, 0},
                                &t.arena, &a, &err));
    said = test_space_plan(&t, &a);
    assert_ok(qdq_plans_differ(t.s, placed, said, &r.not_expressed, &err));
    r.scales = count_other_scales(placed, said, true);
    applied = test_space_applied(&t, said);
    again = test_import(applied, t.clean, &memory2, &gone);
    assert_ok(qdq_plans_differ(t.s, said, again, &r.again, &err));
    r.scales_again = count_other_scales(said, again, false);
    qdq_plan_free(again);
    qdq_plan_free(memory2);
    qdq_model_free(applied);
    qdq_plan_free(said);
    qdq_plan_free(placed);
    qdq_plan_free(memory);
    test_space_close(&t);
    return r;
}

void test_expect_same(const char *what, qdq_model *given, const qdq_model *file, const char *target)
{
    const test_round_trip r = test_go_round(given, file, target);

    expect_said(what, &r.not_expressed);
    expect_said("applied and imported again", &r.again);
    if (r.scales + r.scales_again > 0)
        fail_msg("%s: %zu other scales, %zu when applied", what, r.scales, r.scales_again);
}

/* --- a file in a style ------------------------------------------------------------------------ */

static size_t put_tensors(const test_style *s, char *text, size_t size)
{
    char list[500], *rest = NULL;
    size_t n = 0, i = 0;

    snprintf(list, sizeof list, "%s", s->tensors);
    for (char *word = strtok_r(list, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        const bool same = *word == '=', from_zero = word[same] == '+';
        char tensor[40], node[40];
        unsigned input;

        word += same + from_zero;
        i += !same;
        n += (size_t)snprintf(text + n, size - n, "%s{", n > 0 ? ", " : "");
        if (sscanf(word, "%39[^>]>%39[^:]:%u", tensor, node, &input) == 3)
            n += (size_t)snprintf(text + n, size - n, "\"consumers\": [[\"%s\", %u]], ", node,
                                  input);
        n += (size_t)snprintf(
            text + n, size - n,
            "\"tensor\": \"%s\", \"type\": \"%s\", \"scale\": 0.%02zu, \"zero_point\": %d, "
            "\"rule\": \"\", \"origin\": \"rule\"}",
            tensor, from_zero ? "uint8" : s->type, i + 10, from_zero ? 0 : s->zero);
    }
    return n;
}

static size_t put_weights(const test_style *s, char *text, size_t size)
{
    char list[500], *rest = NULL;
    size_t n = 0, i = 0;

    snprintf(list, sizeof list, "%s", s->weights);
    for (char *word = strtok_r(list, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest), i++) {
        char tensor[40], node[40], axis[12];

        assert_int_equal(sscanf(word, "%39[^>]>%39[^:]:%11s", tensor, node, axis), 3);
        n += (size_t)snprintf(
            text + n, size - n,
            "%s{\"tensor\": \"%s\", \"consumers\": [[\"%s\", 1]], \"axis\": %s, \"type\": "
            "\"int8\", \"method\": \"absmax\", \"block\": null, \"store\": \"%s\", \"rule\": \"\", "
            "\"origin\": \"rule\"}",
            i > 0 ? ", " : "", tensor, node, axis[0] == '-' ? "null" : axis, s->store);
    }
    return n;
}

qdq_model *test_write_style(const qdq_model *of, const test_style *s)
{
    static char text[12000];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "{\"qdq_plan\": 1, \"model\": \"any\", \"target\": \"\", \"created_by\": \"a "
        "test\", \"clean\": \"\", \"opset\": 0, \"placement_only\": false, \"tensors\": [");
    qdq_model *out;
    qdq_plan *p;

    n += put_tensors(s, text + n, sizeof text - n);
    n += (size_t)snprintf(text + n, sizeof text - n, "], \"weights\": [");
    n += put_weights(s, text + n, sizeof text - n);
    snprintf(text + n, sizeof text - n,
             "], \"biases\": [], \"quantized\": [], \"left_float\": []}");
    assert_ok(qdq_plan_parse(text, strlen(text), s->name, &p, &err));
    assert_ok(qdq_plan_apply(p, of, true, NULL, &out, &err));
    qdq_plan_free(p);
    return out;
}
