"""Draw interactive pictures, each of one idea: shuffles, the online softmax, traffic, bytes in
flight, and the capacity of a multiprocessor.

Each picture consists of plain SVG and a script: 18 to 32 kB, including the data and a static
picture, without downloads. In contrast, anywidget needs a running kernel, or a widget manager that
the page downloads. With d3, every output would contain the library, whose scales and joins take
only ten lines here. If scripts do not run, the static picture shows the same facts.
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
