"""What both sides agree on: JSON text, JSON objects, and JSON Schema.

Layer: above the vocabulary, below everything that serves. `json_text` turns bytes
into JSON values and back, `codec` JSON values into the vocabulary's objects and
back, `messages` puts the JSON-RPC envelope round them. `schema`, `typed`,
`arguments` and `output` check what authors declare with JSON Schema.
"""
