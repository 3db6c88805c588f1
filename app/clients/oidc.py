"""
Signing in through another site, by OpenID Connect: the authorization code flow with PKCE, state and nonce.

Theory of operation: the browser is sent to the provider with a `state` (comes back in the address), a `nonce`
(comes back within the signed ID token) and the hash of a `verifier` (shown itself only when the code is
exchanged). All three are kept in the browser that began. So a code that was stolen, or planted in another's
browser, or replayed, fits nothing. Of the ID token all is checked that the standard asks for, with a
signature of an algorithm on the list below: `none`, and secrets shared with others, are not on it.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import structlog
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from app.errors import AppError

log = structlog.get_logger()

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
TIMEOUT_S = 10
LEEWAY_S = 30
_KEPT_S = 3600
"""How long the provider's description and keys are used without asking again."""


class ProviderFailed(AppError):
    """The site through which one signs in did not answer as it should; `reason` is a whole sentence."""

    status = 502
    title = "Signing in did not work"
    message = "{reason} Please try again."


class IdentityRefused(AppError):
    """What another site says of somebody does not let them in here; `reason` is a whole sentence."""

    status = 403
    title = "Signing in did not work"
    message = "{reason}"


@dataclass(frozen=True)
class Errand:
    """A sign-in that has begun, as the browser keeps it until it comes back."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True)
class Person:
    """Somebody, as the provider knows them."""

    issuer: str
    subject: str
    email: str | None
    """Only if the provider has verified it."""


class Provider:
    """One OpenID Connect provider. Safe to share between threads."""

    def __init__(self, *, issuer: str, client_id: str, client_secret: str, title: str, redirect_uri: str) -> None:
        """Prepare; the provider is asked what it is like when somebody first signs in."""
        self.title = title
        self.issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_uri = redirect_uri
        self._lock = Lock()
        self._described: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def begin(self) -> tuple[str, Errand]:
        """Return where to send the browser, and what it has to keep. Raises ProviderFailed."""
        errand = Errand(
            state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(48)
        )
        endpoint = self._endpoint("authorization_endpoint")
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_uri,
            "scope": "openid email",
            "state": errand.state,
            "nonce": errand.nonce,
            "code_challenge": create_s256_code_challenge(errand.verifier),
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", errand

    def finish(self, errand: Errand, *, code: str) -> Person:
        """
        Exchange the code that the browser came back with, and say who it is.

        Raises:
            ProviderFailed: the provider cannot be reached, or does not answer as the standard says.
            IdentityRefused: it does not take the code, or its token does not hold.
        """
        token = self._exchange(code, errand.verifier)
        try:
            return self._person(self._claims(token), nonce=errand.nonce)
        except (JoseError, ValueError) as error:
            log.warning("oidc_token_refused", issuer=self.issuer, error=type(error).__name__)
            raise IdentityRefused(reason=f"What {self.title} said of you could not be verified.") from None

    def _exchange(self, code: str, verifier: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        auth = None
        if self._client_secret:
            methods = self._description().get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
            if "client_secret_basic" in methods:
                auth = httpx2.BasicAuth(quote(self._client_id, safe=""), quote(self._client_secret, safe=""))
            else:
                form["client_secret"] = self._client_secret
        answer = self._ask("POST", self._endpoint("token_endpoint"), data=form, auth=auth)
        token = answer.get("id_token")
        if not isinstance(token, str):
            log.warning("oidc_code_refused", issuer=self.issuer, error=str(answer.get("error", ""))[:100])
            raise IdentityRefused(reason=f"{self.title} did not confirm this sign-in. Please begin again.")
        return token

    def _claims(self, token: str) -> Mapping[str, Any]:
        """Return what a token says, if its signature is the provider's. Raises: JoseError, ValueError."""
        try:
            return jwt.decode(token, self._key_set(), algorithms=ALGORITHMS).claims
        except InvalidKeyIdError:  # signed with a key that is new
            return jwt.decode(token, self._key_set(anew=True), algorithms=ALGORITHMS).claims

    def _person(self, claims: Mapping[str, Any], *, nonce: str) -> Person:
        """Raises: JoseError, ValueError."""
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self._client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        registry.validate(dict(claims))
        audience = claims["aud"]
        several = isinstance(audience, list) and len(audience) > 1
        if claims.get("azp", None if several else self._client_id) != self._client_id:
            error = "the token was made for another"
            raise ValueError(error)
        email = claims.get("email")
        verified = claims.get("email_verified") is True and isinstance(email, str)
        return Person(issuer=self.issuer, subject=claims["sub"], email=email if verified else None)

    def _endpoint(self, name: str) -> str:
        found = self._description().get(name)
        secure = {"https"} if urlsplit(self.issuer).scheme == "https" else {"https", "http"}
        if not isinstance(found, str) or urlsplit(found).scheme not in secure:
            log.error("oidc_misconfigured", issuer=self.issuer, lacks=name)
            raise ProviderFailed(reason=f"{self.title} does not describe itself as it should.")
        return found

    def _description(self) -> Mapping[str, Any]:
        with self._lock:
            if self._described is None or self._described[0] < time.monotonic() - _KEPT_S:
                found = self._ask("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer:
                    log.error("oidc_misconfigured", issuer=self.issuer, calls_itself=str(found.get("issuer"))[:200])
                    raise ProviderFailed(reason=f"{self.title} does not describe itself as it should.")
                self._described = time.monotonic(), found
            return self._described[1]

    def _key_set(self, *, anew: bool = False) -> KeySet:
        """Return the provider's keys. Raises ProviderFailed."""
        address = self._endpoint("jwks_uri")
        with self._lock:
            if anew or self._keys is None or self._keys[0] < time.monotonic() - _KEPT_S:
                try:
                    keys = KeySet.import_key_set(self._ask("GET", address))  # type: ignore[arg-type]
                except (JoseError, ValueError, KeyError, TypeError):
                    raise ProviderFailed(reason=f"The keys of {self.title} cannot be read.") from None
                self._keys = time.monotonic(), keys
            return self._keys[1]

    def _ask(self, method: str, address: str, **what: Any) -> dict[str, Any]:  # noqa: ANN401  httpx2's own
        """Return the JSON object that is answered, be it an error. Raises ProviderFailed."""
        try:
            with httpx2.Client(timeout=TIMEOUT_S) as client:
                answer = client.request(method, address, headers={"Accept": "application/json"}, **what)
            found = answer.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            log.error("oidc_failed", address=address, error=type(error).__name__)  # noqa: TRY400
            raise ProviderFailed(reason=f"{self.title} does not answer just now.") from None
        if answer.status_code >= 500 or not isinstance(found, dict):  # noqa: PLR2004  a fault of the server's
            log.error("oidc_failed", address=address, status=answer.status_code)
            raise ProviderFailed(reason=f"{self.title} does not answer just now.")
        return found
