"""The ops that nets of images and sequences are made of: convolution, pooling, normalization with statistics."""
