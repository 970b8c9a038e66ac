/* opt_eval_resize.c - Resize of constants: what is refused, and small results by hand. Numbers are
 * compared with an engine's (eval_vs_ort.c). */
#include "support/evals.h"

#define X2     "float[2] x = {1, 5}"
#define X3     "float[3] x = {1, 2, 4}"
#define TWICE  ", float[1] s = {2.0}"
#define RESIZE "y = Resize <"

TEST(lines_of_two_numbers)
{
    gives(13, X2 TWICE, "y = Resize(x, \"\", s)", "float[4] y = {1, 1, 5, 5}");
    gives(13, X2 TWICE, RESIZE "mode = \"linear\"> (x, \"\", s)", "float[4] y = {1, 2, 4, 5}");
    gives(
        13, X2 ", int64[1] s = {3}",
        RESIZE
        "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"> (x, \"\", \"\", s)",
        "float[3] y = {1, 3, 5}");
    gives(13, X2 ", int64[1] s = {1}",
          RESIZE "mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\"> (x, "
                 "\"\", \"\", s)",
          "float[1] y = {1}");
    gives(13, X3 ", float[1] s = {1.0}", "y = Resize(x, \"\", s)", "float[3] y = {1, 2, 4}");
    gives(13, "float16[2] x = {1.0, 5.0}, int64[1] s = {4}",
          RESIZE "mode = \"linear\"> (x, \"\", \"\", s)", "float16[4] y = {1.0, 2.0, 4.0, 5.0}");
    gives(13, "int8[2] x = {1, -5}" TWICE, "y = Resize(x, \"\", s)", "int8[4] y = {1, 1, -5, -5}");
    gives(13, X2 TWICE ", float[0] r = {}", "y = Resize(x, r, s)", "float[4] y = {1, 1, 5, 5}");
    gives(13, X2 ", float[1] s = {0.1}", "y = Resize(x, \"\", s)", "float[0] y = {}");
}

TEST(a_crop_fills_what_lies_beyond_the_data)
{
    gives(13, X3 ", float[2] r = {0.5, 1.5}, int64[1] s = {3}",
          RESIZE
          "coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = 9.0> "
          "(x, r, \"\", s)",
          "float[3] y = {2, 4, 9}");
    gives(13, X3 ", float[2] r = {0.0, 1.0}, int64[1] s = {1}",
          RESIZE "coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, \"\", s)",
          "float[1] y = {2}");
}

TEST(one_scale_fits_all_axes_into_the_sizes_or_covers_them)
{
    static const char x[] = "float[1,2] x = {1, 5}, int64[2] s = {2, 6}";

    gives(19, x, RESIZE "keep_aspect_ratio_policy = \"not_larger\"> (x, \"\", \"\", s)",
          "float[2,4] y = {1, 1, 5, 5, 1, 1, 5, 5}");
    gives(19, x, RESIZE "keep_aspect_ratio_policy = \"not_smaller\"> (x, \"\", \"\", s)",
          "float[3,6] y = {1, 1, 1, 5, 5, 5, 1, 1, 1, 5, 5, 5, 1, 1, 1, 5, 5, 5}");
    gives(19, "float[1,2] x = {1, 5}, int64[1] s = {1}", RESIZE "axes = [-1]> (x, \"\", \"\", s)",
          "float[1,1] y = {1}");
}

TEST(resizes_that_are_not_computed_are_refused)
{
    refuses(10, X2 TWICE, "y = Resize(x, s)", "opset 10");
    refuses(13, X2, "y = Resize(x)", "not one number for each axis");
    refuses(13, X2 TWICE ", int64[1] n = {2}", "y = Resize(x, \"\", s, n)",
            "not one number for each axis");
    refuses(13, X2 ", float[2] s = {1.0, 2.0}", "y = Resize(x, \"\", s)", "2 numbers, expected 1");
    refuses(13, X2 ", int64[2] s = {1, 2}", "y = Resize(x, \"\", \"\", s)",
            "not one number for each axis");
    refuses(13, X2 ", double[1] s = {1}", "y = Resize(x, \"\", s)", "type double");
    refuses(13, X2 ", float[1] s = {-1.0}", "y = Resize(x, \"\", s)", "not above 0");
    refuses(13, X2 ", float[1] s = {nan}", "y = Resize(x, \"\", s)", "not above 0");
    refuses(13, X2 ", float[1] s = {inf}", "y = Resize(x, \"\", s)", "too large");
    refuses(13, X2 ", float[1] s = {1e8}", "y = Resize(x, \"\", s)", "above the limit");
    refuses(13, X2 ", int64[1] s = {0}", "y = Resize(x, \"\", \"\", s)", "a size of 0");
    refuses(13, X2 ", int64[1] s = {9223372036854775807}", "y = Resize(x, \"\", \"\", s)",
            "a size of 9223372036854775807");
    refuses(13, "float[0] x = {}" TWICE, "y = Resize(x, \"\", s)", "without elements");
    refuses(13, "int32[2] x = {1, 2}" TWICE, RESIZE "mode = \"linear\"> (x, \"\", s)",
            "type int32");
    refuses(13, X2 TWICE, RESIZE "mode = \"odd\"> (x, \"\", s)", "'mode' has a value");
    refuses(13, X2 TWICE, RESIZE "mode = 3> (x, \"\", s)", "a type that it should not have");
    refuses(13, X2 TWICE, RESIZE "nearest_mode = \"odd\"> (x, \"\", s)",
            "'nearest_mode' has a value");
    refuses(13, X2 TWICE,
            RESIZE "coordinate_transformation_mode = \"tf_half_pixel_for_nn\"> (x, \"\", s)",
            "'coordinate_transformation_mode' has a value");
    refuses(13, X2 TWICE,
            RESIZE "coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, \"\", s)",
            "a crop without its part");
    refuses(13, X2 TWICE ", float[2] r = {nan, 1}",
            RESIZE "coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, s)",
            "not a number");
    refuses(13, "int8[2] x = {1, 2}" TWICE ", float[2] r = {0.0, 1.0}",
            RESIZE "coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, s)",
            "type int8");
    refuses(13, X2 ", float[1] s = {1.2}",
            RESIZE "coordinate_transformation_mode = \"align_corners\"> (x, \"\", s)",
            "no whole length");
    refuses(18, X2 TWICE, RESIZE "antialias = 2> (x, \"\", s)", "antialias");
    refuses(18, X2 TWICE, RESIZE "axes = [1]> (x, \"\", s)", "axis 1");
    refuses(18, X2 TWICE, RESIZE "axes = [0, 0]> (x, \"\", s)", "listed twice");
    refuses(18, "float[1,2] x = {1, 2}, float[2] s = {2.0, 2.0}",
            RESIZE "axes = [0, 0]> (x, \"\", s)", "axis 0 is listed twice");
    refuses(18, X2 ", int64[1] s = {4}",
            RESIZE "keep_aspect_ratio_policy = \"odd\"> (x, \"\", \"\", s)",
            "'keep_aspect_ratio_policy' has a value");
}

/* Place 7 is at 7 / 1.4: 5 in float, and a little more in double, since 1.4 is a float. */
TEST(a_place_that_float_and_double_round_apart_is_refused)
{
    refuses(
        13, "float[9] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[1] s = {1.4}",
        RESIZE
        "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"ceil\"> (x, \"\", s)",
        "float and double round");
}
