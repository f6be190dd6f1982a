package demo

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// capabilities are the declared capabilities: exactly those for which the server answers methods or
// sends notifications.
var capabilities = encode(object{
	"completions": object{},
	"logging":     object{},
	"prompts":     object{"listChanged": true},
	"resources":   object{"subscribe": true},
	"tasks": object{
		"list": object{}, "cancel": object{}, "requests": object{"tools": object{"call": object{}}},
	},
	"tools": object{"listChanged": true},
})

// declared are the declared capabilities in each revision. Each request is checked against them.
var declared = sync.OnceValue(func() map[protocol.Version]protocol.ServerCapabilities {
	all, err := protocol.ParseServerCapabilities(capabilities)
	if err != nil {
		panic(err) // the table above is wrong
	}
	in := map[protocol.Version]protocol.ServerCapabilities{}
	for _, v := range protocol.Versions() {
		if in[v] = all.Shape(v); v.Has(protocol.TasksExtension) {
			in[v] = in[v].With(tasksCapability, jsontext.Value("{}"))
		}
	}
	return in
})

func offered(v protocol.Version) protocol.ServerCapabilities { return declared()[v] }

// instructions are for the model behind the client.
const instructions = "A server to try mcpd with. time, echo and greet are for people; the others " +
	"are for checkers, as the conformance suite."

func initialize(c *core, r request) (any, error) {
	if c.session.version != 0 {
		return nil, protocol.AlreadyInitialized()
	}
	h, err := c.policy.Handshake(r.params, offered(protocol.LatestLegacy))
	if err != nil {
		return nil, err
	}
	c.session.version, c.session.client = h.Version, h.Client
	return h.Result(c.info, instructions), nil
}

// discover also names the revisions with initialize, which the same connection serves.
func discover(c *core, r request) ([]effect, error) {
	result := protocol.DiscoverResult{
		Versions: c.policy.Names(), Capabilities: offered(r.version), Info: c.info,
		Instructions: instructions,
	}
	return []effect{send{jsonrpc.Response(r.id, result.Result()), r.id}}, nil
}

func ping(*core, request) (any, error) { return object{}, nil }
