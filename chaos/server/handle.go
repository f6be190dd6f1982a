package server

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// later is the revision that has no handshake.
const later = "2026-07-28"

// revisions are those that have one, the latest first.
var revisions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// self is who we are.
var self = object{"name": "chaos", "version": "1"}

// stands reports whether a request stands alone, as those of the later revision do.
func stands(m message) bool {
	var p struct {
		Meta struct {
			Revision jsontext.Value `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	return json.Unmarshal(m.Params, &p) == nil && p.Meta.Revision != nil
}

// handle is the reply to a request, in its era.
func (s *server) handle(ctx context.Context, m message) reply {
	r := s.reply(ctx, m)
	if of, ok := r.Result.(object); ok && stands(m) {
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
			"protocolVersion": revision(p.ProtocolVersion), "capabilities": object{"tools": object{"listChanged": true}, "logging": object{}}, "serverInfo": self,
		}}
	case "server/discover":
		if s.over != nil {
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

// discovered is what a server says of itself that speaks the later revision. It announces nothing there.
func discovered() object {
	return object{"supportedVersions": []string{later}, "capabilities": object{"tools": object{}}, "serverInfo": self, "ttlMs": 0, "cacheScope": "private"}
}

// revision is what is agreed on with a client that asks for one.
func revision(asked string) string {
	for _, r := range revisions {
		if r == asked {
			return r
		}
	}
	return revisions[0]
}

// pause waits, unless the client is gone first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
