package headers

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// nameMembers gives the member of params that Mcp-Name mirrors. The last three methods belong to
// the tasks extension (SEP-2663).
var nameMembers = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

// Request is a modern message with the information about its mirrored fields.
type Request struct {
	Method string
	Params jsontext.Value
	// Optional says that the specification requires no fields for the message, which is a notification
	// or of the legacy era. A field that is present must still agree with the body, because a proxy
	// may have relied on it.
	Optional bool
	// Mirrored lists the arguments to mirror of a tools/call. It is nil if the schema of the tool is
	// unknown.
	Mirrored []Mirror
}

// Fields returns the fields to send with the request. An absent or null argument has no field. An
// argument of a type that no field can represent has none either, because the server will refuse it
// for its type. The error is a *protocol.Error with ConditionTooLarge if a value exceeds MaxValue
// bytes.
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

// Check returns a protocol.HeaderMismatch for the first field that is missing, malformed, or
// different from the body. It ignores the fields of arguments that the tool does not mirror,
// because they may be for a proxy. In a request from a web page, which has the field Origin, the
// fields of arguments may be missing.
func (r Request) Check(get Lookup) error {
	method, there, err := single(get, Method)
	switch {
	case err != nil:
		return err
	case r.Optional && !there:
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
	if _, has := nameMembers[r.Method]; !has {
		return nil // the body has no name to compare with
	}
	value, there, err := single(get, Name)
	if err != nil {
		return err
	}
	if !there && r.Optional {
		return nil
	}
	name, ok := r.name()
	switch {
	case !there && !ok:
		return nil // params without a name are refused elsewhere
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
	value, there, err := single(get, field)
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
	case !matches(text, v):
		return protocol.HeaderMismatch(field, "differs from the body")
	}
	return nil
}

// fromPage reports whether a web page sent the request, for which browsers set Origin. The
// specification requires a server to refuse a request without the field of an argument (2026-07-28
// §basic/transports/streamable-http, "Server Behavior for Custom Headers"). The official
// TypeScript SDK sends no such fields in a browser, because it cannot know which names a preflight
// allows. Requests of pages are therefore exempt (docs/adr/0033). The server of the tool still
// receives all fields, which the host makes from the arguments.
func fromPage(get Lookup) bool { return len(get("Origin")) > 0 }

// name returns the value that Mcp-Name mirrors. It returns false if the method has no such value or
// params lack it.
func (r Request) name() (string, bool) {
	name, ok := nameMembers[r.Method]
	if !ok {
		return "", false
	}
	return jsonedit.GetString(r.Params, name)
}

// arguments returns the mirrored arguments in the order of Mirrored; absent ones are empty. The
// params may be megabytes long, so one pass finds all arguments.
func (r Request) arguments() []jsontext.Value {
	if len(r.Mirrored) == 0 {
		return nil
	}
	found, all := make([]jsontext.Value, len(r.Mirrored)), make([]int, len(r.Mirrored))
	for i := range all {
		all[i] = i
	}
	object, _ := jsonedit.Get(r.Params, "arguments")
	r.gather(found, all, object, 0)
	return found
}

// gather finds the arguments with these indexes. The first depth names of their paths lead to
// object.
func (r Request) gather(found []jsontext.Value, numbers []int, object jsontext.Value, depth int) {
	for m := range jsonedit.Members(object) {
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

// render returns the text of an argument if a field can represent it: a string, a boolean, or an
// integer that every peer represents exactly.
func render(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		return jsonedit.Unquote(v)
	case 't', 'f':
		return string(v), true
	case '0':
		n, ok := integer(string(v))
		return strconv.FormatInt(n, 10), ok
	}
	return "", false
}

// matches reports whether the text of a field equals the argument v. Integers are compared by
// value: 42.0 equals 42.
func matches(text string, v jsontext.Value) bool {
	want, ok := render(v)
	if ok && v.Kind() == '0' {
		n, whole := integer(text)
		return whole && strconv.FormatInt(n, 10) == want
	}
	return ok && text == want
}

// single returns the value of a field that may occur only once.
func single(get Lookup, name string) (value string, there bool, err error) {
	switch values := get(name); len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", false, protocol.HeaderMismatch(name, "sent more than once")
}
