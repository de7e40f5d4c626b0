import numpy as np
import pandas as pd
import pytest

from polbayes.report.figures.coder_calibration import plot_coder_calibration
from polbayes.report.figures.coder_confusion import plot_coder_confusion
from polbayes.report.figures.coder_thresholds import plot_coder_thresholds


def test_thresholds_are_lines():
    table = pd.DataFrame(
        [
            (coder, t, measure, y, y - 0.1, y + 0.1)
            for coder in ("a", "b$1$")
            for t, y in ((0.9, 0.4), (0.5, 0.8))
            for measure in ("macro_f1", "share_kept")
        ],
        columns=["coder", "threshold", "measure", "estimate", "lower", "upper"],
    )
    figure = plot_coder_thresholds(table)
    assert len(figure.axes) == 2
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == ["a", r"b\$1\$"]
        assert axes.lines[0].get_xdata().tolist() == [0.5, 0.9]
        assert axes.lines[0].get_ydata().tolist() == [0.8, 0.4]


@pytest.mark.parametrize("coders", [1, 4])
def test_calibration_has_a_panel_a_coder(coders):
    table = pd.DataFrame(
        [(f"c{k}", x, x / 2, 0.0, 1.0, n) for k in range(coders) for x, n in ((0.3, 5), (0.9, 10))],
        columns=["coder", "confidence", "estimate", "lower", "upper", "n"],
    )
    figure = plot_coder_calibration(table)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == [f"c{k}" for k in range(coders)]
    points = shown[0].collections[-1]
    assert np.asarray(points.get_offsets()).tolist() == [[0.3, 0.15], [0.9, 0.45]]
    assert points.get_sizes()[0] < points.get_sizes()[1]


def test_confusion_writes_counts_and_hatches_labels_without_answers():
    counts = pd.DataFrame(
        [[3, 1, 0], [0, 0, 0], [0, 2, 5]],
        index=["agree", "neutral", "disagree"],
        columns=["agree", "disagree", "not_coded"],
    )
    axes = plot_coder_confusion(counts, coder="c").axes[0]
    assert [text.get_text() for text in axes.texts] == ["3", "1", "0", "0", "2", "5"]
    (hatched,) = (patch for patch in axes.patches if patch.get_hatch())
    centres = hatched.get_path().vertices.reshape(3, 5, 2)[:, :4].mean(axis=1)
    assert centres.tolist() == [[0, 1], [1, 1], [2, 1]]
