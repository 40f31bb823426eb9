"""Authorization: the side of OAuth 2.1 that a server with something to protect has.

Layer: contract, above `genmcp.access`. Here is what the settings mean and what makes a
token good for an endpoint; how tokens arrive and refusals leave is in
`genmcp.transport.authorize`, and where scopes are compared in `genmcp.suite.scopes`.

    authorization   the settings, and the checks that no verifier can forget
    verifier        what an application, or the next one, implements
    jwt             JwtVerifier: tokens that are JWTs, signed by the issuer
    claims          what a JWT says
    jwks            the issuer's keys, fetched and kept
    keys            a document of keys, read
    discovery       where an issuer has its keys
    fetch           one small JSON document over HTTPS
    identifiers     URLs that are names, and when two of them are one

Nothing is issued here: users log in, and clients get their tokens, at an authorization
server. `jwt` and what it is made of need the extra: `pip install genmcp[auth]`. They are
imported from their modules (`from genmcp.authorization.jwt import JwtVerifier`), never
from here, so that who checks tokens otherwise installs nothing.

Spec: basic/authorization/index
"""

from genmcp.authorization.authorization import Authorization
from genmcp.authorization.verifier import InvalidToken, TokenVerifier, VerifierUnavailable

__all__ = ["Authorization", "InvalidToken", "TokenVerifier", "VerifierUnavailable"]
