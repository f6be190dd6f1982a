package demo

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// all declares every capability for which the server asks.
var all = func() protocol.ClientCapabilities {
	c, err := protocol.ParseClientCapabilities(encode(object{
		"elicitation": object{}, "sampling": object{}, "roots": object{},
		"extensions": object{protocol.ExtensionTasks: object{}},
	}))
	if err != nil {
		panic(err)
	}
	return c
}()

// send1 sends a modern request of a client with all capabilities, and returns the immediate
// effects.
func send1(c *core, id uint64, method, params string) []effect {
	meta := protocol.Meta{Version: protocol.Latest.String(), Capabilities: all}
	return c.Step(noon, jsonrpc.Request(jsonrpc.IntID(id), method, meta.Set(jsontext.Value(params))))
}

// failure is the error condition in the first effect, "" if there is none.
func failure(effects []effect) string {
	first, _ := effects[0].(send)
	if first.message.Error == nil {
		return ""
	}
	reason, _ := jsonedit.GetString(first.message.Error.Data, "reason")
	return reason
}

// Work beyond a bound is refused, not queued.
func TestWhatIsKeptIsBounded(t *testing.T) {
	tests := []struct {
		label, method, params string
		bound                 int
	}{
		{"calls", "tools/call", `{"name":"test_tool_with_progress"}`, protocol.MaxPending},
		{"tasks", "tools/call", `{"name":"confirm_delete","arguments":{"filename":"a"}}`, maxTasks},
		{"listens", "subscriptions/listen", `{"notifications":{}}`, maxListens},
	}
	for _, test := range tests {
		c := fresh(t)
		for i := range test.bound {
			if got := failure(send1(c, uint64(i), test.method, test.params)); got != "" {
				t.Fatalf("%s: number %d: %s", test.label, i, got)
			}
		}
		if got := failure(send1(c, 1e6, test.method, test.params)); got != "overloaded" {
			t.Errorf("%s: beyond the bound: %q", test.label, got)
		}
		if test.label == "tasks" {
			continue // whose requests are answered
		}
		if got := failure(send1(c, 0, test.method, test.params)); got != "request_id_conflict" {
			t.Errorf("%s: id in use: %q", test.label, got)
		}
	}
}

// Large inputs are accepted, but not kept.
func TestLargeThingsAreNotKept(t *testing.T) {
	large, larger := strings.Repeat("a", maxState), strings.Repeat("a", maxKept)
	named := func(name string) string {
		return `{"user_name":{"action":"accept","content":{"name":"` + name + `"}}}`
	}
	c := fresh(t)
	tests := []struct{ label, params, want string }{
		{"answer", `{"name":"test_input_required_result_elicitation","inputResponses":` +
			named(large) + `}`, ""},
		{"larger answer", `{"name":"test_input_required_result_elicitation","inputResponses":` +
			named(larger) + `}`, "too_large"},
		{"arguments of a task", `{"name":"slow_compute","arguments":{"seconds":1,"label":"` +
			large + `"}}`, ""},
		{"larger arguments of a task",
			`{"name":"slow_compute","arguments":{"seconds":1,"label":"` + larger + `"}}`, "too_large"},
		{"arguments of a call", `{"name":"greet","arguments":{"name":"` + larger + `"}}`, ""},
		{"state", `{"name":"test_input_required_result_multiple_inputs","requestState":"` + larger + `"}`,
			"state_invalid"},
	}
	for i, test := range tests {
		if got := failure(send1(c, uint64(i), "tools/call", test.params)); got != test.want {
			t.Errorf("%s: %q, want %q", test.label, got, test.want)
		}
	}
	first := send1(c, 10, "tools/call", `{"name":"test_input_required_result_multiple_inputs"}`)
	state, _ := jsonedit.Get(first[0].(send).message.Result, "requestState")
	params := fmt.Sprintf(
		`{"name":"test_input_required_result_multiple_inputs","inputResponses":%s,"requestState":%s}`,
		named(large), state,
	)
	if got := failure(send1(c, 11, "tools/call", params)); got != "invalid_params" {
		t.Errorf("more than a state holds: %q", got)
	}
}

// Without randomness for an id no task is created.
func TestTaskNeedsRandomness(t *testing.T) {
	c, err := newCore("1.2.3", bytes.NewReader(make([]byte, len(sealer{}.key))))
	if err != nil {
		t.Fatal(err)
	}
	if got := failure(send1(c, 1, "tools/call", `{"name":"protocol_error_job"}`)); got != "internal" {
		t.Errorf("got %q", got)
	}
}

// A state opens only with the key that sealed it, and only if it is unchanged.
func TestStatesCannotBeForged(t *testing.T) {
	ours, theirs := fresh(t).seals, sealer{}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		sealed := ours.seal(text)
		if got, ok := ours.open(sealed); !ok || !bytes.Equal(got, text) {
			t.Fatalf("open(seal(%x)) = %x, %t", text, got, ok)
		}
		if _, ok := theirs.open(sealed); ok {
			t.Fatal("opens with another key")
		}
		changed := []byte(sealed)
		i := rapid.IntRange(0, len(changed)-1).Draw(t, "at")
		changed[i] = rapid.Byte().Draw(t, "byte")
		if _, ok := ours.open(string(changed)); ok != (string(changed) == sealed) {
			t.Fatalf("%s opens as %s", changed, sealed)
		}
		if _, ok := ours.open(sealed + rapid.StringN(1, 9, 9).Draw(t, "more")); ok {
			t.Fatal("opens with something behind it")
		}
	})
}
