/* opt_eval_signal.c - windows, transforms and recurrent layers of constants: closed forms, and what
 * is refused. ONNX's own numbers are in eval_node_tests.c. */
#include "support/evals.h"

#define S4 "float[1,4,1] x = {1, 2, 3, 4}"
#define Z4 "float[1,2,2] x = {1, 2, 3, 4}"

TEST(windows_and_filters)
{
    gives(17, "int64 n = {4}", "y = HannWindow(n)", "float[4] y = {0, 0.5, 1, 0.5}");
    gives(17, "int32 n = {3}", "y = HannWindow <periodic = 0, output_datatype = 11> (n)",
          "double[3] y = {0, 1, 0}");
    gives(17, "int64 n = {1}", "y = HannWindow <output_datatype = 10> (n)", "float16[1] y = {0.0}");
    gives(17, "int64 n = {0}", "y = HammingWindow(n)", "float[0] y = {}");
    refuses(17, "int64 n = {1}", "y = BlackmanWindow <periodic = 0> (n)", "ends are the same");
    refuses(17, "int64 n = {-1}", "y = HannWindow(n)", "not a single number from 0 on");
    refuses(17, "float n = {1}", "y = HannWindow(n)", "type float");
    refuses(17, "int64 n = {2147483647}", "y = HannWindow(n)", "above the limit");
    refuses(17, "int64 n = {4}", "y = HannWindow <output_datatype = 7> (n)", "a result of a type");
    refuses(17, "int64 n = {4}", "y = HannWindow <periodic = 2> (n)", "neither 0 nor 1");
#define MEL(bins, length, rate, low, high)                                                         \
    "int32 b = {" #bins "}, int32 l = {" #length "}, int32 r = {" #rate "}, float f = {" #low      \
    "}, float t = {" #high "}"
    refuses(17, MEL(0, 16, 8192, 0, 4096), "y = MelWeightMatrix(b, l, r, f, t)", "input 0");
    refuses(17, MEL(8, 16, 8192, 0, 9000), "y = MelWeightMatrix(b, l, r, f, t)",
            "beyond the spectrum");
    refuses(17, MEL(8, 16, 8192, nan, 9000), "y = MelWeightMatrix(b, l, r, f, t)",
            "beyond the spectrum");
    refuses(17, MEL(8, 2147483647, 8192, 0, 9), "y = MelWeightMatrix(b, l, r, f, t)",
            "above the limit");
}

TEST(transforms)
{
    gives(17, "float[1,2,1] x = {1, 2}", "y = DFT(x)", "float[1,2,2] y = {3, 0, -1, 0}");
    gives(20, "float[1,2,1] x = {1, 2}, int64 n = {1}", "y = DFT(x, n)", "float[1,1,2] y = {1, 0}");
    gives(17, "float[1,2,2] x = {3, 0, -1, 0}", "y = DFT <inverse = 1> (x)",
          "float[1,2,2] y = {1, 0, 2, 0}");
    gives(17, "float[1,2,2] x = {3, 0, -1, 0}", "y = DFT <inverse = 1, onesided = 1> (x)",
          "float[1,2,1] y = {1, 2}");
    gives(17, "float[1,3,1] x = {1, 2, 5}, int64 s = {1}, float[2] w = {1, 2}", "y = STFT(x, s, w)",
          "float[1,2,2,2] y = {5, 0, -3, 0, 12, 0, -8, 0}");
    refuses(20, S4 ", int64 a = {2}", "y = DFT(x, \"\", a)", "an axis of parts");
    refuses(20, S4 ", int64[2] a = {0, 1}", "y = DFT(x, \"\", a)", "not a single axis");
    refuses(17, Z4, "y = DFT <onesided = 1> (x)", "one side of what has two");
    refuses(17, S4 ", int64 n = {0}", "y = DFT(x, n)", "not a single number from 1 on");
    refuses(17, S4 ", int64 n = {2147483647}", "y = DFT(x, n)", "above the limit");
    refuses(17, "float[2,1,2] x = {1, 2, 3, 4}", "y = DFT <inverse = 1, onesided = 1> (x)",
            "a length of 0");
    refuses(17, "float[3] x = {1, 2, 3}", "y = DFT(x)", "no array of real or complex");
    refuses(17, "int32[1,2,1] x = {1, 2}", "y = DFT(x)", "type int32");
    refuses(17, S4 ", int64 s = {1}, int64 n = {5}", "y = STFT(x, s, \"\", n)", "frames of 5");
    refuses(17, S4 ", int64 s = {1}, float[2] w = {1, 1}, int64 n = {3}", "y = STFT(x, s, w, n)",
            "frames of 3");
    refuses(17, S4 ", int64 s = {0}, int64 n = {2}", "y = STFT(x, s, \"\", n)", "input 1");
    refuses(17, S4 ", int64 s = {1}, double[2] w = {1, 1}", "y = STFT(x, s, w)", "another type");
    refuses(17, Z4 ", int64 s = {1}, int64 n = {2}", "y = STFT(x, s, \"\", n)", "one side");
    refuses(17, "float[2,1] x = {1, 2}, int64 s = {1}, int64 n = {1}", "y = STFT(x, s, \"\", n)",
            "rank 2, expected 3");
}

#define R1 "float[2,1,1] x = {1, 2}, float[1,1,1] w = {1}, float[1,1,1] r = {1}"

TEST(recurrent_layers)
{
    gives(14, R1, "y, h = RNN <activations = [\"Relu\"]> (x, w, r)",
          "float[2,1,1,1] y = {1, 3}, float[1,1,1] h = {3}");
    gives(14, R1, "y, h = RNN <activations = [\"Relu\"], direction = \"reverse\"> (x, w, r)",
          "float[2,1,1,1] y = {3, 2}, float[1,1,1] h = {3}");
    gives(14, R1 ", int32[1] n = {1}, float[1,1,1] s = {5}",
          "y, h = RNN <activations = [\"Relu\"]> (x, w, r, \"\", n, s)",
          "float[2,1,1,1] y = {6, 0}, float[1,1,1] h = {6}");
    refuses(14, R1, "y = RNN <activations = [\"Elu\"]> (x, w, r)", "activation");
    refuses(14, R1, "y = RNN <activations = [\"Relu\", \"Relu\"]> (x, w, r)", "each direction");
    refuses(14, R1, "y = RNN <clip = 1.0> (x, w, r)", "clip");
    refuses(14, R1, "y = RNN <hidden_size = 2> (x, w, r)", "'hidden_size'");
    refuses(14, R1, "y = RNN <direction = \"up\"> (x, w, r)", "'direction'");
    refuses(14, R1, "y = RNN <direction = \"bidirectional\"> (x, w, r)", "input 1 has another");
    refuses(14, R1, "y = GRU(x, w, r)", "input 1 has another");
    refuses(14, R1 ", int32[2] n = {1, 1}", "y = RNN(x, w, r, \"\", n)", "2 lengths");
    refuses(14, R1 ", int32[1] n = {3}", "y = RNN(x, w, r, \"\", n)", "a length of 3 of 2");
    refuses(14, R1 ", double[1,2] b = {3, 1}", "y = RNN(x, w, r, b)", "input 3 has another");
    refuses(14, "float[2] x = {1, 2}, float[1,1,1] w = {1}", "y = RNN(x, w, w)", "other ranks");
    refuses(14, "int32[1,1,1] w = {1}", "y = RNN(w, w, w)", "type int32");
}
