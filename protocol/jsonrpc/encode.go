package jsonrpc

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Append writes m to dst as one line, without a newline at the end, and returns the extended slice.
// It removes line breaks between the tokens of raw members, because a line break ends a message on
// stdio, and a field of a server-sent event. All other bytes stay.
//
// Append writes a failure with the zero ID without the member "id". No revision of the schema
// allows null there; 2025-11-25 and later allow its absence.
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

// begin writes the beginning that all kinds share.
func (m Message) begin(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !m.ID.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = append(dst, m.ID.raw...)
	}
	return dst
}

// Parts returns the output of Append in pieces, for senders of large messages. Params or a result
// that has no line breaks and is not shorter than least, in bytes, is a piece of its own and is not
// copied. Any other message is one piece.
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

// short is a list of one piece, together with the memory for that piece. Most messages are short.
type short struct {
	list [1][]byte
	text [200]byte
}

// whole returns the output of Append as one piece.
func (m Message) whole() [][]byte {
	if m.Size() > len(short{}.text) {
		return [][]byte{m.Append(make([]byte, 0, m.Size()))}
	}
	s := new(short)
	s.list[0] = m.Append(s.text[:0])
	return s.list[:]
}

// Size is an estimate of the bytes that Append writes, for the size of its buffer.
func (m Message) Size() int {
	n := 48 + len(m.ID.raw) + len(m.Method) + len(m.Params) + len(m.Result)
	return n + m.Error.Size()
}

// Size is an estimate of the bytes of an error; 0 for nil.
func (e *Error) Size() int {
	if e == nil {
		return 0
	}
	return 32 + len(e.Message) + len(e.Data)
}

// AppendBatch writes an array of messages to dst (2025-03-26 §basic/transports).
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

// appendLine copies raw without line breaks. A valid string contains none, so they only separate
// tokens.
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
