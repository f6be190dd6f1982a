package streamable

import (
	"errors"
	"strings"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

func TestEventIDs(t *testing.T) {
	nonce := newNonce("one")
	if again := newNonce("one"); nonce == again || !earlier(nonce, again) || earlier(nonce, nonce) ||
		earlier(nonce, newNonce("two")) {
		t.Error("lives and sessions are not told apart")
	}
	long := jsonrpc.StringID(strings.Repeat("x", maxAsks-2))
	for _, id := range []eventID{
		{postStream, 1, 0, ""}, {standaloneStream, 1<<32 - 1, 1<<64 - 1, ""},
		{postStream, 35, 36, encodeRequestID(jsonrpc.IntID(1))},
		{postStream, 1<<32 - 1, 1<<64 - 1, encodeRequestID(long)}, {answeredStream, 1, 3, ""},
	} {
		text := string(id.append(nil, nonce))
		if got, of, err := parseEventID(text); err != nil || got != id || of != nonce ||
			len(text) > maxEventID {
			t.Errorf("%s read as %v of %s (%v), want %v", text, got, of, err, id)
		}
	}
	if got, ok := (eventID{requestID: encodeRequestID(long)}).decodeRequestID(); !ok || got != long {
		t.Errorf("asked %v, %t", got, ok)
	}
	if got := encodeRequestID(jsonrpc.StringID(strings.Repeat("x", maxAsks))); got != "" {
		t.Errorf("a long id is carried: %s", got)
	}
	for _, text := range []string{"", "1", nonce, nonce + ".p1", nonce + ".x1.1", nonce + "..1",
		nonce + ".p1.1.a.b", "abc.p1.1", nonce + ".p-1.1", nonce + ".p1.!"} {
		if _, _, err := parseEventID(text); !errors.Is(err, errEventID) {
			t.Errorf("%q: %v, want errEventID", text, err)
		}
	}
}

// A session that outlives its host accepts its reconnecting clients. A client that listens
// continues. A client that waits for an answer is told that the outcome of its request is unknown.
// Event ids of another session are still invalid.
func TestStreamsOfAnEarlierLife(t *testing.T) {
	before, after := NewStore(StoreOptions{}).Streams("acme",
		"one"), NewStore(StoreOptions{}).Streams("acme", "one")
	get := listening(t, before, "")
	pushAll(t, before, note("notifications/message", 1))
	taken(before, get, 1)
	r := newReply(before, 1, true)
	r.requestID = jsonrpc.StringID("seven")
	if err := r.Send(note("notifications/progress", 1)); err != nil {
		t.Fatal(err)
	}

	again := listening(t, after, idAt(get, 1))
	pushAll(t, after, note("notifications/message", 2))
	if got, _ := taken(after, again, 1); len(got) != 1 || !strings.Contains(got[0], "2") {
		t.Errorf("the standing stream has %v", got)
	}
	answered := listening(t, after, idAt(&r.out, 0))
	got, phase := taken(after, answered, 2)
	if len(got) != 1 || phase != completed || !strings.Contains(got[0], `"id":"seven"`) ||
		!strings.Contains(got[0], `"maybeExecuted":true`) {
		t.Errorf("answered %v, %v", got, phase)
	}
	for _, id := range []string{idAt(listening(t, NewStore(StoreOptions{}).Streams("acme", "two"), ""),
		0), strings.Replace(idAt(&r.out, 0), ".p", ".p9", 1)[:20]} {
		if err := after.connect(&streamResponse{}, id, protocol.V20251125); !errors.Is(err, errEventID) &&
			!errors.Is(err, errUnreplayable) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
