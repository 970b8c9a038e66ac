/* target_difference.c - how two targets differ, key by key, with what was measured of each. */
#include "support/test.h"
#include "target/target.h"

static qdq_error err;

#define TARGET(type, more)                                                                         \
    "{\"qdq_target\": 1, \"name\": \"t\", \"activation\": {\"type\": \"" type "\"}, "              \
    "\"weight\": {\"type\": \"int8\", \"symmetric\": true}" more "}"
#define FIGURES(key, at, factor)                                                                   \
    "{\"verdict\": \"pays\", \"key\": \"" key "\", \"at\": " #at ", \"factor\": " #factor          \
    ", \"interval\": [0.4, 0.6], \"engine\": \"ort\", \"version\": \"1\", \"processor\": \"P\"}"
#define SMALL(more) "{\"op\": \"MatMul\", \"rule\": \"small\", \"reason\": \"r\"" more "}"

/* One line for each: place, key, values, figures. */
static void assert_differs(const char *a, const char *b, const char *want)
{
    qdq_target *of_a = NULL, *of_b = NULL;
    qdq_target_difference *d = NULL;
    char text[2000] = "";
    size_t n = 0, used = 0;

    assert_ok(qdq_target_parse(a, strlen(a), "a", &of_a, &err));
    assert_ok(qdq_target_parse(b, strlen(b), "b", &of_b, &err));
    assert_ok(qdq_target_compare(of_a, of_b, &d, &n, &err));
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s|%s|%s|%s|%s|%s\n", d[i].place,
                                 d[i].key, d[i].a, d[i].b, d[i].figures_a, d[i].figures_b);
    assert_string_equal(text, want);
    qdq_free(d);
    qdq_target_free(of_a);
    qdq_target_free(of_b);
}

TEST(equal_targets_do_not_differ)
{
    assert_differs(TARGET("uint8", ""), TARGET("uint8", ""), "");
    assert_differs(TARGET("uint8", ", \"stay_float\": [" SMALL("") "]"),
                   TARGET("uint8", ", \"stay_float\": [" SMALL(
                                       ", \"measured\": [" FIGURES("off", 0, 0.5) "]") "]"),
                   "");
}

TEST(keys_at_the_top_and_in_objects_are_named)
{
    assert_differs(TARGET("uint8", ", \"engine\": \"ort\""),
                   TARGET("int8", ", \"passes\": [\"a\", \"b\"]"),
                   "activation|type|uint8|int8||\n|engine|ort|||\n|passes||[\"a\", \"b\"]||\n");
}

TEST(rules_differ_with_their_figures)
{
    assert_differs(
        TARGET("uint8", ", \"stay_float\": [" SMALL(", \"weight_max\": 4") ", " SMALL(
                            ", \"weight_max\": 5") "]"),
        TARGET("uint8", ", \"stay_float\": [" SMALL(", \"weight_max\": 4") ", " SMALL(
                            ", \"weight_max\": 9, \"measured\": [" FIGURES(
                                "weight_max", 9, 0.5) ", " FIGURES("weight_max", 12, 0.9) "]") "]"),
        "stay_float: small of MatMul|weight_max|5|9||pays at 9, 0.500 (0.400 to 0.600), ort 1, "
        "P\n");
    assert_differs(TARGET("uint8", ", \"stay_float\": [" SMALL("") "]"),
                   TARGET("uint8", ", \"no_kernel\": []"),
                   "|no_kernel||[]||\nstay_float: small of MatMul||there|||\n");
    assert_differs(
        TARGET("uint8", ""),
        TARGET("uint8", ", \"stay_float\": [" SMALL(
                            ", \"off\": true, \"measured\": [" FIGURES("off", 0, 0.5) "]") "]"),
        "stay_float: small of MatMul|||there||pays, 0.500 (0.400 to 0.600), ort 1, P\n");
}
