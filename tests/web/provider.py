"""A small OpenID Connect provider, on a real socket, which can be told to misbehave."""

import base64
import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "kelolo", "s3:cret"


class FakeProvider:
    """Says of everyone what the test wants it to say."""

    def __init__(self, key: RSAKey) -> None:
        """Start to listen."""
        self.key = key
        self.claims: dict[str, Any] = {"sub": "7", "email": "ada@example.org", "email_verified": True}
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.asked: dict[str, dict[str, str]] = {}
        """By code, what the browser was sent with."""
        self.answers: dict[str, tuple[int, Any]] = {}
        """By path, what to answer instead."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self._server.server_port}/realm"
        Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()

    def stop(self) -> None:
        """Close the socket."""
        self._server.shutdown()
        self._server.server_close()

    def signed(self, claims: dict[str, Any]) -> str:
        """Sign as a provider should."""
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def log_in(self, address: str) -> dict[str, str]:
        """Play the browser's visit: who comes with this address goes back with what is returned."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = f"code-{len(self.asked)}"
        self.asked[code] = query
        return {"code": code, "state": query["state"]}

    def _token(self, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        asked = self.asked.pop(form.get("code", ""), None)
        login = base64.b64encode(f"{CLIENT}:s3%3Acret".encode()).decode()
        if authorization != f"Basic {login}":
            return 401, {"error": "invalid_client"}
        if (
            asked is None
            or create_s256_code_challenge(form["code_verifier"]) != asked["code_challenge"]
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims = {name: value for name, value in (usual | self.claims).items() if value is not None}
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": self.sign(claims)}

    def _answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        if path in self.answers:
            return self.answers[path]
        if path == "/realm/token":
            return self._token(form, authorization)
        if path == "/realm/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        described = {"issuer": self.issuer} | {
            name: f"{self.issuer}/{place}"
            for name, place in (("authorization_endpoint", "auth"), ("token_endpoint", "token"), ("jwks_uri", "keys"))
        }
        return 200, described

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(*provider._answer(self.path, {}, ""))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                self._send(*provider._answer(self.path, form, self.headers.get("Authorization", "")))

            def _send(self, status: int, data: Any) -> None:  # noqa: ANN401
                body = data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
