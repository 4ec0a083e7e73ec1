"""What the declaration of a kernel may say: from its signature, from its PTX and from launches of it on the CPU.

``skeleton`` writes the text; ``probing`` launches a kernel, and the other modules are the questions that it asks.
"""
