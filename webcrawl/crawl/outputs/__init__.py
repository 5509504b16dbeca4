"""The outputs of a crawl: what is written of its pages.

`output_protocol` states what an output has to implement, and `output.Output` is the base of the
crawl's own. Which of them a crawl has is said by OUTPUTS, in `webcrawl/base/outputs.py`.
"""
