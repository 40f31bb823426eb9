"""What authors write: tools, prompts, resources, and extensions that add some.

Layer: above `genmcp.wire` and the contracts, below `genmcp.suite`, which serves
them.
"""

from genmcp.providers.cache_control import CacheControl
from genmcp.providers.event_subscriptions import EventSubscriptions
from genmcp.providers.extension import Extension, ToolSource
from genmcp.providers.prompt_repo import PromptPage, PromptReply, PromptRepo, PromptRepoSource
from genmcp.providers.repo import Suggestions
from genmcp.providers.resource_repo import (
    ReadReply,
    ResourcePage,
    ResourceRepo,
    ResourceRepoSource,
)
from genmcp.providers.subscription_handler import (
    Listening,
    SubscriptionCapabilities,
    SubscriptionHandler,
)
from genmcp.providers.tool import Reply, Tool

__all__ = [
    "CacheControl",
    "EventSubscriptions",
    "Extension",
    "Listening",
    "PromptPage",
    "PromptReply",
    "PromptRepo",
    "PromptRepoSource",
    "ReadReply",
    "Reply",
    "ResourcePage",
    "ResourceRepo",
    "ResourceRepoSource",
    "SubscriptionCapabilities",
    "SubscriptionHandler",
    "Suggestions",
    "Tool",
    "ToolSource",
]
