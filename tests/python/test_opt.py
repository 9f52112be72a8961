# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono.opt: estimators in scikit-learn's style, and unisono opt as the ranks of a job."""

import json
import subprocess
import types

import numpy as np
import pytest

import ranks
import unisono
from unisono.opt import LinearSVC, LogisticRegression

# Of scikit-learn 1.9.1, where it is not installed: what liblinear_score() gave.
STORED = {"LogisticRegression": 0.877, "LinearSVC": 0.8765}


def liblinear_score(kind):
    """Accuracy of scikit-learn's liblinear on the same data, with the same loss and C."""
    try:
        from sklearn import linear_model, svm
    except ImportError:
        return STORED[kind.__name__]
    made = (linear_model.LogisticRegression(solver="liblinear") if kind is LogisticRegression
            else svm.LinearSVC(loss="hinge", max_iter=100_000))
    return made.fit(*problem(2000, 1)).score(*problem(2000, 2))


def problem(rows, seed):
    """60 features, 8 of them in a row; labels from a hidden model with noise."""
    hidden = np.random.default_rng(7).normal(size=60)
    random = np.random.default_rng(seed)
    x = np.zeros((rows, 60), np.float32)
    for row in x:
        row[random.choice(60, 8, replace=False)] = random.uniform(0.5, 1.5, 8)
    certain = 1 / (1 + np.exp(-1.5 * (x @ hidden)))
    return x, np.where(random.uniform(size=rows) < certain, "spam", "ham")


def compressed(x):
    """What scipy.sparse.csr_matrix is, without needing it."""
    rows, columns = np.nonzero(x)
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))])
    return types.SimpleNamespace(indptr=begins, indices=columns, data=x[rows, columns],
                                 shape=x.shape)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("size", [1, 2])
def test_accuracy_on_held_data_is_liblinears(kind, size):
    x, y = problem(2000, 1)
    held = problem(2000, 2)

    def body(engine):
        own = slice(engine.rank(), None, engine.size())
        return kind(engine=engine).fit(x[own], y[own])

    models = ranks.as_threads(size, body)
    for model in models:
        assert np.array_equal(model.coef_, models[0].coef_)
    assert models[0].score(*held) == pytest.approx(liblinear_score(kind), abs=0.005)


def test_compressed_rows_and_arrays_are_the_same():
    x, y = problem(300, 1)
    dense, sparse = LogisticRegression(max_iter=5).fit(x, y), LogisticRegression(max_iter=5)
    sparse.fit(compressed(x), y)
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert np.array_equal(dense.predict(x), sparse.predict(compressed(x)))
    np.testing.assert_allclose(dense.decision_function(x),
                               x @ dense.coef_[0] + dense.intercept_, rtol=1e-5, atol=1e-6)


def test_takes_matrices_of_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    x, y = problem(300, 1)
    model = LogisticRegression(max_iter=5)
    expected = model.fit(x, y).coef_
    for form in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix):
        assert np.array_equal(model.fit(form(x), y).coef_, expected)


def test_probabilities_and_classes():
    x, y = problem(300, 1)
    model = LogisticRegression(max_iter=10).fit(x, y)
    assert model.classes_.tolist() == ["ham", "spam"]
    chances = model.predict_proba(x)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.array_equal(chances[:, 1] > 0.5, model.predict(x) == "spam")
    assert not hasattr(LinearSVC(), "predict_proba")
    assert model.epochs_[-1]["loss"] < model.epochs_[0]["loss"]


def test_parameters_as_scikit_learn_has_them():
    model = LinearSVC(C=2.0, solver="sgd")
    assert model.get_params()["C"] == 2.0
    assert LinearSVC(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(C=3.0, max_iter=7) is model
    assert repr(model) == "LinearSVC(C=3.0, solver='sgd', max_iter=7)"
    with pytest.raises(ValueError, match="no parameter 'c'; it has C, fit_intercept"):
        model.set_params(c=1)


def test_the_default_engine_trains_after_init(alone):
    x, y = problem(200, 1)
    model = LogisticRegression(max_iter=3, solver="sgd", exchange="dense").fit(x, y)
    assert model.exchange_ == "dense"


@pytest.mark.parametrize("change, reason", [
    ({"y": "one"}, "1 classes"), ({"y": "short"}, "X has 200 rows"),
    ({"x": "flat"}, "two dimensions"), ({"x": "nan"}, "not finite"),
    ({"solver": "newton"}, "'sgd' or 'scd'"), ({"C": 0}, "above 0"),
    ({"exchange": "tree"}, "one of auto, dense")])
def test_what_cannot_be_is_refused(change, reason):
    x, y = problem(200, 1)
    if change.get("y"):
        y = y[:50] if change["y"] == "short" else np.zeros(200)
    if change.get("x"):
        x = x[0] if change["x"] == "flat" else np.where(x == x[0].max(), np.nan, x)
    settings = {key: value for key, value in change.items() if key not in "xy"}
    with pytest.raises(ValueError, match=reason):
        LogisticRegression(**settings).fit(x, y)
    with pytest.raises(ValueError, match="not fitted yet"):
        LogisticRegression().predict(x)


def test_a_bad_row_of_one_rank_is_everybodys_error():
    x, y = problem(200, 1)

    def body(engine):
        mine = x.copy()
        mine[3, 3] = np.inf if engine.rank() == 1 else 0
        with pytest.raises(unisono.InvalidArgument, match="not finite"):
            LogisticRegression(engine=engine).fit(mine, y)

    ranks.as_threads(3, body)


@pytest.mark.parametrize("flags", [["--solver", "sgd", "--async"], ["--solver", "scd"]])
def test_the_command_trains_as_a_job(tmp_path, flags):
    data, report = tmp_path / "data.svm", tmp_path / "report.json"
    command = ranks.command()
    subprocess.run([command, "opt", "generate", "url", "--rows", "400", "--out", data], check=True)
    printed = ranks.run_line([command, "run", "-np", "2", command, "opt", "train", "--data",
                              str(data), "--epochs", "2", "--batch", "50", "--coordinates", "2000",
                              "--json", str(report), *flags])
    assert printed.count("400 rows") == 1, "rank 0 alone prints"
    found = json.loads(report.read_text())
    assert found["ranks"] == 2
    assert found["epochs"][1]["loss"] < found["epochs"][0]["loss"]
    assert found["epochs"][0]["bytes"] > 0


def test_a_bad_line_ends_the_job_with_its_place(tmp_path):
    data = tmp_path / "data.svm"
    data.write_text("1 1:1\n-1 2:1\n" * 100 + "1 7\n")
    command = ranks.command()
    printed = ranks.run_line([command, "run", "-np", "2", command, "opt", "train", "--data",
                              str(data), "--model", str(tmp_path / "m")], expect=1)
    assert f"{data}:201:3: no index:value pair" in printed
    assert not (tmp_path / "m").exists()
