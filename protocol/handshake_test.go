package protocol_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/session"
)

// The 21 tests in six categories that S0-37 to S0-43 require, under their names.

const initializeParams = `{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true},"sampling":{},` +
	`"experimental":{"custom_feature":true}},"clientInfo":{"name":"inspector","version":"1.2.3","title":"Inspector"}}`

// fullServer declares every capability (S0-44).
const fullServer = `{"resources":{"subscribe":true,"listChanged":true},"tools":{},"prompts":{"listChanged":true},"logging":{},` +
	`"completions":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`

func serverCaps(t testing.TB, raw string) protocol.ServerCapabilities {
	t.Helper()
	c, err := protocol.ParseServerCapabilities(jsontext.Value(raw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clientCaps(t testing.TB, raw string) protocol.ClientCapabilities {
	t.Helper()
	c, err := protocol.ParseClientCapabilities(jsontext.Value(raw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func handshake(t testing.TB, params string) protocol.Handshake {
	t.Helper()
	h, err := protocol.Negotiation{}.Handshake(jsontext.Value(params), serverCaps(t, fullServer))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func initializeResult(t testing.TB, params string) jsontext.Value {
	t.Helper()
	return handshake(t, params).Result(protocol.Implementation{Name: "mcpd", Version: "0.5.0"},
		"be gentle")
}

func expect(t *testing.T, got jsontext.Value, want string, path ...string) {
	t.Helper()
	if v, _ := jsonedit.Get(got, path...); string(v) != want {
		t.Errorf("%v: got %s, want %s in %s", path, v, want, got)
	}
}

func condition(t *testing.T, err error, want protocol.Condition) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Category 1, server capabilities: S0-37, S0-26 to S0-28.

func TestInitializeResponseIncludesCapabilities(t *testing.T) {
	r := initializeResult(t, initializeParams)
	expect(t, r, `{"subscribe":true,"listChanged":true}`, "capabilities", "resources")
	expect(t, r, `{}`, "capabilities", "tools")
	expect(t, r, `{"listChanged":true}`, "capabilities", "prompts")
	expect(t, r, `{}`, "capabilities", "logging")
}

func TestInitializeResponseProtocolVersion(t *testing.T) {
	expect(t, initializeResult(t, initializeParams), `"2025-06-18"`, "protocolVersion")
}

func TestServerInfoInResponse(t *testing.T) {
	r := initializeResult(t, initializeParams)
	expect(t, r, `{"name":"mcpd","version":"0.5.0"}`, "serverInfo")
	expect(t, r, `"be gentle"`, "instructions")
}

// Category 2, extraction of client capabilities: S0-38, S0-23 to S0-25.

func TestExtractClientCapabilities(t *testing.T) {
	c, err := protocol.ExtractClientCapabilities(jsontext.Value(initializeParams))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"roots": true, "roots.listChanged": true, "sampling": true, "sampling.tools": false,
		"elicitation": false, "tools": false,
		"experimental.custom_feature": true, "experimental.other": false, "experimental": true,
	} {
		if got := c.Has(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestExtractRootsCapability(t *testing.T) {
	c := clientCaps(t, `{"roots":{}}`)
	if !c.Has("roots") || c.Has("roots.listChanged") {
		t.Errorf("an empty object enables roots, and nothing else: %s", c.Raw())
	}
}

func TestExtractSamplingCapability(t *testing.T) {
	if c := clientCaps(t, `{"sampling":{}}`); !c.Has("sampling") {
		t.Errorf("an empty object enables sampling: %s", c.Raw())
	}
}

func TestExtractEmptyCapabilities(t *testing.T) {
	for _, raw := range []string{``, `{}`, `{"roots":null,"sampling":null}`} {
		c := clientCaps(t, raw)
		if c.Has("roots") || c.Has("sampling") || c.Fingerprint() != 0 {
			t.Errorf("%s declares %v", raw, c.Fingerprint())
		}
	}
	// S0-51: undeclared capabilities are disabled.
	if (protocol.ClientCapabilities{}).Has("roots") ||
		string(protocol.ClientCapabilities{}.Raw()) != "{}" {
		t.Error("the zero value declares something")
	}
}

// Category 3, validation of the version: S0-39, S0-6, S0-17 to S0-22.

func TestValidateMatchingProtocolVersion(t *testing.T) {
	if err := (protocol.Negotiation{}).ValidateProtocolVersion("2025-06-18"); err != nil {
		t.Error(err)
	}
}

// S0-46, S0-50 and C2: an absent version is error -32602, unless a default is configured.
func TestValidateDefaultProtocolVersion(t *testing.T) {
	const params = `{"capabilities":{},"clientInfo":{"name":"a","version":"1"}}`
	_, err := protocol.Negotiation{}.Handshake(jsontext.Value(params), protocol.ServerCapabilities{})
	condition(t, err, protocol.ConditionInvalidParams)

	h, err := protocol.Negotiation{Default: protocol.V20241105}.Handshake(jsontext.Value(params),
		protocol.ServerCapabilities{})
	if err != nil || h.Version != protocol.V20241105 || h.Requested != "" {
		t.Errorf("got %v, %v", h.Version, err)
	}
}

func TestRejectIncompatibleProtocolVersion(t *testing.T) {
	strict := protocol.Negotiation{Mode: protocol.Strict}
	for version, want := range map[string]string{
		"2099-01-01": "Protocol version not yet supported",
		"2024-06-18": "Protocol version too old",
	} {
		_, err := strict.Initialize(version)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Message != want {
			t.Errorf("%s: got %v, want %s", version, err, want)
		}
	}
}

func TestValidateMajorVersionOnly(t *testing.T) {
	for version, want := range map[string]bool{
		"2025-06-18": true, "2025": false, "2025-06": false, "2025-6-18": false, "2025/06/18": false,
		"2025-13-01": false, "2025-00-10": false,
		"2025-01-32": false, "2025-01-00": false, "v025-06-18": false, "2025-06-18 ": false, "": false,
		"２025-06-1": false,
	} {
		if got := protocol.ValidFormat(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
	if err := (protocol.Negotiation{}).ValidateProtocolVersion("1.0"); err == nil ||
		err.Error() != `protocol version "1.0" is not a date YYYY-MM-DD` {
		t.Errorf("got %v", err)
	}
}

// Category 4, feature blocking: S0-40, S0-29 to S0-32.

func blocked(t *testing.T, method, text string) {
	t.Helper()
	l := session.NewServer(time.Unix(0, 0), session.Options{})
	_, err := l.Admit(time.Unix(1, 0), method)
	condition(t, err, protocol.ConditionNotInitialized)
	e := protocol.Translate(err, protocol.V20250618)
	if e.Code != -32005 || e.Message != text {
		t.Errorf("got %v, want %s (-32005)", e, text)
	}
	expect(t, e.Data, `"initialization"`, "currentPhase")
}

func TestBlockResourcesBeforeInitialization(t *testing.T) {
	blocked(t, "resources/list", "Cannot list resources before server initialization")
}

func TestBlockToolsBeforeInitialization(t *testing.T) {
	blocked(t, "tools/call", "Cannot call tools before server initialization")
}

func TestBlockPromptsBeforeInitialization(t *testing.T) {
	blocked(t, "prompts/get", "Cannot get prompts before server initialization")
}

func TestAllowResourcesAfterInitialization(t *testing.T) {
	now := time.Unix(0, 0)
	l := session.NewServer(now, session.Options{})
	for _, on := range []session.Event{session.Greet, session.Confirm} {
		if _, err := l.Step(now, on); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Admit(now, "resources/list"); err != nil {
		t.Error(err)
	}
	h := handshake(t, initializeParams)
	gate := protocol.Gate{Version: h.Version, Client: h.Client, Server: h.Server}
	if err := gate.Check(protocol.Client, "resources/list", nil); err != nil {
		t.Error(err)
	}
	_, err := l.Admit(now, "initialize")
	condition(t, err, protocol.ConditionAlreadyInitialized)
	if e := protocol.Translate(err, h.Version); e.Code != -32005 ||
		e.Message != "Server already initialized. Initialize must be called only once." {
		t.Errorf("got %v", e) // S0-32
	}
}

// Category 5, access control: S0-41, S0-33 to S0-36, S0-45, C4, C5.

func TestCheckClientRootsCapability(t *testing.T) {
	gate := protocol.Gate{Version: protocol.V20250618, Client: clientCaps(t, `{"roots":{}}`)}
	if err := gate.Check(protocol.Server, "roots/list", nil); err != nil {
		t.Error(err)
	}
	gate.Client = protocol.ClientCapabilities{}
	condition(t, gate.Check(protocol.Server, "roots/list", nil),
		protocol.ConditionCapabilityNotSupported)
}

func TestCheckClientSamplingCapability(t *testing.T) {
	required := protocol.ClientRequirements()
	for method, capability := range map[string]string{
		"resources/list": "resources", "resources/read": "resources", "resources/subscribe": "resources",
		"resources/unsubscribe": "resources",
		"tools/list":            "tools", "tools/call": "tools",
		"prompts/list": "prompts", "prompts/get": "prompts",
		"sampling/createMessage": "sampling",
	} {
		err := protocol.CheckCapabilityForRequest(method, protocol.ClientCapabilities{}, required)
		condition(t, err, protocol.ConditionCapabilityRequired)
		if e := protocol.Translate(err, protocol.V20250618); e.Code != -32004 ||
			e.Message != "Client does not support required capability: "+capability {
			t.Errorf("%s: got %v", method, e)
		}
		if err := protocol.CheckCapabilityForRequest(method, clientCaps(t, `{"`+capability+`":{}}`),
			required); err != nil {
			t.Errorf("%s with %s: %v", method, capability, err)
		}
	}
	// S0-49: without requirements a client needs no capability.
	if err := protocol.CheckCapabilityForRequest("tools/list", protocol.ClientCapabilities{},
		nil); err != nil {
		t.Error(err)
	}
}

// S0-54: unknown experimental capabilities pass through with their settings. Peers can negotiate
// versions in these settings (S0-55).
func TestCheckExperimentalCapability(t *testing.T) {
	c := clientCaps(
		t,
		`{"experimental":{"realtime-debugging":{"version":"2.1","big":12345678901234567890}},"unheard/of":[1]}`,
	)
	if !c.Has("experimental.realtime-debugging") {
		t.Error("an experimental capability was lost")
	}
	settings, _ := c.Settings("experimental.realtime-debugging")
	expect(t, settings, `"2.1"`, "version")
	for _, v := range protocol.Versions() {
		if got := string(c.Shape(v).Raw()); got != string(c.Raw()) {
			t.Errorf("%v: got %s", v, got)
		}
	}
}

// Category 6, tasks: S0-42, in the wire format of the specification (C8).

func TestIncludeTaskCapabilityInServerResponse(t *testing.T) {
	latest := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`
	if _, ok := jsonedit.Get(initializeResult(t, latest), "capabilities", "tasks"); !ok {
		t.Error("2025-11-25: tasks are not advertised")
	}
	if _, ok := jsonedit.Get(initializeResult(t, initializeParams), "capabilities", "tasks"); ok {
		t.Error("2025-06-18: tasks are advertised")
	}
}

func TestTaskCapabilityFeatures(t *testing.T) {
	c := serverCaps(t, fullServer)
	for _, path := range []string{"tasks", "tasks.list", "tasks.cancel", "tasks.requests.tools.call"} {
		if !c.Has(path) {
			t.Errorf("%s is not found", path)
		}
	}
}

func TestTaskCreateAllowedWithCapability(t *testing.T) {
	gate := protocol.Gate{Version: protocol.V20251125, Server: serverCaps(t, fullServer)}
	params := jsontext.Value(`{"name":"slow","task":{"ttl":1000}}`)
	for _, method := range []string{"tools/call", "tasks/get", "tasks/result", "tasks/list",
		"tasks/cancel"} {
		if err := gate.Check(protocol.Client, method, params); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	gate.Server = gate.Server.Without("tasks")
	condition(t, gate.Check(protocol.Client, "tasks/get", nil),
		protocol.ConditionCapabilityNotSupported)
	if err := gate.Check(protocol.Client, "tools/call", params); err != nil {
		t.Errorf("without the capability the task member is ignored: %v", err)
	}
}

// S0-58: a failed handshake leaves no state behind, so the client may try again.
func TestFailedHandshakeCanBeTriedAgain(t *testing.T) {
	now := time.Unix(0, 0)
	strict := protocol.Negotiation{Mode: protocol.Strict}
	l := session.NewServer(now, session.Options{})
	if _, err := l.Admit(now, "initialize"); err != nil {
		t.Fatal(err)
	}
	h, err := strict.Handshake(
		jsontext.Value(`{"protocolVersion":"2099-01-01","capabilities":{"roots":{}},"clientInfo":{"name":"a","version":"1"}}`), serverCaps(t, fullServer),
	)
	condition(t, err, protocol.ConditionUnsupportedVersion)
	if h.Client.Has("roots") || h.Version != 0 || l.Phase() != session.Initialization {
		t.Errorf("something is left: %v, %v", h, l.Phase())
	}
	if _, err := l.Admit(now, "initialize"); err != nil {
		t.Error(err)
	}
	if _, err := strict.Handshake(jsontext.Value(initializeParams),
		serverCaps(t, fullServer)); err != nil {
		t.Error(err)
	}
}
