# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Linear models on sparse data, in scikit-learn's style, trained by all ranks of a job.

    import unisono
    from unisono.opt import LogisticRegression

    unisono.init()                     # every rank gives rows of its own
    model = LogisticRegression().fit(X, y)

Without ``unisono.init()`` a process trains alone.
"""

import typing as _typing

from .. import exports as _exports
from .estimators import LinearSVC as LinearSVC
from .estimators import LogisticRegression as LogisticRegression

if not _typing.TYPE_CHECKING:
    __all__ = _exports.all_names(globals())
