/* tuned.h - tuning runs of a small network on the sim engine, whose costs the test writes. */
#ifndef QDQ_TUNED_H
#define QDQ_TUNED_H

#include <sys/types.h>

#include "support/test.h"

/* Four MatMul with Relu, two Add around them. */
qdq_model *test_tuned_model(void);

/* 64 numbers for a weight of another network in text form, between -1 and 1; static storage. */
const char *test_tuned_weights(void);

/* A graph of tests/graphs that has them in place of each $. */
#define test_tuned_graph(name) test_model(test_tuned_text(test_graph_text(name)))
/* The same of a text; lives as long as what test_keep() has. */
const char *test_tuned_text(const char *graph);

/* One network of test_tuned_model() for all tests of a group, which cmocka makes before them and
 * drops behind them. */
extern qdq_model *test_tuned;
int test_tuned_make(void **state);
int test_tuned_drop(void **state);

/* m, which is freed, with another number in a weight of 8 bits: by four steps at least. */
qdq_model *test_tuned_other_weight(qdq_model *m);

/* A cost model: the ops of the network, and what the test adds ("\"fail\": [...]"), behind a comma;
 * NULL: nothing. The spec of test_sim_spec(). */
const char *test_tuned_costs(const char *ops, const char *more);

/* MatMul pays, Add does not. */
#define TEST_TUNED_OPS                                                                             \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30}, \"Add\": {\"float_us\": 20, \"int8_us\": "  \
    "60, "                                                                                         \
    "\"inputs\": 2}"

/* For test_tuned_costs(): no profile rules out candidates, so that there is more to measure. */
#define TEST_TUNED_BLIND "\"no_profile\": true"

/* Options with that engine, the worker of the build, and a seed. */
qdq_tune_opts test_tuned_opts(const char *engine);

/* Details of these options, to be set: the defaults at first, in static storage, 32 at a time.
 * Copies of the options share them. */
qdq_tune_details *test_tuned_details(qdq_tune_opts *o);

/* The goal of these options, or the default one, where operators are float or have calibrated
 * scales: costs of tests do not price data that is quantized at run time. */
qdq_goal_opts test_tuned_two_forms(const qdq_tune_opts *o);

/* qdq_autotune() with the target ort-cpu for sim, into a folder; operators are float or have
 * calibrated scales. */
qdq_status test_tuned_run(const qdq_model *m, const char *folder, const qdq_tune_opts *opts,
                          qdq_tune_result *out, qdq_error *err);

/* The same of a run that must end well. */
qdq_tune_result test_tuned_result(const qdq_model *m, const char *folder,
                                  const qdq_tune_opts *opts);

/* The same with data, or NULL, and with a type of activations, or NULL: the target's. */
qdq_status test_tuned_run_on(const qdq_model *m, qdq_data *data, const char *type,
                             const char *folder, const qdq_tune_opts *opts, qdq_tune_result *out,
                             qdq_error *err);

/* The same in a process of its own, which may be killed: fork() alone leaves the threads of
 * calibration behind, for which the child then waits for ever. It is this program again, so main()
 * begins with `if (argc > 1) return test_tuned_child(argc, argv);`. What it writes to `report` are
 * numbers of pairs on disk (unsigned), one after each step. */
pid_t test_tuned_start(const char *folder, const char *engine, qdq_tune_mode mode, int report);
int test_tuned_child(int argc, char **argv);

/* Cancels a run with these options at the n-th thing that it shows, in this phase or, with NULL, in
 * any. `cancel` is for qdq_cancel_free(). */
typedef struct test_tuned_stop {
    qdq_job job;
    qdq_cancel *cancel;
    const char *phase;
    unsigned left;
} test_tuned_stop;

void test_tuned_stop_in(test_tuned_stop *s, const char *phase, unsigned n, qdq_tune_opts *o);

/* A file of the folder; qdq_free(). */
char *test_tuned_file(const char *folder, const char *name);

bool test_tuned_exists(const char *folder, const char *name);

/* Is this text in a file of the folder? */
bool test_tuned_has(const char *folder, const char *name, const char *text);

/* Does the plan in the folder quantize the node without a name that gives `output`? */
bool test_tuned_quantizes(const char *folder, const char *op, const char *output);

/* That file is this text. */
void test_tuned_holds(const char *folder, const char *name, const char *text);

/* That file is the same in both folders. */
void test_tuned_same(const char *a, const char *b, const char *name);

/* The plan in the folder makes of m the very model there. */
void test_tuned_replays(const char *folder, const qdq_model *m);

/* How many samples the folder's store has. */
uint64_t test_tuned_samples(const char *folder);

#endif /* QDQ_TUNED_H */
