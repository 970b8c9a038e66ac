/* ir_facts.c - what can be proven of values, while nothing is written to the model. */
#include "support/shapes.h"

#include <time.h>

#include "ir/edit.h"
#include "ir/facts.h"

/* A model and its facts. */
typedef struct known {
    qdq_model *m;
    qdq_facts *f;
} known;

static int n_log;

static void count_log(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
    n_log++;
}

static known know_model(qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_job job = QDQ_JOB_INIT;
    known k = {m, NULL};

    n_log = 0;
    job.log = count_log;
    assert_ok(qdq_facts_open(m, &job, &k.f, &err));
    assert_int_equal(n_log, 0);
    return k;
}

static known know(const char *text)
{
    return know_model(test_model(text));
}

static void forget(known *k)
{
    qdq_facts_close(k->f);
    qdq_model_free(k->m);
}

/* A value of any graph of the model. */
static qdq_value *value(const known *k, const char *name)
{
    QDQ_FOR_GRAPHS (g, k->m)
        if (qdq_graph_find(g, name) != NULL)
            return qdq_graph_find(g, name);
    fail_msg("no value '%s'", name);
    return NULL;
}

static void assert_type(const known *k, const char *name, const char *type)
{
    const char *got = test_type_of(qdq_facts_type(k->f, value(k, name)));

    if (strcmp(got, type) != 0)
        fail_msg("'%s' is %s, want %s", name, got, type);
}

/* "2,N,?" for rank 1, "(3)" for rank 0, "-" where nothing is known. */
static const char *elems_text(const known *k, const char *name)
{
    static char text[512];
    qdq_fact_elem e[64];
    int rank = -1, n = -1;
    size_t at = 0;

    if (!qdq_facts_elems(k->f, value(k, name), 64, &rank, &n, e))
        return "-";
    assert_true(rank == 1 || (rank == 0 && n == 1));
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", i > 0 ? "," : rank == 0 ? "(" : "");
        if (e[i].known)
            at += (size_t)snprintf(text + at, sizeof text - at, "%lld", (long long)e[i].value);
        else
            at +=
                (size_t)snprintf(text + at, sizeof text - at, "%s", e[i].symbol != NULL ? e[i].symbol : "?");
    }
    snprintf(text + at, sizeof text - at, "%s", rank == 0 ? ")" : "");
    return text;
}

static void assert_elems(const known *k, const char *name, const char *want)
{
    const char *got = elems_text(k, name);

    if (strcmp(got, want) != 0)
        fail_msg("'%s' has elements %s, want %s", name, got, want);
}

/* The elements of value `s`, for a graph of these inputs, initializers and nodes. */
static void elements(int opset, const char *inputs, const char *inits, const char *nodes, const char *want)
{
    char text[2048];
    known k;

    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : %d]> g (%s) => (s) <%s> { %s }", opset,
             inputs, inits, nodes);
    k = know(text);
    if (strcmp(elems_text(&k, "s"), want) != 0)
        fail_msg("opset %d: %s: got %s, want %s", opset, nodes, elems_text(&k, "s"), want);
    forget(&k);
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* --- types ------------------------------------------------------------------------------------------------------- */

static void types_follow_from_graph_inputs(void **state)
{
    (void)state;
    known k = know(HEAD "g (float[N,3,?] x) => (y) <float[3,1] w = {1, 2, 3}> { a = Relu(x) b = Mul(a, w) y "
                        "= Reshape(b, s) s = Shape(x) }");

    assert_type(&k, "x", "float[N,3,?]");
    assert_type(&k, "b", "float[N,3,?]");
    assert_type(&k, "y", "float[N,3,?]");
    assert_type(&k, "w", "float[3,1]");
    assert_type(&k, "s", "int64[3]");
    assert_null(value(&k, "y")->type);
    forget(&k);
}

static void claims_of_the_file_are_no_proof(void **state)
{
    (void)state;
    known k = know(HEAD "g (float[N,3] x, int64[r] r) => (float[7,3] y, float[2,2] z, float[N,9] t) "
                        "<float[N,3] u, float[4,4] v> "
                        "{ u = a.Unknown(x) y = Relu(u) v = Reshape(x, r) z = Neg(v) t = Abs(x) }");

    assert_type(&k, "u", "-");
    assert_type(&k, "y", "-");
    assert_type(&k, "v", "float[]");
    assert_type(&k, "z", "float[]");
    assert_type(&k, "t", "float[N,3]");
    assert_false(qdq_facts_same_type(k.f, value(&k, "x"), value(&k, "u")));
    assert_int_equal(value(&k, "u")->type->rank, 2); /* what is written stays */
    forget(&k);
}

static void claims_about_inputs_of_bodies_are_no_proof(void **state)
{
    (void)state;
    known k = know(
        HEAD "g (int64 n, bool c, float[r] x) => (y) { u = a.Unknown(x) y = Loop<body = b (int64 i, "
             "bool k, float[3] s) => (bool k2, float[3] t) { k2 = Identity(k) t = Relu(s) }>(n, c, u) }");

    assert_type(&k, "s", "-");
    assert_type(&k, "t", "-");
    assert_type(&k, "y", "-");
    assert_type(&k, "k2", "bool");
    forget(&k);
}

static void an_input_with_a_default_is_what_the_file_and_the_default_say(void **state)
{
    (void)state;
    qdq_model *m =
        test_model(HEAD "g (float[N] x) => (y) <float[3] a = {1, 2, 3}, float[2] b = {1, 2}, float[2] c "
                        "= {1, 2}, float[2] d = {5, 6}> { y = Sum(a, b, c, d) }");
    qdq_dim four = {4, NULL};
    qdq_value *d;
    known k;

    for (const char *each = "abcd"; *each != '\0'; each++) {
        char name[2] = {*each, '\0'};

        d = qdq_graph_find(m->graph, name);
        assert_true(qdq_graph_make_input(m->graph, d));
        assert_null(qdq_value_const(d));
    }
    qdq_value_set_type(qdq_graph_find(m->graph, "a"), qdq_type_fixed(m, QDQ_FLOAT, 1, &(int64_t){3}));
    qdq_value_set_type(qdq_graph_find(m->graph, "b"), qdq_graph_find(m->graph, "x")->type);
    qdq_value_set_type(qdq_graph_find(m->graph, "c"), qdq_type_tensor(m, QDQ_FLOAT, 1, &four));
    qdq_value_set_type(d, NULL);
    k = know_model(m);
    assert_type(&k, "a", "float[3]");
    assert_type(&k, "b", "float[N]");
    assert_type(&k, "c", "-"); /* declared 4, given 2 */
    assert_type(&k, "d", "-"); /* not declared: a caller may give anything */
    assert_elems(&k, "a", "-");
    forget(&k);

    /* below IR 4 these are constants */
    k = know("<ir_version: 3, opset_import: [\"\" : 8]> g (float[4] c) => (y) <float[2] c = {1, 2}> { y = "
             "Relu(c) }");
    assert_type(&k, "c", "float[2]");
    assert_type(&k, "y", "float[2]");
    forget(&k);
}

static void a_node_that_cannot_be_right_gives_nothing(void **state)
{
    (void)state;
    known k = know(HEAD "g (float[2,3] x, float[4,5] z) => (float[2,5] y) <int64[2] p = {4, 4}> { m = "
                        "MatMul(x, z) y = Relu(m) r = Reshape(x, p) q = Relu(r) t = "
                        "Transpose<perm = [0, 0]>(x) u = Shape(t) w = Neg(x) }");

    assert_type(&k, "m", "-");
    assert_type(&k, "y", "-");
    assert_type(&k, "r", "-");
    assert_type(&k, "q", "-");
    assert_type(&k, "t", "-");
    assert_type(&k, "u", "int64[?]");
    assert_type(&k, "w", "float[2,3]");
    forget(&k);
}

static void same_types_have_the_same_dims_by_number_or_name(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (float[N,3] a, float[N,3] b, float[M,3] c, float[?,3] d, double[N,3] e, float[N] f, "
                  "float u) => (y) { y = Relu(a) z = Relu(d) v = Neg(u) w = a.Unknown(u) }");

    assert_true(qdq_facts_same_type(k.f, value(&k, "a"), value(&k, "b")));
    assert_true(qdq_facts_same_type(k.f, value(&k, "a"), value(&k, "y")));
    assert_true(qdq_facts_same_type(k.f, value(&k, "u"), value(&k, "v")));
    for (const char *other = "cdefuw"; *other != '\0'; other++) {
        char name[2] = {*other, '\0'};

        assert_false(qdq_facts_same_type(k.f, value(&k, "a"), value(&k, name)));
    }
    /* equal at heart, but two unknown dims are two */
    assert_false(qdq_facts_same_type(k.f, value(&k, "d"), value(&k, "z")));
    forget(&k);
}

/* --- bodies ------------------------------------------------------------------------------------------------------ */

static void facts_in_a_loop_hold_in_every_iteration(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (int64 n, bool c, float[N,3] x) => (y, z, w) <int64 zero = {0}, int64 one = {1}, "
                  "int64[1] a = {0}> {"
                  " y, z, w = Loop<body = b (i, k, s, t, u) => (k2, s2, t2, u2) {"
                  "   k2 = Identity(k) s2 = Concat<axis = 0>(s, s) t2 = Add(t, one) u2 = Relu(u) h = Shape(u)"
                  "   j = Add(i, zero) q = Unsqueeze(t, a) outer = Shape(x) }>(n, c, x, zero, x) }");

    assert_type(&k, "s", "float[?,3]"); /* grows */
    assert_type(&k, "u", "float[N,3]"); /* does not */
    assert_type(&k, "t", "int64");
    assert_elems(&k, "i", "-");
    assert_elems(&k, "j", "-");
    assert_elems(&k, "t", "-"); /* 0 at first */
    assert_elems(&k, "t2", "-");
    assert_elems(&k, "q", "-");
    assert_elems(&k, "h", "N,3");
    assert_elems(&k, "outer", "N,3");
    assert_type(&k, "y", "float[?,3]");
    assert_elems(&k, "z", "-");
    forget(&k);
}

static void a_loop_counter_that_is_declared_as_a_vector_may_be_one(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (int64 n, bool c, float[N] x) => (y) { y = Loop<body = b (int64[1] i, bool k, s) => "
                  "(k2, t) { k2 = Identity(k) t = Relu(s) j = Neg(i) }>(n, c, x) }");

    assert_type(&k, "i", "int64[]");
    assert_type(&k, "j", "int64[]");
    assert_type(&k, "k", "bool");
    forget(&k);
}

static void facts_in_a_scan_hold_in_every_step(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (float[3] s0, float[N,3] x) => (s1, y) { s1, y = Scan<num_scan_inputs = 1, body = b "
                  "(s, e) => (t, o) { t = Add(s, e) o = Shape(t) }>(s0, x) }");

    assert_type(&k, "e", "float[3]");
    assert_elems(&k, "o", "3");
    assert_type(&k, "y", "int64[N,1]");
    forget(&k);
}

/* The outer loop goes round twice, the second time knowing less; what the first time found inside is gone. */
static void facts_in_loops_inside_loops_hold_in_every_iteration(void **state)
{
    (void)state;
    known k = know(HEAD "g (int64 n, bool c, float[2,3] x, float[4,2] w) => (y, z) {"
                        " y, z = Loop<body = b (i, k, s, e) => (k2, s2, e2) { k2 = Identity(k)"
                        "   r, p = Scan<num_scan_inputs = 1, body = v (q, a) => (q2, a2) { q2 = Identity(q) "
                        "a2 = Relu(a) }, scan_input_axes = [1]>(x, s) s2 = ReduceMax<axes = [1], keepdims = "
                        "0>(s) e2 = Identity(e) }>(n, c, x, w) }");

    assert_type(&k, "e2", "float[4,2]");
    assert_type(&k, "q2", "float[2,3]");
    assert_type(&k, "s", "float[]");
    assert_type(&k, "a", "float[]");
    assert_type(&k, "a2", "float[]");
    assert_type(&k, "p", "float[]");
    forget(&k);
}

static void only_the_branch_that_is_taken_is_known(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (float[2,3] x, bool c) => (y, z) <int64 i = {0}, int64 two = {2}> { h = Shape(x) d = "
                  "Gather(h, i) e = Equal(d, two) y = If<then_branch = t () => (p) { p = Relu(x) }, "
                  "else_branch = f () => (q) { q = Neg(x) }>(e) z = If<then_branch = t () => (p2) { p2 = "
                  "Relu(x) }, else_branch = f () => (q2) { q2 = Neg(x) }>(c) }");

    assert_type(&k, "p", "float[2,3]");
    assert_type(&k, "q", "-");
    assert_type(&k, "p2", "float[2,3]");
    assert_type(&k, "q2", "float[2,3]");
    assert_type(&k, "y", "float[2,3]");
    forget(&k);
}

static void bodies_of_functions_have_no_facts_but_constants(void **state)
{
    (void)state;
    known k = know(
        "<ir_version: 8, opset_import: [\"\" : 17, \"a\" : 1]> g (float[N,3] x) => (y) { y = a.F(x) }"
        " <domain: \"a\", opset_import: [\"\" : 17]> F (p) => (q) { c = Constant<value = int64[2] {4, "
        "5}>() r = Relu(p) h = Shape(r) q = If<then_branch = t () => (o) { o = Neg(r) }, else_branch = e "
        "() => (o2) { o2 = Relu(r) }>(b) b = Constant<value = bool {1}>() }");

    assert_type(&k, "y", "float[N,3]");
    assert_type(&k, "p", "-");
    assert_type(&k, "r", "-");
    assert_type(&k, "q", "-");
    assert_type(&k, "o", "-");
    assert_elems(&k, "h", "-");
    assert_type(&k, "c", "int64[2]");
    assert_elems(&k, "c", "4,5");
    forget(&k);
}

/* --- elements of shape arithmetic ------------------------------------------------------------------------------- */

/* optimizer 3: each operator of its list */
static void shape_arithmetic_is_followed(void **state)
{
    (void)state;
    elements(17, "float[N,3,5] x", "", "s = Shape(x)", "N,3,5");
    elements(17, "float[N,3,?] x", "", "s = Shape(x)", "N,3,?");
    elements(17, "float x", "", "s = Shape(x)", "");
    elements(17, "float[4,3,5] x", "", "s = Size(x)", "(60)");
    elements(17, "float[N,1] x", "", "s = Size(x)", "(N)");
    elements(17, "float[4294967296,4294967296] x", "", "s = Size(x)", "-");
    elements(17, "float[4294967296,4294967296,0] x", "", "s = Size(x)", "(0)");
    elements(17, "float[N,3] x", "int64 i = {0}", "h = Shape(x) s = Gather(h, i)", "(N)");
    elements(17, "float[N,3] x", "int64 i = {-1}", "h = Shape(x) s = Gather<axis = 0>(h, i)", "(3)");
    elements(17, "float[N,3] x", "int64 i = {2}", "h = Shape(x) s = Gather(h, i)", "-");
    elements(17, "float[N,3] x", "int64[2] i = {1, 0}", "h = Shape(x) s = Gather(h, i)", "3,N");
    elements(17, "float[N,3] x", "int64[1] a = {0}, int64 i = {0}",
             "h = Shape(x) g = Gather(h, i) s = Unsqueeze(g, a)", "N");
    elements(11, "float[N,3] x", "int64 i = {0}",
             "h = Shape(x) g = Gather(h, i) s = Unsqueeze<axes = [0]>(g)", "N");
    elements(17, "float[N,3] x", "int64[1] a = {0}", "h = Shape<start = 0, end = 1>(x) s = Squeeze(h, a)",
             "(N)");
    elements(17, "float[N] x", "", "h = Shape(x) s = Squeeze(h)", "(N)");
    elements(17, "float[N,3] x", "int64[2] p = {2, 1}", "h = Shape(x) s = Reshape(h, p)", "-"); /* rank 2 */
    elements(17, "float[N,3] x", "int64[2] p = {2, 1}, int64[1] m = {-1}",
             "h = Shape(x) r = Reshape(h, p) s = Reshape(r, m)", "N,3");
    elements(17, "float[N,3,5] x", "int64[1] b = {1}, int64[1] e = {9}", "h = Shape(x) s = Slice(h, b, e)",
             "3,5");
    elements(17, "float[N,3,5] x", "int64[1] b = {-1}, int64[1] e = {-9}, int64[1] a = {0}",
             "h = Shape(x) s = Slice(h, b, e, a, b)", "5,3,N");
    elements(9, "float[N,3,5] x", "", "h = Shape(x) s = Slice<starts = [0], ends = [-1]>(h)", "N,3");
    elements(17, "float[N,3] x", "int64[1] k = {-1}", "h = Shape(x) s = Concat<axis = 0>(h, k)", "N,3,-1");
    elements(17, "float[N,3] x", "int64[1] k = {-1}", "h = Shape(x) s = Concat<axis = -1>(k, h)", "-1,N,3");
    elements(17, "float[N,3,5] x", "int64[2] k = {1, 2}", "h = Shape(x) a, s = Split(h, k)", "3,5");
    elements(18, "float[N,3,5] x", "", "h = Shape(x) a, s = Split<num_outputs = 2>(h)", "5");
    elements(17, "float[N,3] x", "", "h = Shape(x) c = Cast<to = 6>(h) s = Cast<to = 7>(c)", "N,3");
    elements(17, "float[N,3] x", "", "h = Shape(x) s = Abs(h)", "N,3");
    elements(17, "float[N,?] x", "", "h = Shape(x) s = Identity(h)", "N,?");
    elements(17, "", "int64[2] k = {-7, 7}", "s = Abs(k)", "7,7");
    elements(17, "", "int64 a = {60}, int64 b = {-4}, int64 c = {-1}", "d = Range(a, b, c) s = Neg(d)",
             "-60,-59,-58,-57,-56,-55,-54,-53,-52,-51,-50,-49,-48,-47,-46,-45,-44,-43,-42,-41,-40,-39,-38,-"
             "37,-36,-35,"
             "-34,-33,-32,-31,-30,-29,-28,-27,-26,-25,-24,-23,-22,-21,-20,-19,-18,-17,-16,-15,-14,-13,-12,-"
             "11,-10,-9,-"
             "8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3");
    elements(17, "", "int64 a = {0}, int64 b = {65}, int64 c = {1}", "s = Range(a, b, c)", "-");
    elements(17, "float[N] x", "int64 a = {0}, int64 c = {1}",
             "h = Shape(x) b = Squeeze(h) s = Range(a, b, c)", "-");
    elements(17, "float[4,N] x", "",
             "r = Shape(x) h = Shape(r) s = ConstantOfShape<value = int64[1] {-1}>(h)", "-1,-1");
    elements(17, "float[N,3] x", "int64[2] w = {-1, 3}, int64 m = {-1}",
             "h = Shape(x) e = Equal(w, m) s = Where(e, h, w)", "N,3");
    elements(17, "float[N,3] x, bool c", "", "h = Shape(x) s = Where(c, h, h)", "N,3");
    elements(17, "float[N,3] x, bool c", "int64[2] k = {9, 3}", "h = Shape(x) s = Where(c, h, k)", "?,3");
    elements(17, "float[N,3] x, bool c, int64[2] u", "", "h = Shape(x) s = Where(c, h, u)", "-");
    elements(17, "float[N,6] x", "int64 k = {2}", "h = Shape(x) s = Mul(h, k)", "2*N,12");
    elements(17, "float[N,6] x", "int64 k = {1}", "h = Shape(x) s = Mul(h, k)", "N,6");
    elements(17, "float[N,6] x", "int64 k = {8}", "h = Shape(x) s = Sub(h, k)", "?,-2");
    elements(17, "float[N,6] x", "", "h = Shape(x) s = Sub(h, h)", "0,0");
    elements(17, "float[N,7] x", "int64 k = {-2}", "h = Shape(x) s = Div(h, k)", "?,-3");
    elements(17, "float[N,7] x", "int64 k = {0}", "h = Shape(x) s = Div(h, k)", "-");
    elements(17, "float[N,7] x", "int64 k = {-2}", "h = Shape(x) s = Min(h, k)", "-2,-2");
    elements(17, "float[N,7] x", "int64 k = {0}", "h = Shape(x) s = Max(h, k)", "N,7");
    elements(17, "float[N,7] x", "int64 k = {3}", "h = Shape(x) s = Add(h, k)", "N+3,10");
    elements(17, "float[N,7] x, int64[2] u", "", "h = Shape(x) s = Add(h, u)", "-");
}

/* optimizer 3, Add: a+b is b+a */
static void sums_and_products_of_symbols_have_one_name(void **state)
{
    (void)state;
    elements(17, "float[N,M] x", "",
             "a, b = Split(h) h = Shape(x) c = Add(a, b) d = Add(b, a) s = Concat<axis = 0>(c, d)",
             "M+N,M+N");
    elements(17, "float[N,M] x", "", "h = Shape(x) s = ReduceProd<keepdims = 1>(h)", "M*N");
    elements(17, "float[N,3,M,5] x", "", "s = Size(x)", "(15*M*N)");
    elements(17, "float[N,M] x", "int64 k = {2}",
             "h = Shape(x) a = Mul(h, k) b = Add(a, k) c = Mul(b, b) s = Sub(c, a)",
             "4*N*N+6*N+4,4*M*M+6*M+4");
    elements(17, "float[N] x", "int64 k = {12}",
             "h = Shape(x) a = Mul(h, k) b = Div(a, k) c = Div(a, h) s = Concat<axis = 0>(b, c)", "N,12");
    elements(17, "float[N] x", "int64 k = {12}, int64 l = {5}", "h = Shape(x) a = Mul(h, k) s = Div(a, l)",
             "-");
    elements(17, "float[N] x", "int64 k = {1}",
             "h = Shape(x) a = Add(h, k) b = Sub(a, h) c = Sub(a, k) s = Concat<axis = 0>(b, c)", "1,N");
    /* N - 1 may be below zero, and -1 has a meaning in shapes */
    elements(17, "float[N] x", "int64 k = {1}", "h = Shape(x) s = Sub(h, k)", "-");
    elements(17, "float[N] x", "int64 k = {-1}", "h = Shape(x) s = Mul(h, k)", "-");
    elements(17, "float[N] x", "int64 k = {9223372036854775807}", "h = Shape(x) a = Mul(h, k) s = Add(a, a)",
             "-");
    elements(17, "float[N] x", "int64[1] k = {2}",
             "h = Shape(x) c = Cast<to = 6>(h) d = Cast<to = 6>(k) s = Mul(c, d)", "-");
    elements(17, "float[A,B,C,D,E] x", "", "s = Size(x)", "-"); /* long */
    elements(17, "float[A,B,C,D] x", "", "s = Size(x)", "(A*B*C*D)");
    elements(17, "float[A,B,C,D,E,F,G,H,I] x", "", "h = Shape(x) s = ReduceSum<keepdims = 0>(h)", "-");
}

static void names_that_look_like_sums_are_names(void **state)
{
    (void)state;
    known k =
        know_model(test_model(HEAD "g (float[N] x, float[P] z, float[Q] u) => (s) <int64 one = {1}> { h = "
                                   "Shape(x) s = Add(h, one) i = Shape(z) t = Add(i, one) }"));
    qdq_dim dim = {-1, NULL};
    qdq_model *m = k.m;

    assert_elems(&k, "s", "N+1");
    qdq_facts_close(k.f);
    dim.param = qdq_intern(m, "N+1"); /* somebody called a dim that */
    qdq_value_set_type(value(&k, "z"), qdq_type_tensor(m, QDQ_FLOAT, 1, &dim));
    k = know_model(m);
    assert_elems(&k, "s", "-");
    assert_elems(&k, "i", "N+1");
    assert_elems(&k, "t", "-"); /* N+1+1 would say that it is N and 2 */
    forget(&k);
}

static void shapes_follow_sums_of_symbols(void **state)
{
    (void)state;
    known k = know(
        HEAD "g (float[N,S,12,64] x, float[N,1,768] c) => (y) <int64[2] f = {-1, 64}, int64[4] b = {-1, 1, "
             "12, 64}, "
             "int64[3] three = {0, 0, -1}> { a = Reshape(x, f) y = Reshape(a, b) t = Reshape(x, three) u = "
             "Concat<axis = 1>(c, t) v = Flatten(x) w = Shape(u) z = Reshape(x, z0) z0 = Shape(x) }");

    assert_type(&k, "a", "float[12*N*S,64]");
    assert_type(&k, "y", "float[N*S,1,12,64]");
    assert_type(&k, "t", "float[N,S,768]");
    assert_type(&k, "u", "float[N,S+1,768]");
    assert_type(&k, "v", "float[N,768*S]");
    assert_elems(&k, "w", "N,S+1,768");
    assert_type(&k, "z", "float[N,S,12,64]");
    assert_null(value(&k, "a")->type);
    forget(&k);
}

static void what_is_not_exact_is_not_known(void **state)
{
    (void)state;
    /* above 2^24 the float is another number */
    elements(17, "float[N,3] x", "", "h = Shape(x) f = Cast<to = 1>(h) s = Cast<to = 7>(f)", "?,3");
    elements(17, "float[N,3] x", "", "h = Shape(x) f = Cast<to = 1>(h) d = Div(f, f) s = Cast<to = 7>(d)",
             "?,1");
    elements(17, "", "int64 k = {9007199791611905}", "f = Cast<to = 1>(k) s = Cast<to = 7>(f)",
             "(9007200328482816)");
    elements(17, "", "double k = {16777217}", "s = Cast<to = 7>(k)", "(16777217)");
    elements(17, "", "uint64[2] k = {18446744073709551615, 5}", "s = Identity(k)", "?,5");
    elements(17, "", "uint64[1] k = {18446744073709551615}, uint64[1] o = {1}",
             "g = Greater(k, o) s = Cast<to = 7>(g)", "-");
    elements(17, "", "float[3] k = {1, 2, 3}", "r = ReduceSum<keepdims = 0>(k) s = Cast<to = 7>(r)", "-");
    elements(17, "", "int64[3] k = {1, 2, 3}", "s = ReduceSum<keepdims = 0>(k)", "(6)");
    elements(17, "", "int32[1] k = {2147483647}", "s = Add(k, k)", "-");
}

static void at_most_as_many_elements_as_asked_for(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (float[N,3,4] x) => (s) <int64[3] c = {1, 2, 3}, float[2] f = {1, 2}, int64[0] e> { s "
                  "= Shape(x) }");
    qdq_fact_elem e[3];
    int rank, n;

    assert_false(qdq_facts_elems(k.f, value(&k, "s"), 2, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, value(&k, "s"), 3, &rank, &n, e));
    assert_int_equal(n, 3);
    assert_false(qdq_facts_elems(k.f, value(&k, "c"), 2, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, value(&k, "c"), 3, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, value(&k, "c"), 3, &rank, &n, e)); /* and again */
    assert_int_equal(e[2].value, 3);
    assert_elems(&k, "f", "-"); /* no integers */
    forget(&k);
}

/* --- elements as tensors ---------------------------------------------------------------------------------------- */

static void known_elements_become_a_tensor(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (float[2,3] x, float[N] z) => (y) <int64[2] c = {-1, 5}, float[2] two = {2, -2}, "
                  "float16[1] h = {1.5}, int64[2] p = {2, 1}> { s = Shape(x) r = Mul(s, c) t = Reshape(r, p)"
                  " f = Cast<to = 1>(s) d = Div(f, two) b = Greater(s, c) u = Shape(z) j = Identity(h) g = "
                  "Shape(o) o = ReduceMax<keepdims = 0>(z) y = Concat<axis = 0>(s, u) i = Cast<to = 6>(r) }");
    qdq_status st = QDQ_E_NOMEM;
    qdq_tensor *t;
    float f[2];

    t = qdq_facts_tensor(k.f, value(&k, "r"), &st);
    assert_non_null(t);
    assert_int_equal(st, QDQ_OK);
    assert_int_equal(t->elem, QDQ_INT64);
    assert_memory_equal(t->bytes.data, ((int64_t[]){-2, 15}), 16);
    t = qdq_facts_tensor(k.f, value(&k, "t"), &st);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 2);
    t = qdq_facts_tensor(k.f, value(&k, "i"), &st);
    assert_int_equal(t->elem, QDQ_INT32);
    assert_memory_equal(t->bytes.data, ((int32_t[]){-2, 15}), 8);
    t = qdq_facts_tensor(k.f, value(&k, "d"), &st);
    memcpy(f, t->bytes.data, sizeof f);
    assert_true(f[0] == 1.0F && f[1] == -1.5F);
    t = qdq_facts_tensor(k.f, value(&k, "b"), &st);
    assert_memory_equal(t->bytes.data, "\1\0", 2);
    t = qdq_facts_tensor(k.f, value(&k, "j"), &st);
    assert_int_equal(t->elem, QDQ_FLOAT16);
    assert_memory_equal(t->bytes.data, "\0\76", 2);
    t = qdq_facts_tensor(k.f, value(&k, "g"), &st); /* of a scalar: no elements */
    assert_int_equal(t->count, 0);
    assert_null(qdq_facts_tensor(k.f, value(&k, "u"), &st)); /* a symbol */
    assert_null(qdq_facts_tensor(k.f, value(&k, "y"), &st)); /* one of three */
    assert_null(qdq_facts_tensor(k.f, value(&k, "c"), &st)); /* a constant already */
    assert_null(qdq_facts_tensor(k.f, value(&k, "x"), &st));
    assert_int_equal(st, QDQ_OK);
    forget(&k);
}

static void zeros_keep_their_sign(void **state)
{
    (void)state;
    known k = know(
        HEAD "g (float[2] x) => (y) <float[1] m = {-0.0}, float[1] z = {0.0}> { y = Add(m, z) w = Add(m, "
             "m) }");
    qdq_status st;
    qdq_tensor *t = qdq_facts_tensor(k.f, value(&k, "y"), &st);

    assert_memory_equal(t->bytes.data, "\0\0\0\0", 4);
    t = qdq_facts_tensor(k.f, value(&k, "w"), &st);
    assert_memory_equal(t->bytes.data, "\0\0\0\x80", 4);
    forget(&k);
}

/* --- while the model changes ---------------------------------------------------------------------------------------- */

static void newer_values_have_the_type_that_the_edit_gave(void **state)
{
    (void)state;
    known k = know(HEAD "g (float[N,3] x) => (y) { s = Shape(x) y = Relu(x) }");
    qdq_graph *g = k.m->graph;
    int64_t dim = 2, data[] = {4, 5};
    const qdq_type *type = qdq_type_fixed(k.m, QDQ_FLOAT, 1, &dim);
    qdq_value *v = qdq_graph_add_value(g, "new", type), *w = qdq_graph_add_value(g, "bare", NULL), *c;
    qdq_fact_elem e[2];
    int rank, n;

    assert_non_null(v);
    assert_ptr_equal(qdq_facts_type(k.f, v), type);
    assert_null(qdq_facts_type(k.f, w));
    assert_false(qdq_facts_elems(k.f, v, 2, &rank, &n, e));
    c = qdq_graph_add_init(g, "const", qdq_tensor_of_ints(k.m, 1, &dim, data));
    assert_type(&k, "const", "int64[2]");
    assert_ptr_equal(qdq_facts_type(k.f, c), qdq_facts_type(k.f, c));
    assert_elems(&k, "const", "4,5");
    forget(&k);
}

static void a_newer_value_that_became_a_graph_output_has_a_claim_for_a_type(void **state)
{
    (void)state;
    known k = know(HEAD "g (float[N,3] x) => (float[7] y) { y = Relu(x) }");
    qdq_graph *g = k.m->graph;
    qdq_node *n = qdq_graph_add_node(g, NULL, "", "Neg", "", 1, 1, (const char *const[]){"new"});

    qdq_node_set_in(n, 0, value(&k, "x"));
    assert_true(qdq_value_replace(value(&k, "y"), n->out[0]));
    assert_non_null(n->out[0]->type);
    assert_null(qdq_facts_type(k.f, n->out[0]));
    forget(&k);
}

static void a_value_that_was_folded_is_what_its_data_says(void **state)
{
    (void)state;
    known k =
        know(HEAD "g (float[N,3] x, int64[2] i) => (y) { s = a.Unknown(x) r = Shape(x) y = Gather(r, i) }");
    int64_t dim = 1, data = 6;
    qdq_value *s = value(&k, "s");
    qdq_node *n = s->producer;

    assert_type(&k, "s", "-");
    qdq_value_detach(s);
    qdq_node_remove(n);
    assert_true(qdq_value_set_init(s, qdq_tensor_of_ints(k.m, 1, &dim, &data)));
    assert_type(&k, "s", "int64[1]");
    assert_elems(&k, "s", "6");
    assert_type(&k, "y", "int64[2]");
    forget(&k);
}

static void values_of_new_graphs_are_newer(void **state)
{
    (void)state;
    known k = know(HEAD "g (bool c, float[N] x) => (y) { y = Relu(x) }");
    qdq_node *n = qdq_graph_add_node(k.m->graph, NULL, "", "If", "if", 1, 1, (const char *const[]){"z"});
    qdq_graph *body = qdq_graph_new(k.m, n, "body");
    int64_t dim = 2;
    const qdq_type *type = qdq_type_fixed(k.m, QDQ_FLOAT, 1, &dim);

    assert_ptr_equal(qdq_facts_type(k.f, qdq_graph_add_value(body, "inner", type)), type);
    assert_null(qdq_facts_type(k.f, value(&k, "z")));
    forget(&k);
}

static void a_cycle_is_refused(void **state)
{
    (void)state;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(HEAD "g (float x) => (a) { a = Add(x, b) b = Relu(a) }");
    qdq_facts *f = (qdq_facts *)m;

    assert_fails(QDQ_E_FORMAT, "cycle", qdq_facts_open(m, NULL, &f, &err));
    assert_null(f);
    assert_int_equal(qdq_facts_open(m, NULL, &f, NULL), QDQ_E_FORMAT);
    qdq_facts_close(NULL);
    qdq_model_free(m);
}

/* --- many nodes ------------------------------------------------------------------------------------------------------- */

/* s = Shape(x); then s = Add(s, one) n times. */
static qdq_model *chain(int n)
{
    qdq_model *m = test_model(HEAD "g (float[N,3] x) => (s) <int64 one = {1}> { s = Shape(x) }");
    qdq_value *last = qdq_graph_find(m->graph, "s"), *one = qdq_graph_find(m->graph, "one");

    for (int i = 0; i < n; i++) {
        char name[32];
        qdq_node *add;

        snprintf(name, sizeof name, "s%d", i);
        add = qdq_graph_add_node(m->graph, NULL, "", "Add", "", 2, 1, (const char *const[]){name});
        qdq_node_set_in(add, 0, last);
        qdq_node_set_in(add, 1, one);
        last = add->out[0];
    }
    return m;
}

static double seconds_for(int n)
{
    double best = 1e9;

    for (int round = 0; round < 3; round++) {
        qdq_model *m = chain(n);
        clock_t start = clock();
        known k = know_model(m);
        double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        char name[32], want[32];

        snprintf(name, sizeof name, "s%d", n - 1);
        /* sums are made for a while, and then no more */
        snprintf(want, sizeof want, "?,%d", 3 + n);
        assert_elems(&k, name, want);
        best = took < best ? took : best;
        forget(&k);
    }
    return best;
}

static void chains_take_time_in_proportion_to_their_length(void **state)
{
    (void)state;
    double small = seconds_for(5000), large = seconds_for(50000);

    print_message("5,000 nodes: %.2f ms, 50,000 nodes: %.2f ms\n", small * 1e3, large * 1e3);
    assert_true(large < 40 * small + 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_follow_from_graph_inputs),
        cmocka_unit_test(claims_of_the_file_are_no_proof),
        cmocka_unit_test(claims_about_inputs_of_bodies_are_no_proof),
        cmocka_unit_test(an_input_with_a_default_is_what_the_file_and_the_default_say),
        cmocka_unit_test(a_node_that_cannot_be_right_gives_nothing),
        cmocka_unit_test(same_types_have_the_same_dims_by_number_or_name),
        cmocka_unit_test(facts_in_a_loop_hold_in_every_iteration),
        cmocka_unit_test(a_loop_counter_that_is_declared_as_a_vector_may_be_one),
        cmocka_unit_test(facts_in_a_scan_hold_in_every_step),
        cmocka_unit_test(facts_in_loops_inside_loops_hold_in_every_iteration),
        cmocka_unit_test(only_the_branch_that_is_taken_is_known),
        cmocka_unit_test(bodies_of_functions_have_no_facts_but_constants),
        cmocka_unit_test(shape_arithmetic_is_followed),
        cmocka_unit_test(sums_and_products_of_symbols_have_one_name),
        cmocka_unit_test(names_that_look_like_sums_are_names),
        cmocka_unit_test(shapes_follow_sums_of_symbols),
        cmocka_unit_test(what_is_not_exact_is_not_known),
        cmocka_unit_test(at_most_as_many_elements_as_asked_for),
        cmocka_unit_test(known_elements_become_a_tensor),
        cmocka_unit_test(zeros_keep_their_sign),
        cmocka_unit_test(newer_values_have_the_type_that_the_edit_gave),
        cmocka_unit_test(a_newer_value_that_became_a_graph_output_has_a_claim_for_a_type),
        cmocka_unit_test(a_value_that_was_folded_is_what_its_data_says),
        cmocka_unit_test(values_of_new_graphs_are_newer),
        cmocka_unit_test(a_cycle_is_refused),
        cmocka_unit_test(chains_take_time_in_proportion_to_their_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
