/* transformer.h - made transformers, as exporters write them: int64 tokens and masks, several
 * symbolic dims, what torch calls as functions of the model (nested in BERT), shapes that are
 * computed, masks of -3.4e38. And samples for them. All numbers are seeded: the same model on every
 * machine.
 *
 * What trained models have and random ones lack is planted: neighbouring channels of weights are
 * correlated (0.9), three channels of what layers read are 20 to 40 times as large as the others,
 * and each token has four successors whose logits lead (T5, whose table is shared: itself). */
#ifndef QDQ_TEST_TRANSFORMER_H
#define QDQ_TEST_TRANSFORMER_H

#include "base/random.h"
#include "qdq/engine.h"
#include "qdq/model.h"

typedef enum test_family {
    /* tokens, mask, token types -> logits, pooler_output; all layers are one function */
    TEST_BERT,
    /* tokens, mask, positions, caches -> logits, caches; Conv1D by Gemm, Trilu */
    TEST_GPT,
    /* inputs and outputs as GPT's; opset 25 at least: Attention with caches, RotaryEmbedding,
     * RMSNormalization and a gate by Swish, no function */
    TEST_LLAMA,
    /* tokens, mask, tokens of the decoder -> logits; RMSNorm and relative positions in nodes */
    TEST_T5,
    /* 80 mel features -> last_hidden_state; two Conv of one dimension in front */
    TEST_WHISPER_ENCODER,
    /* tokens, caches of its own and of the encoder's output -> logits, caches of its own */
    TEST_WHISPER_DECODER,
    /* the same with optimum's If: without use_cache_branch, caches come from encoder_hidden_states
     */
    TEST_WHISPER_MERGED,
    TEST_FAMILIES
} test_family;

typedef struct test_transformer {
    int64_t layers, width, heads, hidden, vocabulary;
    /* 17 has LayerNormalization; below it is spelled out. A family may need more. */
    int opset;
} test_transformer;

/* 2 layers of 32, opset 14; 2 layers of 128, opset 17 */
extern const test_transformer test_transformer_tiny, test_transformer_small;

/* "bert", "gpt", ...; NULL past the end. */
const char *test_family_name(test_family f);

qdq_model *test_transformer_model(test_family f, const test_transformer *size);

/* For made decoders, too: the i-th of three massive channels among n; the i-th of four tokens that
 * may follow one; rows whose channels follow their neighbours. */
int64_t test_massive_channel(int64_t n, int i);
int64_t test_successor(int64_t vocabulary, int64_t token, uint64_t i);
void test_correlated(qdq_random *r, float *x, int64_t rows, int64_t n, float deviation);

typedef struct test_sequences {
    uint64_t seed;
    /* in each file */
    size_t n;
    /* of a run with caches: 1 when text is written, more for a prompt */
    int64_t tokens;
    /* of sequences, or of the caches before them; ends with -1 */
    const int64_t *lengths;
} test_sequences;

/* Writes a file LENGTH.npz with n samples into `folder` for each of the lengths; every third sample
 * is padded, where there is room. Caches are those that `m` leaves on `e` after the tokens before.
 */
qdq_status test_sequences_write(test_family f, const test_transformer *size,
                                const test_sequences *s, const qdq_model *m, qdq_engine *e,
                                const char *folder, qdq_error *err);

#endif /* QDQ_TEST_TRANSFORMER_H */
