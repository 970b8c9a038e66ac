/* cmd_stores.c - measurements of several tuning runs in one store. */
#include <inttypes.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_json.h"
#include "qdq/tune.h"

struct stores_args {
    cli_common common;
    const char *output;
};

static const cli_opt options[] = {
    CLI_ENTRY(stores_args, FILE, 'o', "output", output, "STORE",
              "add the measurements to STORE, which is made if absent", .use = CLI_UPDATES),
    CLI_END,
};

static const cli_group groups[] = {
    {"output", options, 0},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static qdq_status print_json(const char *store, const qdq_tune_merge_result *r, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "store", store);
    qdq_json_put_int(root, "contexts", (int64_t)r->n_contexts);
    qdq_json_put_int(root, "pairs", (int64_t)r->n_pairs);
    qdq_json_put_int(root, "known_pairs", (int64_t)r->n_known_pairs);
    qdq_json_put_int(root, "values", (int64_t)r->n_values);
    qdq_json_out list = qdq_json_put_list(root, "quarantined");
    for (size_t i = 0; i < r->n_quarantined; i++) {
        const qdq_tune_quarantined *q = &r->quarantined[i];
        qdq_json_out o = qdq_json_put_object(list, NULL);

        qdq_json_put_text(o, "store", q->store);
        qdq_json_put_text(o, "engine", q->engine);
        qdq_json_put_text(o, "device", q->device);
        qdq_json_put_text(o, "why", q->why);
    }
    return cli_json_print(&d, err);
}

static void print_text(const char *store, const qdq_tune_merge_result *r)
{
    printf("%s: %zu new pair%s of samples, %zu known, %zu new value%s, of %zu context%s\n", store,
           r->n_pairs, cli_plural(r->n_pairs), r->n_known_pairs, r->n_values,
           cli_plural(r->n_values), r->n_contexts, cli_plural(r->n_contexts));
    for (size_t i = 0; i < r->n_quarantined; i++)
        printf("not merged: %s, engine %s on %s: %s\n", r->quarantined[i].store,
               r->quarantined[i].engine, r->quarantined[i].device, r->quarantined[i].why);
}

static qdq_status run_stores(cli *c, const void *args, qdq_error *err)
{
    const struct stores_args *a = args;
    qdq_tune_merge_result *r = NULL;
    qdq_status st = QDQ_OK;

    if (a->output == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--output: missing; expected -o STORE");
    QDQ_TRY(qdq_tune_merge(c->operand, c->n_operands, a->output, &c->job, &r, err));
    cli_ui_clear(&c->ui);
    if (c->json)
        st = print_json(a->output, r, err);
    else
        print_text(a->output, r);
    qdq_tune_merge_result_free(r);
    return st;
}

const cli_command cmd_stores = {
    .name = "stores",
    .synopsis = "FROM... -o STORE [options]",
    .operands = "FROM...",
    .min_operands = 1,
    .max_operands = 4096,
    .summary = "merge measurements of tuning runs (tune.db)",
    .about =
        "Adds the samples, profiles and times of groups in the stores FROM to STORE. 'qdq\n"
        "autotune --store STORE' takes them instead of measuring. They stay apart by model,\n"
        "engine, device and options of measurement: two devices are never mixed. Each pair of\n"
        "samples is there once; a pair that STORE has stays. What came before the newest "
        "--restart\n"
        "is not merged.\n"
        "\n"
        "Stores are merged in the order in which their first runs began. Two hosts of one kind\n"
        "must agree where both measured a trial: medians of times within 10 %, gains within 1 %,\n"
        "or 3 times the noise of their A/A tests. What the later one has of that engine and\n"
        "device is not merged, and is reported.\n"
        "\n"
        "An error, or Ctrl-C, leaves STORE as it was.",
    .json = "{ \"store\", \"contexts\", \"pairs\", \"known_pairs\", \"values\",\n"
            "  \"quarantined\": [{\"store\", \"engine\", \"device\", \"why\"}] }",
    .example = "qdq stores host1/tune.db host2/tune.db -o all.db",
    .groups = groups,
    .args_size = sizeof(struct stores_args),
    .run = run_stores,
};
