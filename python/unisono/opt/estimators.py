# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""LogisticRegression and LinearSVC: scikit-learn's conventions without needing it."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Iterator, Optional, TypeVar

import numpy as np

from .. import _core, _opt, current
from ..engine import Engine
from ..errors import InvalidArgument
from .rows import Rows, products, rows_of

_Self = TypeVar("_Self", bound="LinearClassifier")


@contextlib.contextmanager
def _engine_or_alone(given: Optional[Engine]) -> Iterator[Engine]:
    """The given engine, the default one after unisono.init(), or a job of one rank."""
    if given is not None:
        yield given
    elif current.is_initialized():
        yield current.engine()
    else:
        with Engine(world=_core.ThreadWorld(1)) as alone:
            yield alone


class LinearClassifier:
    """What both models are: two classes, a weight for each feature, and perhaps an intercept.

    ``C`` weighs the losses against the square of the weights, as in scikit-learn: large fits more
    closely. ``max_iter`` counts passes over the data; none ends early. ``solver`` is ``scd``
    (coordinate descent: no rate to choose, but every rank holds the rows of all that touch its
    columns) or ``sgd`` (gradients of ``batch`` rows of each rank, rate 0 for one that fits the
    data). ``exchange`` and ``async_`` are those of ``unisono opt train``. ``engine`` is the job
    that trains; by default that of ``unisono.init()``, or this process alone.

    In a job every rank calls ``fit`` with rows of its own and as many features; all have the same
    model afterwards. Everything else is local.
    """

    _estimator_type = "classifier"
    _loss = ""

    def __init__(self, *, C: float = 1.0, fit_intercept: bool = True, solver: str = "scd",
                 max_iter: int = 100, batch: int = 100, rate: float = 0.0, exchange: str = "auto",
                 async_: bool = False, n_jobs: int = 1, random_state: int = 0,
                 engine: Optional[Engine] = None) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.batch = batch
        self.rate = rate
        self.exchange = exchange
        self.async_ = async_
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.engine = engine

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters that the model was made with, or that set_params() gave it."""
        return {name: getattr(self, name) for name in _parameters(type(self))}

    def set_params(self: _Self, **parameters: Any) -> _Self:
        known = _parameters(type(self))
        for name, value in parameters.items():
            if name not in known:
                raise InvalidArgument(f"{type(self).__name__} has no parameter {name!r}; "
                                      f"it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        signature = inspect.signature(type(self).__init__).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items()
                   if value is not signature[name].default and value != signature[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def fit(self: _Self, X: Any, y: Any) -> _Self:
        """Trains on all rows of all ranks. Collective in a job."""
        self._check_parameters()
        rows, labels = rows_of(X), np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(rows):
            raise InvalidArgument(f"y has the shape {labels.shape}; X has {len(rows)} rows")
        with _engine_or_alone(self.engine) as engine:
            self.classes_ = _classes_of_all(engine, labels)
            signs = np.where(labels == self.classes_[1], 1, -1).astype(np.float32)
            trained = _opt.train(
                engine._core, rows.begins, rows.columns, rows.values, signs, width=rows.width,
                loss=self._loss, solver=self.solver, exchange=self.exchange,
                async_=bool(self.async_), c=float(self.C), epochs=int(self.max_iter),
                batch=int(self.batch), rate=float(self.rate), threads=int(self.n_jobs),
                seed=int(self.random_state), intercept=bool(self.fit_intercept))
        weights = trained["weights"].astype(np.float64)
        features = len(weights) - bool(self.fit_intercept)
        self.coef_ = weights[None, :features]
        self.intercept_ = weights[features:] if self.fit_intercept else np.zeros(1)
        self.n_features_in_ = features
        self.n_iter_ = np.array([len(trained["epochs"])])
        self.exchange_ = trained["exchange"]
        self.epochs_ = trained["epochs"]
        return self

    def decision_function(self, X: Any) -> Any:
        """Above 0: the second of ``classes_``."""
        rows = self._fitting_rows(X)
        return products(rows, self.coef_[0]) + self.intercept_[0]

    def predict(self, X: Any) -> Any:
        second = self.decision_function(X) > 0
        return self.classes_[second.astype(int)]

    def score(self, X: Any, y: Any) -> float:
        """How many of the rows given here are predicted right, from 0 to 1."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _fitting_rows(self, X: Any) -> Rows:
        if not hasattr(self, "coef_"):
            raise InvalidArgument(f"this {type(self).__name__} is not fitted yet; call fit() first")
        rows = rows_of(X)
        if rows.width != self.n_features_in_:
            raise InvalidArgument(f"X has {rows.width} features, the model {self.n_features_in_}")
        return rows

    def _check_parameters(self) -> None:
        if self.solver not in ("sgd", "scd"):
            raise InvalidArgument(f"solver is {self.solver!r}; it may be 'sgd' or 'scd'")
        for name in ("C", "max_iter", "batch", "n_jobs"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} is {getattr(self, name)!r}; it must be above 0")


class LogisticRegression(LinearClassifier):
    """Minimises C times the sum of log(1 + exp(-label · decision)) plus half the square of the
    weights, with that of the intercept, as liblinear does."""

    _loss = "logistic"

    def predict_proba(self, X: Any) -> Any:
        """Of each row, the probabilities of both ``classes_``."""
        second = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -700, 700)))
        return np.column_stack([1 - second, second])

    def predict_log_proba(self, X: Any) -> Any:
        return np.log(self.predict_proba(X))


class LinearSVC(LinearClassifier):
    """Minimises C times the sum of max(0, 1 - label · decision) plus half the square of the
    weights, with that of the intercept. scikit-learn's default is the square of that loss."""

    _loss = "hinge"


def _parameters(kind: type) -> list[str]:
    return [name for name in inspect.signature(kind.__init__).parameters  # type: ignore[misc]
            if name != "self"]


def _classes_of_all(engine: Engine, labels: Any) -> Any:
    """The two labels there are on all ranks, in their order."""
    own = np.unique(labels)
    every = own if engine.size() == 1 else np.unique(np.concatenate(
        engine.allgather_object(own, name="opt.classes")))
    if len(every) != 2:
        raise InvalidArgument(f"y has {len(every)} classes over all ranks; these models know two")
    return every
