"""Calibration samples as the peers want them: one array, one sample a time."""
import numpy


def load(path):
    """Name of the input and the samples of the .npz; labels beside them are not looked at."""
    arrays = numpy.load(path)
    name = next(n for n in arrays.files if arrays[n].dtype == numpy.float32)
    return name, arrays[name]
