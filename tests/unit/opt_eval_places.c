/* opt_eval_places.c - operators of the evaluator that pick elements by index, put them down, cut,
 * pad, repeat. */
#include "support/evals.h"

static const char x23[] = "int64[2,3] x = {1, 2, 3, 4, 5, 6}";
#define X23 "int64[2,3] x = {1, 2, 3, 4, 5, 6}"

TEST(elements_are_gathered)
{
    gives(13, X23 ", int64[1,3] i = {-1, 0, 1}", "y = GatherElements(x, i)",
          "int64[1,3] y = {4, 2, 6}");
    gives(13, X23 ", int32[2,1] i = {2, 0}", "y = GatherElements <axis = 1> (x, i)",
          "int64[2,1] y = {3, 4}");
    gives(13, "int4[2,2] x = {1, 2, 3, 4}, int64[1,2] i = {1, 0}", "y = GatherElements(x, i)",
          "int4[1,2] y = {3, 2}");
    gives(13, X23 ", int64[0,3] i = {}", "y = GatherElements(x, i)", "int64[0,3] y = {}");
    refuses(13, X23 ", int64[3] i = {0, 0, 0}", "y = GatherElements(x, i)", "indices of rank 1");
    refuses(13, X23 ", int64[1,4] i = {0, 0, 0, 0}", "y = GatherElements(x, i)",
            "more indices than elements");
    refuses(13, X23 ", int64[1,1] i = {2}", "y = GatherElements(x, i)", "index 2 is out of range");
    refuses(13, "int64[2,0] x = {}, int64[1,1] i = {0}", "y = GatherElements(x, i)",
            "more indices");
    gives(13, X23 ", int64[2,2] i = {0, 1, 1, -1}", "y = GatherND(x, i)", "int64[2] y = {2, 6}");
    gives(13, X23 ", int64[1,1] i = {1}", "y = GatherND(x, i)", "int64[1,3] y = {4, 5, 6}");
    gives(13, X23 ", int64[2,1] i = {0, 2}", "y = GatherND <batch_dims = 1> (x, i)",
          "int64[2] y = {1, 6}");
    gives(13, X23 ", int64[2,0] i = {}", "y = GatherND(x, i)",
          "int64[2,2,3] y = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}");
    gives(13, X23 ", int64[0,1] i = {}", "y = GatherND(x, i)", "int64[0,3] y = {}");
    refuses(13, X23 ", int64[1,3] i = {0, 0, 0}", "y = GatherND(x, i)", "lists of 3 indices");
    refuses(13, X23 ", int64[1,2] i = {0, 3}", "y = GatherND(x, i)", "index 3 is out of range");
    refuses(13, X23 ", int64 i = {0}", "y = GatherND(x, i)", "batch dims");
    refuses(13, X23 ", int64[1] i = {0}", "y = GatherND <batch_dims = 1> (x, i)", "1 batch dims");
    refuses(13, X23 ", int64[1] i = {0}", "y = GatherND <batch_dims = -1> (x, i)", "-1 batch dims");
    refuses(13, X23 ", int64[3,1] i = {0, 0, 0}", "y = GatherND <batch_dims = 1> (x, i)",
            "batch dims 2 and 3");
    refuses(13, "float[0] x = {}, int64[1,1] i = {0}", "y = GatherND(x, i)", "without elements");
}

TEST(elements_are_scattered)
{
    gives(13, X23 ", int64[1,2] i = {1, -2}, int64[1,2] u = {50, 60}",
          "y = ScatterElements(x, i, u)", "int64[2,3] y = {1, 60, 3, 50, 5, 6}");
    gives(18, X23 ", int64[1,2] i = {2, 2}, int64[1,2] u = {50, 60}",
          "y = ScatterElements <axis = 1, reduction = \"add\"> (x, i, u)",
          "int64[2,3] y = {1, 2, 113, 4, 5, 6}");
    gives(18, "float[3] x = {1, 2, 3}, int64[2] i = {0, 2}, float[2] u = {5, -1}",
          "y = ScatterElements <reduction = \"min\"> (x, i, u)", "float[3] y = {1, 2, -1}");
    gives(18, "uint4[3] x = {1, 2, 3}, int64[1] i = {1}, uint4[1] u = {15}",
          "y = ScatterElements(x, i, u)", "uint4[3] y = {1, 15, 3}");
    gives(18, "float[3] x = {1, 2, 3}, int64[0] i = {}, float[0] u = {}",
          "y = ScatterElements(x, i, u)", "float[3] y = {1, 2, 3}");
    refuses(18, X23 ", int64[1,2] i = {1, 0}, int64[2,1] u = {50, 60}",
            "y = ScatterElements(x, i, u)", "different shapes");
    refuses(18, X23 ", int64[1,2] i = {1, 0}, float[1,2] u = {50, 60}",
            "y = ScatterElements(x, i, u)", "types int64 and float");
    refuses(18, X23 ", int64[1,1] i = {2}, int64[1,1] u = {50}", "y = ScatterElements(x, i, u)",
            "index 2 is out");
    refuses(18, "uint4[3] x = {1, 2, 3}, int64[1] i = {1}, uint4[1] u = {15}",
            "y = ScatterElements <reduction = \"add\"> (x, i, u)", "type uint4");
    refuses(18, "float16[1] x = {1.0}, int64[1] i = {0}, float16[1] u = {1.0}",
            "y = ScatterElements <reduction = \"add\"> (x, i, u)", "type float16");
    refuses(16, "float[1] x = {1}, int64[1] i = {0}, float[1] u = {1}",
            "y = ScatterElements <reduction = \"max\"> (x, i, u)", "'reduction' is not known");
    refuses(16, "float[1] x = {inf}, int64[1] i = {0}, float[1] u = {-inf}",
            "y = ScatterElements <reduction = \"add\"> (x, i, u)", "the result has NaN");
    gives(13, X23 ", int64[1,1] i = {-1}, int64[1,3] u = {7, 8, 9}", "y = ScatterND(x, i, u)",
          "int64[2,3] y = {1, 2, 3, 7, 8, 9}");
    gives(16, X23 ", int64[2,2] i = {0, 1, 0, 1}, int64[2] u = {10, 20}",
          "y = ScatterND <reduction = \"add\"> (x, i, u)", "int64[2,3] y = {1, 32, 3, 4, 5, 6}");
    gives(16, X23 ", int64[0,2] i = {}, int64[0] u = {}", "y = ScatterND(x, i, u)",
          "int64[2,3] y = {1, 2, 3, 4, 5, 6}");
    refuses(16, X23 ", int64[1,1] i = {0}, int64[1,2] u = {7, 8}", "y = ScatterND(x, i, u)",
            "another shape");
    refuses(16, X23 ", int64[1,1] i = {2}, int64[1,3] u = {7, 8, 9}", "y = ScatterND(x, i, u)",
            "index 2 is out");
    refuses(16, "float[0] x = {}, int64[1,1] i = {0}, float[1] u = {1}", "y = ScatterND(x, i, u)",
            "without elements");
}

TEST(borders_are_added_and_taken_away)
{
    gives(13, X23 ", int64[4] p = {0, 1, 1, 0}, int64 v = {9}", "y = Pad(x, p, v)",
          "int64[3,4] y = {9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9}");
    gives(13, X23 ", int64[4] p = {-1, 1, 0, -2}", "y = Pad(x, p)", "int64[1,2] y = {0, 4}");
    gives(13, X23 ", int64[4] p = {0, -3, 0, 1}", "y = Pad(x, p)", "int64[2,1] y = {0, 0}");
    gives(13, "int64[3] x = {1, 2, 3}, int64[2] p = {2, 1}", "y = Pad <mode = \"reflect\"> (x, p)",
          "int64[6] y = {3, 2, 1, 2, 3, 2}");
    gives(13, "int4[3] x = {1, 2, 3}, int64[2] p = {2, 1}", "y = Pad <mode = \"edge\"> (x, p)",
          "int4[6] y = {1, 1, 1, 2, 3, 3}");
    gives(19, "int64[2] x = {1, 2}, int64[2] p = {3, 1}", "y = Pad <mode = \"wrap\"> (x, p)",
          "int64[6] y = {2, 1, 2, 1, 2, 1}");
    gives(18, X23 ", int64[2] p = {1, 0}, int64[1] a = {-1}", "y = Pad(x, p, \"\", a)",
          "int64[2,4] y = {0, 1, 2, 3, 0, 4, 5, 6}");
    gives(10, "float16[1] x = {1.0}", "y = Pad <pads = [1, 0], value = 2.5> (x)",
          "float16[2] y = {2.5, 1.0}");
    gives(13, "float[0] x = {}, int64[2] p = {1, 1}", "y = Pad(x, p)", "float[2] y = {0, 0}");
    gives(13, "float x = {3}, int64[0] p = {}", "y = Pad <mode = \"edge\"> (x, p)",
          "float y = {3}");
    refuses(13, "float[0] x = {}, int64[2] p = {1, 1}", "y = Pad <mode = \"edge\"> (x, p)",
            "along a dim of 0");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {2, 0}", "y = Pad <mode = \"reflect\"> (x, p)",
            "along a dim of 2");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {-1, 0}", "y = Pad <mode = \"edge\"> (x, p)",
            "along a dim");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {-2, -1}", "y = Pad(x, p)", "along a dim of 2");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {9223372036854775807, 1}", "y = Pad(x, p)",
            "along a dim of 2");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {4611686018427387903, 1}", "y = Pad(x, p)",
            "can be counted");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {262143, 0}", "y = Pad(x, p)",
            "above the limit");
    refuses(13, "float[2] x = {1, 2}, int64[3] p = {1, 1, 1}", "y = Pad(x, p)",
            "3 pads for 1 axes");
    refuses(13, "float[2] x = {1, 2}", "y = Pad(x)", "0 pads");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {1, 0}, double v = {1}", "y = Pad(x, p, v)",
            "not a scalar of the type");
    refuses(13, "float[2] x = {1, 2}, int64[2] p = {1, 0}", "y = Pad <mode = \"wrap\"> (x, p)",
            "'mode' is not known");
    refuses(18, X23 ", int64[4] p = {1, 0, 0, 0}, int64[2] a = {0, -2}", "y = Pad(x, p, \"\", a)",
            "listed twice");
}

TEST(arrays_are_cut)
{
    gives(13, "int64[4] x = {1, 2, 3, 4}", "y, z = Split(x)",
          "int64[2] y = {1, 2}, int64[2] z = {3, 4}");
    gives(18, "int64[3] x = {1, 2, 3}", "y, z = Split <num_outputs = 2> (x)",
          "int64[2] y = {1, 2}, int64[1] z = {3}");
    gives(13, X23 ", int64[2] s = {0, 3}", "y, z = Split <axis = -1> (x, s)",
          "int64[2,0] y = {}, int64[2,3] z = {1, 2, 3, 4, 5, 6}");
    gives(7, "uint4[3] x = {1, 2, 3}", "y, z = Split <split = [1, 2]> (x)",
          "uint4[1] y = {1}, uint4[2] z = {2, 3}");
    gives(13, "int64[4] x = {1, 2, 3, 4}", "\"\", z = Split(x)", "int64[2] z = {3, 4}");
    refuses(13, "int64[3] x = {1, 2, 3}", "y, z = Split(x)", "does not split into 2 parts");
    refuses(18, "int64[3] x = {1, 2, 3}", "y, z = Split <num_outputs = 3> (x)",
            "not the number of outputs");
    refuses(18, "int64[1] x = {1}", "a, b, c = Split <num_outputs = 3> (x)",
            "does not split into 3 parts");
    refuses(13, "int64[3] x = {1, 2, 3}, int64[2] s = {1, 1}", "y, z = Split(x, s)",
            "do not add up");
    refuses(13, "int64[3] x = {1, 2, 3}, int64[2] s = {4, -1}", "y, z = Split(x, s)",
            "do not add up");
    refuses(13, "int64[3] x = {1, 2, 3}, int64[3] s = {1, 1, 1}", "y, z = Split(x, s)",
            "3 parts for 2 outputs");
    refuses(11, "int64[3] x = {1, 2, 3}, int64[1] s = {3}", "y = Split(x, s)",
            "below opset 13 is an attribute");
    gives(14, "int64[2,2] x = {1, 2, 3, 4}", "y = Trilu(x)", "int64[2,2] y = {1, 2, 0, 4}");
    gives(14, "int64[2,2] x = {1, 2, 3, 4}, int64 k = {-9223372036854775808}", "y = Trilu(x, k)",
          "int64[2,2] y = {1, 2, 3, 4}");
    gives(14, "int64[2,2] x = {1, 2, 3, 4}, int64 k = {9223372036854775807}", "y = Trilu(x, k)",
          "int64[2,2] y = {0, 0, 0, 0}");
    gives(14, "int64[2,2] x = {1, 2, 3, 4}, int64 k = {-1}", "y = Trilu <upper = 0> (x, k)",
          "int64[2,2] y = {0, 0, 3, 0}");
    gives(14, "int64[0,2] x = {}", "y = Trilu(x)", "int64[0,2] y = {}");
    refuses(14, "int64[2] x = {1, 2}", "y = Trilu(x)", "no matrix");
    refuses(14, "int64[1,1] x = {1}, int64[2] k = {1, 2}", "y = Trilu(x, k)", "not a scalar");
}

TEST(arrays_are_repeated_and_regrouped)
{
    gives(13, "int64[2,2] x = {1, 2, 3, 4}, int64[2] r = {2, 2}", "y = Tile(x, r)",
          "int64[4,4] y = {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}");
    gives(13, "int4[3] x = {1, 2, 3}, int64[1] r = {2}", "y = Tile(x, r)",
          "int4[6] y = {1, 2, 3, 1, 2, 3}");
    gives(13, "int64[2] x = {1, 2}, int64[1] r = {0}", "y = Tile(x, r)", "int64[0] y = {}");
    refuses(13, "int64[2] x = {1, 2}, int64[2] r = {1, 1}", "y = Tile(x, r)", "2 repeats");
    refuses(13, "int64[2] x = {1, 2}, int64[1] r = {-1}", "y = Tile(x, r)", "repeated -1 times");
    refuses(13, "int64[2] x = {1, 2}, int64[1] r = {9223372036854775807}", "y = Tile(x, r)",
            "repeated");
    refuses(13, "int64[2] x = {1, 2}, int64[1] r = {1000000}", "y = Tile(x, r)", "above the limit");
    gives(13, "int64[1,4,1,1] x = {1, 2, 3, 4}", "y = DepthToSpace <blocksize = 2> (x)",
          "int64[1,1,2,2] y = {1, 2, 3, 4}");
    gives(11, "int64[1,8,1,1] x = {1, 2, 3, 4, 5, 6, 7, 8}",
          "y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)",
          "int64[1,2,2,2] y = {1, 2, 3, 4, 5, 6, 7, 8}");
    gives(11, "int64[1,8,1,1] x = {1, 2, 3, 4, 5, 6, 7, 8}", "y = DepthToSpace <blocksize = 2> (x)",
          "int64[1,2,2,2] y = {1, 3, 5, 7, 2, 4, 6, 8}");
    gives(13, "int64[1,1,2,2] x = {1, 2, 3, 4}", "y = SpaceToDepth <blocksize = 2> (x)",
          "int64[1,4,1,1] y = {1, 2, 3, 4}");
    refuses(13, "int64[1,3,1,1] x = {1, 2, 3}", "y = DepthToSpace <blocksize = 2> (x)",
            "do not divide");
    refuses(13, "int64[1,1,1,2] x = {1, 2}", "y = SpaceToDepth <blocksize = 2> (x)",
            "do not divide");
    refuses(13, "int64[1,1,1,2] x = {1, 2}", "y = SpaceToDepth(x)", "do not divide");
    refuses(13, "int64[1,1,2] x = {1, 2}", "y = SpaceToDepth <blocksize = 1> (x)",
            "rank 3, expected 4");
    refuses(13, "int64[1,4,1,1] x = {1, 2, 3, 4}",
            "y = DepthToSpace <blocksize = 2, mode = \"x\"> (x)", "neither DCR nor CRD");
}

TEST(arrays_are_made)
{
    gives(13, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = EyeLike(x)",
          "float[2,3] y = {1, 0, 0, 0, 1, 0}");
    gives(13, x23, "y = EyeLike <k = -1, dtype = 9> (x)", "bool[2,3] y = {0, 0, 0, 1, 0, 0}");
    gives(13, x23, "y = EyeLike <k = -9223372036854775808> (x)",
          "int64[2,3] y = {0, 0, 0, 0, 0, 0}");
    gives(13, "float16[1,1] x = {7.0}", "y = EyeLike(x)", "float16[1,1] y = {1.0}");
    refuses(13, "float[2] x = {1, 2}", "y = EyeLike(x)", "rank 1, expected 2");
    refuses(13, x23, "y = EyeLike <dtype = 8> (x)", "a result of a type");
    gives(13, "int64[2] x = {2, -1}, int64 d = {3}, float[2] v = {0, 1}", "y = OneHot(x, d, v)",
          "float[2,3] y = {0, 0, 1, 0, 0, 1}");
    gives(13, "int64[2] x = {3, 0}, int64 d = {2}, int4[2] v = {-1, 1}",
          "y = OneHot <axis = 0> (x, d, v)", "int4[2,2] y = {-1, 1, -1, -1}");
    gives(13, "int64[2] x = {3, 0}, int64 d = {0}, float[2] v = {-1, 1}", "y = OneHot(x, d, v)",
          "float[2,0] y = {}");
    refuses(13, "int64[2] x = {3, 0}, int64 d = {-1}, float[2] v = {-1, 1}", "y = OneHot(x, d, v)",
            "not a single depth");
    refuses(13, "int64[2] x = {3, 0}, int64 d = {2}, float[1] v = {-1}", "y = OneHot(x, d, v)",
            "1 elements, expected 2");
    gives(13, "float[2] x = {1, -2}, double d = {2}, int32[2] v = {0, 1}", "y = OneHot(x, d, v)",
          "int32[2,2] y = {0, 1, 1, 0}");
    refuses(13, "float[2] x = {0.5, 0}, int64 d = {2}, float[2] v = {0, 1}", "y = OneHot(x, d, v)",
            "not whole");
    refuses(13, "bool[2] x = {1, 0}, int64 d = {2}, float[2] v = {0, 1}", "y = OneHot(x, d, v)",
            "type bool");
    refuses(13, "int64[2] x = {3, 0}, int64 d = {1000000}, float[2] v = {0, 1}",
            "y = OneHot(x, d, v)", "above the limit");
    gives(13, "float[2,2] x = {0, nan, -0.0, 3}", "y = NonZero(x)", "int64[2,2] y = {0, 1, 1, 1}");
    gives(13, "uint8[3] x = {0, 0, 0}", "y = NonZero(x)", "int64[1,0] y = {}");
    gives(13, "bfloat16[2] x = {0.0, 2.0}", "y = NonZero(x)", "int64[1,1] y = {1}");
    refuses(13, "float x = {1}", "y = NonZero(x)", "rank 0");
    gives(21, "int4[3] x = {0, -1, 0}", "y = NonZero(x)", "int64[1,1] y = {1}");
    refuses(21, "float8e5m2[1] x = {1.0}", "y = NonZero(x)", "type float8e5m2");
}
