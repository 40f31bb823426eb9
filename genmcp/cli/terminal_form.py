"""Asking a person at a terminal: a form, field by field, or to open a web page.

Layer: cli. What the server says is shown without control characters: it must not speak
to the terminal. A URL is shown in full and opened by nobody but the person.
Spec: client/elicitation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TextIO

from genmcp.errors import show_line
from genmcp.mcp import v2607 as mcp
from genmcp.testing.answering import cancel, decline
from genmcp.wire.arguments import ArgumentReader, ArgumentsError
from genmcp.wire.codec import encode
from genmcp.wire.schema_rules import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
_MAX_SHOWN: Final = 10_000
"""How many characters of a line are shown: all that anybody reads."""


class _Over(Exception):
    """The person has declined, or closed the input."""

    def __init__(self, result: mcp.ElicitResult) -> None:
        super().__init__(result.action)
        self.result = result


class Terminal:
    """A person, who reads `output` and types into `typed`."""

    def __init__(self, typed: TextIO, output: TextIO) -> None:
        self._typed = typed
        self._output = output

    def ask(self, question: mcp.ElicitRequestParams) -> mcp.ElicitResult:
        """Ask, and wait for the answer. Nothing else runs meanwhile.

        An empty line where something has to be entered declines. The end of the input
        cancels, and so does a form whose schema is none.
        """
        for line in question.message.splitlines():
            self._tell(line)
        try:
            if isinstance(question, mcp.ElicitRequestURLParams):
                return self._ask_consent(f"Open {question.url}", agreed=None)
            if not question.requested_schema.properties:
                return self._ask_consent("Agree", agreed={})
            return self._ask_form(question.requested_schema)
        except _Over as over:
            return over.result
        except SchemaError as error:
            self._tell(f"this form cannot be filled in: {error}")
            return cancel()

    def _ask_consent(self, question: str, *, agreed: dict[str, Any] | None) -> mcp.ElicitResult:
        while True:
            # In full, however long: nobody agrees to half an address.
            shown = show_line(question, len(question))
            typed = self._read(f"{shown}? (y/n) [n]: ") or "n"
            yes = _WORDS.get(typed.lower())
            if yes is not None:
                return mcp.ElicitResult(action="accept", content=agreed) if yes else decline()
            self._tell("y or n")

    def _ask_form(self, form: mcp.FormSchema) -> mcp.ElicitResult:
        content: dict[str, Any] = {}
        for name, field in form.properties.items():
            required = name in (form.required or ())
            value = self._ask_field(name, field, required=required)
            if value is not None:
                content[name] = value
        return mcp.ElicitResult(action="accept", content=content)

    def _ask_field(
        self, name: str, field: mcp.PrimitiveSchemaDefinition, *, required: bool
    ) -> object:
        """Return what is entered, or nothing for a field that is left out.

        Raises:
            _Over: nothing is entered, and the field is required and has no default.
        """
        titles = _find_titles(field)
        if field.description:
            self._tell(field.description)
        for value, title in titles.items():
            self._tell(f"  {value}" + (f": {title}" if title != value else ""))
        prompt = _describe(name, field, required=required)
        schema = {"type": "object", "properties": {name: encode(field)}, "required": [name]}
        reader = ArgumentReader.compile(schema)
        while True:
            typed = self._read(prompt)
            if not typed and field.default is not None:
                return field.default
            if not typed and required:
                raise _Over(decline())
            if not typed:
                return None
            try:
                return reader.read({name: _read_value(typed, field, titles)})[name]
            except ArgumentsError as error:
                self._tell(str(error))

    def _read(self, prompt: str) -> str:
        self._output.write(prompt)
        self._output.flush()
        typed = self._typed.readline()
        if not typed:
            self._tell("")
            raise _Over(cancel())
        return typed.strip()

    def _tell(self, line: str) -> None:
        self._output.write(_show(line) + "\n")


def _show(text: str) -> str:
    return show_line(text, _MAX_SHOWN)


def _describe(name: str, field: mcp.PrimitiveSchemaDefinition, *, required: bool) -> str:
    """Return what stands before the cursor: the field, what it takes, what it has already."""
    match field:
        case mcp.BooleanSchema():
            kind = "y/n"
        case mcp.UntitledMultiSelectEnumSchema() | mcp.TitledMultiSelectEnumSchema():
            kind = "several, with commas"
        case mcp.StringSchema(format=str(form)):
            kind = form
        case mcp.NumberSchema(type=kind):
            pass
        case mcp.StringSchema():
            kind = "text"
        case _:
            kind = "one of these"
    need = "" if required else ", optional"
    default = "" if field.default is None else f" [{_write_default(field.default)}]"
    return _show(f"{field.title or name} ({kind}{need}){default}: ")


def _write_default(default: mcp.ElicitValue) -> str:
    match default:
        case bool():
            return "y" if default else "n"
        case str():
            return default
        case float():
            return f"{default:g}"
        case int():
            return str(default)
        case _:
            return ", ".join(default)


def _find_titles(field: mcp.PrimitiveSchemaDefinition) -> Mapping[str, str]:
    """Return the values to choose from, and what each is called; none where there is no choice."""
    match field:
        case mcp.TitledSingleSelectEnumSchema(one_of=options):
            return {option.const: option.title for option in options}
        case mcp.TitledMultiSelectEnumSchema(items=items):
            return {option.const: option.title for option in items.any_of}
        case mcp.UntitledMultiSelectEnumSchema(items=items):
            return {value: value for value in items.enum}
        case mcp.LegacyTitledEnumSchema(enum=values, enum_names=names):
            return dict(zip(values, names or values, strict=False))
        case mcp.UntitledSingleSelectEnumSchema(enum=values):
            return {value: value for value in values}
        case _:
            return {}


def _read_value(
    typed: str, field: mcp.PrimitiveSchemaDefinition, titles: Mapping[str, str]
) -> object:
    """Return what was typed as the field has it; what is none is for the schema to refuse."""
    values = {title: value for value, title in titles.items()}
    match field:
        case mcp.BooleanSchema():
            return _WORDS.get(typed.lower(), typed)
        case mcp.UntitledMultiSelectEnumSchema() | mcp.TitledMultiSelectEnumSchema():
            parts = (part.strip() for part in typed.split(","))
            return [values.get(part, part) for part in parts if part]
        case _ if typed in titles:
            return typed
        case _:
            return values.get(typed, typed)
