"""The protocol's vocabulary, one package for each revision that changed it.

Layer: the lowest but `genmcp.value` and `genmcp.deferred`. `v2607` holds protocol
`2026-07-28`.
"""
