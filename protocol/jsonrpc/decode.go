package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one message. A refusal is a *DecodeError.
func Decode(data []byte, limits Limits) (m Message, err error) {
	s := scanner{data: data, limits: limits.orDefaults()}
	if !s.begin() {
		return m, s.err
	}
	refused := s.message(1, &m)
	if s.err != nil || !s.end() {
		return Message{}, s.err
	}
	if refused != nil {
		return Message{}, refused
	}
	return m, nil
}

// DecodeBatch reads one message or an array of them and tells which it was. What refuses the input
// as a whole is a *DecodeError. When only some messages of an array are refused, the others are
// returned together with a *BatchError.
func DecodeBatch(data []byte, limits Limits) (messages []Message, batch bool, err error) {
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '[' {
		m, err := Decode(data, limits)
		if err != nil {
			return nil, false, err
		}
		return []Message{m}, false, nil
	}
	s := scanner{data: data, limits: limits.orDefaults()}
	if !s.begin() {
		return nil, true, s.err
	}
	messages, refused := s.batch()
	if s.err != nil || !s.end() {
		return nil, true, s.err
	}
	if len(refused) > 0 {
		return messages, true, &BatchError{refused}
	}
	return messages, true, nil
}

// begin checks what can be said before reading: the size and a byte order mark.
func (s *scanner) begin() bool {
	if len(s.data) > s.limits.Bytes {
		return s.fail(
			ReasonTooLarge,
			s.limits.Bytes,
			fmt.Sprintf("%d bytes, more than %d", len(s.data), s.limits.Bytes),
		)
	}
	if bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
		return s.fail(ReasonParse, 0, "a byte order mark")
	}
	s.space()
	return true
}

func (s *scanner) batch() (messages []Message, refused []*DecodeError) {
	start := s.pos
	if !s.token() || !s.open(1) {
		return nil, nil
	}
	for more := s.peek() != ']'; more; {
		if len(messages)+len(refused) == s.limits.Batch {
			s.fail(ReasonLimits, s.pos, fmt.Sprintf("more than %d messages", s.limits.Batch))
			return nil, nil
		}
		var m Message
		r := s.message(2, &m)
		if s.err != nil {
			return nil, nil
		}
		if r != nil {
			refused = append(refused, r)
		} else {
			messages = append(messages, m)
		}
		if more = s.another(']'); s.err != nil {
			return nil, nil
		}
	}
	s.pos++
	if len(messages)+len(refused) == 0 {
		s.fail(ReasonInvalidRequest, start, "an empty array") // JSON-RPC 2.0 §6
	}
	return messages, refused
}

// envelope is where the members of a message stand. A member that is absent has the zero span.
type envelope struct{ version, id, method, params, result, err span }

// answers reports a message that answers another one, whatever else is wrong with it.
func (e *envelope) answers() bool { return !e.method.given() && (e.result.given() || e.err.given()) }

// member is where to put the member of that name; nil for those that JSON-RPC does not define.
func (e *envelope) member(name []byte) *span {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

// message reads one message into m, which is zero before and means nothing where there is an error.
// Bytes that are not JSON end in s.err; JSON that is not a message is the result. A message is not handed
// from function to function: copies of it made the stack of whoever reads an answer grow.
func (s *scanner) message(depth int, m *Message) *DecodeError {
	start := s.pos
	if s.peek() != '{' {
		s.value(depth)
		return refuse(start, "a message that is not an object")
	}
	if !s.token() || !s.open(depth) {
		return nil
	}
	var e envelope
	s.depth, s.long, s.met = depth+1, nil, known
	names := s.names()
	more := s.peek() != '}'
	for more {
		k, ok := s.name(&names)
		if !ok {
			return nil
		}
		from := s.pos
		if !s.value(depth + 1) {
			s.identify(&e)
			return nil
		}
		if at := e.member(s.meant(k)); at != nil {
			*at = span{from, s.last}
		}
		if more = s.comma(); s.err != nil {
			return nil
		}
	}
	if !s.shut(&names) {
		return nil
	}
	refused := s.shape(&e, start, m)
	if refused != nil {
		refused.Response = e.answers()
		if refused.ID.IsZero() && e.id.given() {
			refused.ID, _ = s.id(e.id)
		}
	}
	return refused
}

// identify adds the id to an error about limits: the text up to there was in order, and the sender
// can match the answer.
func (s *scanner) identify(e *envelope) {
	if s.err.Reason == ReasonLimits && e.id.given() {
		s.err.ID, _ = s.id(e.id)
		s.err.Response = e.answers()
	}
}

func refuse(at int, detail string) *DecodeError {
	return &DecodeError{
		Code:   CodeInvalidRequest,
		Reason: ReasonInvalidRequest,
		Detail: detail,
		Offset: at,
	}
}

func (s *scanner) raw(at span) []byte { return s.data[at.from:at.to:at.to] }

// leastBeside is how much a text has beside a part of it that is copied.
const leastBeside = 1 << 10

// part is the value at that place. One that is small beside the text is a copy: who keeps it would
// keep all of the text, and count the part.
func (s *scanner) part(at span) []byte {
	raw := s.raw(at)
	if beside := len(s.data) - len(raw); beside >= leastBeside && beside >= len(raw) {
		return bytes.Clone(raw)
	}
	return raw
}

// shape makes m of the members one of the four shapes, or says why they are none.
func (s *scanner) shape(e *envelope, start int, m *Message) *DecodeError {
	if !e.version.given() {
		return refuse(start, `no member "jsonrpc"`)
	}
	if string(s.raw(e.version)) != `"2.0"` {
		return refuse(e.version.from, `a value of "jsonrpc" other than "2.0"`)
	}
	null := e.id.given() && string(s.raw(e.id)) == "null"
	if e.id.given() && !(null && e.err.given()) {
		id, refused := s.id(e.id)
		if refused != nil {
			return refused
		}
		m.ID = id
	}
	switch method, result, failure := e.method.given(), e.result.given(), e.err.given(); {
	case method && !result && !failure:
		return s.call(e, m)
	case method:
		return refuse(start, `both "method" and an answer`)
	case result && failure:
		return refuse(e.err.from, `both "result" and "error"`)
	case !result && !failure:
		refused := refuse(start, `no "method", "result" or "error"`)
		refused.Empty = true
		return refused
	case e.params.given():
		return refuse(e.params.from, `"params" in an answer`)
	case result && m.ID.IsZero():
		return refuse(start, `a result without "id"`)
	case result:
		m.Result, m.outline, m.names = s.part(e.result), s.outline(e.result), s.met
		return nil
	}
	var refused *DecodeError
	m.Error, refused = s.failure(e.err)
	return refused
}

// call completes a request or notification.
func (s *scanner) call(e *envelope, m *Message) *DecodeError {
	method, ok := s.method(e.method)
	switch {
	case !ok:
		return refuse(e.method.from, `a "method" that is not a string`)
	case method == "":
		return refuse(e.method.from, `an empty "method"`)
	case len(method) > s.limits.Method:
		return limit(e.method.from, fmt.Sprintf(`a "method" longer than %d bytes`, s.limits.Method))
	}
	m.Method, m.names = method, s.met
	if e.params.given() {
		switch raw := s.part(e.params); raw[0] {
		case '{', '[':
			m.Params, m.outline = raw, s.outline(e.params)
		case 'n': // null: what several clients write for no params
		default:
			return refuse(e.params.from, `"params" that are neither object nor array`)
		}
	}
	return nil
}

// frequent are methods, as they are written, of which there are many messages: they are not made anew
// for each.
var frequent = map[string]string{
	`"tools/call"`:             "tools/call",
	`"notifications/progress"`: "notifications/progress",
	`"notifications/message"`:  "notifications/message",
	`"resources/read"`:         "resources/read",
	`"ping"`:                   "ping",
}

// method is the text of a method.
func (s *scanner) method(at span) (string, bool) {
	if method, ok := frequent[string(s.raw(at))]; ok {
		return method, true
	}
	return s.string(at)
}

// hollow is what stands in an outline for a long value that begins so. Only these can be long.
func hollow(first byte) string {
	switch first {
	case '{':
		return "{}"
	case '[':
		return "[]"
	}
	return `""`
}

// outline is the value at that place without what is long in it; empty where nothing is.
func (s *scanner) outline(at span) (out []byte) {
	done := at.from
	for _, long := range s.long {
		if at.from <= long.from && long.to <= at.to {
			out = append(append(out, s.data[done:long.from]...), hollow(s.data[long.from])...)
			done = long.to
		}
	}
	if done == at.from {
		return nil
	}
	return append(out, s.data[done:at.to]...)
}

func limit(at int, detail string) *DecodeError {
	return &DecodeError{Code: CodeInvalidRequest, Reason: ReasonLimits, Detail: detail, Offset: at}
}

// string is the text of a string at that place.
func (s *scanner) string(at span) (string, bool) {
	raw := s.raw(at)
	if raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // passed over before, hence valid
	return string(text), true
}

// id reads an integer or a string. Everything else is refused: MCP forbids null, and a fraction
// does not survive every peer.
func (s *scanner) id(at span) (ID, *DecodeError) {
	raw := s.raw(at)
	length := len(raw)
	switch c := raw[0]; {
	case c == '"':
		length -= 2
	case c == '-' || '0' <= c && c <= '9':
		if bytes.ContainsAny(raw, ".eE") {
			return ID{}, refuse(at.from, `an "id" that is not an integer`)
		}
	default:
		return ID{}, refuse(at.from, `an "id" that is neither string nor integer`)
	}
	if length > s.limits.ID {
		return ID{}, limit(at.from, fmt.Sprintf(`an "id" longer than %d bytes`, s.limits.ID))
	}
	return ID{string(raw)}, nil
}

// failure reads the error member.
func (s *scanner) failure(at span) (*Error, *DecodeError) {
	if s.data[at.from] != '{' {
		return nil, refuse(at.from, `an "error" that is not an object`)
	}
	code, message, data := s.failureParts(at)
	if !code.given() {
		return nil, refuse(at.from, `an "error" without "code"`)
	}
	number, err := strconv.ParseInt(string(s.raw(code)), 10, 64)
	if err != nil {
		return nil, refuse(code.from, `an error "code" that is not an integer`)
	}
	if !message.given() {
		return nil, refuse(at.from, `an "error" without "message"`)
	}
	text, ok := s.string(message)
	if !ok {
		return nil, refuse(message.from, `an error "message" that is not a string`)
	}
	e := &Error{Code: number, Message: text}
	if data.given() {
		e.Data = s.part(data)
	}
	return e, nil
}

// failureParts finds the members of an error object that was passed over before; of those with one
// name the last.
func (s *scanner) failureParts(at span) (code, message, data span) {
	in := scanner{data: s.data[:at.to], limits: s.limits, pos: at.from + 1}
	in.space()
	names := in.names()
	for more := in.peek() != '}'; more; more = in.comma() {
		k, _ := in.name(&names) // passed over before, hence valid
		from := in.pos
		in.value(1)
		switch string(in.meant(k)) {
		case "code":
			code = span{from, in.last}
		case "message":
			message = span{from, in.last}
		case "data":
			data = span{from, in.last}
		}
	}
	return code, message, data
}
