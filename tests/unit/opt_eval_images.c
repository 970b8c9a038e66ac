/* opt_eval_images.c - operators of images, boxes and sets, and others whose results ONNX's own
 * tests have (eval_node_tests.c): closed forms, and what is refused. */
#include "support/evals.h"

#define X22 "float[1,1,2,2] x = {1, 2, 3, 4}"

TEST(places_in_a_grid)
{
    gives(20, X22 ", float[1,1,2,2] g = {0, 0, -1, -1}",
          "y = GridSample <align_corners = 1> (x, g)", "float[1,1,1,2] y = {2.5, 1}");
    gives(16, X22 ", float[1,1,1,2] g = {5, -5}",
          "y = GridSample <mode = \"nearest\", padding_mode = \"border\"> (x, g)",
          "float[1,1,1,1] y = {2}");
    gives(20, "float[1,1,1,1] x = {7}, float[1,1,1,2] g = {5, -5}",
          "y = GridSample <padding_mode = \"reflection\", align_corners = 1> (x, g)",
          "float[1,1,1,1] y = {7}");
    refuses(20, X22 ", float[1,1,1,2] g = {0, 0}", "y = GridSample <mode = \"bilinear\"> (x, g)",
            "none of its values");
    refuses(20, X22 ", float[1,1,1,2] g = {0, 0}", "y = GridSample <padding_mode = \"odd\"> (x, g)",
            "none of its values");
    refuses(20, X22 ", float[1,1,1,2] g = {inf, 0}", "y = GridSample(x, g)", "not finite");
    refuses(20, X22 ", float[1,1,1,3] g = {0, 0, 0}", "y = GridSample(x, g)", "does not fit");
    refuses(20, X22 ", float[1,2] g = {0, 0}", "y = GridSample(x, g)", "ranks 4 and 2");
    refuses(20, X22 ", int32[1,1,1,2] g = {0, 0}", "y = GridSample(x, g)", "type int32");
    refuses(20,
            "float[1,1,1,9] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[1,1,1,2] g = {0.111111111, 0}",
            "y = GridSample <mode = \"nearest\"> (x, g)", "float and double");
    gives(20, "float[1,2,3] t = {1, 0, 0, 0, 1, 0}, int64[4] s = {1, 1, 1, 2}",
          "y = AffineGrid(t, s)", "float[1,1,2,2] y = {-0.5, 0, 0.5, 0}");
    refuses(20, "float[1,2,3] t = {1, 0, 0, 0, 1, 0}, int64[4] s = {1, 1, 1, 2}",
            "y = AffineGrid <align_corners = 1> (t, s)", "a size of 1");
    refuses(20, "float[1,2,3] t = {1, 0, 0, 0, 1, 0}, int64[4] s = {2, 1, 1, 2}",
            "y = AffineGrid(t, s)", "do not fit");
    refuses(20, "float[1,2,3] t = {1, 0, 0, 0, 1, 0}, int64[4] s = {1, 1, 999999999, 999999999}",
            "y = AffineGrid(t, s)", "above the limit");
}

#define BOXES                                                                                      \
    "float[1,2,4] b = {0, 0, 2, 2, 0, 0, 2, 1}, float[1,1,2] s = {0.5, 0.25}, int64 n = {9}"
#define CROP X22 ", float[1,4] r = {0, 0, 1, 1}, int64[1] i = {0}"

TEST(boxes_of_images)
{
    gives(11, BOXES ", float o = {0.25}", "y = NonMaxSuppression(b, s, n, o)",
          "int64[1,3] y = {0, 0, 0}");
    gives(11, BOXES ", float o = {0.75}, float t = {0.3}", "y = NonMaxSuppression(b, s, n, o, t)",
          "int64[1,3] y = {0, 0, 0}");
    gives(11, BOXES ", float o = {0.75}", "y = NonMaxSuppression(b, s, n, o)",
          "int64[2,3] y = {0, 0, 0, 0, 0, 1}");
    gives(11, BOXES, "y = NonMaxSuppression(b, s)", "int64[0,3] y = {}");
    refuses(11, BOXES ", float o = {0.500001}", "y = NonMaxSuppression(b, s, n, o)", "too near");
    refuses(11, BOXES ", float o = {nan}", "y = NonMaxSuppression(b, s, n, o)", "input 3 is NaN");
    refuses(11, BOXES ", int64 o = {1}", "y = NonMaxSuppression(b, s, n, o)", "not a single float");
    refuses(11, "float[1,2,4] b = {0, 0, 2, 2, 0, 0, 2, inf}, float[1,1,2] s = {0.5, 0.25}",
            "y = NonMaxSuppression(b, s)", "not finite");
    refuses(11, "float[1,1,4] b = {0, 0, 2, 2}, float[1,1,2] s = {0.5, 0.25}",
            "y = NonMaxSuppression(b, s)", "do not fit");
    gives(16, CROP, "y = RoiAlign(x, r, i)", "float[1,1,1,1] y = {1}");
    gives(16, CROP,
          "y = RoiAlign <coordinate_transformation_mode = \"output_half_pixel\"> (x, r, i)",
          "float[1,1,1,1] y = {2.5}");
    gives(
        16, CROP,
        "y = RoiAlign <coordinate_transformation_mode = \"output_half_pixel\", mode = \"max\"> (x, "
        "r, i)",
        "float[1,1,1,1] y = {1}");
    refuses(16, X22 ", float[1,4] r = {0, 0, 1, 1}, int64[1] i = {1}", "y = RoiAlign(x, r, i)",
            "index 1 of a batch of 1");
    refuses(16, X22 ", float[1,4] r = {1, 1, 0, 0}, int64[1] i = {0}", "y = RoiAlign(x, r, i)",
            "below 0");
    refuses(16, X22 ", float[1,4] r = {0, 0, 1.000001, 1}, int64[1] i = {0}",
            "y = RoiAlign(x, r, i)", "float counts in another way");
    refuses(16, X22 ", float[1,4] r = {0, 0, 3e4, 3e4}, int64[1] i = {0}", "y = RoiAlign(x, r, i)",
            "samples");
    refuses(16, CROP, "y = RoiAlign <output_height = 0> (x, r, i)", "too small");
    refuses(16, CROP, "y = RoiAlign <sampling_ratio = 32767, output_width = 99> (x, r, i)",
            "samples");
}

TEST(pools_taken_back)
{
    gives(11, "float[1,1,1] x = {5}, int64[1,1,1] i = {1}",
          "y = MaxUnpool <kernel_shape = [2]> (x, i)", "float[1,1,2] y = {0, 5}");
    refuses(11, "float[1,1,1] x = {5}, int64[1,1,1] i = {2}",
            "y = MaxUnpool <kernel_shape = [2]> (x, i)", "index 2 beyond");
    refuses(11, "float[1,1,1] x = {5}, int64[1,1,1] i = {0}, int64[3] s = {1, 1, 1}",
            "y = MaxUnpool <kernel_shape = [2]> (x, i, s)", "another size");
    refuses(11, "float[1,1,1] x = {5}, int64[1,1,1] i = {0}, int64[2] s = {1, 1}",
            "y = MaxUnpool <kernel_shape = [2]> (x, i, s)", "another size");
    refuses(11, "float[1,1,1] x = {5}, int64[1,1] i = {0}",
            "y = MaxUnpool <kernel_shape = [2]> (x, i)", "other shapes");
}

TEST(sets_and_sizes)
{
    gives(11, "int64[4] x = {3, 1, 3, 2}", "y, i, n, k = Unique(x)",
          "int64[3] y = {1, 2, 3}, int64[3] i = {1, 3, 0}, int64[4] n = {2, 0, 2, 1}, int64[3] k = "
          "{1, 1, 2}");
    gives(11, "int64[4] x = {3, 1, 3, 2}", "y, \"\", n, k = Unique <sorted = 0> (x)",
          "int64[3] y = {3, 1, 2}, int64[4] n = {0, 1, 0, 2}, int64[3] k = {2, 1, 1}");
    refuses(11, "float[2] x = {nan, 1}", "y = Unique(x)", "NaN has no place");
    refuses(11, "float[0] x = {}", "y = Unique(x)", "without elements");
    gives(18, "int64[3] x = {1, 2, 3}, int64[1] n = {6}", "y = CenterCropPad(x, n)",
          "int64[6] y = {0, 1, 2, 3, 0, 0}");
    gives(18, "int64[4] x = {1, 2, 3, 4}, int64[1] n = {1}", "y = CenterCropPad(x, n)",
          "int64[1] y = {2}");
    refuses(18, "int64[3] x = {1, 2, 3}, int64[1] n = {-1}", "y = CenterCropPad(x, n)",
            "a size of -1");
    refuses(18, "int64[3] x = {1, 2, 3}, int64[2] n = {1, 1}", "y = CenterCropPad(x, n)",
            "do not fit the axes");
    refuses(18, "int64[3] x = {1, 2, 3}, int64[1] n = {9223372036854775807}",
            "y = CenterCropPad(x, n)", "");
}

TEST(other_operators)
{
    gives(13, "float[2] x = {1, 2}", "y, m = Dropout(x)",
          "float[2] y = {1, 2}, bool[2] m = {1, 1}");
    refuses(13, "float[2] x = {1, 2}, float r = {0.5}, bool t = {1}", "y = Dropout(x, r, t)",
            "trains");
    refuses(13, "float[2] x = {1, 2}, bool t = {1}", "y = Dropout(x, \"\", t)", "trains");
    refuses(13, "float[2] x = {1, 2}, float r = {nan}, bool t = {1}", "y = Dropout(x, r, t)",
            "trains");
    gives(13, "float[2] x = {1, 2}, double r = {0}, bool t = {1}", "y, m = Dropout(x, r, t)",
          "float[2] y = {1, 2}, bool[2] m = {1, 1}");
    refuses(13, "float[2] x = {1, 2}, float r = {0.5}", "y = Dropout(x, \"\", r)",
            "not a single bool");
    refuses(9, "float[2] x = {1, 2}", "y, m = Dropout(x)", "below opset 10");
    gives(26, "float[1] x = {1}", "y = BitCast <to = 6> (x)", "int32[1] y = {1065353216}");
    refuses(26, "float[1] x = {1}", "y = BitCast <to = 7> (x)", "another size");
    refuses(26, "uint8[1] x = {2}", "y = BitCast <to = 9> (x)", "or bool");
    gives(26, "int32[3] x = {2, 3, 4}, int64 a = {0}", "y = CumProd <exclusive = 1> (x, a)",
          "int32[3] y = {1, 2, 6}");
    gives(13, "float[1,1,2,1] x = {1, 3}", "y = MeanVarianceNormalization(x)",
          "float[1,1,2,1] y = {-1, 1}");
    refuses(13, "float[2] x = {1, 3}", "y = MeanVarianceNormalization(x)", "axis 2");
    refuses(13, "float[2] x = {1, 3}", "y = MeanVarianceNormalization <axes = [0, 0]> (x)",
            "listed twice");
    gives(7, X22, "y = Upsample <scales = [1.0, 1.0, 1.0, 2.0]> (x)",
          "float[1,1,2,4] y = {1, 1, 2, 2, 3, 3, 4, 4}");
    refuses(7, X22, "y = Upsample(x)", "not a list of 4 numbers");
    refuses(10, X22 ", float[4] s = {1, 1, 1, 2}", "y = Upsample(x, s)", "opset 10 or later");
}
