/* transformer_text.c - see the header. */
#include "support/transformer_text.h"

#include "support/transformer.h"

#define FUNCTION "<domain: \"torch\", opset_import: [\"\" : ~o, \"torch\" : 1]> "
/* Sizes of x, computed. */
#define BATCH_AND_STEPS                                                                            \
    "  shape = Shape(x)\n"                                                                         \
    "  i0 = Constant <value_int = 0> ()\n"                                                         \
    "  i1 = Constant <value_int = 1> ()\n"                                                         \
    "  axes = Constant <value_ints = [0]> ()\n"                                                    \
    "  batch_0 = Gather <axis = 0> (shape, i0)\n"                                                  \
    "  steps_0 = Gather <axis = 0> (shape, i1)\n"                                                  \
    "  batch = Unsqueeze(batch_0, axes)\n"                                                         \
    "  steps = Unsqueeze(steps_0, axes)\n"

const char test_functions[] =
    FUNCTION "Linear (x, w, b) => (y) {\n  m = MatMul(x, w)\n  y = Add(b, m)\n}\n" FUNCTION
             "Gelu (x) => (y) {\n"
             "  root = Constant <value_float = 1.4142135> ()\n"
             "  one = Constant <value_float = 1.0> ()\n"
             "  half = Constant <value_float = 0.5> ()\n"
             "  d = Div(x, root)\n  e = Erf(d)\n  a = Add(e, one)\n  m = Mul(x, a)\n  y = Mul(m, "
             "half)\n}\n" FUNCTION "SplitHeads <tail> (x) => (y) {\n" BATCH_AND_STEPS
             "  tail = Constant <value_ints: ints = @tail> ()\n"
             "  to = Concat <axis = 0> (batch, steps, tail)\n"
             "  split = Reshape(x, to)\n"
             "  y = Transpose <perm = [0, 2, 1, 3]> (split)\n}\n" FUNCTION
             "JoinHeads <width> (heads) => (y) {\n"
             "  x = Transpose <perm = [0, 2, 1, 3]> (heads)\n" BATCH_AND_STEPS
             "  width = Constant <value_ints: ints = @width> ()\n"
             "  to = Concat <axis = 0> (batch, steps, width)\n"
             "  y = Reshape(x, to)\n}\n" FUNCTION "Attend (q, k, v, bias, root) => (y) {\n"
             "  t = Transpose <perm = [0, 1, 3, 2]> (k)\n"
             "  s = MatMul(q, t)\n  m = Mul(s, root)\n  b = Add(m, bias)\n"
             "  p = Softmax <axis = -1> (b)\n  y = MatMul(p, v)\n}\n";

const char test_layernorm[] =
    FUNCTION "LayerNorm (x, gain, b) => (y) {\n"
             "  y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, gain, b)\n}\n";

const char test_layernorm_spelled[] =
    FUNCTION "LayerNorm (x, gain, b) => (y) {\n"
             "  two = Constant <value_float = 2.0> ()\n"
             "  least = Constant <value_float = 0.00001> ()\n"
             "  mean = ReduceMean <axes = [-1]> (x)\n"
             "  c = Sub(x, mean)\n  square = Pow(c, two)\n"
             "  variance = ReduceMean <axes = [-1]> (square)\n"
             "  above = Add(variance, least)\n  root = Sqrt(above)\n"
             "  unit = Div(c, root)\n  scaled = Mul(unit, gain)\n  y = Add(scaled, b)\n}\n";

/* --- constants -------------------------------------------------------------------------------- */

#define NUMBERS                                                                                    \
    "int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64[1] a0 = {0}, int64[1] a1 = {1}, "       \
    "int64[2] a01 = {0, 1}, int64[2] a12 = {1, 2}, int64[2] a03 = {0, 3}, float one = {1}, "       \
    "float zero = {0}, float lowest = {-3.4028235e+38}, float root = {~r}"

/* --- BERT ------------------------------------------------------------------------------------- */

#define BERT_TOKENS "int64[batch_size,sequence_length] "

static const char bert_functions[] = FUNCTION
    "SelfAttention <tail, width> (x, bias, root, wq, bq, wk, bk, wv, bv, wo, bo) => (y) {\n"
    "  q = torch.Linear(x, wq, bq)\n  k = torch.Linear(x, wk, bk)\n  v = torch.Linear(x, wv, bv)\n"
    "  qh = torch.SplitHeads <tail: ints = @tail> (q)\n"
    "  kh = torch.SplitHeads <tail: ints = @tail> (k)\n"
    "  vh = torch.SplitHeads <tail: ints = @tail> (v)\n"
    "  h = torch.Attend(qh, kh, vh, bias, root)\n"
    "  j = torch.JoinHeads <width: ints = @width> (h)\n"
    "  y = torch.Linear(j, wo, bo)\n}\n" FUNCTION
    "BertLayer <tail, width> (x, bias, root, wq, bq, wk, bk, wv, bv, wo, bo, ga, ba, w1, "
    "b1, w2, b2, gr, br) => (y) {\n"
    "  o = torch.SelfAttention <tail: ints = @tail, width: ints = @width> (x, bias, root, wq, bq, "
    "wk, bk, wv, bv, wo, bo)\n"
    "  r = Add(o, x)\n  n = torch.LayerNorm(r, ga, ba)\n"
    "  u = torch.Linear(n, w1, b1)\n  g = torch.Gelu(u)\n  d = torch.Linear(g, w2, b2)\n"
    "  s = Add(d, n)\n  y = torch.LayerNorm(s, gr, br)\n}\n";

#define BERT_LAYER_WEIGHTS                                                                         \
    ", float[~d,~d] wq$, float[~d] bq$, float[~d,~d] wk$, float[~d] bk$, float[~d,~d] wv$, "       \
    "float[~d] bv$, float[~d,~d] wo$, float[~d] bo$, float[~d] ga$, float[~d] ba$, "               \
    "float[~d,~f] wn1$, float[~f] b1$, float[~f,~d] w2$, float[~d] b2$, float[~d] gr$, "           \
    "float[~d] br$"

static const char bert_before[] =
    "  words = Gather <axis = 0> (words_table, input_ids)\n"
    "  types = Gather <axis = 0> (types_table, token_type_ids)\n"
    "  shape = Shape(input_ids)\n"
    "  length_0 = Gather <axis = 0> (shape, i1)\n"
    "  length = Unsqueeze(length_0, a0)\n"
    "  positions = Slice(position_ids, a0, length, a1, a1)\n"
    "  places = Gather <axis = 0> (places_table, positions)\n"
    "  sum = Add(words, types)\n  embedded = Add(sum, places)\n"
    "  x0 = torch.LayerNorm(embedded, g_first, b_first)\n"
    "  mask_3 = Unsqueeze(attention_mask, a1)\n  mask_4 = Unsqueeze(mask_3, a2)\n"
    "  mask = Cast <to = 1> (mask_4)\n  hidden = Sub(one, mask)\n  bias = Mul(hidden, lowest)\n";

/* --- GPT -------------------------------------------------------------------------------------- */

#define TOTAL "\"past_sequence_length + sequence_length\""

#define GPT_INPUTS                                                                                 \
    "int64[batch_size,sequence_length] input_ids, int64[batch_size," TOTAL                         \
    "] attention_mask, int64[batch_size,sequence_length] position_ids"
#define GPT_PAST                                                                                   \
    ", float[batch_size,~h,past_sequence_length,~s] \"past_key_values.$.key\", "                   \
    "float[batch_size,~h,past_sequence_length,~s] \"past_key_values.$.value\""
#define GPT_PRESENT                                                                                \
    ", float[batch_size,~h," TOTAL ",~s] \"present.$.key\", "                                      \
    "float[batch_size,~h," TOTAL ",~s] \"present.$.value\""

static const char gpt_functions[] = FUNCTION
    "Conv1D <from, to> (x, w, b) => (y) {\n" BATCH_AND_STEPS
    "  from = Constant <value_ints: ints = @from> ()\n"
    "  rows = Reshape(x, from)\n"
    "  g = Gemm <alpha = 1.0, beta = 1.0> (rows, w, b)\n"
    "  last = Constant <value_ints: ints = @to> ()\n"
    "  to = Concat <axis = 0> (batch, steps, last)\n"
    "  y = Reshape(g, to)\n}\n" FUNCTION "NewGelu (x) => (y) {\n"
    "  half = Constant <value_float = 0.5> ()\n  three = Constant <value_float = 3.0> ()\n"
    "  a = Constant <value_float = 0.044715> ()\n  root = Constant <value_float = 0.7978846> ()\n"
    "  one = Constant <value_float = 1.0> ()\n"
    "  h = Mul(x, half)\n  c = Pow(x, three)\n  ac = Mul(c, a)\n  s = Add(x, ac)\n"
    "  r = Mul(s, root)\n  t = Tanh(r)\n  u = Add(t, one)\n  y = Mul(h, u)\n}\n";

/* Keys and queries of the whole sequence, of which `past` are in caches; `bias` hides what comes
 * later and what attention_mask leaves out. */
#define GPT_BIAS                                                                                   \
    "  shape = Shape(input_ids)\n"                                                                 \
    "  steps = Gather <axis = 0> (shape, i1)\n"                                                    \
    "  past_shape = Shape(\"past_key_values.0.key\")\n"                                            \
    "  past = Gather <axis = 0> (past_shape, i2)\n"                                                \
    "  total = Add(past, steps)\n"                                                                 \
    "  steps_1 = Unsqueeze(steps, a0)\n  total_1 = Unsqueeze(total, a0)\n"                         \
    "  square = Concat <axis = 0> (steps_1, total_1)\n"                                            \
    "  full = ConstantOfShape <value = float[1] {-3.4028235e+38}> (square)\n"                      \
    "  above = Add(past, i1)\n"                                                                    \
    "  causal_2 = Trilu <upper = 1> (full, above)\n"                                               \
    "  causal = Unsqueeze(causal_2, a01)\n"                                                        \
    "  mask_4 = Unsqueeze(attention_mask, a12)\n"                                                  \
    "  mask = Cast <to = 1> (mask_4)\n  hidden_f = Sub(one, mask)\n"                               \
    "  hidden = Cast <to = 9> (hidden_f)\n"                                                        \
    "  bias = Where(hidden, lowest, causal)\n"

static const char gpt_before[] = "  words = Gather <axis = 0> (words_table, input_ids)\n"
                                 "  places = Gather <axis = 0> (places_table, position_ids)\n"
                                 "  x0 = Add(words, places)\n" GPT_BIAS;

static const char gpt_layer[] =
    "  n$ = torch.LayerNorm(x$, ga$, ba$)\n"
    "  qkv$ = torch.Conv1D <from = [-1, ~d], to = [~D]> (n$, wnqkv$, bqkv$)\n"
    "  q$, k$, v$ = Split <axis = -1> (qkv$, thirds)\n"
    "  qh$ = torch.SplitHeads <tail = [~h, ~s]> (q$)\n"
    "  kh$ = torch.SplitHeads <tail = [~h, ~s]> (k$)\n"
    "  vh$ = torch.SplitHeads <tail = [~h, ~s]> (v$)\n"
    "  \"present.$.key\" = Concat <axis = -2> (\"past_key_values.$.key\", kh$)\n"
    "  \"present.$.value\" = Concat <axis = -2> (\"past_key_values.$.value\", vh$)\n"
    "  h$ = torch.Attend(qh$, \"present.$.key\", \"present.$.value\", bias, root)\n"
    "  j$ = torch.JoinHeads <width = [~d]> (h$)\n"
    "  o$ = torch.Conv1D <from = [-1, ~d], to = [~d]> (j$, wo$, bo$)\n"
    "  r$ = Add(o$, x$)\n"
    "  m$ = torch.LayerNorm(r$, gm$, bm$)\n"
    "  up$ = torch.Conv1D <from = [-1, ~d], to = [~f]> (m$, wn1$, b1$)\n"
    "  act$ = torch.NewGelu(up$)\n"
    "  down$ = torch.Conv1D <from = [-1, ~f], to = [~d]> (act$, w2$, b2$)\n"
    "  x% = Add(r$, down$)\n";

/* --- Llama ------------------------------------------------------------------------------------ */

static const char llama_before[] =
    "  x0 = Gather <axis = 0> (words_table, input_ids)\n"
    "  places = Cast <to = 1> (position_ids)\n  places_3 = Unsqueeze(places, a2)\n"
    "  angles = Mul(places_3, frequencies)\n  cos = Cos(angles)\n  sin = Sin(angles)\n" GPT_BIAS;

static const char llama_layer[] =
    "  n$ = RMSNormalization <axis = -1, epsilon = 0.00001> (x$, ga$)\n"
    "  q$ = MatMul(n$, wnq$)\n  k$ = MatMul(n$, wnk$)\n  v$ = MatMul(n$, wnv$)\n"
    "  qr$ = RotaryEmbedding <num_heads = ~h> (q$, cos, sin)\n"
    "  kr$ = RotaryEmbedding <num_heads = ~h> (k$, cos, sin)\n"
    "  h$, \"present.$.key\", \"present.$.value\" = Attention <q_num_heads = ~h, kv_num_heads = "
    "~h> "
    "(qr$, kr$, v$, bias, \"past_key_values.$.key\", \"past_key_values.$.value\")\n"
    "  o$ = MatMul(h$, wo$)\n  r$ = Add(x$, o$)\n"
    "  m$ = RMSNormalization <axis = -1, epsilon = 0.00001> (r$, gm$)\n"
    "  gate$ = MatMul(m$, wng$)\n  act$ = Swish(gate$)\n  up$ = MatMul(m$, wn1$)\n"
    "  both$ = Mul(act$, up$)\n  down$ = MatMul(both$, w2$)\n  x% = Add(r$, down$)\n";

/* --- T5 --------------------------------------------------------------------------------------- */

static const char t5_functions[] = FUNCTION
    "RmsNorm (x, gain) => (y) {\n"
    "  two = Constant <value_float = 2.0> ()\n  least = Constant <value_float = 0.000001> ()\n"
    "  one = Constant <value_float = 1.0> ()\n"
    "  square = Pow(x, two)\n  mean = ReduceMean <axes = [-1]> (square)\n"
    "  above = Add(mean, least)\n  root = Sqrt(above)\n  over = Div(one, root)\n"
    "  unit = Mul(x, over)\n  y = Mul(gain, unit)\n}\n"
    /* buckets up to `exact` are distances, those above are of their logarithm */
    FUNCTION "Bucket <exact, exact_f, last> (n) => (y) {\n"
    "  exact = Constant <value_int: int = @exact> ()\n"
    "  exact_f = Constant <value_float: float = @exact_f> ()\n"
    "  last = Constant <value_int: int = @last> ()\n"
    "  sixteen = Constant <value_float = 2.7725887> ()\n"
    "  is_small = Less(n, exact)\n"
    "  f = Cast <to = 1> (n)\n  d = Div(f, exact_f)\n  l = Log(d)\n  s = Div(l, sixteen)\n"
    "  m = Mul(s, exact_f)\n  i = Cast <to = 7> (m)\n  a = Add(i, exact)\n  c = Min(a, last)\n"
    "  y = Where(is_small, n, c)\n}\n" FUNCTION "Distance (queries, keys) => (y) {\n"
    "  i0 = Constant <value_int = 0> ()\n  i1 = Constant <value_int = 1> ()\n"
    "  a0 = Constant <value_ints = [0]> ()\n  a1 = Constant <value_ints = [1]> ()\n"
    "  q = Range(i0, queries, i1)\n  k = Range(i0, keys, i1)\n"
    "  qc = Unsqueeze(q, a1)\n  kr = Unsqueeze(k, a0)\n  y = Sub(kr, qc)\n}\n" FUNCTION
    "Bias (buckets, table) => (y) {\n"
    "  a0 = Constant <value_ints = [0]> ()\n"
    "  v = Gather <axis = 0> (table, buckets)\n"
    "  t = Transpose <perm = [2, 0, 1]> (v)\n  y = Unsqueeze(t, a0)\n}\n" FUNCTION
    "AttendT5 <tail, width> (x, from, bias, wq, wk, wv, wo) => (y) {\n"
    "  q = MatMul(x, wq)\n  k = MatMul(from, wk)\n  v = MatMul(from, wv)\n"
    "  qh = torch.SplitHeads <tail: ints = @tail> (q)\n"
    "  kh = torch.SplitHeads <tail: ints = @tail> (k)\n"
    "  vh = torch.SplitHeads <tail: ints = @tail> (v)\n"
    "  t = Transpose <perm = [0, 1, 3, 2]> (kh)\n"
    "  s = MatMul(qh, t)\n  b = Add(s, bias)\n  p = Softmax <axis = -1> (b)\n  h = MatMul(p, vh)\n"
    "  j = torch.JoinHeads <width: ints = @width> (h)\n"
    "  y = MatMul(j, wo)\n}\n";

static const char t5_before[] =
    "  shape = Shape(input_ids)\n  length = Gather <axis = 0> (shape, i1)\n"
    "  x0 = Gather <axis = 0> (shared_table, input_ids)\n"
    "  mask_4 = Unsqueeze(attention_mask, a12)\n"
    "  mask = Cast <to = 1> (mask_4)\n  hidden = Sub(one, mask)\n  padding = Mul(hidden, lowest)\n"
    "  apart = torch.Distance(length, length)\n"
    "  is_after = Greater(apart, i0)\n  after = Cast <to = 7> (is_after)\n"
    "  half = Mul(after, i16)\n  far = Abs(apart)\n"
    "  bucket = torch.Bucket <exact = 8, exact_f = 8.0, last = 15> (far)\n"
    "  buckets = Add(half, bucket)\n  relative = torch.Bias(buckets, e_relative_table)\n"
    "  bias = Add(relative, padding)\n";

static const char t5_layer[] =
    "  n$ = torch.RmsNorm(x$, ga$)\n"
    "  o$ = torch.AttendT5 <tail = [~h, ~s], width = [~d]> (n$, n$, bias, wnq$, wnk$, wnv$, wo$)\n"
    "  r$ = Add(x$, o$)\n  m$ = torch.RmsNorm(r$, gm$)\n"
    "  up$ = MatMul(m$, wn1$)\n  act$ = Relu(up$)\n  down$ = MatMul(act$, w2$)\n"
    "  x% = Add(r$, down$)\n";

static const char t5_between[] =
    "  encoded = torch.RmsNorm(x$, gf_encoder)\n"
    "  d_shape = Shape(decoder_input_ids)\n  d_length = Gather <axis = 0> (d_shape, i1)\n"
    "  y0 = Gather <axis = 0> (shared_table, decoder_input_ids)\n"
    "  d_apart = torch.Distance(d_length, d_length)\n"
    "  d_before = Min(d_apart, i0)\n  d_far = Neg(d_before)\n"
    "  d_bucket = torch.Bucket <exact = 16, exact_f = 16.0, last = 31> (d_far)\n"
    "  d_relative = torch.Bias(d_bucket, d_relative_table)\n"
    "  is_seen = LessOrEqual(d_apart, i0)\n  seen = Cast <to = 1> (is_seen)\n"
    "  unseen = Sub(one, seen)\n  causal_2 = Mul(unseen, lowest)\n"
    "  causal = Unsqueeze(causal_2, a01)\n  d_bias = Add(d_relative, causal)\n";

static const char t5_layer_2[] =
    "  dn$ = torch.RmsNorm(y$, dga$)\n"
    "  do$ = torch.AttendT5 <tail = [~h, ~s], width = [~d]> (dn$, dn$, d_bias, dwnq$, dwnk$, "
    "dwnv$, "
    "dwo$)\n"
    "  dr$ = Add(y$, do$)\n  dc$ = torch.RmsNorm(dr$, dgc$)\n"
    "  co$ = torch.AttendT5 <tail = [~h, ~s], width = [~d]> (dc$, encoded, padding, cwnq$, cwk$, "
    "cwv$, cwo$)\n"
    "  cr$ = Add(dr$, co$)\n  dm$ = torch.RmsNorm(cr$, dgm$)\n"
    "  dup$ = MatMul(dm$, dwn1$)\n  dact$ = Relu(dup$)\n  ddown$ = MatMul(dact$, dw2$)\n"
    "  y% = Add(cr$, ddown$)\n";

#define T5_LAYER_WEIGHTS                                                                           \
    ", float[~d] ga$, float[~d,~d] wnq$, float[~d,~d] wnk$, float[~d,~d] wnv$, float[~d,~d] wo$, " \
    "float[~d] gm$, float[~d,~f] wn1$, float[~f,~d] w2$, float[~d] dga$, float[~d,~d] dwnq$, "     \
    "float[~d,~d] dwnk$, float[~d,~d] dwnv$, float[~d,~d] dwo$, float[~d] dgc$, "                  \
    "float[~d,~d] cwnq$, float[~d,~d] cwk$, float[~d,~d] cwv$, float[~d,~d] cwo$, float[~d] dgm$," \
    " float[~d,~f] dwn1$, float[~f,~d] dw2$"

/* --- Whisper ---------------------------------------------------------------------------------- */

static const char whisper_encoder_layer[] =
    "  n$ = torch.LayerNorm(x$, ga$, ba$)\n"
    "  q$ = torch.Linear(n$, wnq$, bq$)\n  k$ = MatMul(n$, wnk$)\n"
    "  v$ = torch.Linear(n$, wnv$, bv$)\n"
    "  qh$ = torch.SplitHeads <tail = [~h, ~s]> (q$)\n"
    "  kh$ = torch.SplitHeads <tail = [~h, ~s]> (k$)\n"
    "  vh$ = torch.SplitHeads <tail = [~h, ~s]> (v$)\n"
    "  h$ = torch.Attend(qh$, kh$, vh$, zero, root)\n"
    "  j$ = torch.JoinHeads <width = [~d]> (h$)\n  o$ = torch.Linear(j$, wo$, bo$)\n"
    "  r$ = Add(x$, o$)\n  m$ = torch.LayerNorm(r$, gm$, bm$)\n"
    "  up$ = torch.Linear(m$, wn1$, b1$)\n  act$ = torch.Gelu(up$)\n"
    "  down$ = torch.Linear(act$, w2$, b2$)\n  x% = Add(r$, down$)\n";

#define WHISPER_LAYER_WEIGHTS                                                                      \
    ", float[~d] ga$, float[~d] ba$, float[~d,~d] wnq$, float[~d] bq$, float[~d,~d] wnk$, "        \
    "float[~d,~d] wnv$, float[~d] bv$, float[~d,~d] wo$, float[~d] bo$, float[~d] gm$, "           \
    "float[~d] bm$, float[~d,~f] wn1$, float[~f] b1$, float[~f,~d] w2$, float[~d] b2$"
#define WHISPER_CROSS_WEIGHTS                                                                      \
    ", float[~d] gc$, float[~d] bc$, float[~d,~d] cwnq$, float[~d] cbq$, float[~d,~d] cwo$, "      \
    "float[~d] cbo$"
#define WHISPER_CROSS_CACHE_WEIGHTS ", float[~d,~d] cwk$, float[~d,~d] cwv$, float[~d] cbv$"

static const char whisper_encoder_before[] =
    "  c0 = Conv <dilations = [1], group = 1, kernel_shape = [3], pads = [1, 1], strides = [1]> "
    "(input_features, conv0, bconv0)\n"
    "  g0 = torch.Gelu(c0)\n"
    "  c1 = Conv <dilations = [1], group = 1, kernel_shape = [3], pads = [1, 1], strides = [2]> "
    "(g0, conv1, bconv1)\n"
    "  g1 = torch.Gelu(c1)\n"
    "  frames = Transpose <perm = [0, 2, 1]> (g1)\n"
    "  shape = Shape(frames)\n  length_0 = Gather <axis = 0> (shape, i1)\n"
    "  length = Unsqueeze(length_0, a0)\n"
    "  places = Slice(places_table, a0, length, a0, a1)\n"
    "  x0 = Add(frames, places)\n";

#define WHISPER_TOKENS                                                                             \
    "  shape = Shape(input_ids)\n  steps = Gather <axis = 0> (shape, i1)\n"                        \
    "  past_shape = Shape(\"past_key_values.0.decoder.key\")\n"                                    \
    "  past = Gather <axis = 0> (past_shape, i2)\n"                                                \
    "  total = Add(past, steps)\n"                                                                 \
    "  positions = Range(past, total, i1)\n"                                                       \
    "  keys = Range(i0, total, i1)\n"                                                              \
    "  positions_2 = Unsqueeze(positions, a1)\n"                                                   \
    "  is_seen = LessOrEqual(keys, positions_2)\n"                                                 \
    "  bias_2 = Where(is_seen, zero, lowest)\n  bias = Unsqueeze(bias_2, a01)\n"                   \
    "  words = Gather <axis = 0> (words_table, input_ids)\n"                                       \
    "  places = Gather <axis = 0> (places_table, positions)\n"                                     \
    "  x0 = Add(words, places)\n"

#define WHISPER_SELF                                                                               \
    "  n$ = torch.LayerNorm(x$, ga$, ba$)\n"                                                       \
    "  q$ = torch.Linear(n$, wnq$, bq$)\n  k$ = MatMul(n$, wnk$)\n"                                \
    "  v$ = torch.Linear(n$, wnv$, bv$)\n"                                                         \
    "  qh$ = torch.SplitHeads <tail = [~h, ~s]> (q$)\n"                                            \
    "  kh$ = torch.SplitHeads <tail = [~h, ~s]> (k$)\n"                                            \
    "  vh$ = torch.SplitHeads <tail = [~h, ~s]> (v$)\n"                                            \
    "  \"present.$.decoder.key\" = Concat <axis = 2> (\"past_key_values.$.decoder.key\", kh$)\n"   \
    "  \"present.$.decoder.value\" = Concat <axis = 2> (\"past_key_values.$.decoder.value\", "     \
    "vh$)\n"                                                                                       \
    "  h$ = torch.Attend(qh$, \"present.$.decoder.key\", \"present.$.decoder.value\", bias, "      \
    "root)\n"                                                                                      \
    "  j$ = torch.JoinHeads <width = [~d]> (h$)\n  o$ = torch.Linear(j$, wo$, bo$)\n"              \
    "  r$ = Add(x$, o$)\n"
/* `cache` is the prefix of keys and values of the encoder's output. */
#define WHISPER_CROSS_AND_FFN(cache)                                                               \
    "  cn$ = torch.LayerNorm(r$, gc$, bc$)\n  cq$ = torch.Linear(cn$, cwnq$, cbq$)\n"              \
    "  cqh$ = torch.SplitHeads <tail = [~h, ~s]> (cq$)\n"                                          \
    "  ch$ = torch.Attend(cqh$, \"" cache ".$.encoder.key\", \"" cache ".$.encoder.value\", "      \
    "zero, root)\n"                                                                                \
    "  cj$ = torch.JoinHeads <width = [~d]> (ch$)\n  co$ = torch.Linear(cj$, cwo$, cbo$)\n"        \
    "  cr$ = Add(r$, co$)\n  m$ = torch.LayerNorm(cr$, gm$, bm$)\n"                                \
    "  up$ = torch.Linear(m$, wn1$, b1$)\n  act$ = torch.Gelu(up$)\n"                              \
    "  down$ = torch.Linear(act$, w2$, b2$)\n  x% = Add(cr$, down$)\n"

#define WHISPER_CACHE(kind, side, length) ", float[batch_size,~h," length ",~s] \"" kind ".$." side

#define WHISPER_PAST                                                                               \
    WHISPER_CACHE("past_key_values", "decoder.key\"", "past_decoder_sequence_length")              \
    WHISPER_CACHE("past_key_values", "decoder.value\"", "past_decoder_sequence_length")            \
    WHISPER_CACHE("past_key_values", "encoder.key\"", "encoder_sequence_length_out")               \
    WHISPER_CACHE("past_key_values", "encoder.value\"", "encoder_sequence_length_out")
#define WHISPER_ALL "\"past_decoder_sequence_length + decoder_sequence_length\""
#define WHISPER_PRESENT                                                                            \
    WHISPER_CACHE("present", "decoder.key\"", WHISPER_ALL)                                         \
    WHISPER_CACHE("present", "decoder.value\"", WHISPER_ALL)

/* --- all -------------------------------------------------------------------------------------- */

const test_family_text test_family_texts[TEST_FAMILIES] = {
    [TEST_BERT] =
        {
            .name = "bert",
            .inputs = BERT_TOKENS "input_ids, " BERT_TOKENS "attention_mask, " BERT_TOKENS
                                  "token_type_ids",
            .outputs = "float[batch_size,sequence_length,~v] logits, float[batch_size,~d] "
                       "pooler_output",
            .weights = NUMBERS ", int64[1] a2 = {2}, float[~v,~d] words_table, float[2,~d] "
                               "types_table, float[~p,~d] places_table, int64[1,~p] position_ids, "
                               "float[~d] g_first, float[~d] b_first, float[~d,~d] w_head, "
                               "float[~d] b_head, float[~d] gf, float[~d] bf, float[~d,~v] head, "
                               "float[~v] b_logits, float[~d,~d] w_pooler, float[~d] b_pooler",
            .layer_weights = BERT_LAYER_WEIGHTS,
            .before = bert_before,
            .layer =
                "  x% = torch.BertLayer <tail = [~h, ~s], width = [~d]> (x$, bias, root, wq$, "
                "bq$, wk$, bk$, wv$, bv$, wo$, bo$, ga$, ba$, wn1$, b1$, w2$, b2$, gr$, br$)\n",
            .after = "  dense = torch.Linear(x$, w_head, b_head)\n  act = torch.Gelu(dense)\n"
                     "  both = Add(act, x$)\n"
                     "  final = torch.LayerNorm(both, gf, bf)\n"
                     "  logits = torch.Linear(final, head, b_logits)\n"
                     "  first = Gather <axis = 1> (x$, i0)\n"
                     "  pooled = Gemm <alpha = 1.0, beta = 1.0, transB = 1> (first, w_pooler, "
                     "b_pooler)\n"
                     "  pooler_output = Tanh(pooled)\n",
            .functions = bert_functions,
        },
    [TEST_GPT] =
        {
            .name = "gpt",
            .inputs = GPT_INPUTS,
            .layer_inputs = GPT_PAST,
            .outputs = "float[batch_size,sequence_length,~v] logits",
            .layer_outputs = GPT_PRESENT,
            .weights = NUMBERS ", int64[3] thirds = {~d, ~d, ~d}, float[~v,~d] words_table, "
                               "float[~p,~d] places_table, float[~d] gf, float[~d] bf, "
                               "float[~d,~v] head",
            .layer_weights =
                ", float[~d] ga$, float[~d] ba$, float[~d,~D] wnqkv$, float[~D] bqkv$, "
                "float[~d,~d] wo$, float[~d] bo$, float[~d] gm$, float[~d] bm$, "
                "float[~d,~f] wn1$, float[~f] b1$, float[~f,~d] w2$, float[~d] b2$",
            .before = gpt_before,
            .layer = gpt_layer,
            .after = "  final = torch.LayerNorm(x$, gf, bf)\n  logits = MatMul(final, head)\n",
            .functions = gpt_functions,
        },
    [TEST_LLAMA] =
        {
            .name = "llama",
            .inputs = GPT_INPUTS,
            .layer_inputs = GPT_PAST,
            .outputs = "float[batch_size,sequence_length,~v] logits",
            .layer_outputs = GPT_PRESENT,
            .weights = NUMBERS ", int64[1] a2 = {2}, float[~v,~d] words_table, "
                               "float[~S] frequencies, float[~d] gf, float[~d,~v] head",
            .layer_weights =
                ", float[~d] ga$, float[~d,~d] wnq$, float[~d,~d] wnk$, float[~d,~d] wnv$, "
                "float[~d,~d] wo$, float[~d] gm$, float[~d,~f] wng$, float[~d,~f] wn1$, "
                "float[~f,~d] w2$",
            .before = llama_before,
            .layer = llama_layer,
            .after = "  final = RMSNormalization <axis = -1, epsilon = 0.00001> (x$, gf)\n"
                     "  logits = MatMul(final, head)\n",
            .functions = "",
            .least_opset = 25,
        },
    [TEST_T5] =
        {
            .name = "t5",
            .inputs = "int64[batch_size,encoder_sequence_length] input_ids, "
                      "int64[batch_size,encoder_sequence_length] attention_mask, "
                      "int64[batch_size,decoder_sequence_length] decoder_input_ids",
            .outputs = "float[batch_size,decoder_sequence_length,~v] logits, "
                       "float[batch_size,encoder_sequence_length,~d] encoded",
            .weights = NUMBERS ", int64 i16 = {16}, float[~v,~d] shared_table, "
                               "float[32,~h] e_relative_table, float[32,~h] d_relative_table, "
                               "float[~d] gf_encoder, float[~d] gf, float shrink = {~r}",
            .layer_weights = T5_LAYER_WEIGHTS,
            .before = t5_before,
            .layer = t5_layer,
            .between = t5_between,
            .layer_2 = t5_layer_2,
            .after = "  final_1 = torch.RmsNorm(y$, gf)\n  final = Mul(final_1, shrink)\n"
                     "  head = Transpose <perm = [1, 0]> (shared_table)\n"
                     "  logits = MatMul(final, head)\n",
            .functions = t5_functions,
        },
    [TEST_WHISPER_ENCODER] =
        {
            .name = "whisper-encoder",
            .inputs = "float[batch_size,~m,feature_length] input_features",
            .outputs = "float[batch_size,encoder_length,~d] last_hidden_state",
            .weights = NUMBERS ", float[~d,~m,3] conv0, float[~d] bconv0, float[~d,~d,3] conv1, "
                               "float[~d] bconv1, float[~p,~d] places_table, float[~d] gf, "
                               "float[~d] bf",
            .layer_weights = WHISPER_LAYER_WEIGHTS,
            .before = whisper_encoder_before,
            .layer = whisper_encoder_layer,
            .after = "  last_hidden_state = torch.LayerNorm(x$, gf, bf)\n",
            .functions = "",
        },
    [TEST_WHISPER_DECODER] =
        {
            .name = "whisper-decoder",
            .inputs = "int64[batch_size,decoder_sequence_length] input_ids",
            .layer_inputs = WHISPER_PAST,
            .outputs = "float[batch_size,decoder_sequence_length,~v] logits",
            .layer_outputs = WHISPER_PRESENT,
            .weights =
                NUMBERS ", float[~v,~d] words_table, float[~p,~d] places_table, float[~d] gf, "
                        "float[~d] bf, float[~d,~v] head",
            .layer_weights = WHISPER_LAYER_WEIGHTS WHISPER_CROSS_WEIGHTS,
            .before = WHISPER_TOKENS,
            .layer = WHISPER_SELF WHISPER_CROSS_AND_FFN("past_key_values"),
            .after = "  final = torch.LayerNorm(x$, gf, bf)\n  logits = MatMul(final, head)\n",
            .functions = "",
        },
    [TEST_WHISPER_MERGED] =
        {
            .name = "whisper-merged",
            .inputs = "int64[batch_size,decoder_sequence_length] input_ids, "
                      "float[batch_size,encoder_sequence_length,~d] encoder_hidden_states",
            .layer_inputs = WHISPER_PAST,
            .outputs = "float[batch_size,decoder_sequence_length,~v] logits",
            .layer_outputs = WHISPER_PRESENT WHISPER_CACHE("present", "encoder.key\"",
                                                           "encoder_sequence_length_out")
                WHISPER_CACHE("present", "encoder.value\"", "encoder_sequence_length_out"),
            .weights =
                NUMBERS ", float[~v,~d] words_table, float[~p,~d] places_table, float[~d] gf, "
                        "float[~d] bf, float[~d,~v] head",
            .layer_weights =
                WHISPER_LAYER_WEIGHTS WHISPER_CROSS_WEIGHTS WHISPER_CROSS_CACHE_WEIGHTS,
            .before = WHISPER_TOKENS,
            .layer = WHISPER_SELF
            "  \"present.$.encoder.key\", \"present.$.encoder.value\" = If "
            "<then_branch = then_$ () => (float[] ck_then$, float[] cv_then$) {\n"
            "    ck_then$ = Identity(\"past_key_values.$.encoder.key\")\n"
            "    cv_then$ = Identity(\"past_key_values.$.encoder.value\")\n"
            "  }, else_branch = else_$ () => (float[] ck_else$, float[] cv_else$) {\n"
            "    ck$ = MatMul(encoder_hidden_states, cwk$)\n"
            "    cv$ = torch.Linear(encoder_hidden_states, cwv$, cbv$)\n"
            "    ck_else$ = torch.SplitHeads <tail = [~h, ~s]> (ck$)\n"
            "    cv_else$ = torch.SplitHeads <tail = [~h, ~s]> (cv$)\n"
            "  }> (use_cache_branch)\n" WHISPER_CROSS_AND_FFN("present"),
            .after = "  final = torch.LayerNorm(x$, gf, bf)\n  logits = MatMul(final, head)\n",
            .functions = "",
        },
};
