/* opt_eval_windows.c - Conv, ConvTranspose and pools of constants: what is refused, and what no
 * engine says. Numbers are compared with an engine's (eval_vs_ort.c). */
#include "support/evals.h"

#define X4 "float[1,1,4] x = {1, 2, 3, 4}"

TEST(the_last_window_may_end_in_padding_but_not_start_there)
{
    gives(10, X4, "y = MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1> (x)",
          "float[1,1,2] y = {3, 4}");
    gives(10, X4, "y = MaxPool <kernel_shape = [1], strides = [3], ceil_mode = 1> (x)",
          "float[1,1,2] y = {1, 4}");
    gives(10, X4,
          "y = MaxPool <kernel_shape = [2], strides = [3], pads = [1, 1], ceil_mode = 1> (x)",
          "float[1,1,2] y = {1, 4}");
    gives(10, "float[1,1,2] x = {2, 4}",
          "y = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1, "
          "count_include_pad = 1> (x)",
          "float[1,1,2] y = {2, 2}");
}

TEST(a_result_counts_what_lies_in_padding_only_where_it_should)
{
    gives(19, X4, "y = AveragePool <kernel_shape = [2], pads = [1, 0]> (x)",
          "float[1,1,4] y = {1, 1.5, 2.5, 3.5}");
    gives(19, X4, "y = AveragePool <kernel_shape = [2], pads = [1, 0], count_include_pad = 1> (x)",
          "float[1,1,4] y = {0.5, 1.5, 2.5, 3.5}");
    gives(18, X4, "y = LpPool <kernel_shape = [2], p = 1, pads = [1, 0]> (x)",
          "float[1,1,4] y = {1, 3, 5, 7}");
    gives(19, "float16[1,1,2] x = {1.0, 2.0}", "y = AveragePool <kernel_shape = [2]> (x)",
          "float16[1,1,1] y = {1.5}");
}

TEST(the_first_of_equal_elements_is_the_largest)
{
    gives(12, "float[1,1,3] x = {2, 2, 1}", "y, i = MaxPool <kernel_shape = [3]> (x)",
          "int64[1,1,1] i = {0}");
    gives(12, "float[1,1,3] x = {-inf, -inf, -inf}", "y, i = MaxPool <kernel_shape = [3]> (x)",
          "float[1,1,1] y = {-inf}, int64[1,1,1] i = {0}");
}

TEST(a_result_larger_than_the_data_make_it_ends_in_the_bias)
{
    gives(11, "float[1,1,2] x = {1, 2}, float[1,1,1] w = {3}, float[1] b = {0.5}",
          "y = ConvTranspose <output_shape = [4]> (x, w, b)",
          "float[1,1,4] y = {3.5, 6.5, 0.5, 0.5}");
}

TEST(pools_that_do_not_fit_are_refused)
{
    refuses(12, X4, "y = MaxPool(x)", "'kernel_shape' has 0");
    refuses(12, X4, "y = MaxPool <kernel_shape = [5]> (x)", "larger than the data");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2, 2]> (x)", "2 numbers, expected 1");
    refuses(12, X4, "y = MaxPool <kernel_shape = [0]> (x)", "'kernel_shape' has 0");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2], pads = [2, 0]> (x)",
            "as large as the kernel");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2], pads = [-1, 0]> (x)", "'pads' has -1");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2], dilations = [0]> (x)", "'dilations' has 0");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2], ceil_mode = 2> (x)",
            "'ceil_mode' is neither");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2], auto_pad = 1> (x)",
            "a type that it should not have");
    refuses(12, X4, "y = MaxPool <kernel_shape = [2], auto_pad = \"ODD\"> (x)",
            "none of its values");
    refuses(12, X4,
            "y = MaxPool <kernel_shape = [2147483647], dilations = [2147483647], auto_pad = "
            "\"SAME_UPPER\"> (x)",
            "larger than the data");
    refuses(12, X4, "y = MaxPool <kernel_shape = [1000000000], auto_pad = \"SAME_UPPER\"> (x)",
            "places");
    refuses(12, X4, "y = LpPool <kernel_shape = [2], p = 0> (x)", "'p' is 0");
    refuses(12, "float[1,1,1] x = {1}",
            "y = MaxPool <kernel_shape = [2], dilations = [2], pads = [1, 1]> (x)",
            "a window without data");
    refuses(12, "float[1,1,2] x = {1, nan}", "y = MaxPool <kernel_shape = [2]> (x)",
            "the data have NaN");
    refuses(12, "float[1,2] x = {1, 2}", "y = MaxPool <kernel_shape = [2]> (x)",
            "rank 2, expected 3 to 5");
    refuses(12, "float[1,1,0] x = {}", "y = MaxPool <kernel_shape = [1]> (x)", "without elements");
    refuses(12, "int32[1,1,2] x = {1, 2}", "y = MaxPool <kernel_shape = [2]> (x)", "type int32");
    refuses(12, "int8[1,1,2] x = {1, 2}", "y = AveragePool <kernel_shape = [2]> (x)", "type int8");
    refuses(12, X4, "y, i = AveragePool <kernel_shape = [2]> (x)", "output 1 is none");
}

TEST(pools_of_whole_channels_that_do_not_fit_are_refused)
{
    refuses(12, "float[1,2] x = {1, 2}", "y = GlobalMaxPool(x)", "rank 2, expected 3");
    refuses(12, "float[1,1,0] x = {}", "y = GlobalAveragePool(x)", "without elements");
    refuses(12, "float[1,1,2] x = {nan, 1}", "y = GlobalMaxPool(x)", "the data have NaN");
    refuses(12, "int8[1,1,2] x = {1, 2}", "y = GlobalMaxPool(x)", "type int8");
    refuses(12, X4, "y = GlobalLpPool <p = -1> (x)", "'p' is -1");
}

#define W2 ", float[1,1,2] w = {1, 2}"

TEST(transposed_convolutions_that_do_not_fit_are_refused)
{
    gives(11, "double[1,1,2] x = {1, 2}, double[1,1,2] w = {1, 10}, double[1] b = {0.5}",
          "y = ConvTranspose <strides = [2], output_padding = [1]> (x, w, b)",
          "double[1,1,5] y = {1.5, 10.5, 2.5, 20.5, 0.5}");
    refuses(11, X4 ", float[2,1,1] w = {1, 2}", "y = ConvTranspose(x, w)",
            "channels that do not fit");
    refuses(11, X4 W2, "y = ConvTranspose <group = 0> (x, w)", "channels that do not fit");
    refuses(11, X4 W2, "y = ConvTranspose <group = 2> (x, w)", "channels that do not fit");
    refuses(11, X4 W2 ", float[2] b = {1, 2}", "y = ConvTranspose(x, w, b)",
            "a bias that does not fit");
    refuses(11, X4 W2, "y = ConvTranspose <kernel_shape = [3]> (x, w)", "not the weight's");
    refuses(11, X4 W2, "y = ConvTranspose <output_padding = [1]> (x, w)", "as large as a step");
    refuses(11, X4 W2, "y = ConvTranspose <output_shape = [0]> (x, w)", "without elements");
    refuses(11, X4 W2, "y = ConvTranspose <pads = [3, 2]> (x, w)", "without elements");
    refuses(11, X4 W2, "y = ConvTranspose <pads = [2147483647, 2147483647]> (x, w)",
            "without elements");
    refuses(11, X4 W2, "y = ConvTranspose <strides = [2147483647]> (x, w)", "above the limit");
    refuses(11, X4 W2, "y = ConvTranspose <dilations = [2147483648]> (x, w)",
            "'dilations' has 2147483648");
    refuses(10, X4 W2, "y = ConvTranspose <output_shape = [4]> (x, w)", "opset 11 changed");
    refuses(10, X4 W2, "y = ConvTranspose <auto_pad = \"SAME_UPPER\"> (x, w)", "opset 11 changed");
    refuses(11, X4 ", float[1,1] w = {1}", "y = ConvTranspose(x, w)", "ranks 3 and 2");
    refuses(11, X4 ", float[1,0,2] w = {}", "y = ConvTranspose(x, w)", "without elements");
    refuses(11, X4 ", double[1,1,1] w = {1}", "y = ConvTranspose(x, w)", "inputs of the types");
    refuses(11, "int8[1,1,1] x = {1}, int8[1,1,1] w = {1}", "y = ConvTranspose(x, w)", "type int8");
}
