/* tune_pattern.c - patterns: their text and hash. What makes regions alike is in text/regions. */
#include "tune/region/pattern.h"

#include "support/blocks.h"
#include "base/sha256.h"
#include "support/test.h"
#include "tune/region/canon.h"
#include "tune/region/signature.h"

static qdq_error err;

/* --- case 4 ----------------------------------------------------------------------------------- */

static void assert_attr(const qdq_attr *a, const char *want)
{
    qdq_buf b = QDQ_BUF_INIT(1000);

    qdq_signature_attr(&b, a);
    char *text = qdq_buf_take(&b);
    assert_string_equal(text, want);
    qdq_free(text);
}

static void assert_bytes(const char *bytes, const char *want)
{
    qdq_buf b = QDQ_BUF_INIT(1000);

    qdq_signature_bytes(&b, bytes, strlen(bytes));
    assert_string_equal(b.data, want);
    qdq_buf_free(&b);
}

TEST(values_of_attributes_are_part_of_a_pattern)
{
    static const int64_t three[] = {3, 3};
    static const float halves[] = {1.5f, 2}, tenths[] = {0.1f, 0.25f};
    static const qdq_span words[] = {{(const unsigned char *)"a", 1},
                                     {(const unsigned char *)"b", 1}};

    assert_attr(&(qdq_attr){.type = QDQ_ATTR_INTS, .count = 2, .v.ints = three}, "3x3");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_INTS, .count = 0}, "");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_FLOATS, .count = 2, .v.floats = halves}, "1.5x2");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_FLOATS, .count = 2, .v.floats = tenths}, "0.1x0.25");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_FLOAT, .count = 1, .v.f = 1e-5f}, "1e-05");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_FLOAT, .count = 1, .v.f = 1}, "1");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_INT, .count = 1, .v.i = -3}, "-3");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_STRINGS, .count = 2, .v.strings = words}, "a,b");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_STRING,
                            .count = 1,
                            .v.s = {(const unsigned char *)"linear", 6}},
                "linear");
    assert_attr(&(qdq_attr){.type = QDQ_ATTR_STRING,
                            .count = 1,
                            .v.s = {(const unsigned char *)"\xff\x01", 2}},
                "ff01");
    assert_bytes("ab", "6162");
    assert_bytes("0123456789abcdef", "3031323334353637...");
}

TEST(the_hash_is_sha_256_of_the_text)
{
    char hash[33];

    qdq_sha256_name("Conv->Relu", hash);
    assert_string_equal(hash, "a5407a95946a92bbd0f0ee3b97750717");
}

/* --- case 5 ----------------------------------------------------------------------------------- */

/* Regions made by hand: parts[i] lists the outputs of the nodes of region i, 0 is the parent of the
 * others. */
static void assert_signature(qdq_model *m, const char *const parts[][4], size_t n_parts,
                             const char *want)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_region at[3] = {{0}};
    qdq_regions all = {.model = m};
    qdq_patterns *p;

    all.of = qdq_arena_array(&arena, m->graph->next_node_id + 1, sizeof(qdq_region *));
    all.place = qdq_arena_array(&arena, m->graph->next_node_id + 1, sizeof *all.place);
    for (uint32_t i = 0; i <= m->graph->next_node_id; i++)
        all.place[i] = i;
    for (size_t i = 0; i < n_parts; i++) {
        at[i].id = (uint32_t)i;
        at[i].depth = i > 0;
        assert_true(QDQ_PUSH(&arena, &all.all, &at[i]));
        for (size_t k = 0; k < 4 && parts[i][k] != NULL; k++) {
            const qdq_node *n = qdq_graph_find(m->graph, parts[i][k])->producer;
            assert_true(QDQ_PUSH(&arena, &at[i].nodes, n));
            all.of[n->id] = &at[i];
        }
        at[i].n_total = at[i].nodes.n;
        if (i > 0) {
            at[i].parent = &at[0];
            assert_true(QDQ_PUSH(&arena, &at[0].children, &at[i]));
            at[0].n_total += at[i].n_total;
        }
    }
    assert_ok(qdq_patterns_find(&all, &p, &err));
    assert_string_equal(p->pattern[at[0].pattern].signature, want);
    qdq_patterns_free(p);
    qdq_arena_free(&arena);
}

#define CONV "Conv[group=1,kernel_shape=3x3,pads=1x1x1x1]"

static qdq_model *three_nodes(void)
{
    test_builder b = test_build_planes();

    TEST_INPUT(&b, "z", 1, 64, 8, 8);
    TEST_RANDOM(&b, "const", 1);
    assert_true(qdq_node_set_int(test_conv3(&b, "a", "x"), "group", 1));
    TEST_NODE(&b, "Add", "b", "z", "a");
    TEST_NODE(&b, "Mul", "y", "b", "const");
    test_output(&b, "y");
    return test_built(&b);
}

TEST(signatures_are_written_as_model_optimizer_writes_them)
{
    static const char *const all[][4] = {{"a", "b", "y"}}, *const two[][4] = {{"b", "y"}},
                             *const none[][4] = {{0}};
    static const char *const tree[][4] = {{"y"}, {"a"}, {"b"}};
    qdq_model *m = three_nodes();

    assert_signature(m, all, 1,
                     CONV "->Add<external:input-or-constant,internal:Conv>->"
                          "Mul<external:input-or-constant,internal:Add>");
    assert_signature(m, two, 1,
                     "Add<external:Conv,external:input-or-constant>->"
                     "Mul<external:input-or-constant,internal:Add>");
    assert_signature(m, none, 1, "EMPTY");
    assert_signature(m, tree, 3,
                     "COMPOSITE(Mul<external:Add,external:input-or-constant>|" CONV
                     "+Add<external:Conv,external:input-or-constant>)");
    qdq_model_free(m);
}

TEST(the_order_of_operands_does_not_matter)
{
    for (int swap = 0; swap < 2; swap++) {
        static const char *const only[][4] = {{"y"}};
        test_builder b = test_build_planes();
        test_conv3(&b, "c", "x");
        TEST_NODE(&b, "Add", "y", swap ? "c" : "x", swap ? "x" : "c");
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        assert_signature(m, only, 1, "Add<external:Conv,external:input-or-constant>");
        qdq_model_free(m);
    }
}

/* --- case 25, and what else decides whether regions are alike --------------------------------- */

TEST(buckets_grow_by_four)
{
    static const struct {
        int64_t dim;
        unsigned bucket;
    } want[] = {{-1, 255}, {0, 0},  {1, 1},  {2, 2},  {3, 2},         {4, 3},
                {15, 3},   {16, 4}, {63, 4}, {64, 5}, {INT64_MAX, 33}};

    for (size_t i = 0; i < QDQ_COUNT(want); i++)
        assert_int_equal(qdq_canon_bucket(want[i].dim), want[i].bucket);
}
