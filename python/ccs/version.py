"""The version of this package: that of the libccs it was written for."""

VERSION = "0.1.0"
