"""List the functions that draw results: DRAWERS[type name][form] is `module:function` in forgekit.

`forgekit/show.py` reads this table. To draw a new type of result, write a drawing function and add
a line here.
"""

from __future__ import annotations

DRAWERS: dict[str, dict[str, str]] = {
    "forgekit.benching.notebook.results.Benchmark": {
        "html": "viz.timing.tables:benchmark_html",
        "bars": "viz.timing.bars:bars",
        "roofline": "viz.timing.roofline:roofline",
    },
    "forgekit.benching.notebook.results.Sweep": {
        "html": "viz.timing.tables:sweep_html",
        "lines": "viz.timing.lines:lines",
    },
    "forgekit.benching.recorded.Recorded": {"html": "viz.timing.tables:recorded_html"},
    "forgekit.layouts.explain.Explanation": {"html": "layouts.explain:explanation_html"},
    "forgekit.viz.ideas.idea.Idea": {"html": "viz.ideas.idea:idea_html"},
    "forgekit.viz.explorer.explore.Explorer": {"html": "viz.explorer.explore:explorer_html"},
    "forgekit.show.Picture": {
        "html": "viz.picture:picture_html",
        "svg": "viz.picture:picture_svg",
        "png": "viz.picture:picture_png",
    },
    "forgekit.checking.check_report.CheckReport": {"html": "viz.report_pages:check_html"},
    "forgekit.checking.sanitize.SanitizerReport": {"html": "viz.report_pages:sanitizer_html"},
    "forgekit.profiling.pictures.Pictures": {"html": "viz.picture:pictures_html"},
    "forgekit.profiling.predicting.predicted.PredictedTime": {
        "html": "viz.predicted_page:predicted_html"
    },
    "forgekit.profiling.predictions.Predictions": {"html": "viz.report_pages:predictions_html"},
    "forgekit.profiling.table.Comparison": {"html": "profiling.table:comparison_html"},
    "forgekit.profiling.profile.Profile": {"html": "viz.profile_page:profile_html"},
    "forgekit.tracing.banks.BankConflicts": {"scene": "viz.runs.warp_accesses:draw_banks"},
    "forgekit.tracing.coalescing.Coalescing": {"scene": "viz.runs.warp_accesses:draw_coalescing"},
    "forgekit.tracing.footprint.Footprint": {"scene": "viz.runs.footprint_figure:draw"},
    "forgekit.tracing.timeline.Timeline": {"scene": "viz.runs.timeline_figure:draw"},
    "forgekit.lessons.classroom.results.ClassReport": {"scene": "lessons.classroom.picture:draw"},
    "forgekit.lessons.progress.Progress": {"html": "lessons.drawing:progress_html"},
    "forgekit.lessons.report.GradeReport": {"html": "lessons.drawing:report_html"},
    "forgekit.viz.timing.style.TimingPicture": {"html": "viz.timing.style:timing_html"},
    "forgekit.viz.mismatch.Mismatches": {"scene": "viz.mismatch:draw"},
    "forgekit.lessons.report.Note": {"bundle": "lessons.drawing:note_bundle"},
}
