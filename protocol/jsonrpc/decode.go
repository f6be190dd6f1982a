package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one message. The error is a *DecodeError.
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

// DecodeBatch reads one message or an array of messages, and reports whether it was an array. The
// error is a *DecodeError if the whole input is refused. It is a *BatchError if only some messages
// of an array are refused; the others are returned as well.
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

// begin checks the size, and refuses a byte order mark.
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

// envelope holds the positions of the members of a message. An absent member has the zero span.
type envelope struct{ version, id, method, params, result, err span }

// answers reports whether the message is a response, even if it is otherwise invalid.
func (e *envelope) answers() bool {
	return !e.method.given() && (e.result.given() || e.err.given())
}

// member returns the field for the member of that name; nil for members that JSON-RPC does not
// define.
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

// message reads one message into m, which must be zero. After an error the content of m is
// undefined. Input that is not JSON sets s.err. JSON that is not a message yields the returned
// error. The message is passed by pointer, because copies would grow the stack of the goroutine.
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
	s.depth, s.long, s.seenNames = depth+1, nil, known
	names := s.names()
	more := s.peek() != '}'
	for more {
		k, ok := s.readName(&names)
		if !ok {
			return nil
		}
		from := s.pos
		if !s.value(depth + 1) {
			s.identify(&e)
			return nil
		}
		if at := e.member(s.name(k)); at != nil {
			*at = span{from, s.last}
		}
		if more = s.comma(); s.err != nil {
			return nil
		}
	}
	if !s.closeObject(&names) {
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

// identify adds the id to an error about limits. The text before the error is valid, so the sender
// can match the error to its request.
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

// copyThreshold is the least number of bytes that a text must have beside a part for the part to be
// copied.
const copyThreshold = 1 << 10

// part returns the value at that place. It copies a part that is at most half of a large text:
// otherwise a holder of the part would keep the whole text in memory, but account for the part
// only.
func (s *scanner) part(at span) []byte {
	raw := s.raw(at)
	if beside := len(s.data) - len(raw); beside >= copyThreshold && beside >= len(raw) {
		return bytes.Clone(raw)
	}
	return raw
}

// shape turns m into one of the four kinds of message, or returns the reason for a refusal.
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
		m.Result, m.elided, m.names = s.part(e.result), s.outline(e.result), s.seenNames
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
	m.Method, m.names = method, s.seenNames
	if e.params.given() {
		switch raw := s.part(e.params); raw[0] {
		case '{', '[':
			m.Params, m.elided = raw, s.outline(e.params)
		case 'n': // null, which several clients write for absent params
		default:
			return refuse(e.params.from, `"params" that are neither object nor array`)
		}
	}
	return nil
}

// frequent maps the JSON text of frequent methods to their names, to avoid an allocation for each
// message.
var frequent = map[string]string{
	`"tools/call"`:             "tools/call",
	`"notifications/progress"`: "notifications/progress",
	`"notifications/message"`:  "notifications/message",
	`"resources/read"`:         "resources/read",
	`"ping"`:                   "ping",
}

// method returns the name of a method.
func (s *scanner) method(at span) (string, bool) {
	if method, ok := frequent[string(s.raw(at))]; ok {
		return method, true
	}
	return s.string(at)
}

// elided returns the empty object, array or string that replaces a long value in an outline. First
// is the first byte of the long value; no other kind of value can be long.
func elided(first byte) string {
	switch first {
	case '{':
		return "{}"
	case '[':
		return "[]"
	}
	return `""`
}

// outline returns the value at that place with its long parts elided. It is empty if no part is
// long.
func (s *scanner) outline(at span) (out []byte) {
	done := at.from
	for _, long := range s.long {
		if at.from <= long.from && long.to <= at.to {
			out = append(append(out, s.data[done:long.from]...), elided(s.data[long.from])...)
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

// string returns the text of the string at that place.
func (s *scanner) string(at span) (string, bool) {
	raw := s.raw(at)
	if raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // the scanner has passed it, so it is valid
	return string(text), true
}

// id reads an integer or a string, and refuses any other value. MCP forbids null, and some peers
// cannot represent a fraction.
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

// failureParts finds the members of an error object that the scanner has already passed. If a name
// occurs several times, the last member counts.
func (s *scanner) failureParts(at span) (code, message, data span) {
	in := scanner{data: s.data[:at.to], limits: s.limits, pos: at.from + 1}
	in.space()
	names := in.names()
	for more := in.peek() != '}'; more; more = in.comma() {
		k, _ := in.readName(&names) // the scanner has passed it, so it is valid
		from := in.pos
		in.value(1)
		switch string(in.name(k)) {
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
