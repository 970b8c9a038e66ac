/* qdq/statistics.h - calibration in parts: statistics of a model's tensors over some of the
 * samples, which merge into those of all samples (docs/calibrate.md).
 *
 *     qdq_statistics_collect(model, target, engine, data, &opts, &part, &err)   on each machine
 *     qdq_statistics_save(part, "part1.json", false, &err)
 *
 *     qdq_statistics_load("part1.json", &all, &err)                             on one of them
 *     qdq_statistics_load("part2.json", &part, &err)
 *     qdq_statistics_merge(all, part, &err)
 *     qdq_statistics_save(all, "all.json", false, &err)
 *
 * qdq_quantize_opts.cache takes the file in place of samples that calibrate. */
#ifndef QDQ_STATISTICS_H
#define QDQ_STATISTICS_H

#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics of every float activation of a model: bounds or histograms, as the method needs. */
typedef struct qdq_statistics qdq_statistics;

typedef struct qdq_calibrate_opts {
    size_t size;
    /* Options of the quantization that the statistics are for; NULL: defaults. Used are those that
     * decide how the model is cleaned (passes, equalize, cpu), shapes, method, samples, memory,
     * threads and job; `cache` must be NULL. Others have no effect: all float activations are
     * observed, so that any choice of nodes finds its tensors. */
    const qdq_quantize_opts *quantize;
    /* Part number `part` (from 1) of n_parts: of the samples of `data` the numbers part - 1, part -
     * 1 + n_parts, ... are taken. Both 0: all samples. QDQ_E_USAGE: a part below 1 or above
     * n_parts, or without a sample. */
    size_t part, n_parts;
} qdq_calibrate_opts;

#define QDQ_CALIBRATE_OPTS_INIT                                                                    \
    {                                                                                              \
        .size = sizeof(qdq_calibrate_opts)                                                         \
    }

/* Runs samples and collects statistics of the cleaned model's float activations. Subgraphs of If,
 * Loop and Scan are not observed. `opts` may be NULL. QDQ_E_USAGE: random data, or the method
 * entropy-compat, whose bins depend on the first sample. *out is freed with
 * qdq_statistics_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_collect(const qdq_model *m, const qdq_target *t,
                                                       qdq_engine *e, qdq_data *data,
                                                       const qdq_calibrate_opts *opts,
                                                       qdq_statistics **out, qdq_error *err);

/* Adds the samples of `other`: the result is that of one run over both, bit for bit, whatever the
 * order and the grouping of merges. On an error `s` is as before.
 *
 * QDQ_E_USAGE, naming both files: another model, cleaning, target or method; samples of one data
 * source that both have; the method moving-average with two data sources, whose order is unknown.
 * QDQ_E_UNSUPPORTED: a count exceeds 2^63 - 1. */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_merge(qdq_statistics *s, const qdq_statistics *other,
                                                     qdq_error *err);

/* Reads statistics from a file, or from `size` bytes of its text, which messages call `name`.
 * QDQ_E_FORMAT: malformed or inconsistent; the message has the place. *out is freed with
 * qdq_statistics_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_load(const char *path, qdq_statistics **out,
                                                    qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_parse(const char *text, size_t size,
                                                     const char *name, qdq_statistics **out,
                                                     qdq_error *err);
/* Writes statistics to a file, whole or not at all: the same samples give the same bytes. QDQ_E_IO:
 * the file exists, unless allow_overwrite. */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_save(const qdq_statistics *s, const char *path,
                                                    bool allow_overwrite, qdq_error *err);
/* The text of the file. *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_to_text(const qdq_statistics *s, char **text,
                                                       qdq_error *err);

/* What statistics are of. */
typedef struct qdq_statistics_summary {
    /* fingerprint of the model, as in plans */
    const char *model;
    /* name of the target, and SHA-256 of its description with all changes */
    const char *target, *target_sha256;
    qdq_method method;
    /* number of tensors, of samples, and of data sources that the samples are from */
    size_t n_tensors, n_samples, n_sources;
    /* number of samples of these sources that are not taken yet */
    size_t n_missing;
} qdq_statistics_summary;

/* Borrowed until `s` is changed or freed. */
QDQ_API const qdq_statistics_summary *qdq_statistics_get_summary(const qdq_statistics *s);

/* QDQ_E_USAGE, naming both, unless the statistics are of this model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_check_model(const qdq_statistics *s,
                                                           const qdq_model *m, qdq_error *err);

/* Does the file begin as statistics do? QDQ_E_IO: it cannot be read. */
QDQ_API QDQ_MUST_USE qdq_status qdq_statistics_is_file(const char *path, bool *is_statistics,
                                                       qdq_error *err);

/* Frees statistics; NULL is allowed. */
QDQ_API void qdq_statistics_free(qdq_statistics *s);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_STATISTICS_H */
