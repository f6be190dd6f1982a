package demo

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// method is a row of the table of methods. A handler returns a result or says what is wrong with the params.
type method struct {
	early  bool // may come before initialize
	handle handler
}

type handler = func(c *core, params jsontext.Value) (any, error)

// methods is what the server answers. Lists fit one page: a cursor that a client sends was not ours and is refused.
var methods = map[string]method{
	"initialize":               {true, initialize},
	"ping":                     {true, ping},
	"logging/setLevel":         {false, setLevel},
	"tools/list":               {false, listOf("tools", tools)},
	"tools/call":               {false, nil}, // core.call, which has more than a result to give
	"resources/list":           {false, listOf("resources", resources)},
	"resources/templates/list": {false, listOf("resourceTemplates", templates)},
	"resources/read":           {false, read},
	"resources/subscribe":      {false, subscribe},
	"resources/unsubscribe":    {false, unsubscribe},
	"prompts/list":             {false, listOf("prompts", prompts)},
	"prompts/get":              {false, getPrompt},
	"completion/complete":      {false, complete},
}

// capabilities is what initialize declares: what the table above answers, and nothing that never comes.
var capabilities = encode(object{
	"completions": object{},
	"logging":     object{},
	"prompts":     object{},
	"resources":   object{"subscribe": true},
	"tools":       object{},
})

// instructions are for the model behind the client.
const instructions = "A server to try mcpd with. time and echo are for people; what begins with test_ is for the conformance suite."

func initialize(c *core, params jsontext.Value) (any, error) {
	if c.version != 0 {
		return nil, protocol.AlreadyInitialized()
	}
	offered, err := protocol.ParseServerCapabilities(capabilities)
	if err != nil {
		return nil, protocol.InternalError(err)
	}
	h, err := protocol.Negotiation{}.Handshake(params, offered)
	if err != nil {
		return nil, err
	}
	info, err := protocol.ParseImplementation(encode(object{"name": "demo", "title": "Demo", "version": c.build}))
	if err != nil {
		return nil, protocol.InternalError(err)
	}
	c.version, c.client = h.Version, h.Client
	return h.Result(info, instructions), nil
}

func ping(*core, jsontext.Value) (any, error) { return object{}, nil }

// levels are the levels of log lines, lowest first (2025-11-25 §server/utilities/logging).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelOf is the rank of a level, -1 for what is none.
func levelOf(name string) int { return slices.Index(levels, name) }

func setLevel(c *core, params jsontext.Value) (any, error) {
	name, err := required(params, "level")
	if err != nil {
		return nil, err
	}
	level := levelOf(name)
	if level < 0 {
		return nil, protocol.InvalidParams(fmt.Sprintf("params.level: %q, want one of %s", name, strings.Join(levels, ", ")))
	}
	c.level = level
	return object{}, nil
}

// listOf answers with a whole table. It is written once: every connection begins with these lists.
func listOf[T interface{ listed() object }](member string, rows []T) handler {
	all := sync.OnceValue(func() jsontext.Value {
		list := make([]object, len(rows))
		for i, row := range rows {
			list[i] = row.listed()
		}
		return encode(object{member: list})
	})
	return func(_ *core, params jsontext.Value) (any, error) {
		if _, given := splice.Get(params, "cursor"); given {
			return nil, protocol.StateInvalid("cursor")
		}
		return all(), nil
	}
}

func read(c *core, params jsontext.Value) (any, error) {
	uri, err := required(params, "uri")
	if err != nil {
		return nil, err
	}
	contents, ok := readResource(uri, c.touched)
	if !ok {
		return nil, protocol.ResourceNotFound(uri)
	}
	return object{"contents": []object{contents}}, nil
}

// subscribe takes the listed resources only: there is no end to what a template names, and none of it changes.
func subscribe(c *core, params jsontext.Value) (any, error) {
	uri, err := subscribable(params)
	if err != nil {
		return nil, err
	}
	c.watched[uri] = true
	return object{}, nil
}

func unsubscribe(c *core, params jsontext.Value) (any, error) {
	uri, err := subscribable(params)
	if err != nil {
		return nil, err
	}
	delete(c.watched, uri)
	return object{}, nil
}

func subscribable(params jsontext.Value) (string, error) {
	uri, err := required(params, "uri")
	if err != nil {
		return "", err
	}
	if _, ok := findResource(uri); !ok {
		return "", protocol.ResourceNotFound(uri)
	}
	return uri, nil
}

func getPrompt(_ *core, params jsontext.Value) (any, error) {
	name, err := required(params, "name")
	if err != nil {
		return nil, err
	}
	p, ok := findPrompt(name)
	if !ok {
		return nil, protocol.PromptNotFound(name)
	}
	given, _ := splice.Get(params, "arguments")
	if !isObject(given) {
		return nil, protocol.InvalidParams("params.arguments: not an object")
	}
	args := make(map[string]string, len(p.args))
	for _, a := range p.args {
		value, ok := splice.GetString(given, a.name)
		if !ok {
			return nil, protocol.InvalidParams(fmt.Sprintf("params.arguments.%s: missing or not a string", a.name))
		}
		args[a.name] = value
	}
	return object{"description": p.description, "messages": p.messages(args)}, nil
}

// required reads a string that the params must have.
func required(params jsontext.Value, name string) (string, error) {
	s, ok := splice.GetString(params, name)
	if !ok {
		return "", protocol.InvalidParams(fmt.Sprintf("params.%s: missing or not a string", name))
	}
	return s, nil
}
