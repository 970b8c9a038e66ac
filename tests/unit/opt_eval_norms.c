/* opt_eval_norms.c - normalizations of constants: what is refused, and what engines do not compare.
 * Numbers are compared with an engine's (eval_vs_ort.c). */
#include "support/evals.h"

#define X4   "float[1,2,2] x = {1, 3, 5, 9}"
#define S2B2 ", float[2] s = {2, 1}, float[2] b = {10, 20}"
#define MV   ", float[2] m = {1, 5}, float[2] v = {4, 16}"

TEST(norms_of_a_few_numbers)
{
    gives(9, X4 S2B2 MV, "y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v)",
          "float[1,2,2] y = {10, 12, 20, 21}");
    gives(9, X4 S2B2, "y = InstanceNormalization <epsilon = 0.0> (x, s, b)",
          "float[1,2,2] y = {8, 12, 19, 21}");
    gives(18, "float[1,2,1] x = {1, 3}, float[1] s = {2}, float[1] b = {10}",
          "y = GroupNormalization <num_groups = 1, epsilon = 0.0> (x, s, b)",
          "float[1,2,1] y = {8, 12}");
    gives(21, "float[1,2,1] x = {1, 3}" S2B2,
          "y = GroupNormalization <num_groups = 1, epsilon = 0.0> (x, s, b)",
          "float[1,2,1] y = {8, 21}");
    gives(17, "double[2] x = {1, 3}, double[2] s = {1, 2}",
          "y, m, i = LayerNormalization <epsilon = 0.0, stash_type = 11> (x, s)",
          "double[2] y = {-1, 2}, double[1] m = {2}, double[1] i = {1}");
    gives(17, "float16[2] x = {1.0, 3.0}, float16[2] s = {1.0, 2.0}",
          "y = LayerNormalization <epsilon = 0.0> (x, s)", "float16[2] y = {-1.0, 2.0}");
    gives(23, "float[2] x = {1, 7}, float[2] s = {5, 10}",
          "y = RMSNormalization <epsilon = 0.0> (x, s)", "float[2] y = {1, 14}");
    gives(13, "float[1,2,1] x = {1, 2}",
          "y = LRN <size = 3, alpha = 3.0, beta = 1.0, bias = 0.0> (x)",
          "float[1,2,1] y = {0.2, 0.4}");
    gives(13, "float[1,2,1] x = {1, 2}",
          "y = LRN <size = 2, alpha = 2.0, beta = 1.0, bias = 0.0> (x)",
          "float[1,2,1] y = {0.2, 0.5}");
    gives(13, "float[2] x = {3, -4}", "y = LpNormalization(x)", "float[2] y = {0.6, -0.8}");
    gives(13, "float[3] x = {1, 2, 2}", "y = Hardmax(x)", "float[3] y = {0, 1, 0}");
    gives(13, "float[0,3] x = {}", "y = Hardmax(x)", "float[0,3] y = {}");
}

TEST(norms_that_do_not_fit_are_refused)
{
    refuses(15, X4 S2B2 MV, "y = BatchNormalization <training_mode = 1> (x, s, b, m, v)",
            "that trains");
    refuses(8, X4 S2B2 MV, "y = BatchNormalization <spatial = 0> (x, s, b, m, v)",
            "not by channels");
    refuses(9, X4 ", float[3] s = {1, 2, 3}, float[2] b = {1, 2}" MV,
            "y = BatchNormalization(x, s, b, m, v)", "input 1 is not a list of 2 numbers");
    refuses(9, "float[2] x = {1, 2}" S2B2 MV, "y = BatchNormalization(x, s, b, m, v)", "rank 1");
    refuses(9, X4 S2B2 ", float[2] m = {1, 5}, float[2] v = {-1, 1}",
            "y = BatchNormalization(x, s, b, m, v)", "the result has NaN");
    refuses(9, X4 S2B2 MV, "y = BatchNormalization <epsilon = -1.0> (x, s, b, m, v)", "'epsilon'");
    refuses(9, X4 S2B2 MV, "y, d = BatchNormalization(x, s, b, m, v)", "output 1 is none");
    refuses(9, X4 S2B2, "y = BatchNormalization(x, s, b)", "3 inputs, expected 5");
    refuses(9, "float[1,2] x = {1, 2}" S2B2, "y = InstanceNormalization(x, s, b)", "rank 2");
    refuses(9, "float[1,2,0] x = {}" S2B2, "y = InstanceNormalization(x, s, b)",
            "without elements");
    refuses(9, "double[1,2,1] x = {1, 2}" S2B2, "y = InstanceNormalization(x, s, b)",
            "inputs of the types");
    refuses(9, "int32[1,2,1] x = {1, 2}" S2B2, "y = InstanceNormalization(x, s, b)", "type int32");
    refuses(21, X4 S2B2, "y = GroupNormalization(x, s, b)", "0 groups of 2 channels");
    refuses(21, X4 S2B2, "y = GroupNormalization <num_groups = 3> (x, s, b)",
            "3 groups of 2 channels");
    refuses(21, "float[1,2] x = {1, 2}" S2B2, "y = GroupNormalization <num_groups = 1> (x, s, b)",
            "rank 2");
    refuses(20, X4 S2B2, "y = GroupNormalization <num_groups = 1> (x, s, b)",
            "not a list of 1 numbers");
    refuses(17, X4 S2B2, "y = LayerNormalization <axis = 3> (x, s, b)", "axis 3");
    refuses(17, X4 S2B2, "y = LayerNormalization <axis = 1> (x, s, b)",
            "not the shape that is normalized");
    refuses(17, X4 S2B2, "y, m = LayerNormalization <stash_type = 7> (x, s, b)", "in another type");
    refuses(17, "float16[2] x = {1.0, 3.0}, float16[2] s = {1.0, 2.0}",
            "y, m = LayerNormalization(x, s)", "in another type");
    refuses(13, X4, "y = LRN(x)", "0 channels in one sum");
    refuses(13, "float[2] x = {1, 2}", "y = LRN <size = 1> (x)", "rank 1");
    refuses(13, X4, "y = LpNormalization <p = 3> (x)", "neither 1 nor 2");
    refuses(13, X4, "y = LpNormalization <axis = 9> (x)", "axis 9");
    gives(13, "float[2] x = {0, 0}", "y = LpNormalization(x)", "float[2] y = {0, 0}");
    refuses(13, "int32[2] x = {0, 0}", "y = Hardmax(x)", "type int32");
}

TEST(a_sum_over_more_channels_than_there_are_ends_at_the_last)
{
    gives(13, "float[1,2,1] x = {1, 2}",
          "y = LRN <size = 9223372036854775807, alpha = 0.0, beta = 1.0, bias = 1.0> (x)",
          "float[1,2,1] y = {1, 2}");
}
