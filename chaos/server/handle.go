package server

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// modernRevision is the revision without a handshake.
const modernRevision = "2026-07-28"

// legacyRevisions are the revisions with a handshake, the latest first.
var legacyRevisions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// serverInfo is the server's implementation info.
var serverInfo = object{"name": "chaos", "version": "1"}

// stateless reports whether a request is stateless, as in the later revision.
func stateless(m message) bool {
	var p struct {
		Meta struct {
			Revision jsontext.Value `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	return json.Unmarshal(m.Params, &p) == nil && p.Meta.Revision != nil
}

// handle returns the reply to a request, in the form of its era.
func (s *server) handle(ctx context.Context, m message) reply {
	r := s.reply(ctx, m)
	if of, ok := r.Result.(object); ok && stateless(m) {
		of = maps.Clone(of)
		of["resultType"] = "complete"
		r.Result = of
	}
	return r
}

func (s *server) reply(ctx context.Context, m message) reply {
	switch m.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Params, &p)
		return reply{Result: object{
			"protocolVersion": revision(p.ProtocolVersion),
			"capabilities":    object{"tools": object{"listChanged": true}, "logging": object{}},
			"serverInfo":      serverInfo,
		}}
	case "server/discover":
		if s.exchange != nil {
			return reply{Result: discovered()}
		}
	case "ping", "logging/setLevel":
		return reply{Result: object{}}
	case "tools/list":
		return reply{Result: object{"tools": declared()}}
	case "tools/call":
		return s.call(ctx, m.Params)
	}
	return reply{Error: &failure{Code: -32601, Message: fmt.Sprintf("no method %q", m.Method)}}
}

// discovered is the result of server/discover in the later revision. It promises no change
// notifications.
func discovered() object {
	return object{
		"supportedVersions": []string{modernRevision}, "capabilities": object{"tools": object{}},
		"serverInfo": serverInfo, "ttlMs": 0, "cacheScope": "private",
	}
}

// revision negotiates the revision with a client that asks for one.
func revision(asked string) string {
	for _, r := range legacyRevisions {
		if r == asked {
			return r
		}
	}
	return legacyRevisions[0]
}

// pause waits for d, or until the client is gone.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
