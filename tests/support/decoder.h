/* decoder.h - made language models, as exporters write them: key/value caches as inputs and
 * outputs, int64 tokens, mask and positions, four symbolic dims, RMSNorm and rotary embeddings as
 * functions, a Gather of embeddings, SwiGLU, an lm head. And sequences for them. All numbers are
 * seeded: the same model on every machine.
 *
 * What trained models have and random ones lack is planted: neighbouring channels of what layers
 * read are correlated (0.9), three channels are some 18 times as large as the others, and each
 * token has four successors whose logits lead; what came before decides among them. */
#ifndef QDQ_TEST_DECODER_H
#define QDQ_TEST_DECODER_H

#include "qdq/engine.h"
#include "qdq/model.h"

typedef struct test_decoder {
    int64_t layers, width, heads, hidden, vocabulary;
} test_decoder;

/* 2 layers x 64, 128 tokens. */
extern const test_decoder test_decoder_small;
/* 8 layers x 1024, 8192 tokens: 473 MB of floats. */
extern const test_decoder test_decoder_full;

qdq_model *test_decoder_model(const test_decoder *size);

typedef struct test_decoder_steps {
    uint64_t seed;
    /* sequences */
    size_t n;
    /* of a run: 1 when text is written, more for a prompt */
    int64_t tokens;
    /* of the cache before; ends with -1 */
    const int64_t *lengths;
} test_decoder_steps;

/* Writes a file LENGTH.npz with n samples into `folder` for each of the lengths. The caches are
 * what `m` leaves on `e` after the tokens before. */
qdq_status test_decoder_write(const test_decoder *size, const test_decoder_steps *steps,
                              const qdq_model *m, qdq_engine *e, const char *folder,
                              qdq_error *err);

#endif /* QDQ_TEST_DECODER_H */
