package headers

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// named says which member of params Mcp-Name mirrors. The last three are of the tasks extension (SEP-2663).
var named = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

// Request is a modern message with what is needed to mirror it.
type Request struct {
	Method string
	Params jsontext.Value
	// Free says that the specification asks no fields of the message: of a notification, and of whatever is of the legacy era. One that is
	// there must be true: somebody on the way may have believed it.
	Free bool
	// Mirrored is what the schema of the tool asks for, of tools/call; nil when the schema is not known.
	Mirrored []Mirror
}

// Fields are the fields to send with the request. An argument that is absent or null has none, and neither has one that no field can
// say: the server will refuse it for its type. The error, a protocol.Error, is about a value of more than MaxValue bytes.
func (r Request) Fields() ([]Field, error) {
	fields := make([]Field, 1, 2+len(r.Mirrored))
	fields[0] = Field{Method, r.Method}
	if name, ok := r.name(); ok {
		fields = append(fields, Field{Name, Encode(name)})
	}
	arguments := r.arguments()
	for i, m := range r.Mirrored {
		if text, ok := render(arguments[i]); ok {
			fields = append(fields, Field{Param + m.Name, Encode(text)})
		}
	}
	for _, f := range fields {
		if len(f.Value) > MaxValue {
			return nil, protocol.TooLarge("header "+f.Name, MaxValue)
		}
	}
	return fields, nil
}

// Check reports, as protocol.HeaderMismatch, the first field that is missing, cannot be read or says other than the body. Fields of
// arguments that the tool does not mirror are ignored: they may be for others on the way.
func (r Request) Check(get Lookup) error {
	method, there, err := one(get, Method)
	switch {
	case err != nil:
		return err
	case r.Free && !there:
	case !there:
		return protocol.HeaderMismatch(Method, "missing")
	case strings.Trim(method, " \t") != r.Method:
		return protocol.HeaderMismatch(Method, "differs from the body")
	}
	if err := r.checkName(get); err != nil {
		return err
	}
	arguments := r.arguments()
	for i, m := range r.Mirrored {
		if err := checkParam(get, Param+m.Name, arguments[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r Request) checkName(get Lookup) error {
	if _, has := named[r.Method]; !has {
		return nil // nothing in the body could contradict it
	}
	value, there, err := one(get, Name)
	if err != nil {
		return err
	}
	if !there && r.Free {
		return nil
	}
	name, ok := r.name()
	switch {
	case !there && !ok:
		return nil // if there is no name, params will be refused for that
	case !there:
		return protocol.HeaderMismatch(Name, "missing")
	}
	text, err := Decode(value)
	switch {
	case err != nil:
		return protocol.HeaderMismatch(Name, err.Error())
	case !ok || text != name:
		return protocol.HeaderMismatch(Name, "differs from the body")
	}
	return nil
}

// checkParam compares a field with the argument v, which is empty or null if there is none.
func checkParam(get Lookup, field string, v jsontext.Value) error {
	value, there, err := one(get, field)
	if err != nil {
		return err
	}
	absent := len(v) == 0 || v.Kind() == 'n'
	switch {
	case absent && there:
		return protocol.HeaderMismatch(field, "the argument is absent")
	case absent:
		return nil
	case !there && fromPage(get):
		return nil
	case !there:
		return protocol.HeaderMismatch(field, "missing")
	}
	text, err := Decode(value)
	switch {
	case err != nil:
		return protocol.HeaderMismatch(field, err.Error())
	case !says(text, v):
		return protocol.HeaderMismatch(field, "differs from the body")
	}
	return nil
}

// fromPage reports whether a request is a web page's, for which browsers send Origin. The
// specification has a server refuse a request that lacks the field of an argument (2026-07-28
// §basic/transports/streamable-http, "Server Behavior for Custom Headers"). The official
// TypeScript SDK sends none in a browser, where it cannot know which names a preflight allows, so
// pages are exempt (docs/adr/0033). The server of the tool gets all fields: they are made from
// the arguments.
func fromPage(get Lookup) bool { return len(get("Origin")) > 0 }

// name is what Mcp-Name mirrors, if the method has such a thing and params hold it.
func (r Request) name() (string, bool) {
	member, ok := named[r.Method]
	if !ok {
		return "", false
	}
	return splice.GetString(r.Params, member)
}

// arguments are those that are mirrored, in the order of Mirrored, empty where there is none. They may be megabytes, so one look finds
// all of them.
func (r Request) arguments() []jsontext.Value {
	if len(r.Mirrored) == 0 {
		return nil
	}
	found, all := make([]jsontext.Value, len(r.Mirrored)), make([]int, len(r.Mirrored))
	for i := range all {
		all[i] = i
	}
	object, _ := splice.Get(r.Params, "arguments")
	r.gather(found, all, object, 0)
	return found
}

// gather looks for the arguments of these numbers, all of whose paths lead to that object.
func (r Request) gather(found []jsontext.Value, numbers []int, object jsontext.Value, depth int) {
	for m := range splice.Members(object) {
		var below []int
		for _, i := range numbers {
			path := r.Mirrored[i].Path
			switch {
			case !m.Is(path[depth]):
			case len(path) == depth+1:
				found[i] = m.Value
			default:
				below = append(below, i)
			}
		}
		if len(below) > 0 {
			r.gather(found, below, m.Value, depth+1)
		}
	}
}

// render is the text of an argument, if a field can say it: a string, a boolean, or an integer that is exact everywhere.
func render(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		return splice.Unquote(v)
	case 't', 'f':
		return string(v), true
	case '0':
		n, ok := integer(string(v))
		return strconv.FormatInt(n, 10), ok
	}
	return "", false
}

// says reports whether the text of a field says the argument v. Integers are compared as numbers: 42.0 says 42.
func says(text string, v jsontext.Value) bool {
	want, ok := render(v)
	if ok && v.Kind() == '0' {
		n, whole := integer(text)
		return whole && strconv.FormatInt(n, 10) == want
	}
	return ok && text == want
}

// one is the value of a field that may be there once.
func one(get Lookup, name string) (value string, there bool, err error) {
	switch values := get(name); len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", false, protocol.HeaderMismatch(name, "sent more than once")
}
