package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// complete proposes values for an argument of a prompt or the variable of a template (2025-11-25
// §server/utilities/completion). Without proposals the result is empty. The tables are far below
// the limit of a hundred values per result.
func complete(c *core, r request) (any, error) {
	params := r.params
	name, ok1 := jsonedit.GetString(params, "argument", "name")
	begun, ok2 := jsonedit.GetString(params, "argument", "value")
	if !ok1 || !ok2 {
		return nil, protocol.InvalidParams(
			"params.argument: want an object with the strings name and value",
		)
	}
	proposals, err := c.proposed(params, name)
	if err != nil {
		return nil, err
	}
	values := []string{}
	for _, p := range proposals {
		if strings.HasPrefix(p, begun) {
			values = append(values, p)
		}
	}
	return object{"completion": object{"values": values, "total": len(values), "hasMore": false}}, nil
}

// proposed are all values for the argument of the prompt or template in ref.
func (c *core) proposed(params jsontext.Value, name string) ([]string, error) {
	kind, _ := jsonedit.GetString(params, "ref", "type")
	switch kind {
	case "ref/prompt":
		of, _ := jsonedit.GetString(params, "ref", "name")
		p, ok := c.findPrompt(of)
		if !ok {
			return nil, protocol.InvalidParams("params.ref.name: no such prompt")
		}
		i := slices.IndexFunc(p.args, func(a argument) bool { return a.name == name })
		if i < 0 {
			return nil, protocol.InvalidParams(
				fmt.Sprintf("params.argument.name: prompt %s has no argument %q", p.name, name),
			)
		}
		return p.args[i].values, nil
	case "ref/resource":
		of, _ := jsonedit.GetString(params, "ref", "uri")
		i := slices.IndexFunc(templates, func(t template) bool { return t.uriTemplate() == of })
		if i < 0 {
			return nil, protocol.InvalidParams("params.ref.uri: no such resource template")
		}
		t := templates[i]
		if name != t.variable {
			return nil, protocol.InvalidParams(
				fmt.Sprintf("params.argument.name: template %s has no variable %q", t.uriTemplate(), name),
			)
		}
		return t.values, nil
	}
	return nil, protocol.InvalidParams(
		fmt.Sprintf("params.ref.type: %q, want ref/prompt or ref/resource", kind),
	)
}
