/* transformer_text.h - the graphs of support/transformer.h as templates of text: $ is the number of
 * a layer, % the next one; ~d width, ~D three of it, ~h heads, ~s size of a head, ~S half of it, ~f
 * hidden, ~v vocabulary, ~p positions, ~m mel features, ~r 1 / sqrt(~s). */
#ifndef QDQ_TEST_TRANSFORMER_TEXT_H
#define QDQ_TEST_TRANSFORMER_TEXT_H

typedef struct test_family_text {
    const char *name;
    /* once, and then for each layer: graph inputs, outputs and initializers, the latter without
     * data where they are random */
    const char *inputs, *layer_inputs, *outputs, *layer_outputs, *weights, *layer_weights;
    /* nodes; `between` stands between all `layer` and all `layer_2` */
    const char *before, *layer, *between, *layer_2, *after;
    /* functions beside those of all families */
    const char *functions;
    /* 0: any */
    int least_opset;
} test_family_text;

extern const test_family_text test_family_texts[];

/* Functions of all families; LayerNorm alone, as an operator and spelled out. */
extern const char test_functions[], test_layernorm[], test_layernorm_spelled[];

#endif /* QDQ_TEST_TRANSFORMER_TEXT_H */
