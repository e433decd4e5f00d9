"""The contracts of the house, as functions over a source tree, so that each is also run on a planted violation.

`tree` and `imports` read sources; `floors`, `purity`, `size`, `surface` and `raises` each return a list of violations,
one sentence per item, empty when the contract holds. They parse and never import the code they judge, except `purity`
(in a subprocess) and `surface` (which looks at the objects that users get).
"""
