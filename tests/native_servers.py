"""Servers on this machine that speak the protocols of Anthropic and Gemini besides that of chats.

They take the fields that the references of these protocols name, and refuse any other.
"""

import json

import loopback as servers
from loopback import KEY, completion

ANTHROPIC_FIELDS = {
    *("model", "messages", "system", "max_tokens", "temperature", "top_p", "top_k"),
    *("stop_sequences", "thinking", "output_config"),
}
GEMINI_FIELDS = {"systemInstruction", "contents", "generationConfig", "safetySettings"}
GEMINI_CONFIG = {
    *("temperature", "topP", "topK", "seed", "maxOutputTokens", "responseLogprobs", "logprobs"),
    *("responseMimeType", "responseJsonSchema", "thinkingConfig"),
}


class Anthropic(servers.Handler):
    """Speaks the protocol of Anthropic."""

    def do_POST(self):  # noqa: N802
        if self.path != "/v1/messages":
            return super().do_POST()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return self.send(*self.message(self.server.world, body))

    def message(self, world, body):
        if self.headers["x-api-key"] != KEY or not self.headers["anthropic-version"]:
            return anthropic_error(401, "authentication_error", "invalid x-api-key")
        with world.lock:
            world.bodies.append(body)
            if world.down:
                world.down -= 1
                return anthropic_error(529, "overloaded_error", "Overloaded")
        if (wrong := wrong_for_anthropic(body)) is not None:
            return anthropic_error(400, "invalid_request_error", wrong)
        if (refusal := world.refuses(body)) is not None:
            return refusal
        said = world.answer(body["messages"][-1]["content"], body)
        thought = [{"type": "thinking", "thinking": "Hm."}] if "thinking" in body else []
        blocks = [*thought, {"type": "text", "text": said.text}]
        usage = {"input_tokens": 7, "output_tokens": 3}
        about = {"model": world.model, "stop_reason": "end_turn", "usage": usage}
        return 200, {**about, "content": blocks}


def anthropic_error(status, kind, message):
    return status, {"type": "error", "error": {"type": kind, "message": message}}


def wrong_for_anthropic(body):
    """Say what is wrong with a request, in Anthropic's words; None if nothing."""
    if unknown := body.keys() - ANTHROPIC_FIELDS:
        return f"{min(unknown)}: Extra inputs are not permitted"
    if missing := {"model", "messages", "max_tokens"} - body.keys():
        return f"{min(missing)}: Field required"
    if odd := {turn["role"] for turn in body["messages"]} - {"user", "assistant"}:
        return f'messages: Unexpected role "{min(odd)}"'
    if not 0 <= body.get("temperature", 1) <= 1:
        return "temperature: range: 0..1"
    budget = body.get("thinking", {}).get("budget_tokens", 0)
    if budget >= body["max_tokens"]:
        return "`max_tokens` must be greater than `thinking.budget_tokens`."
    return None


class Gemini(servers.Handler):
    """Speaks the protocol of Gemini."""

    def reply(self, world, body, fault, now):
        if self.path != "/v1beta/models/m-1:generateContent":
            return super().reply(world, body, fault, now)
        if self.headers["x-goog-api-key"] != KEY:
            about = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo"}]
            about[0]["reason"] = "API_KEY_INVALID"
            said = f"API key not valid: {self.headers['x-goog-api-key']}"
            return self.fail(400, said, "INVALID_ARGUMENT", about)
        unknown = body.keys() - GEMINI_FIELDS | body["generationConfig"].keys() - GEMINI_CONFIG
        if unknown:
            said = (
                f'Invalid JSON payload received. Unknown name "{min(unknown)}": Cannot find field.'
            )
            return self.fail(400, said, "INVALID_ARGUMENT")
        if (refusal := world.refuses(body)) is not None:
            return self.fail(*refusal)
        if fault == "429":
            about = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.05s"}]
            world.failed[fault] += 1
            return self.fail(429, "Quota exceeded", "RESOURCE_EXHAUSTED", about)
        return self.send(200, generated(world, body))

    def fail(self, code, message, status, details=()):
        error = {"code": code, "message": message, "status": status, "details": list(details)}
        self.send(code, {"error": error})


def generated(world, body):
    """Answer as the other protocol does, in the words of this one."""
    config = body["generationConfig"]
    turns = [{"content": turn["parts"][0]["text"]} for turn in body["contents"]]
    more = {"logprobs": config.get("responseLogprobs"), "top_logprobs": config.get("logprobs")}
    plain = completion(world, {"messages": turns, **more}, turns[-1]["content"])
    (choice,) = plain["choices"]
    parts = [{"text": choice["message"]["content"]}]
    if config.get("thinkingConfig", {}).get("includeThoughts"):
        parts.insert(0, {"text": "Hm.", "thought": True})
    found = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}
    if choice["logprobs"]:
        tokens = choice["logprobs"]["content"]
        found["logprobsResult"] = {
            "chosenCandidates": [candidate(one) for one in tokens],
            "topCandidates": [
                {"candidates": [candidate(t) for t in one["top_logprobs"]]} for one in tokens
            ],
        }
    usage = {
        "promptTokenCount": plain["usage"]["prompt_tokens"],
        "candidatesTokenCount": plain["usage"]["completion_tokens"],
        "thoughtsTokenCount": 2 * (len(parts) - 1),
    }
    return {"candidates": [found], "usageMetadata": usage, "modelVersion": "gemini-m-1-001"}


def candidate(token):
    return {"token": token["token"], "tokenId": 7, "logProbability": token["logprob"]}
