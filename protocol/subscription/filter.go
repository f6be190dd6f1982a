package subscription

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Filter is the content of subscriptions/listen (2026-07-28 §basic/patterns/subscriptions).
type Filter struct {
	// Tools, Prompts and Resources request the list_changed notification of each.
	Tools, Prompts, Resources bool
	// URIs are the resources whose updates are requested.
	URIs []string
	// Tasks are the ids of the tasks whose status is requested, by the tasks extension.
	Tasks []string
	// Extensions is an object with the members that mcpd does not know and other extensions may
	// define.
	Extensions jsontext.Value
}

// ParseFilter reads the params of subscriptions/listen. It returns a *protocol.Error with code
// -32602 if notifications is missing, a member has the wrong type, or a list has more than
// protocol.MaxSubscribedURIs entries.
func ParseFilter(params jsontext.Value) (f Filter, err error) {
	wanted, _ := jsonedit.Get(params, "notifications")
	if wanted.Kind() != '{' {
		return f, protocol.InvalidParams("notifications is missing")
	}
	for m := range jsonedit.Members(wanted) {
		switch m.Key() {
		case "toolsListChanged":
			f.Tools, err = choice(m)
		case "promptsListChanged":
			f.Prompts, err = choice(m)
		case "resourcesListChanged":
			f.Resources, err = choice(m)
		case "resourceSubscriptions":
			f.URIs, err = names(m)
		case "taskIds":
			f.Tasks, err = names(m)
		default:
			// An empty value becomes an object.
			f.Extensions, _ = jsonedit.Set(f.Extensions, m.Value, m.Key())
		}
		if err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}

// choice reads a boolean member.
func choice(m jsonedit.Member) (yes bool, err error) {
	switch m.Value.Kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return false, protocol.InvalidParams("notifications." + m.Key() + " is neither true nor false")
}

// names reads a bounded list of strings, without duplicates.
func names(m jsonedit.Member) (list []string, err error) {
	if m.Value.Kind() != '[' {
		return nil, protocol.InvalidParams("notifications." + m.Key() + " is not an array")
	}
	for e := range jsonedit.Elements(m.Value) {
		name, ok := jsonedit.Unquote(e)
		if !ok {
			return nil, protocol.InvalidParams("notifications." + m.Key() +
				" contains something other than strings")
		}
		if slices.Contains(list, name) {
			continue
		}
		if len(list) == protocol.MaxSubscribedURIs {
			return nil, protocol.InvalidParams(fmt.Sprintf("notifications.%s contains more than %d", m.Key(),
				protocol.MaxSubscribedURIs))
		}
		list = append(list, name)
	}
	return list, nil
}

// Grant returns the part of the filter that a server with these capabilities can honour. It drops
// the rest without an error. It also drops all extension members, because mcpd cannot grant them.
func (f Filter) Grant(server protocol.ServerCapabilities) Filter {
	f.Tools = f.Tools && server.Has("tools.listChanged")
	f.Prompts = f.Prompts && server.Has("prompts.listChanged")
	f.Resources = f.Resources && server.Has("resources.listChanged")
	if !server.Has("resources.subscribe") {
		f.URIs = nil
	}
	if !server.Has("extensions." + protocol.ExtensionTasks) {
		f.Tasks = nil
	}
	f.Extensions = nil
	return f
}

// Topics lists the topics of the filter at one server, or at any server if server is empty.
func (f Filter) Topics(server string) (topics []Topic) {
	for _, row := range []struct {
		wanted bool
		method string
	}{
		{f.Tools, "notifications/tools/list_changed"},
		{f.Prompts, "notifications/prompts/list_changed"},
		{f.Resources, "notifications/resources/list_changed"},
	} {
		if row.wanted {
			topics = append(topics, Topic{Method: row.method, Server: server})
		}
	}
	for _, uri := range f.URIs {
		topics = append(topics, Topic{Method: updated, Server: server, URI: uri})
	}
	for _, id := range f.Tasks {
		topics = append(topics, Topic{Method: "notifications/tasks", Server: server, URI: id})
	}
	return topics
}

// Notifications returns the filter as JSON, in the form of subscriptions/listen and of its
// acknowledgement.
func (f Filter) Notifications() jsontext.Value {
	d := jsontext.Value("{}")
	// d is an object, so Set cannot fail.
	set := func(name string, value jsontext.Value) { d, _ = jsonedit.Set(d, value, name) }
	for _, row := range []struct {
		wanted bool
		name   string
	}{{f.Tools, "toolsListChanged"}, {f.Prompts, "promptsListChanged"},
		{f.Resources, "resourcesListChanged"}} {
		if row.wanted {
			set(row.name, jsontext.Value("true"))
		}
	}
	for _, row := range []struct {
		list []string
		name string
	}{{f.URIs, "resourceSubscriptions"}, {f.Tasks, "taskIds"}} {
		if len(row.list) > 0 {
			set(row.name, array(row.list))
		}
	}
	for m := range jsonedit.Members(f.Extensions) {
		set(m.Key(), m.Value)
	}
	return d
}

func array(list []string) jsontext.Value {
	d := jsontext.Value{'['}
	for i, s := range list {
		if i > 0 {
			d = append(d, ',')
		}
		d = append(d, jsonedit.Quote(s)...)
	}
	return append(d, ']')
}
