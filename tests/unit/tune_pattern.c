/* tune_pattern.c - patterns: their text and hash, and what makes regions alike. */
#include "tune/region/pattern.h"

#include "support/blocks.h"
#include "base/sha256.h"
#include "support/test.h"
#include "tune/region/canon.h"
#include "tune/region/signature.h"

static qdq_error err;

/* --- helpers ---------------------------------------------------------------------------------- */

typedef struct found {
    qdq_model *m;
    qdq_regions *r;
    qdq_patterns *p;
} found;

static found find_in(qdq_model *m)
{
    found f = {.m = m};

    assert_ok(qdq_regions_find(m, NULL, &f.r, &err));
    assert_ok(qdq_patterns_find(f.r, &f.p, &err));
    return f;
}

static found find(test_builder *b)
{
    return find_in(test_built(b));
}

static void done(found f)
{
    qdq_patterns_free(f.p);
    qdq_regions_free(f.r);
    qdq_model_free(f.m);
}

static const qdq_region *region_of(const found *f, const char *value)
{
    const qdq_region *r = f->r->of[qdq_graph_find(f->m->graph, value)->producer->id];

    assert_non_null(r);
    return r;
}

static const qdq_instance *instance_of(const found *f, const char *value)
{
    const qdq_region *r = region_of(f, value);
    const qdq_pattern *p = &f->p->pattern[r->pattern];

    for (size_t i = 0; i < p->n_instances; i++)
        if (p->instance[i].region == r)
            return &p->instance[i];
    fail_msg("the region of %s is no instance of its pattern", value);
    return NULL;
}

static void assert_alike(const found *f, const char *a, const char *b, bool alike)
{
    if (alike)
        assert_int_equal(region_of(f, a)->pattern, region_of(f, b)->pattern);
    else
        assert_int_not_equal(region_of(f, a)->pattern, region_of(f, b)->pattern);
}

/* What canonical input i of canonical node k is, in the region of `value`. */
static const char *read_by(const found *f, const char *value, size_t k, size_t i)
{
    const qdq_instance *at = instance_of(f, value);

    return qdq_node_in(at->node[k], at->input[k][i])->name;
}

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

/* --- case 9 ----------------------------------------------------------------------------------- */

TEST(equal_blocks_are_instances_of_one_pattern)
{
    test_builder b = test_build_planes();

    test_residual_blocks(&b, 1u << 2);
    test_output(&b, "e3");
    found f = find(&b);
    assert_int_equal(f.p->n, 2);
    assert_int_equal(f.p->pattern[1].n_instances, 3);
    assert_int_equal(f.p->pattern[1].n_nodes, 5);
    assert_string_equal(
        f.p->pattern[1].signature,
        "Conv[kernel_shape=3x3,pads=1x1x1x1]->Relu->Conv[kernel_shape=3x3,pads=1x1x1x1]->"
        "Add<external:Relu,internal:Conv>->Relu");
    assert_string_equal(f.p->pattern[1].instance[1].node[3]->name, "d2");
    /* The operand from inside has the same canonical place in all of them, wherever it stands. */
    for (int i = 1; i <= 3; i++) {
        char add[16], inner[16];
        snprintf(add, sizeof add, "d%d", i);
        snprintf(inner, sizeof inner, "c%d", i);
        bool first = strcmp(read_by(&f, "d1", 3, 0), "c1") == 0;
        assert_string_equal(read_by(&f, add, 3, first ? 0 : 1), inner);
    }
    done(f);
}

TEST(the_leaves_of_a_chain_are_equal)
{
    test_builder b = test_build_planes();
    char from[16] = "x";

    for (int i = 0; i < 24; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        if (i % 2 == 0)
            test_conv3(&b, name, from);
        else
            TEST_NODE(&b, "Relu", name, from);
        memcpy(from, name, sizeof from);
    }
    test_output(&b, from);
    found f = find(&b);
    assert_int_equal(f.p->n, 2);
    assert_int_equal(f.p->pattern[0].n_nodes, 0); /* a composite has no nodes of its own */
    assert_int_equal(f.p->pattern[1].n_instances, 4);
    assert_memory_equal(f.p->pattern[0].signature, "COMPOSITE(Conv[", 15);
    done(f);
}

/* --- case 25, and what else decides whether regions are alike --------------------------------- */

/* Add(c, s) and Add(s, c), both operands from outside the region of the Add. */
TEST(swapped_operands_play_the_same_part)
{
    test_builder b = test_build_planes();

    for (int i = 1; i <= 2; i++) {
        char c[8], s[8], a[8], y[8], p[8], q[8];
        snprintf(p, sizeof p, "p%d", i);
        snprintf(q, sizeof q, "q%d", i);
        snprintf(c, sizeof c, "c%d", i);
        snprintf(s, sizeof s, "s%d", i);
        snprintf(a, sizeof a, "a%d", i);
        snprintf(y, sizeof y, "y%d", i);
        TEST_INPUT(&b, p, 1, 64, 8, 8);
        TEST_INPUT(&b, q, 1, 64, 8, 8);
        TEST_NODE(&b, "Sigmoid", s, p);
        test_conv3(&b, c, q);
        TEST_NODE(&b, "Add", a, i == 1 ? c : s, i == 1 ? s : c);
        TEST_NODE(&b, "Relu", y, a);
        test_output(&b, y);
    }
    found f = find(&b);
    assert_alike(&f, "y1", "y2", true);
    assert_int_equal(region_of(&f, "y1")->nodes.n, 2);
    assert_string_equal(read_by(&f, "y1", 0, 0), "c1");
    assert_string_equal(read_by(&f, "y1", 0, 1), "s1");
    assert_string_equal(read_by(&f, "y2", 0, 0), "c2");
    assert_string_equal(read_by(&f, "y2", 0, 1), "s2");
    done(f);
}

static void two_convs(test_builder *b, const char *left, const char *right)
{
    TEST_NODE(b, "Relu", "y1", left);
    TEST_NODE(b, "Relu", "y2", right);
    test_output(b, "y1");
    test_output(b, "y2");
}

TEST(shapes_in_other_buckets_are_other_patterns)
{
    static const int64_t dims[][2] = {{64, 56}, {512, 7}, {100, 60}};

    for (int k = 1; k < 3; k++) {
        test_builder b = test_build(17);
        TEST_INPUT(&b, "p", 1, dims[0][0], dims[0][1], dims[0][1]);
        TEST_INPUT(&b, "q", 1, dims[k][0], dims[k][1], dims[k][1]);
        test_conv(&b, "c1", "p", dims[0][0], dims[0][0], 3, 1);
        test_conv(&b, "c2", "q", dims[k][0], dims[k][0], 3, 1);
        two_convs(&b, "c1", "c2");
        found f = find(&b);
        assert_alike(&f, "y1", "y2", k == 2);
        assert_string_equal(f.p->pattern[region_of(&f, "y1")->pattern].signature,
                            f.p->pattern[region_of(&f, "y2")->pattern].signature);
        done(f);
    }
}

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

TEST(attributes_that_matter_make_other_patterns)
{
    static const int64_t one[2] = {1, 1}, two[2] = {2, 2};

    for (int k = 0; k < 3; k++) {
        test_builder b = test_build_planes();
        TEST_INPUT(&b, "z", 1, 64, 8, 8);
        test_conv3(&b, "c1", "x");
        qdq_node *n = test_conv3(&b, "c2", "z");
        if (k == 0) /* what is the default may be written or not */
            assert_true(qdq_node_set_ints(n, "strides", one, 2) &&
                        qdq_node_set_string(n, "auto_pad", "NOTSET") &&
                        qdq_node_set_int(n, "group", 1));
        else if (k == 1)
            assert_true(qdq_node_set_ints(n, "dilations", two, 2));
        two_convs(&b, "c1", "c2");
        found f = find(&b);
        assert_alike(&f, "y1", "y2", k != 1);
        done(f);
    }
}

TEST(a_constant_operand_is_another_pattern)
{
    test_builder b = test_build_planes();

    TEST_INPUT(&b, "z", 1, 64, 8, 8);
    TEST_INPUT(&b, "other", 1, 64, 8, 8);
    TEST_RANDOM(&b, "const", 1, 64, 8, 8);
    TEST_NODE(&b, "Add", "a1", "x", "const");
    TEST_NODE(&b, "Add", "a2", "z", "other");
    two_convs(&b, "a1", "a2");
    found f = find(&b);
    assert_alike(&f, "a1", "a2", false);
    done(f);
}

/* x - y and y - x: the text does not know, the form does. */
TEST(wiring_makes_other_patterns)
{
    for (int swap = 0; swap < 2; swap++) {
        test_builder b = test_build_planes();
        TEST_INPUT(&b, "z", 1, 64, 8, 8);
        TEST_NODE(&b, "Relu", "r1", "x");
        TEST_NODE(&b, "Sub", "y1", "r1", "x");
        TEST_NODE(&b, "Relu", "r2", "z");
        TEST_NODE(&b, "Sub", "y2", swap ? "z" : "r2", swap ? "r2" : "z");
        test_output(&b, "y1");
        test_output(&b, "y2");
        found f = find(&b);
        assert_int_equal(f.r->all.n, 2);
        assert_alike(&f, "y1", "y2", swap == 0);
        done(f);
    }
}

/* Branches of one kind, written in another order: each node stays with its own branch. */
TEST(equal_branches_keep_together)
{
    test_builder b = test_build_planes();

    for (int i = 1; i <= 2; i++) {
        char n[6][8];
        for (int k = 0; k < 6; k++)
            snprintf(n[k], sizeof n[k], "%c%d", 'a' + k, i);
        const char *from = i == 1 ? "x" : "f1";
        test_conv3(&b, n[0], from);
        TEST_NODE(&b, "Sigmoid", n[1], n[0]);
        TEST_NODE(&b, "Sigmoid", n[2], n[0]);
        TEST_NODE(&b, "Tanh", n[i == 1 ? 3 : 4], n[i == 1 ? 1 : 2]);
        TEST_NODE(&b, "Tanh", n[i == 1 ? 4 : 3], n[i == 1 ? 2 : 1]);
        TEST_NODE(&b, "Add", n[5], n[3], n[4]);
    }
    test_output(&b, "f2");
    found f = find(&b);
    assert_int_equal(f.r->all.n, 2);
    assert_alike(&f, "f1", "f2", true);
    for (int i = 1; i <= 2; i++) {
        const qdq_instance *at = instance_of(&f, i == 1 ? "f1" : "f2");
        assert_ptr_equal(qdq_node_in(at->node[3], 0)->producer, at->node[1]);
        assert_ptr_equal(qdq_node_in(at->node[4], 0)->producer, at->node[2]);
    }
    done(f);
}

TEST(patterns_are_the_same_each_time)
{
    qdq_model *m = three_nodes();
    found f = find_in(m);
    qdq_patterns *again;

    assert_ok(qdq_patterns_find(f.r, &again, &err));
    assert_int_equal(again->n, f.p->n);
    for (size_t i = 0; i < again->n; i++) {
        assert_memory_equal(again->pattern[i].canon, f.p->pattern[i].canon,
                            sizeof again->pattern[i].canon);
        assert_string_equal(again->pattern[i].hash, f.p->pattern[i].hash);
    }
    qdq_patterns_free(again);
    qdq_patterns_free(NULL);
    done(f);
}
