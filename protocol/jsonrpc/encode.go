package jsonrpc

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Append writes m to dst as one line, without the newline at its end, and returns the extended slice. Line breaks between the tokens
// of raw members are left out, since framings by line and by server-sent event end at one; every other byte of them is kept.
//
// A failure without id is written without the member: no revision of the schema allows null there, 2025-11-25 and later allow absence.
func (m Message) Append(dst []byte) []byte {
	switch m.Kind() {
	case KindRequest, KindNotification:
		dst = m.method(dst)
		if len(m.Params) > 0 {
			dst = appendLine(append(dst, params...), m.Params)
		}
	case KindResult:
		dst = appendLine(append(m.begin(dst), result...), m.Result)
	case KindFailure:
		dst = m.begin(dst)
		dst = append(dst, `,"error":{"code":`...)
		dst = strconv.AppendInt(dst, m.Error.Code, 10)
		dst = append(dst, `,"message":`...)
		dst = appendText(dst, m.Error.Message)
		if len(m.Error.Data) > 0 {
			dst = append(dst, `,"data":`...)
			dst = appendLine(dst, m.Error.Data)
		}
		dst = append(dst, '}')
	default:
		dst = m.begin(dst)
	}
	return append(dst, '}')
}

const (
	params = `,"params":`
	result = `,"result":`
)

// method writes a request or a notification up to its params.
func (m Message) method(dst []byte) []byte {
	return appendText(append(m.begin(dst), `,"method":`...), m.Method)
}

// begin writes what all kinds begin with.
func (m Message) begin(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !m.ID.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = append(dst, m.ID.raw...)
	}
	return dst
}

// Parts is what Append writes, in pieces, for who sends large messages: params or a result of at least
// least bytes without line breaks are not copied. Everything else is one piece.
func (m Message) Parts(least int) [][]byte {
	large := []byte(m.Params)
	if m.Kind() == KindResult {
		large = m.Result
	}
	if len(large) < least || hasBreaks(large) {
		return m.whole()
	}
	switch m.Kind() {
	case KindRequest, KindNotification:
		return [][]byte{append(m.method(nil), params...), large, {'}'}}
	case KindResult:
		return [][]byte{append(m.begin(nil), result...), large, {'}'}}
	}
	return m.whole()
}

// short is a list of one piece and, as most messages are short, the piece itself.
type short struct {
	list [1][]byte
	text [200]byte
}

// whole is what Append writes, as one piece.
func (m Message) whole() [][]byte {
	if m.Size() > len(short{}.text) {
		return [][]byte{m.Append(make([]byte, 0, m.Size()))}
	}
	s := new(short)
	s.list[0] = m.Append(s.text[:0])
	return s.list[:]
}

// Size is about how many bytes Append writes, for sizing its buffer.
func (m Message) Size() int {
	n := 48 + len(m.ID.raw) + len(m.Method) + len(m.Params) + len(m.Result)
	return n + m.Error.Size()
}

// Size is the same of an error; 0 of none.
func (e *Error) Size() int {
	if e == nil {
		return 0
	}
	return 32 + len(e.Message) + len(e.Data)
}

// AppendBatch writes an array of messages (2025-03-26 §basic/transports).
func AppendBatch(dst []byte, messages []Message) []byte {
	dst = append(dst, '[')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Append(dst)
	}
	return append(dst, ']')
}

// appendText quotes text. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the error only reports the replacement
	return dst
}

// appendLine copies raw without line breaks. Inside a string they cannot stand, so those that are there separate tokens.
func appendLine(dst []byte, raw []byte) []byte {
	if !hasBreaks(raw) {
		return append(dst, raw...)
	}
	for _, c := range raw {
		if c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return dst
}

func hasBreaks(raw []byte) bool {
	return bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0
}
