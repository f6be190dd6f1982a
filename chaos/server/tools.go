package server

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tool is a tool that a client can call.
type tool struct {
	name, description string
	properties        object // the properties of its arguments, in JSON Schema
	call              func(ctx context.Context, s *server, args jsontext.Value) (string, error)
}

func kind(of, is string) object { return object{"type": of, "description": is} }

// tools are all tools, in the order in which they are listed.
var tools = []tool{
	{"echo", "Gives back what it is given",
		object{"message": kind("string", "what comes back")}, echo},
	{"sleep", "Answers later",
		object{"ms": kind("integer", "how much later, in milliseconds")}, sleep},
	{"count", "Counts its calls, also those of processes before this one where state is kept; or " +
		"has an effect, or tells of those that it had", object{
		"effect": kind("string", "to have, as owner-number: it is given back"),
		"of":     kind("string", "whose effects to tell"),
		"forget": kind("boolean", "forget them when they are told"),
	}, count},
	{"steps", "Tells of its progress, and gives back what it is given", object{
		"message": kind("string", "what comes back"), "steps": kind("integer", "how many there are"),
		"ms": kind("integer", "how long each takes, in milliseconds"),
	}, steps},
	{"misbehave", "Has the server do wrong from now on", object{
		"fault": kind("string", "what it does wrong; none ends it"),
		"for":   kind("string", "how long, as 10s"),
		"times": kind("integer", "how often at most"),
		"delay": kind("string", "how much later or how far apart, as 10ms"),
		"size":  kind("integer", "bytes, levels or messages"), "code": kind("integer", "of an exit"),
	}, misbehave},
}

// callsMisbehave reports whether a request calls the tool misbehave.
func callsMisbehave(m message) bool {
	var p struct {
		Name string `json:"name"`
	}
	return m.Method == "tools/call" && json.Unmarshal(m.Params, &p) == nil && p.Name == "misbehave"
}

// maxSleep bounds a call that sleeps. It is longer than any host waits.
const maxSleep = time.Hour

func declared() []object {
	var list []object
	for _, t := range tools {
		list = append(list, object{
			"name": t.name, "description": t.description,
			"inputSchema": object{"type": "object", "properties": t.properties},
		})
	}
	return list
}

func (s *server) call(ctx context.Context, params jsontext.Value) reply {
	var p struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
		Meta      struct {
			Token jsontext.Value `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return reply{Error: &failure{Code: -32602, Message: "arguments: " + err.Error()}}
	}
	if p.Meta.Token != nil {
		ctx = context.WithValue(ctx, tokenKey{}, p.Meta.Token)
	}
	for _, t := range tools {
		if t.name != p.Name {
			continue
		}
		if p.Arguments == nil {
			p.Arguments = jsontext.Value("{}")
		}
		text, err := t.call(ctx, s, p.Arguments)
		if err != nil {
			text = err.Error()
		}
		return reply{
			Result: object{"content": []object{{"type": "text", "text": text}}, "isError": err != nil},
		}
	}
	return reply{Error: &failure{Code: -32602, Message: fmt.Sprintf("no tool %q", p.Name)}}
}

func echo(_ context.Context, _ *server, args jsontext.Value) (string, error) {
	var a struct {
		Message string `json:"message"`
	}
	err := json.Unmarshal(args, &a)
	return a.Message, err
}

func sleep(ctx context.Context, _ *server, args jsontext.Value) (string, error) {
	var a struct {
		MS int64 `json:"ms"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return "", err
	}
	d := time.Duration(a.MS) * time.Millisecond
	if a.MS < 0 || a.MS > maxSleep.Milliseconds() {
		return "", fmt.Errorf("ms is %d: from 0 to %d it can be", a.MS, maxSleep.Milliseconds())
	}
	pause(ctx, d)
	return d.String(), nil
}
