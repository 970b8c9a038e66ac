/* cmd_targets_compare.c - how two targets differ, as a list and as JSON. */
#include "cli/cli_json.h"
#include "cli/cmd_targets.h"
#include "qdq/quant.h"

static qdq_status print_json(const qdq_target_difference *d, size_t n, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out root = qdq_json_list(&doc);

    for (size_t i = 0; i < n; i++) {

        qdq_json_out entry = qdq_json_put_object(root, NULL);
        qdq_json_put_text(entry, "place", d[i].place);
        qdq_json_put_text(entry, "key", d[i].key);
        qdq_json_put_text(entry, "a", d[i].a);
        qdq_json_put_text(entry, "b", d[i].b);
        qdq_json_put_text(entry, "figures_a", d[i].figures_a);
        qdq_json_put_text(entry, "figures_b", d[i].figures_b);
    }
    return cli_json_print(&doc, err);
}

static void print_side(const char *sign, const char *value, const char *figures)
{
    printf("  %s %s", sign, value[0] != '\0' ? value : "-");
    if (figures[0] != '\0')
        printf("    %s", figures);
    fputc('\n', stdout);
}

static void print_text(const cli *c, const qdq_target_difference *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *comma = d[i].place[0] != '\0' && d[i].key[0] != '\0' ? ", " : "";

        printf("%s%s%s\n", d[i].place, comma, d[i].key);
        print_side("-", d[i].a, d[i].figures_a);
        print_side("+", d[i].b, d[i].figures_b);
    }
    printf("%s, %s: %zu difference%s\n", c->operand[0], c->operand[1], n, n == 1 ? "" : "s");
}

qdq_status cmd_targets_compare(cli *c, qdq_error *err)
{
    qdq_target *a = NULL, *b = NULL;
    qdq_target_difference *d = NULL;
    size_t n = 0;

    qdq_status st = qdq_target_load(c->operand[0], &a, err);
    if (st == QDQ_OK)
        st = qdq_target_load(c->operand[1], &b, err);
    if (st == QDQ_OK)
        st = qdq_target_compare(a, b, &d, &n, err);
    if (st == QDQ_OK && c->json)
        st = print_json(d, n, err);
    else if (st == QDQ_OK)
        print_text(c, d, n);
    qdq_free(d);
    qdq_target_free(a);
    qdq_target_free(b);
    return st;
}
