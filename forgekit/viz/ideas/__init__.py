"""Draw interactive pictures, one idea each: shuffles, the online softmax, traffic, bytes in flight,
a multiprocessor's capacity.

Plain SVG and one script per idea draw them: 18 to 32 kB each, including the data and a still
picture, with nothing to fetch. anywidget needs a running kernel, or a widget manager that the page
fetches; d3 would be embedded in every output, only for scales and joins that take ten lines here.
Without scripts a still picture shows the same facts.
"""

from forgekit.viz.ideas.flight import bytes_in_flight, pipeline
from forgekit.viz.ideas.idea import Idea
from forgekit.viz.ideas.multiprocessor import fill_multiprocessor
from forgekit.viz.ideas.online import online_softmax
from forgekit.viz.ideas.traffic import traffic_film
from forgekit.viz.ideas.warp import shuffle_steps

__all__ = [
    "Idea", "bytes_in_flight", "fill_multiprocessor", "online_softmax", "pipeline",
    "shuffle_steps", "traffic_film",
]  # fmt: skip
