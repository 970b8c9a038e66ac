/* text_rules.c - see the header. */
#include "text/text_rules.h"

#include "base/buf.h"
#include "support/ruled.h"

/* --- what they ask for and build -------------------------------------------------------------- */

static qdq_status to_abs(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Abs", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

static const char *not_behind_relu(const qdq_match *m)
{
    const qdq_value *x = qdq_match_value(m, "x");

    return x->producer != NULL && x->producer->op == QDQ_OP_RELU ? "behind Relu" : NULL;
}

static const char *not_this(const qdq_match *m)
{
    (void)m;
    return qdq_not_this;
}

static qdq_status add_a_constant(qdq_match *m, qdq_error *err)
{
    static const int64_t two[] = {2, 3};
    qdq_value *in[] = {qdq_match_value(m, "x"), qdq_match_add_ints(m, "numbers", 2, two)};

    return in[1] != NULL ? qdq_match_recast(m, "Add", 2, in, err) : qdq_nomem(err);
}

static qdq_status leave_out_a_bound(qdq_match *m, qdq_error *err)
{
    qdq_value *in[] = {qdq_match_value(m, "x"), NULL, qdq_match_value(m, "lo")};

    return qdq_match_recast(m, "Clip", 3, in, err);
}

/* --- patterns --------------------------------------------------------------------------------- */

static const qdq_pat neg[] = {{"y", QDQ_OP_NEG, {"x"}, 0}},
                     abs_of[] = {{"y", QDQ_OP_ABS, {"x"}, 0}},
                     dropout[] = {{"y", QDQ_OP_DROPOUT, {"x"}, 0}},
                     thresholded[] = {{"y", QDQ_OP_THRESHOLDEDRELU, {"x"}, 0}},
                     clip[] = {{"y", QDQ_OP_CLIP, {"x", "lo"}, 0}},
                     relu_neg[] = {{"y", QDQ_OP_RELU, {"n"}, 0}, {"n", QDQ_OP_NEG, {"x"}, 0}},
                     mul_neg[] = {{"y", QDQ_OP_MUL, {"n", "x"}, 0}, {"n", QDQ_OP_NEG, {"t"}, 0}},
                     add_random[] = {{"y", QDQ_OP_ADD, {"r", "x"}, 0},
                                     {"r", QDQ_OP_RANDOMNORMALLIKE, {"z"}, 0}},
                     abs_either[] = {{"y", QDQ_OP_ABS, {"x"}, 0},
                                     {"y", QDQ_OP_ABS, {"n"}, 0},
                                     {"n", QDQ_OP_NEG, {"x"}, 0}};

/* Names say the pattern, from outside, and what becomes of it where that is not x. */
static const struct {
    const char *name;
    qdq_rule rule;
} rules[] = {
    {"neg-marked", RULE_OF(neg, NULL, test_mark)},
    {"neg-not-this", RULE_OF(neg, not_this, test_mark)},
    {"neg-add-constant", RULE_OF(neg, NULL, add_a_constant)},
    {"abs-unless-relu", RULE_OF(abs_of, not_behind_relu, test_become_x)},
    {"abs-or-abs-neg-unless-relu", RULE_OF(abs_either, not_behind_relu, test_become_x)},
    {"relu-neg", RULE_OF(relu_neg, NULL, test_become_x)},
    {"mul-neg", RULE_OF(mul_neg, NULL, test_become_x)},
    {"add-random-marked", RULE_OF(add_random, NULL, test_mark)},
    {"dropout", RULE_OF(dropout, NULL, test_become_x)},
    {"thresholdedrelu-abs", RULE_OF(thresholded, NULL, to_abs)},
    {"clip-moved", RULE_OF(clip, NULL, leave_out_a_bound)},
};

static qdq_rule rule_of(const char *name)
{
    if (strcmp(name, "neg-neg") == 0)
        return test_two_negs;
    if (strcmp(name, "relu-abs-alone") == 0)
        return test_only_relu;
    for (size_t i = 0; i < QDQ_COUNT(rules); i++)
        if (strcmp(rules[i].name, name) == 0)
            return rules[i].rule;
    fail_msg("'%s' is no rule", name);
    return test_two_negs;
}

/* --- a walk ----------------------------------------------------------------------------------- */

/* "neg-neg 3 changes, -6 nodes; neg-neg refused at Abs@b: behind Relu; first Neg@b;". */
static char *describe(const test_ruled *r, const char *const *names, size_t n, bool with_places)
{
    qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < n; i++) {
        const qdq_step_record *p = &r->state.record[i];

        if (p->changes > 0)
            qdq_buf_printf(&to, "%s%s %d change%s, %+d nodes", to.size > 0 ? "; " : "", names[i],
                           (int)p->changes, p->changes == 1 ? "" : "s", (int)p->nodes);
        for (size_t k = 0; k < p->refusals.n; k++) {
            assert_int_equal(p->refusals.at[k].n, 1);
            qdq_buf_printf(&to, "%s%s refused at %s: %s", to.size > 0 ? "; " : "", names[i],
                           p->refusals.at[k].example[0], p->refusals.at[k].reason);
        }
    }
    if (with_places)
        qdq_buf_printf(&to, "; %s", r->where);
    return to.size > 0 ? qdq_buf_take(&to) : NULL;
}

qdq_status text_rules(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_rule rule[TEST_RULES];
    const qdq_rule *at[TEST_RULES];
    const char *names[TEST_RULES];
    char words[512], *rest = NULL;
    uint64_t limit = 0;
    test_ruled r;
    size_t n = 0;

    (void)err;
    assert_true(strlen(arg) < sizeof words);
    strcpy(words, arg);
    for (char *s = strtok_r(words, ", ", &rest); s != NULL; s = strtok_r(NULL, ", ", &rest)) {
        if (strncmp(s, "limit=", 6) == 0) {
            limit = strtoull(s + 6, NULL, 10);
        } else if (strncmp(s, "opset=", 6) == 0) {
            assert_true(n > 0);
            rule[n - 1].min_opset = atoi(s + 6);
        } else if (strcmp(s, "initializers") == 0) {
            assert_true(n > 0);
            rule[n - 1].needs_initializers = true;
        } else {
            assert_true(n < TEST_RULES);
            rule[n] = rule_of(s);
            at[n] = &rule[n];
            names[n++] = s;
        }
    }
    test_run_rules(*m, at, n, limit, &r);
    out->counts = describe(&r, names, n, limit > 0);
    test_free_ruled(&r);
    return QDQ_OK;
}

/* --- one pattern ------------------------------------------------------------------------------ */

/* "y = Add(n, x) commutes; n = Neg(z); where n is q", taken apart in place. */
static struct {
    char text[256];
    qdq_pat pat[QDQ_PAT_ROWS];
    size_t n;
    /* this name is bound to this value */
    const char *name, *value;
    /* of the constants that a match has */
    char numbers[128];
} asked;

static unsigned flag_of(const char *word)
{
    static const char *const words[] = {"only", "commutes", "more"};

    for (unsigned i = 0; i < QDQ_COUNT(words); i++)
        if (strcmp(words[i], word) == 0)
            return 1U << i;
    fail_msg("'%s' is no flag of a row", word);
    return 0;
}

static void read_row(char *row)
{
    qdq_pat *p = &asked.pat[asked.n++];
    char *end = strchr(row, ')'), *rest = NULL;
    size_t n = 0;

    assert_true(asked.n <= QDQ_PAT_ROWS && end != NULL);
    *end = '\0';
    p->bind = strtok_r(row, " =(,", &rest);
    p->op = qdq_op_find("", strtok_r(NULL, " =(,", &rest));
    assert_int_not_equal(p->op, QDQ_OP_UNKNOWN);
    for (char *in; (in = strtok_r(NULL, " =(,", &rest)) != NULL; p->in[n++] = in)
        assert_true(n + 1 < QDQ_PAT_INPUTS);
    for (char *s = strtok_r(end + 1, " ", &rest); s != NULL; s = strtok_r(NULL, " ", &rest))
        p->flags |= flag_of(s);
}

static void read_pattern(const char *arg)
{
    char *rest = NULL;

    memset(&asked, 0, sizeof asked);
    assert_true(strlen(arg) < sizeof asked.text);
    strcpy(asked.text, arg);
    for (char *s = strtok_r(asked.text, ";", &rest); s != NULL; s = strtok_r(NULL, ";", &rest)) {
        char *is = strstr(s, " is "), *where = strstr(s, "where ");

        if (is == NULL || where == NULL) {
            read_row(s);
            continue;
        }
        *is = '\0';
        asked.name = where + strlen("where ");
        asked.value = is + strlen(" is ");
    }
}

static const char *is_another(const qdq_match *m)
{
    return asked.name == NULL || strcmp(qdq_match_value(m, asked.name)->name, asked.value) == 0
               ? NULL
               : "another value";
}

QDQ_PRINTF(1, 2)
static void add_number(const char *fmt, ...)
{
    size_t n = strlen(asked.numbers);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(asked.numbers + n, sizeof asked.numbers - n, fmt, ap);
    va_end(ap);
}

/* "c 7 [7], d [1 2]": what can be read of constants, as one number and as at most 4 integers. */
static qdq_status note_and_mark(qdq_match *m, qdq_error *err)
{
    for (size_t i = 0; i < m->n_names; i++) {
        const char *name = m->name[i] + 1;
        int64_t list[4];
        double x = -1000;
        size_t n;

        if (m->name[i][0] != '#' || strchr(name, '?') != NULL)
            continue;
        add_number("%s%s", asked.numbers[0] != '\0' ? ", " : "", name);
        if (qdq_match_scalar(m, name, &x))
            add_number(" %.17g", x);
        else
            assert_true(x == -1000);
        if (!qdq_match_ints(m, name, QDQ_COUNT(list), list, &n)) {
            assert_int_equal(n, 0);
            continue;
        }
        add_number(" [");
        for (size_t k = 0; k < n; k++)
            add_number("%s%lld", k > 0 ? " " : "", (long long)list[k]);
        add_number("]");
    }
    return test_mark(m, err);
}

qdq_status text_match(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_rule rule = {.pat = asked.pat, .check = is_another, .build = note_and_mark};
    test_ruled r;

    (void)err;
    read_pattern(arg);
    rule.n_pat = asked.n;
    test_run_rules(*m, &(const qdq_rule *){&rule}, 1, 0, &r);
    assert_true(r.state.changes <= 1);
    out->counts = describe(&r, &(const char *){"match"}, 1, false);
    out->findings = asked.numbers[0] != '\0' ? strdup(asked.numbers) : NULL;
    test_free_ruled(&r);
    return QDQ_OK;
}
