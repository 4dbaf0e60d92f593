"""explore(): a layout to hover, to step through and to pad, as one self-contained piece of HTML."""
