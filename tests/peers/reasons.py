"""Why opsdk differs from PyTorch or Paddle: a reason for each difference that the sweep recorded."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """A reason for differences.

    Attributes:
        aspects: of the sweep, the first of which says in which table it stands.
        names: patterns of names, with the surface in front and a dot where it is meant alone.
        why: what differs, and why.
        peer: "torch" or "paddle"; both unless given.
        text: what has to be in the text of the difference.
    """

    aspects: str
    names: str
    why: str
    peer: str = ""
    text: str = ""


REASONS = (
    # a name that both libraries have, with two meanings
    Reason(
        "structure",
        "max min",
        "By position an axis gives values alone, as in Paddle and NumPy; PyTorch gives positions too, as `dim=` does.",
        "torch",
    ),
    Reason(
        "structure default",
        "sort",
        "Gives the values alone, as in Paddle and NumPy; `dim=` gives PyTorch's pair of values and positions.",
        "torch",
    ),
    Reason(
        "value structure dtype",
        "median nanmedian",
        "Of an even number of elements the mean of the two in the middle, as in Paddle and NumPy, and so a float; "
        "PyTorch gives the lesser. `dim=` gives PyTorch's pair.",
        "torch",
    ),
    Reason(
        "structure refused",
        "split",
        "A number says how many pieces there are, as in Paddle and NumPy; in PyTorch how large they are, which "
        "`dim=` has. What does not share is refused.",
        "torch",
    ),
    Reason(
        "shape kind", "equal", "Element by element, as in Paddle and NumPy; PyTorch's one bool is `equal_all`.", "torch"
    ),
    Reason("kind", "allclose", "A tensor of one bool, as in Paddle; PyTorch gives a Python bool.", "torch"),
    Reason("kind", "function.numel", "A tensor, as in Paddle; the method gives a Python int, as PyTorch's.", "torch"),
    Reason("kind", "method.numel", "A Python int, as in PyTorch; Paddle gives a tensor.", "paddle"),
    Reason(
        "structure",
        "slogdet",
        "One value that holds sign and logarithm, as in Paddle; PyTorch gives a pair.",
        "torch",
    ),
    Reason("value", "linear", "A weight is (in, out), as in Paddle; in PyTorch (out, in).", "torch"),
    Reason("dtype", "one_hot", "float32 unless `dtype=` says otherwise, as in Paddle; PyTorch gives int64.", "torch"),
    Reason(
        "value",
        "softmax log_softmax softmin Softmax LogSoftmax Softmin",
        "The axis is the last unless given, as in Paddle's `nn.functional`; PyTorch, and Paddle's function beside it, "
        "guess it from the number of axes.",
    ),
    Reason(
        "value",
        "avg_pool*",
        "Padding does not count, as in Paddle (`exclusive=True`); PyTorch counts it. `count_include_pad=` says so.",
        "torch",
    ),
    Reason(
        "value default",
        "affine_grid grid_sample",
        "`align_corners` is True unless given, as in Paddle; False in PyTorch.",
        "torch",
    ),
    Reason(
        "shape gradient",
        "linalg.lstsq",
        "Sums of squares and singular values are always given, and differentiable; PyTorch and Paddle leave "
        "some empty.",
    ),
    Reason("dtype", "linalg.lstsq", "Ranks are int64, as everywhere; int32 in Paddle.", "paddle"),
    Reason(
        "value",
        "linalg.cholesky_inverse",
        "One triangle of a factor is looked at, as in PyTorch; Paddle multiplies with the whole matrix.",
        "paddle",
    ),
    Reason(
        "value",
        "batch_norm",
        "`momentum` is how much of the running statistics stays, and the variance is Σ / count, as in Paddle; "
        "PyTorch's are the opposite, and those of `BatchNorm2d` here.",
        "torch",
    ),
    Reason(
        "value",
        "rms_norm",
        "`epsilon` is a number unless given, as in Paddle; PyTorch takes the dtype's own, as `RMSNorm` here.",
        "torch",
    ),
    Reason(
        "value",
        "scaled_dot_product_attention",
        "Values are (batch, sequence, heads, size), as in Paddle; PyTorch has the heads before the sequence.",
        "torch",
    ),
    Reason(
        "value shape",
        "LSTM GRU",
        "The batch comes first, as in Paddle; `batch_first=` gives PyTorch's layer, where it says which.",
        "torch",
    ),
    Reason(
        "structure",
        "LSTMCell GRUCell",
        "A cell gives its output and its states, as in Paddle; PyTorch gives the states alone.",
        "torch",
    ),
    Reason(
        "value",
        "linalg.norm",
        "`p` is of the elements as one vector, as in Paddle's `norm`; PyTorch's `linalg.norm` takes that of a matrix.",
        "torch",
    ),
    Reason(
        "shape gradient",
        "linalg.diagonal",
        "Of the first two axes, as in Paddle; PyTorch's `linalg.diagonal` is of the last two.",
        "torch",
    ),
    Reason(
        "dtype",
        "full",
        "float32 unless `dtype=` says otherwise; of a whole number as in Paddle.",
    ),
    Reason("dtype", "max_pool* adaptive_max_pool*", "Positions are int32, as in Paddle; in PyTorch int64.", "torch"),
    Reason("value", "method.type", "The dtype, as in Paddle; PyTorch gives the name of a class.", "torch"),
    Reason("value", "sign sgn sign_ sgn_", "nan has the sign nan, as in Paddle and NumPy; 0 in PyTorch.", "torch"),
    # what Paddle computes otherwise
    Reason(
        "value",
        "argmax argmin",
        "nan is the greatest and the least, as in PyTorch and NumPy; Paddle skips it.",
        "paddle",
    ),
    Reason("value", "relu relu_", "nan stays nan, as in PyTorch; Paddle gives 0.", "paddle"),
    Reason("value", "eq", "A whole number is compared with the float; Paddle rounds the float first.", "paddle"),
    Reason(
        "value dtype",
        "pow",
        "A whole number to a float power is a float, as in PyTorch; Paddle rounds the power.",
        "paddle",
    ),
    Reason(
        "dtype value",
        "mean var nanmedian copysign atan2",
        "Of whole numbers a float32, as in PyTorch; Paddle rounds some results to whole numbers and gives float64 for "
        "others.",
        "paddle",
    ),
    Reason("value", "norm", "Without `p` the root of the sum of squares, over two axes too, as in PyTorch.", "paddle"),
    Reason("value", "as_strided", "The offset counts elements, as in PyTorch; Paddle counts bytes.", "paddle"),
    Reason(
        "shape",
        "unique unique_consecutive",
        "Inverse positions have the shape of the input, as in PyTorch and NumPy; Paddle gives them flat, and (0, 3) "
        "for the distinct ones of nothing.",
        "paddle",
    ),
    Reason(
        "shape gradient", "block_diag", "A tensor is one matrix, as in PyTorch; Paddle takes its rows apart.", "paddle"
    ),
    Reason("value", "hardshrink", "At the threshold itself 0, as in PyTorch and Paddle's own documentation.", "paddle"),
    Reason(
        "value",
        "interpolate upsample",
        "Paddle takes weights in float32, whatever the input's dtype; to that they agree.",
        "paddle",
    ),
    Reason(
        "value",
        "sigmoid_focal_loss",
        "Labels that are neither 0 nor 1 count in proportion; not so in Paddle.",
        "paddle",
    ),
    Reason(
        "dtype",
        "*_",
        "In place a tensor keeps its dtype: a comparison is written as 1 and 0. Paddle turns the tensor into bools.",
        "paddle",
    ),
    # gradients
    Reason(
        "gradient",
        "*",
        "Where a result does not depend on the input but in steps, there is no gradient (None); PyTorch and Paddle "
        "give zeros. A sum with others is the same.",
        text="none here, zeros there",
    ),
    Reason(
        "gradient",
        "maximum minimum fmax fmin",
        "Where both are equal the first has the whole gradient; PyTorch and Paddle give half to each.",
    ),
    Reason("gradient", "clip clip_ clamp clamp_", "At a bound itself 1, as in Paddle; PyTorch gives 0.", "torch"),
    Reason(
        "gradient",
        "median nanmedian",
        "To the two in the middle; PyTorch and Paddle share it among all equal ones or give it to one.",
    ),
    Reason("gradient", "logdet", "Below 0 the value is nan in both; the gradient here is that of log |det|.", "torch"),
    Reason(
        "gradient",
        "logical_*_",
        "What tells true from false has no gradient; PyTorch passes the cotangent on as if nothing had changed.",
        "torch",
        "none here, one there",
    ),
    Reason(
        "gradient",
        "copy_ floor_divide_",
        "Has no gradient with respect to the old values; Paddle passes one on.",
        "paddle",
        "none here, one there",
    ),
    Reason(
        "gradient",
        "*",
        "Differentiable here, as in PyTorch where it has the name; Paddle gives no gradient with respect to one of "
        "the inputs, and says nothing.",
        "paddle",
        "one here, none there",
    ),
    Reason(
        "gradient",
        "as_strided unfold",
        "Elements that several windows have get the sum of their cotangents, as in PyTorch; Paddle's get one of them.",
        "paddle",
    ),
    Reason(
        "gradient",
        "linalg.cholesky_solve",
        "By differences; Paddle's with respect to the factor is another.",
        "paddle",
    ),
    Reason("gradient", "cdist", "As in PyTorch and by differences; Paddle's is another for p = 3.", "paddle"),
    Reason(
        "gradient",
        "prod",
        "As in PyTorch: right beside a 0, and conjugated for complex numbers; Paddle's are neither.",
        "paddle",
    ),
    Reason("gradient", "avg_pool1d", "Paddle computes it in float32; to that they agree.", "paddle"),
    Reason("gradient", "kl_div", "Flows to a label too; Paddle's stops there.", "paddle"),
    # what is refused
    Reason(
        "refused",
        "bitwise_left_shift* bitwise_right_shift*",
        "A shift by fewer than 0 bits is an error; the others give what the processor gives.",
    ),
    Reason("refused", "byte", "A cast that the dtype does not hold is an error; the others wrap around."),
    Reason(
        "refused",
        "*_",
        "In place a tensor keeps its dtype and shape: an operation with another result is an error, where Paddle "
        "changes the tensor.",
        "paddle",
        "expected a result of",
    ),
    Reason("refused", "copy_ scale_", "What follows the first argument is given by name."),
    Reason(
        "refused",
        "pad",
        "Numbers for all axes begin with the last axis in PyTorch and with the first in Paddle: write pairs.",
    ),
    Reason(
        "refused",
        "add sub subtract",
        "The functions are ops; write `x + alpha * y`, or the method, which has it.",
        "torch",
    ),
    Reason(
        "refused",
        "cross_entropy",
        "Classes lie last, and probabilities are said by `soft_label=True`, as in Paddle; what PyTorch would read "
        "otherwise is an error.",
        "torch",
    ),
    Reason("refused", "group_norm", "`epsilon` comes before the weight, as in Paddle; give it by name.", "torch"),
    Reason(
        "refused",
        "histogram",
        "Counts in [min, max], as in Paddle; PyTorch's pair with the edges is not offered.",
        "torch",
    ),
    Reason("refused", "slice_scatter", "Takes lists of axes, starts, ends and strides, as in Paddle.", "torch"),
    Reason(
        "refused", "where", "As a method it is of the condition, as in Paddle; PyTorch's is of the values.", "torch"
    ),
    Reason("refused", "put_along_axis put_along_axis_", "Values are put; to add them is `scatter_add`.", "paddle"),
    Reason(
        "keyword",
        "*",
        "A keyword that opsdk does not have is a TypeError, never silently nothing.",
    ),
    # errors
    Reason(
        "error",
        "*",
        "Shapes that do not fit are a ValueError, as in Paddle and NumPy; RuntimeError in PyTorch.",
        text="fit: ValueError here, RuntimeError",
    ),
    Reason(
        "error",
        "*",
        "Of what is none a tensor nor numbers there is a TypeError; Paddle has ValueError for the same, "
        "or meets it as an AttributeError, as PyTorch's functions in Python do.",
        text="an object that is none: ",
    ),
    Reason(
        "error",
        "*",
        "An unknown keyword is a TypeError, as Python has it; ValueError in Paddle's compiled functions, or nothing.",
        "paddle",
        "an unknown keyword",
    ),
    Reason(
        "error",
        "equal",
        "Shapes that do not broadcast are an error element by element; PyTorch's one bool is False.",
        "torch",
    ),
    Reason(
        "error",
        "*",
        "An axis out of range is an AxisError, a ValueError and an IndexError as in NumPy.",
        text="an axis out of range",
    ),
    Reason(
        "error",
        "*",
        "Shapes that do not fit are a ValueError; Paddle has other classes for some.",
        "paddle",
        "shapes that do not fit",
    ),
)

# Shared names without a comparison, and why.
UNCOMPARED = {
    "get_rng_state set_rng_state manual_seed seed initial_seed device save load set_printoptions get_flags set_flags "
    "is_grad_enabled batch summary grad promote_types shape": "Of the library's own state, files, graph or dtypes, not "
    "of values.",
    "Module ModuleDict ModuleList Parameter ParameterDict ParameterList Sequential Layer LayerDict LayerList "
    "RNNCellBase ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue BiRNN RNN TransformerEncoder "
    "TransformerEncoderLayer MultiheadAttention": "Made of other layers, which are compared; `RNN` is Paddle's, which "
    "takes a cell.",
    "backward register_hook retain_grad retain_grads clear_grad clear_gradient gradient to cuda": "Of a tensor's graph "
    "or place; the gradients of all other names go through `backward`.",
    "eigh svd": "Vectors have signs of their own in each library; what is free of them, and the gradients, are held to "
    "NumPy in tests/ops/matrices.",
    "solve": "PyTorch has the name still, and raises: it was removed there.",
    "rms_norm": "Paddle's runs on a GPU alone.",
    "add_n broadcast_tensors stack": "A method of Paddle's by accident: it takes a list of tensors, not the tensor.",
}
