/* cli_outputs.h - how far outputs are apart, as table rows and as JSON. */
#ifndef QDQ_CLI_OUTPUTS_H
#define QDQ_CLI_OUTPUTS_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/compare.h"
#include "qdq/data.h"

/* [{"name","sqnr_db","worst_db",...}], the members of qdq_compare_tensor: null where undefined;
 * equal tensors have sqnr_db null and "equal": true. */
void cli_outputs_json(qdq_json_out list, const qdq_compare_tensor *t, size_t n);

/* A table with its heads; `what` is the head of the names. */
qdq_status cli_outputs_print(cli *c, const char *what, const qdq_compare_tensor *t, size_t n,
                             FILE *to, qdq_error *err);

/* The first tensor that misses the goal, as a whole or in a slice; or NULL. One that is zero
 * everywhere proves nothing: it misses. */
const qdq_compare_tensor *cli_outputs_below(const qdq_compare_tensor *t, size_t n, double min_sqnr);

/* What is worst about an output: "12.3 dB", "no signal", "not finite", "another shape". */
const char *cli_worst_text(const qdq_compare_tensor *t, char *text, size_t size);

/* "12.3", "equal", "no signal": zero or not finite everywhere; "not finite": in one of the two
 * models. */
const char *cli_sqnr_text(double sqnr_db, char *text, size_t size);

/* What outputs without signal prove, as a sentence: they are zero everywhere, not finite, or empty.
 * "": all have a signal. In the arena of c. */
const char *cli_outputs_unproven(cli *c, const qdq_compare_tensor *t, size_t n);

/* What was compared on. */
typedef struct cli_evidence {
    qdq_data *data;
    /* no data of the user */
    bool is_random;
} cli_evidence;

/* Is the accuracy good? A line; none where outputs have no signal, and for random input only where
 * it is low. */
qdq_status cli_outputs_evaluate(cli *c, const qdq_compare_tensor *t, size_t n,
                                const cli_evidence *on, FILE *to, qdq_error *err);

/* A line: the goal of goal_db is for the column "bound". None without a bound or a goal. */
void cli_outputs_explain_bound(const qdq_compare_tensor *t, size_t n, double goal_db, FILE *to);

/* The fraction of inputs that may have a fault which no sample shows, with 90 % confidence: that is
 * how often a binomial variable of `samples` trials is 0 once in ten times (Clopper and Pearson).
 * NAN: no samples. */
double cli_unseen_fraction(size_t samples);

/* A line about it, next to a lower bound; none of many samples. */
void cli_tell_unseen(size_t samples, FILE *to);

#endif /* QDQ_CLI_OUTPUTS_H */
