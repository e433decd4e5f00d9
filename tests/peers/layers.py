"""Calls of layers that opsdk shares with PyTorch or Paddle: arguments of the constructor, then of the layer."""

from __future__ import annotations

LAYERS = {
    "()(x)": """
        CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax Mish PReLU
        RReLU ReLU ReLU6 SELU SiLU Sigmoid Silu Softmax Softmin Softplus Softshrink Softsign Swish Tanh Tanhshrink
        ThresholdedReLU Flatten Dropout AlphaDropout
    """,
    "().eval()(x)": "RReLU Dropout AlphaDropout",
    "()(image)": "Softmax2d Softmax2D Dropout2d Dropout2D Flatten Softmax LogSoftmax Softmin",
    "().eval()(image)": "Dropout2d Dropout2D",
    "()(sequence)": "Dropout1d",
    "()(volume)": "Dropout3d Dropout3D",
    "(1)(s)": "Softmax LogSoftmax Softmin",
    "(0.3)(x)": "CELU ELU Hardshrink LeakyReLU Softshrink ThresholdedReLU",
    "(2.0)(x)": "Softplus",
    "(0.25, -1.0)(x)": "torch:Threshold",
    "(-0.5, 0.5)(x)": "Hardtanh",
    "(3)(image)": """
        BatchNorm2d BatchNorm2D InstanceNorm2d InstanceNorm2D MaxPool2d MaxPool2D AvgPool2d AvgPool2D
        AdaptiveAvgPool2d AdaptiveAvgPool2D AdaptiveMaxPool2d AdaptiveMaxPool2D LocalResponseNorm Unfold PReLU
    """,
    "(3).eval()(image)": "BatchNorm2d BatchNorm2D InstanceNorm2d InstanceNorm2D",
    "(3)(sequence)": "BatchNorm1d BatchNorm1D InstanceNorm1d InstanceNorm1D MaxPool1d MaxPool1D AvgPool1d AvgPool1D",
    "(3).eval()(sequence)": "BatchNorm1d BatchNorm1D",
    "(4)(x)": "BatchNorm1d BatchNorm1D LayerNorm RMSNorm",
    "(3)(volume)": "BatchNorm3d BatchNorm3D InstanceNorm3d InstanceNorm3D",
    "(2)(volume)": """
        MaxPool3d MaxPool3D AvgPool3d AvgPool3D AdaptiveAvgPool3d AdaptiveAvgPool3D AdaptiveMaxPool3d
        AdaptiveMaxPool3D
    """,
    "(2)(sequence)": "AdaptiveAvgPool1d AdaptiveAvgPool1D AdaptiveMaxPool1d AdaptiveMaxPool1D",
    "(2, 3)(sequencep)": "LPPool1d LPPool1D",
    "(2, 3)(image)": "LPPool2d LPPool2D",
    "(2, 2)(volume)": "LPPool3d",
    "(3, 2, 1)(image)": "MaxPool2d MaxPool2D AvgPool2d AvgPool2D",
    "([3, 4])(s)": "LayerNorm RMSNorm",
    "(3, 6)(image6)": "GroupNorm",
    "(4, 5)(x)": "Linear",
    "(4, 4)(x)": "Linear",
    "(4, 5, False)(x)": "torch:Linear paddle:Linear",
    "(4, 4, 2)(x, w34)": "Bilinear",
    "(5, 3)(label)": "Embedding",
    "(5, 3, 1)(label)": "Embedding",
    "(5, 3)(pick)": "torch:EmbeddingBag",
    "(3, 4, 3)(sequence)": "Conv1d Conv1D ConvTranspose1d Conv1DTranspose",
    "(3, 4, 3)(image)": "Conv2d Conv2D ConvTranspose2d Conv2DTranspose",
    "(3, 6, 3, 2, 1, groups=3)(image)": "Conv2d Conv2D ConvTranspose2d Conv2DTranspose",
    "(3, 4, 3, padding=1, dilation=2)(image)": "Conv2d Conv2D",
    "(3, 4, 3, padding=1, padding_mode='reflect')(image)": "Conv2d Conv2D",
    "(3, 4, 2)(volume)": "Conv3d Conv3D ConvTranspose3d Conv3DTranspose",
    "(4, 3)(steps)": "RNN LSTM GRU SimpleRNN",
    "torch (4, 3, batch_first=True)(steps)": "RNN LSTM GRU",
    "torch (4, 3, 2, bidirectional=True)(steps)": "LSTM GRU",
    "paddle (4, 3, 2, 'bidirect')(steps)": "LSTM GRU SimpleRNN",
    "(4, 3)(rows4)": "RNNCell LSTMCell GRUCell SimpleRNNCell",
    "(8, 2)(tokens, tokens, tokens)": "MultiHeadAttention",
    "(8, 2, 16, dropout=0.0)(tokens)": "TransformerEncoderLayer",
    "(2)(image6)": "ChannelShuffle",
    "(2)(image8)": "PixelShuffle Maxout",
    "(2)(image)": "PixelUnshuffle ReflectionPad2d ReplicationPad2d ZeroPad2d CircularPad2d Unfold MaxPool2d",
    "([1, 2, 2, 1])(image)": """
        ReflectionPad2d ReflectionPad2D ReplicationPad2d ReplicationPad2D ZeroPad2d ZeroPad2D CircularPad2d
        CircularPad2D Pad2D
    """,
    "([1, 2])(sequence)": """
        ReflectionPad1d ReflectionPad1D ReplicationPad1d ReplicationPad1D ZeroPad1d ZeroPad1D CircularPad1d
        CircularPad1D Pad1D
    """,
    "([1, 2, 1, 0, 2, 1])(volume)": """
        ReflectionPad3d ReflectionPad3D ReplicationPad3d ReplicationPad3D ZeroPad3d ZeroPad3D CircularPad3d
        CircularPad3D Pad3D
    """,
    "([1, 2], 0.5)(sequence)": "ConstantPad1d ConstantPad1D",
    "([1, 2, 2, 1], 0.5)(image)": "ConstantPad2d ConstantPad2D",
    "([1, 2, 1, 0, 2, 1], 0.5)(volume)": "ConstantPad3d ConstantPad3D",
    "(scale_factor=2)(image)": """
        Upsample UpsamplingBilinear2d UpsamplingBilinear2D UpsamplingNearest2d UpsamplingNearest2D
    """,
    "([4, 4], 2)(columns)": "Fold",
    "(2)(pooled, indices)": "MaxUnpool2d MaxUnPool2D",
    "(2)(pooled1, indices1)": "MaxUnpool1d MaxUnPool1D",
    "(2)(pooled3, indices3)": "MaxUnpool3d MaxUnPool3D",
    "torch (1, (1, 3))(x3)": "Unflatten",
    "paddle (1, [1, 3])(x3)": "Unflatten",
    "()(logs, probs)": "KLDivLoss",
    "()(x, y)": "L1Loss MSELoss SmoothL1Loss HuberLoss PoissonNLLLoss CosineSimilarity PairwiseDistance",
    "()(ten, ten2)": "SmoothL1Loss HuberLoss L1Loss MSELoss",
    "(reduction='sum')(x, y)": "L1Loss MSELoss SmoothL1Loss HuberLoss PoissonNLLLoss",
    "()(u, u2)": "BCELoss",
    "()(x, u2)": "BCEWithLogitsLoss",
    "()(x, label)": "CrossEntropyLoss NLLLoss MultiMarginLoss",
    "(reduction='none')(x, label)": "CrossEntropyLoss NLLLoss MultiMarginLoss",
    "(vpos)(x, label)": "CrossEntropyLoss NLLLoss",
    "()(x, bfloat)": "MultiLabelSoftMarginLoss",
    "()(x, several)": "MultiLabelMarginLoss",
    "()(x, signs34)": "SoftMarginLoss HingeEmbeddingLoss",
    "()(x, y, signs3)": "CosineEmbeddingLoss",
    "()(flat, flat2, signs)": "MarginRankingLoss",
    "()(x, y, w34)": "TripletMarginLoss TripletMarginWithDistanceLoss",
    "()(x, y, c)": "GaussianNLLLoss",
    "torch ()(logs3, targets3, lengths, target_lengths)": "CTCLoss",
    "paddle ()(logs3, targets32, lengths, target_lengths)": "CTCLoss",
}
