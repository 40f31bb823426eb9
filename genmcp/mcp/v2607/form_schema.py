"""The schemas of an elicitation form: flat, of primitives and choices.

Layer: vocabulary. Spec: client/elicitation#requested-schema
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import attrs

from genmcp.mcp.v2607.fields import WIRE_NAME, WireObject, checked, required


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class StringSchema(WireObject):
    """A text. Lengths are in characters."""

    type: ClassVar[Literal["string"]] = "string"
    title: str | None = None
    description: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    format: Literal["email", "uri", "date", "date-time"] | None = None
    default: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class NumberSchema(WireObject):
    """A number, or a whole one with `type="integer"`."""

    type: Literal["number", "integer"] = attrs.field(default="number", metadata=required())
    title: str | None = None
    description: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: float | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class BooleanSchema(WireObject):
    """Yes or no."""

    type: ClassVar[Literal["boolean"]] = "boolean"
    title: str | None = None
    description: str | None = None
    default: bool | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class EnumOption(WireObject):
    """One choice: the value, and the text the user sees."""

    const: str
    title: str


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class UntitledSingleSelectEnumSchema(WireObject):
    """One of several values, shown as they are."""

    type: ClassVar[Literal["string"]] = "string"
    enum: Sequence[str]
    title: str | None = None
    description: str | None = None
    default: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class TitledSingleSelectEnumSchema(WireObject):
    """One of several values, each shown by its title."""

    type: ClassVar[Literal["string"]] = "string"
    one_of: Sequence[EnumOption]
    title: str | None = None
    description: str | None = None
    default: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class UntitledEnumItems(WireObject):
    """The values to choose from, shown as they are."""

    type: ClassVar[Literal["string"]] = "string"
    enum: Sequence[str]


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class TitledEnumItems(WireObject):
    """The values to choose from, each shown by its title."""

    any_of: Sequence[EnumOption]


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class UntitledMultiSelectEnumSchema(WireObject):
    """Any of several values, shown as they are."""

    type: ClassVar[Literal["array"]] = "array"
    items: UntitledEnumItems
    min_items: int | None = None
    max_items: int | None = None
    title: str | None = None
    description: str | None = None
    default: Sequence[str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class TitledMultiSelectEnumSchema(WireObject):
    """Any of several values, each shown by its title."""

    type: ClassVar[Literal["array"]] = "array"
    items: TitledEnumItems
    min_items: int | None = None
    max_items: int | None = None
    title: str | None = None
    description: str | None = None
    default: Sequence[str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class LegacyTitledEnumSchema(WireObject):
    """One of several values with names beside them. The protocol will remove it.

    Without `enum_names` it is written like, and read back as, an
    `UntitledSingleSelectEnumSchema`.
    """

    type: ClassVar[Literal["string"]] = "string"
    enum: Sequence[str]
    enum_names: Sequence[str] | None = None
    title: str | None = None
    description: str | None = None
    default: str | None = None


SingleSelectEnumSchema: TypeAlias = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema
MultiSelectEnumSchema: TypeAlias = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema
EnumSchema: TypeAlias = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema
PrimitiveSchemaDefinition: TypeAlias = StringSchema | NumberSchema | BooleanSchema | EnumSchema
"""What one field of a form may be."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class FormSchema(WireObject):
    """A form: its fields by name.

    Attributes:
        properties: the fields.
        required: the names of those that must be filled in.
        schema: the dialect, as `$schema`.
    """

    type: ClassVar[Literal["object"]] = "object"
    properties: Mapping[str, PrimitiveSchemaDefinition]
    required: Sequence[str] | None = None
    schema: str | None = attrs.field(default=None, metadata={WIRE_NAME: "$schema"})
