package demo

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// method is a row of the table of methods.
type method struct {
	early  bool // may come before initialize
	handle handler
}

// handler handles a request, or returns the reason why it cannot.
type handler = func(c *core, r request) ([]effect, error)

// methods are the methods that the server answers, in the revisions that have them. Every list fits
// on one page, so the server issues no cursor, and refuses any.
var methods = map[string]method{
	"initialize":               {true, answers(initialize)},
	"ping":                     {true, answers(ping)},
	"server/discover":          {false, discover},
	"logging/setLevel":         {false, answers(setLevel)},
	"tools/list":               {false, answers(listOf("tools", tools))},
	"tools/call":               {false, callTool},
	"resources/list":           {false, answers(listOf("resources", resources))},
	"resources/templates/list": {false, answers(listOf("resourceTemplates", templates))},
	"resources/read":           {false, answers(read)},
	"resources/subscribe":      {false, answers(subscribe)},
	"resources/unsubscribe":    {false, answers(unsubscribe)},
	"subscriptions/listen":     {false, beginListen},
	"prompts/list":             {false, answers(listOf("prompts", prompts))},
	"prompts/get":              {false, getPrompt},
	"completion/complete":      {false, answers(complete)},
	"tasks/get":                {false, answers(getTask)},
	"tasks/update":             {false, updateTask},
	"tasks/cancel":             {false, cancelTask},
	"tasks/result":             {false, resultOfTask},
	"tasks/list":               {false, answers(listTasks)},
}

// answers is a handler that has its result at once.
func answers(f func(c *core, r request) (any, error)) handler {
	return func(c *core, r request) ([]effect, error) {
		result, err := f(c, r)
		if err != nil {
			return nil, err
		}
		return []effect{c.complete(r, encode(result))}, nil
	}
}

func setLevel(c *core, r request) (any, error) {
	level, err := required(r.params, "level")
	if err != nil {
		return nil, err
	}
	if !protocol.ValidLogLevel(level) {
		return nil, protocol.InvalidLogLevel("params.level", level)
	}
	c.session.level = level
	return object{}, nil
}

// row is an entry of a list.
type row interface {
	listed(tasks bool) object // with tasks: the form for revisions with tasks in the core
	changing() bool           // whether it is added and removed at run time
}

// listOf answers with a whole table, or with the rows that are present at the moment. Each variant
// is encoded only once, because every connection begins with these lists.
func listOf[T row](name string, rows []T) func(c *core, r request) (any, error) {
	write := func(changed, tasks bool) func() jsontext.Value {
		return sync.OnceValue(func() jsontext.Value {
			list := make([]object, 0, len(rows))
			for _, row := range rows {
				if changed || !row.changing() {
					list = append(list, row.listed(tasks))
				}
			}
			return encode(object{name: list})
		})
	}
	type as struct{ changed, tasks bool }
	written := map[as]func() jsontext.Value{}
	for _, a := range []as{{false, false}, {false, true}, {true, false}, {true, true}} {
		written[a] = write(a.changed, a.tasks)
	}
	return func(c *core, r request) (any, error) {
		if _, given := jsonedit.Get(r.params, "cursor"); given {
			return nil, protocol.StateInvalid("cursor")
		}
		return written[as{c.changed[name], r.version.Has(protocol.Tasks)}](), nil
	}
}

// callTool begins a tools/call.
func callTool(c *core, r request) ([]effect, error) {
	name, err := required(r.params, "name")
	if err != nil {
		return nil, err
	}
	t, ok := c.findTool(name)
	if !ok {
		return nil, protocol.ToolNotFound(name)
	}
	args, err := arguments(r.params)
	if err != nil {
		return nil, err
	}
	wanted, err := t.taskRequested(r)
	if err != nil {
		return nil, err
	}
	k, err := c.begin(r, t.name, t.steps, args)
	if err != nil {
		return nil, err
	}
	k.taskRequested = wanted
	if wrong := t.invalid(args); wrong != "" {
		return c.finish(k, failed(wrong)), nil
	}
	return c.run(k), nil
}

// getPrompt begins a prompts/get.
func getPrompt(c *core, r request) ([]effect, error) {
	name, err := required(r.params, "name")
	if err != nil {
		return nil, err
	}
	p, ok := c.findPrompt(name)
	if !ok {
		return nil, protocol.PromptNotFound(name)
	}
	args, err := arguments(r.params)
	if err != nil {
		return nil, err
	}
	for _, a := range p.args {
		if _, ok := jsonedit.GetString(args, a.name); !ok {
			return nil, protocol.InvalidParams(fmt.Sprintf("params.arguments.%s: missing or not a string",
				a.name))
		}
	}
	k, err := c.begin(r, p.name, p.steps(), args)
	if err != nil {
		return nil, err
	}
	return c.run(k), nil
}

// arguments are the arguments of a tool or prompt: an object, or absent.
func arguments(params jsontext.Value) (jsontext.Value, error) {
	args, _ := jsonedit.Get(params, "arguments")
	if !isObject(args) {
		return nil, protocol.InvalidParams("params.arguments: not an object")
	}
	return args, nil
}

func read(c *core, r request) (any, error) {
	uri, err := required(r.params, "uri")
	if err != nil {
		return nil, err
	}
	contents, ok := readResource(uri, c.touched)
	if !ok {
		return nil, protocol.ResourceNotFound(uri)
	}
	return object{"contents": []object{contents}}, nil
}

// subscribe accepts only listed resources. A template stands for any number of resources, and none
// of them changes.
func subscribe(c *core, r request) (any, error) {
	uri, err := subscribable(r.params)
	if err != nil {
		return nil, err
	}
	c.session.watched[uri] = true
	return object{}, nil
}

func unsubscribe(c *core, r request) (any, error) {
	uri, err := subscribable(r.params)
	if err != nil {
		return nil, err
	}
	delete(c.session.watched, uri)
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

// required reads a string that must be in params.
func required(params jsontext.Value, name string) (string, error) {
	s, ok := jsonedit.GetString(params, name)
	if !ok {
		return "", protocol.InvalidParams(fmt.Sprintf("params.%s: missing or not a string", name))
	}
	return s, nil
}
