/* text_regions.c - see the header. */
#include "text/text_regions.h"

#include "base/buf.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "support/regioned.h"
#include "support/test.h"

/* "names min=1 max=1 unnamed" */
static void read_options(const char *arg, qdq_region_opts *opts, qdq_model *m)
{
    char words[100], *rest = NULL;

    assert_true(strlen(arg) < sizeof words);
    strcpy(words, arg);
    for (char *s = strtok_r(words, " ", &rest); s != NULL; s = strtok_r(NULL, " ", &rest)) {
        if (strcmp(s, "names") == 0) {
            opts->builder = QDQ_REGIONS_NAMES;
        } else if (strcmp(s, "structure") == 0) {
            opts->builder = QDQ_REGIONS_STRUCTURE;
        } else if (strncmp(s, "min=", 4) == 0) {
            opts->min_refine_size = (unsigned)atoi(s + 4);
        } else if (strncmp(s, "max=", 4) == 0) {
            opts->max_region_size = (unsigned)atoi(s + 4);
        } else {
            assert_string_equal(s, "unnamed");
            QDQ_FOR_NODES (n, m->graph)
                if (strcmp(n->name, n->out[0]->name) == 0)
                    assert_true(qdq_node_set_name(n, ""));
        }
    }
}

/* "/a{leaf}", "({in} {composite})" */
static void put_tree(qdq_buf *b, const qdq_region *r)
{
    qdq_buf_printf(b, "%s%c", r->path != NULL ? r->path : "",
                   r->type == QDQ_REGION_LEAF ? '{' : '(');
    for (size_t i = 0; i < r->nodes.n; i++) {
        qdq_buf_puts(b, i > 0 ? " " : "");
        qdq_region_put_name(b, r->nodes.at[i]);
    }
    for (size_t i = 0; i < r->children.n; i++) {
        qdq_buf_puts(b, r->nodes.n + i > 0 ? " " : "");
        put_tree(b, r->children.at[i]);
    }
    qdq_buf_putc(b, r->type == QDQ_REGION_LEAF ? '}' : ')');
}

/* "({a b} {c d}); 80 % named" */
static char *describe_tree(const qdq_regions *r)
{
    qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < r->top.n; i++) {
        qdq_buf_puts(&to, i > 0 ? " " : "");
        put_tree(&to, r->top.at[i]);
    }
    if (r->named_share > 0)
        qdq_buf_printf(&to, "; %g %% named", 100 * r->named_share);
    return to.size > 0 ? qdq_buf_take(&to) : NULL;
}

static const qdq_instance *instance_of(const qdq_patterns *p, const qdq_region *r)
{
    const qdq_pattern *of = &p->pattern[r->pattern];

    for (size_t i = 0; i < of->n_instances; i++)
        if (of->instance[i].region == r)
            return &of->instance[i];
    fail_msg("region %u is no instance of its pattern", (unsigned)r->id);
    return NULL;
}

static void put_region(qdq_buf *b, const qdq_patterns *p, const qdq_region *r)
{
    const qdq_instance *at = instance_of(p, r);

    qdq_buf_printf(b, "%u:", (unsigned)r->pattern);
    for (size_t i = 0; i < r->inputs.n; i++)
        qdq_buf_printf(b, " %s", r->inputs.at[i]->name);
    qdq_buf_puts(b, " >");
    for (size_t i = 0; i < r->outputs.n; i++)
        qdq_buf_printf(b, " %s", r->outputs.at[i]->name);
    qdq_buf_puts(b, p->pattern[r->pattern].n_nodes > 0 ? " as" : "");
    for (size_t k = 0; k < p->pattern[r->pattern].n_nodes; k++) {
        const qdq_node *n = at->node[k];

        qdq_buf_puts(b, " ");
        qdq_region_put_name(b, n);
        for (uint32_t i = 0; i < n->n_in; i++) {
            const qdq_value *in = qdq_node_in(n, at->input[k][i]);

            qdq_buf_printf(b, "%s%s", i == 0 ? "(" : " ", in != NULL ? in->name : "-");
        }
        qdq_buf_puts(b, n->n_in > 0 ? ")" : "");
    }
    qdq_buf_puts(b, "\n");
}

/* Found twice, patterns are the same. */
static void assert_same_again(qdq_regions *r, const qdq_patterns *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_patterns *again;

    assert_ok(qdq_patterns_find(r, &again, &err));
    assert_int_equal(again->n, p->n);
    for (size_t i = 0; i < p->n; i++) {
        assert_memory_equal(again->pattern[i].canon, p->pattern[i].canon,
                            sizeof p->pattern[i].canon);
        assert_string_equal(again->pattern[i].hash, p->pattern[i].hash);
    }
    qdq_patterns_free(again);
}

qdq_status text_regions(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_buf lines = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT), texts = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_region_opts opts = QDQ_REGION_OPTS_INIT;
    qdq_patterns *p;
    qdq_regions *r;

    read_options(arg, &opts, *m);
    QDQ_TRY(qdq_model_infer(*m, NULL, err));
    QDQ_TRY(qdq_regions_find(*m, &opts, &r, err));
    test_regions_sound(r);
    out->counts = describe_tree(r);
    QDQ_TRY(qdq_patterns_find(r, &p, err));
    assert_same_again(r, p);
    for (size_t i = 0; i < r->all.n; i++)
        put_region(&lines, p, r->all.at[i]);
    for (size_t i = 0; i < p->n; i++)
        qdq_buf_printf(&texts, "%s%s", i > 0 ? " | " : "", p->pattern[i].signature);
    out->lines = lines.size > 0 ? qdq_buf_take(&lines) : NULL;
    out->findings = texts.size > 0 ? qdq_buf_take(&texts) : NULL;
    qdq_patterns_free(p);
    qdq_regions_free(r);
    return QDQ_OK;
}
